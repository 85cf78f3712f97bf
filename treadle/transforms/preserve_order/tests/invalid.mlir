// RUN: not treadle-opt --tfg-preserve-order=after=a:z %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not treadle-opt --tfg-preserve-order=after=a:a %s 2>&1 | FileCheck %s --check-prefix=ITSELF
// RUN: not treadle-opt --tfg-preserve-order=after=a:c %s 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: not treadle-opt --tfg-preserve-order=after=a %s 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not treadle-opt "--tfg-preserve-order=function=g after=a:b" %s 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: treadle-opt "--tfg-preserve-order=soft after=a:c,d:a,a:d" %s 2>&1 | FileCheck %s --check-prefix=LEFT-OUT

// MISSING: error: node 'a' should follow 'z', but there is no node 'z'
// ITSELF: error: node 'a' can't follow itself
// CIRCLE: error: node 'a' is to follow 'c', but that would close a cycle: 'a' -> 'b' -> 'c'
// FORM: error: 'a' is malformed, expected NODE:AFTER, as in mm:add
// FUNCTION: error: there is no function 'g' with a body
// LEFT-OUT: remark: node 'a' can't follow 'c': other edges require the opposite order; skipped
// LEFT-OUT: remark: node 'a' can't follow 'd'
// LEFT-OUT: name("a") {T = f32}
// LEFT-OUT: name("d") {T = f32, _soft_inputs = ["a"]}
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %a, %ac = Neg(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %bc = Neg(%a) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %c, %cc = Neg(%b) name("c") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %d, %dc = Abs(%x) name("d") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
