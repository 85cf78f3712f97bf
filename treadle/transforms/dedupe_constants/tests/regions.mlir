// RUN: treadle-opt --tfg-dedupe-constants %s | FileCheck %s

// Each region is processed separately.
// CHECK-LABEL: tfg.func @f
tfg.func @f(%p: tensor<i1>) -> (tensor<f32>) {
  // CHECK: Const name("a")
  // CHECK-NEXT: %[[I:.*]], %{{.*}} = IfRegion
  // CHECK-NEXT: %[[C:.*]], %[[CC:.*]] = Const name("c")
  // CHECK-NEXT: %[[ADD:.*]], %{{.*}} = AddV2(%[[C]], %[[C]])
  // CHECK-NEXT: yield(%[[ADD]]) [%[[CC]]]
  %a, %ca = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %i, %ci = IfRegion %p then {
    %c, %cc = Const name("c") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %d, %cd = Const name("d") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %add, %cadd = AddV2(%c, %d) name("add") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    yield(%add) [%cd] : tensor<f32>
  } else {
    yield(%b) : tensor<f32>
  } {_mlir_name = "i"} : (tensor<i1>) -> tensor<f32>
  %b, %cb = Const name("b") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  return(%i) : tensor<f32>
}
