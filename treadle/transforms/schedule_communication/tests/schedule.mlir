// RUN: echo '{"ops": {"Exp": 0.01, "Mul": 0.002, "Sub": 0.001}, "link": {"latency": 0.001, "bytes_per_second": 250000}}' > %t.json
// RUN: treadle-opt "--tfg-schedule-communication=costs=%t.json" %s | FileCheck %s
// RUN: treadle-opt "--tfg-schedule-communication=costs=%t.json explain" %s 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: echo '{"ops": {"Exp": -1}}' > %t.bad
// RUN: not treadle-opt "--tfg-schedule-communication=costs=%t.bad" %s 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: echo '{"opps": {"Exp": 1}}' > %t.typo
// RUN: not treadle-opt "--tfg-schedule-communication=costs=%t.typo" %s 2>&1 | FileCheck %s --check-prefix=TYPO
// RUN: echo '{"link": {"bandwidth": 1}}' > %t.link
// RUN: not treadle-opt "--tfg-schedule-communication=costs=%t.link" %s 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: not treadle-opt "--tfg-schedule-communication=costs=%t.none" %s 2>&1 | FileCheck %s --check-prefix=NONE

// BAD: error: costs: 'ops' of 'Exp' is not a non-negative number of seconds
// TYPO: error: costs: unknown key 'opps', expected nodes, ops, default, link
// LINK: error: costs: unknown key 'bandwidth', expected latency, bytes_per_second
// NONE: error: costs: '{{.*}}' can't be read

// Dependencies of the collective come first; existing edges stay.
// CHECK: name("long") {{.*}}_soft_inputs = ["x", "grad"]
// CHECK-NOT: _soft_inputs
// CHECK: name("new")
// EXPLAIN: remark: a step takes 23.000 ms by the cost model, 31.000 ms without the schedule
// EXPLAIN-SAME: 18.000 ms are hidden (100% of the possible overlap)
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %0 = Placeholder name("x") {dtype = f32} : () -> (tensor<1000xf32>)
  %size, %1 = Const name("size") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %long, %3 = Exp(%x) name("long") {T = f32, _soft_inputs = ["x"]} : (tensor<1000xf32>) -> (tensor<1000xf32>)
  %more, %4 = Exp(%long) name("more") {T = f32} : (tensor<1000xf32>) -> (tensor<1000xf32>)
  %grad, %5 = Mul(%x, %x) name("grad") {T = f32} : (tensor<1000xf32>, tensor<1000xf32>) -> (tensor<1000xf32>)
  %sum, %6 = CollectiveReduceV2(%grad, %size, %size, %size) name("sum") {T = f32, final_op = "Id", merge_op = "Add"} : (tensor<1000xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<1000xf32>)
  %new, %7 = Sub(%x, %sum) name("new") {T = f32} : (tensor<1000xf32>, tensor<1000xf32>) -> (tensor<1000xf32>)
}
