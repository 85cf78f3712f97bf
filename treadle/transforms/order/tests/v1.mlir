// RUN: treadle-opt %s --tfg-order=graph=true --verify-diagnostics | FileCheck %s
// RUN: treadle-opt %s --tfg-order | FileCheck %s

// A node that waits for a node of a branch that isn't taken would be dead as well.
// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %v, %c = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %p, %c_p = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %c_x = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // expected-remark @below {{node 'switch' (Switch) is v1 control flow, so this body isn't ordered; run tfg-v1-to-functional first}}
  %s:2, %c_s = Switch(%x, %p) name("switch") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  // CHECK: AssignVariableOp(%{{[^)]*}}) name("assign_1")
  %a1 = AssignVariableOp(%v, %s#0) name("assign_1") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
  // CHECK: AssignVariableOp(%{{[^)]*}}) name("assign_2")
  %a2 = AssignVariableOp(%v, %x) name("assign_2") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
}
