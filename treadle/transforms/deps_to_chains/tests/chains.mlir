// A variable whose handle is a loop variable is its own chain; one that the body creates a handle
// to gets a chain; one that is only read gets none.
// RUN: treadle-opt --tfg-deps-to-chains %s | FileCheck %s

// CHECK: %[[INIT:.*]], %{{.*}} = Const [%{{.*}}] name("while/chain") {dtype = f32, value = dense<0.000000e+00> : tensor<f32>}
// CHECK: %[[W:.*]]:3, %{{.*}} = While(%{{.*}}, %{{.*}}, %[[INIT]]) name("while") {T = [i32, !tf_type.resource, f32]
// CHECK: ReadVariableOp(%{{.*}}) [%{{.*}}] name("after")
// CHECK-LABEL: tfg.func @cond
// CHECK: %{{.*}}: tensor<f32> {tfg.name = "chain"})
// CHECK-LABEL: tfg.func @body
// CHECK: %[[NAMED:.*]], %{{.*}} = VarHandleOp name("named")
// CHECK: %[[ADD:.*]] = AssignAddVariableOp(%{{.*}}, %{{.*}}) name("add")
// CHECK: %[[WRITE:.*]] = AssignVariableOp(%[[NAMED]], %{{.*}}) [%{{.*}}.ctl] name("write")
// CHECK: %{{.*}}, %{{.*}} = ReadVariableOp(%{{.*}}) name("read_only")
// CHECK-NOT: NoOp
// CHECK: %[[NEXT:.*]], %{{.*}} = AddV2
// CHECK: %[[R:.*]], %{{.*}} = Identity(%[[NEXT]]) name("r")
// CHECK: %[[V:.*]], %{{.*}} = Identity(%{{.*}}) [%[[ADD]]] name("v/next") {T = !tf_type.resource}
// CHECK: %[[CHAIN:.*]], %{{.*}} = Identity(%{{.*}}) [%[[WRITE]]] name("chain/next") {T = f32}
// CHECK: return(%[[R]], %[[V]], %[[CHAIN]]) :
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %v, %1 = VarHandleOp name("v") {dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %w:2, %2 = While(%zero, %v) name("while") {T = [i32, !tf_type.resource], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, parallel_iterations = 10} : (tensor<i32>, tensor<!tf_type.resource>) -> (tensor<i32>, tensor<!tf_type.resource>)
  %after, %3 = ReadVariableOp(%v) [%2] name("after") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i1> {tfg.name = "more"}) {
  %less, %0 = Less(%i, %i) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i32> {tfg.name = "r"}, tensor<!tf_type.resource> {tfg.name = "v_out"}) {
  %named, %0 = VarHandleOp name("named") {dtype = i32, shape = #tf_type.shape<>, shared_name = "named"} : () -> (tensor<!tf_type.resource>)
  %other, %1 = VarHandleOp name("other") {dtype = i32, shape = #tf_type.shape<>, shared_name = "other"} : () -> (tensor<!tf_type.resource>)
  %add = AssignAddVariableOp(%v, %i) name("add") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  %write = AssignVariableOp(%named, %i) name("write") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  %read, %2 = ReadVariableOp(%other) name("read_only") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %next, %3 = AddV2(%i, %read) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %done = NoOp [%add, %write, %2] name("done")
  %r, %4 = Identity(%next) [%done] name("r") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%r, %v) [%add {tfg.name = "add"}, %write {tfg.name = "write"}] : tensor<i32>, tensor<!tf_type.resource>
}
