// RUN: treadle-opt --tfg-functional-to-v1 %s | FileCheck %s
// RUN: treadle-opt --tfg-functional-to-v1 --tfg-v1-to-functional %s | FileCheck %s --check-prefix=BACK

// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK: %[[ENTER:.*]], %{{.*}} = Enter(%[[X]]) [%[[INIT:.*]]] name("loop/Enter_0") {{.*}}frame_name = "loop"{{.*}}parallel_iterations = 7
// CHECK: %[[MERGE:.*]]:2, %[[MERGED:.*]] = Merge(%[[ENTER]], %[[NEXT:.*]]) name("loop/Merge_0")
// CHECK: %[[COND:.*]], %{{.*}} = PartitionedCall(%[[MERGE]]#0) [%[[MERGED]]] name("loop/cond") {{.*}}f = #tf_type.func<@less, {}>
// CHECK: %[[ON:.*]], %{{.*}} = LoopCond(%[[COND]])
// CHECK: %[[SWITCH:.*]]:2, %{{.*}} = Switch(%[[MERGE]]#0, %[[ON]])
// CHECK: %[[EXIT:.*]], %{{.*}} = Exit(%[[SWITCH]]#0)
// CHECK: %{{.*}}, %[[PIVOT:.*]] = Identity(%[[SWITCH]]#1) name("loop/pivot")
// CHECK: %[[BODY:.*]], %{{.*}} = PartitionedCall(%[[SWITCH]]#1) [%[[PIVOT]]] name("loop/body")
// CHECK: %[[NEXT]], %{{.*}} = NextIteration(%[[BODY]])
// CHECK: IdentityN(%[[EXIT]]) name("loop")

// CHECK: %[[P:.*]], %{{.*}} = Placeholder name("p")
// CHECK: %[[PIVOT:.*]]:2, %{{.*}} = Switch(%[[P]], %[[P]]) [%[[WAIT:.*]]] name("if/pivot")
// CHECK: %[[S:.*]]:2, %{{.*}} = Switch(%{{.*}}, %[[P]]) [%[[WAIT]]] name("if/Switch_0")
// CHECK: %{{.*}}, %[[F:.*]] = Identity(%[[PIVOT]]#0)
// CHECK: %[[ELSE:.*]], %{{.*}} = PartitionedCall(%[[S]]#0) [%[[F]]]{{.*}}@double
// CHECK: %{{.*}}, %[[T:.*]] = Identity(%[[PIVOT]]#1)
// CHECK: %[[THEN:.*]], %{{.*}} = PartitionedCall(%[[S]]#1) [%[[T]]]{{.*}}@square
// CHECK: %[[M:.*]]:2, %{{.*}} = Merge(%[[ELSE]], %[[THEN]])
// CHECK: IdentityN(%[[M]]#0) name("if")

// BACK: StatelessWhile(%{{.*}}) [%{{.*}}] name("loop") {T = [i32], body = #tf_type.func<@double, {}>, cond = #tf_type.func<@less, {}>, parallel_iterations = 7 : i64}
// BACK: StatelessIf(%{{.*}}, %{{.*}}) [%{{.*}}] name("if") {Tcond = i1, Tin = [i32], Tout = [i32], _mark = 1 : i64, else_branch = #tf_type.func<@double, {}>, then_branch = #tf_type.func<@square, {}>}
// BACK-NOT: Identity
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %init = NoOp name("init")
  %w, %wc = StatelessWhile(%x) [%init] name("loop") {T = [i32], body = #tf_type.func<@double, {}>, cond = #tf_type.func<@less, {}>, parallel_iterations = 7 : i64} : (tensor<i32>) -> (tensor<i32>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %i, %ic = StatelessIf(%p, %w) [%init] name("if") {Tcond = i1, Tin = [i32], Tout = [i32], _mark = 1 : i64, else_branch = #tf_type.func<@double, {}>, then_branch = #tf_type.func<@square, {}>} : (tensor<i1>, tensor<i32>) -> (tensor<i32>)
}
tfg.func @less(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "y"}) {
  %c, %cc = Const name("c") {dtype = i32, value = dense<100> : tensor<i32>} : () -> (tensor<i32>)
  %l, %lc = Less(%x, %c) name("l") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%l) : tensor<i1>
}
tfg.func @double(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  %a, %ac = AddV2(%x, %x) name("a") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%a) : tensor<i32>
}
tfg.func @square(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  %m, %mc = Mul(%x, %x) name("m") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%m) : tensor<i32>
}
