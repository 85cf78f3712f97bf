// RUN: treadle-opt --split-input-file --tf-executor-to-tfg %s | FileCheck %s
// RUN: treadle-opt --split-input-file --tf-executor-to-tfg --tfg-to-tf-executor %s | FileCheck %s --check-prefix=AGAIN

// CHECK-LABEL: tfg.graph
// CHECK-SAME: attributes {tf.entry_function = {control_outputs = "print", inputs = "a,b", outputs = "sum:0,a:0,sum:0"}} {
// CHECK-NEXT: %[[A:.*]], %{{.*}} = Placeholder name("a") {dtype = f32, shape = #tf_type.shape<2x?>} : () -> (tensor<2x?xf32>)
// CHECK-NEXT: %[[B:.*]], %{{.*}} = Placeholder name("b") {dtype = f32, shape = #tf_type.shape<*>} : () -> (tensor<*xf32>)
// CHECK-NEXT: AddV2(%[[A]], %[[B]]) name("sum") {T = f32}

// AGAIN: func.func @main(%arg0: tensor<2x?xf32>, %arg1: tensor<*xf32>) -> (tensor<*xf32>, tensor<2x?xf32>, tensor<*xf32>)
// AGAIN-SAME: attributes {tf.entry_function = {control_outputs = "print", inputs = "a,b", outputs = "sum:0,a:0,sum:0"}} {
// AGAIN: tf_executor.fetch %outputs, %arg0, %outputs, %{{.*}} : tensor<*xf32>, tensor<2x?xf32>, tensor<*xf32>, !tf_executor.control
func.func @main(%x: tensor<2x?xf32>, %y: tensor<*xf32>) -> (tensor<*xf32>, tensor<2x?xf32>, tensor<*xf32>) attributes {tf.entry_function = {control_outputs = "print", inputs = "a,b", outputs = "sum"}} {
  %0:3 = tf_executor.graph {
    %sum, %c0 = tf_executor.island wraps "tf.AddV2"(%x, %y) : (tensor<2x?xf32>, tensor<*xf32>) -> tensor<*xf32> loc("sum")
    %c1 = tf_executor.island wraps "tf.PrintV2"(%y) {end = ""} : (tensor<*xf32>) -> () loc("print")
    tf_executor.fetch %sum, %x, %sum, %c1 : tensor<*xf32>, tensor<2x?xf32>, tensor<*xf32>, !tf_executor.control
  }
  return %0#0, %0#1, %0#2 : tensor<*xf32>, tensor<2x?xf32>, tensor<*xf32>
}

// -----

// A result with another name than its node.
// CHECK-LABEL: tfg.graph
// CHECK-SAME: outputs = "result:0"
// CHECK-NEXT: %[[X:.*]], %{{.*}} = Placeholder name("arg0")
// CHECK-NEXT: %[[NEG:.*]], %{{.*}} = Neg(%[[X]]) name("tf.Neg")
// CHECK-NEXT: Identity(%[[NEG]]) name("result") {T = f32}
func.func @main(%x: tensor<f32>) -> tensor<f32> attributes {tf.entry_function = {inputs = "", outputs = "result"}} {
  %0 = "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The step of the loop is needed in every iteration, the start only in the first.
// CHECK-LABEL: tfg.graph
// CHECK: Enter(%{{.*}}) name("start") {T = i32, frame_name = "loop", is_constant = false,
// CHECK: Enter(%{{.*}}) name("step") {T = i32, frame_name = "loop", is_constant = true,
// A tensor type isn't a dtype.
// CHECK: %[[SWITCH:.*]]:2, %{{.*}} = Switch(%{{.*}}, %{{.*}}) name("switch") {T = i32}
// CHECK: NextIteration(%[[SWITCH]]#1) name("next") {T = i32}
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %result = tf_executor.graph {
    %start, %c0 = tf_executor.Enter %x frame "loop" : tensor<i32> loc("start")
    %step, %c1 = tf_executor.Enter %x frame "loop" : tensor<i32> loc("step")
    %next, %token, %c2 = tf_executor.NextIteration.Source : tensor<i32> loc("next")
    %i, %which, %c3 = tf_executor.Merge %start, %next : tensor<i32> loc("merge")
    %sum, %c4 = tf_executor.island wraps "tf.AddV2"(%i, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("sum")
    %more, %c5 = tf_executor.island wraps "tf.Cast"(%sum) : (tensor<i32>) -> tensor<i1> loc("more")
    %done, %again, %c6 = tf_executor.Switch %sum, %more : tensor<i32> {T = tensor<i32>} loc("switch")
    tf_executor.NextIteration.Sink [%token] %again : tensor<i32> loc("next")
    %exit, %c7 = tf_executor.Exit %done : tensor<i32> loc("exit")
    tf_executor.fetch %exit : tensor<i32>
  }
  return %result : tensor<i32>
}

// -----

// If there is no @main, the only entry function is the graph.
// CHECK-LABEL: tfg.graph
// CHECK-SAME: inputs = "x", outputs = "y:0"
// CHECK: Placeholder name("x")
// CHECK: tfg.func @callee
func.func @entry(%x: tensor<f32>) -> tensor<f32> attributes {tf.entry_function = {control_outputs = "", inputs = "x", outputs = "y"}} {
  %0 = tf_executor.graph {
    %y, %c = tf_executor.island wraps "tf.PartitionedCall"(%x) {f = @callee} : (tensor<f32>) -> tensor<f32> loc("y")
    tf_executor.fetch %y : tensor<f32>
  }
  return %0 : tensor<f32>
}
func.func private @callee(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
