// RUN: treadle-opt --tfg-prune-arguments %s | FileCheck %s

// An argument that a region uses is needed; the function of a functional node inside a region
// doesn't change.
// CHECK-LABEL: tfg.func @f(%p: tensor<i1> {tfg.name = "p"},
// CHECK-NEXT: %x: tensor<f32> {tfg.name = "x"})
tfg.func @f(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}, %u: tensor<f32> {tfg.name = "u"}) -> (tensor<f32> {tfg.name = "y"}) {
  %i, %ci = IfRegion %p then {
    yield(%x) : tensor<f32>
  } else {
    %g, %cg = PartitionedCall(%x, %x) name("g") {Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@g, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    yield(%g) : tensor<f32>
  } {_mlir_name = "i"} : (tensor<i1>) -> tensor<f32>
  return(%i) : tensor<f32>
}
// CHECK-LABEL: tfg.func @g(%a: tensor<f32> {tfg.name = "a"},
// CHECK-NEXT: %b: tensor<f32> {tfg.name = "b"})
tfg.func @g(%a: tensor<f32> {tfg.name = "a"}, %b: tensor<f32> {tfg.name = "b"}) -> (tensor<f32> {tfg.name = "y"}) {
  return(%a) : tensor<f32>
}
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // CHECK: PartitionedCall(%{{.*}}, %{{.*}}) name("call") {Tin = [i1, f32]
  %y, %cy = PartitionedCall(%p, %x, %x) name("call") {Tin = [i1, f32, f32], Tout = [f32], f = #tf_type.func<@f, {}>} : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)
}
