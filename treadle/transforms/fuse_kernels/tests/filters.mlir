// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// A convolution reads a filter with output channels first directly.
// CHECK-LABEL: tfg.func @outermost_first
// CHECK-NOT: Transpose(
// CHECK: _FusedConv2D(%x, %w, %b) name("c")
// CHECK-SAME: filter_format = "OIHW"
// CHECK: Conv2DBackpropInput(%s, %v, %{{.*}}) name("g")
// CHECK-SAME: filter_format = "OIHW"
tfg.func @outermost_first(%x: tensor<*xf32> {tfg.name = "x"}, %w: tensor<*xf32> {tfg.name = "w"}, %v: tensor<*xf32> {tfg.name = "v"}, %b: tensor<*xf32> {tfg.name = "b"}, %s: tensor<*xi32> {tfg.name = "s"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %p, %pc = Const name("p") {dtype = i32, value = dense<[2, 3, 1, 0]> : tensor<4xi32>} : () -> (tensor<4xi32>)
  %t, %tc = Transpose(%w, %p) name("t") {T = f32, Tperm = i32} : (tensor<*xf32>, tensor<4xi32>) -> (tensor<*xf32>)
  %c, %cc = Conv2D(%x, %t) name("c") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = BiasAdd(%c, %b) name("r") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %u, %uc = Transpose(%v, %p) name("u") {T = f32, Tperm = i32} : (tensor<*xf32>, tensor<4xi32>) -> (tensor<*xf32>)
  %g, %gc = Conv2DBackpropInput(%s, %u, %r) name("g") {T = f32, padding = "VALID"} : (tensor<*xi32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%g) : tensor<*xf32>
}

// Not fused: another order, a value with other users.
// CHECK-LABEL: tfg.func @others
// CHECK-COUNT-2: = Transpose(
// CHECK-NOT: OIHW
tfg.func @others(%x: tensor<*xf32> {tfg.name = "x"}, %w: tensor<*xf32> {tfg.name = "w"}) -> (tensor<*xf32> {tfg.name = "a"}, tensor<*xf32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "u"}) {
  %p, %pc = Const name("p") {dtype = i32, value = dense<[3, 2, 1, 0]> : tensor<4xi32>} : () -> (tensor<4xi32>)
  %q, %qc = Const name("q") {dtype = i32, value = dense<[2, 3, 1, 0]> : tensor<4xi32>} : () -> (tensor<4xi32>)
  %t, %tc = Transpose(%w, %p) name("t") {T = f32, Tperm = i32} : (tensor<*xf32>, tensor<4xi32>) -> (tensor<*xf32>)
  %a, %ac = Conv2D(%x, %t) name("a") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %u, %uc = Transpose(%w, %q) name("u") {T = f32, Tperm = i32} : (tensor<*xf32>, tensor<4xi32>) -> (tensor<*xf32>)
  %b, %bc = Conv2D(%x, %u) name("b") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%a, %b, %u) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// A filter's gradient is written in the requested order.
// CHECK-LABEL: tfg.func @gradient
// CHECK: dense<[5, 4, 2, 3]>
// CHECK: Conv2DBackpropFilter(%x, %{{.*}}, %g) name("d")
// CHECK-SAME: filter_format = "OIHW"
// CHECK-NOT: Transpose(
tfg.func @gradient(%x: tensor<*xf32> {tfg.name = "x"}, %g: tensor<*xf32> {tfg.name = "g"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %s, %sc = Const name("s") {dtype = i32, value = dense<[2, 3, 4, 5]> : tensor<4xi32>} : () -> (tensor<4xi32>)
  %p, %pc = Const name("p") {dtype = i32, value = dense<[3, 2, 0, 1]> : tensor<4xi32>} : () -> (tensor<4xi32>)
  %d, %dc = Conv2DBackpropFilter(%x, %s, %g) name("d") {T = f32, padding = "VALID"} : (tensor<*xf32>, tensor<4xi32>, tensor<*xf32>) -> (tensor<*xf32>)
  %t, %tc = Transpose(%d, %p) name("t") {T = f32, Tperm = i32} : (tensor<*xf32>, tensor<4xi32>) -> (tensor<*xf32>)
  return(%t) : tensor<*xf32>
}
