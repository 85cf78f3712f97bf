// RUN: treadle-opt "--tfg-schedule-communication=bucket=100" %s | FileCheck %s

// Two small ones are merged, with the control inputs of both; users find the values under their old
// names. One that depends on another one and a large one stay.
// CHECK: %[[INIT:.*]] = NoOp name("init")
// CHECK: ConcatV2
// CHECK: %[[R:.*]], %{{.*}} = CollectiveReduceV2({{.*}}) [%[[INIT]]] name("bucket")
// CHECK: SplitV(%[[R]]
// CHECK: Reshape({{.*}}) name("a") {{.*}} -> (tensor<2x2xf32>)
// CHECK: %{{.*}}, %[[B:.*]] = Reshape({{.*}}) name("b") {{.*}} -> (tensor<3xf32>)
// CHECK: CollectiveReduceV2({{.*}}) name("later")
// CHECK: CollectiveReduceV2({{.*}}) name("large")
// CHECK: NoOp [%[[B]]] name("done")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %init = NoOp name("init")
  %x, %0 = Placeholder name("x") {dtype = f32} : () -> (tensor<2x2xf32>)
  %y, %1 = Placeholder name("y") {dtype = f32} : () -> (tensor<3xf32>)
  %z, %2 = Placeholder name("z") {dtype = f32} : () -> (tensor<1000xf32>)
  %k, %3 = Const name("k") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %i, %4 = Const name("i") {dtype = i32, value = dense<7> : tensor<i32>} : () -> (tensor<i32>)
  %a, %5 = CollectiveReduceV2(%x, %k, %k, %k) [%init] name("a") {T = f32, final_op = "Id", merge_op = "Add"} : (tensor<2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<2x2xf32>)
  %b, %6 = CollectiveReduceV2(%y, %k, %k, %i) name("b") {T = f32, final_op = "Id", merge_op = "Add"} : (tensor<3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<3xf32>)
  %n, %7 = Neg(%b) name("n") {T = f32} : (tensor<3xf32>) -> (tensor<3xf32>)
  %c, %8 = CollectiveReduceV2(%n, %k, %k, %k) name("later") {T = f32, final_op = "Id", merge_op = "Add"} : (tensor<3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<3xf32>)
  %d, %9 = CollectiveReduceV2(%z, %k, %k, %k) name("large") {T = f32, final_op = "Id", merge_op = "Add"} : (tensor<1000xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<1000xf32>)
  %10 = NoOp [%6] name("done")
}
