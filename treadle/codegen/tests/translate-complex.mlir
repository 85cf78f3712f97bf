// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?xcomplex<f32>>" %s | FileCheck %s

// A complex number is two registers, also in loops; operations on it become operations on its
// parts.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[RE:.*]] = complex.re
// CHECK: %[[IM:.*]] = complex.im
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[RE]], %{{.*}} = %[[IM]]) : (i32, f32, f32)
// CHECK: } do {
// CHECK: ^bb0(%{{.*}}: i32, %[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK: %[[AA:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK: %[[BB:.*]] = arith.mulf %[[B]], %[[B]]
// CHECK: arith.subf %[[AA]], %[[BB]]
// CHECK-NOT: rc.kernel
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}} : i32, f32, f32
tfg.func @f(%x: tensor<1xcomplex<f32>> {tfg.name = "x"}) -> (tensor<complex<f32>> {tfg.name = "y"}) {
  %zero, %c0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %shape, %c1 = Const name("shape") {dtype = i32, value = dense<> : tensor<0xi32>} : () -> (tensor<0xi32>)
  %z, %c2 = Reshape(%x, %shape) name("z") {T = complex<f32>, Tshape = i32} : (tensor<1xcomplex<f32>>, tensor<0xi32>) -> (tensor<complex<f32>>)
  %w:2, %c3 = While(%zero, %z) name("w") {T = [i32, complex<f32>], cond = #tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<i32>, tensor<complex<f32>>) -> (tensor<i32>, tensor<complex<f32>>)
  return(%w#1) : tensor<complex<f32>>
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %z: tensor<complex<f32>> {tfg.name = "z"}) -> (tensor<i1> {tfg.name = "p"}) {
  %end, %c0 = Const name("end") {dtype = i32, value = dense<50> : tensor<i32>} : () -> (tensor<i32>)
  %p, %c = Less(%i, %end) name("p") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %z: tensor<complex<f32>> {tfg.name = "z"}) -> (tensor<i32> {tfg.name = "a"}, tensor<complex<f32>> {tfg.name = "b"}) {
  %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %next, %c1 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %square, %c2 = Mul(%z, %z) name("square") {T = complex<f32>} : (tensor<complex<f32>>, tensor<complex<f32>>) -> (tensor<complex<f32>>)
  return(%next, %square) : tensor<i32>, tensor<complex<f32>>
}
