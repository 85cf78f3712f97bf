// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?x?xf32>" %s | FileCheck %s

// The running sum along the last axis is kept in a register.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[COPY:.*]] = linalg.generic
// CHECK: rc.write %[[COPY]] for(%{{.*}}) : tensor<5x40xf32> -> tensor<5x40xf32> {
// CHECK-NEXT: ^bb0(%[[T:.*]]: tensor<5x40xf32>, %[[ROW:.*]]: index):
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c40{{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK: %[[OWN:.*]] = rc.current %[[T]][%[[ROW]], %[[I]]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[OWN]]
// CHECK: rc.store %[[T]][%[[ROW]], %[[I]]] = %[[NEXT]]
// CHECK-NOT: rc.kernel
tfg.func @f(%x: tensor<5x40xf32> {tfg.name = "x"}) -> (tensor<5x40xf32> {tfg.name = "y"}) {
  %zero, %c0 = Const name("zero") {dtype = f32, value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %sizes, %c1 = Const name("sizes") {dtype = i32, value = dense<[1, 40]> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %ones, %c2 = Const name("ones") {dtype = i32, value = dense<1> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %padding, %c3 = Const name("padding") {dtype = i32, value = dense<[[0, 0], [39, 0]]> : tensor<2x2xi32>} : () -> (tensor<2x2xi32>)
  %y, %c = XlaReduceWindow(%x, %zero, %sizes, %ones, %ones, %ones, %padding) name("y") {T = f32, Tindices = i32, computation = #tf_type.func<@sum, {}>} : (tensor<5x40xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> (tensor<5x40xf32>)
  return(%y) : tensor<5x40xf32>
}
tfg.func @sum(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "s"}) {
  %s, %c = AddV2(%a, %b) name("s") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return(%s) : tensor<f32>
}
