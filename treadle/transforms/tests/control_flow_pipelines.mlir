// RUN: treadle-opt "--tfg-structured=fetches=exit:0 feeds=x:0,n:0" %s | FileCheck %s
// RUN: treadle-opt --tfg-structured %s | FileCheck %s --check-prefix=WHOLE
// RUN: treadle-opt "--tfg-structured=fetches=exit:0 feeds=x:0,n:0" --tfg-frames %s | FileCheck %s --check-prefix=FRAMES

// The count of iterations and the value of `idle` are dead.
// CHECK-LABEL: tfg.graph
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK: %[[N:.*]], %{{.*}} = Placeholder name("n")
// CHECK-NOT: name("zero")
// CHECK: %[[W:.*]]:2, %{{.*}} = StatelessWhile(%[[X]], %[[N]]) name("loop") {T = [i32, i32],
// CHECK-NEXT: Identity(%[[W]]#0) name("exit")
// WHOLE: StatelessWhile(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) name("loop")
// FRAMES: LoopCond
// FRAMES: IdentityN({{.*}}) name("loop")
// FRAMES-NEXT: Identity({{.*}}) name("exit")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %ex, %exc = Enter(%x) name("enter") {T = i32, frame_name = "loop/context", is_constant = false, parallel_iterations = 7 : i64} : (tensor<i32>) -> (tensor<i32>)
  %ek, %ekc = Enter(%zero) name("enter_count") {T = i32, frame_name = "loop/context", is_constant = false, parallel_iterations = 7 : i64} : (tensor<i32>) -> (tensor<i32>)
  %limit, %limitc = Enter(%n) name("limit") {T = i32, frame_name = "loop/context", is_constant = true, parallel_iterations = 7 : i64} : (tensor<i32>) -> (tensor<i32>)
  %idle, %idlec = Enter(%zero) name("idle") {T = i32, frame_name = "loop/context", is_constant = true, parallel_iterations = 7 : i64} : (tensor<i32>) -> (tensor<i32>)
  %m:2, %mc = Merge(%ex, %next) name("merge") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %k:2, %kc = Merge(%ek, %nextk) name("merge_count") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %less, %lessc = Less(%m#0, %limit) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %cond, %condc = LoopCond(%less) name("cond") : (tensor<i1>) -> (tensor<i1>)
  %s:2, %sc = Switch(%m#0, %cond) name("switch") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %t:2, %tc = Switch(%k#0, %cond) name("switch_count") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %add, %addc = AddV2(%s#1, %limit) name("add") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %addk, %addkc = AddV2(%t#1, %idle) name("add_count") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %next, %nextc = NextIteration(%add) name("next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %nextk, %nextkc = NextIteration(%addk) name("next_count") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %exitc = Exit(%s#0) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exitk, %exitkc = Exit(%t#0) name("exit_count") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
