// Regions of tf operations become functions; values that they use from outside become arguments.
// RUN: treadle-opt --tf-executor-to-tfg %s | FileCheck %s

// CHECK: If(%{{.*}}, %{{.*}}) {{.*}}else_branch = #tf_type.func<@main_else, {}>{{.*}}then_branch = #tf_type.func<@main_then, {}>
// CHECK: While(%{{.*}}, %{{.*}}) {{.*}}body = #tf_type.func<@main_body, {}>, cond = #tf_type.func<@main_cond, {}>
// CHECK-DAG: tfg.func {{.*}}@main_then
// CHECK-DAG: tfg.func {{.*}}@main_body
func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = "tf.IfRegion"(%p) ({
    %a = "tf.Abs"(%x) : (tensor<f32>) -> tensor<f32>
    "tf.Yield"(%a) : (tensor<f32>) -> ()
  }, {
    "tf.Yield"(%x) : (tensor<f32>) -> ()
  }) {is_stateless = false} : (tensor<i1>) -> tensor<f32>
  %1 = "tf.WhileRegion"(%0) ({
  ^bb0(%i: tensor<f32>):
    %l = "tf.Less"(%i, %x) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "tf.Yield"(%l) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<f32>):
    %s = "tf.AddV2"(%i, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "tf.Yield"(%s) : (tensor<f32>) -> ()
  }) {is_stateless = false} : (tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
