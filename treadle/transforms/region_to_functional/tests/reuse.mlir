// RUN: treadle-opt --tfg-functional-to-region --tfg-region-to-functional %s > %t && treadle-opt %s | diff - %t

// The round trip restores everything: functions are reused, unused and duplicate arguments stay,
// and so do conditions that aren't boolean.
tfg.func @neg(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "r"}) {
  %n, %c = Neg(%b) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n) [%c {tfg.name = "done"}] : tensor<f32>
}
tfg.func @id(%x: tensor<f32> {tfg.name = "x"}, %y: tensor<f32> {tfg.name = "y"}) -> (tensor<f32> {tfg.name = "r"}) {
  return(%y) : tensor<f32>
}
// An operand that has another name now.
tfg.func @nested(%p: tensor<*xf32> {tfg.name = "p"}, %a: tensor<f32> {tfg.name = "a"}) -> (tensor<f32> {tfg.name = "r"}) {
  %k, %ck = Const name("k") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %i, %c = If(%p, %a, %k) name("inner") {Tcond = f32, Tin = [f32, f32], Tout = [f32],
      else_branch = #tf_type.func<@id, {}>, then_branch = #tf_type.func<@neg, {}>}
      : (tensor<*xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return(%i) : tensor<f32>
}
tfg.func @cond(%v: tensor<f32> {tfg.name = "v"}, %w: tensor<f32> {tfg.name = "w"}) -> (tensor<f32> {tfg.name = "r"}) {
  return(%v) [%w.ctl {tfg.name = "w"}] : tensor<f32>
}
tfg.func @body(%v: tensor<f32> {tfg.name = "v"}, %w: tensor<f32> {tfg.name = "w"})
     -> (tensor<f32> {tfg.name = "r"}, tensor<f32> {tfg.name = "s"}) {
  %n, %c = If(%v, %w, %v) [%w.ctl] name("i") {Tcond = f32, Tin = [f32, f32], Tout = [f32],
      else_branch = #tf_type.func<@nested, {}>, then_branch = #tf_type.func<@id, {}>}
      : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return(%w, %n) : tensor<f32>, tensor<f32>
}
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x:2, %cx = Split name("x") : () -> (tensor<f32>, tensor<f32>)
  %a, %ca = If(%x#0, %x#1, %x#0) [%cx] name("a") {Tcond = f32, Tin = [f32, f32], Tout = [f32],
      else_branch = #tf_type.func<@neg, {}>, then_branch = #tf_type.func<@nested, {}>}
      : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %b, %cb = If(%x#0, %a, %x#0) name("b") {Tcond = f32, Tin = [f32, f32], Tout = [f32],
      else_branch = #tf_type.func<@neg, {}>, then_branch = #tf_type.func<@id, {}>}
      : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %w:2, %cw = While(%a, %b) name("w") {T = [f32, f32], body = #tf_type.func<@body, {}>,
      cond = #tf_type.func<@cond, {}>, output_shapes = [], parallel_iterations = 10 : i64}
      : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
}
