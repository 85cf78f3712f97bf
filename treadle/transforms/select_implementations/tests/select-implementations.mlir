// A call becomes a call of the interface's implementation for the CPU if that has the same types.
// RUN: treadle-opt --tfg-select-implementations %s | FileCheck %s

// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  // CHECK: PartitionedCall(%{{.*}}) name("attribute") {Tin = [f32], Tout = [f32], f = #tf_type.func<@cpu, {}>}
  %a, %ac = PartitionedCall(%x) name("attribute") {Tin = [f32], Tout = [f32], f = #tf_type.func<@gpu, {}>} : (tensor<*xf32>) -> (tensor<*xf32>)
  // CHECK: cpu(%{{.*}}) [%{{.*}}] device("d") name("op")
  %b, %bc = gpu(%x) [%ac] device("d") name("op") : (tensor<*xf32>) -> (tensor<*xf32>)
  // CHECK: Neg(%{{.*}}) name("use") {T = f32}
  %n, %nc = Neg(%b) name("use") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  // CHECK: PartitionedCall(%{{.*}}) name("same") {{.*}}@cpu_too
  %d, %dc = PartitionedCall(%x) name("same") {Tin = [f32], Tout = [f32], f = #tf_type.func<@cpu_too, {}>} : (tensor<*xf32>) -> (tensor<*xf32>)
  // CHECK: PartitionedCall(%{{.*}}) name("alone") {{.*}}@other
  %e, %ec = PartitionedCall(%x) name("alone") {Tin = [f32], Tout = [f32], f = #tf_type.func<@other, {}>} : (tensor<*xf32>) -> (tensor<*xf32>)
}
tfg.func @gpu(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"})
    attributes {tf.api_implements = "I", tf.api_preferred_device = "GPU"} {
  return(%x) : tensor<*xf32>
}
tfg.func @two(%x: tensor<*xf32> {tfg.name = "x"}, %z: tensor<*xf32> {tfg.name = "z"}) -> (tensor<*xf32> {tfg.name = "y"})
    attributes {tf.api_implements = "I", tf.api_preferred_device = "CPU"} {
  return(%x) : tensor<*xf32>
}
tfg.func @cpu(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"})
    attributes {tf.api_implements = "I", tf.api_preferred_device = "CPU"} {
  return(%x) : tensor<*xf32>
}
tfg.func @cpu_too(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"})
    attributes {tf.api_implements = "I", tf.api_preferred_device = "CPU"} {
  return(%x) : tensor<*xf32>
}
tfg.func @other(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"})
    attributes {tf.api_implements = "J", tf.api_preferred_device = "GPU"} {
  return(%x) : tensor<*xf32>
}
