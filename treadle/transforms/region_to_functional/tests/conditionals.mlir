// RUN: treadle-opt --tfg-region-to-functional %s | FileCheck %s

// Captured values become arguments in the order of their first uses. The token of a captured value
// becomes its argument's token; any other token from outside becomes a control input of the op.
// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  // CHECK: %[[P:.*]], %{{.*}} = Placeholder name("p")
  // CHECK: %[[I:.*]], %{{.*}} = Placeholder name("i")
  // CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
  // CHECK: %[[Y:.*]], %{{.*}} = Placeholder name("y")
  // CHECK: %[[NO:.*]] = NoOp name("no")
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %i, %ci = Placeholder name("i") {dtype = i32} : () -> (tensor<i32>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %y, %cy = Placeholder name("y") {dtype = f32} : () -> (tensor<f32>)
  %no = NoOp name("no")
  // CHECK: %[[IF:.*]], %{{.*}} = If(%[[P]], %[[Y]], %[[X]]) [%[[NO]]] name("if")
  // CHECK-SAME: {Tcond = i1, Tin = [f32, f32], Tout = [f32], else_branch = #tf_type.func<@if_else_branch, {}>, then_branch = #tf_type.func<@if_then_branch, {}>}
  %if, %cif = StatefulIfRegion %p then {
    %n, %cn = Neg(%y) [%cx, %no] name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    yield(%n) [%cn] : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
  // The function has the name and attributes of the region's attributes, even if no such function
  // exists.
  // CHECK: StatelessCase(%[[I]], %[[IF]]) device("/CPU:0") name("case")
  // CHECK-SAME: branches = [#tf_type.func<@first, {a = 1 : i64}>, #tf_type.func<@case_branch1, {}>]
  %case, %cc = StatelessCaseRegion %i {
    yield(%if) : tensor<f32>
  }, {
    %n, %cn = Neg(%if) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    yield(%n) : tensor<f32>
  } {_mlir_name = "case", _mlir_device = "/CPU:0", branch_attrs = [{a = 1 : i64}, {}],
     region_attrs = [#tfg.region_attrs<{sym_name = "first", tf._mine} [] [{tfg.name = "res"}]>, #tfg.region_attrs<{} [] [{}]>]}
     : (tensor<i32>) -> tensor<f32>
}

// CHECK: tfg.func @if_then_branch(%arg0: tensor<f32> {tfg.name = "arg0"},
// CHECK-NEXT: %arg1: tensor<f32> {tfg.name = "arg1"})
// CHECK-NEXT: -> (tensor<f32> {tfg.name = "r0"})
// CHECK: Neg(%arg0) [%arg1.ctl] name("n")
// CHECK-NEXT: return(%{{.*}}) [%{{.*}} {tfg.name = "n"}]
// CHECK: tfg.func @if_else_branch
// CHECK: return(%arg1)
// CHECK: tfg.func @first(%arg0
// CHECK-NEXT: -> (tensor<f32> {tfg.name = "res"})
// CHECK-NEXT: attributes {tf._mine}
