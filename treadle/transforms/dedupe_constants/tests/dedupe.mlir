// RUN: treadle-opt "--tfg-dedupe-constants=keep=d" %s | FileCheck %s
// RUN: treadle-opt "--tfg-dedupe-constants=hoist=false" %s | FileCheck %s --check-prefix=STAY
// RUN: treadle-opt "--tfg-dedupe-constants=feeds=a:0,b:0" %s | FileCheck %s --check-prefix=FED

// CHECK: %[[P:.*]] = NoOp name("p")
// CHECK: %[[A:.*]], %{{.*}} = Const name("a")
// CHECK-NOT: name("b")
// CHECK-NOT: name("c")
// CHECK: Const name("d")
// CHECK: Const name("other")
// CHECK: Sub(%[[A]], %[[A]]) [%[[P]]] name("s")
// STAY-NOT: name("b")
// STAY: name("c")
// FED: Const name("a")
// FED: Const name("b")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %p = NoOp name("p")
  %a, %ac = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %bc = Const name("b") {_output_shapes = [#tf_type.shape<>], dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %c, %cc = Const [%p] name("c") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %d, %dc = Const name("d") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %o, %oc = Const name("other") {dtype = f32, value = dense<-0.0> : tensor<f32>} : () -> (tensor<f32>)
  %s, %sc = Sub(%b, %c) name("s") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
}

// If all constants have control inputs, one without is created; a result of the function can't have
// control inputs.
// CHECK-LABEL: tfg.func @hoisted
// CHECK: %[[H:.*]], %{{.*}} = Const name("a/hoisted")
// CHECK-NOT: name("a")
// CHECK: %[[B:.*]], %{{.*}} = Const [%x.ctl] name("b")
// CHECK: Neg(%[[H]]) [%y.ctl] name("n")
// CHECK: return(%{{.*}}, %[[B]])
tfg.func @hoisted(%x: tensor<f32> {tfg.name = "x"}, %y: tensor<f32> {tfg.name = "y"}) -> (tensor<f32> {tfg.name = "r"}, tensor<f32> {tfg.name = "s"}) {
  %a, %ac = Const [%y.ctl] name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %bc = Const [%x.ctl] name("b") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %n, %nc = Neg(%a) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n, %b) : tensor<f32>, tensor<f32>
}
