// Any function may become the graph: arguments become placeholders, results keep their names.
// RUN: treadle-opt "--tfg-lower-func-to-graph=name=f" %s | FileCheck %s
// RUN: sed 's/^.. graph/tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {}/' %s > %t
// RUN: not treadle-opt "--tfg-lower-func-to-graph=name=f" %t 2>&1 | FileCheck %s --check-prefix=TWO

// TWO: error: function 'f' can't become the graph: the module already has a graph
// graph

// CHECK: tfg.graph
// CHECK-NEXT: %[[A:.*]], %[[C:.*]] = Placeholder name("a") {dtype = f32, shape = #tf_type.shape<2x?>}
// CHECK-NEXT: %[[N:.*]], %{{.*}} = Neg(%[[A]]) [%[[C]]] name("n")
// CHECK-NEXT: Identity(%[[N]]) name("b") {T = f32} : (tensor<2x?xf32>) -> (tensor<2x?xf32>)
// CHECK-NEXT: }
tfg.func @f(%a: tensor<2x?xf32> {tfg.name = "a"}) -> (tensor<2x?xf32> {tfg.name = "b"}, tensor<2x?xf32> {tfg.name = "n"}) {
  %n, %c = Neg(%a) [%a.ctl] name("n") {T = f32} : (tensor<2x?xf32>) -> (tensor<2x?xf32>)
  return(%n, %n) : tensor<2x?xf32>, tensor<2x?xf32>
}
