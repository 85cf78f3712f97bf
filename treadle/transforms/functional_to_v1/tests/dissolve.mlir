// RUN: treadle-opt --tfg-functional-to-v1 %s | FileCheck %s
// RUN: treadle-opt --tfg-functional-to-v1 --tfg-inline --tfg-prune='fetches=second:0' %s | FileCheck %s --check-prefix=PRUNED
// RUN: treadle-opt --tfg-functional-to-v1 --tfg-inline --tfg-prune='targets=after' %s | FileCheck %s --check-prefix=TOKEN
// RUN: treadle-opt --tfg-functional-to-v1 --tfg-inline --tfg-prune='fetches=third:0' %s | FileCheck %s --check-prefix=LOOP
// RUN: treadle-opt --tfg-functional-to-v1 --tfg-v1-to-functional %s | FileCheck %s --check-prefix=BACK

// Each result depends on its Merge only; control users of the conditional wait for its calls.
// CHECK: %{{.*}}, %[[ELSE:.*]] = StatefulPartitionedCall{{.*}} name("if/branch_0") {{.*}}_lower_as_multi_device_function = true
// CHECK: %[[THEN:.*]]:2, %[[DONE:.*]] = StatefulPartitionedCall{{.*}} name("if/branch_1") {{.*}}_lower_as_multi_device_function = true
// CHECK: Identity(%{{.*}}) [%[[DONE]]] name("if/end_1")
// CHECK: %[[SECOND:.*]]:2, %{{.*}} = Merge{{.*}} name("if/Merge_1")
// CHECK: %{{.*}}, %[[END:.*]] = Merge{{.*}} name("if/end")
// CHECK: IdentityN({{.*}}) [%[[END]]] name("if")
// CHECK: Identity(%[[SECOND]]#0) name("second")
// CHECK: NoOp [%[[END]]] name("after")
// CHECK: NextIteration(%{{.*}}) [%{{.*}}] name("loop/NextIteration_0")

// Users of a handle that the loop passes through wait for the loop.
// CHECK: %[[WHILE:.*]]:3, %{{.*}} = IdentityN({{.*}}) name("loop")
// CHECK: ReadVariableOp(%[[WHILE]]#1) name("read")

// PRUNED-NOT: "if/branch_1/set_a"
// PRUNED: name("if/branch_1/set_b")
// PRUNED-NOT: "if/branch_1/set_a"
// PRUNED: name("second")

// TOKEN-NOT: set_b
// TOKEN: AssignVariableOp{{.*}} name("if/branch_1/set_a")
// TOKEN-NOT: set_b
// TOKEN: name("after")

// The body's control results run in each iteration; other side effects that no result needs don't.
// LOOP-NOT: "loop/body/set_b"
// LOOP: AssignVariableOp{{.*}} name("loop/body/set_a")
// LOOP-NOT: "loop/body/set_b"
// LOOP: name("third")

// BACK: If({{.*}}) name("if") {{.*}}_lower_using_switch_merge = true{{.*}}then_branch = #tf_type.func<@then, {}>
// BACK: Identity(%If#1) name("second")
// BACK: While({{.*}}) name("loop") {{.*}}_lower_using_switch_merge = true{{.*}}body = #tf_type.func<@body, {}>
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %p, %0 = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %a, %1 = VarHandleOp name("a") {dtype = i32, shape = #tf_type.shape<>, shared_name = "a"} : () -> (tensor<!tf_type.resource>)
  %b, %2 = VarHandleOp name("b") {dtype = i32, shape = #tf_type.shape<>, shared_name = "b"} : () -> (tensor<!tf_type.resource>)
  %If:2, %3 = If(%p, %a, %b) name("if") {Tcond = i1, Tin = [!tf_type.resource, !tf_type.resource], Tout = [i32, i32], _lower_using_switch_merge = true, else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@then, {}>} : (tensor<i1>, tensor<!tf_type.resource>, tensor<!tf_type.resource>) -> (tensor<i32>, tensor<i32>)
  %second, %4 = Identity(%If#1) name("second") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %after = NoOp [%3] name("after")
  %While:3, %5 = While(%second, %a, %b) name("loop") {T = [i32, !tf_type.resource, !tf_type.resource], _lower_using_switch_merge = true, body = #tf_type.func<@body, {}>, cond = #tf_type.func<@less, {}>, parallel_iterations = 10 : i64} : (tensor<i32>, tensor<!tf_type.resource>, tensor<!tf_type.resource>) -> (tensor<i32>, tensor<!tf_type.resource>, tensor<!tf_type.resource>)
  %read, %7 = ReadVariableOp(%While#1) name("read") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %third, %6 = Identity(%While#0) name("third") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
tfg.func @then(%a: tensor<!tf_type.resource> {tfg.name = "a"}, %b: tensor<!tf_type.resource> {tfg.name = "b"}) -> (tensor<i32> {tfg.name = "x"}, tensor<i32> {tfg.name = "y"}) attributes {is_stateful} {
  %one, %0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %set_a = AssignVariableOp(%a, %one) name("set_a") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %set_b = AssignVariableOp(%b, %one) name("set_b") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %x, %1 = Identity(%one) [%set_a] name("x") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %y, %2 = Identity(%one) [%set_b] name("y") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%x, %y) [%set_a {tfg.name = "set_a"}] : tensor<i32>, tensor<i32>
}
tfg.func @else(%a: tensor<!tf_type.resource> {tfg.name = "a"}, %b: tensor<!tf_type.resource> {tfg.name = "b"}) -> (tensor<i32> {tfg.name = "x"}, tensor<i32> {tfg.name = "y"}) attributes {is_stateful} {
  %v, %0 = ReadVariableOp(%a) name("v") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %set = AssignVariableOp(%a, %v) name("set") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  return(%v, %v) : tensor<i32>, tensor<i32>
}
tfg.func @less(%i: tensor<i32> {tfg.name = "i"}, %a: tensor<!tf_type.resource> {tfg.name = "a"}, %b: tensor<!tf_type.resource> {tfg.name = "b"}) -> (tensor<i1> {tfg.name = "y"}) {
  %c, %0 = Const name("c") {dtype = i32, value = dense<9> : tensor<i32>} : () -> (tensor<i32>)
  %l, %1 = Less(%i, %c) name("l") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%l) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %a: tensor<!tf_type.resource> {tfg.name = "a"}, %b: tensor<!tf_type.resource> {tfg.name = "b"}) -> (tensor<i32> {tfg.name = "y"}, tensor<!tf_type.resource> {tfg.name = "ra"}, tensor<!tf_type.resource> {tfg.name = "rb"}) attributes {is_stateful} {
  %one, %0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %next, %1 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %set_a = AssignVariableOp(%a, %next) name("set_a") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %set_b = AssignVariableOp(%b, %next) name("set_b") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  return(%next, %a, %b) [%set_a {tfg.name = "set_a"}] : tensor<i32>, tensor<!tf_type.resource>, tensor<!tf_type.resource>
}
