// RUN: treadle convert %s %t.mlir && FileCheck %s < %t.mlir

// A composite that JAX makes from an elementwise op of chlo is that op, and another one its
// decomposition.

// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("arg0")
// CHECK: %[[Y:.*]], %{{.*}} = Erf(%[[X]])
// CHECK: Neg(%[[Y]])
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.composite "chlo.erf" %x {decomposition = @erf, version = 1 : i32} : (tensor<3xf32>) -> tensor<3xf32>
  %z = stablehlo.composite "own.negated" %y {decomposition = @negated} : (tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
func.func private @erf(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.tanh %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func private @negated(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.negate %x : tensor<3xf32>
  return %y : tensor<3xf32>
}
