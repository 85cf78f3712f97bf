// RUN: treadle-opt --tfg-remap %s | FileCheck %s

// Gelu with erfc, factors in any order, without a bias.
// CHECK-LABEL: tfg.func @gelu
// CHECK: %[[B:.*]], %{{.*}} = Const name("g/bias") {{.*}}dense<0.000000e+00> : tensor<3xf32>
// CHECK: _FusedMatMul(%x, %w, %[[B]])
// CHECK-SAME: fused_ops = ["BiasAdd", "GeluExact"]
// CHECK-NOT: Erfc
tfg.func @gelu(%x: tensor<?x2xf32> {tfg.name = "x"}, %w: tensor<2x3xf32> {tfg.name = "w"}) -> (tensor<*xf32> {tfg.name = "out"}) {
  %h, %hc = Const name("h") {dtype = f32, value = dense<5.000000e-01> : tensor<f32>} : () -> (tensor<f32>)
  %k, %kc = Const name("k") {dtype = f32, value = dense<0.707106769> : tensor<f32>} : () -> (tensor<f32>)
  %p, %pc = MatMul(%x, %w) name("p") {T = f32, grad_a = false, grad_b = false, transpose_a = false, transpose_b = false} : (tensor<?x2xf32>, tensor<2x3xf32>) -> (tensor<?x3xf32>)
  %n, %nc = Neg(%p) name("n") {T = f32} : (tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %i, %ic = Mul(%n, %k) name("i") {T = f32} : (tensor<?x3xf32>, tensor<f32>) -> (tensor<?x3xf32>)
  %e, %ec = Erfc(%i) name("e") {T = f32} : (tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %m, %mc = Mul(%h, %p) name("m") {T = f32} : (tensor<f32>, tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %g, %gc = Mul(%m, %e) name("g") {T = f32} : (tensor<?x3xf32>, tensor<?x3xf32>) -> (tensor<*xf32>)
  return(%g) : tensor<*xf32>
}

// Gelu with tanh, after a bias.
// CHECK-LABEL: tfg.func @approximate
// CHECK: _FusedMatMul(%x, %w, %b)
// CHECK-SAME: fused_ops = ["BiasAdd", "GeluApproximate"]
tfg.func @approximate(%x: tensor<?x2xf32> {tfg.name = "x"}, %w: tensor<2x3xf32> {tfg.name = "w"}, %b: tensor<3xf32> {tfg.name = "b"}) -> (tensor<*xf32> {tfg.name = "out"}) {
  %h, %hc = Const name("h") {dtype = f32, value = dense<5.000000e-01> : tensor<f32>} : () -> (tensor<f32>)
  %k, %kc = Const name("k") {dtype = f32, value = dense<0.797884583> : tensor<f32>} : () -> (tensor<f32>)
  %q, %qc = Const name("q") {dtype = f32, value = dense<4.471500e-02> : tensor<f32>} : () -> (tensor<f32>)
  %z, %zc = Const name("z") {dtype = f32, value = dense<3.000000e+00> : tensor<f32>} : () -> (tensor<f32>)
  %o, %oc = Const name("o") {dtype = f32, value = dense<1.000000e+00> : tensor<f32>} : () -> (tensor<f32>)
  %c, %cc = MatMul(%x, %w) name("c") {T = f32, grad_a = false, grad_b = false, transpose_a = false, transpose_b = false} : (tensor<?x2xf32>, tensor<2x3xf32>) -> (tensor<?x3xf32>)
  %p, %pc = BiasAdd(%c, %b) name("p") {T = f32, data_format = "NHWC"} : (tensor<?x3xf32>, tensor<3xf32>) -> (tensor<?x3xf32>)
  %u, %uc = Pow(%p, %z) name("u") {T = f32} : (tensor<?x3xf32>, tensor<f32>) -> (tensor<?x3xf32>)
  %v, %vc = Mul(%q, %u) name("v") {T = f32} : (tensor<f32>, tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %s, %sc = AddV2(%p, %v) name("s") {T = f32} : (tensor<?x3xf32>, tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %i, %ic = Mul(%k, %s) name("i") {T = f32} : (tensor<f32>, tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %t, %tc = Tanh(%i) name("t") {T = f32} : (tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %a, %ac = AddV2(%o, %t) name("a") {T = f32} : (tensor<f32>, tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %m, %mc = Mul(%h, %p) name("m") {T = f32} : (tensor<f32>, tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %g, %gc = Mul(%m, %a) name("g") {T = f32} : (tensor<?x3xf32>, tensor<?x3xf32>) -> (tensor<*xf32>)
  return(%g) : tensor<*xf32>
}

// x * f + (offset - mean * f)
// CHECK-LABEL: tfg.func @rows
// CHECK: _MklLayerNorm(%x, %g, %b)
// CHECK-SAME: epsilon = 1.000000e-03
// CHECK-NOT: Rsqrt
tfg.func @rows(%x: tensor<?x?x4xf32> {tfg.name = "x"}, %g: tensor<4xf32> {tfg.name = "g"}, %b: tensor<4xf32> {tfg.name = "b"}) -> (tensor<*xf32> {tfg.name = "out"}) {
  %l, %lc = Const name("l") {dtype = i32, value = dense<2> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %p, %pc = Const name("p") {dtype = f32, value = dense<1.000000e-03> : tensor<f32>} : () -> (tensor<f32>)
  %m, %mc = Mean(%x, %l) name("m") {T = f32, Tidx = i32, keep_dims = true} : (tensor<?x?x4xf32>, tensor<1xi32>) -> (tensor<?x?x1xf32>)
  %s, %sc = StopGradient(%m) name("s") {T = f32} : (tensor<?x?x1xf32>) -> (tensor<?x?x1xf32>)
  %d, %dc = SquaredDifference(%x, %s) name("d") {T = f32} : (tensor<?x?x4xf32>, tensor<?x?x1xf32>) -> (tensor<?x?x4xf32>)
  %v, %vc = Mean(%d, %l) name("v") {T = f32, Tidx = i32, keep_dims = true} : (tensor<?x?x4xf32>, tensor<1xi32>) -> (tensor<?x?x1xf32>)
  %a, %ac = AddV2(%v, %p) name("a") {T = f32} : (tensor<?x?x1xf32>, tensor<f32>) -> (tensor<?x?x1xf32>)
  %r, %rc = Rsqrt(%a) name("r") {T = f32} : (tensor<?x?x1xf32>) -> (tensor<?x?x1xf32>)
  %f, %fc = Mul(%r, %g) name("f") {T = f32} : (tensor<?x?x1xf32>, tensor<4xf32>) -> (tensor<?x?x4xf32>)
  %t, %tc = Mul(%x, %f) name("t") {T = f32} : (tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> (tensor<?x?x4xf32>)
  %u, %uc = Mul(%m, %f) name("u") {T = f32} : (tensor<?x?x1xf32>, tensor<?x?x4xf32>) -> (tensor<?x?x4xf32>)
  %w, %wc = Sub(%b, %u) name("w") {T = f32} : (tensor<4xf32>, tensor<?x?x4xf32>) -> (tensor<?x?x4xf32>)
  %y, %yc = AddV2(%t, %w) name("y") {T = f32} : (tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> (tensor<*xf32>)
  return(%y) : tensor<*xf32>
}

// Rows times a matrix, reshaped to two dimensions and back.
// CHECK-LABEL: tfg.func @einsum
// CHECK: Reshape(%x, %{{.*}}) name("r/rows")
// CHECK: _FusedMatMul(%{{.*}}, %w, %b) name("r/product")
// CHECK: Slice({{.*}}) name("r/batch")
// CHECK: ConcatV2({{.*}}) name("r/shape/all")
// CHECK: Reshape({{.*}}) name("r")
tfg.func @einsum(%x: tensor<?x?x2xf32> {tfg.name = "x"}, %w: tensor<2x3xf32> {tfg.name = "w"}, %b: tensor<3xf32> {tfg.name = "b"}) -> (tensor<*xf32> {tfg.name = "out"}) {
  %e, %ec = Einsum(%x, %w) name("e") {N = 2 : i64, T = f32, equation = "abc,cd->abd"} : (tensor<?x?x2xf32>, tensor<2x3xf32>) -> (tensor<?x?x3xf32>)
  %s, %sc = AddV2(%e, %b) name("s") {T = f32} : (tensor<?x?x3xf32>, tensor<3xf32>) -> (tensor<?x?x3xf32>)
  %r, %rc = Relu(%s) name("r") {T = f32} : (tensor<?x?x3xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}

// CHECK-LABEL: tfg.func @batch_norm
// CHECK: _FusedBatchNormEx(%x, %g, %b, %m, %v)
// CHECK-SAME: activation_mode = "Relu"
tfg.func @batch_norm(%x: tensor<2x4x4x2xf32> {tfg.name = "x"}, %g: tensor<2xf32> {tfg.name = "g"}, %b: tensor<2xf32> {tfg.name = "b"}, %m: tensor<2xf32> {tfg.name = "m"}, %v: tensor<2xf32> {tfg.name = "v"}) -> (tensor<*xf32> {tfg.name = "out"}) {
  %n:6, %nc = FusedBatchNormV3(%x, %g, %b, %m, %v) name("n") {T = f32, U = f32, data_format = "NHWC", epsilon = 1.000000e-03 : f32, exponential_avg_factor = 1.000000e+00 : f32, is_training = false} : (tensor<2x4x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<*xf32>)
  %r, %rc = Relu(%n#0) name("r") {T = f32} : (tensor<2x4x4x2xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}
