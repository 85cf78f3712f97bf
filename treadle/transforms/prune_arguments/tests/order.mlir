// RUN: treadle-opt --tfg-prune-arguments %s | FileCheck %s

// A node that waited for the If only through data waits for the If's operands: the first assignment
// comes first.
// CHECK: %[[FIRST:.*]] = AssignVariableOp({{.*}}) name("first")
// CHECK: Const [%[[FIRST]]] name("zero")
// CHECK: %{{.*}}, %[[LESS:.*]] = Less({{.*}}) name("less")
// CHECK: AssignAddVariableOp(%{{.*}}, %{{.*}}) [%[[LESS]]] name("second")

// A removed argument still orders its users.
// CHECK: %{{.*}}, %[[LATE:.*]] = Const [%[[FIRST]]] name("late")
// CHECK: %{{.*}}, %{{.*}} = StatelessIf({{.*}}) [%[[LATE]]] name("drop")
// CHECK: AssignAddVariableOp({{.*}}) name("third")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %v, %vc = VarHandleOp name("v") {container = "", dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %first = AssignVariableOp(%v, %x) name("first") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %zero, %zc = Const [%first] name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %less, %lc = Less(%zero, %x) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %y, %yc = StatelessIf(%less, %x) name("if") {Tcond = i1, Tin = [i32], Tout = [i32], else_branch = #tf_type.func<@same, {}>, output_shapes = [], then_branch = #tf_type.func<@same, {}>} : (tensor<i1>, tensor<i32>) -> (tensor<i32>)
  %second = AssignAddVariableOp(%v, %y) name("second") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  %late, %ec = Const [%first] name("late") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %z, %dc = StatelessIf(%p, %x, %late) name("drop") {Tcond = i1, Tin = [i32, i32], Tout = [i32], else_branch = #tf_type.func<@double, {}>, output_shapes = [], then_branch = #tf_type.func<@square, {}>} : (tensor<i1>, tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %third = AssignAddVariableOp(%v, %z) name("third") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
}
tfg.func @same(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  return(%x) : tensor<i32>
}
tfg.func @double(%x: tensor<i32> {tfg.name = "x"}, %late: tensor<i32> {tfg.name = "late"}) -> (tensor<i32> {tfg.name = "y"}) {
  %y, %yc = AddV2(%x, %x) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%y) : tensor<i32>
}
tfg.func @square(%x: tensor<i32> {tfg.name = "x"}, %late: tensor<i32> {tfg.name = "late"}) -> (tensor<i32> {tfg.name = "y"}) {
  %y, %yc = Mul(%x, %x) name("product") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%y) : tensor<i32>
}
