// RUN: treadle-opt --split-input-file --verify-diagnostics %s

// Elementwise ops require operands and results of equal shapes, and supported element types.

func.func @shapes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{operand 1 is 'tensor<3xf32>', but operand 0 is 'tensor<2xf32>'}}
  %z = "stablehlo.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @elements(%x: tensor<2xf32>) {
  // expected-error@+1 {{its result has element type 'f64', expected 'f32'}}
  %y = "stablehlo.negate"(%x) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @sine_of_integers(%x: tensor<2xi32>) {
  // expected-error@+1 {{operand #0 must be tensor of}}
  %y = stablehlo.sine %x : tensor<2xi32>
  return
}

// -----

func.func @counts(%x: tensor<f32>) {
  // expected-error@+1 {{expected 2 operands, but found 1}}
  %y = "stablehlo.power"(%x) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @direction(%x: tensor<f32>) {
  // expected-error@+1 {{one of EQ, NE, GE, GT, LE, LT}}
  %y = stablehlo.compare LIKE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return
}

// -----

func.func @choice(%p: tensor<3xi1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{the predicate is 'tensor<3xi1>', expected a scalar or the shape of 'tensor<2xf32>'}}
  %y = stablehlo.select %p, %x, %x : tensor<3xi1>, tensor<2xf32>
  return
}

// -----

func.func @parts_of_complex(%x: tensor<complex<f64>>) {
  // expected-error@+1 {{its result has element type 'f32', expected 'f64'}}
  %y = "stablehlo.real"(%x) : (tensor<complex<f64>>) -> tensor<f32>
  return
}
