// RUN: treadle-opt --tfg-cse %s | FileCheck %s
// RUN: treadle-opt "--tfg-cse=keep=b" %s | FileCheck %s --check-prefix=KEEP
// RUN: treadle-opt "--tfg-cse=feeds=a:0" %s | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: tfg.graph
// CHECK: %[[X:.*]], %[[XC:.*]] = Placeholder
// CHECK: %[[A:.*]], %[[AC:.*]] = Neg(%[[X]]) name("a")
// CHECK-NOT: Neg
// CHECK: Sub(%[[A]], %[[A]]) [%[[AC]]] name("s")
// KEEP: name("a")
// KEEP: name("b")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %a, %ac = Neg(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %bc = Neg(%x) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %s, %sc = Sub(%a, %b) [%bc] name("s") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
}

// Random ops aren't merged, nor nodes with different control inputs.
// CHECK-LABEL: tfg.func @draws
// CHECK-COUNT-2: RandomUniform
// CHECK-COUNT-2: Neg
tfg.func @draws(%n: tensor<1xi32> {tfg.name = "n"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %a, %ac = RandomUniform(%n) name("a") {T = i32, dtype = f32} : (tensor<1xi32>) -> (tensor<*xf32>)
  %b, %bc = RandomUniform(%n) name("b") {T = i32, dtype = f32} : (tensor<1xi32>) -> (tensor<*xf32>)
  %c, %cc = Neg(%a) [%bc] name("c") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = Neg(%a) name("d") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %e, %ec = Sub(%c, %d) name("e") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%e) : tensor<*xf32>
}

// Each of these is fed a value of its own.
// CHECK-LABEL: tfg.func @inputs
// CHECK-COUNT-2: Placeholder
tfg.func @inputs() -> (tensor<*xf32> {tfg.name = "y"}) {
  %a, %ac = Placeholder name("a") {dtype = f32} : () -> (tensor<*xf32>)
  %b, %bc = Placeholder name("b") {dtype = f32} : () -> (tensor<*xf32>)
  %e, %ec = Sub(%a, %b) name("e") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%e) : tensor<*xf32>
}
