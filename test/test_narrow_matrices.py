# ruff: noqa: E501 (programs in text)
"""Matrices of two to five columns: machine code goes along their rows, and gives what the interpreter gives."""

import pathlib
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from mlir_programs import same  # noqa: E402

# Two iterations.
PROGRAM = """
func.func @main(%x: tensor<NxMxf32>, %r: tensor<Nxf32>, %c: tensor<Mxf32>) -> (tensor<NxMxf32>, tensor<Nxf32>, tensor<Mxf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %l:4 = stablehlo.while(%i = %zero, %a = %x, %b = %r, %d = %c) : tensor<i32>, tensor<NxMxf32>, tensor<Nxf32>, tensor<Mxf32>
  cond {
    %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %rows = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<Nxf32>) -> tensor<NxMxf32>
    %columns = stablehlo.broadcast_in_dim %d, dims = [1] : (tensor<Mxf32>) -> tensor<NxMxf32>
    %outer = stablehlo.multiply %rows, %columns : tensor<NxMxf32>
    %sum = stablehlo.add %outer, %a : tensor<NxMxf32>
    %greatest = stablehlo.reduce(%sum init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<NxMxf32>, tensor<f32>) -> tensor<Nxf32>
    %spread = stablehlo.broadcast_in_dim %greatest, dims = [0] : (tensor<Nxf32>) -> tensor<NxMxf32>
    %down = stablehlo.subtract %sum, %spread : tensor<NxMxf32>
    %powers = stablehlo.exponential %down : tensor<NxMxf32>
    %total = stablehlo.reduce(%powers init: %none) applies stablehlo.add across dimensions = [1] : (tensor<NxMxf32>, tensor<f32>) -> tensor<Nxf32>
    %totals = stablehlo.broadcast_in_dim %total, dims = [0] : (tensor<Nxf32>) -> tensor<NxMxf32>
    %shares = stablehlo.divide %powers, %totals : tensor<NxMxf32>
    %column = stablehlo.reduce(%shares init: %none) applies stablehlo.add across dimensions = [0] : (tensor<NxMxf32>, tensor<f32>) -> tensor<Mxf32>
    stablehlo.return %next, %shares, %total, %column : tensor<i32>, tensor<NxMxf32>, tensor<Nxf32>, tensor<Mxf32>
  }
  return %l#1, %l#2, %l#3 : tensor<NxMxf32>, tensor<Nxf32>, tensor<Mxf32>
}
"""


def reference(x, r, c):
    for _ in range(2):
        total = x + r[:, None] * c
        powers = np.exp(total - total.max(1, keepdims=True))
        r = powers.sum(1)
        x = powers / r[:, None]
        c = x.sum(0)
    return x, r, c


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("rows", [1, 3, 7, 8, 9, 31, 1000])
def test_sums_and_products_along_rows_and_columns(tmp_path, rows, columns):
    path = tmp_path / "narrow.mlir"
    path.write_text(
        PROGRAM.replace("NxM", f"{rows}x{columns}")
        .replace("<Nx", f"<{rows}x")
        .replace("<Mx", f"<{columns}x")
    )
    rng = np.random.default_rng(rows)
    values = [rng.normal(size=size).astype(np.float32) for size in ((rows, columns), rows, columns)]
    wanted = reference(*values)
    for tier in ("interpret", "jit"):
        model = treadle.load(path, tier=tier, statistics=True)
        got = list(model.signatures["main"](*values).values())
        same(got, *wanted, rtol=2e-3)
        assert tier == "interpret" or model.session.statistics().compiled_calls == 1
