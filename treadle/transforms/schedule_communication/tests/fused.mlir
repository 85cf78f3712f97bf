// RUN: echo '{"nodes": {"m": 0.01, "b": 0.001, "r": 0.002, "late_m": 0.01, "late_b": 0.001, "e0": 0.001, "e1": 0.001, "e2": 0.001, "e3": 0.001, "e4": 0.001, "sum": 0.02}}' > %t.json
// RUN: treadle-opt "--tfg-schedule-communication=costs=%t.json explain" %s 2>&1 | FileCheck %s
// RUN: echo '[{"name": "m", "ph": "X", "dur": 4000}, {"name": "late_m", "ph": "X", "dur": 5000}, {"name": "cluster", "ph": "X", "dur": 1000}, {"name": "sum", "ph": "X", "dur": 20000}]' > %t.trace
// RUN: treadle-opt "--tfg-schedule-communication=costs=%t.trace explain" %s 2>&1 | FileCheck %s --check-prefix=TRACE

// The schedule is for the nodes of a run: a group that one kernel computes takes as long as its
// parts, and so does a cluster (here with late_b), unless a trace has its own time. A product that would wait for the
// collective isn't fused. The graph keeps its nodes.
// CHECK: a step takes 29.000 ms
// CHECK-DAG: 13.000     m (_FusedMatMul)
// CHECK-DAG: late_m (MatMul)
// CHECK-DAG: cluster (PartitionedCall)
// CHECK: BiasAdd({{.*}}) name("b")
// CHECK: Relu({{.*}}) name("r")
// TRACE-DAG: 4.002     m (_FusedMatMul)
// TRACE-DAG: cluster (PartitionedCall)
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %0 = Placeholder name("x") {dtype = f32} : () -> (tensor<8x8xf32>)
  %v, %1 = Placeholder name("v") {dtype = f32} : () -> (tensor<8xf32>)
  %n, %2 = Const name("n") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %m, %3 = MatMul(%x, %x) name("m") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %b, %4 = BiasAdd(%m, %v) name("b") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %r, %5 = Relu(%b) name("r") {T = f32} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %s, %6 = CollectiveReduceV2(%v, %n, %n, %n) name("sum") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<8xf32>)
  %lm, %7 = MatMul(%r, %x) name("late_m") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %lb, %8 = BiasAdd(%lm, %s) name("late_b") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %e0, %9 = Neg(%lb) name("e0") {T = f32} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %e1, %10 = Tanh(%e0) name("e1") {T = f32} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %e2, %11 = Abs(%e1) name("e2") {T = f32} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %e3, %12 = Exp(%e2) name("e3") {T = f32} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %e4, %13 = Sin(%e3) name("e4") {T = f32} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
}
