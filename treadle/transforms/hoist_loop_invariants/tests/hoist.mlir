// RUN: treadle-opt --tfg-hoist-loop-invariants %s | FileCheck %s

// The body may never run: Exp can't fail and moves, Reshape stays.
// CHECK-LABEL: tfg.graph
// CHECK: %[[E:.*]], %{{.*}} = Exp(%[[X:.*]]) name("w/e")
// CHECK: While(%{{.*}}, %[[X]], %[[E]]) name("w") {T = [i32, f32, f32]
// CHECK: %[[N:.*]], %{{.*}} = Neg(%[[X]]) name("n/invariant")
// CHECK: Enter(%[[N]]) name("n") {T = f32, frame_name = "f", is_constant = true
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %i, %ic = Const name("i") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)
  %w:2, %wc = While(%i, %x) name("w") {T = [i32, f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<i32>, tensor<2xf32>) -> (tensor<*xi32>, tensor<*xf32>)
  %a, %ac = Enter(%x) name("a") {T = f32, frame_name = "f", is_constant = true, parallel_iterations = 10 : i64} : (tensor<2xf32>) -> (tensor<2xf32>)
  %n, %nc = Neg(%a) name("n") {T = f32} : (tensor<2xf32>) -> (tensor<2xf32>)
}
// CHECK-LABEL: tfg.func @cond
// CHECK: %e
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<2xf32> {tfg.name = "x"}) -> (tensor<*xi1> {tfg.name = "p"}) {
  %k, %kc = Const name("k") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %p, %pc = Less(%i, %k) name("p") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<*xi1>)
  return(%p) : tensor<*xi1>
}
// CHECK-LABEL: tfg.func @body
// CHECK: Reshape(%x, %
// CHECK: Sum(%e_1,
// CHECK: return(%{{.*}}, %{{.*}}, %e_1)
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<2xf32> {tfg.name = "x"}) -> (tensor<*xi32> {tfg.name = "j"}, tensor<*xf32> {tfg.name = "y"}) {
  %e, %ec = Exp(%x) name("e") {T = f32} : (tensor<2xf32>) -> (tensor<*xf32>)
  %s, %sc = Const name("s") {dtype = i32, value = dense<5> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %r, %rc = Reshape(%x, %s) name("r") {T = f32, Tshape = i32} : (tensor<2xf32>, tensor<1xi32>) -> (tensor<*xf32>)
  %z, %zc = Const name("z") {dtype = i32, value = dense<0> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %t, %tc = Sum(%e, %z) name("t") {T = f32, Tidx = i32, keep_dims = false} : (tensor<*xf32>, tensor<1xi32>) -> (tensor<*xf32>)
  %o, %oc = Sum(%r, %z) name("o") {T = f32, Tidx = i32, keep_dims = false} : (tensor<*xf32>, tensor<1xi32>) -> (tensor<*xf32>)
  %d, %dc = Add(%t, %o) name("d") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %cc = Cast(%d) name("c") {DstT = i32, SrcT = f32, Truncate = false} : (tensor<*xf32>) -> (tensor<*xi32>)
  %j, %jc = AddV2(%i, %c) name("j") {T = i32} : (tensor<i32>, tensor<*xi32>) -> (tensor<*xi32>)
  %y, %yc = Identity(%x) name("y") {T = f32} : (tensor<2xf32>) -> (tensor<*xf32>)
  return(%j, %y) : tensor<*xi32>, tensor<*xf32>
}

// A node that the loop uses, and another one that depends on it and that the loop uses as well.
// CHECK-LABEL: tfg.func @caller
// CHECK: %[[E:.*]], %{{.*}} = Exp(%x) name("v/e")
// CHECK: %[[N:.*]], %{{.*}} = Neg(%[[E]]) name("v/n")
// CHECK: While(%{{.*}}, %x, %[[E]], %[[N]]) name("v")
tfg.func @caller(%x: tensor<2xf32> {tfg.name = "x"}, %s: tensor<2xf32> {tfg.name = "s"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %v:2, %vc = While(%s, %x) name("v") {T = [f32, f32], body = #tf_type.func<@step, {}>, cond = #tf_type.func<@go, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return(%v#0) : tensor<*xf32>
}
tfg.func @go(%s: tensor<2xf32> {tfg.name = "s"}, %x: tensor<2xf32> {tfg.name = "x"}) -> (tensor<*xi1> {tfg.name = "p"}) {
  %a, %ac = Const name("a") {dtype = i32, value = dense<0> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %d, %dc = Sum(%s, %a) name("d") {T = f32, Tidx = i32, keep_dims = false} : (tensor<2xf32>, tensor<1xi32>) -> (tensor<f32>)
  %k, %kc = Const name("k") {dtype = f32, value = dense<9.0> : tensor<f32>} : () -> (tensor<f32>)
  %p, %pc = Less(%d, %k) name("p") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<*xi1>)
  return(%p) : tensor<*xi1>
}
tfg.func @step(%s: tensor<2xf32> {tfg.name = "s"}, %x: tensor<2xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "t"}, tensor<*xf32> {tfg.name = "y"}) {
  %e, %ec = Exp(%x) name("e") {T = f32} : (tensor<2xf32>) -> (tensor<2xf32>)
  %n, %nc = Neg(%e) name("n") {T = f32} : (tensor<2xf32>) -> (tensor<2xf32>)
  %m, %mc = Mul(%e, %s) name("m") {T = f32} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  %t, %tc = Sub(%m, %n) name("t") {T = f32} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<*xf32>)
  return(%t, %x) : tensor<*xf32>, tensor<2xf32>
}
