// RUN: treadle-opt --tfg-to-tf-executor --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s
// RUN: treadle-opt --tfg-to-tf-executor --mlir-print-debuginfo %s | treadle-opt --tf-executor-to-tfg | FileCheck %s --check-prefix=BACK
// RUN: treadle-opt %s | FileCheck %s --check-prefix=BACK

// CHECK: module attributes {tf.versions = {bad_consumers = [7 : i32], min_consumer = 12 : i32, producer = 1482 : i32}}
// CHECK-LABEL: func.func @main()
// BACK: tfg.graph #tf_type.version<producer = 1482, min_consumer = 12, bad_consumers = [7]> {
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12, bad_consumers = [7]> {
  // Attributes that the types imply are omitted; control inputs come first.
  // CHECK: %[[X:.*]], %[[XC:.*]] = tf_executor.island wraps "tf.Const"() {device = "", value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<*xf32> loc(fused["Const:", "x"])
  // BACK-NEXT: %Const, %ctl = Const name("x") {dtype = f32, value = dense<1.000000e+00> : tensor<f32>}
  %x, %c0 = Const name("x") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<*xf32>)
  // CHECK: tf_executor.island(%[[XC]]) wraps "tf.Neg"(%[[X]]) {device = "/CPU:0"} : (tensor<*xf32>) -> tensor<*xf32>
  // BACK-NEXT: Neg(%Const) [%ctl] device("/CPU:0") name("y") {T = f32}
  %y, %c1 = Neg(%x) [%c0] device("/CPU:0") name("y") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  // If two lists may have any length, their lengths are stated.
  // CHECK: "tf.BatchFunction"(%[[X]], %{{[a-z_0-9]*}}, %[[X]]) {
  // CHECK-SAME: f = @f
  // CHECK-SAME: operandSegmentSizes = array<i32: 2, 1>
  // CHECK-NOT: Tin
  // BACK-NEXT: BatchFunction(%Const, %Neg, %Const) name("b") {Tcaptured = [f32], Tin = [f32, f32], Tout = [f32],
  %b, %c2 = BatchFunction(%x, %y, %x) name("b") {Tcaptured = [f32], Tin = [f32, f32], Tout = [f32], batch_timeout_micros = 1 : i64, f = #tf_type.func<@f, {}>, max_batch_size = 1 : i64, num_batch_threads = 1 : i64} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  // An attribute that the types imply but that is missing is listed as omitted.
  // CHECK: "tf.Sum"(%[[X]], %{{.*}}) {_mlir_omitted = ["Tidx"], device = ""}
  // BACK-NEXT: Const name("i")
  // BACK-NEXT: Sum(%Const, %{{.*}}) name("s") {T = f32}
  %i, %c3 = Const name("i") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<*xi32>)
  %s, %c4 = Sum(%x, %i) name("s") {T = f32} : (tensor<*xf32>, tensor<*xi32>) -> (tensor<*xf32>)
  // CHECK: "tf.LegacyCall"(%[[X]]) {a = 1 : i64, device = "", f = @f}
  // BACK-NEXT: f(%Const) name("call") {a = 1 : i64}
  %l, %c5 = f(%x) name("call") {a = 1 : i64} : (tensor<*xf32>) -> (tensor<*xf32>)
  // CHECK: "tf.PartitionedCall"(%[[X]]) {config = "", {{.*}}f = @f, f.g = 2 : i64}
  // BACK-NEXT: PartitionedCall(%Const) name("p") {Tin = [f32], Tout = [f32], config = "", config_proto = "", executor_type = "", f = #tf_type.func<@f, {g = 2 : i64}>}
  %p, %c6 = PartitionedCall(%x) name("p") {Tin = [f32], Tout = [f32], config = "", config_proto = "", executor_type = "", f = #tf_type.func<@f, {g = 2 : i64}>} : (tensor<*xf32>) -> (tensor<*xf32>)
  // CHECK: "tf.While"(%[[X]]) {body = @f, cond = @f, device = "", is_stateless = true
  // BACK-NEXT: StatelessWhile(%Const) name("w") {T = [f32], body = #tf_type.func<@f, {}>, cond = #tf_type.func<@f, {}>, parallel_iterations = 10 : i64}
  %w, %c7 = StatelessWhile(%x) name("w") {T = [f32], body = #tf_type.func<@f, {}>, cond = #tf_type.func<@f, {}>, parallel_iterations = 10 : i64} : (tensor<*xf32>) -> (tensor<*xf32>)
  // A name that a location can't represent.
  // CHECK: "tf.NoOp"() {_mlir_name = "a@b", device = ""} : () -> () loc(fused["NoOp:", "a@b"])
  // BACK-NEXT: NoOp name("a@b")
  %c8 = NoOp name("a@b")
  // CHECK: tf_executor.fetch loc
}
tfg.func @f(%a: tensor<*xf32> {tfg.name = "a"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  return(%a) : tensor<*xf32>
}
