// RUN: treadle-opt --tfg-v1-to-functional %s | FileCheck %s

// An unused conditional in a branch is removed with the branch.
// CHECK-LABEL: tfg.graph
// CHECK: StatelessIf(
// CHECK-NOT: Switch
// CHECK: tfg.func @half
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %q, %qc = Placeholder name("q") {dtype = i1} : () -> (tensor<i1>)
  %s:2, %sc = Switch(%x, %p) name("cond/s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %neg, %negc = Neg(%s#1) name("cond/neg") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %qs:2, %qsc = Switch(%q, %p) name("cond/q") {T = i1} : (tensor<i1>, tensor<i1>) -> (tensor<i1>, tensor<i1>)
  %t:2, %tc = Switch(%s#1, %qs#1) name("cond/inner/t") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %exp, %expc = Exp(%t#1) name("cond/inner/exp") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %u:2, %uc = Merge(%t#0, %exp) name("cond/inner/u") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  %abs, %absc = Abs(%u#0) name("cond/abs") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m:2, %mc = Merge(%s#0, %neg) name("cond/m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
}

// If one result of a conditional is used, the others stay, because their users may stay.
// CHECK: StatelessIf(
// CHECK-NOT: Merge(
// CHECK: tfg.func @cond_true(
// CHECK-NOT: If(
// CHECK: Neg(
// CHECK: tfg.func @cond_inner_true(
// CHECK: Exp(
// CHECK: Sin(
// CHECK: tfg.func @cond_true_1(
// CHECK: StatelessIf:2
tfg.func @half(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<i1> {tfg.name = "p"}, %q: tensor<i1> {tfg.name = "q"}) -> (tensor<f32> {tfg.name = "y"}) {
  %s:2, %sc = Switch(%x, %p) name("cond/s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %qs:2, %qsc = Switch(%q, %p) name("cond/q") {T = i1} : (tensor<i1>, tensor<i1>) -> (tensor<i1>, tensor<i1>)
  %t:2, %tc = Switch(%s#1, %qs#1) name("cond/inner/t") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %exp, %expc = Exp(%t#1) name("cond/inner/exp") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %u:2, %uc = Merge(%t#0, %exp) name("cond/inner/u") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  %sin, %sinc = Sin(%t#1) name("cond/inner/sin") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %v:2, %vc = Merge(%t#0, %sin) name("cond/inner/v") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  %abs, %absc = Abs(%v#0) name("cond/abs") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m:2, %mc = Merge(%s#0, %u#0) name("cond/m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  return(%m#0) : tensor<f32>
}
