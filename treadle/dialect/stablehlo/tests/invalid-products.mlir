// RUN: treadle-opt --split-input-file --verify-diagnostics %s

// Sizes of operands and results of products and convolutions must match.

func.func @contracted(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension 1 of 'tensor<2x3xf32>' and dimension 0 of 'tensor<2x3xf32>' have different sizes}}
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @field(%x: tensor<2x2xf32>) {
  // expected-error@+1 {{its dimension numbers have 'lhs_contracting_dims', expected lhs_batching_dimensions, }}
  %z = "stablehlo.dot_general"(%x, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dims = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @features(%x: tensor<1x8x3xf32>, %w: tensor<3x2x4xf32>) {
  // expected-error@+1 {{its filter takes 2 features, but its input has 3 in 1 groups}}
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x3xf32>, tensor<3x2x4xf32>) -> tensor<1x6x4xf32>
  return
}

// -----

func.func @strides(%x: tensor<1x8x2xf32>, %w: tensor<3x2x4xf32>) {
  // expected-error@+1 {{window_strides has 2 numbers, expected 1}}
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x2xf32>, tensor<3x2x4xf32>) -> tensor<1x6x4xf32>
  return
}

// -----

func.func @square(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{a matrix is 'tensor<2x3xf32>', expected a square matrix}}
  %y = "stablehlo.cholesky"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transform(%x: tensor<4xf32>) {
  // expected-error@+1 {{FFT doesn't make elements of 'complex<f32>' of 'f32'}}
  %y = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return
}
