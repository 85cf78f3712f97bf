// RUN: treadle convert %s %t.mlir && FileCheck %s < %t.mlir

// Windows that extend from each element to an end of its dimension: cumulative sums and products.

// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("arg0")
// CHECK: Cumsum(%[[X]], %{{.*}}) {{.*}}exclusive = false, reverse = false
// CHECK: Cumprod(%[[X]], %{{.*}}) {{.*}}exclusive = false, reverse = true
// CHECK: XlaReduceWindow(%[[X]]
func.func @main(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %nothing = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %sums = "stablehlo.reduce_window"(%x, %nothing) <{padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  %products = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[0, 2], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  // The initial value differs.
  %more = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  return %sums, %products, %more : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}
