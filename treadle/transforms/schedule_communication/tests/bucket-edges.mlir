// RUN: treadle-opt "--tfg-schedule-communication=bucket=100" %s | FileCheck %s

// The bucket has all control inputs and soft inputs of its members; users of a member's token wait
// for the node that took over its name. A member that an edge puts after another isn't merged with
// it.
// CHECK-DAG: %[[P:.*]] = NoOp name("p")
// CHECK-DAG: %[[Q:.*]] = NoOp name("q")
// CHECK: CollectiveReduceV2({{.*}}) [%[[P]], %[[Q]]] name("bucket") {{.*}}_soft_inputs = ["early"]
// CHECK: %{{.*}}, %[[A:.*]] = Reshape({{.*}}) name("a")
// CHECK: %{{.*}}, %[[B:.*]] = Reshape({{.*}}) name("b")
// CHECK: NoOp [%[[A]]] name("done")
// CHECK: CollectiveReduceV2({{.*}}) [%[[B]]] name("c")
// CHECK: Neg({{.*}}) name("late") {{.*}}_soft_inputs = ["b"]
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p = NoOp name("p")
  %q = NoOp name("q")
  %x, %0 = Placeholder name("x") {dtype = f32} : () -> (tensor<2xf32>)
  %k, %1 = Const name("k") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %e, %2 = Neg(%x) name("early") {T = f32} : (tensor<2xf32>) -> (tensor<2xf32>)
  %a, %3 = CollectiveReduceV2(%x, %k, %k, %k) [%p] name("a") {T = f32, final_op = "Id", merge_op = "Add", _soft_inputs = ["early"]} : (tensor<2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<2xf32>)
  %b, %4 = CollectiveReduceV2(%x, %k, %k, %k) [%q] name("b") {T = f32, final_op = "Id", merge_op = "Add"} : (tensor<2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<2xf32>)
  %5 = NoOp [%3] name("done")
  %c, %6 = CollectiveReduceV2(%x, %k, %k, %k) [%4] name("c") {T = f32, final_op = "Id", merge_op = "Add"} : (tensor<2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<2xf32>)
  %l, %7 = Neg(%x) name("late") {T = f32, _soft_inputs = ["b"]} : (tensor<2xf32>) -> (tensor<2xf32>)
}
