"""Ops that read or write elements at positions in tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._rules import rule
from ._values import Expr, Meta, broadcast
from ._writer import Dim, Scalar, Tensor, Value, Writer, axis_of, is_one, is_static, product


def _from_start(w: Writer, index: Output, extent: Dim) -> Output:
    """Converts positions that may count from the end to positions from the start."""
    dtype = dtypes.named(index.dtype)
    is_behind = w.op("Less", index, w.cast(0, dtype))
    return w.op("SelectV2", is_behind, index + w.cast(extent, dtype), index)


@rule("index_select")
def _index_select(w: Writer, x: Tensor, dim: int, index: Tensor) -> Output:
    if x.rank == 0:
        return w.reshape(x, [])
    return w.op("GatherV2", x, index, w.indices(axis_of(dim, x.rank)))


# ---- one index for each element, along one dimension


def _flat_places(w: Writer, index: Tensor, dims: Sequence[Dim], axis: int) -> Output:
    """Returns flat positions in a tensor of shape `dims` for the positions `index` along an axis:
    the other coordinates are those of the index itself. An index out of range becomes a flat
    position out of range, which the op that uses it rejects."""
    strides = [product(dims[i + 1 :]) for i in range(len(dims))]
    numbers = w.cast(index, dtypes.int64)
    places = numbers * strides[axis]
    for other, extent in enumerate(index.shape):
        if other == axis or (isinstance(extent, int) and extent == 1):
            continue
        column = [1] * index.rank
        column[other] = -1
        places = places + w.reshape(w.range(extent) * strides[other], column)
    if index.rank > 1:
        extent = w.cast(dims[axis], dtypes.int64)
        fits = w.op("LogicalAnd", numbers >= np.int64(0), numbers < extent)
        places = w.op("SelectV2", fits, places, w.indices(-1))
    return w.reshape(places, [-1])


@rule("gather")
def _gather(w: Writer, x: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Output:
    if x.rank == 0 or index.rank == 0:
        return w.op("GatherV2", w.reshape(x, [-1]), index, w.indices(0))
    places = _flat_places(w, index, x.shape, axis_of(dim, x.rank))
    taken = w.op("GatherV2", w.reshape(x, [-1]), places, w.indices(0))
    return w.reshape(taken, index.shape)


def _leading_part(w: Writer, x: Value, index: Tensor) -> Output:
    """Returns the part of a source that an index covers, which may be smaller."""
    value = x.out if isinstance(x, Tensor) else x
    if isinstance(x, Tensor) and is_static(x.shape) and x.shape == index.shape:
        return value
    return w.op("Slice", value, w.indices([0] * index.rank), w.integers(index.shape))


def _scattered(w: Writer, op: str, x: Tensor, dim: int, index: Tensor, source: Output) -> Output:
    if x.rank == 0:
        return w.reshape(
            w.op(op, w.reshape(x, [1]), w.reshape(index, [1, 1]), w.reshape(source, [1])), []
        )
    places = _flat_places(w, index, x.shape, axis_of(dim, x.rank))
    column = w.op("ExpandDims", places, w.indices(1))
    out = w.op(op, w.reshape(x, [-1]), column, w.reshape(source, [-1]))
    return w.reshape(out, x.shape)


@rule("scatter.src")
def _scatter(w: Writer, x: Tensor, dim: int, index: Tensor, src: Tensor) -> Output:
    source = _leading_part(w, src, index)
    return _scattered(w, "TensorScatterUpdate", x, dim, index, source)


@rule("scatter.value")
def _scatter_value(w: Writer, x: Tensor, dim: int, index: Tensor, value: Scalar) -> Output:
    source = w.full(index.shape, value, x.dtype)
    return _scattered(w, "TensorScatterUpdate", x, dim, index, source)


@rule("scatter_add")
def _scatter_add(w: Writer, x: Tensor, dim: int, index: Tensor, src: Tensor) -> Output:
    return _scattered(w, "TensorScatterAdd", x, dim, index, _leading_part(w, src, index))


_SCATTERS = {
    "add": "TensorScatterAdd",
    "sum": "TensorScatterAdd",
    "amax": "TensorScatterMax",
    "amin": "TensorScatterMin",
}


@rule("scatter.reduce", "scatter_reduce.two")
def _scatter_reduce(
    w: Writer,
    x: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str = "",
    *,
    include_self: bool = True,
) -> Output:
    source = _leading_part(w, src, index)
    if x.dtype == dtypes.bool_:  # numbers of true elements
        whole = dtypes.int32
        meta = dataclasses.replace(x.meta, dtype=whole)
        x, source = Tensor(w, w.cast(x, whole), meta), w.cast(source, whole)
    if reduce in _SCATTERS and include_self:
        return _scattered(w, _SCATTERS[reduce], x, dim, index, source)
    return _reduced_parts(w, reduce, x, dim, index, source, include_self)


_SEGMENTS = {
    "sum": "UnsortedSegmentSum",
    "mean": "UnsortedSegmentSum",
    "prod": "UnsortedSegmentProd",
    "amax": "UnsortedSegmentMax",
    "amin": "UnsortedSegmentMin",
}
_TOGETHER = {"sum": "AddV2", "mean": "AddV2", "prod": "Mul", "amax": "Maximum", "amin": "Minimum"}


def segments(w: Writer, how: str, values: Output, places: Output, count: Output) -> Output:
    """Reduces rows with the same position to one; negative positions are left out. Floating-point
    extremes start at an infinity, since all elements may be infinite."""
    if how not in _EXTREMES or not values.dtype.startswith(("float", "bfloat")):
        return w.op(_SEGMENTS[how], values, places, count)
    dtype = dtypes.named(values.dtype)
    one = w.cast(1, dtypes.int64)
    shape = w.op("Shape", values, out_type="int64")[1:]
    spare = w.op("ConcatV2", [w.op("ExpandDims", count + one, w.indices(0)), shape], w.indices(0))
    start = w.op("Fill", spare, w.cast(float("-inf" if how == "amax" else "inf"), dtype))
    kept = w.op("SelectV2", places < w.cast(0, dtypes.int64), count, places)
    column = w.op("ExpandDims", kept, w.indices(1))
    return w.op(_EXTREMES[how], start, column, values)[:count]


_EXTREMES = {"amax": "TensorScatterMax", "amin": "TensorScatterMin"}


def _reduced_parts(
    w: Writer, how: str, x: Tensor, dim: int, index: Tensor, source: Output, include_self: bool
) -> Output:
    """Reduces the values for each position first; positions without values are unchanged."""
    if how not in _SEGMENTS:
        raise UnimplementedError(f"reduce='{how}'")
    whole = w.reshape(x, [-1])
    count = w.cast(product(x.shape), dtypes.int64)
    places = (
        _flat_places(w, index, x.shape, axis_of(dim, x.rank))
        if x.rank and index.rank
        else w.reshape(w.cast(index, dtypes.int64), [-1])
    )
    came = w.op("UnsortedSegmentSum", w.op("OnesLike", places), places, count)
    parts = segments(w, how, w.reshape(source, [-1]), places, count)
    return w.reshape(_joined(w, how, x, whole, parts, came, include_self), x.shape)


def _joined(
    w: Writer, how: str, x: Tensor, whole: Output, parts: Output, came: Output, include_self: bool
) -> Output:
    """Replaces elements that have updates by these, or combines both."""
    is_met = came > w.cast(0, dtypes.int64)
    if include_self:
        parts = w.op(_TOGETHER[how], whole, parts)
        came = came + w.cast(1, dtypes.int64)
    if how == "mean":
        divide = "RealDiv" if x.dtype.is_floating_point else "FloorDiv"
        parts = w.op(divide, parts, w.op("Maximum", w.cast(came, x.dtype), w.cast(1, x.dtype)))
    return w.op("SelectV2", is_met, parts, whole)


# ---- one index for each slice, along one dimension


def _first(x_rank: int, axis: int) -> tuple[list[int], list[int]]:
    """Returns a permutation that moves an axis to the front, and its inverse."""
    order = [axis, *(i for i in range(x_rank) if i != axis)]
    return order, [order.index(i) for i in range(x_rank)]


def _with_rows(w: Writer, op: str, x: Tensor, dim: int, index: Tensor, source: Output) -> Output:
    if x.rank == 0:  # as a vector with one element
        whole, rows = (w.reshape(value, [-1]) for value in (x, source))
        return w.reshape(w.op(op, whole, w.reshape(index, [-1, 1]), rows), [])
    order, back = _first(x.rank, axis_of(dim, x.rank))
    places = w.reshape(index, [-1, 1])
    out = w.op(op, w.transpose(x, order), places, w.transpose(source, order))
    return w.transpose(out, back)


@rule("index_add")
def _index_add(
    w: Writer, x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1
) -> Output:
    value = source.out if isinstance(alpha, int | float) and alpha == 1 else (
        source.out * w.cast(alpha, source.dtype))  # fmt: skip
    return _with_rows(w, "TensorScatterAdd", x, dim, index, value)


@rule("index_reduce")
def _index_reduce(
    w: Writer,
    x: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Output:
    rank = max(x.rank, 1)
    order, back = _first(rank, axis_of(dim, rank))
    dims = x.shape or [1]
    count = w.cast(dims[order[0]], dtypes.int64)
    column = [-1, *[1] * (rank - 1)]
    whole = w.transpose(x if x.rank else w.reshape(x, [1]), order)
    values = w.transpose(source if source.rank else w.reshape(source, [1]), order)
    places = w.reshape(w.cast(index, dtypes.int64), [-1])
    came = w.op("UnsortedSegmentSum", w.op("OnesLike", places), places, count)
    parts = segments(w, reduce, values, places, count)
    out = _joined(w, reduce, x, whole, parts, w.reshape(came, column), include_self)
    return w.transpose(out, back) if x.rank else w.reshape(out, [])


@rule("index_copy")
def _index_copy(w: Writer, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Output:
    return _with_rows(w, "TensorScatterUpdate", x, dim, index, source.out)


@rule("index_fill.int_Scalar")
def _index_fill(w: Writer, x: Tensor, dim: int, index: Tensor, value: Scalar) -> Output:
    dims = x.shape or [1]
    dims[axis_of(dim, x.rank)] = index.shape[0] if index.rank else 1
    source = w.full(dims, value, x.dtype)
    places = _from_start(w, w.reshape(index, [-1]), (x.shape or [1])[axis_of(dim, x.rank)])
    rows = Tensor(w, places, Meta(index.dtype, (index.shape[0] if index.rank else 1,)))
    return _with_rows(w, "TensorScatterUpdate", x, dim, rows, source)


# ---- x[i, :, j]


class _Places:
    """Indices of some dimensions of a tensor, brought to its front.

    Attributes:
        order: the dimensions, those with an index first.
        where: [..., number of indices], coordinates.
        shape: of the indices, once stretched to fit each other.
        at: before which of the other dimensions that shape comes in a result.
    """

    def __init__(self, w: Writer, x: Tensor, indices: Sequence[Tensor | None]) -> None:
        given = [i for i, index in enumerate(indices) if index is not None]
        self.order = [*given, *(i for i in range(x.rank) if i not in given)]
        self.count = len(given)
        # If the indexed dimensions are not adjacent, theirs come first.
        together = given == list(range(given[0], given[-1] + 1))
        self.at = given[0] if together else 0
        tensors = [t for t in indices if t is not None]
        self.shape = w.dims(broadcast([t.meta.shape for t in tensors]))
        columns = []
        for axis, index in zip(given, tensors, strict=True):
            place = _from_start(w, w.cast(index, dtypes.int64), x.shape[axis])
            same = is_static([*index.shape, *self.shape]) and index.shape == self.shape
            columns.append(place if same else w.broadcast(place, self.shape))
        self.where = w.op("Pack", columns, axis=len(self.shape))

    def out_order(self, rank: int) -> list[int]:
        """Moves dimensions from [places..., others...] to their positions."""
        width, others = len(self.shape), rank - self.count
        first = list(range(width, width + self.at))
        rest = list(range(width + self.at, width + others))
        return [*first, *range(width), *rest]


def nonzero(w: Writer, x: Tensor) -> Output:
    """Returns the coordinates of nonzero elements, one row for each."""
    if x.rank:
        return w.op("Where", x)
    return w.op("Where", w.reshape(x, [1]))[:, :0]


def _is_mask(index: Tensor | None) -> bool:
    return index is not None and index.dtype in (dtypes.bool_, dtypes.uint8)


def _by_number(w: Writer, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Replaces bool masks by integer indices, one for each of their dimensions."""
    found: list[Tensor | None] = []
    for index in indices:
        if index is None or not _is_mask(index):
            found.append(index)
            continue
        places = nonzero(w, index)
        count = Expr("Symbol", (places.name,))
        w.bind(count, lambda places=places: w.op("Shape", places, out_type="int64")[0])
        meta = Meta(dtypes.int64, (count,))
        found += [Tensor(w, places[:, axis], meta) for axis in range(index.rank)]
    return found


