// Regions stay regions, and no functions are left over.
// RUN: treadle-opt --tfg-functional-to-region %s | treadle-opt --tfg-deps-to-chains | FileCheck %s

// CHECK: %{{.*}}:2, %{{.*}} = WhileRegion(%{{.*}}, %{{.*}}) {
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[CHAIN:.*]]: tensor<f32>, %{{.*}}: !tf_type.control, %[[TOKEN:.*]]: !tf_type.control):
// CHECK: %[[SAY:.*]] = PrintV2(%{{.*}}) [%[[TOKEN]]] name("say")
// CHECK: Identity(%{{.*}}) [%[[SAY]]] name("predicate")
// CHECK: } do {
// CHECK: %[[AGAIN:.*]] = PrintV2(%{{.*}}) [%{{.*}}] name("again")
// CHECK: Identity(%{{.*}}) [%[[AGAIN]]] name("chain/next")
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
