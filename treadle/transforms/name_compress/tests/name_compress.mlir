// RUN: treadle-opt "--tfg-name-compress=keep=out" %s | FileCheck %s
// RUN: treadle-opt "--tfg-name-compress=graph=false" %s | FileCheck %s --check-prefix=FUNCTIONS

// Placeholders, kept nodes, and variables that are known by their node's name keep their names.
// CHECK: Placeholder name("a")
// CHECK: VariableV2 name("scope/v")
// CHECK: Neg({{.*}}) name("b") {T = f32}
// CHECK: Neg({{.*}}) name("c") {T = f32, _class = ["loc:@b", "loc:@scope/v"]}
// CHECK: Neg({{.*}}) name("out")
// FUNCTIONS: name("scope/long")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("a") {dtype = f32} : () -> (tensor<f32>)
  %v, %vc = VariableV2 name("scope/v") {container = "", dtype = f32, shape = #tf_type.shape<>, shared_name = ""} : () -> (tensor<!tf_type.f32ref>)
  %l, %lc = Neg(%x) name("scope/long") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m, %mc = Neg(%l) name("scope/longer") {T = f32, _class = ["loc:@scope/long", "loc:@scope/v"]} : (tensor<f32>) -> (tensor<f32>)
  %o, %oc = Neg(%m) name("out") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
// An argument's name is part of the function's signature.
// CHECK: Neg(%a) name("b")
// FUNCTIONS: Neg(%a) name("b")
tfg.func @f(%a: tensor<f32> {tfg.name = "a"}) -> (tensor<f32> {tfg.name = "y"}) {
  %n, %nc = Neg(%a) name("scope/n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n) : tensor<f32>
}
