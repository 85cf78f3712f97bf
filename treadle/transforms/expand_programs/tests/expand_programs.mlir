// RUN: treadle-opt %s --tfg-expand-programs | FileCheck %s

// The first argument is the platform index, which @main doesn't get here. Nodes with the same
// module share its function; shapes that aren't known are checked.
// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // CHECK: %[[x:.*]], %{{.*}} = Placeholder
  %x, %c0 = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)
  %u, %c1 = Placeholder name("u") {dtype = f32, shape = #tf_type.shape<*>} : () -> (tensor<*xf32>)
  // CHECK: PartitionedCall(%[[x]]) name("y") {{.*}}f = #tf_type.func<@[[main:main[_0-9]*]], {}>
  %y, %c2 = XlaCallModule(%x) name("y") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 10 : i64, platforms = ["CUDA", "CPU"], module = "func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> { %c = stablehlo.convert %n : (tensor<i32>) -> tensor<f32> %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2xf32> %s = stablehlo.add %x, %b : tensor<2xf32> return %s : tensor<2xf32> }"} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: %[[e:.*]], %{{.*}} = EnsureShape(%{{.*}}) name("z/argument") {{.*}}shape = #tf_type.shape<2>
  // CHECK: PartitionedCall(%[[e]]) name("z") {{.*}}f = #tf_type.func<@[[main]], {}>
  %z, %c3 = XlaCallModule(%u) name("z") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 10 : i64, platforms = ["CUDA", "CPU"], module = "func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> { %c = stablehlo.convert %n : (tensor<i32>) -> tensor<f32> %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2xf32> %s = stablehlo.add %x, %b : tensor<2xf32> return %s : tensor<2xf32> }"} : (tensor<*xf32>) -> (tensor<2xf32>)
}

// This function is only called by an unreached one, so it isn't expanded.
// CHECK: tfg.func @unused
// CHECK: XlaCallModule
tfg.func @unused(%a: tensor<2xf32>) -> (tensor<2xf32>) {
  %y, %c = XlaCallModule(%a) name("y") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 10 : i64, module = ""} : (tensor<2xf32>) -> (tensor<2xf32>)
  return(%y) : tensor<2xf32>
}

// CHECK: tfg.func @[[main]](%{{.*}}: tensor<2xf32>
// CHECK-NOT: XlaCallModule
