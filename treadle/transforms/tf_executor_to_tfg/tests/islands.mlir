// RUN: treadle-opt --tf-executor-to-tfg %s | FileCheck %s

// CHECK-LABEL: tfg.func @effects(%x: tensor<f32>
func.func private @effects(%x: tensor<f32> loc("x")) {
  tf_executor.graph {
    // CHECK: %[[INIT:.*]] = NoOp name("init")
    %init = tf_executor.island wraps "tf.NoOp"() : () -> () loc("init")
    %island = tf_executor.island(%init) {
      // First nodes get the island's control inputs; side effects stay in order; other nodes aren't
      // ordered.
      // CHECK: %[[NEG:.*]], %{{.*}} = Neg(%x) [%[[INIT]]] name("neg") {T = f32}
      %0 = "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32> loc("neg")
      // CHECK: %[[P0:.*]] = PrintV2(%{{.*}}) name("p0")
      "tf.PrintV2"(%0) {end = ""} : (tensor<f32>) -> () loc("p0")
      // CHECK: %{{.*}}, %[[EXP:.*]] = Exp(%[[NEG]]) name("exp")
      %1 = "tf.Exp"(%0) : (tensor<f32>) -> tensor<f32> loc("exp")
      // CHECK: %[[P1:.*]] = PrintV2(%x) [%[[INIT]], %[[P0]]] name("p1")
      "tf.PrintV2"(%x) {end = ""} : (tensor<f32>) -> () loc("p1")
      tf_executor.yield
    }
    // Control users of the island wait for all of its nodes. An empty island without a name becomes
    // no node.
    %empty = tf_executor.island(%island) {
    }
    // CHECK: NoOp [%[[EXP]], %[[P1]]] name("after")
    %after = tf_executor.island(%empty) wraps "tf.NoOp"() : () -> () loc("after")
    tf_executor.fetch
  }
  return
}

// An island is dead if one of the values that it uses is.
// CHECK-LABEL: tfg.func @deadness
func.func private @deadness(%x: tensor<f32>, %p: tensor<i1>, %q: tensor<i1>) -> (tensor<f32>, tensor<f32>) {
  %result:2 = tf_executor.graph {
    // CHECK: %[[A:.*]]:2, %{{.*}} = Switch(%arg0, %arg1) name("a")
    %a, %a_true, %c0 = tf_executor.Switch %x, %p : tensor<f32> loc("a")
    // CHECK: %[[B:.*]]:2, %{{.*}} = Switch(%arg0, %arg2) name("b")
    %b, %b_true, %c1 = tf_executor.Switch %x, %q : tensor<f32> loc("b")
    // CHECK: %[[BOTH:.*]]:2, %[[TOKEN:.*]] = IdentityN(%[[A]]#0, %[[B]]#0) name("tf.IdentityN") {T = [f32, f32]}
    %0:2, %c2 = tf_executor.island {
      // CHECK: Neg(%[[BOTH]]#0) [%[[TOKEN]]] name("neg")
      %1 = "tf.Neg"(%a) : (tensor<f32>) -> tensor<f32> loc("neg")
      // CHECK: Exp(%[[BOTH]]#1) [%[[TOKEN]]] name("exp")
      %2 = "tf.Exp"(%b) : (tensor<f32>) -> tensor<f32> loc("exp")
      // CHECK: %[[SUM:.*]], %{{.*}} = AddV2(%{{.*}}, %{{.*}}) name("sum")
      %3 = "tf.AddV2"(%1, %2) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("sum")
      tf_executor.yield %3, %a : tensor<f32>, tensor<f32>
    }
    // Outside of it, the original values are used.
    // CHECK: PrintV2(%[[A]]#0)
    %c3 = tf_executor.island wraps "tf.PrintV2"(%a) : (tensor<f32>) -> ()
    // CHECK: return(%[[SUM]], %[[BOTH]]#0)
    tf_executor.fetch %0#0, %0#1 : tensor<f32>, tensor<f32>
  }
  return %result#0, %result#1 : tensor<f32>, tensor<f32>
}

// A function without a graph is imported as an island.
// CHECK-LABEL: tfg.func @plain
// CHECK: %[[P0:.*]] = PrintV2(%arg0) name("p0")
// CHECK: %[[P1:.*]] = PrintV2(%arg0) [%[[P0]]] name("p1")
// CHECK: return(%arg0) [%[[P1]] {tfg.name = "p1"}]
func.func private @plain(%x: tensor<f32>) -> tensor<f32> {
  "tf.PrintV2"(%x) {end = ""} : (tensor<f32>) -> () loc("p0")
  "tf.PrintV2"(%x) {end = ""} : (tensor<f32>) -> () loc("p1")
  return %x : tensor<f32>
}
