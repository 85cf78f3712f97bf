// RUN: treadle-opt --tfg-channels-last=keep=kept %s | FileCheck %s

// Transposes are needed only where images enter and leave. The nodes between are converted: a
// factor for each channel becomes a vector, axes and paddings are permuted.
// CHECK-LABEL: tfg.func @between
// CHECK: Transpose(%x,
// CHECK: Conv2D(%[[X:.*]], %f) name("c") {{.*}}data_format = "NHWC"{{.*}}explicit_paddings = [0, 0, 1, 2, 3, 4, 0, 0]{{.*}}strides = [1, 2, 3, 1]
// CHECK-SAME: -> (tensor<2x8x9x5xf32>)
// CHECK: Reshape(%s,
// CHECK: %[[M:.*]], %{{.*}} = Mul(%{{.*}}, %{{.*}}) name("m") {{.*}}(tensor<2x8x9x5xf32>, tensor<5xf32>) -> (tensor<2x8x9x5xf32>)
// CHECK: dense<[1, 2]>
// CHECK: Mean(%[[M]], %{{.*}}) name("mean") {{.*}} -> (tensor<2x5xf32>)
// CHECK: ConcatV2(%[[M]], %[[M]], %{{.*}}) name("cat") {{.*}} -> (tensor<2x8x9x10xf32>)
// CHECK: %[[T:.*]], %{{.*}} = Transpose(%{{.*}}) {{.*}}-> (tensor<2x10x8x9xf32>)
// CHECK-NOT: Transpose(
// CHECK: return(%[[T]],
tfg.func @between(%x: tensor<2x3x16x27xf32> {tfg.name = "x"}, %f: tensor<*xf32> {tfg.name = "f"}, %s: tensor<5x1x1xf32> {tfg.name = "s"}) -> (tensor<2x10x8x9xf32> {tfg.name = "a"}, tensor<2x5xf32> {tfg.name = "b"}) {
  %axes, %ac = Const name("axes") {dtype = i64, value = dense<[2, -1]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %c, %cc = Conv2D(%x, %f) name("c") {T = f32, data_format = "NCHW", explicit_paddings = [0, 0, 0, 0, 1, 2, 3, 4], padding = "EXPLICIT", strides = [1, 1, 2, 3]} : (tensor<2x3x16x27xf32>, tensor<*xf32>) -> (tensor<2x5x8x9xf32>)
  %m, %mc = Mul(%c, %s) name("m") {T = f32} : (tensor<2x5x8x9xf32>, tensor<5x1x1xf32>) -> (tensor<2x5x8x9xf32>)
  %mean, %nc = Mean(%m, %axes) name("mean") {T = f32, Tidx = i64, keep_dims = false} : (tensor<2x5x8x9xf32>, tensor<2xi64>) -> (tensor<2x5xf32>)
  %cat, %kc = ConcatV2(%m, %m, %one) name("cat") {N = 2, T = f32, Tidx = i32} : (tensor<2x5x8x9xf32>, tensor<2x5x8x9xf32>, tensor<i32>) -> (tensor<2x10x8x9xf32>)
  return(%cat, %mean) : tensor<2x10x8x9xf32>, tensor<2x5xf32>
}

// An existing Transpose serves like a new one; 1x1 images in rows need none.
// CHECK-LABEL: tfg.func @turned
// CHECK: MaxPool(%x) name("p") {{.*}}data_format = "NHWC"
// CHECK: Reshape(%{{.*}}) name("t") {{.*}} -> (tensor<2x12x3xf32>)
// CHECK-NOT: Transpose(
// CHECK: return
tfg.func @turned(%x: tensor<2x6x8x3xf32> {tfg.name = "x"}) -> (tensor<2x12x3xf32> {tfg.name = "a"}) {
  %first, %fc = Const name("first") {dtype = i32, value = dense<[0, 3, 1, 2]> : tensor<4xi32>} : () -> (tensor<4xi32>)
  %rows, %rc = Const name("rows") {dtype = i32, value = dense<[2, 3, 12]> : tensor<3xi32>} : () -> (tensor<3xi32>)
  %swap, %sc = Const name("swap") {dtype = i32, value = dense<[0, 2, 1]> : tensor<3xi32>} : () -> (tensor<3xi32>)
  %f, %gc = Transpose(%x, %first) name("f") {T = f32, Tperm = i32} : (tensor<2x6x8x3xf32>, tensor<4xi32>) -> (tensor<2x3x6x8xf32>)
  %p, %pc = MaxPool(%f) name("p") {T = f32, data_format = "NCHW", ksize = [1, 1, 2, 2], padding = "VALID", strides = [1, 1, 2, 2]} : (tensor<2x3x6x8xf32>) -> (tensor<2x3x3x4xf32>)
  %r, %qc = Reshape(%p, %rows) name("r") {T = f32, Tshape = i32} : (tensor<2x3x3x4xf32>, tensor<3xi32>) -> (tensor<2x3x12xf32>)
  %t, %tc = Transpose(%r, %swap) name("t") {T = f32, Tperm = i32} : (tensor<2x3x12xf32>, tensor<3xi32>) -> (tensor<2x12x3xf32>)
  return(%t) : tensor<2x12x3xf32>
}

// An image of unknown size may be larger than 1x1, so the order of its elements is preserved.
// CHECK-LABEL: tfg.func @unknown
// CHECK: MaxPool(%{{.*}}) name("p") {{.*}}data_format = "NHWC"
// CHECK: %[[BACK:.*]], %{{.*}} = Transpose(
// CHECK: Reshape(%[[BACK]], %{{.*}}) name("r")
tfg.func @unknown(%x: tensor<2x3x6x8xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "a"}) {
  %rows, %rc = Const name("rows") {dtype = i32, value = dense<[2, 36]> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %p, %pc = MaxPool(%x) name("p") {T = f32, data_format = "NCHW", ksize = [1, 1, 2, 2], padding = "VALID", strides = [1, 1, 2, 2]} : (tensor<2x3x6x8xf32>) -> (tensor<*xf32>)
  %r, %qc = Reshape(%p, %rows) name("r") {T = f32, Tshape = i32} : (tensor<*xf32>, tensor<2xi32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}

// A kept node has the same result as before. A node that depends on the order of dimensions, or
// whose conversion doesn't pay off, isn't converted.
// CHECK-LABEL: tfg.graph
// CHECK: Relu(%{{.*}}) name("kept/channels_last"
// CHECK: Transpose(%{{.*}}) name("kept")
// CHECK: Softmax(%{{.*}}) {{.*}}(tensor<1x3x4x5xf32>)
// CHECK: AddV2(%{{.*}}) name("sum") {{.*}}-> (tensor<9x3x4x5xf32>)
tfg.graph #tf_type.version<producer = 2000, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<1x3x4x5xf32>)
  %y, %yc = Placeholder name("y") {dtype = f32} : () -> (tensor<9x3x4x5xf32>)
  %b, %bc = Placeholder name("b") {dtype = f32} : () -> (tensor<3xf32>)
  %c, %cc = BiasAdd(%x, %b) name("c") {T = f32, data_format = "NCHW"} : (tensor<1x3x4x5xf32>, tensor<3xf32>) -> (tensor<1x3x4x5xf32>)
  %kept, %kc = Relu(%c) name("kept") {T = f32} : (tensor<1x3x4x5xf32>) -> (tensor<1x3x4x5xf32>)
  %s, %sc = Softmax(%kept) name("softmax") {T = f32} : (tensor<1x3x4x5xf32>) -> (tensor<1x3x4x5xf32>)
  %sum, %uc = AddV2(%c, %y) name("sum") {T = f32} : (tensor<1x3x4x5xf32>, tensor<9x3x4x5xf32>) -> (tensor<9x3x4x5xf32>)
}

// Frames of v1 control flow aren't converted.
// CHECK-LABEL: tfg.func @frames
// CHECK-NOT: NHWC
tfg.func @frames(%x: tensor<1x3x4x5xf32> {tfg.name = "x"}, %b: tensor<3xf32> {tfg.name = "b"}) -> (tensor<1x3x4x5xf32> {tfg.name = "r"}) {
  %e, %ec = Enter(%x) name("e") {T = f32, frame_name = "f", is_constant = false, parallel_iterations = 1} : (tensor<1x3x4x5xf32>) -> (tensor<1x3x4x5xf32>)
  %d, %dc = Enter(%b) name("d") {T = f32, frame_name = "f", is_constant = false, parallel_iterations = 1} : (tensor<3xf32>) -> (tensor<3xf32>)
  %c, %cc = BiasAdd(%e, %d) name("c") {T = f32, data_format = "NCHW"} : (tensor<1x3x4x5xf32>, tensor<3xf32>) -> (tensor<1x3x4x5xf32>)
  %q, %qc = Exit(%c) name("q") {T = f32} : (tensor<1x3x4x5xf32>) -> (tensor<1x3x4x5xf32>)
  return(%q) : tensor<1x3x4x5xf32>
}

// The input of a BiasAdd may have another rank, or an unknown one.
// CHECK-LABEL: tfg.func @ranks
// CHECK-NOT: NHWC
tfg.func @ranks(%x: tensor<2x3xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"}, %b: tensor<3xf32> {tfg.name = "b"}) -> (tensor<2x3xf32> {tfg.name = "r"}, tensor<*xf32> {tfg.name = "s"}, tensor<3xf32> {tfg.name = "t"}) {
  %r, %rc = BiasAdd(%x, %b) name("r") {T = f32, data_format = "NCHW"} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>)
  %s, %sc = BiasAdd(%y, %b) name("s") {T = f32, data_format = "NCHW"} : (tensor<*xf32>, tensor<3xf32>) -> (tensor<*xf32>)
  %t, %tc = BiasAddGrad(%x) name("t") {T = f32, data_format = "NCHW"} : (tensor<2x3xf32>) -> (tensor<3xf32>)
  return(%r, %s, %t) : tensor<2x3xf32>, tensor<*xf32>, tensor<3xf32>
}
