// RUN: treadle-opt --tfg-v1-to-functional %s | FileCheck %s

// A loop that adds n to x until the sum is no longer less than n; n enters through a constant
// Enter.
// CHECK-LABEL: tfg.graph
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK: %[[N:.*]], %{{.*}} = Placeholder name("n")
// CHECK: %[[W:.*]]:2, %[[CTL:.*]] = StatelessWhile(%[[X]], %[[N]]) [%[[INIT:.*]]] name("loop")
// CHECK-SAME: _frame_name = "loop/context"
// CHECK-SAME: body = #tf_type.func<@loop_body, {}>, cond = #tf_type.func<@loop_cond, {}>
// CHECK-SAME: parallel_iterations = 7
// CHECK: Identity(%[[W]]#0) name("loop/Exit")
// CHECK-NOT: Enter
// CHECK: tfg.func @loop_cond(%[[I:.*]]: tensor<i32> {tfg.name = "enter"},
// CHECK-NEXT: %[[M:.*]]: tensor<i32>
// CHECK: %[[L:.*]], %{{.*}} = Less(%[[I]], %[[M]])
// CHECK: return(%[[L]])
// CHECK: tfg.func @loop_body(%[[I:.*]]: tensor<i32>
// CHECK-NEXT: %[[M:.*]]: tensor<i32>
// CHECK: %[[A:.*]], %[[AC:.*]] = AddV2(%[[I]], %[[M]])
// CHECK: %[[E:.*]] = NoOp [%[[AC]]]
// CHECK: %[[V:.*]], %{{.*}} = Identity(%[[A]]) [%[[E]]] name("next")
// CHECK: return(%[[V]], %[[M]])
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %init = NoOp name("init")
  %enter, %enterc = Enter(%x) [%init] name("enter") {T = i32, frame_name = "loop/context", is_constant = false, parallel_iterations = 7 : i64} : (tensor<i32>) -> (tensor<i32>)
  %limit, %limitc = Enter(%n) name("limit") {T = i32, frame_name = "loop/context", is_constant = true, parallel_iterations = 7 : i64} : (tensor<i32>) -> (tensor<i32>)
  %m:2, %mc = Merge(%enter, %next) name("merge") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %less, %lessc = Less(%m#0, %limit) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %cond, %condc = LoopCond(%less) name("cond") : (tensor<i1>) -> (tensor<i1>)
  %s:2, %sc = Switch(%m#0, %cond) name("switch") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %add, %addc = AddV2(%s#1, %limit) name("add") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %end = NoOp [%addc] name("end")
  %next, %nextc = NextIteration(%add) [%end] name("next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %exitc = Exit(%s#0) name("loop/Exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
