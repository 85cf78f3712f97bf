// RUN: treadle-opt --split-input-file --verify-diagnostics %s

// The value of a key must be of the key's kind.

func.func @window(%x: tensor<1x8x1xf32>, %w: tensor<3x1x1xf32>) {
  // expected-error@+1 {{found window = 4 : i64, expected {stride = [...], pad = [...], ...}}}
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = 4 {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<3x1x1xf32>) -> tensor<1x6x1xf32>
  return
}

// -----

func.func @format(%x: tensor<f32>) {
  // expected-error@+1 {{expected one like e5m10}}
  %y = stablehlo.reduce_precision %x, format = 5 : tensor<f32>
  return
}

// -----

func.func @scalar(%x: f32) {
  // expected-error@+1 {{found an operand of type 'f32', expected a tensor}}
  %y = stablehlo.reduce(%x init: %x) applies stablehlo.add across dimensions = [0] : (f32, f32) -> f32
  return
}
