// RUN: treadle-opt --rc-translate="function=f arguments=tensor<i32>,tensor<?xf32>" %s | FileCheck %s
// RUN: not treadle-opt --rc-translate="function=g" %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not treadle-opt --rc-translate="function=dice arguments=tensor<?xi32>" %s 2>&1 | FileCheck %s --check-prefix=DICE

// A loop becomes scf.while, scalars are in registers, and an op without a translation is a kernel
// call.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[N:.*]]: tensor<i32>, %[[X:.*]]: tensor<?xf32>)
// CHECK: tensor.extract %[[N]][] : tensor<i32>
// CHECK: scf.while
// CHECK: arith.cmpi slt
// CHECK: rc.check
// CHECK: arith.addi
// CHECK: rc.kernel "Softmax" 0
// CHECK-NOT: tfg.
// NONE: there is no function 'g'
// DICE: its op has side effects
tfg.func @f(%n: tensor<i32> {tfg.name = "n"}, %x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %zero, %c0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w:3, %c1 = While(%zero, %n, %x) name("w") {T = [i32, i32, f32], cond = #tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<i32>, tensor<i32>, tensor<*xf32>) -> (tensor<i32>, tensor<i32>, tensor<*xf32>)
  return(%w#2) : tensor<*xf32>
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "p"}) {
  %p, %c = Less(%i, %n) name("p") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "a"}, tensor<i32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}) {
  %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %next, %c1 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %y, %c2 = Softmax(%x) name("y") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%next, %n, %y) : tensor<i32>, tensor<i32>, tensor<*xf32>
}
tfg.func @dice(%s: tensor<*xi32> {tfg.name = "s"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %r, %c = RandomUniform(%s) name("dice") {T = i32, dtype = f32, seed = 0 : i64, seed2 = 0 : i64} : (tensor<*xi32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}