@rule("index.Tensor", "_unsafe_index.Tensor")
def _index(w: Writer, x: Tensor, indices: Sequence[Tensor | None]) -> Output:
    if any(isinstance(d, int) and d == 0 for d in w.result.shape):
        return w.full(w.dims(w.result.shape), 0, x.dtype)
    indices = _by_number(w, indices)
    tensors = [i for i in indices if i is not None]
    if len(tensors) == 1:
        axis = next(i for i, index in enumerate(indices) if index is not None)
        if tensors[0].dtype in (dtypes.int32, dtypes.int64):
            places = _from_start(w, tensors[0].out, x.shape[axis])
            return w.op("GatherV2", x, places, w.indices(axis))
    found = _Places(w, x, indices)
    taken = w.op("GatherNd", w.transpose(x, found.order), found.where)
    return w.transpose(taken, found.out_order(x.rank))


@rule("index_put", "_unsafe_index_put")
def _index_put(
    w: Writer,
    x: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Output:
    mask = indices[0]
    if mask is not None and mask.dtype == dtypes.bool_ and len(indices) == 1:
        if all(map(is_one, values.meta.shape)):
            return _put_one(w, x, mask, values, accumulate)
    indices = _by_number(w, indices)
    found = _Places(w, x, indices)
    others = [x.shape[i] for i in found.order[found.count :]]
    dims = [*others[: found.at], *found.shape, *others[found.at :]]
    order = found.out_order(x.rank)
    back = [order.index(i) for i in range(len(order))]
    source = w.transpose(w.broadcast(values, dims), back)
    op = "TensorScatterAdd" if accumulate else "TensorScatterUpdate"
    out = w.op(op, w.transpose(x, found.order), found.where, source)
    return w.transpose(out, [found.order.index(i) for i in range(x.rank)])


def _put_one(w: Writer, x: Tensor, mask: Tensor, values: Tensor, accumulate: bool) -> Output:
    """Writes one number wherever a mask over the leading dimensions is true."""
    wide = w.reshape(mask, [*mask.shape, *[1] * (x.rank - mask.rank)])
    number = w.reshape(values, [])
    return w.op("SelectV2", wide, x.out + number if accumulate else number, x)


@rule("take")
def _take(w: Writer, x: Tensor, index: Tensor) -> Output:
    places = _from_start(w, index.out, product(x.shape))
    return w.op("GatherV2", w.reshape(x, [-1]), places, w.indices(0))


@rule("put")
def _put(w: Writer, x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Output:
    places = _from_start(w, w.reshape(index, [-1]), product(x.shape))
    op = "TensorScatterAdd" if accumulate else "TensorScatterUpdate"
    column = w.op("ExpandDims", places, w.indices(1))
    out = w.op(op, w.reshape(x, [-1]), column, w.reshape(source, [-1]))
    return w.reshape(out, x.shape)


# ---- insertion positions among sorted numbers


@rule("bucketize")
def _bucketize(
    w: Writer,
    x: Tensor | Scalar,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
) -> Output:
    return _search_sorted(w, boundaries, x, right=right)


def _as_matrix(dims: Sequence[Dim]) -> list[Dim]:
    return [product(dims[:-1]), dims[-1]]


@rule("searchsorted")
def _search_sorted(
    w: Writer,
    sorted_sequence: Tensor,
    x: Tensor | Scalar,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Output:
    if sorter is not None:
        sequence = _gather(w, sorted_sequence, -1, sorter)
        sorted_sequence = Tensor(w, sequence, sorted_sequence.meta)
    op = "UpperBound" if right or side == "right" else "LowerBound"
    if not isinstance(x, Tensor):  # a number
        x = Tensor(w, w.cast(x, sorted_sequence.dtype), Meta(sorted_sequence.dtype, ()))
    dtype = dtypes.promoted(sorted_sequence.dtype, x.dtype)
    length = sorted_sequence.shape[-1]
    is_one = sorted_sequence.rank == 1
    rows = w.reshape(w.cast(sorted_sequence, dtype), _as_matrix(sorted_sequence.shape))
    values = w.reshape(w.cast(x, dtype), [1, -1] if is_one else _as_matrix(x.shape))
    if dtype.is_floating_point:
        # PyTorch skips every NaN of the sequence, so NaN itself is inserted at the end.
        rows = w.op("SelectV2", w.op("IsNan", rows), w.cast(float("-inf"), dtype), rows)
    places = w.op(op, rows, values, out_type="int64")
    if dtype.is_floating_point:
        places = w.op("SelectV2", w.op("IsNan", values), w.cast(length, dtypes.int64), places)
    return w.reshape(places, x.shape)
