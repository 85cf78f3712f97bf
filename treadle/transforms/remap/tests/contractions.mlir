// RUN: treadle-opt --tfg-remap %s | FileCheck %s
// RUN: treadle-opt --tfg-remap=onednn=false %s | FileCheck %s --check-prefix=PLAIN

// The fused node has the name of the last node and the control inputs of all. The others stay for
// their names.
// CHECK: %[[B:.*]], %{{.*}} = Placeholder name("bias")
// CHECK: MatMul({{.*}} name("product")
// CHECK: _FusedMatMul(%{{.*}}, %{{.*}}, %[[B]]) [%{{.*}}, %{{.*}}] name("relu")
// CHECK-SAME: fused_ops = ["BiasAdd", "Relu"]
// CHECK-SAME: num_args = 1
// CHECK-SAME: transpose_b = true
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<?x2>} : () -> (tensor<?x2xf32>)
  %w, %wc = Placeholder name("w") {dtype = f32, shape = #tf_type.shape<3x2>} : () -> (tensor<3x2xf32>)
  %b, %bc = Placeholder name("bias") {dtype = f32, shape = #tf_type.shape<3>} : () -> (tensor<3xf32>)
  %i, %ic = NoOp name("i")
  %p, %pc = MatMul(%x, %w) [%ic] name("product") {T = f32, grad_a = false, grad_b = false, transpose_a = false, transpose_b = true} : (tensor<?x2xf32>, tensor<3x2xf32>) -> (tensor<?x3xf32>)
  %s, %sc = AddV2(%p, %b) name("sum") {T = f32} : (tensor<?x3xf32>, tensor<3xf32>) -> (tensor<?x3xf32>)
  %r, %rc = Relu(%s) [%xc] name("relu") {T = f32} : (tensor<?x3xf32>) -> (tensor<?x3xf32>)
}

// Constants are combined into one filter and one bias; an addition comes before the activation.
// CHECK-LABEL: tfg.func @images
// CHECK-NOT: Conv2D(
// CHECK-DAG: %[[F:.*]], %{{.*}} = Const name("r/filter") {{.*}}value = dense<{{\[\[\[\[}}2.000000e+00, 9.000000e+00]]]]>
// CHECK-DAG: %[[B:.*]], %{{.*}} = Const name("r/bias") {{.*}}value = dense<[4.000000e+00, 1.700000e+01]>
// CHECK: _FusedConv2D(%x, %[[F]], %[[B]], %y)
// CHECK-SAME: TArgs = [f32, f32]
// CHECK-SAME: fused_ops = ["BiasAdd", "Add", "LeakyRelu"]
// CHECK-SAME: leakyrelu_alpha = 1.000000e-01
// CHECK-SAME: num_args = 2
tfg.func @images(%x: tensor<2x4x4x1xf32> {tfg.name = "x"}, %y: tensor<2x4x4x2xf32> {tfg.name = "y"}) -> (tensor<*xf32> {tfg.name = "out"}) {
  %f, %fc = Const name("f") {dtype = f32, value = dense<[[[[1.0, 3.0]]]]> : tensor<1x1x1x2xf32>} : () -> (tensor<1x1x1x2xf32>)
  %v, %vc = Const name("v") {dtype = f32, value = dense<[1.0, 5.0]> : tensor<2xf32>} : () -> (tensor<2xf32>)
  %m, %mc = Const name("m") {dtype = f32, value = dense<[2.0, 3.0]> : tensor<2xf32>} : () -> (tensor<2xf32>)
  %k, %kc = Const name("k") {dtype = f32, value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %c, %cc = Conv2D(%x, %f) name("c") {T = f32, data_format = "NHWC", dilations = [1, 1, 1, 1], explicit_paddings = [], padding = "SAME", strides = [1, 1, 1, 1], use_cudnn_on_gpu = true} : (tensor<2x4x4x1xf32>, tensor<1x1x1x2xf32>) -> (tensor<2x4x4x2xf32>)
  %b, %bc = BiasAdd(%c, %v) name("b") {T = f32, data_format = "NHWC"} : (tensor<2x4x4x2xf32>, tensor<2xf32>) -> (tensor<2x4x4x2xf32>)
  %s, %sc = Mul(%m, %b) name("s") {T = f32} : (tensor<2xf32>, tensor<2x4x4x2xf32>) -> (tensor<2x4x4x2xf32>)
  %a, %ac = AddV2(%s, %k) name("a") {T = f32} : (tensor<2x4x4x2xf32>, tensor<f32>) -> (tensor<2x4x4x2xf32>)
  %d, %dc = AddV2(%y, %a) name("d") {T = f32} : (tensor<2x4x4x2xf32>, tensor<2x4x4x2xf32>) -> (tensor<2x4x4x2xf32>)
  %r, %rc = LeakyRelu(%d) name("r") {T = f32, alpha = 1.000000e-01 : f32} : (tensor<2x4x4x2xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}

// A product with other users isn't fused, nor with a value that isn't a vector.
// PLAIN-LABEL: tfg.func @images
// PLAIN: %[[S:.*]], %{{.*}} = _FusedConv2D(%x, %{{.*}}, %{{.*}}) name("a")
// PLAIN: AddV2(%y, %[[S]]) name("d")
// CHECK-LABEL: tfg.func @others
// CHECK-NOT: _Fused
tfg.func @others(%x: tensor<?x2xf32> {tfg.name = "x"}, %w: tensor<2x3xf32> {tfg.name = "w"}, %b: tensor<3xf32> {tfg.name = "b"}, %m: tensor<?x3xf32> {tfg.name = "m"}) -> (tensor<?x3xf32> {tfg.name = "p"}, tensor<?x3xf32> {tfg.name = "s"}, tensor<*xf32> {tfg.name = "t"}) {
  %p, %pc = MatMul(%x, %w) name("p") {T = f32, grad_a = false, grad_b = false, transpose_a = false, transpose_b = false} : (tensor<?x2xf32>, tensor<2x3xf32>) -> (tensor<?x3xf32>)
  %s, %sc = BiasAdd(%p, %b) name("s") {T = f32, data_format = "NHWC"} : (tensor<?x3xf32>, tensor<3xf32>) -> (tensor<?x3xf32>)
  %q, %qc = MatMul(%x, %w) name("q") {T = f32, grad_a = false, grad_b = false, transpose_a = false, transpose_b = false} : (tensor<?x2xf32>, tensor<2x3xf32>) -> (tensor<?x3xf32>)
  %t, %tc = AddV2(%q, %m) name("t") {T = f32} : (tensor<?x3xf32>, tensor<?x3xf32>) -> (tensor<*xf32>)
  return(%p, %s, %t) : tensor<?x3xf32>, tensor<?x3xf32>, tensor<*xf32>
}

// CHECK-LABEL: tfg.func @norm
// CHECK: _FusedConv2D(%x, %f, %g, %b, %m, %v)
// CHECK-SAME: epsilon = 1.000000e-03
// CHECK-SAME: fused_ops = ["FusedBatchNorm", "Relu"]
// CHECK-SAME: num_args = 4
tfg.func @norm(%x: tensor<2x4x4x1xf32> {tfg.name = "x"}, %f: tensor<1x1x1x2xf32> {tfg.name = "f"}, %g: tensor<2xf32> {tfg.name = "g"}, %b: tensor<2xf32> {tfg.name = "b"}, %m: tensor<2xf32> {tfg.name = "m"}, %v: tensor<2xf32> {tfg.name = "v"}) -> (tensor<*xf32> {tfg.name = "out"}) {
  %c, %cc = Conv2D(%x, %f) name("c") {T = f32, data_format = "NHWC", dilations = [1, 1, 1, 1], explicit_paddings = [], padding = "SAME", strides = [1, 1, 1, 1], use_cudnn_on_gpu = true} : (tensor<2x4x4x1xf32>, tensor<1x1x1x2xf32>) -> (tensor<2x4x4x2xf32>)
  %n:6, %nc = FusedBatchNormV3(%c, %g, %b, %m, %v) name("n") {T = f32, U = f32, data_format = "NHWC", epsilon = 1.000000e-03 : f32, exponential_avg_factor = 1.000000e+00 : f32, is_training = false} : (tensor<2x4x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<*xf32>)
  %r, %rc = Relu(%n#0) name("r") {T = f32} : (tensor<2x4x4x2xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}

// TensorFlow has no activation relu6(x + 3) / 6: the product absorbs the part that it can.
// CHECK-LABEL: tfg.func @hard
// CHECK: _FusedMatMul(%x, %w, %{{.*}}) name("r") {{.*}}fused_ops = ["BiasAdd", "Relu6"]
// CHECK: RealDiv({{.*}}) name("d")
tfg.func @hard(%x: tensor<?x2xf32> {tfg.name = "x"}, %w: tensor<2x3xf32> {tfg.name = "w"}) -> (tensor<?x3xf32> {tfg.name = "out"}) {
  %t, %tc = Const name("t") {dtype = f32, value = dense<3.0> : tensor<f32>} : () -> (tensor<f32>)
  %s, %sc = Const name("s") {dtype = f32, value = dense<6.0> : tensor<f32>} : () -> (tensor<f32>)
  %p, %pc = MatMul(%x, %w) name("p") {T = f32, transpose_a = false, transpose_b = false} : (tensor<?x2xf32>, tensor<2x3xf32>) -> (tensor<?x3xf32>)
  %a, %ac = AddV2(%p, %t) name("a") {T = f32} : (tensor<?x3xf32>, tensor<f32>) -> (tensor<?x3xf32>)
  %r, %rc = Relu6(%a) name("r") {T = f32} : (tensor<?x3xf32>) -> (tensor<?x3xf32>)
  %d, %dc = RealDiv(%r, %s) name("d") {T = f32} : (tensor<?x3xf32>, tensor<f32>) -> (tensor<?x3xf32>)
  return(%d) : tensor<?x3xf32>
}
