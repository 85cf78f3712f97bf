// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// x * f + (offset - mean * f) with the activation after it; a normalization as one op.
// CHECK-LABEL: tfg.func @scale
// CHECK: %[[R:.*]], %{{.*}} = _FusedScale(%x, %f, %{{.*}}) name("p") {{.*}}fused_ops = ["Mul", "Add", "Relu"]
// CHECK: %[[Q:.*]], %{{.*}} = _FusedScale(%x, %f, %f, %f, %f) {{.*}}fused_ops = ["FusedBatchNorm", "Relu"]
// CHECK: return(%[[R]], %[[Q]])
tfg.func @scale(%x: tensor<*xf32> {tfg.name = "x"}, %f: tensor<*xf32> {tfg.name = "f"}, %m: tensor<*xf32> {tfg.name = "m"}) -> (tensor<*xf32> {tfg.name = "1"}, tensor<*xf32> {tfg.name = "2"}) {
  %p, %pc = Mul(%x, %f) name("p") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s, %sc = Mul(%m, %f) name("s") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %o, %oc = Sub(%m, %s) name("o") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = AddV2(%p, %o) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = Relu(%a) name("r") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %n:6, %nc = FusedBatchNormV3(%x, %f, %f, %f, %f) name("n") {T = f32, is_training = false} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %q, %qc = Relu(%n#0) name("q") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%r, %q) : tensor<*xf32>, tensor<*xf32>
}

// A bias and an activation move before a Reshape that preserves a product's columns, but not before
// another one.
// CHECK-LABEL: tfg.func @reshaped
// CHECK: %[[P:.*]], %{{.*}} = _FusedMatMul(%x, %w, %b) name("p") {{.*}}fused_ops = ["BiasAdd", "Relu"]
// CHECK: %[[R:.*]], %{{.*}} = Reshape(%[[P]], %{{.*}})
// CHECK: Reshape
// CHECK-NEXT: BiasAdd
tfg.func @reshaped(%x: tensor<*xf32> {tfg.name = "x"}, %w: tensor<3x8xf32> {tfg.name = "w"}, %b: tensor<*xf32> {tfg.name = "b"}, %n: tensor<*xi32> {tfg.name = "n"}) -> (tensor<*xf32> {tfg.name = "1"}, tensor<*xf32> {tfg.name = "2"}) {
  %eight, %ec = Const name("eight") {dtype = i32, value = dense<8> : tensor<1xi32>} : () -> (tensor<*xi32>)
  %four, %fc = Const name("four") {dtype = i32, value = dense<[-1, 4]> : tensor<2xi32>} : () -> (tensor<*xi32>)
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<*xi32>)
  %s, %sc = ConcatV2(%n, %eight, %zero) name("s") {N = 2 : i64, T = i32} : (tensor<*xi32>, tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
  %p, %pc = MatMul(%x, %w) name("p") {T = f32} : (tensor<*xf32>, tensor<3x8xf32>) -> (tensor<*xf32>)
  %h, %hc = Reshape(%p, %s) name("h") {T = f32} : (tensor<*xf32>, tensor<*xi32>) -> (tensor<*xf32>)
  %a, %ac = BiasAdd(%h, %b) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = Relu(%a) name("r") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %p2, %pc2 = MatMul(%x, %w) name("p2") {T = f32} : (tensor<*xf32>, tensor<3x8xf32>) -> (tensor<*xf32>)
  %h2, %hc2 = Reshape(%p2, %four) name("h2") {T = f32} : (tensor<*xf32>, tensor<*xi32>) -> (tensor<*xf32>)
  %a2, %ac2 = BiasAdd(%h2, %b) name("a2") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%r, %a2) : tensor<*xf32>, tensor<*xf32>
}
