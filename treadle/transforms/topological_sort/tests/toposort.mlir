// RUN: treadle-opt --tfg-toposort %s | FileCheck %s

// A node moves after its operands; the other nodes stay in order.
// CHECK-LABEL: tfg.graph
// CHECK: name("x")
// CHECK: name("late")
// CHECK: name("early")
// CHECK: name("other")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %a, %ac = Neg(%b) name("early") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %bc = Neg(%x) name("late") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %oc = NoOp [%xc] name("other") : () -> ()
}

// A loop is cut at its NextIteration.
// CHECK-LABEL: tfg.func @loop
// CHECK: Enter
// CHECK: Merge
// CHECK: Neg
// CHECK: NextIteration
tfg.func @loop(%x: tensor<f32> {tfg.name = "x"}) -> () {
  %neg, %c0 = Neg(%merge#0) name("neg") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %next, %c1 = NextIteration(%neg) name("next") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %merge:2, %c2 = Merge(%enter, %next) name("merge") {N = 2, T = f32}
    : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  %enter, %c3 = Enter(%x) name("enter") {T = f32, frame_name = "f"} : (tensor<f32>) -> (tensor<f32>)
  return [%c1]
}
