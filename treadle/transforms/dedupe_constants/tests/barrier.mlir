// A barrier with many constants as control inputs gets their control inputs, without duplicates.
// RUN: treadle-opt --tfg-dedupe-constants %s | FileCheck %s

// CHECK: %[[X:.*]], %[[XC:.*]] = Placeholder name("x")
// CHECK: %[[Y:.*]], %[[YC:.*]] = Placeholder name("y")
// CHECK: Const name("free")
// CHECK-NOT: Const
// CHECK: %[[B:.*]] = NoOp [%[[XC]], %[[YC]]] name("barrier")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %y, %yc = Placeholder name("y") {dtype = f32} : () -> (tensor<f32>)
  %f, %fc = Const name("free") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %a, %ac = Const [%xc] name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %bc = Const [%xc, %yc] name("b") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %barrier = NoOp [%ac, %bc] name("barrier")
}
