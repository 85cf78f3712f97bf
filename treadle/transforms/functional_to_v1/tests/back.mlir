// Nodes that are restored exactly: with handles in loops, side effects without results, one value
// twice, two Ifs with one predicate, control inputs of branches without inputs, a Case with one
// branch.
// RUN: treadle-opt --tfg-functional-to-v1 --tfg-v1-to-functional %s | FileCheck %s

// CHECK-DAG: %[[P:.*]], %{{.*}} = Placeholder name("p")
// CHECK-DAG: %[[I:.*]], %{{.*}} = Placeholder name("i")
// CHECK-DAG: %[[V:.*]], %{{.*}} = VarHandleOp
// CHECK-DAG: %[[INIT:.*]] = NoOp name("init")
// CHECK-DAG: %[[W:.*]]:2, %{{.*}} = While(%[[V]], %[[I]]) name("loop") {{.*}}body = #tf_type.func<@assign, {}>, cond = #tf_type.func<@less, {}>
// CHECK-DAG: %[[IF:.*]] = If(%[[P]], %[[V]]) [%[[INIT]]] name("if") {{.*}}else_branch = #tf_type.func<@reset, {}>, then_branch = #tf_type.func<@reset, {}>
// CHECK-DAG: StatelessIf(%[[P]], %[[I]], %[[I]]) name("twice") {{.*}}then_branch = #tf_type.func<@add, {}>
// CHECK-DAG: If(%[[P]]) [%[[IF]]] name("no_inputs") {{.*}}then_branch = #tf_type.func<@random, {}>
// CHECK-DAG: StatelessCase(%[[I]], %[[I]], %[[I]]) name("case") {{.*}}branches = [#tf_type.func<@add, {}>]
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %i, %ic = Placeholder name("i") {dtype = i32} : () -> (tensor<i32>)
  %v, %vc = VarHandleOp name("v") {dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %init = NoOp name("init")
  %w:2, %wc = While(%v, %i) name("loop") {T = [!tf_type.resource, i32], body = #tf_type.func<@assign, {}>, cond = #tf_type.func<@less, {}>} : (tensor<!tf_type.resource>, tensor<i32>) -> (tensor<!tf_type.resource>, tensor<i32>)
  %if = If(%p, %v) [%init] name("if") {Tcond = i1, Tin = [!tf_type.resource], Tout = [], else_branch = #tf_type.func<@reset, {}>, then_branch = #tf_type.func<@reset, {}>} : (tensor<i1>, tensor<!tf_type.resource>) -> ()
  %t, %tc = StatelessIf(%p, %i, %i) name("twice") {Tcond = i1, Tin = [i32, i32], Tout = [i32], else_branch = #tf_type.func<@add, {}>, then_branch = #tf_type.func<@add, {}>} : (tensor<i1>, tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %r, %rc = If(%p) [%if] name("no_inputs") {Tcond = i1, Tin = [], Tout = [f32], else_branch = #tf_type.func<@random, {}>, then_branch = #tf_type.func<@random, {}>} : (tensor<i1>) -> (tensor<f32>)
  %c, %cc = StatelessCase(%i, %i, %i) name("case") {Tin = [i32, i32], Tout = [i32], branches = [#tf_type.func<@add, {}>]} : (tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>)
}
tfg.func @less(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<i32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "y"}) {
  %c, %cc = Const name("c") {dtype = i32, value = dense<9> : tensor<i32>} : () -> (tensor<i32>)
  %l, %lc = Less(%x, %c) name("l") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%l) : tensor<i1>
}
tfg.func @assign(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<i32> {tfg.name = "x"}) -> (tensor<!tf_type.resource> {tfg.name = "v_out"}, tensor<i32> {tfg.name = "y"}) {
  %s = AssignVariableOp(%v, %x) name("s") {dtype = i32, validate_shape = false} : (tensor<!tf_type.resource>, tensor<i32>) -> ()
  %a, %ac = AddV2(%x, %x) name("a") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%v, %a) [%s {tfg.name = "s"}] : tensor<!tf_type.resource>, tensor<i32>
}
tfg.func @reset(%v: tensor<!tf_type.resource> {tfg.name = "v"}) -> () {
  %c, %cc = Const name("c") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %s = AssignVariableOp(%v, %c) name("s") {dtype = i32, validate_shape = false} : (tensor<!tf_type.resource>, tensor<i32>) -> ()
  return() [%s {tfg.name = "s"}]
}
tfg.func @add(%x: tensor<i32> {tfg.name = "x"}, %y: tensor<i32> {tfg.name = "y"}) -> (tensor<i32> {tfg.name = "z"}) {
  %a, %ac = AddV2(%x, %y) name("a") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%a) : tensor<i32>
}
tfg.func @random() -> (tensor<f32> {tfg.name = "y"}) {
  %s, %sc = Const name("s") {dtype = i32, value = dense<> : tensor<0xi32>} : () -> (tensor<0xi32>)
  %r, %rc = RandomUniform(%s) name("r") {T = i32, dtype = f32, seed = 0 : i64, seed2 = 0 : i64} : (tensor<0xi32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}
