// RUN: treadle-opt "--tfg-schedule-communication=bucket=100" %s | FileCheck %s

// By communicator, inputs and attributes; different dtypes, reductions and groups aren't merged.
// CHECK-DAG: CollectiveReduceV3(%{{.*}}, %[[W:.*]], %{{.*}}) name("bucket{{.*}}") {{.*}}reduction = "Add"{{.*}} -> (tensor<4xf32>)
// CHECK-DAG: %[[W]], %{{.*}} = CollectiveInitializeCommunicator
// CHECK-DAG: CollectiveReduceV3({{.*}}) name("bucket{{.*}}") {{.*}}reduction = "Add"{{.*}} -> (tensor<4xf64>)
// CHECK-DAG: CollectiveReduceV3({{.*}}) name("e") {{.*}}reduction = "Max"
// CHECK-DAG: CollectiveReduce(%{{[^,]*}}) name("bucket{{.*}}") {{.*}}group_key = 7{{.*}} -> (tensor<4xf32>)
// CHECK-DAG: CollectiveReduce(%{{[^,]*}}) name("h") {{.*}}group_key = 8
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %0 = Placeholder name("x") {dtype = f32} : () -> (tensor<2xf32>)
  %y, %1 = Placeholder name("y") {dtype = f64} : () -> (tensor<2xf64>)
  %k, %2 = Const name("k") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %n, %3 = Const name("n") {dtype = i32, value = dense<0> : tensor<0x2xi32>} : () -> (tensor<0x2xi32>)
  %w, %4 = CollectiveInitializeCommunicator(%k, %k, %k) name("w") : (tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<!tf_type.resource>)
  %a, %5 = CollectiveReduceV3(%x, %w, %n) name("a") {T = f32, reduction = "Add"} : (tensor<2xf32>, tensor<!tf_type.resource>, tensor<0x2xi32>) -> (tensor<2xf32>)
  %b, %6 = CollectiveReduceV3(%x, %w, %n) name("b") {T = f32, reduction = "Add"} : (tensor<2xf32>, tensor<!tf_type.resource>, tensor<0x2xi32>) -> (tensor<2xf32>)
  %c, %7 = CollectiveReduceV3(%y, %w, %n) name("c") {T = f64, reduction = "Add"} : (tensor<2xf64>, tensor<!tf_type.resource>, tensor<0x2xi32>) -> (tensor<2xf64>)
  %d, %8 = CollectiveReduceV3(%y, %w, %n) name("d") {T = f64, reduction = "Add"} : (tensor<2xf64>, tensor<!tf_type.resource>, tensor<0x2xi32>) -> (tensor<2xf64>)
  %e, %9 = CollectiveReduceV3(%x, %w, %n) name("e") {T = f32, reduction = "Max"} : (tensor<2xf32>, tensor<!tf_type.resource>, tensor<0x2xi32>) -> (tensor<2xf32>)
  %f, %10 = CollectiveReduce(%x) name("f") {T = f32, group_size = 2, group_key = 7, instance_key = 1, merge_op = "Add", final_op = "Id", subdiv_offsets = []} : (tensor<2xf32>) -> (tensor<2xf32>)
  %g, %11 = CollectiveReduce(%x) name("g") {T = f32, group_size = 2, group_key = 7, instance_key = 2, merge_op = "Add", final_op = "Id", subdiv_offsets = []} : (tensor<2xf32>) -> (tensor<2xf32>)
  %h, %12 = CollectiveReduce(%x) name("h") {T = f32, group_size = 2, group_key = 8, instance_key = 3, merge_op = "Add", final_op = "Id", subdiv_offsets = []} : (tensor<2xf32>) -> (tensor<2xf32>)
}
