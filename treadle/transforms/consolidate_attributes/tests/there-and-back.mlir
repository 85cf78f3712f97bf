// Shapes and handle data move into types and back; attributes that types can't express stay.
// RUN: treadle-opt --tfg-consolidate-attrs %s | FileCheck %s
// RUN: treadle-opt --tfg-consolidate-attrs --tfg-prepare-attrs-export %s | FileCheck %s --check-prefix=BACK
// RUN: treadle-opt --tfg-consolidate-attrs --tfg-shape-inference --tfg-prepare-attrs-export %s | FileCheck %s --check-prefix=MORE
// RUN: treadle-opt "--tfg-prepare-attrs-export=all" %s | FileCheck %s --check-prefix=ALL

// CHECK: Placeholder name("x") {_mlir_regenerate_output_shapes, dtype = f32} : () -> (tensor<2x?xf32>)
// CHECK: Neg(%{{.*}}) name("y") {T = f32, _mlir_regenerate_output_shapes} : (tensor<2x?xf32>) -> (tensor<*xf32>)
// CHECK: Neg(%{{.*}}) name("odd") {T = f32, _output_shapes = 5 : i64} : (tensor<2x?xf32>) -> (tensor<*xf32>)
// BACK: name("x") {_output_shapes = [#tf_type.shape<2x?>], dtype = f32}
// BACK: name("y") {T = f32, _output_shapes = [#tf_type.shape<*>]}
// MORE: name("y") {T = f32, _output_shapes = [#tf_type.shape<2x?>]}
// ALL: name("n") {T = f32, _output_shapes = [#tf_type.shape<*>]}
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {_output_shapes = [#tf_type.shape<2x?>], dtype = f32} : () -> (tensor<*xf32>)
  %y, %yc = Neg(%x) name("y") {T = f32, _output_shapes = [#tf_type.shape<*>]} : (tensor<*xf32>) -> (tensor<*xf32>)
  %o, %oc = Neg(%x) name("odd") {T = f32, _output_shapes = 5 : i64} : (tensor<*xf32>) -> (tensor<*xf32>)
  %n, %nc = Neg(%x) name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}
// CHECK: tfg.func @f(%a: tensor<3xf32> {tfg.name = "a", tfg.regenerate_output_shapes},
// CHECK-NEXT: %h: tensor<!tf_type.resource<tensor<4xf32>>> {tfg.name = "h", tfg.regenerate_handle_data})
// CHECK-NEXT: -> (tensor<3xf32>
// CHECK-NEXT: tfg.regenerate_input_shapes
// BACK: tfg.func @f(%a: {{.*}} {tf._output_shapes = [#tf_type.shape<3>], tfg.name = "a"},
// BACK-NEXT: %h: {{.*}} {tfg.handle_data = [tensor<4xf32>], tfg.name = "h"})
// BACK: tf._input_shapes = [#tf_type.shape<3>, #tf_type.shape<>]
tfg.func @f(%a: tensor<*xf32> {tf._output_shapes = [#tf_type.shape<3>], tfg.name = "a"}, %h: tensor<*x!tf_type.resource> {tfg.handle_data = [tensor<4xf32>], tfg.name = "h"}) -> (tensor<*xf32> {tfg.name = "b"})
    attributes {tf._input_shapes = [#tf_type.shape<3>, #tf_type.shape<>]} {
  return(%a) : tensor<*xf32>
}
