// RUN: treadle-opt --tfg-structure-loops %s | FileCheck %s

// A loop negates x until it is no longer less than n; n enters through a constant Enter. The Print
// prints each value, including the last one, because it is in the condition.
// CHECK-LABEL: tfg.graph
// CHECK: %[[INIT:.*]] = NoOp name("init")
// CHECK: %[[W:.*]]:2, %{{.*}} = WhileRegion(%[[X:.*]], %[[N:.*]]) [%[[INIT]]] {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<i32>, %[[M:.*]]: tensor<i32>, %{{.*}}: !tf_type.control, %{{.*}}: !tf_type.control):
// CHECK-NEXT: %[[L:.*]], %{{.*}} = Less(%[[I]], %[[M]]) name("l")
// CHECK-NEXT: %{{.*}}, %[[PC:.*]] = Print(%[[I]], %[[I]]) name("print")
// CHECK-NEXT: condition %[[L]] : tensor<i1> (%[[I]], %[[M]]) [%[[PC]]] {_mlir_name = "c"} : tensor<i32>, tensor<i32>
// CHECK: ^bb0(%[[I:.*]]: tensor<i32>, %[[M:.*]]: tensor<i32>, %{{.*}}: !tf_type.control, %{{.*}}: !tf_type.control):
// CHECK-NEXT: %[[A:.*]], %[[AC:.*]] = Neg(%[[I]]) name("neg")
// CHECK-NEXT: %[[D:.*]] = NoOp [%[[AC]]] name("done")
// CHECK-NEXT: yield(%[[A]], %[[M]]) [%[[D]]] : tensor<i32>, tensor<i32>
// CHECK-NEXT: } {_mlir_name = "frame", parallel_iterations = 10 : i64}
// CHECK: Identity(%[[W]]#0) name("x")
// CHECK-NOT: Enter
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("start") {dtype = i32} : () -> (tensor<i32>)
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %init = NoOp name("init")
  %e, %0 = Enter(%x) [%init] name("e") {T = i32, frame_name = "frame"} : (tensor<i32>) -> (tensor<i32>)
  %limit, %1 = Enter(%n) name("limit") {T = i32, frame_name = "frame", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %m:2, %2 = Merge(%e, %next) name("m") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %l, %3 = Less(%m#0, %limit) name("l") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %c, %4 = LoopCond(%l) name("c") : (tensor<i1>) -> (tensor<i1>)
  %s:2, %5 = Switch(%m#0, %c) name("s") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %print, %8 = Print(%m#0, %m#0) name("print") {T = i32, U = [i32]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %neg, %negc = Neg(%s#1) [%8] name("neg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %done = NoOp [%negc] name("done")
  %next, %6 = NextIteration(%neg) [%done] name("next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %7 = Exit(%s#0) name("x") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
