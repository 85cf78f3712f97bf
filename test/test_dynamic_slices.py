"""Slices whose ends are computed."""

import numpy as np
import pytest
from mlir_programs import function, runner, same

SLICE = """
%r = stablehlo.real_dynamic_slice %a, %b, %c, %d
  : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>"""


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize(
    ("starts", "ends", "found"),
    [
        ([1, 1], [3, 3], (slice(1, 3), slice(1, 3))),
        ([4, 1], [7, 3], (slice(2, 5), slice(1, 3))),  # as dynamic_slice: of the same size
        ([0, 3], [5, 5], (slice(0, 5), slice(2, 4))),
    ],
)
def test_what_reaches_beyond_the_end_begins_earlier(tmp_path, starts, ends, found, tier):
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    text = function(SLICE, ["?x4xf32", "2xi32", "2xi32", "2xi32"], ["?x?xf32"])
    run = runner(tmp_path, tier=tier)
    same(run(text, x, np.int32(starts), np.int32(ends), np.int32([1, 1])), x[found])
