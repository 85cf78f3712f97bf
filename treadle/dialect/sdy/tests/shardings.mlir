// RUN: treadle-opt %s | FileCheck %s

// CHECK: "sdy.mesh"() <{mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}], device_ids = array<i64>}, sym_name = "mesh"}>
sdy.mesh @mesh = <["x"=2, "y"=4]>

// CHECK-LABEL: @shardings
func.func @shardings(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: {dims = {{\[\[}}{axis = "x"}, {axis = "y"}], []], mesh = @mesh}
  %a = sdy.sharding_constraint %x <@mesh, [{"x", "y"}, {?}p1], replicated={}> : tensor<8x8xf32>
  // CHECK: {dims = {{\[\[}}], [{axis = "y", pre_size = 2 : i64, size = 2 : i64}]], mesh = @mesh, unreduced = [{axis = "x"}]}
  %b = sdy.reshard %a <@mesh, [{}, {"y":(2)2}], unreduced={"x"}> : tensor<8x8xf32>
  // CHECK: "sdy.manual_computation"
  // CHECK-SAME: in_shardings = [{dims = {{\[\[}}{axis = "x"}], []], mesh = @mesh}], manual_axes = [{axis = "x"}]
  %c = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<4x8xf32>) {
    %n = stablehlo.negate %p : tensor<4x8xf32>
    sdy.return %n : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: "sdy.sharding_constraint"(%{{.*}}) <{sharding = {dims = {{\[\[}}{axis = "x"}], []], mesh = @mesh}}>
  %d = "sdy.sharding_constraint"(%c) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %d : tensor<8x8xf32>
}
