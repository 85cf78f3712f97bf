// RUN: not treadle-opt '--tfg-place=rules=MatMul' %s 2>&1 | FileCheck %s --check-prefix=NO-DEVICE
// RUN: not treadle-opt '--tfg-place=rules=MatMul=gpu' %s 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not treadle-opt '--tfg-place=rules="Mat(=/cpu:0"' %s 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not treadle-opt --tfg-place %s 2>&1 | FileCheck %s --check-prefix=APART

// NO-DEVICE: error: rule 'MatMul': expected PATTERN=DEVICE or name:PATTERN=DEVICE, as in 'MatMul=/device:GPU:0'
// DEVICE: error: rule 'MatMul=gpu': 'gpu' is not a device name, expected one like
// PATTERN: error: rule 'Mat(=/cpu:0': 'Mat(' is not a valid regular expression:
// APART: error: node 'b' is on '/GPU:0', but must be colocated with node 'a' on '/CPU:0'; place both on one device, or neither
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %a, %ac = Const device("/CPU:0") name("a") {dtype = f32, value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %b, %bc = Neg(%a) device("/GPU:0") name("b") {T = f32, _class = ["loc:@a"]} : (tensor<f32>) -> (tensor<f32>)
}
