// A loop that may overlap becomes a frame that contains the nodes of its functions; one that
// doesn't gain stays, unless `all` is set.
// RUN: treadle-opt --tfg-overlap-loops="all=true" %s | FileCheck %s
// RUN: treadle-opt --tfg-overlap-loops %s | FileCheck %s --check-prefix=STAYS

// STAYS: StatelessWhile(
// CHECK: %[[START:.*]] = NoOp [%{{.*}}] name("while/start")
// CHECK: Enter(%{{.*}}) [%[[START]]] name("while/Enter_0") {{.*}}_overlap = true, frame_name = "while"{{.*}}parallel_iterations = 7
// CHECK: %{{.*}}:2, %[[PIVOT:.*]] = Merge(%{{.*}}, %{{.*}}) name("while/Merge_1")
// CHECK: Const [%[[PIVOT]]] name("while/cond/limit")
// CHECK: %[[LESS:.*]], %{{.*}} = Less(%{{.*}}) name("while/cond/less")
// CHECK: LoopCond(%[[LESS]])
// CHECK: %[[ALIVE:.*]], %[[IN:.*]] = Identity(%{{.*}}#1) name("while/pivot")
// CHECK: Const [%[[IN]]] name("while/body/one")
// CHECK: %[[NEXT:.*]], %{{.*}} = AddV2(%{{.*}}) name("while/body/next")
// CHECK: NextIteration(%[[NEXT]])
// CHECK: IdentityN(%{{.*}}) name("while")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w, %1 = StatelessWhile(%zero) name("while") {T = [i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, parallel_iterations = 7} : (tensor<i32>) -> (tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i1> {tfg.name = "more"}) {
  %limit, %0 = Const name("limit") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %less, %1 = Less(%i, %limit) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i32> {tfg.name = "r"}) {
  %one, %0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %next, %1 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%next) : tensor<i32>
}
