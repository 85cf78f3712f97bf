"""Layers of networks: normalisation, softmax, embeddings, dropout, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType
from ._indexing import segments
from ._reductions import count_of, moments, reduce
from ._rules import rule
from ._writer import KEEP, Dim, Tensor, Writer, axis_of, is_small, product, require_small

# ---- softmax


def _along_last(w: Writer, op: str, x: Tensor, value: Output, dim: int) -> Output:
    """Applies an op on rows along any dimension."""
    if x.rank == 0:
        return w.reshape(w.op(op, w.reshape(value, [1])), [])
    order = list(range(x.rank))
    axis = axis_of(dim, x.rank)
    order[axis], order[-1] = order[-1], order[axis]
    return w.transpose(w.op(op, w.transpose(value, order)), order)


def _register_softmax(name: str, op: str) -> None:
    @rule(f"_{name}")
    def whole(w: Writer, x: Tensor, dim: int, half_to_float: bool = False) -> Output:
        (value,), _ = w.promoted(KEEP, x)
        return w.cast(_along_last(w, op, x, value, dim), w.result.dtype)

    @rule(f"{name}.int")
    def converted(w: Writer, x: Tensor, dim: int, dtype: Any = None) -> Output:
        (value,), _ = w.promoted(KEEP, x)
        wide = value if dtype is None else w.cast(x, dtype)
        return w.cast(_along_last(w, op, x, wide, dim), w.result.dtype)


_register_softmax("softmax", "Softmax")
_register_softmax("log_softmax", "LogSoftmax")


@rule("_safe_softmax")
def _safe_softmax(w: Writer, x: Tensor, dim: int, dtype: Any = None) -> Output:
    """Computes softmax; rows that are masked completely become zeros."""
    value = w.cast(x, w.result.dtype)
    out = _along_last(w, "Softmax", x, value, dim)
    masked = w.op("Equal", value, w.cast(float("-inf"), w.result.dtype))
    all_masked = w.op("All", masked, w.indices([axis_of(dim, x.rank)]), keep_dims=True)
    return w.op("SelectV2", all_masked, w.cast(0, w.result.dtype), out)


@rule("_softmax_backward_data")
def _softmax_backward(w: Writer, grad: Tensor, out: Tensor, dim: int, input_dtype: DType) -> Output:
    (grad_out, y), _ = w.promoted(KEEP, grad, out)
    axes = [axis_of(dim, out.rank)] if out.rank else []
    inner = reduce(w, "Sum", grad_out * y, axes, True)
    return w.cast((grad_out - inner) * y, input_dtype)


@rule("_log_softmax_backward_data")
def _log_softmax_backward(
    w: Writer, grad: Tensor, out: Tensor, dim: int, input_dtype: DType
) -> Output:
    (grad_out, y), _ = w.promoted(KEEP, grad, out)
    axes = [axis_of(dim, out.rank)] if out.rank else []
    total = reduce(w, "Sum", grad_out, axes, True)
    return w.cast(grad_out - w.op("Exp", y) * total, input_dtype)


# ---- normalisation of rows


def _scaled(w: Writer, x: Output, weight: Tensor | None, bias: Tensor | None) -> Output:
    x = x if weight is None else x * w.cast(weight, dtypes.named(x.dtype))
    return x if bias is None else w.op("AddV2", x, w.cast(bias, dtypes.named(x.dtype)))


@rule("native_layer_norm")
def _layer_norm(
    w: Writer,
    x: Tensor,
    normalized_shape: Sequence[Dim],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Output, Output, Output]:
    (value,), dtype = w.promoted(KEEP, x)
    axes = list(range(x.rank - len(normalized_shape), x.rank))
    mean, variance = moments(w, value, axes)
    rstd = w.op("Rsqrt", w.op("AddV2", variance, w.cast(eps, dtypes.named(value.dtype))))
    out = _scaled(w, (value - mean) * rstd, weight, bias)
    stored = w.result[1].dtype
    return w.cast(out, dtype), w.cast(mean, stored), w.cast(rstd, stored)


@rule("native_layer_norm_backward")
def _layer_norm_backward(
    w: Writer,
    grad_out: Tensor,
    x: Tensor,
    normalized_shape: Sequence[Dim],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Output | None, ...]:
    """Computes, for y = (x - mean) * rstd: dx = rstd * (g - mean(g) - y * mean(g * y)), g = grad *
    weight."""
    (grad, value), dtype = w.promoted(KEEP, grad_out, x)
    computed = dtypes.named(value.dtype)
    split = x.rank - len(normalized_shape)
    inner, outer = list(range(split, x.rank)), list(range(split))
    y = (value - w.cast(mean, computed)) * w.cast(rstd, computed)
    dx = dw = db = None
    if output_mask[0]:
        g = _scaled(w, grad, weight, None)
        mean_g = reduce(w, "Mean", g, inner, True)
        mean_gy = reduce(w, "Mean", g * y, inner, True)
        dx = w.cast((g - mean_g - y * mean_gy) * w.cast(rstd, computed), dtype)
    if output_mask[1]:
        dw = w.cast(reduce(w, "Sum", grad * y, outer), dtype)
    if output_mask[2]:
        db = w.cast(reduce(w, "Sum", grad, outer), dtype)
    return dx, dw, db


@rule("native_group_norm")
def _group_norm(
    w: Writer,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    n: Dim,
    c: Dim,
    hxw: Dim,
    group: int,
    eps: float,
) -> tuple[Output, Output, Output]:
    (value,), dtype = w.promoted(KEEP, x)
    n, c = w.dims([n, c])
    if x.dtype == dtypes.float32 and isinstance(c, int) and is_small(c):
        scale, offset = (
            w.constant(np.full(c, default), dtypes.float32) if given is None else given
            for given, default in ((weight, 1.0), (bias, 0.0))
        )
        attributes = {"groups": group, "epsilon": eps, "data_format": "NCHW"}
        image = x.out if x.rank == 4 else w.reshape(x, [n, c, product(x.shape[2:]), 1])
        out, *statistics = w.op("_GroupNorm", image, scale, offset, **attributes)
        out = out if x.rank == 4 else w.reshape(out, x.shape)
        # A separate node for each result: values that are fetched by name keep their order of
        # dimensions.
        return tuple(w.op("Identity", v) for v in (out, *statistics))
    grouped = w.reshape(value, [n, group, -1])
    mean, variance = moments(w, grouped, [2])
    rstd = w.op("Rsqrt", w.op("AddV2", variance, w.cast(eps, dtypes.named(value.dtype))))
    out = w.reshape((grouped - mean) * rstd, x.shape)
    if weight is not None:
        out = out * _per_channel(w, weight, x.rank, value.dtype)
    if bias is not None:
        out = out + _per_channel(w, bias, x.rank, value.dtype)
    stored = w.result[1].dtype
    squeezed = [w.cast(w.op("Squeeze", v, squeeze_dims=[2]), stored) for v in (mean, rstd)]
    return w.cast(out, dtype), squeezed[0], squeezed[1]


def _from_groups(w: Writer, value: Output, x: Tensor, n: Dim, c: int, group: int) -> Output:
    """Repeats a number for each group to one for each channel, to be multiplied with images."""
    wide = w.broadcast(w.reshape(value, [n, group, 1]), [n, group, c // group])
    return w.reshape(wide, [n, c, *[1] * (x.rank - 2)])


@rule("native_group_norm_backward")
def _group_norm_backward(
    w: Writer,
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    n: Dim,
    c: Dim,
    hxw: Dim,
    group: int,
    output_mask: Sequence[bool],
) -> Any:
    """Computes, for y = (x - mean) * rstd * weight: dx = rstd * (h - mean(h) - z * mean(h * z)),
    where h = grad * weight, z = (x - mean) * rstd and means are taken over a group. Values of the
    size of an image are computed in the image's own dimensions."""
    if x.dtype != dtypes.float32 or not isinstance(c, int) or not isinstance(hxw, int):
        return NotImplemented
    require_small(c)
    (n,) = w.dims([n])
    image, each, per = list(range(2, x.rank)), c // group, c // group * hxw
    grad_sum = w.reshape(reduce(w, "Sum", grad, image), [n, group, each])
    product_sum = w.reshape(reduce(w, "Sum", grad.out * x.out, image), [n, group, each])
    m, r = w.reshape(mean, [n, group, 1]), w.reshape(rstd, [n, group, 1])
    dx = dw = db = None
    if output_mask[0]:
        gamma = w.reshape(w.constant(np.ones(c), dtypes.float32) if weight is None else weight,
                          [1, group, each])  # fmt: skip
        h, hx = (reduce(w, "Sum", s * gamma, [2], True) for s in (grad_sum, product_sum))
        slope = (h * m - hx) * r * r * r * (1.0 / per)
        shift = -(slope * m) - h * r * (1.0 / per)
        factor = w.reshape(r * gamma, [n, c, *[1] * len(image)])
        slope, shift = (_from_groups(w, v, x, n, c, group) for v in (slope, shift))
        dx = grad.out * factor + x.out * slope + shift
    if output_mask[1]:
        dw = w.reshape(reduce(w, "Sum", (product_sum - grad_sum * m) * r, [0]), [c])
    if output_mask[2]:
        db = w.reshape(reduce(w, "Sum", grad_sum, [0]), [c])
    return dx, dw, db


