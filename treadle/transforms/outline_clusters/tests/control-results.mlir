// Control results in a cluster become one control result for the call.
// RUN: treadle-opt --tfg-outline-clusters %s | FileCheck %s

// CHECK-LABEL: tfg.func @main(
// CHECK: %[[CALL:.*]]:2, %[[TOKEN:.*]] = StatefulPartitionedCall
// CHECK: return({{.*}}) [%[[TOKEN]] {tfg.name = "{{[^"]*}}"}] :
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
}
tfg.func @main(%n: tensor<i32> {tfg.name = "n"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i32> {tfg.name = "r"}, tensor<i32> {tfg.name = "s"}) {
  %w:2, %wc = While(%n, %v) name("w") {T = [i32, !tf_type.resource], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>, tensor<!tf_type.resource>) -> (tensor<i32>, tensor<!tf_type.resource>)
  %s, %sc = ReadVariableOp(%v) [%wc] name("after") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  return(%w#0, %s) [%wc {tfg.name = "w"}, %sc {tfg.name = "after"}] : tensor<i32>, tensor<i32>
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i1> {tfg.name = "p"}) {
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %p, %c = Greater(%i, %zero) name("greater") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i32> {tfg.name = "a"}, tensor<!tf_type.resource> {tfg.name = "b"}) {
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %j, %c = Sub(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %add = AssignAddVariableOp(%v, %i) name("add") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  return(%j, %v) [%add {tfg.name = "add"}] : tensor<i32>, tensor<!tf_type.resource>
}
