// RUN: treadle-opt --tfg-functional-to-v1 %s | FileCheck %s
// RUN: treadle-opt --tfg-functional-to-v1 --tfg-v1-to-functional %s | FileCheck %s --check-prefix=BACK

// CHECK: %[[START:.*]], %{{.*}} = Cast(%{{.*}}) name("sum/start")
// CHECK: %[[LIMIT:.*]], %{{.*}} = Cast(%{{.*}}) name("sum/limit")
// CHECK: %[[DELTA:.*]], %{{.*}} = Cast(%{{.*}}) name("sum/delta")
// CHECK: %[[BOUND:.*]], %{{.*}} = Mul(%[[LIMIT]], %[[DELTA]])
// CHECK: %[[CHECKED:.*]] = Assert(%{{.*}}, %[[START]], %[[LIMIT]], %[[DELTA]]) [%{{.*}}] name("sum/check")
// CHECK: Enter(%[[START]]) [%[[CHECKED]]]
// CHECK: Enter(%[[BOUND]]) [%[[CHECKED]]] {{.*}}is_constant = true
// CHECK: Enter(%[[DELTA]]) [%[[CHECKED]]] {{.*}}is_constant = true
// CHECK: %[[INDEX:.*]], %{{.*}} = Cast(%{{.*}}) name("sum/index")
// CHECK: %{{.*}}, %[[PIVOT:.*]] = Identity(%{{.*}}#1) name("sum/pivot")
// CHECK: %{{.*}}, %[[DONE:.*]] = PartitionedCall(%[[INDEX]], %{{.*}}) [%[[PIVOT]]] name("sum/body")
// CHECK: AddV2(%{{.*}}, %{{.*}}) [%[[DONE]]] name("sum/step")
// CHECK: IdentityN(%{{.*}}) name("sum")

// BACK: %[[N:.*]], %{{.*}} = Placeholder name("n")
// BACK: %[[ZERO:.*]], %{{.*}} = Const name("zero")
// BACK: %[[ONE:.*]], %{{.*}} = Const name("one")
// BACK: %[[INIT:.*]] = NoOp name("init")
// BACK-NEXT: For(%[[ZERO]], %[[N]], %[[ONE]], %[[ZERO]]) [%[[INIT]]] name("sum") {T = [i32], _mark = 1 : i64, body = #tf_type.func<@add, {}>}
// BACK-NEXT: }
// BACK-NEXT: tfg.func @add
// BACK-NOT: tfg.func
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %init = NoOp name("init")
  %sum, %sc = For(%zero, %n, %one, %zero) [%init] name("sum") {T = [i32], _mark = 1 : i64, body = #tf_type.func<@add, {}>} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>)
}
tfg.func @add(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  %a, %ac = AddV2(%i, %x) name("a") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%a) : tensor<i32>
}
