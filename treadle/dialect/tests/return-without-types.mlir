// A tfg.return without types takes those of its function.
// RUN: treadle-opt %s | FileCheck %s

// CHECK: return(%Neg) [%ctl] : tensor<*xf32>
tfg.func @foo(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %n, %c = tfg.Neg(%x) name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  tfg.return(%n) [%c]
}
