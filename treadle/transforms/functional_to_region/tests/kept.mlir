// RUN: treadle-opt --tfg-functional-to-region="max-nodes=12" %s | FileCheck %s

// Ops that aren't converted.
tfg.func @id(%v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "r"}) {
  return(%v) : tensor<f32>
}
tfg.func generic @template(%v: !tf_type.tensor {tfg.name = "v"}) -> (!tf_type.tensor {tfg.name = "r"}) {
  return(%v)
}
tfg.func @compiled(%v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "r"}) attributes {tf._XlaMustCompile = true} {
  return(%v) : tensor<f32>
}
tfg.func @long(%v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "r"}) {
  %a, %c0 = Neg(%v) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %c1 = Neg(%a) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %c, %c2 = Neg(%b) name("c") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %d, %c3 = Neg(%c) name("d") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%d) : tensor<f32>
}
// A recursive one.
// CHECK-LABEL: tfg.func @again
// CHECK: If(%v, %v) name("self")
tfg.func @again(%v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "r"}) {
  %r, %c = If(%v, %v) name("self") {Tcond = f32, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@id, {}>, then_branch = #tf_type.func<@again, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// CHECK-LABEL: tfg.func @uses
tfg.func @uses(%p: tensor<i1> {tfg.name = "p"}, %v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32>) {
  // CHECK: If(%p, %v) name("missing")
  %a, %c0 = If(%p, %v) name("missing") {Tcond = i1, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@id, {}>, then_branch = #tf_type.func<@nobody, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  // CHECK: If(%p, %v) name("generic")
  %b, %c1 = If(%p, %v) name("generic") {Tcond = i1, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@id, {}>, then_branch = #tf_type.func<@template, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  // CHECK: If(%p, %v) name("compiled")
  %c, %c2 = If(%p, %v) name("compiled") {Tcond = i1, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@id, {}>, then_branch = #tf_type.func<@compiled, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  // CHECK: If(%p, %v, %v) name("arguments")
  %d, %c3 = If(%p, %v, %v) name("arguments") {Tcond = i1, Tin = [f32, f32], Tout = [f32], else_branch = #tf_type.func<@id, {}>, then_branch = #tf_type.func<@id, {}>} : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  // The first one fits; the second one would exceed the limit.
  // CHECK: IfRegion %p then
  // CHECK: If(%p, %v) name("large")
  %e, %c4 = If(%p, %v) name("small") {Tcond = i1, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@id, {}>, then_branch = #tf_type.func<@id, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  %f, %c5 = If(%p, %v) name("large") {Tcond = i1, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@long, {}>, then_branch = #tf_type.func<@long, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  return(%e) : tensor<f32>
}
