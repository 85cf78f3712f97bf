// The condition's side effects wait for the body's, and its result and the body wait for them.
// RUN: treadle-opt --tfg-deps-to-chains %s | FileCheck %s

// CHECK-LABEL: tfg.func @cond(%i: tensor<i32>
// CHECK-SAME: {tfg.name = "i"}, 
// CHECK-NEXT: %[[CHAIN:.*]]: tensor<f32> {tfg.name = "chain"})
// CHECK: %[[SAY:.*]] = PrintV2(%{{.*}}) [%[[CHAIN]].ctl] name("say")
// CHECK: %[[LESS:.*]], %{{.*}} = Less
// CHECK: %[[HELD:.*]], %{{.*}} = Identity(%[[LESS]]) [%[[SAY]]] name("predicate") {T = i1}
// CHECK: return(%[[HELD]]) : tensor<i1>
// CHECK-LABEL: tfg.func @body(
// CHECK: %[[CHAIN:.*]]: tensor<f32> {tfg.name = "chain"})
// CHECK: %[[SAY:.*]] = PrintV2(%{{[^)]*}}) name("say")
// CHECK: %[[AGAIN:.*]] = PrintV2(%{{.*}}) [%[[SAY]]] name("again")
// CHECK: Identity(%[[CHAIN]]) [%[[AGAIN]]] name("chain/next")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w, %1 = While(%zero) name("while") {T = [i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>) -> (tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i1> {tfg.name = "more"}) {
  %text, %0 = Const name("text") {dtype = !tf_type.string, value = dense<"a"> : tensor<!tf_type.string>} : () -> (tensor<!tf_type.string>)
  %say = PrintV2(%text) name("say") {end = "", output_stream = "stderr"} : tensor<!tf_type.string>
  %less, %1 = Less(%i, %i) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i32> {tfg.name = "r"}) {
  %text, %0 = Const name("text") {dtype = !tf_type.string, value = dense<"a"> : tensor<!tf_type.string>} : () -> (tensor<!tf_type.string>)
  %say = PrintV2(%text) name("say") {end = "", output_stream = "stderr"} : tensor<!tf_type.string>
  %again = PrintV2(%text) name("again") {end = "", output_stream = "stderr"} : tensor<!tf_type.string>
  %next, %1 = AddV2(%i, %i) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%next) : tensor<i32>
}
