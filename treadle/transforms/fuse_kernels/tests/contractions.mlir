// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// A product absorbs a bias, factors, additions and an activation of any shapes. The fused node has
// its name, since it reports its errors, and the control inputs of all parts.
// CHECK-LABEL: tfg.func @chain
// CHECK: %[[I:.*]] = NoOp name("i")
// CHECK: %[[J:.*]] = NoOp name("j")
// CHECK-NEXT: %[[R:.*]], %{{.*}} = _FusedMatMul(%x, %w, %b, %b, %x) [%[[I]], %[[J]]] name("p")
// CHECK-SAME: T = f32
// CHECK-SAME: fused_ops = ["BiasAdd", "Mul", "Add", "LeakyRelu"]
// CHECK-SAME: leakyrelu_alpha = 5.000000e-01
// CHECK-SAME: num_args = 3
// CHECK-NEXT: return(%[[R]])
tfg.func @chain(%x: tensor<*xf32> {tfg.name = "x"}, %w: tensor<*xf32> {tfg.name = "w"}, %b: tensor<*xf32> {tfg.name = "b"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %i = NoOp name("i")
  %j = NoOp name("j")
  %p, %pc = MatMul(%x, %w) [%i] name("p") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = BiasAdd(%p, %b) name("q") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %m, %mc = Mul(%b, %q) name("m") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = AddV2(%m, %x) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = LeakyRelu(%a) [%i, %j] name("r") {T = f32, alpha = 0.5 : f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}

// Two chains that meet aren't merged.
// CHECK-LABEL: tfg.func @meet
// CHECK: %[[A:.*]], %{{.*}} = _FusedMatMul(%x, %x) name("p") {{.*}}["Relu"]
// CHECK: _FusedMatMul(%x, %x, %x, %[[A]]) name("q") {{.*}}["Mul", "Add"]
// CHECK-NEXT: return
tfg.func @meet(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %p, %pc = MatMul(%x, %x) name("p") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = Relu(%p) name("a") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = MatMul(%x, %x) name("q") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = Mul(%q, %x) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = AddV2(%a, %b) name("r") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}

// A normalization for inference is fused; not one for training, one whose other results are used,
// or anything after NCHW data.
// CHECK-LABEL: tfg.func @norm
// CHECK: _FusedConv2D(%x, %x, %s, %s, %s, %s) name("c")
// CHECK-SAME: TArgs = [f32, f32, f32, f32]
// CHECK-SAME: epsilon = 2.500000e-01
// CHECK-SAME: fused_ops = ["FusedBatchNorm"]
// CHECK: Conv2D(%{{.*}}) name("d")
// CHECK: Conv2D(%{{.*}}) name("e")
// CHECK: Conv2D(%{{.*}}) name("f")
// CHECK-NOT: = _Fused
tfg.func @norm(%x: tensor<*xf32> {tfg.name = "x"}, %s: tensor<*xf32> {tfg.name = "s"}) -> (tensor<*xf32> {tfg.name = "1"}, tensor<*xf32> {tfg.name = "2"}, tensor<*xf32> {tfg.name = "3"}, tensor<*xf32> {tfg.name = "4"}, tensor<*xf32> {tfg.name = "5"}) {
  %c, %cc = Conv2D(%x, %x) name("c") {T = f32, padding = "SAME"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %n:6, %nc = FusedBatchNormV3(%c, %s, %s, %s, %s) name("n") {T = f32, epsilon = 2.500000e-01 : f32, is_training = false} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %d, %dc = Conv2D(%x, %x) name("d") {T = f32, padding = "SAME"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %o:6, %oc = FusedBatchNormV3(%d, %s, %s, %s, %s) name("o") {T = f32, is_training = true} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %e, %ec = Conv2D(%x, %x) name("e") {T = f32, padding = "SAME"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %p:6, %pc = FusedBatchNormV3(%e, %s, %s, %s, %s) name("p") {T = f32, is_training = false} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %f, %fc = Conv2D(%x, %x) name("f") {T = f32, data_format = "NCHW", padding = "SAME"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = Relu(%f) name("r") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%n#0, %o#0, %p#0, %p#1, %r) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}
