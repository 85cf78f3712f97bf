// RUN: treadle-opt --tfg-constant-folding %s | FileCheck %s

// CHECK-LABEL: tfg.func @edges
// CHECK: AssignVariableOp(%v, %x) name("one")
// CHECK: NoOp [%[[ONE:.*]]] name("group")
// CHECK: ReadVariableOp(%v) [%[[ONE]]] name("read")
// CHECK: %[[NEG:.*]], %[[NC:.*]] = Neg(%{{[^)]*}}) name("neg")
// CHECK: return(%[[NEG]]) [%[[NC]] {tfg.name = "done"}]
tfg.func @edges(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "a"}) {
  %c, %cc = Const name("c") {dtype = f32, value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %one = AssignVariableOp(%v, %x) [%cc] name("one") {dtype = f32} : (tensor<!tf_type.resource>, tensor<f32>) -> ()
  %g = NoOp [%one] name("group")
  %r, %rc = ReadVariableOp(%v) [%g] name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<*xf32>)
  %n, %nc = Neg(%r) [%rc] name("neg") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %i, %ic = Identity(%n) name("i") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%i) [%ic {tfg.name = "done"}] : tensor<*xf32>
}

// The Identity nodes at a Switch identify the branch, so they stay.
// CHECK-LABEL: tfg.func @branches
// CHECK: %[[S:.*]]:2, %{{.*}} = Switch
// CHECK: %[[I:.*]], %[[IC:.*]] = Identity(%[[S]]#1)
// CHECK: Const [%[[IC]]] name("k") {dtype = f32, value = dense<2.000000e+00>
tfg.func @branches(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "a"}) {
  %s:2, %sc = Switch(%x, %p) name("switch") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>)
  %i, %ic = Identity(%s#1) name("i") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %c, %cc = Const [%ic] name("c") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %k, %kc = AddV2(%c, %c) name("k") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
  %m:2, %mc = Merge(%s#0, %k) name("merge") {N = 2 : i64, T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<i32>)
  return(%m#0) : tensor<*xf32>
}
