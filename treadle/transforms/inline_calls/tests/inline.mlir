// RUN: treadle-opt --tfg-inline %s | FileCheck %s
// RUN: treadle-opt "--tfg-inline=noinline=outer keep-names=false" %s | FileCheck %s --check-prefix=SOME

// A call inside a callee is inlined first. Nodes are named after their calls, devices are filled
// in, and nodes without inputs from the body get the call's control inputs.
// CHECK-LABEL: tfg.graph
// CHECK: %[[X:.*]], %{{.*}} = Placeholder
// CHECK: %[[INIT:.*]] = NoOp name("init")
// CHECK: %[[M:.*]], %[[MC:.*]] = Mul(%[[X]], %[[TWO:.*]]) device("/job:a/device:GPU:1") name("call/inner/m") {T = f32, _class = ["loc:@call/inner/two"]}
// CHECK: %[[TWO]], %{{.*}} = Const [%[[INIT]]] device("/job:a/device:CPU:0") name("call/inner/two")
// CHECK: %[[N:.*]], %{{.*}} = Neg(%[[M]]) device("/job:a/device:CPU:0") name("call/n")
// CHECK: %[[Y:.*]], %[[C:.*]] = Identity(%[[N]]) device("/job:a/device:CPU:0") name("call") {T = f32}
// CHECK: Neg(%[[Y]]) [%[[C]]] name("user")
// SOME-LABEL: tfg.graph
// SOME: PartitionedCall
// SOME-LABEL: tfg.func @outer
// SOME: Const
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %init = NoOp name("init")
  %y, %yc = PartitionedCall(%x) [%init] device("/job:a/device:CPU:0") name("call") {Tin = [f32], Tout = [f32], f = #tf_type.func<@outer, {}>} : (tensor<f32>) -> (tensor<*xf32>)
  %u, %uc = Neg(%y) [%yc] name("user") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}
tfg.func @outer(%v: tensor<*xf32> {tfg.name = "v"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %m, %mc = double(%v) name("inner") : (tensor<*xf32>) -> (tensor<*xf32>)
  %n, %nc = Neg(%m) name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%n) : tensor<*xf32>
}
tfg.func @double(%v: tensor<*xf32> {tfg.name = "v"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %m, %mc = Mul(%v, %two) device("/device:GPU:1") name("m") {T = f32, _class = ["loc:@two"]} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %two, %tc = Const name("two") {dtype = f32, value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  return(%m) : tensor<*xf32>
}
