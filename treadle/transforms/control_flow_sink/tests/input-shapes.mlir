// A function's _input_shapes are those of its arguments, whatever its region captures.
// RUN: treadle-opt --tfg-cf-sink-functional="fetches=out" %s | FileCheck %s

// CHECK: tfg.func @then_1(
// CHECK: attributes {tf._input_shapes = [#tf_type.shape<>, #tf_type.shape<4>]}
// CHECK-NEXT: Diag
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p, %0 = Placeholder name("p") {dtype = i1, shape = #tf_type.shape<>} : () -> (tensor<i1>)
  %x, %1 = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<4>} : () -> (tensor<4xf32>)
  %n, %2 = Placeholder name("n") {dtype = f32, shape = #tf_type.shape<>} : () -> (tensor<f32>)
  %e, %3 = Diag(%x) name("e") {T = f32} : (tensor<4xf32>) -> (tensor<4x4xf32>)
  %if, %4 = StatelessIf(%p, %n, %e) name("if") {Tcond = i1, Tin = [f32, f32], Tout = [f32], else_branch = #tf_type.func<@else, {}>, then_branch = #tf_type.func<@then, {}>, output_shapes = []} : (tensor<i1>, tensor<f32>, tensor<4x4xf32>) -> (tensor<*xf32>)
  %out, %5 = Identity(%if) name("out") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}
tfg.func @then(%n: tensor<f32> {tfg.name = "n"}, %e: tensor<4x4xf32> {tfg.name = "e"}) -> (tensor<*xf32> {tfg.name = "r"})
    attributes {tf._input_shapes = [#tf_type.shape<>, #tf_type.shape<4x4>]} {
  %r, %0 = Neg(%e) name("neg") {T = f32} : (tensor<4x4xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}
tfg.func @else(%n: tensor<f32> {tfg.name = "n"}, %e: tensor<4x4xf32> {tfg.name = "e"}) -> (tensor<*xf32> {tfg.name = "r"})
    attributes {tf._input_shapes = [#tf_type.shape<>, #tf_type.shape<4x4>]} {
  %r, %0 = Neg(%n) name("neg") {T = f32} : (tensor<f32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}
