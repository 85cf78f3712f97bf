// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?xf32>,tensor<?x?xi32>,tensor<?xf32>" %s | FileCheck %s

// A scatter is a loop over its updates, which writes at the given indices if they are in range.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[X:.*]] = tensor.cast %{{.*}} : tensor<?xf32> to tensor<50xf32>
// CHECK: rc.write %[[X]] for(%{{.*}}) : tensor<50xf32> -> tensor<50xf32> {
// CHECK-NEXT: ^bb0(%[[T:.*]]: tensor<50xf32>, %[[I:.*]]: index):
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[AT:.*]], %c50
// CHECK: scf.if %[[INSIDE]]
// CHECK: %[[U:.*]] = tensor.extract %{{.*}}[%[[I]]] : tensor<30xf32>
// CHECK: %[[OLD:.*]] = rc.current %[[T]][%[[AT]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[U]]
// CHECK: rc.store %[[T]][%[[AT]]] = %[[SUM]]
// CHECK-NOT: rc.kernel
tfg.func @f(%x: tensor<50xf32> {tfg.name = "x"}, %i: tensor<30x1xi32> {tfg.name = "i"}, %u: tensor<30xf32> {tfg.name = "u"}) -> (tensor<50xf32> {tfg.name = "y"}) {
  %y, %c = XlaScatter(%x, %i, %u) name("y") {T = f32, Tindices = i32, dimension_numbers = "\10\00\18\00 \01", indices_are_sorted = false, update_computation = #tf_type.func<@sum, {}>} : (tensor<50xf32>, tensor<30x1xi32>, tensor<30xf32>) -> (tensor<50xf32>)
  return(%y) : tensor<50xf32>
}
tfg.func @sum(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "s"}) {
  %s, %c = AddV2(%a, %b) name("s") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return(%s) : tensor<f32>
}
