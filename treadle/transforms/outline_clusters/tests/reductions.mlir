// RUN: treadle-opt --tfg-outline-clusters --split-input-file %s | FileCheck %s

// A reduction is compiled with the nodes that compute its elements, and with the broadcasts that
// they read. A broadcast that depends on constants alone is placed with its reader.
// CHECK-LABEL: tfg.graph
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK: PartitionedCall(%[[X]]) name("cluster")
// CHECK-NOT: BroadcastTo
// CHECK-NOT: Sum
// CHECK: StringFormat
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<3000x1xf32>)
  %n, %nc = Const name("n") {dtype = f32, value = dense<2.0> : tensor<1x20xf32>} : () -> (tensor<1x20xf32>)
  %shape, %sc = Const name("shape") {dtype = i32, value = dense<[3000, 20]> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %axis, %ac = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %a, %aa = BroadcastTo(%n, %shape) name("a") {T = f32, Tidx = i32} : (tensor<1x20xf32>, tensor<2xi32>) -> (tensor<3000x20xf32>)
  %b, %bb = BroadcastTo(%x, %shape) name("b") {T = f32, Tidx = i32} : (tensor<3000x1xf32>, tensor<2xi32>) -> (tensor<3000x20xf32>)
  %c, %cc = Mul(%a, %b) name("c") {T = f32} : (tensor<3000x20xf32>, tensor<3000x20xf32>) -> (tensor<3000x20xf32>)
  %s, %ss = Sum(%c, %axis) name("s") {T = f32, Tidx = i32, keep_dims = false} : (tensor<3000x20xf32>, tensor<i32>) -> (tensor<3000xf32>)
  %t, %tc = StringFormat(%s) name("sink") {T = [f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<3000xf32>) -> (tensor<!tf_type.string>)
}

// -----

// A reduction of a tensor in memory keeps its kernel, and so do two nodes of small tensors.
// CHECK-LABEL: tfg.graph
// CHECK-NOT: PartitionedCall
// CHECK: Neg
// CHECK: Exp
// CHECK: Sum
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<3000x20xf32>)
  %y, %yc = Placeholder name("y") {dtype = f32} : () -> (tensor<30xf32>)
  %axis, %ac = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %a, %aa = Neg(%y) name("a") {T = f32} : (tensor<30xf32>) -> (tensor<30xf32>)
  %b, %bb = Exp(%a) name("b") {T = f32} : (tensor<30xf32>) -> (tensor<30xf32>)
  %s, %ss = Sum(%x, %axis) name("s") {T = f32, Tidx = i32, keep_dims = false} : (tensor<3000x20xf32>, tensor<i32>) -> (tensor<3000xf32>)
  %t, %tc = StringFormat(%s, %b) name("sink") {T = [f32, f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<3000xf32>, tensor<30xf32>) -> (tensor<!tf_type.string>)
}

// -----

// A broadcast that is also read by an op with a kernel is made by its kernel, once.
// CHECK-LABEL: tfg.graph
// CHECK: BroadcastTo
// CHECK: PartitionedCall
// CHECK: MatMul
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<300x1xf32>)
  %shape, %sc = Const name("shape") {dtype = i32, value = dense<300> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %b, %bb = BroadcastTo(%x, %shape) name("b") {T = f32, Tidx = i32} : (tensor<300x1xf32>, tensor<2xi32>) -> (tensor<300x300xf32>)
  %c, %cc = Exp(%b) name("c") {T = f32} : (tensor<300x300xf32>) -> (tensor<300x300xf32>)
  %d, %dc = Tanh(%c) name("d") {T = f32} : (tensor<300x300xf32>) -> (tensor<300x300xf32>)
  %p, %pc = MatMul(%b, %d) name("product") {T = f32, transpose_a = false, transpose_b = false} : (tensor<300x300xf32>, tensor<300x300xf32>) -> (tensor<300x300xf32>)
  %t, %tc = StringFormat(%p) name("sink") {T = [f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<300x300xf32>) -> (tensor<!tf_type.string>)
}

// -----

// Nodes that depend on constants alone are placed with their first reader, so that no cycle arises.
// CHECK-LABEL: tfg.graph
// CHECK: AddV2({{.*}}) name("early")
// CHECK: StringFormat({{.*}}) name("first")
// CHECK: PartitionedCall({{.*}}) name("cluster")
// CHECK-NOT: BroadcastTo
// CHECK: StringFormat({{.*}}) name("second")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<300x100xf32>)
  %n, %nc = Const name("n") {dtype = f32, value = dense<2.0> : tensor<100xf32>} : () -> (tensor<100xf32>)
  %one, %oc = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %flat, %fc = Const name("flat") {dtype = i32, value = dense<[1, 100]> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %shape, %sc = Const name("shape") {dtype = i32, value = dense<[300, 100]> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %e, %ec = AddV2(%one, %one) name("early") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %f, %ff = StringFormat(%e) name("first") {T = [f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<f32>) -> (tensor<!tf_type.string>)
  %l, %lc = StringLength(%f) name("length") {unit = "BYTE"} : (tensor<!tf_type.string>) -> (tensor<i32>)
  %m, %mc = Cast(%l) name("cast") {SrcT = i32, DstT = f32, Truncate = false} : (tensor<i32>) -> (tensor<f32>)
  %r, %rc = Reshape(%n, %flat) name("r") {T = f32, Tshape = i32} : (tensor<100xf32>, tensor<2xi32>) -> (tensor<1x100xf32>)
  %b, %bc = BroadcastTo(%r, %shape) name("b") {T = f32, Tidx = i32} : (tensor<1x100xf32>, tensor<2xi32>) -> (tensor<300x100xf32>)
  %p, %pc = Mul(%b, %x) name("p") {T = f32} : (tensor<300x100xf32>, tensor<300x100xf32>) -> (tensor<300x100xf32>)
  %q, %qc = Mul(%p, %m) name("q") {T = f32} : (tensor<300x100xf32>, tensor<f32>) -> (tensor<300x100xf32>)
  %d, %dc = AddV2(%q, %e) name("d") {T = f32} : (tensor<300x100xf32>, tensor<f32>) -> (tensor<300x100xf32>)
  %t, %tc = StringFormat(%d) name("second") {T = [f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<300x100xf32>) -> (tensor<!tf_type.string>)
}

// -----

// A function of a large tensor that takes much longer than memory is compiled alone.
// CHECK-LABEL: tfg.graph
// CHECK: PartitionedCall({{.*}}) name("cluster")
// CHECK: tfg.func @cluster
// CHECK: Tanh
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f64} : () -> (tensor<300x100xf64>)
  %y, %yc = Tanh(%x) name("y") {T = f64} : (tensor<300x100xf64>) -> (tensor<300x100xf64>)
  %t, %tc = StringFormat(%y) name("sink") {T = [f64], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<300x100xf64>) -> (tensor<!tf_type.string>)
}
