// RUN: treadle-opt --tfg-outline-clusters %s | FileCheck %s

// Nodes whose tensors are small become a cluster, whatever their op; so do two elementwise nodes of
// large tensors. Kernels compute large products, and small nodes of strings.
// CHECK: tfg.graph
// CHECK-DAG: MatMul({{.*}} name("large")
// CHECK-DAG: AsString({{.*}} name("text")
// CHECK-DAG: name("cluster")
// CHECK-DAG: name("cluster_1")
// CHECK-DAG: MatMul({{.*}} name("product")
// CHECK-DAG: GatherV2({{.*}} name("rows")
// CHECK-DAG: TopKV2({{.*}} name("best")
// CHECK-DAG: Neg({{.*}} name("negated")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<8x8xf32>)
  %i, %ic = Placeholder name("i") {dtype = i32} : () -> (tensor<4xi32>)
  %axis, %ac = Const name("axis") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %k, %kc = Const name("k") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %p, %pc = MatMul(%x, %x) name("product") {T = f32, transpose_a = false, transpose_b = false} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %r, %rc = GatherV2(%p, %i, %axis) name("rows") {Tparams = f32, Tindices = i32, Taxis = i32, batch_dims = 0 : i64} : (tensor<8x8xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<4x8xf32>)
  %t:2, %tc = TopKV2(%r, %k) name("best") {T = f32, Tk = i32, index_type = i32, sorted = true} : (tensor<4x8xf32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %q, %qc = MatMul(%t#0, %t#0) name("square") {T = f32, transpose_a = false, transpose_b = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> (tensor<4x4xf32>)
  %n, %nc = Neg(%q) name("negated") {T = f32} : (tensor<4x4xf32>) -> (tensor<4x4xf32>)
  %s, %sc = AsString(%n) name("text") {T = f32, precision = -1 : i64, scientific = false, shortest = false, width = -1 : i64, fill = ""} : (tensor<4x4xf32>) -> (tensor<4x4x!tf_type.string>)

  %y, %yc = Placeholder name("y") {dtype = f32} : () -> (tensor<200x200xf32>)
  %l, %lc = MatMul(%y, %y) name("large") {T = f32, transpose_a = false, transpose_b = false} : (tensor<200x200xf32>, tensor<200x200xf32>) -> (tensor<200x200xf32>)
  %e, %ec = Exp(%y) name("e") {T = f32} : (tensor<200x200xf32>) -> (tensor<200x200xf32>)
  %f, %fc = Sin(%e) name("f") {T = f32} : (tensor<200x200xf32>) -> (tensor<200x200xf32>)
  %z, %zc = AsString(%f) name("text2") {T = f32, precision = -1 : i64, scientific = false, shortest = false, width = -1 : i64, fill = ""} : (tensor<200x200xf32>) -> (tensor<100x100x!tf_type.string>)
}
