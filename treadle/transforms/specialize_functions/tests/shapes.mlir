// Functions are specialized for the shapes of their calls and for constants; equal calls share one.
// RUN: treadle-opt "--tfg-specialize-functions=shapes" %s | FileCheck %s
// RUN: treadle-opt "--tfg-specialize-functions=constants" %s | FileCheck %s --check-prefix=CONSTANT

// CHECK-LABEL: tfg.graph
// CHECK: f_specialized(%{{.*}}, %{{.*}}) name("p")
// CHECK: f_specialized(%{{.*}}, %{{.*}}) name("q")
// CHECK: StatelessIf({{.*}}else_branch = #tf_type.func<@f_specialized, {}>, {{.*}}then_branch = #tf_type.func<@f_specialized, {}>
// CHECK-NOT: @f(
// CHECK: tfg.func @f_specialized(%a: tensor<2xf32> {tfg.name = "a"},
// CHECK-NEXT: %b: tensor<f32> {tfg.name = "b"})
// CHECK: Mul(%a, %b) name("m")

// CONSTANT: tfg.func @f_specialized(%a: tensor<*xf32>
// CONSTANT: %[[C:.*]], %{{.*}} = Const name("b_value") {dtype = f32, value = dense<3.0
// CONSTANT-NEXT: Mul(%a, %[[C]])
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<2xf32>)
  %b, %bc = Placeholder name("b") {dtype = i1} : () -> (tensor<i1>)
  %k, %kc = Const name("k") {dtype = f32, value = dense<3.0> : tensor<f32>} : () -> (tensor<f32>)
  %p, %pc = f(%x, %k) name("p") : (tensor<2xf32>, tensor<f32>) -> (tensor<*xf32>)
  %q, %qc = f(%x, %k) name("q") : (tensor<2xf32>, tensor<f32>) -> (tensor<*xf32>)
  %i, %ic = StatelessIf(%b, %x, %k) name("i") {Tcond = i1, Tin = [f32, f32], Tout = [f32], else_branch = #tf_type.func<@f, {}>, output_shapes = [], then_branch = #tf_type.func<@f, {}>} : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> (tensor<*xf32>)
}
tfg.func @f(%a: tensor<*xf32> {tfg.name = "a"}, %b: tensor<*xf32> {tfg.name = "b"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %m, %mc = Mul(%a, %b) name("m") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%m) : tensor<*xf32>
}
