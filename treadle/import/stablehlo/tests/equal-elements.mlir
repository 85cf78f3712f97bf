// RUN: treadle convert %s %t.mlir && FileCheck %s < %t.mlir

// An elementwise op gets the scalar that all elements of a large constant are equal to.
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("arg0")
// CHECK: %[[HALF:.*]], %{{.*}} = Const {{.*}} value = dense<5.000000e-01> : tensor<f32>
// CHECK: Mul(%[[X]], %[[HALF]])
func.func @main(%x: tensor<50x2xf32>) -> tensor<50x2xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<50x2xf32>
  %r = stablehlo.multiply %x, %half : tensor<50x2xf32>
  return %r : tensor<50x2xf32>
}
