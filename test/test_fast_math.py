"""Fast math: other roundings where somebody asks for them, in compiled code and nowhere else."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402
from test_compile import Compiled  # noqa: E402

FEEDS = {
    "n:0": np.int32(1),
    "x:0": np.random.default_rng(1).uniform(0.5, 2, (20, 300)).astype(np.float32),
    "y:0": np.float32(1.3),
}


def program():
    """Functions, a sum of each row and a division by it, n times; the sums' terms, and the end."""
    g = treadle.Builder()
    n, y = g.placeholder("n", "int32", []), g.placeholder("y", "float32", [])
    x = g.placeholder("x", "float32", [None, None])
    with g.while_loop(i=0, x=x, terms=x) as loop:
        loop.condition(loop.i < n)
        power = g.op("Pow", [g.op("Exp", [loop.x]), y])
        loop.terms = power * loop.x + y
        loop.x = loop.terms / g.op("Sum", [loop.terms, [1]], keep_dims=True)
        loop.i += 1
    return g.build(), (loop.terms.name, loop.x.name)


def run(feeds=FEEDS, **options):
    graph, fetches = program()
    session = treadle.Session(graph, statistics=True, **options)
    values = session.run(list(fetches), feeds)
    assert session.statistics().compiled_calls == (options["tier"] == "jit")
    return values


def differ(some, others):
    return all(not np.array_equal(a, b) for a, b in zip(some, others, strict=True))


def are_close(some, others):
    for a, b in zip(some, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_values_are_close_and_not_the_same():
    exact, fast = run(tier="jit"), run(tier="jit", fast_math=True)
    are_close(fast, exact)
    assert differ(fast, exact)


def test_code_of_one_kind_is_not_found_by_the_other():
    values = [run(tier="jit", fast_math=fast) for fast in (False, True, False, True)]
    np.testing.assert_equal(values[2:], values[:2])
    assert differ(values[0], values[1])


def test_what_is_interpreted_stays_the_same():
    values = [run(tier="interpret", fast_math=fast) for fast in (False, True)]
    np.testing.assert_equal(values[0], values[1])


def test_infinities_and_nan_stay():
    x = np.float32([[np.inf, 1, 2], [np.nan, 1, 2], [0, 0, 1], [-np.inf, 2, 3], [100, 1, 0]])
    exact, fast = (run(FEEDS | {"x:0": x}, tier="jit", fast_math=fast) for fast in (False, True))
    assert all(np.isnan(value).any() for value in exact) and np.isinf(exact[0]).any()
    are_close(fast, exact)


def test_models_take_it(tmp_path):
    path = tmp_path / "softmax.mlir"
    path.write_text("""
        func.func @main(%n: tensor<i32>, %x: tensor<4x50xf32>) -> tensor<4x50xf32> {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %w:2 = "stablehlo.while"(%zero, %x) ({
          ^bb0(%i: tensor<i32>, %a: tensor<4x50xf32>):
            %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          }, {
          ^bb0(%i: tensor<i32>, %a: tensor<4x50xf32>):
            %b = stablehlo.exponential %a : tensor<4x50xf32>
            %c = stablehlo.multiply %b, %a : tensor<4x50xf32>
            %d = stablehlo.add %c, %b : tensor<4x50xf32>
            %next = stablehlo.add %i, %one : tensor<i32>
            stablehlo.return %next, %d : tensor<i32>, tensor<4x50xf32>
          }) : (tensor<i32>, tensor<4x50xf32>) -> (tensor<i32>, tensor<4x50xf32>)
          return %w#1 : tensor<4x50xf32>
        }
    """)
    values = []
    for fast in (False, True):
        call = treadle.load(path, tier="jit", fast_math=fast).signatures["main"]
        x = FEEDS["x:0"][:4, :50]
        names = list(call.inputs)
        values += call(**dict(zip(names, (np.int32(1), x), strict=True))).values()
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5)
    assert not np.array_equal(values[0], values[1])


@pytest.fixture
def saved(tmp_path):
    graph, fetches = program()
    path = tmp_path / "rows.mlir"
    path.write_text(graph.text())
    return path, ",".join(fetches)


def test_the_command_line(saved, tmp_path):
    path, fetches = saved
    np.save(tmp_path / "x.npy", FEEDS["x:0"])
    inputs = ["--input", "n=1", "--input", f"x=@{tmp_path / 'x.npy'}", "--input", "y=1.3"]
    for option in ([], ["--fast-math"]):
        out = tmp_path / "z.npz"
        line = [BINARY, "run", path, "--fetch", fetches, *inputs, "--tier", "jit", "--output", out]
        subprocess.run([*line, *option], check=True, capture_output=True, timeout=60)
        values = [np.load(out)[name] for name in fetches.split(",")]
        np.testing.assert_equal(values, run(tier="jit", fast_math=bool(option)))


def test_object_files(saved, tmp_path):
    path, fetches = saved
    values = []
    for name, options in (("exact", []), ("fast", ["--fast-math"])):
        folder = tmp_path / name
        folder.mkdir()
        call = Compiled(folder, path, options=["--fetch", fetches, *options])
        values.append(call(*(FEEDS[f"{key}:0"] for key in call.inputs)))
    are_close(*values)
    assert differ(*values)


@pytest.mark.parametrize("command", ["run", "bench", "compile"])
def test_help_tells_what_it_allows(command):
    done = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True, timeout=60)
    assert re.search(r"--fast-math .* docs/tiers.md lists the error bounds", done.stdout)
