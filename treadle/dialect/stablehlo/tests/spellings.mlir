// RUN: treadle-opt %s | FileCheck %s

// Lists of numbers, keywords and flags are parsed in all of their historical spellings.

// CHECK-LABEL: @lists
func.func @lists(%x: tensor<2x3xf32>) {
  // CHECK: "stablehlo.transpose"(%{{.*}}) <{permutation = array<i64: 1, 0>}>
  %a = "stablehlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: <{permutation = dense<[1, 0]> : tensor<2xi64>}>
  %b = "stablehlo.transpose"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: <{permutation = [1, 0]}>
  %c = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// CHECK-LABEL: @keywords
func.func @keywords(%x: tensor<f32>) {
  // CHECK-COUNT-3: <{compare_type = "TOTALORDER", comparison_direction = "LT"}>
  %a = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %b = "stablehlo.compare"(%x, %x) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %c = "stablehlo.compare"(%x, %x) {compare_type = "TOTALORDER", comparison_direction = "LT"} : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return
}
