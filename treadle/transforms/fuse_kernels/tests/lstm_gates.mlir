// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s

// A step of an LSTM as in Keras, with a forget bias. The next cell state and the output have other
// users; the values in between don't.
// CHECK-LABEL: tfg.func @step
// CHECK: %[[F:.*]]:2, %{{.*}} = _FusedLstmGates(%sums, %cell, %bias) name("c")
// CHECK-SAME: axis = 1
// CHECK-SAME: forget_bias = 1.000000e+00
// CHECK-SAME: gates = [0, 1, 2, 3]
// CHECK-NEXT: return(%[[F]]#1, %[[F]]#0)
tfg.func @step(%sums: tensor<*xf32> {tfg.name = "sums"}, %bias: tensor<*xf32> {tfg.name = "bias"}, %cell: tensor<*xf32> {tfg.name = "cell"}) -> (tensor<*xf32> {tfg.name = "r0"}, tensor<*xf32> {tfg.name = "r1"}) {
  %axis, %0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %one, %1 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %2 = BiasAdd(%sums, %bias) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s:4, %3 = Split(%axis, %b) name("s") {T = f32, num_split = 4 : i64} : (tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %i, %4 = Sigmoid(%s#0) name("i") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %5 = AddV2(%s#1, %one) name("d") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %f, %6 = Sigmoid(%d) name("f") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %g, %7 = Tanh(%s#2) name("g") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %k, %8 = Mul(%f, %cell) name("k") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %n, %9 = Mul(%i, %g) name("n") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %10 = AddV2(%k, %n) name("c") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %o, %11 = Sigmoid(%s#3) name("o") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %t, %12 = Tanh(%c) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %h, %13 = Mul(%o, %t) name("h") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%h, %c) : tensor<*xf32>, tensor<*xf32>
}

// Then without the bias.
// CHECK-LABEL: tfg.func @sums_are_seen
// CHECK: %[[B:.*]], %{{.*}} = BiasAdd
// CHECK: _FusedLstmGates(%[[B]], %cell) name("c")
tfg.func @sums_are_seen(%sums: tensor<*xf32> {tfg.name = "sums"}, %bias: tensor<*xf32> {tfg.name = "bias"}, %cell: tensor<*xf32> {tfg.name = "cell"}) -> (tensor<*xf32> {tfg.name = "r0"}, tensor<*xf32> {tfg.name = "r1"}, tensor<*xf32> {tfg.name = "r2"}) {
  %axis, %0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %one, %1 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %2 = BiasAdd(%sums, %bias) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s:4, %3 = Split(%axis, %b) name("s") {T = f32, num_split = 4 : i64} : (tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %i, %4 = Sigmoid(%s#0) name("i") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %5 = AddV2(%s#1, %one) name("d") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %f, %6 = Sigmoid(%d) name("f") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %g, %7 = Tanh(%s#2) name("g") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %k, %8 = Mul(%f, %cell) name("k") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %n, %9 = Mul(%i, %g) name("n") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %10 = AddV2(%k, %n) name("c") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %o, %11 = Sigmoid(%s#3) name("o") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %t, %12 = Tanh(%c) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %h, %13 = Mul(%o, %t) name("h") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%h, %c, %b) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: tfg.func @a_gate_is_seen
// CHECK-NOT: _FusedLstmGates
tfg.func @a_gate_is_seen(%sums: tensor<*xf32> {tfg.name = "sums"}, %bias: tensor<*xf32> {tfg.name = "bias"}, %cell: tensor<*xf32> {tfg.name = "cell"}) -> (tensor<*xf32> {tfg.name = "r0"}, tensor<*xf32> {tfg.name = "r1"}, tensor<*xf32> {tfg.name = "r2"}) {
  %axis, %0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %one, %1 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %2 = BiasAdd(%sums, %bias) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s:4, %3 = Split(%axis, %b) name("s") {T = f32, num_split = 4 : i64} : (tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %i, %4 = Sigmoid(%s#0) name("i") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %5 = AddV2(%s#1, %one) name("d") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %f, %6 = Sigmoid(%d) name("f") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %g, %7 = Tanh(%s#2) name("g") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %k, %8 = Mul(%f, %cell) name("k") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %n, %9 = Mul(%i, %g) name("n") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %10 = AddV2(%k, %n) name("c") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %o, %11 = Sigmoid(%s#3) name("o") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %t, %12 = Tanh(%c) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %h, %13 = Mul(%o, %t) name("h") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%h, %c, %f) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: tfg.func @a_part_is_seen
// CHECK-NOT: _FusedLstmGates
tfg.func @a_part_is_seen(%sums: tensor<*xf32> {tfg.name = "sums"}, %bias: tensor<*xf32> {tfg.name = "bias"}, %cell: tensor<*xf32> {tfg.name = "cell"}) -> (tensor<*xf32> {tfg.name = "r0"}, tensor<*xf32> {tfg.name = "r1"}, tensor<*xf32> {tfg.name = "r2"}) {
  %axis, %0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %one, %1 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %2 = BiasAdd(%sums, %bias) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s:4, %3 = Split(%axis, %b) name("s") {T = f32, num_split = 4 : i64} : (tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %i, %4 = Sigmoid(%s#0) name("i") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %5 = AddV2(%s#1, %one) name("d") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %f, %6 = Sigmoid(%d) name("f") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %g, %7 = Tanh(%s#2) name("g") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %k, %8 = Mul(%f, %cell) name("k") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %n, %9 = Mul(%i, %g) name("n") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %10 = AddV2(%k, %n) name("c") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %o, %11 = Sigmoid(%s#3) name("o") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %t, %12 = Tanh(%c) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %h, %13 = Mul(%o, %t) name("h") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%h, %c, %s#3) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// Two gates can't use the same part.
// CHECK-LABEL: tfg.func @a_part_is_used_twice
// CHECK-NOT: _FusedLstmGates
tfg.func @a_part_is_used_twice(%sums: tensor<*xf32> {tfg.name = "sums"}, %bias: tensor<*xf32> {tfg.name = "bias"}, %cell: tensor<*xf32> {tfg.name = "cell"}) -> (tensor<*xf32> {tfg.name = "r0"}, tensor<*xf32> {tfg.name = "r1"}) {
  %axis, %0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %one, %1 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %2 = BiasAdd(%sums, %bias) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s:4, %3 = Split(%axis, %b) name("s") {T = f32, num_split = 4 : i64} : (tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %i, %4 = Sigmoid(%s#0) name("i") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %5 = AddV2(%s#0, %one) name("d") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %f, %6 = Sigmoid(%d) name("f") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %g, %7 = Tanh(%s#2) name("g") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %k, %8 = Mul(%f, %cell) name("k") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %n, %9 = Mul(%i, %g) name("n") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %10 = AddV2(%k, %n) name("c") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %o, %11 = Sigmoid(%s#3) name("o") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %t, %12 = Tanh(%c) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %h, %13 = Mul(%o, %t) name("h") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%h, %c) : tensor<*xf32>, tensor<*xf32>
}
