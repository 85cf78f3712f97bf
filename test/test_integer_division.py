"""Division of integers in compiled loops: the interpreter's values, and its error for zeros."""

import numpy as np
import pytest

import treadle

SIGNED = ["FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod"]
UNSIGNED = ["FloorDiv", "FloorMod", "TruncateDiv"]
DTYPES = ["int32", "int64", "uint32", "uint64"]
SIZES = [None, 3, 200]


def divisions(dtype, size, divisor=None):
    """The sums of what each op gives in two iterations, in which x changes its sign."""
    g = treadle.Builder()
    ops = UNSIGNED if dtype.startswith("u") else SIGNED
    shape = [] if size is None else [None if size > 100 else size]
    x, y = g.placeholder("x", dtype, shape), g.placeholder("y", dtype, shape)
    zero = np.zeros(shape, dtype) if size is None or size <= 100 else x - x
    by = y if divisor is None else np.array(divisor, dtype)
    with g.while_loop(i=0, x=x, **dict.fromkeys(ops, zero)) as loop:
        loop.condition(loop.i < 2)
        for op in ops:
            made = g.op(op, [loop.x, by])
            setattr(loop, op, getattr(loop, op) * np.array(3, dtype) + made)
        loop.x = np.array(0, dtype) - loop.x
        loop.i += 1
    return g.build(), [getattr(loop, op).name for op in ops]


def numbers(dtype, size, rng):
    info = np.iinfo(dtype)
    few = [info.min, info.min + 1, info.max, 0, 1, 2, 3, 5, 7, info.max // 2]
    few += [-1, -2, -3, -7] if info.min else []
    return rng.choice(np.array(few, dtype), size=() if size is None else size)


def outcomes(graph, fetches, feeds):
    for tier in ("interpret", "jit"):
        session = treadle.Session(graph, tier=tier, statistics=True)
        try:
            yield session.run(fetches, feeds)
        except treadle.Error as error:
            yield f"{type(error).__name__}: {error}"
            continue
        assert tier == "interpret" or session.statistics().compiled_calls == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_signs_and_extremes(dtype, size):
    rng = np.random.default_rng(5)
    graph, fetches = divisions(dtype, size)
    for _ in range(30 if size is None else 5):
        x, y = numbers(dtype, size, rng), numbers(dtype, size, rng)
        y = np.where(y == 0, y.dtype.type(1), y)
        interpreted, compiled = outcomes(graph, fetches, {"x:0": x, "y:0": y})
        for a, b in zip(interpreted, compiled, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("divisor", [1, 2, 7, -1, -3, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("size", SIZES)
def test_known_divisors(size, divisor):
    rng = np.random.default_rng(6)
    graph, fetches = divisions("int32", size, divisor)
    feeds = {"x:0": numbers("int32", size, rng), "y:0": np.ones_like(numbers("int32", size, rng))}
    interpreted, compiled = outcomes(graph, fetches, feeds)
    for a, b in zip(interpreted, compiled, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_is_the_interpreters_error(dtype, size):
    graph, fetches = divisions(dtype, size)
    y = np.ones(() if size is None else size, dtype)
    y[... if size is None else size // 2] = 0
    interpreted, compiled = outcomes(graph, fetches, {"x:0": y, "y:0": y})
    assert interpreted == compiled
    assert "division by zero" in interpreted


def test_a_divisor_that_is_made_safe_is_not_looked_at(tmp_path):
    """Like StableHLO's division as imported, which is defined for zero."""
    path = tmp_path / "division.mlir"
    path.write_text("""
func.func @main(%x: tensor<100xi32>, %y: tensor<100xi32>) -> tensor<100xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<100xi32>
  cond {
    %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %q = stablehlo.divide %a, %y : tensor<100xi32>
    %r = stablehlo.remainder %a, %y : tensor<100xi32>
    %s = stablehlo.subtract %q, %r : tensor<100xi32>
    stablehlo.return %next, %s : tensor<i32>, tensor<100xi32>
  }
  return %l#1 : tensor<100xi32>
}
""")
    rng = np.random.default_rng(7)
    x, y = numbers("int32", 100, rng), numbers("int32", 100, rng)
    values = []
    for tier in ("interpret", "jit"):
        model = treadle.load(path, tier=tier, statistics=True)
        values.append(next(iter(model.signatures["main"](x, y).values())))
    np.testing.assert_array_equal(*values)
    statistics = model.session.statistics()
    assert (statistics.compiled_calls, statistics.bails) == (1, 0)
