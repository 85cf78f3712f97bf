"""Loops whose bodies have thousands of operations: compiled in pieces, with the same values."""

import os
import random

import numpy as np
import pytest

import treadle

SIZES = [3_000, 12_000] + ([100_000] if os.environ.get("TREADLE_LONG_TESTS") else [])
OPS = ["add", "multiply", "maximum", "subtract", "minimum"]


def body(kind, count):
    """Lines of a body that work on two tensors, and their type."""
    chosen = random.Random(f"{kind} {count}")
    shape = {"vectors": "40x", "slices": "6x"}.get(kind, "")
    values, lines = ["%x0", "%x1"], []
    reach = 4 if kind != "far" else count  # how far back a value is used
    for i in range(count):
        name, a, b = f"%v{i}", values[-1], chosen.choice(values[-reach:])
        if kind == "slices" and i % 8 == 0:
            start, part = f"tensor<{shape}f32>, tensor<i32>", "tensor<5xf32>"
            lines += [
                f"%s{i} = stablehlo.dynamic_slice {a}, %i, sizes = [5] : ({start}) -> {part}",
                f"%p{i} = stablehlo.slice {b} [0:1] : (tensor<6xf32>) -> tensor<1xf32>",
                f"{name} = stablehlo.concatenate %p{i}, %s{i}, dim = 0 : "
                "(tensor<1xf32>, tensor<5xf32>) -> tensor<6xf32>",
            ]
        elif kind == "functions" and i % 16 == 0:
            lines.append(f"{name} = stablehlo.sine {a} : tensor<f32>")
        else:
            lines.append(f"{name} = stablehlo.{chosen.choice(OPS)} {a}, {b} : tensor<{shape}f32>")
        values.append(name)
    for k in (0, 1):
        lines.append(f"%r{k} = stablehlo.tanh {values[-1 - k]} : tensor<{shape}f32>")
    return lines, f"tensor<{shape}f32>"


def program(kind, count):
    lines, t = body(kind, count)
    return f"""
func.func @main(%n: tensor<i32>, %a: {t}, %b: {t}) -> ({t}, {t}) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:3 = stablehlo.while(%i = %zero, %x0 = %a, %x1 = %b) : tensor<i32>, {t}, {t}
  cond {{
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    {
        '''
    '''.join(lines)
    }
    stablehlo.return %next, %r0, %r1 : tensor<i32>, {t}, {t}
  }}
  return %l#1, %l#2 : {t}, {t}
}}
""".encode()


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("kind", ["chain", "far", "vectors", "slices", "functions"])
def test_long_bodies_are_compiled_and_give_the_same(kind, count):
    if kind in ("vectors", "slices"):
        count //= 4  # each is many scalars
    text = program(kind, count)
    rng = np.random.default_rng(1)
    shape = {"vectors": (40,), "slices": (6,)}.get(kind, ())
    feeds = {"arg0": np.int32(3)}
    feeds |= {f"arg{k}": rng.uniform(0.1, 0.5, shape).astype(np.float32) for k in (1, 2)}
    results = []
    for tier in ("interpret", "jit"):
        session = treadle.Session(text, tier=tier, statistics=True)
        with np.errstate(all="ignore"):
            results.append(session.run(["while:1", "while:2"], feeds))
    statistics = session.statistics()
    assert (statistics.compiled_calls, statistics.bails) == (1, 0), statistics.last_failure
    for got, want in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
