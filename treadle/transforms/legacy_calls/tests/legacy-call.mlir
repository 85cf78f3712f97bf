// A node that calls a function by its op gets a symbol reference to it, which isn't exported to a
// GraphDef.
// RUN: treadle-opt --tfg-lift-legacy-call %s | FileCheck %s
// RUN: treadle-opt --tfg-lift-legacy-call %s > %t.mlir
// RUN: treadle convert %t.mlir %t.pbtxt
// RUN: FileCheck %s --check-prefix=PB --input-file=%t.pbtxt

// CHECK: f(%{{.*}}) name("y") {tfg.legacy_call = @f}
// CHECK: Neg(%{{.*}}) name("z") {T = f32}
// PB: name: "y"
// PB-NOT: legacy_call
// PB: name: "z"
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  %y, %yc = f(%x) name("y") : (tensor<*xf32>) -> (tensor<*xf32>)
  %z, %zc = Neg(%y) name("z") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}
tfg.func @f(%a: tensor<*xf32> {tfg.name = "a"}) -> (tensor<*xf32> {tfg.name = "b"}) {
  return(%a) : tensor<*xf32>
}
