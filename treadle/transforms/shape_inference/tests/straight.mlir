// RUN: treadle-opt --tfg-shape-inference %s | FileCheck %s
// RUN: treadle-opt "--tfg-shape-inference=feeds=r:0 output-shapes" %s | FileCheck %s --check-prefix=FED

// CHECK-LABEL: tfg.graph
// CHECK: Placeholder name("x") {{.*}} -> (tensor<?x3xf32>)
// CHECK: Pack{{.*}} -> (tensor<2xi32>)
// CHECK: Reshape{{.*}} -> (tensor<?x3x1xf32>)
// CHECK: AddV2{{.*}} -> (tensor<?x3x4xf32>)
// CHECK: MatMul{{.*}} -> (tensor<?x5xf32>)
// CHECK: Sum{{.*}} -> (tensor<?xf32>)
// CHECK: MyOp{{.*}} -> (tensor<*xf32>)
// FED: Reshape{{.*}}_output_shapes = [#tf_type.shape<*>]{{.*}} -> (tensor<*xf32>)
// FED: AddV2{{.*}} -> (tensor<*xf32>)
// FED: MatMul{{.*}}_output_shapes = [#tf_type.shape<?x5>]
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<?x3>} : () -> (tensor<*xf32>)
  %s, %sc = Shape(%x) name("s") {T = f32, out_type = i32} : (tensor<*xf32>) -> (tensor<*xi32>)
  %n0, %c0 = Const name("0") {dtype = i32, value = dense<0> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %n1, %c1 = Const name("1") {dtype = i32, value = dense<1> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %b, %bc = StridedSlice(%s, %n0, %n1, %n1) name("b") {Index = i32, T = i32, begin_mask = 0 : i64, ellipsis_mask = 0 : i64, end_mask = 0 : i64, new_axis_mask = 0 : i64, shrink_axis_mask = 1 : i64} : (tensor<*xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<*xi32>)
  %three, %c3 = Const name("3") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %p, %pc = Pack(%b, %three) name("p") {N = 2 : i64, T = i32, axis = 0 : i64} : (tensor<*xi32>, tensor<i32>) -> (tensor<*xi32>)
  %d, %dc = Const name("d") {dtype = i32, value = dense<1> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %z, %zc = Const name("z") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %q, %qc = ConcatV2(%p, %d, %z) name("q") {N = 2 : i64, T = i32, Tidx = i32} : (tensor<*xi32>, tensor<1xi32>, tensor<i32>) -> (tensor<*xi32>)
  %r, %rc = Reshape(%x, %q) name("r") {T = f32, Tshape = i32} : (tensor<*xf32>, tensor<*xi32>) -> (tensor<*xf32>)
  %w, %wc = Const name("w") {dtype = f32, value = dense<1.0> : tensor<3x4xf32>} : () -> (tensor<3x4xf32>)
  %a, %ac = AddV2(%r, %w) name("a") {T = f32} : (tensor<*xf32>, tensor<3x4xf32>) -> (tensor<*xf32>)
  %k, %kc = Const name("k") {dtype = f32, value = dense<1.0> : tensor<5x3xf32>} : () -> (tensor<5x3xf32>)
  %m, %mc = MatMul(%x, %k) name("m") {T = f32, transpose_a = false, transpose_b = true} : (tensor<*xf32>, tensor<5x3xf32>) -> (tensor<*xf32>)
  %t, %tc = Sum(%m, %n1) name("t") {T = f32, Tidx = i32, keep_dims = false} : (tensor<*xf32>, tensor<1xi32>) -> (tensor<*xf32>)
  %u, %uc = MyOp(%t) name("u") : (tensor<*xf32>) -> (tensor<*xf32>)
}