# ---- normalisation of batches


def _per_channel(w: Writer, x: Tensor | Output, rank: int, dtype: str) -> Output:
    """Returns a vector along dimension 1."""
    return w.reshape(w.cast(x, dtypes.named(dtype)), [1, -1, *[1] * (rank - 2)])


def _apply_channels(
    w: Writer,
    x: Tensor,
    value: Output,
    mean: Any,
    invstd: Any,
    weight: Tensor | None,
    bias: Tensor | None,
) -> Output:
    """Computes (x - mean) * invstd * weight + bias with one factor and one summand per channel."""
    computed = dtypes.named(value.dtype)
    factor = w.cast(invstd, computed)
    factor = factor if weight is None else factor * w.cast(weight, computed)
    shift = -(w.cast(mean, computed) * factor)
    shift = shift if bias is None else shift + w.cast(bias, computed)
    scaled = value * _per_channel(w, factor, x.rank, value.dtype)
    return scaled + _per_channel(w, shift, x.rank, value.dtype)


def _batch_norm_eval(
    w: Writer, x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float
) -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    computed = dtypes.named(value.dtype)
    invstd = w.op("Rsqrt", w.op("AddV2", w.cast(var, computed), w.cast(eps, computed)))
    return w.cast(_apply_channels(w, x, value, mean, invstd, weight, bias), dtype)


