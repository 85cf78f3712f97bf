"""Reductions: sums, extremes, moments, scans, and sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType
from ._rules import rule
from ._writer import KEEP, Scalar, Tensor, Value, Writer, axes_of, axis_of, product, require_small


def reduce(w: Writer, op: str, x: Value, axes: Sequence[int], keepdim: bool = False) -> Output:
    return w.op(op, x, w.indices(list(axes)), keep_dims=keepdim)


def _register_sum(name: str, op: str) -> None:
    """Sums and products are computed in the dtype of the result."""

    def apply(
        w: Writer, x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Output:
        value = w.cast(x, w.result.dtype)
        return reduce(w, op, value, axes_of(dim, x.rank), keepdim)

    rule(name)(apply)


for _name, _op in {"sum": "Sum", "mean": "Mean", "prod": "Prod"}.items():
    _register_sum(_name, _op)


def _extreme(w: Writer, op: str, x: Tensor, axes: list[int], keepdim: bool) -> Output:
    """Computes an extreme; bools are converted to bytes, which have the same order."""
    value = w.cast(x, dtypes.uint8) if x.dtype == dtypes.bool_ else x.out
    return w.cast(reduce(w, op, value, axes, keepdim), x.dtype)


def place_of_extreme(w: Writer, op: str, x: Output, axis: int) -> Output:
    """Returns the position of the largest ("Max") or smallest ("Min") element along an axis: the
    first NaN, or the first of equal ones."""
    return w.op(f"_Arg{op}", x, w.indices(axis))


def last_place_of_largest(w: Writer, x: Output, axis: int) -> Output:
    """Returns the position of the largest element: the last NaN, or the first of equal elements."""
    first, axes = place_of_extreme(w, "Max", x, axis), w.indices([axis])
    back = place_of_extreme(w, "Max", w.op("ReverseV2", x, axes), axis)
    last = w.op("Shape", x, out_type="int64")[axis] - np.int64(1) - back
    return w.op("SelectV2", w.op("IsNan", w.op("Max", x, axes)), last, first)


def _register_extreme(name: str, op: str) -> None:
    @rule(f"a{name}")
    def over_dims(w: Writer, x: Tensor, dim: Any = (), keepdim: bool = False) -> Output:
        return _extreme(w, op, x, axes_of(dim, x.rank), keepdim)

    @rule(f"{name}.default")
    def over_all(w: Writer, x: Tensor) -> Output:
        return _extreme(w, op, x, axes_of(None, x.rank), False)

    @rule(f"{name}.dim")
    def along(w: Writer, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Output, Output]:
        axes = axes_of(dim, x.rank)
        values = _extreme(w, op, x, axes, False)
        shown = w.op("ExpandDims", values, w.indices(axes[0])) if keepdim and axes else values
        return shown, _place_of(w, op, x, dim, keepdim)

    @rule(f"arg{name}")
    def place(w: Writer, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Output:
        return _place_of(w, op, x, dim, keepdim)


def _place_of(w: Writer, op: str, x: Tensor, dim: int | None, keepdim: bool) -> Output:
    value = w.cast(x, dtypes.uint8) if x.dtype == dtypes.bool_ else x.out
    if x.rank == 0:
        return w.constant(0, dtypes.int64)
    if dim is None:
        flat = place_of_extreme(w, op, w.reshape(value, [-1]), 0)
        return w.reshape(flat, [1] * x.rank) if keepdim else flat
    axis = axis_of(dim, x.rank)
    place = place_of_extreme(w, op, value, axis)
    return w.op("ExpandDims", place, w.indices(axis)) if keepdim else place


_register_extreme("max", "Max")
_register_extreme("min", "Min")


@rule("aminmax")
def _aminmax(
    w: Writer, x: Tensor, *, dim: int | None = None, keepdim: bool = False
) -> tuple[Output, Output]:
    axes = axes_of(dim, x.rank)
    return _extreme(w, "Min", x, axes, keepdim), _extreme(w, "Max", x, axes, keepdim)


def _register_truth(name: str, op: str) -> None:
    def apply(w: Writer, x: Tensor, dim: Any = None, keepdim: bool = False) -> Output:
        value = x.out if x.dtype == dtypes.bool_ else w.op("NotEqual", x, w.cast(0, x.dtype))
        # For uint8 the result is uint8.
        return w.cast(reduce(w, op, value, axes_of(dim, x.rank), keepdim), w.result.dtype)

    rule(name)(apply)


_register_truth("any", "Any")
_register_truth("all", "All")


# ---- moments


def count_of(w: Writer, x: Tensor, axes: Sequence[int]) -> Any:
    """Returns the number of elements that are reduced to one."""
    return product(x.shape[a] for a in axes)


def moments(w: Writer, value: Output, axes: Sequence[int]) -> tuple[Output, Output]:
    """Returns mean and variance (divided by n), with the dimensions kept."""
    mean = reduce(w, "Mean", value, axes, True)
    variance = reduce(w, "Mean", w.op("SquaredDifference", value, mean), axes, True)
    return mean, variance


def _variance(
    w: Writer, x: Tensor, dim: Any, correction: Any, keepdim: bool
) -> tuple[Output, Output]:
    (value,), dtype = w.promoted(KEEP, x)
    axes = axes_of(dim, x.rank)
    mean = reduce(w, "Mean", value, axes, True)
    total = reduce(w, "Sum", w.op("SquaredDifference", value, mean), axes, keepdim)
    count, less = count_of(w, x, axes), 1 if correction is None else correction
    # For one element the result is NaN, since PyTorch clamps the divisor to zero.
    if isinstance(count, Output):
        zero = w.cast(0, dtypes.named(value.dtype))
        rest = w.op("Maximum", w.cast(count, dtypes.named(value.dtype)) - float(less), zero)
    else:
        rest = w.cast(max(float(count - less), 0.0), dtypes.named(value.dtype))
    variance = w.op("RealDiv", total, rest)
    if not keepdim:
        mean = w.op("Squeeze", mean, squeeze_dims=axes) if axes else mean
    return w.cast(variance, dtype), w.cast(mean, dtype)


def _register_variance(name: str, finish: Callable[[Writer, Output, Output], Any]) -> None:
    @rule(f"{name}.correction")
    def corrected(
        w: Writer, x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False
    ) -> Any:
        return finish(w, *_variance(w, x, dim, correction, keepdim))

    @rule(f"{name}.dim")
    def along(w: Writer, x: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Any:
        return finish(w, *_variance(w, x, dim, int(unbiased), keepdim))

    @rule(f"{name}.default")
    def whole(w: Writer, x: Tensor, unbiased: bool = True) -> Any:
        return finish(w, *_variance(w, x, None, int(unbiased), False))


_register_variance("var", lambda w, variance, mean: variance)
_register_variance("std", lambda w, variance, mean: w.op("Sqrt", variance))
_register_variance("var_mean", lambda w, variance, mean: (variance, mean))
_register_variance("std_mean", lambda w, variance, mean: (w.op("Sqrt", variance), mean))


# ---- norms


def _is_set(w: Writer, x: Output) -> Output:
    """Returns one for nonzero elements, including NaN."""
    dtype = dtypes.named(x.dtype)
    return w.cast(w.op("NotEqual", x, w.cast(0, dtype)), dtype)


_NORMS: dict[float, Callable[[Writer, Output, list[int], bool], Output]] = {
    math.inf: lambda w, x, axes, keep: reduce(w, "Max", w.op("Abs", x), axes, keep),
    -math.inf: lambda w, x, axes, keep: reduce(w, "Min", w.op("Abs", x), axes, keep),
    0.0: lambda w, x, axes, keep: reduce(w, "Sum", _is_set(w, x), axes, keep),
    1.0: lambda w, x, axes, keep: reduce(w, "Sum", w.op("Abs", x), axes, keep),
    2.0: lambda w, x, axes, keep: w.op("Sqrt", reduce(w, "Sum", w.op("Square", x), axes, keep)),
}  # fmt: skip


def norm_of(w: Writer, x: Output, order: Any, axes: list[int], keepdim: bool) -> Output:
    if order in _NORMS:
        return _NORMS[order](w, x, axes, keepdim)
    total = reduce(w, "Sum", w.op("Pow", w.op("Abs", x), float(order)), axes, keepdim)
    return w.op("Pow", total, 1.0 / order)


@rule("linalg_vector_norm")
def _vector_norm(
    w: Writer,
    x: Tensor,
    ord: Scalar = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Output:
    (value,), result = w.promoted(KEEP, x)
    if dtype is not None:
        value, result = w.cast(value, dtype), dtype
    if x.dtype.is_complex:
        value = w.op("ComplexAbs", value, Tout=dtypes.name_of(w.result.dtype))
        result = w.result.dtype
    return w.cast(norm_of(w, value, ord, axes_of(dim, x.rank), keepdim), result)


@rule("norm.Scalar")
def _norm(w: Writer, x: Tensor, p: Scalar = 2) -> Output:
    return _vector_norm(w, x, p)


@rule("norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype")
def _norm_along(w: Writer, x: Tensor, p: Any, dim: Any, keepdim: bool = False, **_: Any) -> Output:
    return _vector_norm(w, x, 2 if p is None else p, dim, keepdim)


def _distances(w: Writer, difference: Output, p: float) -> Output:
    """Returns the norms of differences, which are along the last dimension."""
    axes = [len(difference.shape) - 1]
    return norm_of(w, difference, p, axes, False)


@rule("_cdist_forward", "cdist")
def _cdist(w: Writer, x: Tensor, y: Tensor, p: float = 2.0, compute_mode: Any = None) -> Output:
    """Computes distances between all pairs of rows."""
    dtype = w.result.dtype
    rows = w.op("ExpandDims", w.cast(x, dtype), w.indices(-2))
    columns = w.op("ExpandDims", w.cast(y, dtype), w.indices(-3))
    return _distances(w, w.op("Sub", rows, columns), p)


@rule("_pdist_forward", "pdist")
def _pdist(w: Writer, x: Tensor, p: float = 2.0) -> Output:
    """Computes distances between each row and the later rows."""
    count = x.shape[0]
    if not isinstance(count, int):
        raise UnimplementedError("distances between a symbolic number of rows")
    require_small(count, count)
    first, second = np.triu_indices(count, 1)
    rows = [w.op("GatherV2", x, w.indices(places), w.indices(0)) for places in (first, second)]
    return _distances(w, w.op("Sub", *rows), p)


def real_name(dtype: DType) -> str:
    return dtypes.name_of(dtypes.real_of(dtype))


@rule("logsumexp")
def _logsumexp(w: Writer, x: Tensor, dim: Any, keepdim: bool = False) -> Output:
    value = w.cast(x, w.result.dtype)
    axes = axes_of(dim, x.rank)
    is_complex = w.result.dtype.is_complex
    size = w.op("Real", value, Tout=real_name(w.result.dtype)) if is_complex else value
    largest = reduce(w, "Max", size, axes, True)
    # The difference of infinities is NaN, but the result must be infinite.
    zero = w.op("ZerosLike", largest)
    base = w.op("SelectV2", w.op("IsFinite", largest), largest, zero)
    base = w.cast(base, w.result.dtype)
    total = w.op("Log", reduce(w, "Sum", w.op("Exp", value - base), axes, True))
    out = total + base
    return out if keepdim or not axes else w.op("Squeeze", out, squeeze_dims=axes)


@rule("dist")
def _distance(w: Writer, x: Tensor, y: Tensor, p: Scalar = 2) -> Output:
    (x, y), dtype = w.promoted(KEEP, x, y)
    difference = w.op("Sub", x, y)
    if dtype.is_complex:
        difference = w.op("ComplexAbs", difference, Tout=real_name(dtype))
        dtype = dtypes.real_of(dtype)
    return w.cast(norm_of(w, difference, p, list(range(len(difference.shape))), False), dtype)


@rule("equal")
def _equal(w: Writer, x: Tensor, y: Tensor) -> Output:
    if x.rank != y.rank:
        return w.constant(False)
    same = w.op("Equal", x, y, incompatible_shape_error=False)
    return w.op("All", same, w.indices(list(range(x.rank))))


@rule("count_nonzero")
def _count_nonzero(w: Writer, x: Tensor, dim: Any = None) -> Output:
    is_set = x.out if x.dtype == dtypes.bool_ else w.op("NotEqual", x, w.cast(0, x.dtype))
    return reduce(w, "Sum", w.cast(is_set, dtypes.int64), axes_of(dim, x.rank))


# ---- scans


def _register_scan(name: str, op: str) -> None:
    def apply(w: Writer, x: Tensor, dim: int, *, dtype: Any = None) -> Output:
        value = w.cast(x, w.result.dtype)
        return w.op(op, value, w.indices(axis_of(dim, x.rank))) if x.rank else value

    rule(name)(apply)


_register_scan("cumsum", "Cumsum")
_register_scan("cumprod", "Cumprod")


@rule("logcumsumexp", "_logcumsumexp")
def _log_cumulative(w: Writer, x: Tensor, dim: int) -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    if not x.rank:
        return x.out
    axis = w.constant(axis_of(dim, x.rank), dtypes.int32)
    out = w.op("CumulativeLogsumexp", value, axis)
    if dtype.is_complex:
        return w.cast(out, dtype)

    def has_arrived(what: Output) -> Output:
        return w.op("Cumsum", w.cast(what, dtypes.int64), axis) > w.cast(0, dtypes.int64)

    infinity = w.cast(math.inf, dtypes.named(value.dtype))
    is_number = w.op("LogicalNot", has_arrived(w.op("IsNan", value)))
    is_infinite = w.op("LogicalAnd", is_number, has_arrived(w.op("Equal", value, infinity)))
    return w.cast(w.op("SelectV2", is_infinite, infinity, out), dtype)


def _register_extreme_scan(name: str, is_behind: str) -> None:
    @rule(name)
    def scan(w: Writer, x: Tensor, dim: int) -> tuple[Output, Output]:
        """Returns the cumulative extreme and its position, the last among equals. Each step doubles
        the number of elements that are combined."""
        if not x.rank:
            return x.out, w.constant(0, dtypes.int64)
        axis = axis_of(dim, x.rank)
        extent = x.shape[axis]
        if not isinstance(extent, int):
            raise UnimplementedError(f"{name} along a dimension of symbolic size")
        value = w.cast(x, dtypes.uint8) if x.dtype == dtypes.bool_ else x.out
        column = w.reshape(w.range(extent), [-1, *[1] * (x.rank - 1 - axis)])
        place = w.broadcast(column, x.shape)
        step = 1
        while step < extent:
            before = _moved(w, value, x.rank, axis, step)
            stays = w.op(is_behind, before, value)
            if x.dtype.is_floating_point:
                is_old = w.op("LogicalOr", stays, w.op("IsNan", value))
                stays = w.op("SelectV2", w.op("IsNan", before), w.op("IsNan", value), is_old)
            place = w.op("SelectV2", stays, place, _moved(w, place, x.rank, axis, step))
            value = w.op("SelectV2", stays, value, before)
            step *= 2
        return w.cast(value, x.dtype), place


def _moved(w: Writer, value: Output, rank: int, axis: int, step: int) -> Output:
    """Shifts elements to later positions; the first elements are kept."""
    lead = (slice(None),) * axis
    parts = [value[(*lead, slice(None, step))], value[(*lead, slice(None, -step))]]
    return w.op("ConcatV2", parts, w.indices(axis))


_register_extreme_scan("cummax", "LessEqual")
_register_extreme_scan("cummin", "GreaterEqual")


# ---- sorting


def _top(w: Writer, x: Tensor, count: Any, dim: int, largest: bool) -> tuple[Output, Output]:
    """Returns the first elements in sorted order; the sort is stable."""
    if x.rank == 0:
        return x.out, w.constant(0, dtypes.int64)
    axis = axis_of(dim, x.rank)
    order = list(range(x.rank))
    order[axis], order[-1] = order[-1], order[axis]
    value = w.cast(x, dtypes.uint8) if x.dtype == dtypes.bool_ else x.out
    number = w.cast(count, dtypes.int32)
    found, places = w.op("_TopK", w.transpose(value, order), number, smallest=not largest)
    return w.cast(w.transpose(found, order), x.dtype), w.transpose(places, order)


@rule("topk")
def _topk(
    w: Writer, x: Tensor, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Output, Output]:
    return _top(w, x, k, dim, largest)


@rule("sort.default")
def sorted_along(
    w: Writer, x: Tensor, dim: int = -1, descending: bool = False
) -> tuple[Output, Output]:
    extent = x.shape[axis_of(dim, x.rank)] if x.rank else 1
    return _top(w, x, extent, dim, descending)


@rule("sort.stable")
def _stable_sort(
    w: Writer, x: Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Output, Output]:
    return sorted_along(w, x, dim, descending)


@rule("argsort.default")
def _argsort(w: Writer, x: Tensor, dim: int = -1, descending: bool = False) -> Output:
    return sorted_along(w, x, dim, descending)[1]


@rule("argsort.stable")
def _stable_argsort(
    w: Writer, x: Tensor, *, stable: bool, dim: int = -1, descending: bool = False
) -> Output:
    return sorted_along(w, x, dim, descending)[1]


def _nth(w: Writer, x: Tensor, number: Any, dim: int, keepdim: bool) -> tuple[Output, Output]:
    """Returns the element at a position in sorted order, and its original position."""
    if not x.rank:
        return x.out, w.constant(0, dtypes.int64)
    axis = axis_of(dim, x.rank)
    values, places = (
        w.op("GatherV2", part, w.cast(number, dtypes.int64), w.indices(axis))
        for part in sorted_along(w, x, dim)
    )
    if not keepdim:
        return values, places
    wide = w.indices(axis)
    return w.op("ExpandDims", values, wide), w.op("ExpandDims", places, wide)


@rule("kthvalue")
def _kth(w: Writer, x: Tensor, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    return _nth(w, x, k - 1, dim, keepdim)


def _register_median(name: str, skips_nan: bool) -> None:
    @rule(f"{name}.dim")
    def along(w: Writer, x: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
        """Returns the median: the lower of the two middle elements."""
        count = x.shape[axis_of(dim, x.rank)] if x.rank else 1
        if not x.dtype.is_floating_point or not x.rank:
            return _nth(w, x, (count - 1) // 2, dim, keepdim)
        axis = axis_of(dim, x.rank)
        is_nan = w.op("IsNan", x)
        ordered = w.op("SelectV2", is_nan, w.cast(math.inf, x.dtype), x)
        number = (count - 1) // 2
        if skips_nan:
            known = w.cast(w.op("LogicalNot", is_nan), dtypes.int64)
            known = reduce(w, "Sum", known, [axis], True)
            middle = w.op("Maximum", known - np.int64(1), w.indices(0)) // 2
            places = sorted_along(w, Tensor(w, ordered, x.meta), dim)[1]
            place = _taken(w, places, middle, axis)
        else:
            place = _nth(w, Tensor(w, ordered, x.meta), number, dim, True)[1]
            first = w.op("ArgMax", w.cast(is_nan, dtypes.uint8), w.indices(axis),
                         output_type="int64")  # fmt: skip
            has_nan = w.op("Any", is_nan, w.indices([axis]), keep_dims=True)
            place = w.op("SelectV2", has_nan, w.op("ExpandDims", first, w.indices(axis)), place)
        value = _taken(w, x.out, place, axis)
        if keepdim:
            return value, place
        return tuple(w.op("Squeeze", v, squeeze_dims=[axis]) for v in (value, place))

    @rule(f"{name}.default")
    def whole(w: Writer, x: Tensor) -> Output:
        flat = Tensor(w, w.reshape(x, [-1]), x.meta.flat())
        return along(w, flat, 0)[0]


def _taken(w: Writer, value: Output, place: Output, axis: int) -> Output:
    """Returns the element at a position of each row along an axis; the axis is kept."""
    rank = len(value.shape)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    rows, places = w.transpose(value, order), w.transpose(place, order)
    taken = w.op("GatherV2", rows, places, w.indices(rank - 1), batch_dims=rank - 1)
    return w.transpose(taken, order)


_register_median("median", False)
_register_median("nanmedian", True)


# ---- counts of values


@rule("bincount")
def _bincount(w: Writer, x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Output:
    numbers = w.cast(x, dtypes.int64)
    with_least = w.op("ConcatV2", [numbers, w.indices([minlength - 1])], w.indices(0))
    size = w.op("Max", with_least, w.indices([0])) + np.int64(1)
    dtype = w.result.dtype
    counted = w.op("OnesLike", numbers) if weights is None else w.cast(weights, dtype)
    return w.op("UnsortedSegmentSum", counted, numbers, size)


@rule("histc")
def _histogram(w: Writer, x: Tensor, bins: int = 100, min: Scalar = 0, max: Scalar = 0) -> Output:
    """Counts elements in bins of a range, by default that of all elements; others are ignored."""
    value = w.reshape(x, [-1])
    low, high = w.cast(min, x.dtype), w.cast(max, x.dtype)
    if min == max:
        low, high = (w.op(op, value, w.indices([0])) for op in ("Min", "Max"))
        is_one = w.op("Equal", low, high)
        one = w.cast(1, x.dtype)
        low = w.op("SelectV2", is_one, low - one, low)
        high = w.op("SelectV2", is_one, high + one, high)
    place = w.op("RealDiv", (value - low) * w.cast(bins, x.dtype), high - low)
    place = w.cast(w.op("Floor", place), dtypes.int64)
    place = w.op("Minimum", place, w.indices(bins - 1))
    is_inside = w.op("LogicalAnd", value >= low, value <= high)
    place = w.op("SelectV2", is_inside, place, w.indices(-1))
    return w.op("UnsortedSegmentSum", w.op("OnesLike", value), place, w.indices(bins))
