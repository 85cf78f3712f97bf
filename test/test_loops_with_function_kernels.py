"""Loops with an op that code generation leaves to a kernel that calls functions: long sorts, and
reductions and sorts of unusual kinds. The loop is compiled around it."""

import numpy as np
import pytest

import treadle

# Sorts, reverses and perturbs a state n times.
SORTS = """
module @m {{
  func.func public @main(%n: tensor<i32>, %x: tensor<{size}x{dtype}>) -> tensor<{size}x{dtype}> {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %step = stablehlo.constant dense<{step}> : tensor<{size}x{dtype}>
    %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<{size}x{dtype}>
    cond {{
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %negated = stablehlo.negate %s : tensor<{size}x{dtype}>
      %sorted = "stablehlo.sort"(%negated) <{{dimension = {dimension} : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<{dtype}>, %b: tensor<{dtype}>):
        %less = stablehlo.compare {how}, %a, %b : (tensor<{dtype}>, tensor<{dtype}>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }}) : (tensor<{size}x{dtype}>) -> tensor<{size}x{dtype}>
      %next = stablehlo.add %sorted, %step : tensor<{size}x{dtype}>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<{size}x{dtype}>
    }}
    return %r#1 : tensor<{size}x{dtype}>
  }}
}}
"""

# The greatest elements, their columns, and a start that the loop changes.
GREATEST = """
module @m {{
  func.func public @main(%n: tensor<i32>, %x: tensor<16x82xf32>)
      -> (tensor<{kept}f32>, tensor<{kept}i32>) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %small = stablehlo.constant dense<-2.0> : tensor<f32>
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %v0 = stablehlo.constant dense<0.0> : tensor<{kept}f32>
    %p0 = stablehlo.constant dense<0> : tensor<{kept}i32>
    %at = stablehlo.iota dim = 1 : tensor<16x82xi32>
    %r:4 = stablehlo.while(%i = %zero, %s = %small, %v = %v0, %p = %p0)
        : tensor<i32>, tensor<f32>, tensor<{kept}f32>, tensor<{kept}i32>
    cond {{
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %m:2 = stablehlo.reduce(%x init: %s), (%at init: %i) across dimensions = {dimensions}
          : (tensor<16x82xf32>, tensor<16x82xi32>, tensor<f32>, tensor<i32>)
          -> (tensor<{kept}f32>, tensor<{kept}i32>)
       reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {{
        %wins = stablehlo.compare GE, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %value = stablehlo.select %wins, %a, %c : tensor<i1>, tensor<f32>
        %place = stablehlo.select %wins, %b, %d : tensor<i1>, tensor<i32>
        stablehlo.return %value, %place : tensor<f32>, tensor<i32>
      }}
      %t = stablehlo.add %s, %half : tensor<f32>
      %w = stablehlo.add %v, %m#0 : tensor<{kept}f32>
      %q = stablehlo.add %p, %m#1 : tensor<{kept}i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t, %w, %q
        : tensor<i32>, tensor<f32>, tensor<{kept}f32>, tensor<{kept}i32>
    }}
    return %r#2, %r#3 : tensor<{kept}f32>, tensor<{kept}i32>
  }}
}}
"""


def values_of(path, tier, n, x):
    model = treadle.load(path, tier=tier, statistics=True)
    signature = model.signatures["main"]
    names = list(signature.inputs)
    results = [signature(**dict(zip(names, (np.int32(n), x), strict=True))) for _ in range(3)]
    counts = model.session.statistics()
    assert not counts.failed_compilations, counts.last_failure
    assert not counts.bails
    assert counts.compiled_calls == (3 if tier == "jit" else 0)
    for result in results[1:]:
        np.testing.assert_equal(result, results[0])
    return list(results[0].values())


@pytest.mark.parametrize(
    ("dtype", "how"),
    [("f32", "LT"), ("f32", "GT"), ("i32", "LT"), ("i32", "GE"), ("f32", "NE")],
)
@pytest.mark.parametrize(("size", "dimension"), [("600", 0), ("3x700", 1), ("520x2", 0)])
def test_loops_with_long_sorts_are_compiled(tmp_path, dtype, how, size, dimension):
    path = tmp_path / "sorts.mlir"
    step = "0.75" if dtype == "f32" else "3"
    path.write_text(SORTS.format(size=size, dtype=dtype, how=how, dimension=dimension, step=step))
    shape = tuple(map(int, size.split("x")))
    x = np.random.default_rng(0).integers(-500, 500, shape)
    x = x.astype(np.float32 if dtype == "f32" else np.int32)
    interpreted, compiled = (values_of(path, tier, 5, x) for tier in ("interpret", "jit"))
    np.testing.assert_array_equal(interpreted[0], compiled[0])
    if how in ("LT", "GT"):
        ordered = np.sort(-x, dimension)
        first = values_of(path, "jit", 1, x)[0]
        expected = ordered if how == "LT" else np.flip(ordered, dimension)
        np.testing.assert_array_equal(first, expected + x.dtype.type(float(step)))


@pytest.mark.parametrize(
    ("dimensions", "kept"), [([1], "16x"), ([0], "82x"), ([0, 1], ""), ([1, 0], "")]
)
def test_reductions_start_from_values_of_the_loop(tmp_path, dimensions, kept):
    path = tmp_path / "greatest.mlir"
    path.write_text(GREATEST.format(dimensions=dimensions, kept=kept))
    x = np.sin(np.arange(16 * 82, dtype=np.float32)).reshape(16, 82)
    interpreted, compiled = (values_of(path, tier, 8, x) for tier in ("interpret", "jit"))
    for one, other in zip(interpreted, compiled, strict=True):
        np.testing.assert_array_equal(one, other)
    starts = np.float32([-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5])
    greatest = x.max(tuple(dimensions))
    np.testing.assert_allclose(
        compiled[0], sum(np.maximum(start, greatest) for start in starts), rtol=1e-6
    )
    assert interpreted[1].max() > 0
