// RUN: treadle convert %s %t.mlir && FileCheck %s < %t.mlir

// A scatter of one window at a constant position is a slice, combined with the updates and inserted;
// a window that is out of bounds is skipped.

// CHECK-LABEL: tfg.graph
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("arg0")
// CHECK: %[[U:.*]], %{{.*}} = Placeholder name("arg1")
// CHECK: %[[OLD:.*]], %{{.*}} = Slice(%[[X]], %[[AT:.*]], %{{.*}})
// CHECK: %[[SUM:.*]], %{{.*}} = AddV2(%[[OLD]], %[[U]])
// CHECK: %[[Y:.*]], %{{.*}} = XlaDynamicUpdateSlice(%[[X]], %[[SUM]], %[[AT]])
// CHECK-NOT: XlaScatter
// CHECK: Identity(%[[Y]]) name("result_0")
// CHECK: Identity(%[[Y]]) name("result_1")
func.func @main(%x: tensor<8xf32>, %u: tensor<6xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %at = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %y = "stablehlo.scatter"(%x, %at, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<6xf32>) -> tensor<8xf32>
  %far = stablehlo.constant dense<3> : tensor<1xi32>
  %z = "stablehlo.scatter"(%y, %far, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<6xf32>) -> tensor<8xf32>
  return %y, %z : tensor<8xf32>, tensor<8xf32>
}
