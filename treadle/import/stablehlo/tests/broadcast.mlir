// RUN: treadle convert %s %t.mlir && FileCheck %s < %t.mlir

// An elementwise op uses the value before its broadcast if another input has the full
// shape.

// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("arg0")
// CHECK: %[[BIAS:.*]], %{{.*}} = Placeholder name("arg1")
// CHECK: %[[ROW:.*]], %{{.*}} = Reshape(%[[BIAS]],
// CHECK: AddV2(%[[X]], %[[ROW]]) {{.*}} : (tensor<2x3xf32>, tensor<1x3xf32>) -> (tensor<2x3xf32>)
func.func @main(%x: tensor<2x3xf32>, %bias: tensor<3xf32>) -> tensor<2x3xf32> {
  %rows = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %r = stablehlo.add %x, %rows : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
