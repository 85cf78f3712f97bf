// RUN: not treadle-opt --tfg-verify --split-input-file %s 2>&1 | FileCheck %s

// CHECK: error: node 'n' (Neg): attribute 'T' is missing, expected type
// CHECK: error: node 'a' (AddV2): has 1 data input, expected 2
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %n, %nc = Neg(%x) name("n") : (tensor<f32>) -> (tensor<f32>)
  %a, %ac = AddV2(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}

// -----

// CHECK: error: node 'n' (Neg): input 0 has type tensor<f32>, expected tensor<*xi32>
// CHECK: error: node 'c' (f): output 0 has type tensor<*xi32>, expected tensor<*xf32>
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %n, %nc = Neg(%x) name("n") {T = i32} : (tensor<f32>) -> (tensor<i32>)
  %c, %cc = f(%x) name("c") : (tensor<f32>) -> (tensor<*xi32>)
  %u, %uc = Unheard(%x) name("u") : (tensor<f32>) -> (tensor<*xi32>)
}
tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  return(%x) : tensor<*xf32>
}

// -----

// CHECK: error: node '{{[ab]}}' (Neg): it depends on itself, through '{{[ab]}}'; a cycle must be a loop
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %a, %ac = Neg(%b) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %bc = Neg(%a) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
