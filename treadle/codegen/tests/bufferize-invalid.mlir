// RUN: treadle-opt --split-input-file --verify-diagnostics --rc-bufferize %s

// A destination tensor has no memory of its own.

func.func @cluster(%size: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%size) : tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  // expected-error @+1 {{reads an uninitialized tensor}}
  return %start : tensor<?xf32>
}

// -----

func.func @cluster(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{has a destination that isn't a new tensor}}
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
