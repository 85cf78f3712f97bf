// RUN: treadle convert %s %t.mlir && FileCheck %s < %t.mlir

// The padding is a constant, not a node that code outside of a cluster computes.

// CHECK: %[[PADS:.*]], %{{.*}} = Const {{.*}}value = dense<{{\[\[}}1, 0], [0, 2]]> : tensor<2x2xi32>
// CHECK: PadV2(%{{.*}}, %[[PADS]], %{{.*}})
func.func @main(%x: tensor<3x5xf32>) -> tensor<4x7xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.pad %x, %zero, low = [1, 0], high = [0, 2], interior = [0, 0] : (tensor<3x5xf32>, tensor<f32>) -> tensor<4x7xf32>
  return %y : tensor<4x7xf32>
}
