// RUN: treadle-opt --tfg-functional-to-region %s | FileCheck %s

// Branches use the operands directly; tokens of arguments become tokens of the values.
tfg.func @then(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"})
     -> (tensor<f32> {tfg.name = "r"}) attributes {is_stateful} {
  %Neg, %ctl = Neg(%a) [%b.ctl] name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%Neg) [%ctl {tfg.name = "n"}] : tensor<f32>
}
tfg.func @else(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"})
     -> (tensor<f32> {tfg.name = "r"}) {
  return(%a) : tensor<f32>
}

// The functions stay.
// CHECK: tfg.func @then
// CHECK: tfg.func @else

// CHECK: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  // CHECK: %[[P:.*]], %{{.*}} = Placeholder name("p")
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  // CHECK: %[[X:.*]]:2, %[[CX:.*]] = Split
  %x:2, %cx = Split name("x") : () -> (tensor<f32>, tensor<f32>)
  // CHECK: %[[IF:.*]], %{{.*}} = IfRegion %[[P]] [%[[CX]]] then {
  // CHECK-NEXT: %[[NEG:.*]], %[[CN:.*]] = Neg(%[[X]]#1) [%[[CX]]] name("n")
  // CHECK-NEXT: yield(%[[NEG]]) [%[[CN]]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: yield(%[[X]]#1)
  // CHECK-NEXT: } {_mine = 3 : i64, _mlir_device = "/CPU:0", _mlir_name = "if", _operands = ["x:1", "x"],
  // CHECK-SAME: else_attrs = {},
  // CHECK-SAME: else_region_attrs = #tfg.region_attrs<{sym_name = "else"} [] [{tfg.name = "r"}]>,
  // CHECK-SAME: then_attrs = {config = "c"},
  // CHECK-SAME: then_region_attrs = #tfg.region_attrs<{is_stateful, sym_name = "then"} [] [{tfg.name = "r"}]>}
  // CHECK-SAME: : (tensor<i1>) -> tensor<f32>
  %If, %ctl = If(%p, %x#1, %x#0) [%cx] device("/CPU:0") name("if")
      {Tcond = i1, Tin = [f32, f32], Tout = [f32], _mine = 3 : i64,
       else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@then, {config = "c"}>}
      : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
  // CHECK: Abs(%[[IF]])
  %Abs, %ca = Abs(%If) name("abs") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