def _batch_statistics(w: Writer, x: Tensor, value: Output, eps: float) -> tuple[Output, ...]:
    """Returns mean, variance (divided by n) and 1 / sqrt(variance + eps), each a vector."""
    axes = [0, *range(2, x.rank)]
    mean, variance = (w.reshape(v, [-1]) for v in moments(w, value, axes))
    invstd = w.op("Rsqrt", w.op("AddV2", variance, w.cast(eps, dtypes.named(value.dtype))))
    return mean, variance, invstd


def batch_norm_train(
    w: Writer, x: Tensor, weight: Any, bias: Any, eps: float
) -> tuple[Output, Output, Output, Output]:
    """Returns the result, and the mean, 1 / deviation and variance (over n) that it was made
    with."""
    (value,), dtype = w.promoted(KEEP, x)
    mean, variance, invstd = _batch_statistics(w, x, value, eps)
    # Subtract the mean first: merging it into another summand would lose digits.
    centred = value - _per_channel(w, mean, x.rank, value.dtype)
    computed = dtypes.named(value.dtype)
    factor = invstd if weight is None else invstd * w.cast(weight, computed)
    out = centred * _per_channel(w, factor, x.rank, value.dtype)
    out = out if bias is None else out + _per_channel(w, bias, x.rank, value.dtype)
    return w.cast(out, dtype), mean, invstd, variance


def running(w: Writer, old: Tensor, new: Output, momentum: float) -> Output:
    fresh = w.cast(new, old.dtype)
    return old.out * (1.0 - momentum) + fresh * momentum


