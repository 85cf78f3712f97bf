// RUN: treadle-opt --tfg-inline %s | FileCheck %s

// In a body with a Switch, an inlined body runs only if every input is alive: constants and users
// of an input wait for all inputs. Frames get unique names.
// CHECK: %[[S:.*]]:2, %{{.*}} = Switch
// CHECK: %[[A:.*]], %[[AC:.*]] = Identity(%[[S]]#1) name("call/a")
// CHECK: %[[B:.*]], %[[BC:.*]] = Identity(%{{.*}}) name("call/b")
// CHECK: %[[IN:.*]] = NoOp [%[[AC]], %[[BC]]] name("call/inputs")
// CHECK: %[[K:.*]], %{{.*}} = Const [%[[IN]]] name("call/k")
// CHECK: Add(%[[K]], %[[B]]) name("call/add")
// CHECK: Enter(%[[A]]) [%[[IN]]] name("call/enter") {T = f32, frame_name = "call/frame"
// CHECK: IdentityN({{.*}}) name("call")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %s:2, %sc = Switch(%x, %p) name("switch") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %y:2, %yc = f(%s#1, %x) name("call") : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
}
tfg.func @f(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "y"}, tensor<f32> {tfg.name = "z"}) {
  %k, %kc = Const name("k") {dtype = f32, value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %y, %yc = Add(%k, %b) name("add") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %e, %ec = Enter(%a) name("enter") {T = f32, frame_name = "frame", is_constant = false, parallel_iterations = 10} : (tensor<f32>) -> (tensor<f32>)
  %z, %zc = Exit(%e) name("exit") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%y, %z) : tensor<f32>, tensor<f32>
}
