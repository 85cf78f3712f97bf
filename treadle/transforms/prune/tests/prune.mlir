// RUN: treadle-opt "--tfg-prune=fetches=y:0 feeds=x:0" %s | FileCheck %s
// RUN: treadle-opt "--tfg-prune=fetches=y keep-effects functions=false" %s | FileCheck %s --check-prefix=EFFECTS
// RUN: treadle-opt --tfg-prune %s | FileCheck %s --check-prefix=WHOLE
// RUN: not treadle-opt "--tfg-prune=fetches=yy" %s 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: fetch 'yy': the graph has no node 'yy' (did you mean

// CHECK-LABEL: tfg.graph
// CHECK-NEXT: Const name("wait")
// CHECK-NEXT: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK-NEXT: PartitionedCall(%[[X]]) [%{{.*}}] name("y")
// CHECK-NEXT: {{^ *}$}}
// EFFECTS-LABEL: tfg.graph
// EFFECTS: name("a")
// EFFECTS: Neg
// EFFECTS: PartitionedCall
// EFFECTS-NOT: name("z")
// EFFECTS: PrintV2
// EFFECTS: tfg.func @unused
// WHOLE: Neg
// WHOLE: name("z")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %w, %wc = Const name("wait") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %a, %ac = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %x, %xc = Neg(%a) name("x") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y, %yc = PartitionedCall(%x) [%wc] name("y") {Tin = [f32], Tout = [f32], f = #tf_type.func<@f, {}>} : (tensor<f32>) -> (tensor<f32>)
  %z, %zc = Abs(%a) name("z") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %s, %sc = Const name("s") {dtype = !tf_type.string, value = dense<"hi"> : tensor<!tf_type.string>} : () -> (tensor<!tf_type.string>)
  %p = PrintV2(%s) name("p") : (tensor<!tf_type.string>) -> ()
}

// Unused reads of variables are removed, writes stay.
// CHECK-LABEL: tfg.func @f
// CHECK-NOT: name("dead")
// CHECK-NOT: name("read")
// CHECK: AssignVariableOp
// CHECK: name("live")
tfg.func @f(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "r"}) {
  %d, %dc = Neg(%x) name("dead") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %v, %vc = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>} : () -> (tensor<!tf_type.resource>)
  %r, %rc = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  %i, %ic = Const name("i") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %g, %gc = ResourceGather(%v, %i) name("gather") {Tindices = i32, batch_dims = 0 : i64, dtype = f32, validate_indices = true} : (tensor<!tf_type.resource>, tensor<i32>) -> (tensor<f32>)
  %as = AssignVariableOp(%v, %x) name("assign") {dtype = f32} : (tensor<!tf_type.resource>, tensor<f32>) -> ()
  %l, %lc = Abs(%x) name("live") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%l) : tensor<f32>
}
// CHECK-NOT: @unused
tfg.func @unused(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "r"}) {
  return(%x) : tensor<f32>
}