def unbiased(w: Writer, x: Tensor, variance: Output) -> Output:
    """Converts a variance divided by n to one divided by n - 1."""
    n = count_of(w, x, [0, *range(2, x.rank)])
    if isinstance(n, int):
        return variance * (n / (n - 1)) if n > 1 else variance * float("nan")
    n = w.op("Cast", n, DstT=variance.dtype)
    return variance * (n / (n - 1.0))


def _no_rows(w: Writer, dtype: DType) -> Output:
    return w.constant([], dtype)


@rule("_native_batch_norm_legit_functional", "_batch_norm_with_update_functional")
def _functional_batch_norm(
    w: Writer,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    *rest: Any,
) -> tuple[Output | Tensor, ...]:
    """Imports the overloads that return new running statistics as the last two results. One
    overload has a flag for training."""
    training = rest[0] if isinstance(rest[0], bool) else True
    momentum, eps = rest[-2:]
    has_reserve = len(w.result) == 6
    reserve = (w.constant([], dtypes.uint8),) if has_reserve else ()
    if not training:
        out = _batch_norm_eval(w, x, weight, bias, running_mean, running_var, eps)
        empty = _no_rows(w, w.result[1].dtype)
        return (out, empty, empty, *reserve, running_mean, running_var)
    out, mean, invstd, variance = batch_norm_train(w, x, weight, bias, eps)
    stored = w.result[1].dtype
    return (
        out,
        w.cast(mean, stored),
        w.cast(invstd, stored),
        *reserve,
        running(w, running_mean, mean, momentum),
        running(w, running_var, unbiased(w, x, variance), momentum),
    )


@rule("native_batch_norm")
def _native_batch_norm(
    w: Writer,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Output, Output, Output]:
    """Writes batch norm for inference; the importer handles training."""
    return _batch_norm_no_training(w, x, weight, bias, running_mean, running_var, momentum, eps)


@rule("_native_batch_norm_legit_no_training")
def _batch_norm_no_training(
    w: Writer,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Output, Output, Output]:
    out = _batch_norm_eval(w, x, weight, bias, running_mean, running_var, eps)
    empty = _no_rows(w, w.result[1].dtype)
    return out, empty, empty


@rule("_native_batch_norm_legit.no_stats")
def _batch_norm_no_stats(
    w: Writer,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Output, Output, Output]:
    out, mean, invstd, _ = batch_norm_train(w, x, weight, bias, eps)
    stored = w.result[1].dtype
    return out, w.cast(mean, stored), w.cast(invstd, stored)


@rule("native_batch_norm_backward")
def _batch_norm_backward(
    w: Writer,
    grad_out: Tensor,
    x: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Output | None, ...]:
    """Computes, for y = (x - mean) * invstd: dx = invstd * weight * (g - mean(g) - y * mean(g * y))
    if the statistics are those of the batch, otherwise invstd * weight * g."""
    (grad, value), dtype = w.promoted(KEEP, grad_out, x)
    computed = dtypes.named(value.dtype)
    axes = [0, *range(2, x.rank)]
    if train:
        mean, invstd = w.cast(save_mean, computed), w.cast(save_invstd, computed)
    else:
        mean = w.cast(running_mean, computed)
        invstd = w.op("Rsqrt", w.op("AddV2", w.cast(running_var, computed), w.cast(eps, computed)))
    wide_mean, wide_invstd = (_per_channel(w, v, x.rank, value.dtype) for v in (mean, invstd))
    y = (value - wide_mean) * wide_invstd
    db, dw = reduce(w, "Sum", grad, axes), reduce(w, "Sum", grad * y, axes)
    dx = None
    if output_mask[0]:
        factor = invstd if weight is None else invstd * w.cast(weight, computed)
        rest = grad
        if train:
            share = w.op("Reciprocal", w.cast(count_of(w, x, axes), computed))
            rest = grad - _per_channel(w, db * share, x.rank, value.dtype)
            rest = rest - y * _per_channel(w, dw * share, x.rank, value.dtype)
        dx = w.cast(rest * _per_channel(w, factor, x.rank, value.dtype), dtype)
    stored = weight.dtype if weight is not None else computed
    return (
        dx,
        w.cast(dw, stored) if output_mask[1] else None,
        w.cast(db, stored) if output_mask[2] else None,
    )


