"""The rounding errors of long sums, products and ops that use them, in units of the last place.

The inputs and the exact results are those of `./dev bench accuracy`, which has the rivals' errors.
"""

import importlib.util
import json
import pathlib

import numpy as np
import pytest

PATH = pathlib.Path(__file__).parent.parent / "bench" / "accuracy.py"
spec = importlib.util.spec_from_file_location("accuracy", PATH)
accuracy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(accuracy)

LENGTH = 100_000
# The largest error of any element. A sum in a loop has an error of 35 and more at this length.
BOUNDS = {
    "sum": 2,
    "sum of columns": 4,
    "sum of rows": 2,
    "mean": 2,
    "norm": 2,
    "dot": 2,
    "matrix by vector": 3,
    "vector by matrix": 4,
    "matrix product": 6,
    "batch of dots": 3,
    "cumsum": 1,
    "cumsum of columns": 1,
    "logcumsumexp": 2,
    "softmax": 8,
    "log_softmax": 3,
    "convolution": 2,
    "average pool": 2,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("op", BOUNDS)
def test_long_sums_are_accurate(op, dtype):
    inputs = accuracy.inputs_of(np, op, dtype, LENGTH, seed=0)
    for tier in ("interpret", "jit"):
        results = []
        for threads in (1, 2):
            engine = accuracy.treadle_engine(np, dtype, tier, threads)
            results.append(np.asarray(engine[op](*inputs)))
        error = accuracy.error_of(np, op, dtype, inputs, results[0])
        assert error <= BOUNDS[op], (tier, error)
        np.testing.assert_array_equal(*results)


def test_products_of_floats_are_rounded_once():
    inputs = accuracy.inputs_of(np, "cumprod", "float32", LENGTH, seed=0)
    for tier in ("interpret", "jit"):
        got = accuracy.treadle_engine(np, "float32", tier)["cumprod"](*inputs)
        assert accuracy.error_of(np, "cumprod", "float32", inputs, got) <= 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_and_what_is_no_number_stay(dtype):
    x = np.ones(LENGTH)
    for value, total in ((np.inf, np.inf), (-np.inf, -np.inf), (np.nan, np.nan)):
        x[LENGTH // 2] = value
        for tier in ("interpret", "jit"):
            engine = accuracy.treadle_engine(np, dtype, tier)
            for op in ("sum", "mean"):
                np.testing.assert_equal(np.asarray(engine[op](x)), total)
            np.testing.assert_equal(np.asarray(engine["dot"](x, np.ones(LENGTH))), total)
            np.testing.assert_equal(engine["cumsum"](x)[-1], total)
            columns = np.repeat(x[:, None], 4, 1)
            np.testing.assert_equal(engine["sum of columns"](columns), np.full(4, total))


def test_the_table_of_the_docs_is_that_of_the_results():
    text = accuracy.PAGE.read_text()
    assert accuracy.page(text, json.loads(accuracy.RESULTS.read_text())) == text
