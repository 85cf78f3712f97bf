// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// Factors in any order and grouping: x * ((x * 0.5) * ...), squares and powers, quotients by
// constants.
// CHECK-LABEL: tfg.func @gelu
// CHECK: %[[A:.*]], %{{.*}} = _GeluApproximate(%x) name("a")
// CHECK: return(%[[A]])
tfg.func @gelu(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %one, %0 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %two, %1 = Const name("two") {dtype = f32, value = dense<2.0> : tensor<f32>} : () -> (tensor<f32>)
  %k, %2 = Const name("k") {dtype = f32, value = dense<0.797884583> : tensor<f32>} : () -> (tensor<f32>)
  %q, %3 = Const name("q") {dtype = f32, value = dense<4.471500e-02> : tensor<f32>} : () -> (tensor<f32>)
  %s, %4 = Square(%x) name("s") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %c, %5 = Mul(%s, %q) name("c") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %p, %6 = AddV2(%one, %c) name("p") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %m, %7 = Mul(%p, %x) name("m") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %i, %8 = Mul(%k, %m) name("i") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %t, %9 = Tanh(%i) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %h, %10 = AddV2(%t, %one) name("h") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %d, %11 = RealDiv(%h, %two) name("d") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %a, %12 = Mul(%d, %x) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%a) : tensor<*xf32>
}

// The factor of the scores is the product of all constants: 3 / 4.
// CHECK-LABEL: tfg.func @factors
// CHECK: _Attention(%q, %k, %v) name("out") {{.*}}scale = 7.500000e-01
tfg.func @factors(%q: tensor<*xf32> {tfg.name = "q"}, %k: tensor<*xf32> {tfg.name = "k"}, %v: tensor<*xf32> {tfg.name = "v"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %three, %0 = Const name("three") {dtype = f32, value = dense<3.0> : tensor<f32>} : () -> (tensor<f32>)
  %four, %1 = Const name("four") {dtype = f32, value = dense<4.0> : tensor<1x1xf32>} : () -> (tensor<1x1xf32>)
  %s, %2 = BatchMatMulV2(%q, %k) name("s") {T = f32, adj_y = true} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %m, %3 = Mul(%three, %s) name("m") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %d, %4 = RealDiv(%m, %four) name("d") {T = f32} : (tensor<*xf32>, tensor<1x1xf32>) -> (tensor<*xf32>)
  %p, %5 = Softmax(%d) name("p") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %out, %6 = BatchMatMulV2(%p, %v) name("out") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%out) : tensor<*xf32>
}

// (x - mean) / sqrt(variance + epsilon) * scale, with squares written as products; not if the
// variance is of another value, or if a part is one of the inputs.
// CHECK-LABEL: tfg.func @norms
// CHECK: %[[R:.*]], %{{.*}} = _LayerNorm(%x, %g) name("r") {axis = 1 : i64, epsilon = 5.000000e-01 : f32, num_offsets = 0 : i64, num_scales = 1 : i64}
// CHECK: RealDiv({{.*}}) name("f")
// CHECK: Mul({{.*}}) name("y")
// CHECK-NEXT: return(%[[R]],
tfg.func @norms(%x: tensor<*xf32> {tfg.name = "x"}, %g: tensor<*xf32> {tfg.name = "g"}) -> (tensor<*xf32> {tfg.name = "r0"}, tensor<*xf32> {tfg.name = "r1"}, tensor<*xf32> {tfg.name = "r2"}) {
  %axis, %0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %same, %1 = Const name("same") {dtype = i32, value = dense<1> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %e, %2 = Const name("e") {dtype = f32, value = dense<5.000000e-01> : tensor<f32>} : () -> (tensor<f32>)
  %m, %3 = Mean(%x, %axis) name("m") {T = f32, keep_dims = true} : (tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)
  %d, %4 = Sub(%x, %m) name("d") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s, %5 = Mul(%d, %d) name("s") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %v, %6 = Mean(%s, %same) name("v") {T = f32, keep_dims = true} : (tensor<*xf32>, tensor<1xi32>) -> (tensor<*xf32>)
  %a, %7 = AddV2(%e, %v) name("a") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %q, %8 = Sqrt(%a) name("q") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %n, %9 = RealDiv(%d, %q) name("n") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %10 = Mul(%g, %n) name("r") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %m2, %11 = Mean(%x, %axis) name("m2") {T = f32, keep_dims = true} : (tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)
  %d2, %12 = Sub(%x, %m2) name("d2") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s2, %13 = SquaredDifference(%g, %m2) name("s2") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %v2, %14 = Mean(%s2, %axis) name("v2") {T = f32, keep_dims = true} : (tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)
  %a2, %15 = AddV2(%v2, %e) name("a2") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %q2, %16 = Sqrt(%a2) name("q2") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %f, %17 = RealDiv(%d2, %q2) name("f") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %w, %18 = Sigmoid(%x) name("w") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %y, %19 = Mul(%w, %w) name("y") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%r, %f, %y) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}
