// RUN: treadle-opt --tfg-constant-folding %s | FileCheck %s

// Nodes in regions fold, also with constants from outside; a node with regions stays.
// CHECK-LABEL: tfg.func @f
tfg.func @f(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32>) {
  // CHECK: %[[C:.*]], %[[CC:.*]] = Const name("c")
  %c, %cc = Const name("c") {dtype = f32, value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %id, %cid = Identity(%x) name("id") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  // CHECK: %[[I:.*]], %{{.*}} = IfRegion
  // CHECK-NEXT: %[[D:.*]], %[[CD:.*]] = Const name("d") {dtype = f32, value = dense<4.000000e+00> : tensor<f32>}
  // CHECK-NEXT: yield(%[[D]]) [%[[CD]]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: NoOp
  // CHECK-NEXT: yield(%x) [%x.ctl]
  %i, %ci = IfRegion %p then {
    %d, %cd = Mul(%c, %c) name("d") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    yield(%d) [%cd] : tensor<f32>
  } else {
    %no = NoOp [%cid] name("no")
    yield(%id) [%no] : tensor<f32>
  } {_mlir_name = "i"} : (tensor<i1>) -> tensor<f32>
  // CHECK: return(%[[I]])
  return(%i) : tensor<f32>
}

// CHECK-LABEL: tfg.func @loop
tfg.func @loop(%n: tensor<i32> {tfg.name = "n"}) -> (tensor<i32>) {
  // CHECK: WhileRegion(%n)
  // CHECK-NEXT: ^bb0(%[[V:.*]]: tensor<i32>, %[[VC:.*]]: !tf_type.control)
  // CHECK-NEXT: Const [%[[VC]]]
  %w, %cw = WhileRegion(%n) {
  ^bb0(%v: tensor<i32>, %vc: !tf_type.control):
    %one, %c1 = Const [%vc] name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
    %less, %cl = Less(%v, %one) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    condition %less : tensor<i1> (%v) : tensor<i32>
  } do {
  ^bb0(%v: tensor<i32>, %vc: !tf_type.control):
    // CHECK: ^bb0(%[[V:.*]]: tensor<i32>, %[[VC:.*]]: !tf_type.control)
    // CHECK: yield(%[[V]]) [%[[VC]]]
    %id, %cid = Identity(%v) name("id") {T = i32} : (tensor<i32>) -> (tensor<i32>)
    yield(%id) [%cid] : tensor<i32>
  } {_mlir_name = "w", parallel_iterations = 1 : i64} : (tensor<i32>) -> tensor<i32>
  return(%w) : tensor<i32>
}
