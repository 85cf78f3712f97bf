"""Compiled loops over elements of all dtypes have the values of the interpreter."""

import ml_dtypes
import numpy as np
import pytest

import treadle

INTEGERS = ["int8", "int16", "uint8", "uint16", "uint32", "uint64"]
HALVES = ["float16", "bfloat16"]
COMPLEXES = ["complex64", "complex128"]
SIZES = [None, 3, 200]


def dtype_of(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def numbers(name, shape):
    rng = np.random.default_rng(3)
    if name in INTEGERS:
        info = np.iinfo(name)
        return rng.integers(info.min, info.max, shape, name, endpoint=True)
    x = rng.standard_normal(shape)
    if name in COMPLEXES:
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype_of(name))


def run_both(graph, fetches, feeds, tolerance):
    results = []
    for tier in ("interpret", "jit"):
        session = treadle.Session(graph, tier=tier, statistics=True)
        results.append(session.run(fetches, feeds))
    assert session.statistics().compiled_calls >= 1
    for interpreted, compiled in zip(*results, strict=True):
        assert interpreted.dtype == compiled.dtype
        wide = complex if interpreted.dtype.kind == "c" else float
        expected = interpreted.astype(wide)
        largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=0)
        np.testing.assert_allclose(
            compiled.astype(wide), expected, rtol=0, atol=tolerance * largest
        )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", INTEGERS + HALVES + COMPLEXES)
def test_arithmetic_sums_slices_and_choices(name, size):
    g = treadle.Builder()
    x = g.placeholder("x", dtype_of(name), [] if size is None else [size])
    three = np.array(3, dtype_of(name))
    with g.while_loop(i=0, x=x, total=g.op("ZerosLike", [x])) as loop:
        loop.condition(loop.i < 4)
        loop.total = loop.total * loop.x + three
        loop.x = g.op("SelectV2", [g.op("Equal", [loop.x, three]), loop.total, loop.x - three])
        loop.i += 1
    fetches = [loop.x, loop.total]
    if size is not None:
        with g.while_loop(i=0, y=loop.total, most=three) as sums:
            sums.condition(sums.i < 2)
            sums.most = g.op("Sum", [sums.y, np.array([0], np.int32)]) + sums.most
            front = g.op("Slice", [sums.y, np.array([0], np.int32), np.array([1], np.int32)])
            rest = g.op("Slice", [sums.y, np.array([1], np.int32), np.array([size - 1], np.int32)])
            sums.y = g.op("ConcatV2", [rest, front, np.array(0, np.int32)])
            sums.i += 1
        fetches = [sums.y, sums.most]
    tolerance = 0 if name in INTEGERS else {"float16": 2e-3, "bfloat16": 0.02}.get(name, 1e-5)
    feeds = {"x:0": numbers(name, () if size is None else size)}
    run_both(g.build(), [fetch.name for fetch in fetches], feeds, tolerance)


@pytest.mark.parametrize("name", ["float32", "int32", "complex64", "complex128", "bfloat16"])
@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("ab,b->a", [3, 4], [4]),
        ("ab,a->b", [3, 4], [3]),
        ("a,a->", [5], [5]),
        ("a,b->ba", [2], [3]),
        ("abc,acd->abd", [2, 2, 3], [2, 3, 1]),
        ("ab,b->a", [30, 40], [40]),
        ("ab,a->b", [30, 40], [30]),
        ("abc,ac->ab", [3, 20, 7], [3, 7]),
        ("a,a->", [500], [500]),
    ],
)
def test_products(name, equation, left, right):
    g = treadle.Builder()
    x, y = g.placeholder("x", dtype_of(name), left), g.placeholder("y", dtype_of(name), right)
    first = g.op("Einsum", [x, y], equation=equation)
    with g.while_loop(i=0, sum=first) as loop:
        loop.condition(loop.i < 3)
        loop.sum = loop.sum + g.op("Einsum", [x, y], equation=equation)
        loop.i += 1
    feeds = {
        "x:0": (4 * numbers("float32", left)).astype(dtype_of(name)),
        "y:0": (4 * numbers("float32", right)).astype(dtype_of(name)),
    }
    tolerance = {"bfloat16": 0.02, "int32": 0}.get(name, 1e-5)
    run_both(g.build(), [loop.sum.name], feeds, tolerance)
