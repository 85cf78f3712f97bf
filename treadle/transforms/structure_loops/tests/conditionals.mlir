// RUN: treadle-opt --tfg-structure-loops %s | FileCheck %s

// A loop in a branch runs if the branch does; a conditional in a loop stays Switch and Merge.
// CHECK-LABEL: tfg.graph
// CHECK: %[[S:.*]]:2, %{{.*}} = Switch(%{{.*}}, %[[P:.*]]) name("on")
// CHECK: %[[W:.*]]:3, %{{.*}} = WhileRegion(%[[S]]#1, %{{.*}}, %[[S]]#1) {
// CHECK: } do {
// CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<i32>, %[[Q:.*]]: tensor<i1>, %{{.*}}: tensor<i32>,
// CHECK-NEXT: %[[B:.*]]:2, %{{.*}} = Switch(%[[I]], %[[Q]]) name("in")
// CHECK-NEXT: %[[A:.*]], %{{.*}} = Neg(%[[B]]#1)
// CHECK-NEXT: %[[M:.*]]:2, %{{.*}} = Merge(%[[B]]#0, %[[A]]) name("joined")
// CHECK-NEXT: yield(%[[M]]#0,
// CHECK: %[[E:.*]], %{{.*}} = Identity(%[[W]]#0) name("exit")
// CHECK: Merge(%[[S]]#0, %[[E]]) name("end")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %on:2, %onc = Switch(%x, %p) name("on") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %own:2, %ownc = Switch(%p, %p) name("own") {T = i1} : (tensor<i1>, tensor<i1>) -> (tensor<i1>, tensor<i1>)
  %q, %qc = Enter(%own#1) name("q") {T = i1, frame_name = "f", is_constant = true} : (tensor<i1>) -> (tensor<i1>)
  %e, %0 = Enter(%on#1) name("e") {T = i32, frame_name = "f"} : (tensor<i32>) -> (tensor<i32>)
  %limit, %1 = Enter(%on#1) name("limit") {T = i32, frame_name = "f", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %m:2, %2 = Merge(%e, %next) name("m") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %l, %3 = Less(%m#0, %limit) name("l") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %c, %4 = LoopCond(%l) name("c") : (tensor<i1>) -> (tensor<i1>)
  %s:2, %5 = Switch(%m#0, %c) name("s") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %in:2, %inc = Switch(%s#1, %q) name("in") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %neg, %negc = Neg(%in#1) name("neg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %joined:2, %joinedc = Merge(%in#0, %neg) name("joined") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %next, %6 = NextIteration(%joined#0) name("next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %7 = Exit(%s#0) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %end:2, %endc = Merge(%on#0, %exit) name("end") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
}
