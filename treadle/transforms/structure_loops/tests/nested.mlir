// RUN: treadle-opt --tfg-structure-loops %s | FileCheck %s

// The inner loop is converted first; its input comes from the outer one.
// CHECK-LABEL: tfg.graph
// CHECK: %[[W:.*]]:2, %{{.*}} = WhileRegion(%[[X:.*]], %[[N:.*]]) {
// CHECK: } do {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<i32>, %[[M:.*]]: tensor<i32>,
// CHECK-NEXT: %[[V:.*]]:2, %{{.*}} = WhileRegion(%[[I]], %[[I]]) {
// CHECK: _mlir_name = "inner"
// CHECK-NEXT: yield(%[[V]]#0, %[[M]])
// CHECK-NEXT: } {_mlir_name = "outer",
// CHECK-NEXT: Identity(%[[W]]#0) name("ox")
// CHECK-NOT: Exit
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %oe, %o0 = Enter(%x) name("oe") {T = i32, frame_name = "outer"} : (tensor<i32>) -> (tensor<i32>)
  %on, %o1 = Enter(%n) name("on") {T = i32, frame_name = "outer", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %om:2, %o2 = Merge(%oe, %onext) name("om") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %ol, %o3 = Less(%om#0, %on) name("ol") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %oc, %o4 = LoopCond(%ol) name("oc") : (tensor<i1>) -> (tensor<i1>)
  %os:2, %o5 = Switch(%om#0, %oc) name("os") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %ie, %i0 = Enter(%os#1) name("ie") {T = i32, frame_name = "inner"} : (tensor<i32>) -> (tensor<i32>)
  %in, %i1 = Enter(%os#1) name("in") {T = i32, frame_name = "inner", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %im:2, %i2 = Merge(%ie, %inext) name("im") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %il, %i3 = Less(%im#0, %in) name("il") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %ic, %i4 = LoopCond(%il) name("ic") : (tensor<i1>) -> (tensor<i1>)
  %is:2, %i5 = Switch(%im#0, %ic) name("is") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %ineg, %inegc = Neg(%is#1) name("ineg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %inext, %i6 = NextIteration(%ineg) name("inext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %ix, %i7 = Exit(%is#0) name("ix") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %onext, %o6 = NextIteration(%ix) name("onext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %ox, %o7 = Exit(%os#0) name("ox") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
