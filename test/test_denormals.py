"""Denormal numbers are zero for arithmetic, unless a session keeps them: interpreted, compiled, and
on all threads; and the caller's thread has its own mode again."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

TINY = {np.float32: np.finfo(np.float32).tiny, np.float64: np.finfo(np.float64).tiny}
TIERS = ["interpret", "auto", "jit"]


def halving(dtype):
    """Halves x n times."""
    g = treadle.Builder()
    n, x = g.placeholder("n", "int32", []), g.placeholder("x", np.dtype(dtype).name, [None])
    half = g.constant(np.array(0.5, dtype), name="half")
    with g.while_loop(i=0, x=x) as loop:
        loop.condition(loop.i < n)
        loop.x = loop.x * half
        loop.i += 1
    return g.build(), loop.x.name


def halved(dtype, count, value, **options):
    graph, fetch = halving(dtype)
    session = treadle.Session(graph, **options)
    feeds = {"n:0": np.int32(3), "x:0": np.full(count, value, dtype)}
    results = [session.run(fetch, feeds) for _ in range(3)]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    return results[0]


def keeps():
    """Whether this thread computes with denormal numbers."""
    return bool(float(TINY[np.float64]) / 2) and bool((np.full(64, TINY[np.float32]) / 2).all())


@pytest.mark.parametrize("count", [1, 7, 300_000])
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_are_zero_by_default(dtype, tier, count):
    tiny = TINY[dtype]
    assert not halved(dtype, count, tiny, tier=tier, threads=4).any()
    assert (halved(dtype, count, 8 * tiny, tier=tier, threads=4) == tiny).all()
    assert keeps()


@pytest.mark.parametrize("count", [1, 7, 300_000])
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_session_can_keep_them(dtype, tier, count):
    tiny = TINY[dtype]
    kept = halved(dtype, count, tiny, tier=tier, threads=4, denormals="keep")
    assert (kept == tiny / 8).all() and kept.all()


@pytest.mark.parametrize("tier", TIERS)
def test_sessions_of_both_kinds_share_code(tier):
    for denormals, expected in [("flush", 0), ("keep", TINY[np.float32] / 8)] * 2:
        value = halved(np.float32, 9, TINY[np.float32], tier=tier, denormals=denormals)
        assert (value == np.float32(expected)).all()


UNARY = ["Abs", "Neg", "Sign", "Sqrt", "Rsqrt", "Square", "Exp", "Expm1", "Tanh", "Sin", "Floor",
         "Ceil", "Rint", "Relu", "Sigmoid", "Log1p", "Reciprocal", "Erf", "Cos"]  # fmt: skip
BINARY_OPS = ["Add", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"]


@pytest.mark.parametrize("denormals", ["flush", "keep"])
@pytest.mark.parametrize("op", UNARY + BINARY_OPS)
def test_compiled_code_computes_as_the_interpreter(op, denormals):
    g = treadle.Builder()
    n, x = g.placeholder("n", "int32", []), g.placeholder("x", "float32", [None])
    two = g.constant(np.float32(2.5), name="two")
    with g.while_loop(i=0, x=x) as loop:
        loop.condition(loop.i < n)
        made = g.op(op, [loop.x] if op in UNARY else [loop.x, loop.x * two])
        loop.x = made * two  # an operand that is denormal counts as zero
        loop.i += 1
    graph = g.build()
    tiny = TINY[np.float32]
    values = np.float32([tiny, 1, 0, 2]) * np.float32(0.3)
    feeds = {"n:0": np.int32(1), "x:0": np.concatenate([values, -values, np.float32([1e-45])])}
    results = []
    for tier in ("interpret", "jit"):
        session = treadle.Session(graph, tier=tier, denormals=denormals)
        results.append(session.run(loop.x.name, feeds))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6, atol=0)
    np.testing.assert_array_equal(np.signbit(results[0]), np.signbit(results[1]))


ZERO_OPERANDS = ["Log", "Log1p", "Lgamma", "Sqrt", "Rsqrt", "Sign", "Digamma", "Tanh", "Atan",
                 "Atan2", "Pow", "Xlogy", "Xdivy", "DivNoNan"]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", ZERO_OPERANDS)
def test_functions_of_them_are_those_of_zero(op, dtype):
    g = treadle.Builder()
    n, x, y = (
        g.placeholder(name, kind, shape)
        for name, kind, shape in (
            ("n", "int32", []),
            ("x", np.dtype(dtype).name, [None]),
            ("y", np.dtype(dtype).name, [None]),
        )
    )
    binary = ZERO_OPERANDS.index(op) >= ZERO_OPERANDS.index("Atan2")
    with g.while_loop(i=0, x=x) as loop:
        loop.condition(loop.i < n)
        loop.x = g.op(op, [loop.x, y] if binary else [loop.x])
        loop.i += 1
    graph, fetch = g.build(), loop.x.name
    small = TINY[dtype] * np.array([0.5, -0.25, 0, 0.125, -0.5], dtype)
    size = 41  # some in vectors, and some left over
    first, second = np.resize(small, size), np.resize(small[::-1].repeat(5), size)
    zeros = [np.copysign(dtype(0), part) for part in (first, second)]

    def run(parts, **options):
        feeds = {"n:0": np.int32(1), "x:0": parts[0], "y:0": parts[1]}
        return treadle.Session(graph, **options).run(fetch, feeds)

    expected = run(zeros, tier="interpret", denormals="keep")
    for tier in ("interpret", "jit"):
        flushed = run([first, second], tier=tier)
        flushed[np.abs(flushed) < TINY[dtype]] *= 0  # counts as zero
        np.testing.assert_allclose(flushed, expected, rtol=1e-6, atol=0)


def test_logarithms_of_kept_numbers():
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    y = g.op("Log", [x])
    graph, small = g.build(), np.float32([1e-40, 1, -1e-40] * 11)
    for tier in TIERS:
        kept = treadle.Session(graph, tier=tier, denormals="keep").run(y.name, {"x:0": small})
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(kept, np.log(small), rtol=1e-6)


def test_comparisons_take_them_for_zero():
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    above = g.op("Greater", [x, g.constant(np.float32(0), name="zero")])
    graph, small = g.build(), np.float32([1e-40, -1e-40, 1])
    for tier in TIERS:
        flushed = treadle.Session(graph, tier=tier).run(above.name, {"x:0": small})
        kept = treadle.Session(graph, tier=tier, denormals="keep").run(above.name, {"x:0": small})
        assert flushed.tolist() == [False, False, True]
        assert kept.tolist() == [True, False, True]


def test_constants_are_computed_in_the_same_mode():
    g = treadle.Builder()
    small = g.constant(np.float32([1e-20]), name="small")
    large = g.constant(np.float32([1e30]), name="large")
    x = g.placeholder("x", "float32", [1])
    y = x + small * small * large
    graph = g.build()
    for denormals, expected in (("flush", 0), ("keep", 1e-10)):
        for tier in TIERS:
            session = treadle.Session(graph, tier=tier, denormals=denormals)
            for _ in range(3):
                value = session.run(y.name, {"x:0": np.zeros(1, np.float32)})
                np.testing.assert_allclose(value, expected, rtol=1e-3)


def test_python_functions_keep_them():
    seen = []

    def probe(x):
        seen.append(keeps())
        return x

    treadle.register_op("DenormalProbe", probe)
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    y = g.op("DenormalProbe", [x], outputs=["float32"])
    treadle.Session(g.build()).run(y.name, {"x:0": np.float32([1])})
    assert seen == [True]


def test_a_wrong_value_is_refused():
    graph, _ = halving(np.float32)
    with pytest.raises(treadle.InvalidArgumentError, match="denormals is 'ieee'"):
        treadle.Session(graph, denormals="ieee")


def test_the_command_line_has_the_option(tmp_path):
    graph, fetch = halving(np.float32)
    path = tmp_path / "halving.pb"
    graph.to_file(path)
    how = ["--fetch", fetch, "--input", "n=3", "--input", "x=1xf32=1.1754944e-38"]
    for option, expected in (([], "[0.0]"), (["--denormals", "keep"], "[1.469368e-39]")):
        done = subprocess.run(
            [BINARY, "run", path, *how, *option], capture_output=True, text=True, check=True
        )
        assert expected in done.stdout
    wrong = subprocess.run(
        [BINARY, "run", path, *how, "--denormals", "no"], capture_output=True, text=True
    )
    assert wrong.returncode == 2 and "option '--denormals'" in wrong.stderr
