// RUN: treadle convert %s %t.mlir && FileCheck %s < %t.mlir

// A converted program: a graph of its main function, with the loop outlined into a function that
// takes captured values as arguments.

// CHECK-LABEL: tfg.graph
// CHECK-SAME: inputs = "arg0,arg1", name = "main", outputs = "result:0"
// CHECK: %[[LIMIT:.*]], %{{.*}} = Placeholder name("arg0")
// CHECK: %[[STEP:.*]], %{{.*}} = Placeholder name("arg1")
// CHECK: StatelessWhile(%{{.*}}, %[[LIMIT]], %[[STEP]]) name("while")
// CHECK: Identity(%{{.*}}) name("result")
func.func @main(%limit: tensor<i32>, %step: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = func.call @advance(%i, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
  return %r : tensor<i32>
}

// CHECK-LABEL: tfg.func @while_cond
// CHECK: Less(%arg0, %arg1)

// A small function is inlined into its caller.
// CHECK-LABEL: tfg.func @while_body
// CHECK: %[[NEXT:.*]], %{{.*}} = AddV2(%arg0, %arg2)
// CHECK: return(%[[NEXT]], %arg1, %arg2)
// CHECK-NOT: @advance
func.func private @advance(%i: tensor<i32>, %step: tensor<i32>) -> tensor<i32> {
  %next = stablehlo.add %i, %step : tensor<i32>
  return %next : tensor<i32>
}
