"""Ops that create tensors, or change their shape or the order of elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType
from ._rules import rule
from ._values import Meta, is_in_order
from ._writer import Dim, Scalar, Tensor, Value, Writer, axis_of, is_static, product, require_small

# ---- the same elements


@rule(
    "alias", "clone", "contiguous", "detach", "detach_", "lift", "lift_fresh", "lift_fresh_copy",
    "alias_copy", "detach_copy", "resolve_conj", "resolve_neg",
)  # fmt: skip
def _same(w: Writer, x: Tensor, **_: Any) -> Tensor:
    return x


@rule("conj", "_conj", "_conj_physical", "conj_physical")
def _conj(w: Writer, x: Tensor) -> Value:
    return w.op("Conj", x) if x.dtype.is_complex else x


def _reshaped(w: Writer, x: Tensor, meta: Any) -> Tensor:
    """Reshapes x to the shape of a result. If the last two dimensions are kept, so are the known
    facts about them.

    A reshape of what was swapped is only made where a product takes it; it costs nothing else.
    """
    dims = w.dims(meta.shape)
    if is_static(dims) and is_static(x.shape) and dims == x.shape:
        return Tensor(w, x.out, meta, x.swapped)
    out = w.reshape(x, dims)
    keeps = x.swapped is not None and len(dims) >= 2 and _same_dims(dims[-2:], x.shape[-2:])
    other = w.reshape(x.swapped, [*dims[:-2], dims[-1], dims[-2]]) if keeps else None
    return Tensor(w, out, meta, other)


def _same_dims(x: Sequence[Dim], y: Sequence[Dim]) -> bool:
    return is_static(x) and is_static(y) and list(x) == list(y)


@rule(
    "_reshape_alias", "_unsafe_view", "flatten", "reshape", "squeeze", "squeeze_copy", "unflatten",
    "unsqueeze", "unsqueeze_copy", "view", "view_copy", "view_as", "_reshape_copy",
)  # fmt: skip
def _reshape(w: Writer, x: Tensor, *_: Any, **__: Any) -> Tensor:
    return _reshaped(w, x, w.result)


@rule("view.dtype", "view_copy.dtype")
def _bitcast(w: Writer, x: Tensor, dtype: DType) -> Output:
    if dtype.itemsize != x.dtype.itemsize:
        raise UnimplementedError(f"a view of {x.dtype} as {dtype}, which has another size")
    return w.op("Bitcast", x, type=dtype.name)


@rule("expand", "expand_copy", "broadcast_to")
def _expand(w: Writer, x: Tensor, *_: Any, **__: Any) -> Value:
    dims = w.dims(w.result.shape)
    return x if _same_dims(dims, x.shape) else w.broadcast(x, dims)


def _permuted(w: Writer, x: Tensor, order: list[int]) -> Tensor:
    swap = list(range(x.rank))
    swap[-2:] = swap[:-3:-1]
    if x.rank < 2 or order != swap:
        return Tensor(w, w.transpose(x, order), w.result)
    # Two transpositions cancel.
    if x.swapped is not None:
        return Tensor(w, x.swapped, w.result)
    return Tensor(w, w.transpose(x, order), w.result, x.out)


@rule("permute", "permute_copy")
def _permute(w: Writer, x: Tensor, dims: Sequence[int]) -> Tensor:
    return _permuted(w, x, [axis_of(d, x.rank) for d in dims])


@rule("transpose", "transpose_copy", "swapaxes")
def _transpose(w: Writer, x: Tensor, dim0: int, dim1: int) -> Tensor:
    order = list(range(x.rank))
    if x.rank:
        i, j = axis_of(dim0, x.rank), axis_of(dim1, x.rank)
        order[i], order[j] = order[j], order[i]
    return _permuted(w, x, order)


@rule("t", "t_copy", "numpy_T")
def _t(w: Writer, x: Tensor) -> Tensor:
    return _permuted(w, x, list(range(x.rank))[::-1])


@rule("as_strided", "as_strided_copy")
def _as_strided(
    w: Writer,
    x: Tensor,
    size: Sequence[Dim],
    stride: Sequence[Dim],
    storage_offset: Dim | None = None,
) -> Output:
    """Selects elements by their positions in memory."""
    places = _strided(w, x, size, stride, storage_offset)
    return w.op("GatherV2", _memory(w, x), places, w.indices(0))


def _memory(w: Writer, x: Tensor) -> Output:
    """Returns the elements in memory order; they must not be shared."""
    if x.meta.is_contiguous() or is_in_order(x.meta):
        return w.reshape(x, [-1])
    steps = x.meta.stride or ()
    if is_static(steps):
        order = sorted(range(x.rank), key=lambda axis: -steps[axis])
        shape, stride = (tuple(dims[a] for a in order) for dims in (x.meta.shape, steps))
        if is_in_order(Meta(x.dtype, shape, stride)):
            return w.reshape(w.transpose(x, order), [-1])
    raise UnimplementedError("as_strided of a part of a tensor's memory")


def _strided(
    w: Writer, x: Tensor, size: Sequence[Dim], stride: Sequence[Dim], storage_offset: Dim | None
) -> Output:
    own = x.meta.storage_offset or 0
    first = own if storage_offset is None else storage_offset
    if not is_static([*x.meta.shape, *size, *stride, first, own]):
        places: Any = w.cast(w.dim(first) - w.dim(own), dtypes.int64)
        for extent, step in zip(size, stride, strict=True):
            row = w.range(extent) * w.cast(step, dtypes.int64)
            places = w.op("ExpandDims", places, w.indices(-1)) + row
        return places
    require_small(*size)
    places = np.full((), first - own, np.int64)
    for extent, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(extent) * step
    if places.size and not 0 <= places.min() <= places.max() < product(x.shape):
        raise UnimplementedError("as_strided of memory beyond its tensor")
    return w.indices(places)


@rule("as_strided_scatter")
def _as_strided_scatter(
    w: Writer,
    x: Tensor,
    src: Tensor,
    size: Sequence[Dim],
    stride: Sequence[Dim],
    storage_offset: Dim | None = None,
) -> Output:
    if not (x.meta.is_contiguous() or is_in_order(x.meta)):
        raise UnimplementedError("writing elements to memory that is not contiguous")
    column = w.reshape(_strided(w, x, size, stride, storage_offset), [-1, 1])
    flat = w.op("TensorScatterUpdate", w.reshape(x, [-1]), column, w.reshape(src, [-1]))
    return w.reshape(flat, x.shape)


# ---- slices


def _wrapped(index: Any, extent: Dim) -> Any:
    """Converts an index that may count from the end to one from the start."""
    if isinstance(index, int) and index < 0:
        return extent + index
    return index


def _is_inside(start: Any, end: Any, extent: Dim) -> bool:
    """Whether a range of a dimension is known to be within its bounds."""
    end = extent if end is None else end
    return is_static([start, end, extent]) and 0 <= start <= end <= extent


def _slice_of(w: Writer, x: Value, axis: int, start: Any, end: Any, step: int = 1) -> Output:
    part = slice(start, end, step)
    value = x.out if isinstance(x, Tensor) else x
    if isinstance(x, Tensor) and step == 1 and _is_inside(start, end, x.shape[axis]):
        begin, size = [0] * x.rank, [-1] * x.rank
        begin[axis], size[axis] = start, -1 if end is None else end - start
        return w.op("Slice", value, w.indices(begin), w.indices(size))
    return value[(slice(None),) * axis + (part,)]


def _slice_bounds(w: Writer, x: Tensor, dim: int, start: Any, end: Any) -> tuple[int, Any, Any]:
    axis = axis_of(dim, x.rank)
    extent = x.shape[axis]
    start, end = 0 if start is None else start, extent if end is None else end
    if isinstance(end, int) and (end >= _FAR or (isinstance(extent, int) and end >= extent)):
        end = None
    return axis, start, end


# PyTorch uses the largest number for "to the end".
_FAR = 2**62


@rule("slice", "slice_copy")
def _slice(
    w: Writer, x: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    axis, start, end = _slice_bounds(w, x, dim, start, end)
    if isinstance(start, int) and start == 0 and end is None and step == 1:
        return x
    return _slice_of(w, x, axis, start, end, step)


@rule("narrow", "narrow_copy")
def _narrow(w: Writer, x: Tensor, dim: int, start: Any, length: Any) -> Output:
    axis = axis_of(dim, x.rank)
    start = _wrapped(start, x.shape[axis])
    return _slice_of(w, x, axis, start, start + length)


@rule("select", "select_copy")
def _select(w: Writer, x: Tensor, dim: int, index: Any) -> Output:
    axis = axis_of(dim, x.rank)
    return x.out[(slice(None),) * axis + (index,)]


def _padded_along(
    w: Writer, source: Tensor, dims: list[Dim], axis: int, start: Any, length: Dim
) -> Output:
    """Zeros in the shape `dims`, with `source` from `start` on along an axis."""
    amounts: list[list[Dim]] = [[0, 0] for _ in dims]
    amounts[axis] = [start, dims[axis] - (start + length)]
    return pad(w, source, amounts)


@rule("slice_backward")
def _slice_backward(
    w: Writer, grad: Tensor, input_sizes: Sequence[Dim], dim: int, start: Any, end: Any, step: int
) -> Output:
    dims = w.dims(input_sizes)
    axis = axis_of(dim, len(dims))
    start = _wrapped(start, dims[axis])
    if step == 1:
        return _padded_along(w, grad, dims, axis, start, grad.shape[axis])
    places = w.range(grad.shape[axis]) * step + start
    return summed_rows(w, grad.out, places, axis, dims[axis], len(dims))


def summed_rows(
    w: Writer, value: Output, places: Output, axis: int, count: Dim, rank: int
) -> Output:
    """Sums parts of a value along an axis at the given positions."""
    count = w.cast(count, dtypes.int64)
    order = [axis, *(i for i in range(rank) if i != axis)]
    back = [order.index(i) for i in range(rank)]
    first = w.transpose(value, order)
    return w.transpose(w.op("UnsortedSegmentSum", first, places, count), back)


@rule("select_backward")
def _select_backward(
    w: Writer, grad: Tensor, input_sizes: Sequence[Dim], dim: int, index: Any
) -> Output:
    dims = w.dims(input_sizes)
    axis = axis_of(dim, len(dims))
    amounts: list[list[Dim]] = [[0, 0] for _ in dims]
    index = _wrapped(index, dims[axis])
    amounts[axis] = [index, dims[axis] - index - 1]
    return pad(w, w.op("ExpandDims", grad, w.indices(axis)), amounts)


def _in_place_of(
    w: Writer, x: Tensor, source: Value, axis: int, start: Any, end: Any, step: int
) -> Output:
    """Returns x with one part replaced."""
    if step == 1:
        before = _slice_of(w, x, axis, 0, start)
        after = [] if end is None else [_slice_of(w, x, axis, end, None)]
        return w.op("ConcatV2", [before, source, *after], w.indices(axis))
    if not is_static(x.shape):
        raise UnimplementedError("writing to a strided slice of a tensor of symbolic shape")
    require_small(x.shape[axis])
    rows = np.arange(x.shape[axis])[start:end:step]
    order = [axis, *(i for i in range(x.rank) if i != axis)]
    back = [order.index(i) for i in range(x.rank)]
    value = w.op(
        "TensorScatterUpdate",
        w.transpose(x, order),
        w.indices(rows[:, None]),
        w.transpose(source, order),
    )
    return w.transpose(value, back)


@rule("slice_scatter")
def _slice_scatter(
    w: Writer,
    x: Tensor,
    src: Tensor,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Output:
    axis, start, end = _slice_bounds(w, x, dim, start, end)
    start = _wrapped(start, x.shape[axis])
    source = w.cast(src, x.dtype)
    return _in_place_of(w, x, source, axis, start, end, step)


@rule("select_scatter")
def _select_scatter(w: Writer, x: Tensor, src: Tensor, dim: int, index: Any) -> Output:
    axis = axis_of(dim, x.rank)
    index = _wrapped(index, x.shape[axis])
    row = w.op("ExpandDims", w.cast(src, x.dtype), w.indices(axis))
    return _in_place_of(w, x, row, axis, index, index + 1, 1)


def _split_sizes(w: Writer, x: Tensor, sizes: Sequence[Dim], axis: int) -> list[Output]:
    ends = list(itertools.accumulate(sizes))
    starts = [0, *ends[:-1]]
    if len(ends) == 1:
        return [x.out]
    return [_slice_of(w, x, axis, s, e) for s, e in zip(starts, ends, strict=True)]


@rule("split", "split_copy", "chunk", "split_with_sizes", "split_with_sizes_copy", "tensor_split",
      "unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes")  # fmt: skip
def _split(w: Writer, x: Tensor, sizes: Any, dim: int = 0) -> list[Output]:
    axis = axis_of(dim, x.rank)
    return _split_sizes(w, x, [w.dim(part.shape[axis]) for part in w.result], axis)


@rule("unbind", "unbind_copy")
def _unbind(w: Writer, x: Tensor, dim: int = 0) -> list[Output]:
    axis = axis_of(dim, x.rank)
    out = w.op("Unpack", x, num=len(w.result), axis=axis)
    return list(out) if isinstance(out, tuple) else [out]


# ---- concatenation


@rule("cat", "concat")
def _cat(w: Writer, tensors: Sequence[Tensor], dim: int = 0) -> Output:
    # Empty vectors may be concatenated with tensors of any rank.
    rank = max(t.rank for t in tensors)
    parts = [t for t in tensors if t.rank == rank]
    values = [w.cast(t, w.result.dtype) for t in parts]
    if len(values) == 1:
        return values[0]
    return w.op("ConcatV2", values, w.indices(axis_of(dim, rank)))


@rule("stack")
def _stack(w: Writer, tensors: Sequence[Tensor], dim: int = 0) -> Output:
    axis = axis_of(dim, tensors[0].rank + 1)
    return w.op("Pack", [w.cast(t, w.result.dtype) for t in tensors], axis=axis)


# ---- copies of elements


@rule("repeat", "tile")
def _repeat(w: Writer, x: Tensor, repeats: Sequence[Dim]) -> Output:
    dims = x.shape
    new = [1] * (len(repeats) - len(dims))
    value = w.reshape(x, new + dims) if new else x
    counts = [1] * (len(dims) - len(repeats)) + w.dims(repeats)
    return w.op("Tile", value, w.integers(counts))


@rule("flip")
def _flip(w: Writer, x: Tensor, dims: Sequence[int]) -> Value:
    axes = [axis_of(d, x.rank) for d in dims]
    return w.op("ReverseV2", x, w.indices(axes)) if axes and x.rank else x


@rule("roll")
def _roll(w: Writer, x: Tensor, shifts: Any, dims: Any = ()) -> Output:
    shifts = w.dims([shifts] if isinstance(shifts, int | Output) else shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    if not dims:
        flat = w.op("Roll", w.reshape(x, [-1]), w.integers(shifts), w.indices([0]))
        return w.reshape(flat, x.shape)
    axes = [axis_of(d, x.rank) for d in dims]
    return w.op("Roll", x, w.integers(shifts), w.indices(axes))


def pad(
    w: Writer, x: Value, amounts: Sequence[Sequence[Dim]], value: Output | None = None
) -> Output:
    """Pads x before and after along each dimension; negative amounts remove rows."""
    x = x.out if isinstance(x, Tensor) else x
    if any(isinstance(a, int) and a < 0 for pair in amounts for a in pair):
        part = tuple(slice(-b if b < 0 else 0, a if a < 0 else None) for b, a in amounts)
        x = x[part]
        amounts = [[max(b, 0), max(a, 0)] for b, a in amounts]
    if all(isinstance(a, int) and a == 0 for pair in amounts for a in pair):
        return x
    sizes = w.reshape(w.integers([a for pair in amounts for a in pair]), [-1, 2])
    if is_static([a for pair in amounts for a in pair]):
        sizes = w.indices(amounts)
    return w.op("Pad", x, sizes) if value is None else w.op("PadV2", x, sizes, value)


def _amounts(w: Writer, rank: int, flat: Sequence[Dim]) -> list[list[Dim]]:
    """Converts pairs that start with the last dimension to pairs that start with the first."""
    pairs = [w.dims(flat[i : i + 2]) for i in range(0, len(flat), 2)]
    return [[0, 0]] * (rank - len(pairs)) + pairs[::-1]


@rule("constant_pad_nd")
def _constant_pad(w: Writer, x: Tensor, amounts: Sequence[Dim], value: Scalar = 0) -> Output:
    number = None if isinstance(value, int | float) and value == 0 else w.cast(value, x.dtype)
    return pad(w, x, _amounts(w, x.rank, amounts), number)


@rule("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def _reflection_pad(w: Writer, x: Tensor, padding: Sequence[Dim]) -> Output:
    return w.op("MirrorPad", x, w.indices(_amounts(w, x.rank, padding)), mode="REFLECT")


@rule("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward")
def _reflection_pad_backward(w: Writer, grad: Tensor, x: Tensor, padding: Sequence[Dim]) -> Output:
    return w.op("MirrorPadGrad", grad, w.indices(_amounts(w, x.rank, padding)), mode="REFLECT")


def _replications(w: Writer, x: Tensor, padding: Sequence[int]) -> Iterator[tuple[int, Output]]:
    """Returns the axes that grow, and the source element of each of their positions."""
    for axis, (before, after) in enumerate(_amounts(w, x.rank, padding)):
        if before == 0 and after == 0:
            continue
        extent = x.shape[axis]
        require_small(before + extent + after)
        yield axis, w.indices(np.clip(np.arange(-before, extent + after), 0, extent - 1))


@rule("replication_pad1d", "replication_pad2d", "replication_pad3d")
def _replication_pad(w: Writer, x: Tensor, padding: Sequence[int]) -> Output:
    value = x.out
    for axis, places in _replications(w, x, padding):
        value = w.op("GatherV2", value, places, w.indices(axis))
    return value


@rule("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def _replication_pad_backward(w: Writer, grad: Tensor, x: Tensor, padding: Sequence[int]) -> Output:
    """Adds up the gradients of the copies of an element."""
    value = grad.out
    for axis, places in _replications(w, x, padding):
        value = summed_rows(w, value, places, axis, x.shape[axis], x.rank)
    return value


@rule("unfold", "unfold_copy")
def _unfold(w: Writer, x: Tensor, dimension: int, size: int, step: int) -> Output:
    if x.rank == 0:
        return w.reshape(x, [1])[:size]
    axis = axis_of(dimension, x.rank)
    count = w.dim(w.result.shape[axis])
    starts = w.op("ExpandDims", w.range(count) * step, w.indices(1))
    windows = w.op("GatherV2", x, starts + w.range(size), w.indices(axis))
    order = [i for i in range(x.rank + 1) if i != axis + 1] + [axis + 1]
    return w.transpose(windows, order)


@rule("diagonal", "diagonal_copy")
def _diagonal(w: Writer, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Output:
    i, j = axis_of(dim1, x.rank), axis_of(dim2, x.rank)
    order = [a for a in range(x.rank) if a not in (i, j)] + [i, j]
    return w.op(
        "MatrixDiagPartV2", w.transpose(x, order), w.constant(offset, dtypes.int32),
        w.cast(0, x.dtype),
    )  # fmt: skip


def _with_diagonal(
    w: Writer, x: Value, rank: int, source: Tensor, offset: int, dim1: int, dim2: int
) -> Output:
    i, j = axis_of(dim1, rank), axis_of(dim2, rank)
    order = [a for a in range(rank) if a not in (i, j)] + [i, j]
    out = w.op("MatrixSetDiagV2", w.transpose(x, order), source, w.constant(offset, dtypes.int32))
    return w.transpose(out, [order.index(a) for a in range(rank)])


@rule("diagonal_scatter")
def _diagonal_scatter(
    w: Writer, x: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Output:
    return _with_diagonal(w, x, x.rank, src, offset, dim1, dim2)


@rule("diagonal_backward")
def _diagonal_backward(
    w: Writer, grad: Tensor, input_sizes: Sequence[Dim], offset: int, dim1: int, dim2: int
) -> Output:
    zeros = w.full(w.dims(input_sizes), 0, grad.dtype)
    return _with_diagonal(w, zeros, len(input_sizes), grad, offset, dim1, dim2)


@rule("diag_embed")
def _diag_embed(w: Writer, x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Output:
    rank = x.rank + 1
    i, j = axis_of(dim1, rank), axis_of(dim2, rank)
    offset = offset if i < j else -offset
    extent = w.constant(-1, dtypes.int32)
    out = w.op("MatrixDiagV2", x, w.constant(offset, dtypes.int32), extent, extent,
               w.cast(0, x.dtype))  # fmt: skip
    order = [a for a in range(rank) if a not in (i, j)] + sorted((i, j))
    return w.transpose(out, [order.index(a) for a in range(rank)])


def _band(w: Writer, x: Tensor, lower: Any, upper: Any) -> Output:
    return w.op("MatrixBandPart", x, w.indices(lower), w.indices(upper))


@rule("tril")
def _tril(w: Writer, x: Tensor, diagonal: int = 0) -> Output:
    if diagonal >= 0:
        return _band(w, x, -1, diagonal)
    return _band_beyond(w, x, diagonal, keeps_above=False)


@rule("triu")
def _triu(w: Writer, x: Tensor, diagonal: int = 0) -> Output:
    if diagonal <= 0:
        return _band(w, x, -diagonal, -1)
    return _band_beyond(w, x, diagonal, keeps_above=True)


def _band_beyond(w: Writer, x: Tensor, diagonal: int, *, keeps_above: bool) -> Output:
    """Keeps elements beyond a diagonal other than the main one, and zeros the others."""
    rows, columns = (w.range(d) for d in x.shape[-2:])
    distance = columns - w.op("ExpandDims", rows, w.indices(1))
    kept = distance >= diagonal if keeps_above else distance <= diagonal
    return w.op("SelectV2", kept, x, w.cast(0, x.dtype))


# ---- new tensors


def _made(w: Writer, number: Any) -> Output:
    return w.full(w.dims(w.result.shape), number, w.result.dtype)


@rule("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty", "empty_strided",
      "new_empty_strided", "empty_permuted", "zero", "_efficientzerotensor")  # fmt: skip
def _zeros(w: Writer, *_: Any, **__: Any) -> Output:
    """Returns zeros for tensors that PyTorch leaves uninitialized."""
    return _made(w, 0)


@rule("ones", "ones_like", "new_ones")
def _ones(w: Writer, *_: Any, **__: Any) -> Output:
    return _made(w, 1)


@rule("full", "full_like", "fill")
def _full(w: Writer, _: Any, number: Any, **__: Any) -> Output:
    return _made(w, number)


@rule("new_full")
def _new_full(w: Writer, _: Any, size: Any, number: Any, **__: Any) -> Output:
    return _made(w, number)


@rule("scalar_tensor")
def _scalar_tensor(w: Writer, number: Any, **_: Any) -> Output:
    return w.cast(number, w.result.dtype)


@rule("copy")
def _copy(w: Writer, x: Tensor, source: Tensor, non_blocking: bool = False) -> Value:
    dims = w.dims(w.result.shape)
    value = w.cast(source, w.result.dtype)
    return value if _same_dims(dims, source.shape) else w.broadcast(value, dims)


@rule("arange.default")
def _arange(w: Writer, end: Any, **_: Any) -> Output:
    return _stepped(w, 0, end, 1)


@rule("arange.start")
def _arange_from(w: Writer, start: Any, end: Any, **_: Any) -> Output:
    return _stepped(w, start, end, 1)


@rule("arange.start_step")
def _arange_by(w: Writer, start: Any, end: Any, step: Any = 1, **_: Any) -> Output:
    return _stepped(w, start, end, step)


def _stepped(w: Writer, start: Any, end: Any, step: Any) -> Output:
    dtype = w.result.dtype
    if is_static([start, end, step]) or all(isinstance(v, int | float) for v in (start, end, step)):
        if not dtype.is_floating_point:
            start, step = int(start), int(step)
        require_small(w.result.shape[0])
        return w.constant(start + np.arange(w.result.shape[0]) * step, dtype)
    count = w.range(w.dim(w.result.shape[0]), dtype)
    return count * w.cast(step, dtype) + w.cast(start, dtype)


@rule("prims.iota")
def _iota(w: Writer, length: Dim, *, start: Any, step: Any, dtype: DType, **_: Any) -> Output:
    return w.range(w.dim(length), dtype) * w.cast(step, dtype) + w.cast(start, dtype)


@rule("linspace")
def _linspace(w: Writer, start: Any, end: Any, steps: Any, **_: Any) -> Output:
    if not all(isinstance(v, int | float) for v in (start, end, steps)):
        raise UnimplementedError("linspace between computed values")
    dtype = w.result.dtype
    require_small(steps)
    return w.constant(np.linspace(start, end, steps), dtype)


def _register_triangle(name: str, indices: Any) -> None:
    @rule(name)
    def write(w: Writer, row: int, col: int, offset: int = 0, **_: Any) -> Output:
        require_small(row, col)
        return w.constant(np.array(indices(row, offset, col)), w.result.dtype)


_register_triangle("tril_indices", np.tril_indices)
_register_triangle("triu_indices", np.triu_indices)


@rule("eye")
def _eye(w: Writer, n: Dim, m: Dim | None = None, **_: Any) -> Output:
    rows, columns = w.dims(w.result.shape)
    same = w.op("Equal", w.op("ExpandDims", w.range(rows), w.indices(1)), w.range(columns))
    return w.cast(same, w.result.dtype)


@rule("sym_size.int")
def _sym_size(w: Writer, x: Tensor, dim: int) -> Dim:
    return x.shape[axis_of(dim, x.rank)]


@rule("sym_stride.int")
def _sym_stride(w: Writer, x: Tensor, dim: int) -> Dim:
    axis = axis_of(dim, x.rank)
    if x.meta.stride is None:
        return product(x.shape[axis + 1 :])
    return w.dim(x.meta.stride[axis])


@rule("sym_storage_offset")
def _sym_offset(w: Writer, x: Tensor) -> Dim:
    return w.dim(x.meta.storage_offset)


@rule("sym_numel")
def _sym_numel(w: Writer, x: Tensor) -> Dim:
    return product(x.shape)


# ---- Python arithmetic on sizes


def _is_real(x: Any) -> bool:
    return isinstance(x, float) or isinstance(x, Output) and x.dtype.startswith("float")


def _register_choice(name: str, op: str) -> None:
    @rule(name)
    def write(w: Writer, x: Any, y: Any) -> Output:
        dtype = dtypes.float64 if _is_real(x) or _is_real(y) else dtypes.int64
        return w.op(op, w.cast(x, dtype), w.cast(y, dtype))


_register_choice("torch.sym_max", "Maximum")
_register_choice("torch.sym_min", "Minimum")


@rule("torch.sym_sum")
def _sym_sum(w: Writer, numbers: Sequence[Dim]) -> Dim:
    total: Dim = 0
    for number in numbers:
        total = total + number
    return total


@rule("torch.sym_float")
def _sym_float(w: Writer, x: Any) -> Output:
    return w.cast(x, dtypes.float64)


@rule("torch.sym_int", "math.trunc")
def _sym_int(w: Writer, x: Any) -> Output:
    """Towards zero, as Python does."""
    return w.cast(x, dtypes.int64)


@rule("torch.sym_not")
def _sym_not(w: Writer, x: Any) -> Output:
    return w.op("LogicalNot", w.cast(x, dtypes.bool_))


@rule("torch.sym_ite")
def _sym_choice(w: Writer, condition: Any, x: Any, y: Any) -> Output:
    dtype = dtypes.float64 if _is_real(x) or _is_real(y) else dtypes.int64
    return w.op("SelectV2", w.cast(condition, dtypes.bool_), w.cast(x, dtype), w.cast(y, dtype))


@rule("torch._sym_sqrt", "torch.sym_sqrt")
def _sym_root(w: Writer, x: Any) -> Output:
    return w.op("Sqrt", w.cast(x, dtypes.float64))
