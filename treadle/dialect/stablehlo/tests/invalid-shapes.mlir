// RUN: treadle-opt --split-input-file --verify-diagnostics %s

// Ops that change shapes or take parts of tensors must state valid sizes.

func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error@+1 {{dimension 0 of 'tensor<3xf32>' must be 1 or have the size of dimension 1 of 'tensor<3x2xf32>'}}
  %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{its operand 'tensor<2x3xf32>' has 6 elements, but its result 'tensor<5xf32>' 5}}
  %y = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation has 0 twice}}
  %y = stablehlo.transpose %x, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error@+1 {{[1:5:1] is out of bounds of dimension 0 of 'tensor<4xf32>'}}
  %y = "stablehlo.slice"(%x) {start_indices = array<i64: 1>, limit_indices = array<i64: 5>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{its result is 'tensor<6xf32>', expected 'tensor<10xf32>'}}
  %y = stablehlo.pad %x, %z, low = [1], high = [2], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @bits(%x: tensor<4xf32>) {
  // expected-error@+1 {{elements of 'tensor<4xf32>' can't be bitcast to 'tensor<4x3xi8>'}}
  %y = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x3xi8>
  return
}

// -----

func.func @indices(%x: tensor<4x4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{has 1 indices, expected one for each of the 2 dimensions of 'tensor<4x4xf32>'}}
  %y = stablehlo.dynamic_slice %x, %i, sizes = [1, 1] : (tensor<4x4xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @repeated(%x: tensor<4xf32>) {
  // expected-error@+1 {{attribute 'permutation' failed to satisfy constraint: list of integers}}
  %y = "stablehlo.transpose"(%x) {permutation = dense<0> : tensor<1000000000000xi64>}
    : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Unsigned numbers can't be negative.
func.func @unsigned(%x: tensor<200xf32>) -> tensor<200xf32> {
  %n = stablehlo.constant dense<200> : tensor<1xui8>
  %y = stablehlo.dynamic_reshape %x, %n : (tensor<200xf32>, tensor<1xui8>) -> tensor<200xf32>
  return %y : tensor<200xf32>
}
