// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// With a factor, a mask, and keys in rows.
// CHECK-LABEL: tfg.func @masked
// CHECK: %[[I:.*]] = NoOp name("i")
// CHECK: _Attention(%q, %k, %v, %mask) [%[[I]]] name("out") {causal = false, num_masks = 1 : i64, scale = 5.000000e-01 : f32}
// CHECK-NEXT: return
tfg.func @masked(%q: tensor<*xf32> {tfg.name = "q"}, %k: tensor<*xf32> {tfg.name = "k"}, %v: tensor<*xf32> {tfg.name = "v"}, %mask: tensor<*xf32> {tfg.name = "mask"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %i = NoOp name("i")
  %two, %tc = Const name("two") {dtype = f32, value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %s, %sc = BatchMatMulV2(%q, %k) [%i] name("s") {T = f32, adj_y = true} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = RealDiv(%s, %two) name("d") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %m, %mc = AddV2(%d, %mask) name("m") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %p, %pc = Softmax(%m) name("p") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %out, %oc = BatchMatMulV2(%p, %v) name("out") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%out) : tensor<*xf32>
}

// Keys that a Transpose turned into columns are used in rows.
// CHECK-LABEL: tfg.func @columns
// CHECK: dense<[0, 2, 1, 3]>
// CHECK: %[[K:.*]], %{{.*}} = Transpose(%k, %{{.*}}) {{.*}} -> (tensor<2x4x5x8xf32>)
// CHECK: _Attention(%q, %[[K]], %v) name("out") {causal = false, num_masks = 0 : i64, scale = 1.000000e+00 : f32}
tfg.func @columns(%q: tensor<*xf32> {tfg.name = "q"}, %k: tensor<2x5x4x8xf32> {tfg.name = "k"}, %v: tensor<*xf32> {tfg.name = "v"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %o, %c = Const name("o") {dtype = i32, value = dense<[0, 2, 3, 1]> : tensor<4xi32>} : () -> (tensor<4xi32>)
  %t, %tc = Transpose(%k, %o) name("t") {T = f32, Tperm = i32} : (tensor<2x5x4x8xf32>, tensor<4xi32>) -> (tensor<2x4x8x5xf32>)
  %s, %sc = BatchMatMulV2(%q, %t) name("s") {T = f32} : (tensor<*xf32>, tensor<2x4x8x5xf32>) -> (tensor<*xf32>)
  %p, %pc = Softmax(%s) name("p") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %out, %oc = BatchMatMulV2(%p, %v) name("out") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%out) : tensor<*xf32>
}

// Not fused: values with other users, keys in an unknown layout, another dtype.
// CHECK-LABEL: tfg.func @others
// CHECK-NOT: _Attention
tfg.func @others(%q: tensor<*xf32> {tfg.name = "q"}, %k: tensor<*xf32> {tfg.name = "k"}, %h: tensor<*xf64> {tfg.name = "h"}) -> (tensor<*xf32> {tfg.name = "a"}, tensor<*xf32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}, tensor<*xf64> {tfg.name = "d"}) {
  %s, %sc = BatchMatMulV2(%q, %k) name("s") {T = f32, adj_y = true} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %p, %pc = Softmax(%s) name("p") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = BatchMatMulV2(%p, %q) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s1, %sc1 = BatchMatMulV2(%q, %k) name("s1") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %p1, %pc1 = Softmax(%s1) name("p1") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = BatchMatMulV2(%p1, %q) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s2, %sc2 = BatchMatMulV2(%h, %h) name("s2") {T = f64, adj_y = true} : (tensor<*xf64>, tensor<*xf64>) -> (tensor<*xf64>)
  %p2, %pc2 = Softmax(%s2) name("p2") {T = f64} : (tensor<*xf64>) -> (tensor<*xf64>)
  %d, %dc = BatchMatMulV2(%p2, %h) name("d") {T = f64} : (tensor<*xf64>, tensor<*xf64>) -> (tensor<*xf64>)
  return(%a, %p, %b, %d) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf64>
}

// Heads in the third dimension as in Keras, with any letters.
// CHECK-LABEL: tfg.func @heads
// CHECK: %[[Q:.*]], %{{.*}} = Transpose(%q,
// CHECK: %[[K:.*]], %{{.*}} = Transpose(%k,
// CHECK: %[[V:.*]], %{{.*}} = Transpose(%v,
// CHECK: %[[A:.*]]:2, %{{.*}} = _Attention(%[[Q]], %[[K]], %[[V]])
// CHECK: %[[R:.*]], %{{.*}} = Transpose(%[[A]]#0, %{{.*}}) name("out")
// CHECK: return(%[[R]])
tfg.func @heads(%q: tensor<*xf32> {tfg.name = "q"}, %k: tensor<*xf32> {tfg.name = "k"}, %v: tensor<*xf32> {tfg.name = "v"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %s, %sc = Einsum(%q, %k) name("s") {N = 2 : i64, T = f32, equation = "aecd,abcd->aceb"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %p, %pc = Softmax(%s) name("p") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %out, %oc = Einsum(%p, %v) name("out") {N = 2 : i64, T = f32, equation = "aceb,abcd->aecd"} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%out) : tensor<*xf32>
}
