// RUN: treadle-opt --tfg-region-to-functional %s | FileCheck %s

// Arguments and results are named by the attributes; names that are taken get a number.
// CHECK: tfg.func @goes_on(%{{.*}}: tensor<i32> {tfg.name = "less_1"},
// CHECK-NEXT: %{{.*}}: tensor<i32> {tfg.name = "n"})
// CHECK-NEXT: -> (tensor<i1> {tfg.name = "less"})
// CHECK: tfg.func @step(%{{.*}}: tensor<i32> {tfg.name = "v"},
// CHECK-NEXT: %{{.*}}: tensor<i32> {tfg.name = "n"})
// CHECK-NEXT: -> (tensor<i32> {tfg.name = "r"},
// CHECK-NEXT: tensor<i32> {tfg.name = "r_1"})
tfg.func @f(%x: tensor<i32> {tfg.name = "x"}, %y: tensor<i32> {tfg.name = "y"}) -> (tensor<i32> {tfg.name = "z"}) {
  %w:2, %cw = WhileRegion(%x, %y) {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %ac: !tf_type.control, %bc: !tf_type.control):
    %less, %cl = Less(%a, %b) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    condition %less : tensor<i1> (%a, %b) : tensor<i32>, tensor<i32>
  } do {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %ac: !tf_type.control, %bc: !tf_type.control):
    yield(%b, %a) : tensor<i32>, tensor<i32>
  } {_mlir_name = "w", parallel_iterations = 1 : i64,
     cond_region_attrs = #tfg.region_attrs<{sym_name = "goes_on"} [{tfg.name = "less"}, {tfg.name = "n"}] [{tfg.name = "less"}]>,
     body_region_attrs = #tfg.region_attrs<{sym_name = "step"} [{tfg.name = "v"}, {tfg.name = "n"}] [{tfg.name = "r"}, {tfg.name = "r"}]>}
     : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return(%w#0) : tensor<i32>
}
