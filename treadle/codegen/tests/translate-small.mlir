// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?xf32>,tensor<?x?xf32>" %s | FileCheck %s

// The sizes that a function declares are checked once, at the start. A small tensor is held as its
// elements, also in loops; a slice of a large one is written in place.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[ALL:.*]]: tensor<?x?xf32>)
// CHECK: tensor.cast %[[X]] : tensor<?xf32> to tensor<3xf32>
// CHECK: tensor.cast %[[ALL]] : tensor<?x?xf32> to tensor<500x3xf32>
// CHECK: scf.while {{.*}} : (i32, f32, f32, f32, tensor<500x3xf32>)
// CHECK-COUNT-3: arith.addf {{.*}} : f32
// CHECK-NOT: linalg
// CHECK-NOT: rc.kernel
// CHECK: rc.update %{{.*}}[%{{.*}}, %{{.*}}] [1, 3] = %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32 in tensor<500x3xf32>
tfg.func @f(%x: tensor<3xf32> {tfg.name = "x"}, %all: tensor<500x3xf32> {tfg.name = "all"}) -> (tensor<3xf32> {tfg.name = "y"}, tensor<500x3xf32> {tfg.name = "z"}) {
  %zero, %c0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w:3, %c1 = While(%zero, %x, %all) name("w") {T = [i32, f32, f32], cond = #tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<i32>, tensor<3xf32>, tensor<500x3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<500x3xf32>)
  return(%w#1, %w#2) : tensor<3xf32>, tensor<500x3xf32>
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<3xf32> {tfg.name = "x"}, %all: tensor<500x3xf32> {tfg.name = "all"}) -> (tensor<i1> {tfg.name = "p"}) {
  %end, %c0 = Const name("end") {dtype = i32, value = dense<500> : tensor<i32>} : () -> (tensor<i32>)
  %p, %c = Less(%i, %end) name("p") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<3xf32> {tfg.name = "x"}, %all: tensor<500x3xf32> {tfg.name = "all"}) -> (tensor<i32> {tfg.name = "a"}, tensor<3xf32> {tfg.name = "b"}, tensor<500x3xf32> {tfg.name = "c"}) {
  %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %zero, %c1 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %next, %c2 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %axis, %c3 = Const name("axis") {dtype = i32, value = dense<0> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %back, %c4 = ReverseV2(%x, %axis) name("back") {T = f32, Tidx = i32} : (tensor<3xf32>, tensor<1xi32>) -> (tensor<3xf32>)
  %y, %c5 = AddV2(%x, %back) name("y") {T = f32} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>)
  %row, %c6 = ExpandDims(%y, %zero) name("row") {T = f32, Tdim = i32} : (tensor<3xf32>, tensor<i32>) -> (tensor<1x3xf32>)
  %start, %c7 = Pack(%i, %zero) name("start") {N = 2 : i64, T = i32, axis = 0 : i64} : (tensor<i32>, tensor<i32>) -> (tensor<2xi32>)
  %z, %c8 = XlaDynamicUpdateSlice(%all, %row, %start) name("z") {T = f32, Tindices = i32} : (tensor<500x3xf32>, tensor<1x3xf32>, tensor<2xi32>) -> (tensor<500x3xf32>)
  return(%next, %y, %z) : tensor<i32>, tensor<3xf32>, tensor<500x3xf32>
}
