// RUN: treadle-opt --tfg-functional-to-v1=dissolving=true %s | FileCheck %s
// RUN: treadle-opt --tfg-functional-to-v1=dissolving=true --tfg-inline=dissolving=true %s | FileCheck %s --check-prefix=INLINED

// Nodes without `_lower_using_switch_merge` stay, and so do nodes of called functions.
// CHECK: PartitionedCall({{.*}} name("if/branch_1") {{.*}}f = #tf_type.func<@then, {}>
// CHECK: IdentityN({{.*}} name("if")
// CHECK: StatelessIf({{.*}}) name("stays")
// CHECK: PartitionedCall({{.*}}) name("call")
// CHECK: tfg.func @then
// CHECK: Merge({{.*}}) name("inner/Merge_0")
// CHECK: tfg.func @called
// CHECK: StatelessIf({{.*}}) name("inner")

// INLINED: Neg({{.*}} name("if/branch_1/inner/branch_1/n")
// INLINED: StatelessIf({{.*}}) name("stays")
// INLINED: PartitionedCall({{.*}}) name("call")
// INLINED: tfg.func @called
// INLINED: StatelessIf({{.*}}) name("inner")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %p, %0 = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %1 = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %a, %2 = StatelessIf(%p, %p, %x) name("if") {Tcond = i1, Tin = [i1, f32], Tout = [f32], _lower_using_switch_merge = true, else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@then, {}>} : (tensor<i1>, tensor<i1>, tensor<f32>) -> (tensor<f32>)
  %b, %3 = StatelessIf(%p, %p, %x) name("stays") {Tcond = i1, Tin = [i1, f32], Tout = [f32], else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@else, {}>} : (tensor<i1>, tensor<i1>, tensor<f32>) -> (tensor<f32>)
  %c, %4 = PartitionedCall(%p, %x) name("call") {Tin = [i1, f32], Tout = [f32], config = "", config_proto = "", executor_type = "", f = #tf_type.func<@called, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
}
tfg.func @then(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %y, %0 = StatelessIf(%p, %p, %x) name("inner") {Tcond = i1, Tin = [i1, f32], Tout = [f32], _lower_using_switch_merge = true, else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@else, {}>} : (tensor<i1>, tensor<i1>, tensor<f32>) -> (tensor<f32>)
  return(%y) : tensor<f32>
}
tfg.func @called(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %y, %0 = StatelessIf(%p, %p, %x) name("inner") {Tcond = i1, Tin = [i1, f32], Tout = [f32], _lower_using_switch_merge = true, else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@else, {}>} : (tensor<i1>, tensor<i1>, tensor<f32>) -> (tensor<f32>)
  return(%y) : tensor<f32>
}
tfg.func @else(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %n, %0 = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n) : tensor<f32>
}
