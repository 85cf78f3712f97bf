// RUN: treadle-opt --tf-executor-to-tfg %s | FileCheck %s

// CHECK: tfg.graph #tf_type.version<producer = 3, min_consumer = 2, bad_consumers = [1]> {
module attributes {tf.versions = {bad_consumers = [1 : i32], min_consumer = 2 : i32, producer = 3 : i32}} {
  func.func @main() {
    tf_executor.graph {
      // CHECK-NEXT: NoOp name("a")
      %0 = tf_executor.island wraps "tf.NoOp"() {device = ""} : () -> () loc("a")
      // CHECK-NEXT: NoOp name("b")
      %1 = tf_executor.island wraps "tf.NoOp"() : () -> () loc("b@some_function")
      // The op isn't used as the name.
      // CHECK-NEXT: NoOp name("c")
      %2 = tf_executor.island wraps "tf.NoOp"() : () -> () loc(fused["NoOp:", "c"])
      // CHECK-NEXT: NoOp name("d")
      %3 = tf_executor.island wraps "tf.NoOp"() : () -> () loc(callsite("d@f" at "file.py":1:2))
      // CHECK-NEXT: NoOp name("e;f")
      %4 = tf_executor.island wraps "tf.NoOp"() : () -> () loc(fused["e", "f"])
      // CHECK-NEXT: NoOp name(".g.h")
      %5 = tf_executor.island wraps "tf.NoOp"() : () -> () loc("^g:h")
      // A name that is taken, and nodes without names.
      // CHECK-NEXT: NoOp name("a1")
      %6 = tf_executor.island wraps "tf.NoOp"() : () -> () loc("a")
      // CHECK-NEXT: NoOp name("tf.NoOp")
      %7 = tf_executor.island wraps "tf.NoOp"() : () -> ()
      // CHECK-NEXT: NoOp name("tf.NoOp2")
      %8 = tf_executor.island wraps "tf.NoOp"() : () -> ()
      // CHECK-NEXT: NoOp device("/GPU:1") name("tf.NoOp1")
      %9 = tf_executor.island wraps "tf.NoOp"() {device = "/GPU:1"} : () -> () loc("tf.NoOp1")
      tf_executor.fetch
    }
    return
  }
}
