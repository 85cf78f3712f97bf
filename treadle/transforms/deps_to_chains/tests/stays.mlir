// Loops that don't change: with one parallel iteration, with `_stateful_parallelism` false, and all
// if the pass is off.
// RUN: treadle-opt --tfg-deps-to-chains %s | FileCheck %s
// RUN: treadle-opt --tfg-deps-to-chains="loop-overlap=on" %s | FileCheck %s --check-prefix=ON
// RUN: treadle-opt --tfg-deps-to-chains="loop-overlap=off" %s | FileCheck %s --check-prefix=OFF
// RUN: not treadle-opt --tfg-deps-to-chains="loop-overlap=maybe" %s 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: option loop-overlap: loop overlap is 'maybe', expected 'auto', 'on' or 'off'
// CHECK: While(%{{.*}}) name("one_by_one") {T = [i32], body = #tf_type.func<@body, {}>
// CHECK: While(%{{.*}}) name("annotated") {T = [i32], _stateful_parallelism = false, body = #tf_type.func<@body, {}>
// The body has other users, so the loop gets a copy of it.
// CHECK: While(%{{.*}}, %{{.*}}) name("free") {T = [i32, f32], body = #tf_type.func<@body_{{[0-9]+}}, {}>
// CHECK: tfg.func @body(
// CHECK-NEXT: -> (tensor<i32>
// ON: name("annotated") {T = [i32, f32]
// OFF-NOT: chain
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %a, %1 = While(%zero) name("one_by_one") {T = [i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, parallel_iterations = 1} : (tensor<i32>) -> (tensor<i32>)
  %b, %2 = While(%zero) name("annotated") {T = [i32], _stateful_parallelism = false, body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>) -> (tensor<i32>)
  %c, %3 = While(%zero) name("free") {T = [i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>) -> (tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i1> {tfg.name = "more"}) {
  %less, %0 = Less(%i, %i) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i32> {tfg.name = "r"}) {
  %v, %0 = VarHandleOp name("v") {dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %add = AssignAddVariableOp(%v, %i) name("add") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  %next, %1 = AddV2(%i, %i) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%next) [%add {tfg.name = "add"}] : tensor<i32>
}
