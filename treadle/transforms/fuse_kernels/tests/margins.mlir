// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// A convolution absorbs a Pad with zeros before it.
// CHECK-LABEL: tfg.func @margin
// CHECK-NOT: Pad(
// CHECK: _FusedDepthwiseConv2dNative(%x, %w) name("c")
// CHECK-SAME: explicit_paddings = [0, 0, 1, 2, 3, 4, 0, 0]
// CHECK-SAME: padding = "EXPLICIT"
tfg.func @margin(%x: tensor<*xf32> {tfg.name = "x"}, %w: tensor<*xf32> {tfg.name = "w"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %s, %sc = Const name("s") {dtype = i32, value = dense<[[0, 0], [1, 2], [3, 4], [0, 0]]> : tensor<4x2xi32>} : () -> (tensor<4x2xi32>)
  %p, %pc = Pad(%x, %s) name("p") {T = f32} : (tensor<*xf32>, tensor<4x2xi32>) -> (tensor<*xf32>)
  %c, %cc = DepthwiseConv2dNative(%p, %w) name("c") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = Relu(%c) name("r") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}

// Not fused: zeros among the channels, an image of zeros, a negative number (an error at run time),
// another rank, a window that covers only padding, a fetched Pad.
// CHECK-LABEL: tfg.func @others
// CHECK-COUNT-6: = Pad(
// CHECK-NOT: EXPLICIT
tfg.func @others(%x: tensor<*xf32> {tfg.name = "x"}, %w: tensor<*xf32> {tfg.name = "w"}) -> (tensor<*xf32> {tfg.name = "a"}, tensor<*xf32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}, tensor<*xf32> {tfg.name = "d"}, tensor<*xf32> {tfg.name = "e"}, tensor<*xf32> {tfg.name = "f"}, tensor<*xf32> {tfg.name = "g"}) {
  %k1, %k1c = Const name("1") {dtype = i32, value = dense<[[0, 0], [1, 2], [3, 4], [0, 1]]> : tensor<4x2xi32>} : () -> (tensor<4x2xi32>)
  %k2, %k2c = Const name("2") {dtype = i32, value = dense<[[1, 0], [1, 2], [3, 4], [0, 0]]> : tensor<4x2xi32>} : () -> (tensor<4x2xi32>)
  %k3, %k3c = Const name("3") {dtype = i32, value = dense<[[0, 0], [-1, 2], [3, 4], [0, 0]]> : tensor<4x2xi32>} : () -> (tensor<4x2xi32>)
  %k4, %k4c = Const name("4") {dtype = i32, value = dense<[[0, 0], [1, 2], [0, 0]]> : tensor<3x2xi32>} : () -> (tensor<3x2xi32>)
  %k5, %k5c = Const name("5") {dtype = i32, value = dense<[[0, 0], [1, 2], [3, 4], [0, 0]]> : tensor<4x2xi32>} : () -> (tensor<4x2xi32>)
  %p, %pc = Pad(%x, %k1) name("p") {T = f32} : (tensor<*xf32>, tensor<4x2xi32>) -> (tensor<*xf32>)
  %a, %ac = Conv2D(%p, %w) name("a") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = Pad(%x, %k2) name("q") {T = f32} : (tensor<*xf32>, tensor<4x2xi32>) -> (tensor<*xf32>)
  %b, %bc = Conv2D(%q, %w) name("b") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = Pad(%x, %k3) name("r") {T = f32} : (tensor<*xf32>, tensor<4x2xi32>) -> (tensor<*xf32>)
  %c, %cc = Conv2D(%r, %w) name("c") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s, %sc = Pad(%x, %k4) name("s") {T = f32} : (tensor<*xf32>, tensor<3x2xi32>) -> (tensor<*xf32>)
  %d, %dc = Conv2D(%s, %w) name("d") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %t, %tc = Pad(%x, %k5) name("t") {T = f32} : (tensor<*xf32>, tensor<4x2xi32>) -> (tensor<*xf32>)
  %e, %ec = Conv2D(%t, %w) name("e") {T = f32, padding = "SAME"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %u, %uc = Pad(%x, %k5) name("u") {T = f32} : (tensor<*xf32>, tensor<4x2xi32>) -> (tensor<*xf32>)
  %f, %fc = Conv2D(%u, %w) name("f") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%a, %b, %c, %d, %e, %f, %u) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}