# ---- embeddings


@rule("embedding")
def _embedding(
    w: Writer,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Output:
    return w.op("GatherV2", weight, indices, w.indices(0))


_BAG_SUM, _BAG_MEAN, _BAG_MAX = range(3)


@rule("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(
    w: Writer,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _BAG_SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Output, Output, Output, Output]:
    """Reduces the table rows of each bag to one row; a bag ends where the next one begins."""
    bags = w.cast(w.dim(w.result[0].shape[0]), dtypes.int64)
    starts = w.op("ExpandDims", w.cast(offsets, dtypes.int64)[:bags], w.indices(0))
    numbers = w.op("ExpandDims", w.range(indices.shape[0]), w.indices(0))
    bag_of = w.op("UpperBound", starts, numbers, out_type="int64") - np.int64(1)
    bag_of = w.reshape(bag_of, [-1])
    counted = w.op("OnesLike", bag_of)
    if padding_idx >= 0:
        is_there = w.op("NotEqual", indices, w.cast(padding_idx, indices.dtype))
        counted = w.cast(is_there, dtypes.int64)
    rows = w.op("GatherV2", weight, indices, w.indices(0))
    sizes = w.op("UnsortedSegmentSum", counted, bag_of, bags)
    column = w.op("ExpandDims", sizes, w.indices(1))
    largest = w.op("ZerosLike", sizes)
    kept = w.op("SelectV2", counted > np.int64(0), bag_of, w.op("ZerosLike", bag_of) - np.int64(1))
    if mode == _BAG_MAX:
        out = _largest_of_bags(w, rows, kept, bags)
        out = w.op("SelectV2", column > np.int64(0), out, w.cast(0, weight.dtype))
        if w.is_used(3):
            largest = _largest_rows(w, indices, rows, out, kept, bags)
    else:
        if per_sample_weights is not None:
            rows = rows * w.op("ExpandDims", per_sample_weights, w.indices(1))
        out = w.op("UnsortedSegmentSum", rows, kept, bags)
    if mode == _BAG_MEAN:
        out = w.op("DivNoNan", out, w.cast(column, weight.dtype))
    return out, bag_of, sizes, largest


def _largest_of_bags(w: Writer, rows: Output, bag_of: Output, bags: Output) -> Output:
    """Returns the maximum of each bag, like PyTorch: a NaN counts only if it is the first of its
    bag."""
    dtype = dtypes.named(rows.dtype)
    low = w.cast(float("-inf"), dtype)
    numbers = w.op("SelectV2", w.op("IsNan", rows), low, rows)
    out = segments(w, "amax", numbers, bag_of, bags)
    if rows.shape[0] == 0:
        return out
    count = w.op("Shape", bag_of, out_type="int64")[0]
    first = w.op("UnsortedSegmentMin", w.range(count), bag_of, bags)
    first = w.op("GatherV2", rows, w.op("Minimum", first, count - np.int64(1)), w.indices(0))
    return w.op("SelectV2", w.op("IsNan", first), first, out)


def _largest_rows(
    w: Writer, indices: Tensor, rows: Output, out: Output, bag_of: Output, bags: Output
) -> Output:
    """Returns the row of the table for each maximum, the first of equal ones; -1 for an
    empty bag."""
    none = w.op("Size", indices, out_type="int64")
    known = w.op("Maximum", bag_of, w.indices(0))
    same = w.op("Equal", rows, w.op("GatherV2", out, known, w.indices(0)))
    number = w.op("ExpandDims", w.range(indices.shape[0]), w.indices(1))
    first = w.op("UnsortedSegmentMin", w.op("SelectV2", same, number, none), bag_of, bags)
    place = w.op("Minimum", first, none - np.int64(1))
    row = w.cast(w.op("GatherV2", indices, place, w.indices(0)), dtypes.int64)
    return w.op("SelectV2", first < none, row, w.indices(-1))


@rule("embedding_dense_backward")
def _embedding_backward(
    w: Writer,
    grad: Tensor,
    indices: Tensor,
    num_weights: Dim,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Output:
    """Sums gradient rows by index; rows of the padding index are left out."""
    if scale_grad_by_freq:
        return NotImplemented
    count = w.dim(num_weights)
    places = indices.out
    if isinstance(padding_idx, int) and padding_idx >= 0:
        # Segments of negative numbers are dropped.
        minus_one = w.cast(-1, indices.dtype)
        places = w.op("SelectV2", w.op("Equal", places, w.cast(padding_idx, indices.dtype)),
                      minus_one, places)  # fmt: skip
    return w.op("UnsortedSegmentSum", grad, places, w.cast(count, dtypes.int64))


# ---- random numbers


def _random(w: Writer, op: str, dims: Sequence[Dim], dtype: DType) -> Output:
    """Generates random numbers; half precision is converted from float32."""
    drawn = dtype if dtype in (dtypes.float32, dtypes.float64) else dtypes.float32
    name = drawn.name
    return w.cast(w.op(op, w.integers(dims), w.seed(), dtype=name), dtype)


def uniform(w: Writer, dims: Sequence[Dim], dtype: DType) -> Output:
    """Draws uniform numbers in [0, 1)."""
    return _random(w, "StatelessRandomUniform", dims, dtype)


def _normal(w: Writer, dims: Sequence[Dim], dtype: DType) -> Output:
    return _random(w, "StatelessRandomNormal", dims, dtype)


@rule("rand", "rand_like", draws=True)
def _rand(w: Writer, *_: Any, **__: Any) -> Output:
    return uniform(w, w.dims(w.result.shape), w.result.dtype)


@rule("randn", "randn_like", draws=True)
def _randn(w: Writer, *_: Any, **__: Any) -> Output:
    return _normal(w, w.dims(w.result.shape), w.result.dtype)


@rule("normal_functional", "normal.default", draws=True)
def _normal_functional(
    w: Writer, x: Tensor, mean: float = 0.0, std: float = 1.0, **_: Any
) -> Output:
    return _normal(w, x.shape, x.dtype) * std + mean


def _mean_of(w: Writer, mean: Any, std: Any) -> Output:
    """Draws normal numbers; mean and deviation may be tensors."""
    drawn = _normal(w, w.dims(w.result.shape), w.result.dtype)
    return drawn * w.cast(std, w.result.dtype) + w.cast(mean, w.result.dtype)


@rule("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor", draws=True)
def _normal_around(w: Writer, mean: Any, std: Any = 1.0, **_: Any) -> Output:
    return _mean_of(w, mean, std)


@rule("normal.float_float", draws=True)
def _normal_of_size(w: Writer, mean: float, std: float, size: Any, **_: Any) -> Output:
    return _mean_of(w, mean, std)


def _open_uniform(w: Writer, x: Tensor) -> Output:
    """Draws uniform numbers in (0, 1]."""
    return 1.0 - uniform(w, x.shape, dtypes.float32)


@rule("exponential", draws=True)
def _exponential(w: Writer, x: Tensor, lambd: float = 1.0, **_: Any) -> Output:
    return w.cast(w.op("Log", _open_uniform(w, x)) * (-1.0 / lambd), x.dtype)


@rule("geometric", draws=True)
def _geometric(w: Writer, x: Tensor, p: float, **_: Any) -> Output:
    tries = w.op("Log", _open_uniform(w, x)) * (1.0 / math.log1p(-p))
    return w.cast(w.op("Maximum", w.op("Ceil", tries), w.cast(1, dtypes.float32)), x.dtype)


@rule("cauchy", draws=True)
def _cauchy(w: Writer, x: Tensor, median: float = 0.0, sigma: float = 1.0, **_: Any) -> Output:
    angle = (_open_uniform(w, x) - 0.5) * math.pi
    return w.cast(w.op("Tan", angle) * sigma + median, x.dtype)


@rule("log_normal", draws=True)
def _log_normal(w: Writer, x: Tensor, mean: float = 1.0, std: float = 2.0, **_: Any) -> Output:
    return w.op("Exp", _normal(w, x.shape, x.dtype) * std + mean)


@rule("poisson", draws=True)
def _poisson(w: Writer, x: Tensor, **_: Any) -> Output:
    rates, shape = w.cast(x, dtypes.float32), w.integers(x.shape)
    drawn = w.op("StatelessRandomPoisson", shape, w.seed(), rates, dtype="float32")
    return w.cast(drawn, x.dtype)


@rule("multinomial", draws=True)
def _multinomial(
    w: Writer, x: Tensor, num_samples: Dim, replacement: bool = False, **_: Any
) -> Output:
    """Draws samples. Without replacement, it takes the largest log-probabilities after adding
    Gumbel noise."""
    weights = w.cast(x, dtypes.float32)
    rows = w.op("Log", w.reshape(weights, [-1, x.shape[-1]]))
    count = w.cast(w.dim(num_samples), dtypes.int32)
    if replacement:
        drawn = w.op("StatelessMultinomial", rows, count, w.seed(), output_dtype="int64")
    else:
        noise = w.op("Log", -w.op("Log", _open_uniform(w, x)))
        noisy = rows - w.reshape(noise, [-1, x.shape[-1]])
        drawn = w.op("TopKV2", noisy, count, sorted=True)[1]
    return w.reshape(drawn, w.dims(w.result.shape))


@rule("uniform", draws=True)
def _uniform_between(w: Writer, x: Tensor, low: float = 0.0, high: float = 1.0, **_: Any) -> Output:
    return uniform(w, x.shape, x.dtype) * (high - low) + low


def _integers_between(w: Writer, low: Any, high: Any) -> Output:
    shape = w.integers(w.dims(w.result.shape))
    low, high = w.cast(low, dtypes.int64), w.cast(high, dtypes.int64)
    drawn = w.op("StatelessRandomUniformInt", shape, w.seed(), low, high, dtype="int64")
    return w.cast(drawn, w.result.dtype)


@rule("randint.default", draws=True)
def _randint(w: Writer, high: Any, size: Any, **_: Any) -> Output:
    return _integers_between(w, 0, high)


@rule("randint.low", draws=True)
def _randint_from(w: Writer, low: Any, high: Any, size: Any, **_: Any) -> Output:
    return _integers_between(w, low, high)


@rule("randint_like.default", draws=True)
def _randint_like(w: Writer, x: Tensor, high: Any, **_: Any) -> Output:
    return _integers_between(w, 0, high)


@rule("randint_like.low_dtype", draws=True)
def _randint_like_from(w: Writer, x: Tensor, low: Any, high: Any, **_: Any) -> Output:
    return _integers_between(w, low, high)


def _drawn(w: Writer, x: Tensor, probability: Any) -> Output:
    """Draws a bool for each element of a tensor's shape, true with the given probability."""
    return w.op("Less", uniform(w, x.shape, dtypes.float32), w.cast(probability, dtypes.float32))


@rule("bernoulli.default", draws=True)
def _bernoulli(w: Writer, x: Tensor, **_: Any) -> Output:
    return w.cast(_drawn(w, x, x), x.dtype)


@rule("bernoulli.p", "bernoulli.Tensor", draws=True)
def _bernoulli_of(w: Writer, x: Tensor, p: Any = 0.5, **_: Any) -> Output:
    return w.cast(_drawn(w, x, p), x.dtype)


@rule("native_dropout", draws=True)
def _dropout(
    w: Writer, x: Tensor, p: float, train: bool | None = None
) -> tuple[Output | Tensor, Output]:
    if train is False or p == 0:
        return x, w.full(x.shape, True, dtypes.bool_)
    kept = _drawn(w, x, 1.0 - p)
    factor = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return x.out * w.cast(kept, x.dtype) * factor, kept


@rule("native_dropout_backward")
def _dropout_backward(w: Writer, grad: Tensor, mask: Tensor, scale: float) -> Output:
    dtype = grad.dtype if grad.dtype.is_floating_point else dtypes.float32
    return w.cast(grad, dtype) * w.cast(mask, dtype) * scale
