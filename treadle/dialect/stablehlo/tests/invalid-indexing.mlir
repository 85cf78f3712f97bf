// RUN: treadle-opt --split-input-file --verify-diagnostics %s

// Dimension numbers of gathers and scatters must list each required dimension exactly once.

func.func @fields(%x: tensor<4x2xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+1 {{its dimension numbers have 'offset_dim', expected offset_dims, }}
  %y = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dim = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} : (tensor<4x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @slice(%x: tensor<4x2xf32>, %i: tensor<3x1xi32>) {
  // expected-error@+1 {{a slice of size 2 can't be taken along dimension 0 of 'tensor<4x2xf32>', which the result omits}}
  %y = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 2>} : (tensor<4x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @index(%x: tensor<4x2xf32>, %i: tensor<3x2xi32>) {
  // expected-error@+1 {{start_index_map has 1 elements, but an index in 'tensor<3x2xi32>' 2}}
  %y = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} : (tensor<4x2xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @updates(%x: tensor<4x2xf32>, %i: tensor<3x1xi32>, %u: tensor<2x2xf32>) {
  // expected-error@+1 {{its updates are 'tensor<2x2xf32>', expected 'tensor<3x?xf32>'}}
  %y = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x2xf32>, tensor<3x1xi32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @updates(%x: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<f32>) {
  // expected-error@+1 {{has 4 operands, expected inputs, indices, and as many updates as inputs}}
  %y = "stablehlo.scatter"(%x, %i, %u, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}
    : (tensor<4xf32>, tensor<1xi32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}
