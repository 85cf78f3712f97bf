"""Ops whose result size depends on elements, and ops that select elements by masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._indexing import nonzero
from ._layers import uniform
from ._reductions import sorted_along
from ._rules import rule
from ._values import broadcast
from ._writer import Dim, Tensor, Writer, axis_of

rule("nonzero")(nonzero)


@rule("nonzero_static")
def _nonzero_static(w: Writer, x: Tensor, *, size: Dim, fill_value: int = -1) -> Output:
    rest = w.full([size, x.rank], fill_value, dtypes.int64)
    return w.op("ConcatV2", [nonzero(w, x), rest], w.indices(0))[:size]


@rule("nonzero_numpy", "where.default")
def _nonzero_columns(w: Writer, x: Tensor) -> list[Output]:
    found = w.op("Where", x if x.rank else w.reshape(x, [1]))
    return [found[:, axis] for axis in range(max(x.rank, 1))]


def _stretched(w: Writer, x: Tensor, mask: Tensor) -> tuple[Output, Output, list[Dim]]:
    """Broadcasts both to their common shape and flattens them."""
    dims = w.dims(broadcast([x.meta.shape, mask.meta.shape]))
    whole, truth = (w.reshape(w.broadcast(t, dims), [-1]) for t in (x, mask))
    return whole, truth, dims


@rule("masked_select")
def _masked_select(w: Writer, x: Tensor, mask: Tensor) -> Output:
    whole, truth, _ = _stretched(w, x, mask)
    places = w.reshape(w.op("Where", truth), [-1])
    return w.op("GatherV2", whole, places, w.indices(0))


@rule("masked_scatter")
def _masked_scatter(w: Writer, x: Tensor, mask: Tensor, source: Tensor) -> Output:
    """Writes the elements of a source, in order, wherever a mask is true."""
    whole, truth, dims = _stretched(w, x, mask)
    places = w.op("Where", truth)
    count = w.op("Shape", places, out_type="int64")[:1]
    values = w.op("Slice", w.reshape(source, [-1]), w.indices([0]), count)
    return w.reshape(w.op("TensorScatterUpdate", whole, places, values), dims)


@rule("_local_scalar_dense", "item")
def _item(w: Writer, x: Tensor) -> Output:
    """Returns a number as a Python number."""
    number = w.reshape(x, [])
    if x.dtype == dtypes.bool_:
        return number
    return w.cast(number, dtypes.float64 if x.dtype.is_floating_point else dtypes.int64)


# ---- duplicates


def _run_starts(w: Writer, x: Output) -> Output:
    """Returns for a vector whether each element differs from the previous one."""
    first = w.op("OnesLike", w.op("Equal", x[:1], x[:1]))
    return w.op("ConcatV2", [first, w.op("NotEqual", x[1:], x[:-1])], w.indices(0))


def _runs(w: Writer, x: Output) -> tuple[Output, Output, Output]:
    """Returns the first element of each run of equal elements, the run of each element, and the
    lengths of the runs."""
    is_start = _run_starts(w, x)
    starts = w.reshape(w.op("Where", is_start), [-1])
    run = w.op("Cumsum", w.cast(is_start, dtypes.int64), w.indices(0)) - np.int64(1)
    count = w.op("Shape", starts, out_type="int64")[0]
    lengths = w.op("UnsortedSegmentSum", w.op("OnesLike", run), run, count)
    return w.op("GatherV2", x, starts, w.indices(0)), run, lengths


@rule("unique_consecutive")
def _unique_consecutive(
    w: Writer,
    x: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Output, Output, Output]:
    if dim is not None and x.rank != 1:
        raise UnimplementedError("runs of equal parts along a dimension")
    values, run, lengths = _runs(w, w.reshape(x, [-1]))
    return values, w.reshape(run, x.shape), lengths


@rule("_unique2", "_unique")
def _unique(
    w: Writer,
    x: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Output, ...]:
    """Removes duplicates, which are adjacent after sorting."""
    flat = w.reshape(x, [-1])
    values, order = sorted_along(w, Tensor(w, flat, x.meta.flat()))
    distinct, run, lengths = _runs(w, values)
    column = w.op("ExpandDims", order, w.indices(1))
    inverse = w.op("ScatterNd", column, run, w.op("Shape", flat, out_type="int64"))
    return (distinct, w.reshape(inverse, x.shape), lengths)[: len(w.result)]


@rule("unique_dim")
def _unique_along(
    w: Writer,
    x: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Output, ...]:
    if x.rank != 1:
        raise UnimplementedError("equal parts along a dimension")
    return _unique(w, x)


# ---- repetitions, and orders


@rule("repeat_interleave.Tensor")
def _repeats(w: Writer, repeats: Tensor, *, output_size: Any = None) -> Output:
    """Returns each index i repeats[i] times."""
    ends = w.op("Cumsum", w.cast(repeats, dtypes.int64), w.indices(0))
    count = w.op("Sum", w.cast(repeats, dtypes.int64), w.indices([0]))
    wanted = w.op("ExpandDims", w.range(count), w.indices(0))
    rows = w.op("ExpandDims", ends, w.indices(0))
    return w.reshape(w.op("UpperBound", rows, wanted, out_type="int64"), [-1])


@rule("repeat_interleave.self_Tensor")
def _repeat_parts(
    w: Writer, x: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: Any = None
) -> Output:
    value = w.reshape(x, [-1]) if dim is None else x.out
    axis = 0 if dim is None else axis_of(dim, x.rank)
    counts = repeats
    if repeats.rank == 0 or repeats.meta.shape[0] == 1:
        extent = w.op("Shape", value, out_type="int64")[axis : axis + 1]
        same = w.op("BroadcastTo", w.reshape(repeats, [-1]), extent)
        counts = Tensor(w, same, repeats.meta)
    return w.op("GatherV2", value, _repeats(w, counts), w.indices(axis))


@rule("randperm", draws=True)
def _randperm(w: Writer, n: Dim, **_: Any) -> Output:
    drawn = uniform(w, [w.dim(n)], dtypes.float32)
    count = w.cast(w.dim(n), dtypes.int32)
    return w.op("TopKV2", drawn, count, sorted=True)[1]
