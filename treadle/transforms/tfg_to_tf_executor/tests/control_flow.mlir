// RUN: treadle-opt --tfg-to-tf-executor --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s
// RUN: treadle-opt --tfg-to-tf-executor --mlir-print-debuginfo %s | treadle-opt --tf-executor-to-tfg > %t.back
// RUN: treadle-opt %s | diff - %t.back

// CHECK-LABEL: func.func @main()
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  // The first half of the back edge comes first, wherever the node was.
  // CHECK: %[[NEXT:.*]], %[[TOKEN:.*]], %{{.*}} = tf_executor.NextIteration.Source : tensor<*xi32> {T = i32, device = "/CPU:0"} loc(fused["NextIteration:", "next"])
  %start, %c0 = Const name("start") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<*xi32>)
  // Defaults that the node omits.
  // CHECK: %[[ENTER:.*]], %{{.*}} = tf_executor.Enter %{{.*}} frame "loop" : tensor<*xi32> {T = i32, _mlir_omitted = ["is_constant", "parallel_iterations"], device = ""}
  %enter, %c1 = Enter(%start) name("enter") {T = i32, frame_name = "loop"} : (tensor<*xi32>) -> (tensor<*xi32>)
  // CHECK: %[[TO:.*]], %{{.*}} = tf_executor.Enter %{{.*}} frame "loop" parallel_iterations 2 constant : tensor<*xi32> {T = i32, device = ""}
  %to, %c2 = Enter(%start) name("to") {T = i32, frame_name = "loop", is_constant = true, parallel_iterations = 2 : i64} : (tensor<*xi32>) -> (tensor<*xi32>)
  // An Enter that isn't constant although it should be doesn't change.
  // CHECK: tf_executor.Enter %{{.*}} frame "loop" : tensor<*xi32> {T = i32, _mlir_not_constant, device = ""}
  %once, %c3 = Enter(%start) name("once") {T = i32, frame_name = "loop", is_constant = false, parallel_iterations = 10 : i64} : (tensor<*xi32>) -> (tensor<*xi32>)
  // CHECK: %[[MERGE:.*]], %{{.*}}, %[[MC:.*]] = tf_executor.Merge %[[ENTER]], %[[NEXT]] : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>, tensor<*xi32>, !tf_executor.control) {N = 2 : i64, T = i32, device = ""}
  %merge, %which, %c4 = Merge(%enter, %next) name("merge") {N = 2 : i64, T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>, tensor<*xi32>)
  %sum, %c5 = AddV2(%merge, %once) [%c4] name("sum") {T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
  %less, %c6 = Less(%sum, %to) name("less") {T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi1>)
  // CHECK: tf_executor.LoopCond %{{.*}} : tensor<*xi1> {device = ""}
  %cond, %c7 = LoopCond(%less) name("cond") : (tensor<*xi1>) -> (tensor<*xi1>)
  // CHECK: %[[DONE:.*]], %[[AGAIN:.*]], %{{.*}} = tf_executor.Switch %[[MERGE]], %{{.*}} : (tensor<*xi32>, tensor<*xi1>) -> (tensor<*xi32>, tensor<*xi32>, !tf_executor.control) {T = i32, device = ""}
  %done, %again, %c8 = Switch(%merge, %cond) name("switch") {T = i32} : (tensor<*xi32>, tensor<*xi1>) -> (tensor<*xi32>, tensor<*xi32>)
  // CHECK: tf_executor.NextIteration.Sink [%[[TOKEN]]] %[[AGAIN]], %[[MC]] : tensor<*xi32> {T = i32, device = "/CPU:0"} loc(fused["NextIteration:", "next"])
  %next, %c9 = NextIteration(%again) [%c4] device("/CPU:0") name("next") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  // CHECK: tf_executor.Exit %[[DONE]] : tensor<*xi32> {T = i32, device = ""}
  %exit, %c10 = Exit(%done) name("exit") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  // This node precedes its operands.
  %early, %c11 = Neg(%late) name("early") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  %late, %c12 = Neg(%exit) [%c14] name("late") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  // References stay references.
  %v, %c13 = VariableV2 name("v") {container = "", dtype = f32, shape = #tf_type.shape<>, shared_name = ""} : () -> (tensor<*x!tf_type.f32ref>)
  // CHECK: tf_executor.Enter %{{.*}} frame "ref" : tensor<*x!tf_type.f32ref>
  %ref, %c14 = RefEnter(%v) name("ref") {T = f32, frame_name = "ref", is_constant = false, parallel_iterations = 10 : i64} : (tensor<*x!tf_type.f32ref>) -> (tensor<*x!tf_type.f32ref>)
  // CHECK: tf_executor.ControlTrigger %{{.*}} {device = ""}
  %trigger = ControlTrigger [%c14] name("trigger")
  // CHECK: tf_executor._SwitchN %{{.*}}, %{{.*}} of 2 : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>, tensor<*xi32>, !tf_executor.control) {T = i32, device = ""}
  %case:2, %c15 = _SwitchN(%late, %exit) name("case") {T = i32, num_outs = 2 : i64} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>, tensor<*xi32>)
  // A node that doesn't match the operation becomes an island.
  // CHECK: wraps "tf.Enter"(%{{.*}}) {_mlir_omitted = ["T"], device = ""}
  %odd, %c16 = Enter(%start) name("odd") : (tensor<*xi32>) -> (tensor<*xi32>)
  // CHECK: } {_mlir_order = array<i64:
}
