// RUN: treadle-opt --tfg-functional-to-region %s | FileCheck %s

// Entries of `_operands` that name no value are ignored.

// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  // CHECK: _mlir_name = "inner", _operands = ["", "x"]
  // CHECK: _mlir_name = "outer", _operands = ["x", "p"]
  %y, %cy = If(%p, %x, %p) name("outer") {Tcond = i1, Tin = [f32, i1], Tout = [f32], else_branch = #tf_type.func<@branch, {}>, then_branch = #tf_type.func<@branch, {}>} : (tensor<i1>, tensor<f32>, tensor<i1>) -> (tensor<f32>)
}
tfg.func @branch(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<i1> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "r"}) {
  %r, %rc = IfRegion %b then {
    yield(%a) : tensor<f32>
  } else {
    yield(%a) : tensor<f32>
  } {_mlir_name = "inner", _operands = [1 : i64, "a"]} : (tensor<i1>) -> tensor<f32>
  return(%r) : tensor<f32>
}
