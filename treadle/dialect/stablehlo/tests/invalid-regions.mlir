// RUN: treadle-opt --split-input-file --verify-diagnostics %s

// Functions of reductions, sorts and loops must have the argument and result types of the op.

func.func @reducer(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{its function takes 1 values, expected 2}}
  %y = "stablehlo.reduce"(%x, %z) ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @window(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{its result is 'tensor<4xf32>', expected 'tensor<3xf32>'}}
  %y = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @comparator(%x: tensor<4xf32>) {
  // expected-error@+1 {{its comparator returns ('tensor<f32>'), expected ('tensor<i1>')}}
  %y = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @condition(%i: tensor<i32>) {
  // expected-error@+1 {{its condition returns ('tensor<i32>'), expected ('tensor<i1>')}}
  %j = stablehlo.while(%k = %i) : tensor<i32>
    cond {
      stablehlo.return %k : tensor<i32>
    } do {
      stablehlo.return %k : tensor<i32>
    }
  return
}

// -----

func.func @no_end(%p: tensor<i1>) {
  // expected-error@+1 {{empty block: expect at least a terminator}}
  "stablehlo.if"(%p) ({
  ^bb0:
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}

// -----

func.func @initial_values(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{has 3 operands, expected inputs and as many initial values}}
  %y = "stablehlo.reduce"(%x, %z, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @carried(%x: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{has 1 inputs, 1 initial values and 0 carried results}}
  %y:2 = "chlo.scan"(%x, %z) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>,
                               resultSegmentSizes = array<i32: 2, 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a, %a : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return
}
