// RUN: treadle-opt --tfg-constant-folding %s | FileCheck %s
// RUN: treadle-opt "--tfg-constant-folding=feeds=a:0" %s | FileCheck %s --check-prefix=FED
// RUN: treadle-opt "--tfg-constant-folding=max-bytes=8" %s | FileCheck %s --check-prefix=SMALL

// The result has the control inputs of the node and of its constants.
// CHECK-LABEL: tfg.graph
// CHECK: NoOp {{.*}}name("init")
// CHECK: Const [%{{.*}}] name("sum") {dtype = i32, value = dense<5> : tensor<i32>} : () -> (tensor<i32>)
// CHECK: Const name("wide") {dtype = i32, value = dense<2> : tensor<4xi32>}
// FED: AddV2
// FED: Fill
// SMALL: dense<5>
// SMALL: Fill
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %p, %pc = Placeholder name("p") {dtype = f32} : () -> (tensor<f32>)
  %init = NoOp [%pc] name("init")
  %a, %ac = Const name("a") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %b, %bc = Const [%init] name("b") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %s, %sc = AddV2(%a, %b) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<*xi32>)
  %d, %dc = Const name("d") {dtype = i32, value = dense<4> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %f, %fc = Fill(%d, %a) name("wide") {T = i32, index_type = i32} : (tensor<1xi32>, tensor<i32>) -> (tensor<*xi32>)
}

// A node with several results stays for its name. Random ops, errors and handles aren't folded.
// CHECK-LABEL: tfg.func @several
// CHECK-DAG: %[[A:.*]], %{{.*}} = Const name("split/folded") {dtype = i32, value = dense<1> : tensor<1xi32>}
// CHECK-DAG: %[[B:.*]], %{{.*}} = Const name("split/folded_1") {dtype = i32, value = dense<2> : tensor<1xi32>}
// CHECK: Split
// CHECK: RandomUniform
// CHECK: Reshape
// CHECK: return(%[[A]], %[[B]],
tfg.func @several() -> (tensor<*xi32> {tfg.name = "x"}, tensor<*xi32> {tfg.name = "y"}, tensor<*xf32> {tfg.name = "z"}, tensor<*xi32> {tfg.name = "w"}) {
  %v, %vc = Const name("v") {dtype = i32, value = dense<[1, 2]> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %z, %zc = Const name("z") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %s:2, %sc = Split(%z, %v) name("split") {T = i32, num_split = 2 : i64} : (tensor<i32>, tensor<2xi32>) -> (tensor<*xi32>, tensor<*xi32>)
  %r, %rc = RandomUniform(%v) name("draw") {T = i32, dtype = f32} : (tensor<2xi32>) -> (tensor<*xf32>)
  %t, %tc = Const name("t") {dtype = i32, value = dense<7> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %e, %ec = Reshape(%v, %t) name("wrong") {T = i32, Tshape = i32} : (tensor<2xi32>, tensor<1xi32>) -> (tensor<*xi32>)
  return(%s#0, %s#1, %r, %e) : tensor<*xi32>, tensor<*xi32>, tensor<*xf32>, tensor<*xi32>
}
