// RUN: treadle-opt --tfg-shape-inference %s | FileCheck %s

// A dimension that a loop changes is unknown; one that it keeps is known, in the body as well.
// CHECK-LABEL: tfg.graph
// CHECK: While{{.*}} -> (tensor<?x2xf32>, tensor<3xf32>)
// CHECK: %[[M:.*]]:2, %{{.*}} = Merge{{.*}} -> (tensor<?xf32>, tensor<i32>)
// CHECK: Exit{{.*}} -> (tensor<?xf32>)
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %x, %xc = Const name("x") {dtype = f32, value = dense<1.0> : tensor<1x2xf32>} : () -> (tensor<1x2xf32>)
  %y, %yc = Const name("y") {dtype = f32, value = dense<1.0> : tensor<3xf32>} : () -> (tensor<3xf32>)
  %w:2, %wc = While(%x, %y) name("w") {T = [f32, f32], body = #tf_type.func<@grow, {}>, cond = #tf_type.func<@more, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<1x2xf32>, tensor<3xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  %e, %ec = Enter(%y) name("e") {T = f32, frame_name = "f", is_constant = false, parallel_iterations = 10 : i64} : (tensor<3xf32>) -> (tensor<*xf32>)
  %m:2, %mc = Merge(%e, %n) name("m") {N = 2 : i64, T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi32>)
  %p, %pc = Const [%mc] name("p") {dtype = i1, value = dense<false> : tensor<i1>} : () -> (tensor<i1>)
  %l, %lc = LoopCond(%p) name("l") : (tensor<i1>) -> (tensor<*xi1>)
  %s:2, %sc = Switch(%m#0, %l) name("s") {T = f32} : (tensor<*xf32>, tensor<*xi1>) -> (tensor<*xf32>, tensor<*xf32>)
  %z, %zc = Const [%sc] name("z") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %c, %cc = ConcatV2(%s#1, %s#1, %z) name("c") {N = 2 : i64, T = f32, Tidx = i32} : (tensor<*xf32>, tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)
  %n, %nc = NextIteration(%c) name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %o, %oc = Exit(%s#0) name("o") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}
// CHECK: tfg.func @more(%a: tensor<?x2xf32>
// CHECK-NEXT: %b: tensor<3xf32>
tfg.func @more(%a: tensor<*xf32> {tfg.name = "a"}, %b: tensor<*xf32> {tfg.name = "b"}) -> (tensor<*xi1> {tfg.name = "p"}) {
  %p, %pc = Const name("p") {dtype = i1, value = dense<false> : tensor<i1>} : () -> (tensor<i1>)
  return(%p) : tensor<i1>
}
// CHECK: tfg.func @grow(%a: tensor<?x2xf32>
// CHECK-NEXT: %b: tensor<3xf32>
// CHECK-NEXT: -> (tensor<?x2xf32>
// CHECK-NEXT: tensor<3xf32>
tfg.func @grow(%a: tensor<*xf32> {tfg.name = "a"}, %b: tensor<*xf32> {tfg.name = "b"}) -> (tensor<*xf32> {tfg.name = "c"}, tensor<*xf32> {tfg.name = "d"}) {
  %z, %zc = Const name("z") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %c, %cc = ConcatV2(%a, %a, %z) name("c") {N = 2 : i64, T = f32, Tidx = i32} : (tensor<*xf32>, tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)
  return(%c, %b) : tensor<*xf32>, tensor<*xf32>
}
// A function that may have other callers keeps the types of its arguments.
// CHECK: tfg.func @alone(%a: tensor<*xf32>
tfg.func @alone(%a: tensor<*xf32> {tfg.name = "a"}) -> (tensor<*xf32> {tfg.name = "b"}) {
  return(%a) : tensor<*xf32>
}
