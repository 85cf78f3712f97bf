// RUN: treadle-opt --tfg-cse %s | FileCheck %s

// Nodes of one body are merged, nodes of different bodies and nodes with regions aren't.
// CHECK-LABEL: tfg.func @f
tfg.func @f(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[N:.*]], %[[C:.*]] = Neg(%x) name("n")
  // CHECK-NOT: name("m")
  %n, %cn = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m, %cm = Neg(%x) name("m") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  // CHECK: %[[A:.*]], %[[CA:.*]] = IfRegion %{{.*}} then {
  // CHECK-NEXT: %[[IN:.*]], %[[CI:.*]] = Neg(%x) name("a")
  // CHECK-NEXT: yield(%[[IN]]) [%[[CI]]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: yield(%[[N]]) [%[[C]]]
  %i, %ci = IfRegion %p then {
    %a, %ca = Neg(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %b, %cb = Neg(%x) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    yield(%a) [%ca, %cb] : tensor<f32>
  } else {
    yield(%m) [%cm] : tensor<f32>
  } {_mlir_name = "i"} : (tensor<i1>) -> tensor<f32>
  // CHECK: %[[B:.*]], %[[CB:.*]] = IfRegion
  %j, %cj = IfRegion %p then {
    yield(%x) : tensor<f32>
  } else {
    yield(%m) : tensor<f32>
  } {_mlir_name = "j"} : (tensor<i1>) -> tensor<f32>
  // CHECK: return(%[[A]], %[[B]])
  return(%i, %j) : tensor<f32>, tensor<f32>
}
