// RUN: treadle-opt %s --tfg-order=graph=true --split-input-file | FileCheck %s

// A read waits for the last write; a write waits for the last write and the reads since.
// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %v, %c = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %w, %c_w = VarHandleOp name("w") {dtype = f32, shape = #tf_type.shape<>, shared_name = "w"} : () -> (tensor<!tf_type.resource>)
  %x, %c_x = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // CHECK: %{{.*}}, %[[R1C:.*]] = ReadVariableOp(%{{[^)]*}}) name("read_1")
  %r1, %c_r1 = ReadVariableOp(%v) name("read_1") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  // CHECK: %{{.*}}, %[[R2C:.*]] = ReadVariableOp(%{{[^)]*}}) name("read_2")
  %r2, %c_r2 = ReadVariableOp(%v) name("read_2") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  // CHECK: %[[A1:.*]] = AssignVariableOp(%{{[^)]*}}) [%[[R1C]], %[[R2C]]] name("assign_1")
  %a1 = AssignVariableOp(%v, %x) name("assign_1") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
  // Another variable.
  // CHECK: AssignVariableOp(%{{[^)]*}}) name("assign_w")
  %a_w = AssignVariableOp(%w, %x) name("assign_w") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
  // CHECK: ReadVariableOp(%{{[^)]*}}) [%[[A1]]] name("read_3")
  %r3, %c_r3 = ReadVariableOp(%v) name("read_3") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  // Already ordered by a data edge.
  // CHECK: AssignVariableOp(%{{[^)]*}}) name("assign_2")
  %a2 = AssignVariableOp(%v, %r3) name("assign_2") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
}

// -----

// Printing accesses the world: prints stay in order, and nothing else waits for them.
// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %s, %c_s = Placeholder name("s") {dtype = !tf_type.string} : () -> (tensor<!tf_type.string>)
  %v, %c = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  // CHECK: %[[P1:.*]] = PrintV2(%{{[^)]*}}) name("print_1")
  %p1 = PrintV2(%s) name("print_1") : tensor<!tf_type.string>
  // CHECK: ReadVariableOp(%{{[^)]*}}) name("read")
  %r, %c_r = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  // CHECK: PrintV2(%{{[^)]*}}) [%[[P1]]] name("print_2")
  %p2 = PrintV2(%s) name("print_2") : tensor<!tf_type.string>
}

// -----

// Functions and calls are ordered too: both calls write the argument's resource.
// CHECK-LABEL: tfg.func @set
tfg.func @set(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  // CHECK: %[[A:.*]] = AssignVariableOp(%[[V:.*]], %[[X:.*]]) name("assign")
  %a = AssignVariableOp(%v, %x) name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
  // CHECK: ReadVariableOp(%[[V]]) [%[[A]]] name("read")
  %r, %c = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %v, %c = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %w, %c_w = VarHandleOp name("w") {dtype = f32, shape = #tf_type.shape<>, shared_name = "w"} : () -> (tensor<!tf_type.resource>)
  %x, %c_x = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // CHECK: %{{.*}}, %[[C1:.*]] = StatefulPartitionedCall({{.*}}) name("call_1")
  %y1, %c_1 = StatefulPartitionedCall(%v, %x) name("call_1") {Tin = [!tf_type.resource, f32], Tout = [f32], f = #tf_type.func<@set, {}>} : (tensor<!tf_type.resource>, tensor<f32>) -> (tensor<f32>)
  // CHECK: StatefulPartitionedCall({{[^)]*}}) name("other")
  %y2, %c_2 = StatefulPartitionedCall(%w, %x) name("other") {Tin = [!tf_type.resource, f32], Tout = [f32], f = #tf_type.func<@set, {}>} : (tensor<!tf_type.resource>, tensor<f32>) -> (tensor<f32>)
  // CHECK: StatefulPartitionedCall({{[^)]*}}) [%[[C1]]] name("call_2")
  %y3, %c_3 = StatefulPartitionedCall(%v, %x) name("call_2") {Tin = [!tf_type.resource, f32], Tout = [f32], f = #tf_type.func<@set, {}>} : (tensor<!tf_type.resource>, tensor<f32>) -> (tensor<f32>)
}

// -----

// No result needs the assignment, but calls must run it.
// CHECK-LABEL: tfg.func @forget
tfg.func @forget(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  // CHECK: %[[R:.*]], %[[RC:.*]] = ReadVariableOp(%{{[^)]*}}) name("read")
  %r, %c = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  // CHECK: %[[A:.*]] = AssignVariableOp(%{{[^)]*}}) [%[[RC]]] name("assign")
  %a = AssignVariableOp(%v, %x) name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
  // CHECK: return(%[[R]]) [%[[A]] {tfg.name = "assign"}]
  return(%r) : tensor<f32>
}
