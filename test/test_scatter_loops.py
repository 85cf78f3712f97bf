"""Scatters whose functions join several inputs, or use values from outside, against a reference
that follows the specification element by element."""

import itertools

import numpy as np
import pytest
from mlir_programs import function, runner, same

import treadle

BEST = """
  ^bb0(%p: tensor<f32>, %q: tensor<i32>, %s: tensor<f32>, %t: tensor<i32>):
    %is = stablehlo.compare GT, %s, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %x = stablehlo.select %is, %s, %p : tensor<i1>, tensor<f32>
    %y = stablehlo.select %is, %t, %q : tensor<i1>, tensor<i32>
    stablehlo.return %x, %y : tensor<f32>, tensor<i32>"""


def best(old, new):
    return new if new[0] > old[0] else old


def scattered(inputs, indices, updates, combine, numbers):
    """The inputs after all updates, in the order of the updates' elements."""
    window, inserted, to_operand, vector_dim, batching, indices_batching = numbers
    results = [x.copy() for x in inputs]
    shape, counts = inputs[0].shape, updates[0].shape
    along = [d for d in range(len(counts)) if d not in window]
    of_window = [d for d in range(len(shape)) if d not in inserted and d not in batching]
    for at in itertools.product(*map(range, counts)):
        place = [at[d] for d in along]
        if vector_dim < indices.ndim:
            vector = indices[(*place[:vector_dim], slice(None), *place[vector_dim:])]
        else:
            vector = [indices[tuple(place)]]
        start = [0] * len(shape)
        for k, d in enumerate(to_operand):
            start[d] = int(vector[k])
        for d, of in zip(batching, indices_batching, strict=True):
            start[d] = place[of - (of > vector_dim)]
        sizes = [1] * len(shape)
        goal = list(start)
        for d, of in zip(of_window, window, strict=True):
            sizes[d] = counts[of]
            goal[d] += at[of]
        if all(0 <= s <= n - z for s, n, z in zip(start, shape, sizes, strict=True)):
            goal = tuple(goal)
            new = combine(tuple(r[goal] for r in results), tuple(u[at] for u in updates))
            for result, value in zip(results, new, strict=True):
                result[goal] = value
    return results


def dimension_numbers(window, inserted, to_operand, vector_dim, batching, indices_batching):
    return (
        "scatter_dimension_numbers = #stablehlo.scatter<"
        f"update_window_dims = {window}, inserted_window_dims = {inserted}, "
        f"input_batching_dims = {batching}, scatter_indices_batching_dims = {indices_batching}, "
        f"scatter_dims_to_operand_dims = {to_operand}, index_vector_dim = {vector_dim}>"
    )


FORMS = {
    "scalars": ((5,), (7, 1), (7,), ([], [0], [0], 1, [], [])),
    "vectors left out": ((5,), (7,), (7,), ([], [0], [0], 1, [], [])),
    "rows": ((4, 3), (5, 1), (5, 3), ([1], [0], [0], 1, [], [])),
    "rows first": ((4, 3), (5, 1), (3, 5), ([0], [0], [0], 1, [], [])),
    "overlapping blocks": ((4, 5), (6, 2), (6, 2, 2), ([1, 2], [], [0, 1], 1, [], [])),
    "vectors first": ((4, 5), (2, 6), (6,), ([], [0, 1], [1, 0], 0, [], [])),
    "batches": ((3, 5), (3, 4, 1), (3, 4), ([], [1], [1], 2, [0], [0])),
    "of no updates": ((5,), (0, 1), (0,), ([], [0], [0], 1, [], [])),
    "a place": ((), (0,), (), ([], [], [], 0, [], [])),
}


