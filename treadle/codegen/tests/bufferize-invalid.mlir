// RUN: treadle-opt --split-input-file --verify-diagnostics --rc-bufferize %s

// A tensor that only says what an op writes into is in no memory.

func.func @cluster(%size: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%size) : tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  // expected-error @+1 {{reads a tensor that nothing computes the elements of}}
  return %start : tensor<?xf32>
}

// -----

func.func @cluster(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{writes into a tensor that is not new}}
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
