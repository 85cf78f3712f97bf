// RUN: treadle-opt --tfg-inline %s | FileCheck %s

// Users of the result wait for the assignment, which nothing else in the graph needs.
// CHECK-LABEL: tfg.graph
// CHECK: %[[A:.*]] = AssignVariableOp({{.*}}) [%[[INIT:.*]]] name("set/assign")
// CHECK: %[[N:.*]], %{{.*}} = Neg({{.*}}) [%[[INIT]]] name("set/n")
// CHECK: %{{.*}}, %[[SET:.*]] = Identity(%[[N]]) [%[[A]]] name("set")
// CHECK: NoOp [%[[SET]]] name("after")
// No edge is needed for a side effect that the result depends on; several results become an
// IdentityN.
// CHECK: %[[R:.*]], %{{.*}} = ReadVariableOp({{.*}}) [%{{.*}}] name("get/r")
// CHECK: IdentityN(%[[R]], %{{.*}}) [%{{.*}}] name("get") {T = [f32, !tf_type.resource]}
// CHECK: Neg(%[[R]]) name("use")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %v, %vc = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %init = NoOp name("init")
  %y, %yc = StatefulPartitionedCall(%v, %x) [%init] name("set") {f = #tf_type.func<@set, {}>} : (tensor<!tf_type.resource>, tensor<f32>) -> (tensor<f32>)
  %after = NoOp [%yc] name("after")
  %g:2, %gc = get(%v) [%after] name("get") : (tensor<!tf_type.resource>) -> (tensor<f32>, tensor<!tf_type.resource>)
  %u, %uc = Neg(%g#0) name("use") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
tfg.func @set(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %a = AssignVariableOp(%v, %x) name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
  %n, %nc = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n) : tensor<f32>
}
tfg.func @get(%v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "y"}, tensor<!tf_type.resource> {tfg.name = "w"}) {
  %r, %rc = ReadVariableOp(%v) name("r") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  return(%r, %v) : tensor<f32>, tensor<!tf_type.resource>
}

// In a function no name has to stay, and a result that must wait gets a node of its own. Control
// users of the call also wait for unused inputs.
// CHECK-LABEL: tfg.func @caller
// CHECK: %[[Q:.*]], %[[QC:.*]] = Neg({{.*}}) name("q")
// CHECK: %[[A:.*]] = AssignVariableOp({{.*}}) name("set/assign")
// CHECK: %[[N:.*]], %{{.*}} = Neg({{.*}}) name("set/n")
// CHECK: %[[Y:.*]], %[[YC:.*]] = Identity(%[[N]]) [%[[A]]] name("set/y")
// CHECK: %[[K:.*]], %[[KC:.*]] = Const name("unused/k")
// CHECK: NoOp [%[[KC]], %[[QC]]] name("after")
// CHECK: return(%[[Y]], %[[K]]) [%[[A]] {tfg.name = "done"}, %[[YC]]]
tfg.func @caller(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}, tensor<f32> {tfg.name = "z"}) {
  %q, %qc = Neg(%x) name("q") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y, %yc = set(%v, %x) name("set") : (tensor<!tf_type.resource>, tensor<f32>) -> (tensor<f32>)
  %z, %zc = constant(%q) name("unused") : (tensor<f32>) -> (tensor<f32>)
  %after = NoOp [%zc] name("after")
  return(%y, %z) [%yc {tfg.name = "done"} ] : tensor<f32>, tensor<f32>
}
tfg.func @constant(%q: tensor<f32> {tfg.name = "q"}) -> (tensor<f32> {tfg.name = "k"}) {
  %k, %kc = Const name("k") {dtype = f32, value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  return(%k) : tensor<f32>
}

// Nodes with side effects wait for all dependencies of the call's inputs, whether they use them or
// not.
// CHECK-LABEL: tfg.func @ordered
// CHECK: %[[READ:.*]], %[[RC:.*]] = ReadVariableOp({{.*}}) name("read")
// CHECK: AssignVariableOp({{.*}}) [%[[RC]]] name("second/assign")
// CHECK: Neg(%[[READ]]) name("second/n")
tfg.func @ordered(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %read, %rc = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  %y, %yc = third(%v, %x, %read) name("second") : (tensor<!tf_type.resource>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  return(%y) : tensor<f32>
}
tfg.func @third(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<f32> {tfg.name = "x"}, %z: tensor<f32> {tfg.name = "z"}) -> (tensor<f32> {tfg.name = "y"}) {
  %a = AssignVariableOp(%v, %x) name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
  %n, %nc = Neg(%z) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n) : tensor<f32>
}
