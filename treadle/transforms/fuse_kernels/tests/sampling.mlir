// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// Two 1x1 convolutions read each second position: the one before them computes only these, the
// summand is sampled, and the first one, whose window is larger, gets a stride.
// CHECK-LABEL: tfg.func @back
// CHECK: %[[A:.*]], %{{.*}} = Conv2D(%x, %w3) name("a")
// CHECK-SAME: padding = "SAME", sampling = 2 : i64, strides = [1, 1, 1, 1]
// CHECK: %[[Y:.*]], %{{.*}} = _SampleImage(%y)
// CHECK-SAME: step = 2
// CHECK: %[[B:.*]], %{{.*}} = _FusedConv2D(%[[A]], %[[W:.*]], %[[Y]]) name("b")
// CHECK-SAME: is_pointwise = true
// CHECK-SAME: strides = [1, 1, 1, 1]
// CHECK: Conv2D(%[[B]], %[[W]]) name("c")
// CHECK-SAME: is_pointwise = true, padding = "VALID", strides = [1, 1, 1, 1]
// CHECK: Conv2D(%[[B]], %[[W]]) name("d")
// CHECK-SAME: strides = [1, 1, 1, 1]
tfg.func @back(%x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"}, %w3: tensor<*xf32> {tfg.name = "w3"}, %w1: tensor<*xf32> {tfg.name = "w1"}) -> (tensor<*xf32> {tfg.name = "c"}, tensor<*xf32> {tfg.name = "d"}) {
  %w, %wc = Identity(%w1) name("w") {T = f32, _output_shapes = [#tf_type.shape<1x1x4x4>]} : (tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = Conv2D(%x, %w3) name("a") {T = f32, padding = "SAME", strides = [1, 1, 1, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = Conv2D(%a, %w) name("b") {T = f32, padding = "VALID", strides = [1, 1, 1, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s, %sc = AddV2(%b, %y) name("s") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %cc = Conv2D(%s, %w) name("c") {T = f32, padding = "VALID", strides = [1, 2, 2, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = Conv2D(%s, %w) name("d") {T = f32, padding = "SAME", strides = [1, 2, 2, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%c, %d) : tensor<*xf32>, tensor<*xf32>
}

// Not sampled: another node uses all positions, strides differ, or the window size is unknown.
// CHECK-LABEL: tfg.func @others
// CHECK-NOT: sampling
tfg.func @others(%x: tensor<*xf32> {tfg.name = "x"}, %w1: tensor<*xf32> {tfg.name = "w1"}) -> (tensor<*xf32> {tfg.name = "a"}, tensor<*xf32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}, tensor<*xf32> {tfg.name = "d"}, tensor<*xf32> {tfg.name = "e"}) {
  %w, %wc = Identity(%w1) name("w") {T = f32, _output_shapes = [#tf_type.shape<1x1x4x4>]} : (tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = Conv2D(%x, %w1) name("a") {T = f32, padding = "SAME", strides = [1, 1, 1, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = Conv2D(%a, %w) name("b") {T = f32, padding = "VALID", strides = [1, 2, 2, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %p, %pc = Conv2D(%x, %w1) name("p") {T = f32, padding = "SAME", strides = [1, 1, 1, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %cc = Conv2D(%p, %w) name("c") {T = f32, padding = "VALID", strides = [1, 2, 2, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = Conv2D(%p, %w) name("d") {T = f32, padding = "VALID", strides = [1, 3, 3, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = Conv2D(%x, %w1) name("q") {T = f32, padding = "SAME", strides = [1, 1, 1, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %e, %ec = Conv2D(%q, %w1) name("e") {T = f32, padding = "VALID", strides = [1, 2, 2, 1]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%a, %b, %c, %d, %e) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}
