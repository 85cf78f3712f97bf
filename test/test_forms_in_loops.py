"""TensorFlow's ops in loops that are compiled: without calls of kernels, and with their values."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402

FORMS = {}


def form(*feeds, rtol=1e-6):
    """Adds ops to a Builder, from the number of an iteration and values; returns one that a loop
    adds up."""

    def register(write):
        FORMS[write.__name__] = (write, feeds, rtol)
        return write

    return register


rng = np.random.default_rng(4)
SQUARE = rng.normal(size=(3, 3)).astype(np.float32)
POSITIVE = SQUARE @ SQUARE.T + np.eye(3, dtype=np.float32)
SEED = np.array([3, -4], np.int32)


@form(POSITIVE, rtol=1e-4)
def cholesky(g, i, x):
    return g.op("Cholesky", [x])


@form(SQUARE, rtol=1e-4)
def inverse(g, i, x):
    return g.op("MatrixInverse", [x])


@form(SQUARE, POSITIVE, rtol=1e-4)
def solution(g, i, x, y):
    return g.op("MatrixSolve", [x, y])


@form(SQUARE, POSITIVE)
def sum_of_several(g, i, x, y):
    return g.op("AddN", [[x, y, x * y]])


@form(SQUARE)
def trace(g, i, x):
    return g.op("Sum", [g.op("MatrixDiagPartV3", [x, 0, 0.0]), 0])


@form(np.float32(2))
def gradient_of_an_element(g, i, x):
    dims, zero, one = g.constant([6]), g.constant([-2]), g.constant([1])
    return g.op("StridedSliceGrad", [dims, zero, one, one, x], shrink_axis_mask=1)


@form(SQUARE[:2])
def gradient_of_a_block(g, i, x):
    where = [g.constant(v) for v in ([4, 3], [1, 0], [3, 0], [1, 1])]
    return g.op("StridedSliceGrad", [*where, x], begin_mask=2, end_mask=2)


@form(np.arange(700, dtype=np.float32).reshape(20, 35))
def rolled(g, i, x):
    rows = g.op("Roll", [x, 3, 0]) + g.op("Roll", [x, -37, 1])
    return rows + g.op("Roll", [x, g.constant([1, -1]), g.constant([0, -1])])


@form(np.arange(700, dtype=np.float32).reshape(20, 35))
def packed(g, i, x):
    first = g.op("Sum", [g.op("Pack", [[x, x * x, x + 1]], axis=2), 2])
    return first + g.op("Sum", [g.op("Pack", [[x, -x * 3]], axis=0), 0])


@form(SEED)
def normal_numbers(g, i, seed):
    key, counter = g.op("StatelessRandomGetKeyCounter", [seed + i])
    shape = g.constant([7])
    return g.op("StatelessRandomNormalV2", [shape, key, counter, 1], dtype="float32")


@form(SEED)
def uniform_numbers(g, i, seed):
    return g.op("StatelessRandomUniform", [g.constant([2, 3]), seed + i], dtype="float32")


@form(SEED)
def numbers_of_a_range(g, i, seed):
    return g.op("StatelessRandomUniformInt", [g.constant([5]), seed * i, -3, 1000])


@form(SEED)
def all_integers(g, i, seed):
    shape = g.constant(np.zeros(0, np.int32))
    return g.op("StatelessRandomUniformFullInt", [shape, seed - i], dtype="int32")


def program(name):
    write, feeds, rtol = FORMS[name]
    g = treadle.Builder()
    given = {f"x{k}": value for k, value in enumerate(feeds)}
    inputs = [g.placeholder(k, value.dtype, value.shape) for k, value in given.items()]
    start = write(g, g.constant(0), *inputs)
    with g.while_loop(i=0, kept=g.op("ZerosLike", [start])) as loop:
        loop.condition(loop.i < 5)
        loop.kept = write(g, loop.i, *inputs) + loop.kept
        loop.i += 1
    return g.build(), loop.kept.name, {f"{k}:0": value for k, value in given.items()}, rtol


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_compiled_and_give_what_kernels_give(name):
    graph, fetch, feeds, rtol = program(name)
    interpreted, compiled = (
        treadle.Session(graph, tier=tier, statistics=True) for tier in ("interpret", "jit")
    )
    wanted = interpreted.run([fetch], feeds)[0]
    for _ in range(20):  # the loop is specialized for repeated shapes
        np.testing.assert_allclose(compiled.run([fetch], feeds)[0], wanted, rtol=rtol)
    statistics = compiled.statistics()
    assert (statistics.compiled_calls, statistics.bails) == (20, 0), statistics.last_failure


@pytest.mark.parametrize("name", [name for name in FORMS if "_numbers" in name or "_of_an" in name])
def test_numbers_of_seeds_and_gradients_of_elements_call_no_kernel(name, tmp_path):
    graph, fetch, feeds, _ = program(name)
    path = tmp_path / "loop.pb"
    path.write_bytes(graph.to_bytes())
    np.save(tmp_path / "x.npy", feeds["x0:0"])
    line = [command_line.BINARY, "explain", "--code", path, "--fetch", fetch]
    line += ["--input", f"x0:0=@{tmp_path / 'x.npy'}"]
    told = subprocess.run(line, capture_output=True, timeout=60, text=True, check=True).stdout
    assert "loop 'while'" in told
    assert "kernel of" not in told


@pytest.mark.parametrize("name", ["cholesky", "inverse", "solution"])
def test_what_has_no_result_is_the_interpreters_error(name):
    graph, fetch, feeds, _ = program(name)
    feeds["x0:0"] = np.zeros((3, 3), np.float32)
    messages = []
    for tier in ("interpret", "jit"):
        session = treadle.Session(graph, tier=tier)
        with pytest.raises(treadle.InvalidArgumentError) as error:
            session.run([fetch], feeds)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("place", [-7, 6])
def test_gradients_of_elements_that_are_not_there_fail_alike(place):
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [])
    one = g.constant([1])
    with g.while_loop(i=0, kept=np.zeros(6, np.float32)) as loop:
        loop.condition(loop.i < 3)
        where = [g.constant([6]), g.constant([place]), one, one, x]
        loop.kept += g.op("StridedSliceGrad", where, shrink_axis_mask=1)
        loop.i += 1
    graph, messages = g.build(), []
    for tier in ("interpret", "jit"):
        with pytest.raises(treadle.InvalidArgumentError) as error:
            treadle.Session(graph, tier=tier).run([loop.kept.name], {"x:0": np.float32(1)})
        messages.append(str(error.value))
    assert messages[0] == messages[1]
