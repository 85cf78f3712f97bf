// A variable that is only read gets no chain although a barrier waits for the reads: the read value
// flows into the sum, whose final value waits for it. The value that the last iteration replaces
// doesn't flow into a result, so its read gets a chain.
// RUN: treadle-opt --tfg-deps-to-chains --split-input-file %s | FileCheck %s

// CHECK: While(%{{.*}}, %{{.*}}) name("while") {T = [i32, i32],
// CHECK-LABEL: tfg.func @body(
// CHECK: %[[READ:.*]], %{{.*}} = ReadVariableOp
// CHECK-NEXT: %[[SUM:.*]], %{{.*}} = AddV2(%{{.*}}, %[[READ]]) name("sum")
// CHECK-NOT: NoOp
// CHECK-NOT: chain
// CHECK: return
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w:2, %1 = While(%zero, %zero) name("while") {T = [i32, i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<i32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "more"}) {
  %less, %0 = Less(%i, %i) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "i_out"}, tensor<i32> {tfg.name = "x_out"}) {
  %v, %0 = VarHandleOp name("v") {dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %read, %1 = ReadVariableOp(%v) name("read") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %sum, %2 = AddV2(%x, %read) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %next, %3 = AddV2(%i, %i) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %done = NoOp [%1] name("done")
  %next_out, %4 = Identity(%next) [%done] name("next_out") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %sum_out, %5 = Identity(%sum) [%done] name("sum_out") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%next_out, %sum_out) [%1 {tfg.name = "read"}] : tensor<i32>, tensor<i32>
}

// -----

// CHECK: While(%{{.*}}, %{{.*}}, %{{.*}}) name("while") {T = [i32, i32, f32],
// CHECK-LABEL: tfg.func @body(
// CHECK: %[[READ:.*]], %[[READC:.*]] = ReadVariableOp
// CHECK: Identity(%chain) [%[[READC]]] name("chain/next")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w:2, %1 = While(%zero, %zero) name("while") {T = [i32, i32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<i32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "more"}) {
  %less, %0 = Less(%i, %i) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "i_out"}, tensor<i32> {tfg.name = "x_out"}) {
  %v, %0 = VarHandleOp name("v") {dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %read, %1 = ReadVariableOp(%v) name("read") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %next, %2 = AddV2(%i, %i) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%next, %read) [%1 {tfg.name = "read"}] : tensor<i32>, tensor<i32>
}
