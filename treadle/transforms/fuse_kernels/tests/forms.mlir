// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// x * sigmoid(x), where x is first multiplied by 1 and forwarded by an IdentityN with a custom
// gradient; the product before it absorbs it.
// CHECK-LABEL: tfg.func @swish
// CHECK: _FusedMatMul(%x, %w) name("p") {{.*}}fused_ops = ["Swish"]
// CHECK-NEXT: return
tfg.func @swish(%x: tensor<*xf32> {tfg.name = "x"}, %w: tensor<*xf32> {tfg.name = "w"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %one, %oc = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<*xf32>)
  %p, %pc = MatMul(%x, %w) name("p") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = Mul(%one, %p) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s, %sc = Sigmoid(%b) name("s") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %m, %mc = Mul(%p, %s) name("m") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %i:3, %ic = IdentityN(%m, %p, %one) name("i") {T = [f32, f32, f32], _gradient_op_type = "CustomGradient"} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  return(%i#0) : tensor<*xf32>
}

// x * relu6(x + 3) / 6, and relu6(x + 3) / 6 alone.
// CHECK-LABEL: tfg.func @hard
// CHECK: %[[A:.*]], %{{.*}} = _HardSwish(%x) name("a")
// CHECK: %[[B:.*]], %{{.*}} = _HardSigmoid(%x) name("b")
// CHECK: return(%[[A]], %[[B]])
tfg.func @hard(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "1"}, tensor<*xf32> {tfg.name = "2"}) {
  %three, %tc = Const name("three") {dtype = f32, value = dense<3.0> : tensor<f32>} : () -> (tensor<*xf32>)
  %six, %sc = Const name("six") {dtype = f32, value = dense<6.0> : tensor<f32>} : () -> (tensor<*xf32>)
  %p, %pc = AddV2(%x, %three) name("p") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = Relu6(%p) name("q") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = RealDiv(%q, %six) name("d") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = Mul(%x, %d) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %p2, %pc2 = AddV2(%x, %three) name("p2") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %q2, %qc2 = Relu6(%p2) name("q2") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = RealDiv(%q2, %six) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%a, %b) : tensor<*xf32>, tensor<*xf32>
}

// Not fused: a part has other users, the values differ, the dtype is float64.
// CHECK-LABEL: tfg.func @others
// CHECK-NOT: _Swish
tfg.func @others(%x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"}, %z: tensor<*xf64> {tfg.name = "z"}) -> (tensor<*xf32> {tfg.name = "1"}, tensor<*xf32> {tfg.name = "2"}, tensor<*xf32> {tfg.name = "3"}, tensor<*xf64> {tfg.name = "4"}) {
  %s, %sc = Sigmoid(%x) name("s") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = Mul(%x, %s) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %t, %tc = Sigmoid(%x) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = Mul(%y, %t) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %u, %uc = Sigmoid(%z) name("u") {T = f64} : (tensor<*xf64>) -> (tensor<*xf64>)
  %c, %cc = Mul(%z, %u) name("c") {T = f64} : (tensor<*xf64>, tensor<*xf64>) -> (tensor<*xf64>)
  return(%s, %a, %b, %c) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf64>
}

// As in Keras: the factor is applied first, and the mean's part is subtracted.
// CHECK-LABEL: tfg.func @norm
// CHECK: %[[R:.*]], %{{.*}} = _LayerNorm(%x, %g, %b) name("r") {axis = -1 : i64, epsilon = 1.000000e-03 : f32, num_offsets = 1 : i64, num_scales = 1 : i64}
// CHECK-NEXT: return(%[[R]])
tfg.func @norm(%x: tensor<*xf32> {tfg.name = "x"}, %g: tensor<*xf32> {tfg.name = "g"}, %b: tensor<*xf32> {tfg.name = "b"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %axis, %xc = Const name("axis") {dtype = i32, value = dense<-1> : tensor<1xi32>} : () -> (tensor<*xi32>)
  %e, %ec = Const name("e") {dtype = f32, value = dense<1.000000e-03> : tensor<f32>} : () -> (tensor<*xf32>)
  %m, %mc = Mean(%x, %axis) name("m") {T = f32, keep_dims = true} : (tensor<*xf32>, tensor<*xi32>) -> (tensor<*xf32>)
  %o, %oc = StopGradient(%m) name("o") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = SquaredDifference(%x, %o) name("d") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %v, %vc = Mean(%d, %axis) name("v") {T = f32, keep_dims = true} : (tensor<*xf32>, tensor<*xi32>) -> (tensor<*xf32>)
  %a, %ac = AddV2(%v, %e) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = Rsqrt(%a) name("q") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %f, %fc = Mul(%q, %g) name("f") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %n, %nc = Neg(%m) name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %h, %hc = Mul(%n, %f) name("h") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %k, %kc = AddV2(%h, %b) name("k") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %l, %lc = Mul(%x, %f) name("l") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = AddV2(%l, %k) name("r") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}
