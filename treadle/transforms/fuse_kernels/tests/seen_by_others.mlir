// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s
// RUN: treadle-opt --tfg-fuse-kernels=keep=g %s | FileCheck %s --check-prefix=KEPT

// Values, tokens and results with other users aren't fused. Neither are other types, and nodes that
// violate their op definition, whose errors are reported elsewhere.
// CHECK-LABEL: tfg.func @seen
// CHECK-NOT: = _Fused
tfg.func @seen(%x: tensor<*xf32> {tfg.name = "x"}, %k: tensor<*xi32> {tfg.name = "k"}) -> (tensor<*xf32> {tfg.name = "a"}, tensor<*xf32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}, tensor<*xf32> {tfg.name = "d"}, tensor<*xf32> {tfg.name = "e"}, tensor<*xi32> {tfg.name = "f"}, tensor<*xf32> {tfg.name = "g"}) {
  %p, %pc = MatMul(%x, %x) name("p") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = Relu(%p) name("a") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = Neg(%p) name("b") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = MatMul(%x, %x) name("q") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %c, %cc = Relu(%q) [%qc] name("c") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = MatMul(%x, %x) name("d") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %e, %ec = Relu(%d) name("e") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %s, %sc = MatMul(%k, %k) name("s") {T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
  %f, %fc = Relu(%s) name("f") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  %t, %tc = MatMul(%x, %x) name("t") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %g, %gc = Relu(%t, %x) name("g") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%a, %b, %c, %d, %e, %f, %g) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xi32>, tensor<*xf32>
}

// A soft edge doesn't prevent fusion and moves to the fused node. In a graph, fetched nodes stay.
// CHECK-LABEL: tfg.graph
// CHECK: name("after") {{.*}}_soft_inputs = ["h"]
// CHECK: _FusedMatMul(%{{.*}}) name("h") {{.*}}_soft_inputs = ["x"]
// KEPT-LABEL: tfg.graph
// KEPT: MatMul(%{{.*}}) name("h")
// KEPT: Relu(%{{.*}}) name("g")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  %h, %hc = MatMul(%x, %x) name("h") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = Abs(%x) name("after") {T = f32, _soft_inputs = ["g"]} : (tensor<*xf32>) -> (tensor<*xf32>)
  %g, %gc = Relu(%h) name("g") {T = f32, _soft_inputs = ["x"]} : (tensor<*xf32>) -> (tensor<*xf32>)
}
