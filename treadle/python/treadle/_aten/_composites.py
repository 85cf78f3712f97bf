"""Layers and functions that PyTorch composes of other ops, as they appear in exported programs
without decompositions."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._native import Output
from . import _dtypes as dtypes
from ._elementwise import _BINARY, _UNARY, _converted
from ._images import (
    _adaptive_avg_pool,
    _avg_pool,
    _convolution,
    _max_pool,
    _max_pool3d,
)
from ._layers import _batch_norm_eval, _dropout, _group_norm, _layer_norm
from ._reductions import moments
from ._rules import RULES, rule
from ._shapes import _constant_pad, _reflection_pad, _replication_pad
from ._values import Meta
from ._writer import KEEP, Dim, Tensor, Value, Writer, axis_of


def _giving(w: Writer, *results: Meta) -> contextlib.AbstractContextManager[None]:
    """Writes an op with several results, of which only the first is used."""
    return w.giving(list(results), lambda index: index == 0)


# ---- other names

_ALIASES = {
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "multiply": "mul", "negative": "neg", "not_equal": "ne", "special_erf": "erf",
    "special_expit": "sigmoid", "special_expm1": "expm1", "special_log1p": "log1p",
}  # fmt: skip

for _name, _same in _ALIASES.items():
    assert _same in _BINARY or _same in _UNARY, _same
    rule(_name)(RULES[f"aten.{_same}"])
for _name, _same in {"concatenate": "cat", "divide": "div", "subtract": "sub"}.items():
    rule(_name)(RULES[f"aten.{_same}"])
rule("swapdims")(RULES["aten.transpose"])


@rule("type_as")
def _type_as(w: Writer, x: Tensor, other: Tensor) -> Output:
    return _converted(w, x, w.result.dtype)


@rule("expand_as")
def _expand_as(w: Writer, x: Tensor, other: Tensor) -> Output:
    return w.broadcast(x, w.dims(w.result.shape))


@rule("ravel")
def _ravel(w: Writer, x: Tensor) -> Output:
    return w.reshape(x, [-1])


# ---- convolutions


def _same_padding(w: Writer, x: Tensor, weight: Tensor, dilation: Sequence[int]) -> Any:
    """Returns the padding before and after each dimension for a result of the same size."""
    spatial = weight.rank - 2
    steps = list(dilation) * spatial if len(dilation) == 1 else list(dilation)
    totals = [d * (k - 1) for d, k in zip(steps, weight.meta.shape[2:], strict=True)]
    return [[t // 2, t - t // 2] for t in totals]


def _register_convolution(n: int) -> None:
    ones = (1,) * n

    @rule(f"conv{n}d.default")
    def conv(
        w: Writer,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sequence[int] = ones,
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = ones,
        groups: int = 1,
    ) -> Output:
        return _convolution(w, x, weight, bias, stride, padding, dilation, False, (0,), groups)

    @rule(f"conv{n}d.padding")
    def padded(
        w: Writer,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sequence[int] = ones,
        padding: str = "valid",
        dilation: Sequence[int] = ones,
        groups: int = 1,
    ) -> Any:
        pairs = _same_padding(w, x, weight, dilation) if padding == "same" else [[0, 0]] * n
        if any(before != after for before, after in pairs):
            return NotImplemented
        amounts = [before for before, _ in pairs]
        return _convolution(w, x, weight, bias, stride, amounts, dilation, False, (0,), groups)

    @rule(f"conv_transpose{n}d.{'default' if n == 1 else 'input'}")
    def transposed(
        w: Writer,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sequence[int] = ones,
        padding: Sequence[int] = (0,),
        output_padding: Sequence[int] = (0,),
        groups: int = 1,
        dilation: Sequence[int] = ones,
    ) -> Output:
        return _convolution(
            w, x, weight, bias, stride, padding, dilation, True, output_padding, groups
        )


for _n in (1, 2, 3):
    _register_convolution(_n)


# ---- normalisation


def _statistics(x: Tensor) -> Meta:
    """Returns the metadata of its mean, except for the shape."""
    return Meta(dtypes.elementwise(KEEP, [(x.dtype, x.rank)], [], x.dtype)[0], ())


@rule("layer_norm")
def _whole_layer_norm(
    w: Writer,
    x: Tensor,
    normalized_shape: Sequence[Dim],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Output:
    with _giving(w, w.result, *[_statistics(x)] * 2):
        return _layer_norm(w, x, normalized_shape, weight, bias, eps)[0]


@rule("group_norm")
def _whole_group_norm(
    w: Writer,
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Output:
    n, c, *_ = x.meta.shape
    with _giving(w, w.result, *[_statistics(x)] * 2):
        return _group_norm(w, x, weight, bias, n, c, -1, num_groups, eps)[0]


@rule("batch_norm")
def _whole_batch_norm(
    w: Writer,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """Writes batch norm for inference; training, which changes its running statistics, is
    unsupported."""
    if training or running_mean is None or running_var is None:
        return NotImplemented
    return _batch_norm_eval(w, x, weight, bias, running_mean, running_var, eps)


@rule("instance_norm")
def _instance_norm(
    w: Writer,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    if not use_input_stats:
        return _whole_batch_norm(
            w, x, weight, bias, running_mean, running_var, False, momentum, eps
        )
    if running_mean is not None:
        return NotImplemented
    (value,), dtype = w.promoted(KEEP, x)
    mean, variance = moments(w, value, range(2, x.rank))
    epsilon = w.cast(eps, dtypes.named(value.dtype))
    out = (value - mean) * w.op("Rsqrt", w.op("AddV2", variance, epsilon))
    column = [-1, *[1] * (x.rank - 2)]
    if weight is not None:
        out = out * w.reshape(w.cast(weight, dtypes.named(value.dtype)), column)
    if bias is not None:
        out = out + w.reshape(w.cast(bias, dtypes.named(value.dtype)), column)
    return w.cast(out, dtype)


@rule("rms_norm")
def _rms_norm(
    w: Writer,
    x: Tensor,
    normalized_shape: Sequence[Dim],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    computed = dtypes.named(value.dtype)
    axes = list(range(x.rank - len(normalized_shape), x.rank))
    square = w.op("Mean", w.op("Square", value), w.indices(axes), keep_dims=True)
    epsilon = float(dtypes.limits(computed).eps) if eps is None else eps
    out = value * w.op("Rsqrt", w.op("AddV2", square, w.cast(epsilon, computed)))
    return w.cast(out if weight is None else out * w.cast(weight, computed), dtype)


# ---- dropout


@rule("dropout", draws=True)
def _whole_dropout(w: Writer, x: Tensor, p: float, train: bool) -> Value:
    return _dropout(w, x, p, train)[0] if train else x


@rule("alpha_dropout", "feature_dropout", "feature_alpha_dropout")
def _no_dropout(w: Writer, x: Tensor, p: float, train: bool) -> Any:
    return NotImplemented if train and p else x


# ---- pools


def _row(meta: Meta) -> Meta:
    """Converts a vector to an image with one row."""
    return dataclasses.replace(meta, shape=(*meta.shape[:-1], 1, meta.shape[-1]), stride=None)


def _as_rows(w: Writer, x: Tensor) -> Tensor:
    return Tensor(w, w.op("ExpandDims", x, w.indices(x.rank - 1)), _row(x.meta))


def _from_rows(w: Writer, value: Output, x: Tensor) -> Output:
    return w.op("Squeeze", value, squeeze_dims=[x.rank - 1])


def _register_max_pool(name: str, pool: Any) -> None:
    @rule(name)
    def apply(w: Writer, x: Tensor, *args: Any) -> Output:
        with _giving(w, w.result, w.result):
            return pool(w, x, *args)[0]


_register_max_pool("max_pool2d", _max_pool)
_register_max_pool("max_pool3d", _max_pool3d)


@rule("max_pool1d")
def _max_pool1d(
    w: Writer,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Output:
    size = [1, *kernel_size], [1, *stride] if stride else (), [0, *padding], [1, *dilation]
    with _giving(w, _row(w.result), w.result):
        return _from_rows(w, _max_pool(w, _as_rows(w, x), *size, ceil_mode)[0], x)


@rule("max_pool1d_with_indices")
def _max_pool1d_with_places(
    w: Writer,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    size = [1, *kernel_size], [1, *stride] if stride else (), [0, *padding], [1, *dilation]
    with w.giving([_row(meta) for meta in w.result], w.is_used):
        found = _max_pool(w, _as_rows(w, x), *size, ceil_mode)
    return [None if out is None else _from_rows(w, out, x) for out in found]


@rule("adaptive_max_pool1d")
def _adaptive_max_pool1d(w: Writer, x: Tensor, output_size: Sequence[Dim]) -> Any:
    found = RULES["aten.adaptive_max_pool2d"](w, _as_rows(w, x), [1, *output_size])
    return [_from_rows(w, out, x) for out in found]


@rule("avg_pool1d")
def _avg_pool1d(
    w: Writer,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Output:
    size = [1, *kernel_size], [1, *stride] if stride else (), [0, *padding]
    with w.giving(_row(w.result)):
        out = _avg_pool(w, _as_rows(w, x), *size, ceil_mode, count_include_pad)
    return _from_rows(w, out, x)


@rule("adaptive_avg_pool1d")
def _adaptive_avg_pool1d(w: Writer, x: Tensor, output_size: Sequence[Dim]) -> Output:
    return _from_rows(w, _adaptive_avg_pool(w, _as_rows(w, x), [1, *output_size]), x)


# ---- pixels, and borders


@rule("pixel_shuffle")
def _pixel_shuffle(w: Writer, x: Tensor, upscale_factor: int) -> Output:
    *batch, c, height, width = x.shape
    f, k = upscale_factor, len(batch)
    split = w.reshape(x, [*batch, c // (f * f), f, f, height, width])
    order = [*range(k), k, k + 3, k + 1, k + 4, k + 2]
    return w.reshape(w.transpose(split, order), w.dims(w.result.shape))


@rule("pad")
def _pad(
    w: Writer, x: Tensor, pad: Sequence[Dim], mode: str = "constant", value: float | None = None
) -> Any:
    modes: dict[str, Any] = {
        "reflect": _reflection_pad,
        "replicate": _replication_pad,
        "circular": RULES["aten._pad_circular"],
    }
    if mode == "constant":
        return _constant_pad(w, x, pad, 0 if value is None else value)
    return modes[mode](w, x, pad)


# ---- products


@rule("einsum.default")
def _einsum(
    w: Writer, equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None
) -> Output:
    """Contracts operands from left to right, two at a time; sums over labels that neither the
    result nor another operand has."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not arrow:  # labels that occur once, in alphabetical order
        letters = sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1)
        right = ("..." if "..." in left else "") + "".join(letters)
    terms, values = left.split(","), [t.out for t in tensors]
    while len(terms) > 2:
        pair, rest = terms[:2], terms[2:]
        kept = set("".join([right, *rest]))
        letters = sorted(c for c in set("".join(pair)) if c.isalpha() and c in kept)
        joined = ("..." if "..." in "".join(pair) else "") + "".join(letters)
        values[:2] = [w.op("Einsum", values[:2], equation=f"{','.join(pair)}->{joined}")]
        terms = [joined, *rest]
    return w.op("Einsum", values, equation=f"{','.join(terms)}->{right}")


