// RUN: treadle-opt --verify-diagnostics %s

sdy.mesh @mesh = <["x"=2]>

func.func @arguments(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has 1 operands and 1 results, but its body takes 2 and yields 1}}
  %c = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>]
      out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>, %q: tensor<4xf32>) {
    sdy.return %p : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}
