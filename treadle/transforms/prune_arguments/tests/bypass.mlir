// RUN: treadle-opt --tfg-prune-arguments %s | FileCheck %s
// RUN: treadle-opt "--tfg-prune-arguments=keep=loop" %s | FileCheck %s --check-prefix=KEEP

// An argument that every branch, or the body, passes through is replaced with the operand.
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK: StatelessIf
// CHECK: Neg(%[[X]]) name("a")
// CHECK: Neg(%[[X]]) name("b")
// KEEP: %[[X:.*]], %{{.*}} = Placeholder name("x")
// KEEP-NOT: Neg(%[[X]]) name("b")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %y:2, %yc = StatelessIf(%p, %x) name("if") {Tcond = i1, Tin = [f32], Tout = [f32, f32], else_branch = #tf_type.func<@e, {}>, output_shapes = [], then_branch = #tf_type.func<@t, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %a, %ac = Neg(%y#1) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %w:2, %wc = StatelessWhile(%p, %x) name("loop") {T = [i1, f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<i1>, tensor<f32>) -> (tensor<i1>, tensor<f32>)
  %b, %bc = Neg(%w#1) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
tfg.func @t(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}, tensor<f32> {tfg.name = "z"}) {
  %n, %nc = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n, %x) : tensor<f32>, tensor<f32>
}
tfg.func @e(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}, tensor<f32> {tfg.name = "z"}) {
  return(%x, %x) : tensor<f32>, tensor<f32>
}
tfg.func @cond(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "r"}) {
  return(%p) : tensor<i1>
}
tfg.func @body(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "q"}, tensor<f32> {tfg.name = "y"}) {
  %q, %qc = LogicalNot(%p) name("q") : (tensor<i1>) -> (tensor<i1>)
  return(%q, %x) : tensor<i1>, tensor<f32>
}
