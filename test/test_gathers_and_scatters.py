"""Gathers and scatters of random dimension numbers, interpreted, against references that follow the
specification element by element."""

import itertools

import numpy as np
import pytest
from mlir_programs import function, runner, same
from test_scatter_loops import FORMS, dimension_numbers, scattered, typed

COMBINATIONS = {
    "add": lambda old, new: old + new,
    "multiply": lambda old, new: old * new,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "second": lambda old, new: new,
    "subtract": lambda old, new: old - new,
}
MORE = {
    **FORMS,
    "many": ((40,), (1300, 1), (1300,), ([], [0], [0], 1, [], [])),
    "many rows": ((9, 6), (700, 1), (700, 6), ([1], [0], [0], 1, [], [])),
    "many columns": ((6, 9), (700, 1), (6, 700), ([0], [1], [1], 1, [], [])),
    "overlapping columns": ((6, 9), (40, 2), (3, 40, 2), ([0, 2], [], [1, 0], 1, [], [])),
    "empty windows": (
        (4, 7, 5, 3),
        (4, 4),
        (4, 2, 0, 1),
        ([1, 2, 3], [0], [0, 1, 2, 3], 1, [], []),
    ),
    "blocks in the middle": ((3, 9, 2), (5, 4, 1), (5, 3, 4, 2), ([1, 3], [1], [1], 2, [], [])),
}


def scatter(op, form):
    shape, index_shape, counts, numbers = MORE[form]
    types = [typed(shape, "f32"), typed(index_shape, "i32"), typed(counts, "f32")]
    compute = f"%x = stablehlo.{op} %p, %q : tensor<f32>" if op != "second" else ""
    body = f"""
    %r = "stablehlo.scatter"(%a, %b, %c) ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      {compute}
      stablehlo.return {"%q" if op == "second" else "%x"} : tensor<f32>
    }}) {{{dimension_numbers(*numbers)}}} : ({", ".join(f"tensor<{t}>" for t in types)})
      -> tensor<{types[0]}>"""
    return function(body, types, types[:1])


@pytest.mark.parametrize("op", COMBINATIONS)
@pytest.mark.parametrize("form", MORE)
def test_scatters(tmp_path, form, op):
    shape, index_shape, counts, numbers = MORE[form]
    rng = np.random.default_rng(len(form))
    a = rng.integers(1, 5, shape).astype(np.float32)
    at = rng.integers(-1, max([*shape, 5]) + 1, index_shape).astype(np.int32)
    u = rng.choice(np.float32([0.5, 1, 2, -1]), counts)

    def combine(old, new):
        return (COMBINATIONS[op](old[0], new[0]),)

    wanted = scattered([a], at, [u], combine, numbers)
    same(runner(tmp_path, tier="interpret")(scatter(op, form), a, at, u), *wanted)


def gathered(x, indices, numbers, sizes):
    offset, collapsed, to_operand, vector_dim, batching, indices_batching = numbers
    batch = [n for d, n in enumerate(indices.shape) if d != vector_dim]
    of_slice = [d for d in range(x.ndim) if d not in collapsed and d not in batching]
    rest = iter(batch)
    rank = len(batch) + len(of_slice)
    shape = [sizes[of_slice[offset.index(d)]] if d in offset else next(rest) for d in range(rank)]
    result = np.zeros(shape, x.dtype)
    for at in itertools.product(*map(range, shape)):
        place = [at[d] for d in range(rank) if d not in offset]
        vector = (
            indices[(*place[:vector_dim], slice(None), *place[vector_dim:])]
            if vector_dim < indices.ndim
            else [indices[tuple(place)]]
        )
        start = [0] * x.ndim
        for k, d in enumerate(to_operand):
            start[d] = min(max(int(vector[k]), 0), x.shape[d] - sizes[d])
        for d, of in zip(batching, indices_batching, strict=True):
            start[d] = place[of - (of > vector_dim)]
        for d, o in zip(of_slice, offset, strict=True):
            start[d] += at[o]
        result[at] = x[tuple(start)]
    return result


GATHERS = {
    "elements": ((40,), (1300, 1), ([], [0], [0], 1, [], []), [1]),
    "vectors left out": ((40,), (7, 3), ([], [0], [0], 2, [], []), [1]),
    "pairs": ((6, 9), (700, 2), ([], [0, 1], [0, 1], 1, [], []), [1, 1]),
    "pairs, swapped, first": ((6, 9), (2, 7), ([], [0, 1], [1, 0], 0, [], []), [1, 1]),
    "vectors in the middle": ((6, 9), (3, 2, 5), ([], [0, 1], [0, 1], 1, [], []), [1, 1]),
    "rows": ((9, 6), (700, 1), ([1], [0], [0], 1, [], []), [1, 6]),
    "columns": ((6, 9), (700, 1), ([0], [1], [1], 1, [], []), [6, 1]),
    "parts of rows": ((9, 6), (7, 2), ([1], [0], [0, 1], 1, [], []), [1, 4]),
    "blocks": ((5, 7, 3), (4, 3, 2), ([1, 2, 3], [], [1, 0], 2, [], []), [2, 3, 3]),
    "blocks around": ((5, 7, 3), (4, 3, 1), ([0, 3], [1], [1], 2, [], []), [5, 1, 3]),
    "batches": ((4, 9), (4, 300, 1), ([], [1], [1], 2, [0], [0]), [1, 1]),
    "batches behind": ((9, 4), (30, 4, 1), ([], [0], [0], 2, [1], [1]), [1, 1]),
    "batches of rows": ((4, 9, 3), (4, 5, 1), ([2], [1], [1], 2, [0], [0]), [1, 1, 3]),
    "two batches": ((2, 3, 9), (3, 2, 5, 1), ([], [2], [2], 3, [0, 1], [1, 0]), [1, 1, 1]),
    "nothing": ((5, 4), (0, 1), ([1], [0], [0], 1, [], []), [1, 4]),
}


@pytest.mark.parametrize("element", ["f32", "i8", "i64", "i1"])
@pytest.mark.parametrize("form", GATHERS)
def test_gathers(tmp_path, form, element):
    shape, index_shape, numbers, sizes = GATHERS[form]
    rng = np.random.default_rng(len(form))
    dtypes = {"f32": np.float32, "i8": np.int8, "i64": np.int64, "i1": bool}
    x = rng.integers(0, 99, shape).astype(dtypes[element])
    at = rng.integers(-2, max(shape) + 2, index_shape).astype(np.int32)
    wanted = gathered(x, at, numbers, sizes)
    offset, collapsed, to_operand, vector_dim, batching, indices_batching = numbers
    types = [typed(shape, element), typed(index_shape, "i32"), typed(wanted.shape, element)]
    body = f"""
    %r = "stablehlo.gather"(%a, %b) {{dimension_numbers = #stablehlo.gather<
      offset_dims = {offset}, collapsed_slice_dims = {collapsed},
      operand_batching_dims = {batching},
      start_indices_batching_dims = {indices_batching}, start_index_map = {to_operand},
      index_vector_dim = {vector_dim}>, slice_sizes = array<i64: {str(sizes)[1:-1]}>}}
      : (tensor<{types[0]}>, tensor<{types[1]}>) -> tensor<{types[2]}>"""
    run = runner(tmp_path, tier="interpret")
    same(run(function(body, types[:2], types[2:]), x, at), wanted)
