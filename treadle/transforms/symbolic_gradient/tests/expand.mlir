// RUN: treadle-opt --tfg-expand-symbolic-gradients %s | FileCheck %s

// The node calls a new function that contains the forward body and has the gradients of the results
// as arguments.
// CHECK-LABEL: tfg.graph
// CHECK: PartitionedCall(%[[X:.*]], %[[X]]) [%[[INIT:.*]]] device("/CPU:0") name("grad") {Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@poly_gradient, {}>}
// CHECK: PartitionedCall(%[[X]], %[[X]]) name("again") {{.*}}f = #tf_type.func<@poly_gradient, {}>
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %init = NoOp name("init")
  %g, %gc = SymbolicGradient(%x, %x) [%init] device("/CPU:0") name("grad") {Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@poly, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
  %h, %hc = SymbolicGradient(%x, %x) name("again") {Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@poly, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
}

// The original body doesn't change.
// CHECK: tfg.func @poly(%{{.*}}: tensor<*xf32>
// CHECK: Square
// CHECK-NEXT: Neg
// CHECK-NEXT: declared
// CHECK-NEXT: AddN
// CHECK-NEXT: return
tfg.func @poly(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %s, %sc = Square(%x) name("s") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %n, %nc = Neg(%x) name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = declared(%x) name("d") : (tensor<*xf32>) -> (tensor<*xf32>)
  %y, %yc = AddN(%s, %n, %d) name("y") {N = 3 : i64, T = f32} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%y) : tensor<*xf32>
}

tfg.func @declared(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"})
 attributes {gradient = @mine} {
  return(%x) : tensor<*xf32>
}

tfg.func @mine(%x: tensor<*xf32> {tfg.name = "x"}, %dy: tensor<*xf32> {tfg.name = "dy"}) -> (tensor<*xf32> {tfg.name = "dx"}) {
  return(%dy) : tensor<*xf32>
}

// The gradients of the three uses of x are added; a call uses the gradient that is declared.
// CHECK: tfg.func @poly_gradient(%[[X:.*]]: tensor<*xf32> {tfg.name = "x"},
// CHECK-NEXT: %[[DY:.*]]: tensor<*xf32> {tfg.name = "dy_0"})
// CHECK-NEXT: -> (tensor<*xf32> {tfg.name = "dx_0"})
// CHECK: AddN({{.*}}) name("y")
// CHECK-NEXT: %[[D:.*]], %{{.*}} = PartitionedCall(%[[X]], %[[DY]]) name("d_grad/PartitionedCall") {Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@mine, {}>}
// CHECK-NEXT: %[[N:.*]], %{{.*}} = Neg(%[[DY]]) name("n_grad/Neg") {T = f32}
// CHECK: %[[TWICE:.*]], %{{.*}} = Mul(%{{.*}}, %[[X]]) name("s_grad/Mul") {T = f32}
// CHECK-NEXT: %[[S:.*]], %{{.*}} = Mul(%[[DY]], %[[TWICE]]) name("s_grad/Mul_1") {T = f32}
// CHECK-NEXT: %[[SUM:.*]], %{{.*}} = AddN(%[[D]], %[[N]], %[[S]]) name("x_grad/AddN") {N = 3 : i64, T = f32}
// CHECK-NEXT: return(%[[SUM]])
