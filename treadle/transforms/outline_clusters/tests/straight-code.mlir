// RUN: treadle-opt --tfg-outline-clusters %s | FileCheck %s

// CHECK: tfg.graph
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// Six elementwise operations become a call, together with nodes that only forward elements.
// CHECK: PartitionedCall(%[[X]]) name("cluster") {Tin = [f32], Tout = [f32], _cluster = true, f = #tf_type.func<@cluster, {}>}
// CHECK-NOT: name("flat")
// One operation isn't enough. The epilogue of a product stays with the product's kernel.
// CHECK: Neg({{.*}} name("few")
// CHECK: MatMul({{.*}}) name("product")
// CHECK: BiasAdd({{.*}}) name("bias")
// CHECK: Relu({{.*}}) name("relu")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  %a, %ac = Neg(%x) name("a") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %shape, %sc = Const name("shape") {dtype = i32, value = dense<-1> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %flat, %fc = Reshape(%a, %shape) name("flat") {T = f32, Tshape = i32} : (tensor<*xf32>, tensor<1xi32>) -> (tensor<*xf32>)
  %b, %bc = Tanh(%flat) name("b") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %c0, %c0c = Exp(%b) name("c0") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %c1, %c1c = Abs(%c0) name("c1") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %c2, %c2c = Sin(%c1) name("c2") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %c, %cc = Mul(%c2, %a) name("c") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s, %stc = StringFormat(%c) name("sink") {T = [f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<*xf32>) -> (tensor<!tf_type.string>)

  %f, %few = Neg(%x) [%stc] name("few") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)

  %p, %pc = MatMul(%x, %x) name("product") {T = f32, transpose_a = false, transpose_b = false} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %v, %vc = BiasAdd(%p, %x) name("bias") {T = f32, data_format = "NHWC"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %m, %mc = Mul(%v, %x) name("scaled") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = Relu(%m) name("relu") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %s2, %sc2 = StringFormat(%r, %f) name("sink2") {T = [f32, f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<!tf_type.string>)
}
