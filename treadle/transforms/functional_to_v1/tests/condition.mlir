// RUN: treadle-opt --tfg-functional-to-v1 --verify-diagnostics %s | FileCheck %s

// A frame's condition is a boolean scalar: other numbers are converted.
// CHECK: %[[N:.*]], %{{.*}} = PartitionedCall{{.*}} -> (tensor<i32>)
// CHECK: %[[B:.*]], %{{.*}} = ToBool(%[[N]]) {{.*}} -> (tensor<i1>)
// CHECK: LoopCond(%[[B]])
tfg.func @numbers(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  %w, %0 = StatelessWhile(%x) name("w") {T = [i32], cond = #tf_type.func<@number, {}>, body = #tf_type.func<@number, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<i32>) -> (tensor<i32>)
  return(%w) : tensor<i32>
}
tfg.func @number(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  return(%x) : tensor<i32>
}

// A ToBool takes halves, which a While and an If don't.
// CHECK: func @halves
// CHECK: StatelessWhile
// CHECK: StatelessIf
tfg.func @halves(%x: tensor<f16> {tfg.name = "x"}) -> (tensor<f16> {tfg.name = "y"}) {
  // expected-remark @+1 {{node 'w' (StatelessWhile) isn't lowered: its condition is float16, which can't be converted to a boolean}}
  %w, %0 = StatelessWhile(%x) name("w") {T = [f16], cond = #tf_type.func<@half, {}>, body = #tf_type.func<@half, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<f16>) -> (tensor<f16>)
  // expected-remark @+1 {{node 'i' (StatelessIf) isn't lowered: its condition is float16, which can't be converted to a boolean}}
  %i, %1 = StatelessIf(%w, %x) name("i") {Tcond = f16, Tin = [f16], Tout = [f16], output_shapes = [], then_branch = #tf_type.func<@half, {}>, else_branch = #tf_type.func<@half, {}>} : (tensor<f16>, tensor<f16>) -> (tensor<f16>)
  return(%i) : tensor<f16>
}
tfg.func @half(%x: tensor<f16> {tfg.name = "x"}) -> (tensor<f16> {tfg.name = "y"}) {
  return(%x) : tensor<f16>
}