def typed(shape, element):
    return "x".join([*map(str, shape), element])


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize("form", FORMS)
def test_inputs_are_joined(tmp_path, form, tier):
    shape, index_shape, counts, numbers = FORMS[form]
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 9, shape).astype(np.float32), np.zeros(shape, np.int32)
    at = rng.integers(-1, 6, index_shape).astype(np.int32)
    u = rng.integers(0, 20, counts).astype(np.float32)
    v = rng.integers(1, 99, counts).astype(np.int32)
    types = [
        typed(s, e)
        for s, e in [(shape, "f32"), (shape, "i32"), (index_shape, "i32")]
        + [(counts, "f32"), (counts, "i32")]
    ]
    body = f"""
    %r0, %r1 = "stablehlo.scatter"(%a, %b, %c, %d, %e) ({{{BEST}
    }}) {{{dimension_numbers(*numbers)}}} : ({", ".join(f"tensor<{t}>" for t in types)})
      -> (tensor<{types[0]}>, tensor<{types[1]}>)"""
    run = runner(tmp_path, tier=tier)
    wanted = scattered([a, b], at, [u, v], best, numbers)
    same(run(function(body, types, types[:2]), a, b, at, u, v), *wanted)


ONE = dimension_numbers([], [0], [0], 1, [], [])


def one_input(capture, compute):
    """A scatter of one input, by a function that captures what `capture` gives."""
    return f"""
    {capture}
    %r = "stablehlo.scatter"(%a, %c, %d) ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      {compute}
      stablehlo.return %x : tensor<f32>
    }}) {{{ONE}}} : (tensor<4xf32>, tensor<6x1xi32>, tensor<6xf32>) -> tensor<4xf32>"""


AT = np.int32([[1], [3], [1], [7], [-1], [1]])
OLD, NEW = np.float32([1, 2, 3, 4]), np.float32([10, 20, 30, 40, 50, 60])
TYPES = ["4xf32", "3xf32", "6x1xi32", "6xf32"]


@pytest.mark.parametrize("tier", ["interpret", "jit"])
def test_a_scalar_from_outside(tmp_path, tier):
    """Each time half of what is there, so that the order counts."""
    body = one_input(
        "%h = stablehlo.slice %b [1:2] : (tensor<3xf32>) -> tensor<1xf32>\n"
        "%half = stablehlo.reshape %h : (tensor<1xf32>) -> tensor<f32>",
        "%y = stablehlo.multiply %p, %half : tensor<f32>\n%x = stablehlo.add %y, %q : tensor<f32>",
    )
    run = runner(tmp_path, tier=tier)
    got = run(function(body, TYPES, ["4xf32"]), OLD, np.float32([9, 0.5, 9]), AT, NEW)
    same(got, np.float32([1, ((2 * 0.5 + 10) * 0.5 + 30) * 0.5 + 60, 3, 4 * 0.5 + 20]))


def test_a_tensor_from_outside(tmp_path):
    body = one_input(
        "",
        "%i = stablehlo.convert %p : (tensor<f32>) -> tensor<i32>\n"
        '%s = "stablehlo.dynamic_slice"(%b, %i) {slice_sizes = array<i64: 1>}'
        " : (tensor<3xf32>, tensor<i32>) -> tensor<1xf32>\n"
        "%x = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>",
    )
    got = runner(tmp_path)(function(body, TYPES, ["4xf32"]), OLD, np.float32([7, 8, 1]), AT, NEW)
    same(got, np.float32([1, 1, 3, 1]))  # 2, then 1, 8 and 1; and 4, then 1


def test_sizes_must_be_known(tmp_path):
    body = one_input("", "%x = stablehlo.add %p, %e : tensor<f32>")
    text = function(body, [*TYPES, "f32"], ["4xf32"]).replace("tensor<4xf32>", "tensor<?xf32>")
    with pytest.raises(treadle.UnimplementedError, match="with dynamic shapes and a function"):
        runner(tmp_path)(text, OLD, NEW[:3], AT, NEW, np.float32(1))


def test_dimension_numbers_that_dont_fit(tmp_path):
    body = one_input("", "%x = stablehlo.add %p, %e : tensor<f32>")
    text = function(body, [*TYPES, "f32"], ["4xf32"])
    text = text.replace("inserted_window_dims = [0]", "inserted_window_dims = []")
    with pytest.raises(
        treadle.InvalidArgumentError, match="have 0 numbers, but 'tensor<4xf32>' 1 dimensions"
    ):
        runner(tmp_path)(text, OLD, NEW[:3], AT, NEW, np.float32(1))
