// RUN: treadle-opt --tfg-cf-sink-functional="fetches=i,j" %s | FileCheck %s

// Arguments of branches are followed: the node moves into the function, whose arguments become the
// node's inputs. An unchanged function keeps its name.
// CHECK-NOT: tfg.func @then(
// CHECK: tfg.func @else(
tfg.func @then(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "r"}) {
  return(%a) : tensor<f32>
}
tfg.func @else(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "r"}) {
  return(%b) : tensor<f32>
}
// CHECK: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  // CHECK-NEXT: %[[P:.*]], %{{.*}} = Placeholder name("p")
  // CHECK-NEXT: %[[X:.*]], %{{.*}} = Placeholder name("x")
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = Placeholder name("y")
  // CHECK-NEXT: If(%[[P]], %[[Y]], %[[X]])
  // CHECK-SAME: else_branch = #tf_type.func<@else_1, {}>, then_branch = #tf_type.func<@then_1, {}>
  // CHECK-NEXT: If(%[[P]], %[[X]], %[[Y]])
  // CHECK-SAME: else_branch = #tf_type.func<@else, {}>
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %y, %cy = Placeholder name("y") {dtype = f32} : () -> (tensor<f32>)
  %n, %cn = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %i, %ci = If(%p, %n, %y) name("i") {Tcond = i1, Tin = [f32, f32], Tout = [f32],
      else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@then, {}>}
      : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %j, %cj = If(%p, %x, %y) name("j") {Tcond = i1, Tin = [f32, f32], Tout = [f32],
      else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@else, {}>}
      : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
}
// CHECK: tfg.func @then_1(%arg0: tensor<f32> {tfg.name = "arg0"},
// CHECK: Neg(%arg1)
