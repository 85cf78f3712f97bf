// If iterations begin and end with reads, there are two chains: the next iteration's first reads
// wait for the write only, its write waits for the last reads as well.
// RUN: treadle-opt --tfg-deps-to-chains %s | FileCheck %s

// CHECK-LABEL: tfg.func @body(
// CHECK: %[[WRITES:.*]]: tensor<f32> {tfg.name = "chain"},
// CHECK-NEXT: %[[READS:.*]]: tensor<f32> {tfg.name = "chain_1"})
// CHECK: %[[FIRST:.*]], %[[FIRSTC:.*]] = ReadVariableOp(%{{.*}}) [%[[WRITES]].ctl] name("first")
// CHECK: %[[ADD:.*]] = AssignAddVariableOp(%{{.*}}) [%[[FIRSTC]], %[[READS]].ctl] name("add")
// CHECK: %[[LAST:.*]], %[[LASTC:.*]] = ReadVariableOp(%{{.*}}) [%[[ADD]]] name("last")
// CHECK: Identity(%[[WRITES]]) [%[[ADD]]] name("chain/next")
// CHECK: Identity(%[[READS]]) [%[[LASTC]]] name("chain_1/next")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w, %1 = While(%zero) name("while") {T = [i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>) -> (tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i1> {tfg.name = "more"}) {
  %less, %0 = Less(%i, %i) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i32> {tfg.name = "r"}) {
  %v, %0 = VarHandleOp name("v") {dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %first, %1 = ReadVariableOp(%v) name("first") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %add = AssignAddVariableOp(%v, %i) name("add") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  %last, %2 = ReadVariableOp(%v) name("last") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %next, %3 = AddV2(%first, %last) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%next) : tensor<i32>
}
