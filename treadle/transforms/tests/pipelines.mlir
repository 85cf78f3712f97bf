// RUN: treadle-opt "--tfg-default=fetches=call:0 feeds=x:0" %s | FileCheck %s
// RUN: treadle-opt "--tfg-default" %s | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/{T = f32} : (tensor<f32>, tensor<f32>)/{T = i32} : (tensor<f32>, tensor<f32>)/' %s > %t
// RUN: not treadle-opt --tfg-cleanup %t 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: error: node 'sum' (AddV2): input 0 has type tensor<f32>, expected tensor<*xi32>

// CHECK-LABEL: tfg.graph
// CHECK-NEXT: Placeholder
// CHECK-NEXT: Neg({{.*}}) name("call/n")
// CHECK-NEXT: Identity({{.*}}) name("call")
// CHECK-NOT: sum
// CHECK-NOT: tfg.func
// WHOLE: name("sum")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %y, %yc = f(%x) name("call") : (tensor<f32>) -> (tensor<f32>)
  %s, %sc = AddV2(%x, %y) name("sum") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
}
tfg.func @f(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %n, %nc = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n) : tensor<f32>
}
