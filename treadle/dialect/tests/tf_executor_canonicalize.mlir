// RUN: treadle-opt --split-input-file --canonicalize %s | FileCheck %s

// CHECK-LABEL: func.func @empty_graph
// CHECK-NEXT: return %arg0
func.func @empty_graph(%x: tensor<f32>) -> tensor<f32> {
  %0 = tf_executor.graph {
    tf_executor.fetch %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @only_island
// CHECK-NEXT: %[[A:.*]] = "tf.A"(%arg0)
// CHECK-NEXT: %[[B:.*]] = "tf.B"(%[[A]])
// CHECK-NEXT: return %[[B]], %arg0
func.func @only_island(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = tf_executor.graph {
    %1, %c = tf_executor.island {
      %a = "tf.A"(%x) : (tensor<f32>) -> tensor<f32>
      %b = "tf.B"(%a) : (tensor<f32>) -> tensor<f32>
      tf_executor.yield %b : tensor<f32>
    }
    tf_executor.fetch %1, %x, %c : tensor<f32>, tensor<f32>, !tf_executor.control
  }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// -----

// The first island is removed, and then the unused trigger; the others keep their order.
// CHECK-LABEL: func.func @needless_control
// CHECK: %[[A:.*]] = tf_executor.island wraps "tf.A"
// CHECK-NEXT: %[[B:.*]] = tf_executor.island wraps "tf.B"
// CHECK-NEXT: %[[C:.*]] = tf_executor.island(%[[A]]) wraps "tf.C"
// CHECK-NEXT: tf_executor.fetch %[[C]], %[[B]]
func.func @needless_control() {
  tf_executor.graph {
    %empty = tf_executor.island {
    }
    %trigger = tf_executor.ControlTrigger %empty, %empty
    %a = tf_executor.island(%trigger) wraps "tf.A"() : () -> ()
    %b = tf_executor.island wraps "tf.B"() : () -> ()
    %forward = tf_executor.island(%a) {
    }
    %c = tf_executor.island(%a, %forward, %trigger) wraps "tf.C"() : () -> ()
    tf_executor.fetch %c, %b : !tf_executor.control, !tf_executor.control
  }
  return
}

// -----

// An empty island forwards a value if its token is unused.
// CHECK-LABEL: func.func @needless_values
// CHECK: %[[B:.*]], %[[C:.*]] = tf_executor.island {
// CHECK-NEXT: tf_executor.yield %arg0
// CHECK: tf_executor.island(%[[C]]) wraps "tf.A"(%arg0, %[[B]])
func.func @needless_values(%x: tensor<f32>) {
  tf_executor.graph {
    %a, %c0 = tf_executor.island {
      tf_executor.yield %x : tensor<f32>
    }
    %b, %c1 = tf_executor.island {
      tf_executor.yield %x : tensor<f32>
    }
    %c2 = tf_executor.island(%c1) wraps "tf.A"(%a, %b) : (tensor<f32>, tensor<f32>) -> ()
    tf_executor.fetch
  }
  return
}
