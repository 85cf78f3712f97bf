// RUN: treadle-opt --tfg-inline %s | FileCheck %s
// RUN: treadle-opt --tfg-inline=keep-names=false %s | FileCheck %s --check-prefix=FREE

// The second assignment waits for the first through an input of the call that its result doesn't
// need. The third one's result needs it, and uses it directly.
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK: %[[FIRST:.*]] = AssignVariableOp({{.*}}) name("first")
// CHECK: %[[ZERO:.*]], %[[AFTER_FIRST:.*]] = Const [%[[FIRST]]] name("zero")
// CHECK: %[[SUM:.*]], %{{.*}} = AddV2(%[[X]], %[[ZERO]]) name("call/sum")
// CHECK: %[[CALL:.*]]:2, %{{.*}} = IdentityN(%[[X]], %[[SUM]]) [%[[AFTER_FIRST]]] name("call")
// CHECK: AssignVariableOp(%{{.*}}, %[[CALL]]#0) name("second")
// CHECK: AssignVariableOp(%{{.*}}, %[[SUM]]) [%{{.*}}] name("third")

// FREE: %[[FIRST:.*]] = AssignVariableOp({{.*}}) name("first")
// FREE: %{{.*}}, %[[AFTER_FIRST:.*]] = Const [%[[FIRST]]] name("zero")
// FREE: %[[SUM:.*]], %{{.*}} = AddV2({{.*}}) name("call/sum")
// FREE: %[[PASSED:.*]], %{{.*}} = Identity(%{{.*}}) [%[[AFTER_FIRST]]] name("call/r0")
// FREE: AssignVariableOp(%{{.*}}, %[[PASSED]]) name("second")
// FREE: AssignVariableOp(%{{.*}}, %[[SUM]]) [%{{.*}}] name("third")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %v, %vc = VarHandleOp name("v") {container = "", dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %first = AssignVariableOp(%v, %x) name("first") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %zero, %zc = Const [%first] name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %r:2, %rc = PartitionedCall(%x, %zero) name("call") {Tin = [i32, i32], Tout = [i32, i32], config = "", config_proto = "", executor_type = "", f = #tf_type.func<@both, {}>} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %second = AssignVariableOp(%v, %r#0) name("second") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %third = AssignVariableOp(%v, %r#1) [%second] name("third") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
}
tfg.func @both(%a: tensor<i32> {tfg.name = "a"}, %b: tensor<i32> {tfg.name = "b"}) -> (tensor<i32> {tfg.name = "r0"}, tensor<i32> {tfg.name = "r1"}) {
  %sum, %sc = AddV2(%a, %b) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%a, %sum) : tensor<i32>, tensor<i32>
}
