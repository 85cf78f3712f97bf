// The graph becomes a function of feeds and fetches, and is restored.
// RUN: treadle-opt "--tfg-lift-graph-to-func=feeds=x,s:1 fetches=y,x targets=t" %s | FileCheck %s
// RUN: treadle-opt "--tfg-lift-graph-to-func=feeds=x,s:1 fetches=y,x targets=t" --tfg-lower-func-to-graph %s | FileCheck %s --check-prefix=BACK
// RUN: not treadle-opt "--tfg-lift-graph-to-func=feeds=nil" %s 2>&1 | FileCheck %s --check-prefix=NIL
// RUN: not treadle-opt "--tfg-lift-graph-to-func=fetches=s:2" %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not treadle-opt --tfg-lower-func-to-graph %s 2>&1 | FileCheck %s --check-prefix=NONE

// NIL: error: feed 'nil': the graph has no node 'nil'
// OUTPUT: error: fetch 's:2': 's' (Split) has 2 outputs
// NONE: error: function '_mlir_lifted_graph' can't become the graph: it doesn't exist; choose another one with name=

// CHECK: tfg.func @_mlir_lifted_graph(%x_0: tensor<4xf32> {tfg.lifted_value_attr = ["x", 0 : index], tfg.name = "x_0"},
// CHECK-NEXT: %s_1: tensor<2xf32> {tfg.lifted_value_attr = ["s", 1 : index], tfg.name = "s_1"})
// CHECK-NEXT: -> (tensor<2xf32> {tfg.name = "y_0"},
// CHECK-NEXT: tensor<4xf32> {tfg.name = "x_0"})
// CHECK: tfg.lifted_graph_version = #tf_type.version<producer = 7, min_consumer = 0>
// CHECK: AddV2(%{{.*}}, %s_1) name("y")
// CHECK: NoOp [%x_0.ctl] name("t")
// CHECK: return(%{{.*}}, %x_0) [%{{.*}} {tfg.name = "t"}]

// BACK: tfg.graph #tf_type.version<producer = 7, min_consumer = 0> {
// BACK: %[[X:.*]], %[[XC:.*]] = Placeholder name("x")
// BACK: %[[S:.*]]:2, %{{.*}} = Split(%{{.*}}, %[[X]]) name("s")
// BACK: AddV2(%[[S]]#0, %[[S]]#1) name("y")
// BACK: NoOp [%[[XC]]] name("t")
// BACK-NOT: tfg.func
tfg.graph #tf_type.version<producer = 7, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<4xf32>)
  %d, %dc = Const name("d") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %s:2, %sc = Split(%d, %x) name("s") {T = f32, num_split = 2 : i64} : (tensor<i32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %y, %yc = AddV2(%s#0, %s#1) name("y") {T = f32} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  %t = NoOp [%xc] name("t")
}