@rule("outer", "ger")
def _outer(w: Writer, x: Tensor, y: Tensor) -> Output:
    dtype = w.result.dtype
    return w.op("ExpandDims", w.cast(x, dtype), w.indices(1)) * w.cast(y, dtype)


# ---- slices, and orders of dimensions


@rule("movedim", "moveaxis")
def _move_dims(w: Writer, x: Tensor, source: Any, destination: Any) -> Output:
    sources, goals = (
        [axis_of(d, x.rank) for d in ([dims] if isinstance(dims, int) else dims)]
        for dims in (source, destination)
    )
    rest = iter(a for a in range(x.rank) if a not in sources)
    order = [sources[goals.index(a)] if a in goals else next(rest) for a in range(x.rank)]
    return w.transpose(x, order)


@rule("real")
def _real(w: Writer, x: Tensor) -> Value:
    return w.op("Real", x, Tout=dtypes.name_of(w.result.dtype)) if x.dtype.is_complex else x


@rule("imag")
def _imag(w: Writer, x: Tensor) -> Output:
    return w.op("Imag", x, Tout=dtypes.name_of(w.result.dtype))


@rule("meshgrid")
def _mesh(w: Writer, tensors: Sequence[Tensor], *, indexing: str = "ij") -> Any:
    """Writes meshgrid; with indexing "xy", the first two dimensions are swapped."""
    count = len(tensors)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    columns = [[1] * axis + [-1] + [1] * (count - 1 - axis) for axis in axes]
    return [
        w.broadcast(w.reshape(t, column), w.dims(meta.shape))
        for t, column, meta in zip(tensors, columns, w.result, strict=True)
    ]


@rule("one_hot")
def _one_hot(w: Writer, x: Tensor, num_classes: int = -1) -> Any:
    if not isinstance(num_classes, int) or num_classes < 0:
        return NotImplemented
    column = w.op("ExpandDims", x, w.indices(x.rank))
    return w.cast(w.op("Equal", column, w.range(num_classes, x.dtype)), dtypes.int64)


@rule("repeat_interleave.self_int")
def _repeat_each(
    w: Writer, x: Tensor, repeats: int, dim: int | None = None, *, output_size: Any = None
) -> Any:
    if not isinstance(repeats, int):
        return NotImplemented
    value = w.reshape(x, [-1]) if dim is None else x.out
    axis = 0 if dim is None else axis_of(dim, x.rank)
    count = w.dim(w.result.shape[axis])
    places = w.op("FloorDiv", w.range(count), np.int64(max(repeats, 1)))
    return w.op("GatherV2", value, places, w.indices(axis))
