// RUN: treadle-opt %s | FileCheck %s
// RUN: treadle-opt %s | treadle-opt | FileCheck %s
// RUN: treadle-opt -mlir-print-op-generic -mlir-print-debuginfo %s | treadle-opt | FileCheck %s

// CHECK-LABEL: func.func @wraps
func.func @wraps(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[GRAPH:.*]] = tf_executor.graph {
  %0 = tf_executor.graph {
    // CHECK-NEXT: %[[NOOP:.*]] = tf_executor.island wraps "tf.NoOp"() : () -> ()
    %init = tf_executor.island wraps "tf.NoOp"() : () -> ()
    // CHECK-NEXT: %outputs, %{{.*}} = tf_executor.island(%[[NOOP]]) wraps "tf.Neg"(%arg0) {device = "/CPU:0"}
    %neg, %c = tf_executor.island(%init) wraps "tf.Neg"(%x) {device = "/CPU:0"} : (tensor<2xf32>) -> tensor<2xf32>
    // CHECK-NEXT: tf_executor.fetch %outputs, %[[NOOP]] : tensor<2xf32>, !tf_executor.control
    tf_executor.fetch %neg, %init : tensor<2xf32>, !tf_executor.control
  // CHECK-NEXT: } {note = "kept"}
  } {note = "kept"}
  // CHECK-NEXT: return %[[GRAPH]]
  return %0 : tensor<2xf32>
}

// Both terminators are optional if they have no operands.
// CHECK-LABEL: func.func @islands
func.func @islands(%x: tensor<f32>) {
  // CHECK-NEXT: tf_executor.graph {
  tf_executor.graph {
    // CHECK-NEXT: %[[A:.*]] = tf_executor.island {
    // CHECK-NEXT: tf_executor.yield
    // CHECK-NEXT: }
    %a = tf_executor.island {
    }
    // CHECK-NEXT: %outputs:2, %control_0 = tf_executor.island(%[[A]], %[[A]]) {
    %b:2, %c = tf_executor.island(%a, %a) {
      // CHECK-NEXT: "tf.Neg"
      // CHECK-NEXT: "tf.Exp"
      %0 = "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32>
      %1 = "tf.Exp"(%0) : (tensor<f32>) -> tensor<f32>
      // CHECK-NEXT: tf_executor.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
      tf_executor.yield %1, %0 : tensor<f32>, tensor<f32>
    // CHECK-NEXT: } {note = "kept"}
    } {note = "kept"}
  // CHECK-NEXT: tf_executor.fetch
  }
  return
}

// CHECK-LABEL: func.func @control_flow
func.func @control_flow(%x: tensor<*xf32>, %p: tensor<i1>, %i: tensor<i32>, %q: tensor<*xi1>) {
  tf_executor.graph {
    // CHECK: %[[T:.*]] = tf_executor.ControlTrigger {}
    %t = tf_executor.ControlTrigger {}
    // CHECK: tf_executor.ControlTrigger %[[T]], %[[T]] {device = ""}
    %t2 = tf_executor.ControlTrigger %t, %t {device = ""}
    // CHECK: %falseOutput, %trueOutput, %{{.*}} = tf_executor.Switch %arg0, %arg1, %[[T]] : tensor<*xf32> {T = f32}
    %f, %tr, %c0 = tf_executor.Switch %x, %p, %t : tensor<*xf32> {T = f32}
    // CHECK: tf_executor.Switch %arg0, %arg3 : (tensor<*xf32>, tensor<*xi1>) -> (tensor<*xf32>, tensor<2xf32>, !tf_executor.control)
    %f1, %tr1, %c1 = tf_executor.Switch %x, %q : (tensor<*xf32>, tensor<*xi1>) -> (tensor<*xf32>, tensor<2xf32>, !tf_executor.control)
    // CHECK: %{{.*}}:3, %{{.*}} = tf_executor._SwitchN %arg0, %arg2 of 3 (%[[T]]) : tensor<*xf32> {T = f32}
    %n:3, %c2 = tf_executor._SwitchN %x, %i of 3 (%t) : tensor<*xf32> {T = f32}
    // CHECK: %output, %value_index, %{{.*}} = tf_executor.Merge %falseOutput, %trueOutput, %[[T]] : tensor<*xf32>
    %m, %v, %c3 = tf_executor.Merge %f, %tr, %t : tensor<*xf32>
    // CHECK: tf_executor.Merge %{{.*}}#0, %{{.*}}#1, %{{.*}}#2 : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<i32>, !tf_executor.control)
    %m1, %v1, %c4 = tf_executor.Merge %n#0, %n#1, %n#2 : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<i32>, !tf_executor.control)
    // CHECK: tf_executor.LoopCond %arg1 : tensor<i1>
    %l, %c5 = tf_executor.LoopCond %p : tensor<i1>
    // CHECK: tf_executor.LoopCond %arg3, %[[T]] : (tensor<*xi1>, !tf_executor.control) -> (tensor<i1>, !tf_executor.control)
    %l1, %c6 = tf_executor.LoopCond %q, %t : (tensor<*xi1>, !tf_executor.control) -> (tensor<i1>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// CHECK-LABEL: func.func @loop
func.func @loop(%x: tensor<2xf32>, %r: tensor<2x!tf_type.f32ref>) {
  tf_executor.graph {
    // CHECK: %output, %token, %[[C:.*]] = tf_executor.NextIteration.Source : tensor<2xf32> {T = f32}
    %next, %token, %c0 = tf_executor.NextIteration.Source : tensor<2xf32> {T = f32}
    // CHECK: tf_executor.Enter %arg0, %[[C]] frame "a\22b" parallel_iterations 5 constant : tensor<2xf32> {T = f32}
    %e, %c1 = tf_executor.Enter %x, %c0 frame "a\22b" parallel_iterations 5 constant : tensor<2xf32> {T = f32}
    // CHECK: tf_executor.Enter %arg1 frame "b" : (tensor<2x!tf_type.f32ref>) -> (tensor<2xf32>, !tf_executor.control)
    %e1, %c2 = tf_executor.Enter %r frame "b" : (tensor<2x!tf_type.f32ref>) -> (tensor<2xf32>, !tf_executor.control)
    // CHECK: tf_executor.NextIteration.Sink [%token] %output, %[[C]] : tensor<2xf32> {T = f32}
    tf_executor.NextIteration.Sink [%token] %next, %c0 : tensor<2xf32> {T = f32}
    // CHECK: tf_executor.Exit %output, %[[C]] : tensor<2xf32>
    %exit, %c3 = tf_executor.Exit %next, %c0 : tensor<2xf32>
    tf_executor.fetch
  }
  return
}

// The tf dialect accepts any op, and has other names for the types and attributes of tf_type.
// CHECK-LABEL: func.func @tf
// CHECK-SAME: tensor<!tf_type.string>
func.func @tf(%x: tensor<!tf.string>) {
  // CHECK-NEXT: "tf.Anything"(%arg0) <{properties = 1 : i64}> {shape = #tf_type.shape<2x?>}
  "tf.Anything"(%x) <{properties = 1 : i64}> {shape = #tf.shape<2x?>} : (tensor<!tf_type.string>) -> ()
  return
}
