// RUN: treadle-opt --tfg-v1-to-functional %s | FileCheck %s

// LoopCond and Switch only take boolean scalars; a While and an If take any value. If the type is
// unknown, a node checks it, and the If records the original predicate.

// CHECK: StatelessWhile
tfg.func @loop(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<*xi1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  %q, %0 = Enter(%p) name("q") {T = i1, frame_name = "f", is_constant = true} : (tensor<*xi1>) -> (tensor<*xi1>)
  %e, %1 = Enter(%x) name("e") {T = f32, frame_name = "f"} : (tensor<f32>) -> (tensor<f32>)
  %m:2, %2 = Merge(%e, %next) name("m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  %c, %3 = LoopCond(%q) name("c") : (tensor<*xi1>) -> (tensor<i1>)
  %s:2, %4 = Switch(%m#0, %c) name("s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %n, %5 = Neg(%s#1) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %next, %6 = NextIteration(%n) name("next") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %exit, %7 = Exit(%s#0) name("exit") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%exit) : tensor<f32>
}

// CHECK: func @conditional
// CHECK: StatelessIf(%p, %x) {{.*}}tfg.switch
// CHECK: func @f_cond
// CHECK: %[[OK:.*]], %{{.*}} = EnsureShape(%p) name("c") {T = i1, shape = #tf_type.shape<>, tfg.loop_condition} : (tensor<*xi1>) -> (tensor<i1>)
// CHECK: return(%[[OK]])
tfg.func @conditional(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<*xi1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  %s:2, %0 = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<*xi1>) -> (tensor<f32>, tensor<f32>)
  %n, %1 = Neg(%s#1) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m:2, %2 = Merge(%s#0, %n) name("m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  return(%m#0) : tensor<f32>
}
