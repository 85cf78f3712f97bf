// RUN: treadle-opt --tfg-to-tf-executor --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s
// RUN: treadle-opt --tfg-to-tf-executor --mlir-print-debuginfo %s | treadle-opt --tf-executor-to-tfg | FileCheck %s --check-prefix=BACK
// RUN: treadle-opt %s | FileCheck %s --check-prefix=BACK

// CHECK-LABEL: func.func private @f(%arg0: tensor<*xf32> {tf._user_specified_name = "X", tfg.name = "x"}
// CHECK-SAME: -> (tensor<*xf32> {tfg.name = "r"})
// CHECK-SAME: attributes {tf._construction_context = "kEagerRuntime", tf.signature.is_stateful,
// CHECK-SAME: tfg.control_ret_attrs = [{tfg.name = "done"}], tfg.description = "what f does"}
// CHECK: %[[RESULT:.*]] = tf_executor.graph {
// An argument has no token, so an empty island provides it.
// CHECK: %{{.*}}, %[[ARG:.*]] = tf_executor.island {
// CHECK: tf_executor.yield %arg0 : tensor<*xf32>
// CHECK: %[[NEG:.*]], %[[DONE:.*]] = tf_executor.island(%[[ARG]]) wraps "tf.Neg"(%arg0) {device = ""} : (tensor<*xf32>) -> tensor<*xf32> loc(fused["Neg:", "neg@f"])
// CHECK: tf_executor.fetch %[[NEG]], %[[DONE]] : tensor<*xf32>, !tf_executor.control
// CHECK: return %[[RESULT]] : tensor<*xf32>

// BACK-LABEL: tfg.func @f(%x: tensor<*xf32> {tf._user_specified_name = "X", tfg.name = "x"})
// BACK-NEXT: -> (tensor<*xf32> {tfg.name = "r"})
// BACK-NEXT: attributes {description = "what f does", is_stateful, tf._construction_context = "kEagerRuntime"} {
// BACK-NEXT: %Neg, %ctl = Neg(%x) [%x.ctl] name("neg") {T = f32}
// BACK-NEXT: return(%Neg) [%ctl {tfg.name = "done"}] : tensor<*xf32>
tfg.func @f(%x: tensor<*xf32> {tf._user_specified_name = "X", tfg.name = "x"})
     -> (tensor<*xf32> {tfg.name = "r"})
 attributes {description = "what f does", is_stateful, tf._construction_context = "kEagerRuntime"} {
  %y, %c = Neg(%x) [%x.ctl] name("neg") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%y) [%c {tfg.name = "done"}] : tensor<*xf32>
}

// Generic functions don't change.
// CHECK: tfg.func generic @g
// BACK: tfg.func generic @g
tfg.func generic @g(%x: !tf_type.tensor {tfg.name = "x"}) -> (!tf_type.tensor {tfg.name = "r"}) {
  %y, %c = Neg(%x) name("neg")
  %z = get_result(%y) "y" : 0
  return(%z) : !tf_type.tensor
}

// A value with a more precise type than the function's signature.
// CHECK: func.func private @precise(%{{.*}}: tensor<1xi32>{{.*}}) -> (tensor<1xi32>
tfg.func @precise(%x: tensor<1xi32> {tfg.name = "x"}) -> (tensor<*xi32> {tfg.name = "y"}) {
  return(%x) : tensor<1xi32>
}
