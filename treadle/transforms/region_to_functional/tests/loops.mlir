// RUN: treadle-opt --tfg-region-to-functional %s | FileCheck %s

// A value that a loop's regions use from outside becomes a loop-invariant variable.
// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %i, %ci = Placeholder name("i") {dtype = i32} : () -> (tensor<i32>)
  %n, %cn = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  // CHECK: %[[W:.*]]:2, %[[CW:.*]] = While(%[[I:.*]], %[[N:.*]]) name("w")
  // CHECK-SAME: {T = [i32, i32], body = #tf_type.func<@w_body, {}>, cond = #tf_type.func<@w_cond, {}>, parallel_iterations = 7 : i64}
  %w, %cw = WhileRegion(%i) {
  ^bb0(%a: tensor<i32>, %ac: !tf_type.control):
    %less, %cl = Less(%a, %n) [%ac] name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    condition %less : tensor<i1> (%a) : tensor<i32>
  } do {
  ^bb0(%a: tensor<i32>, %ac: !tf_type.control):
    // An inner loop uses a value from outside of both loops.
    %inner, %cin = ForRegion(%a) from %a to %n by %n {
    ^bb0(%k: tensor<i32>, %b: tensor<i32>, %kc: !tf_type.control, %bc: !tf_type.control):
      %add, %ca = AddV2(%b, %n) [%kc] name("add") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
      yield(%add) [%bc] : tensor<i32>
    } {_mlir_name = "inner"} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>)
    yield(%inner) [%ac] : tensor<i32>
  } {_mlir_name = "w", parallel_iterations = 7 : i64} : (tensor<i32>) -> tensor<i32>
  // CHECK: Neg(%[[W]]#0) [%[[CW]]]
  %neg, %cneg = Neg(%w) [%cw] name("neg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}

// CHECK: tfg.func @inner_body(%arg0: tensor<i32> {tfg.name = "arg0"},
// CHECK: %[[ADD:.*]], %{{.*}} = AddV2(%arg1, %arg2) [%arg0.ctl]
// CHECK: return(%[[ADD]], %arg2) [%arg1.ctl {tfg.name = "arg"}]
// CHECK: tfg.func @w_cond
// CHECK: Less(%arg0, %arg1) [%arg0.ctl]
// CHECK: tfg.func @w_body
// CHECK: %[[F:.*]]:2, %{{.*}} = For(%arg0, %arg1, %arg1, %arg0, %arg1) name("inner")
// CHECK: return(%[[F]]#0, %arg1) [%arg0.ctl
