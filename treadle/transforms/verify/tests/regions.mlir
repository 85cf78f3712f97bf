// RUN: treadle-opt --tfg-verify -verify-diagnostics %s

// Nodes in regions are verified as well.
tfg.func @f(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>) {
  %i, %ci = IfRegion %p then {
    // expected-error@+1 {{node 'a' (AddV2): has 1 data input, expected 2}}
    %a, %ca = AddV2(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    yield(%a) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "i"} : (tensor<i1>) -> tensor<f32>
  return(%i) : tensor<f32>
}
