"""Convolutions and pools over images; channels come before the image, as PyTorch has them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType
from ._reductions import reduce
from ._rules import rule
from ._shapes import pad
from ._values import Meta
from ._windows import Windows, convolved, each, whole_means
from ._writer import KEEP, Dim, Tensor, Writer, is_static, product, require_small

# ---- convolutions


class _Convolution:
    """A convolution, with the attributes of Treadle's op.

    Vectors become images with one row. Volumes are padded beforehand, since their ops have no
    padding attribute.
    """

    def __init__(
        self,
        w: Writer,
        spatial: int,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> None:
        self.w, self.spatial, self.groups = w, spatial, groups
        self.stride, self.dilation = self._each(stride), self._each(dilation)
        self.padding = self._each(padding)
        if spatial == 1:
            self.stride, self.dilation = [1, *self.stride], [1, *self.dilation]
            self.padding = [0, *self.padding]
        self.is_volume = spatial == 3

    def _each(self, values: Sequence[int]) -> list[int]:
        return list(values) * self.spatial if len(values) == 1 else list(values)

    @property
    def op(self) -> str:
        return "Conv3D" if self.is_volume else "Conv2D"

    @property
    def window(self) -> dict[str, Any]:
        attrs: dict[str, Any] = {
            "strides": [1, 1, *self.stride],
            "dilations": [1, 1, *self.dilation],
            "data_format": "NCDHW" if self.is_volume else "NCHW",
            "padding": "VALID",
        }
        if not self.is_volume and any(self.padding):
            attrs["padding"] = "EXPLICIT"
            attrs["explicit_paddings"] = [0] * 4 + [p for p in self.padding for _ in "be"]
        return attrs

    @property
    def amounts(self) -> list[list[Dim]]:
        """Returns the padding of a volume."""
        rows = self.padding if self.is_volume else [0] * len(self.padding)
        return [[0, 0], [0, 0]] + [[p, p] for p in rows]

    def image(self, x: Tensor | Output) -> Output:
        """Returns the image in the form of its op: with a row for vectors."""
        value = x.out if isinstance(x, Tensor) else x
        return self.w.op("ExpandDims", value, self.w.indices(2)) if self.spatial == 1 else value

    def dims(self, x: Tensor) -> list[Dim]:
        dims = x.shape
        return [*dims[:2], 1, *dims[2:]] if self.spatial == 1 else dims

    def from_image(self, value: Output) -> Output:
        return self.w.op("Squeeze", value, squeeze_dims=[2]) if self.spatial == 1 else value

    def filter(self, weight: Tensor) -> Output:
        """Transposes a filter from [out, in, window...] to [window..., in, out]."""
        rank = len(self.stride) + 2
        return self.w.transpose(self.image(weight), [*range(2, rank), 1, 0])

    def from_filter(self, value: Output) -> Output:
        rank = len(self.stride) + 2
        turned = self.w.transpose(value, [rank - 1, rank - 2, *range(rank - 2)])
        return self.from_image(turned)

    def forward(self, x: Tensor | Output, weight: Tensor) -> Output:
        value = pad(self.w, self.image(x), self.amounts)
        out = self.w.op(self.op, value, self.filter(weight), **self.window)
        return self.from_image(out)

    def _padded(self, dims: list[Dim]) -> list[Dim]:
        return [d + b + a for d, (b, a) in zip(dims, self.amounts, strict=True)]

    def input_gradient(self, dims: list[Dim], weight: Tensor, grad: Tensor | Output) -> Output:
        """Returns the gradient of the input with these dimensions (of an image)."""
        op = "Conv3DBackpropInputV2" if self.is_volume else "Conv2DBackpropInput"
        sizes = self._sizes(self._padded(dims))
        out = self.w.op(op, sizes, self.filter(weight), self.image(grad), **self.window)
        out = pad(self.w, out, [[-b, -a] for b, a in self.amounts])
        return self.from_image(out)

    def filter_gradient(self, x: Tensor | Output, weight: Tensor, grad: Tensor | Output) -> Output:
        op = "Conv3DBackpropFilterV2" if self.is_volume else "Conv2DBackpropFilter"
        dims = self.dims(weight)
        sizes = self._sizes([*dims[2:], dims[1], dims[0]])
        value = pad(self.w, self.image(x), self.amounts)
        return self.from_filter(self.w.op(op, value, sizes, self.image(grad), **self.window))

    def _sizes(self, dims: list[Dim]) -> Output:
        if is_static(dims):
            return self.w.builder.constant(np.asarray(dims, np.int32))
        return self.w.cast(self.w.integers(dims), dtypes.int32)


def _is_depthwise(conv: _Convolution, x: Tensor, weight: Tensor) -> bool:
    return (
        conv.groups > 1
        and conv.spatial == 2
        and isinstance(x.shape[1], int)
        and x.shape[1] == conv.groups
        and conv.stride[0] == conv.stride[1]
        and x.dtype in (dtypes.float32, dtypes.float64)
    )


def _depthwise(conv: _Convolution, x: Tensor, weight: Tensor) -> Output:
    """Converts the filter of a depthwise convolution: [in * n, 1, h, w] to [h, w, in, n]."""
    w = conv.w
    out, _, height, width = weight.shape
    split = w.reshape(weight, [conv.groups, out // conv.groups, height, width])
    filters = w.transpose(split, [2, 3, 0, 1])
    return w.op("DepthwiseConv2dNative", x, filters, **conv.window)


def _with_bias(w: Writer, out: Output, bias: Tensor | None) -> Output:
    if bias is None:
        return out
    if len(out.shape) == 4:
        return w.op("BiasAdd", out, bias, data_format="NCHW")
    return out + w.reshape(bias, [-1, *[1] * (len(out.shape) - 2)])


def _transposed(
    w: Writer, conv: _Convolution, x: Tensor, weight: Tensor, output_padding: Sequence[int]
) -> Output:
    """Computes a transposed convolution as a gradient. If the output padding is a stride or more,
    the result has room for another window; then the gradient is computed without these rows, with
    the rows that padding removes."""
    dims = w.dims(w.result.shape)
    image = [*dims[:2], 1, *dims[2:]] if conv.spatial == 1 else dims
    added = [0] * (len(image) - 2 - len(output_padding)) + list(output_padding)
    added = added[-1:] * (len(image) - 2) if len(output_padding) == 1 else added
    if conv.spatial == 1:
        added[0] = 0
    if all(a < s for a, s in zip(added, conv.stride, strict=True)):
        return conv.input_gradient(image, weight, x)
    padding, conv.padding = conv.padding, [0] * len(conv.padding)
    pairs = list(zip(added, padding, strict=True))
    whole = [*image[:2], *(d - a + 2 * p for d, (a, p) in zip(image[2:], pairs, strict=True))]
    out = conv.input_gradient(whole, weight, x)
    return pad(w, out, [[0, 0]] * 2 + [[-p, a - p] for a, p in pairs[-conv.spatial :]])


@rule("convolution")
def _convolution(
    w: Writer,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Output:
    conv = _Convolution(w, weight.rank - 2, stride, padding, dilation, groups)
    if x.rank != weight.rank:
        raise UnimplementedError("an image without a batch")
    if not x.dtype.is_floating_point:
        if transposed:
            raise UnimplementedError("a transposed convolution of integers")
        out = convolved(w, x, weight, stride, padding, dilation, groups)
        return _with_bias(w, out, bias)
    if transposed:
        return _with_bias(w, _transposed(w, conv, x, weight, output_padding), bias)
    if _is_depthwise(conv, x, weight):
        return _with_bias(w, _depthwise(conv, x, weight), bias)
    return _with_bias(w, conv.forward(x, weight), bias)


@rule("convolution_backward")
def _convolution_backward(
    w: Writer,
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Output | None, ...]:
    """Computes the gradients of a convolution. Those of a transposed convolution are a convolution,
    and a filter gradient with input and gradient swapped."""
    conv = _Convolution(w, weight.rank - 2, stride, padding, dilation, groups)
    dx = dw = db = None
    if output_mask[0]:
        dx = (
            conv.forward(grad, weight)
            if transposed
            else conv.input_gradient(conv.dims(x), weight, grad)
        )
    if output_mask[1]:
        image, flow = (grad, x) if transposed else (x, grad)
        dw = conv.filter_gradient(image, weight, flow)
    if output_mask[2]:
        db = reduce(w, "Sum", grad, [0, *range(2, grad.rank)])
    return dx, dw, db


# ---- pools


class Pool:
    """A window over images [n, c, h, w], or [c, h, w], which count as one of a batch; or over
    volumes, which have a dimension more."""

    def __init__(
        self,
        w: Writer,
        x: Tensor,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        out: Any,
        spatial: int = 2,
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> None:
        self.w, self.x, self.spatial, self.ceil_mode = w, x, spatial, ceil_mode
        self.kernel, self.padding = each(kernel, spatial), each(padding, spatial)
        self.dilation = each(dilation, spatial)
        self.stride = each(stride, spatial) if stride else self.kernel
        self.out = w.dims(out.shape[-spatial:])
        self.is_batch = x.rank == spatial + 2

    def op(self, name: str) -> str:
        return f"{name}3D" if self.spatial == 3 else name

    @property
    def dims(self) -> list[Dim]:
        dims = self.x.shape
        return dims if self.is_batch else [1, *dims]

    def batch(self, x: Tensor) -> Output:
        return x.out if self.is_batch else self.w.op("ExpandDims", x, self.w.indices(0))

    def unbatch(self, value: Output) -> Output:
        return value if self.is_batch else self.w.op("Squeeze", value, squeeze_dims=[0])

    def after(self, axis: int) -> int:
        """Returns the padding at the end, which exceeds that at the beginning if sizes are rounded
        up."""
        extent, s, p = self.dims[2 + axis], self.stride[axis], self.padding[axis]
        reach = (self.kernel[axis] - 1) * self.dilation[axis] + 1
        if not is_static([extent, self.out[axis]]):
            if self.ceil_mode and s > 1:
                raise UnimplementedError("ceil_mode of windows over an image of symbolic size")
            return p
        return max(0, (self.out[axis] - 1) * s + reach - extent - p)

    @property
    def amounts(self) -> list[list[int]]:
        rows = [[self.padding[a], self.after(a)] for a in range(self.spatial)]
        return [[0, 0], [0, 0], *rows]

    def attrs(self, is_last: bool = False) -> dict[str, Any]:
        """Returns the attributes of the op. is_last: whether channels are the last dimension."""

        def placed(values: list[int]) -> list[int]:
            return [1, *values, 1] if is_last else [1, 1, *values]

        return {"ksize": placed(self.kernel), "strides": placed(self.stride)}

    @property
    def channels_first(self) -> dict[str, Any]:
        return {**self.attrs(), "data_format": "NCDHW" if self.spatial == 3 else "NCHW"}


def _largest(w: Writer, pool: Pool, x: Tensor) -> Output:
    """Returns the largest element of each window, or NaN if the window contains a NaN."""
    paddings = [amount for pair in pool.amounts for amount in pair]
    value = w.op(
        "_MaxPool",
        pool.batch(x),
        **pool.channels_first,
        dilations=[1, 1, *pool.dilation],
        explicit_paddings=paddings,
    )
    return pool.unbatch(value)


def _largest_with_places(w: Writer, pool: Pool, x: Tensor) -> tuple[Output, Output]:
    """Returns the largest element of each window, and its position in the channel's image."""
    rank = pool.spatial + 2
    paddings = [*pool.amounts[2:], [0, 0]]
    found = w.op(
        "_MaxPoolWithPlaces",
        w.transpose(pool.batch(x), [0, *range(2, rank), 1]),
        **pool.attrs(is_last=True),
        dilations=[1, *pool.dilation, 1],
        explicit_paddings=[0, 0, *(amount for pair in paddings for amount in pair)],
        data_format="NDHWC" if pool.spatial == 3 else "NHWC",
    )
    back = [0, rank - 1, *range(1, rank - 1)]
    values, places = (pool.unbatch(w.transpose(value, back)) for value in found)
    return values, places


def _register_max(spatial: int) -> Any:
    @rule(f"max_pool{spatial}d_with_indices")
    def pooled(
        w: Writer,
        x: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Output, Output | None]:
        pool = Pool(w, x, kernel_size, stride, padding, w.result[0], spatial, dilation, ceil_mode)
        return _largest_with_places(w, pool, x) if w.is_used(1) else (_largest(w, pool, x), None)

    return pooled


_max_pool, _max_pool3d = (_register_max(spatial) for spatial in (2, 3))


def _gradients_by_position(
    w: Writer, grad: Tensor, x: Tensor, indices: Tensor, spatial: int
) -> Output:
    """Adds up the gradients of each position of an image."""
    planes, area = product(x.shape[:-spatial]), product(x.shape[-spatial:])
    starts = w.range(planes) * area
    flat = w.reshape(indices, [planes, product(grad.shape[-spatial:])])
    places = w.reshape(flat + w.op("ExpandDims", starts, w.indices(1)), [-1])
    count = w.cast(planes * area, dtypes.int64)
    total = w.op("UnsortedSegmentSum", w.reshape(grad, [-1]), places, count)
    return w.reshape(total, x.shape)


def _register_max_backward(spatial: int) -> None:
    """Registers a gradient of max pooling; the positions are its last argument."""

    @rule(f"max_pool{spatial}d_with_indices_backward", f"adaptive_max_pool{spatial}d_backward")
    def backward(w: Writer, grad: Tensor, x: Tensor, *window: Any, **named: Any) -> Output:
        return _gradients_by_position(w, grad, x, named.get("indices", window[-1]), spatial)


for _spatial in (2, 3):
    _register_max_backward(_spatial)


def _shares(w: Writer, pool: Pool, count_include_pad: bool, divisor: int | None) -> Any:
    """Returns the factors of sums over windows: a number, or one for each window."""
    if divisor:
        return 1.0 / divisor
    if not any(a for pair in pool.amounts for a in pair):
        return 1.0 / product(pool.kernel)
    if not is_static([*pool.dims[2:], *pool.out]):
        return _shares_of_open(w, pool, count_include_pad)
    require_small(*pool.out)
    counts = [_window_sizes(pool, axis, count_include_pad) for axis in range(pool.spatial)]
    return 1.0 / functools.reduce(np.multiply.outer, counts)


def _shares_of_open(w: Writer, pool: Pool, count_include_pad: bool) -> Output:
    """Like the function above, for an image with symbolic sizes."""
    counts: Any = None
    for axis in range(pool.spatial):
        k, s, p = (np.int64(v[axis]) for v in (pool.kernel, pool.stride, pool.padding))
        extent = w.cast(pool.dims[2 + axis], dtypes.int64)
        begin = w.range(pool.out[axis]) * s - p
        end = w.op("Minimum", begin + k, extent + p)
        if not count_include_pad:
            begin = w.op("Maximum", begin, w.indices(0))
            end = w.op("Minimum", end, extent)
        count = w.reshape(end - begin, [-1, *[1] * (pool.spatial - 1 - axis)])
        counts = count if counts is None else counts * count
    return w.op("Reciprocal", w.cast(counts, pool.x.dtype))


def _weighted(w: Writer, pool: Pool, means: Output, share: Any, dtype: DType) -> Output:
    """Means over all of each window as sums that are multiplied with shares."""
    count = product(pool.kernel)
    if isinstance(share, Output):
        return means * (share * w.cast(count, dtype))
    factor = share * count
    if np.ndim(factor) == 0 and abs(factor - 1) < 1e-12:
        return means
    return means * w.constant(factor, dtype)


def _window_sizes(pool: Pool, axis: int, count_include_pad: bool) -> np.ndarray:
    """Returns the number of rows in each window; rows beyond the requested padding are never
    counted."""
    k, s, p, extent = (pool.kernel[axis], pool.stride[axis], pool.padding[axis],
                       pool.dims[2 + axis])  # fmt: skip
    begin = np.arange(pool.out[axis]) * s - p
    end = np.minimum(begin + k, extent + p)
    if count_include_pad:
        return end - begin
    return np.minimum(end, extent) - np.maximum(begin, 0)


def _window_means(w: Writer, pool: Pool, x: Output, dtype: DType, share: Any) -> Output:
    means = w.op(pool.op("AvgPool"), x, padding="VALID", **pool.channels_first)
    return _weighted(w, pool, means, share, dtype)


def _means(
    w: Writer,
    pool: Pool,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Output:
    share = _shares(w, pool, count_include_pad, divisor_override)
    if not pool.x.dtype.is_floating_point:
        if isinstance(share, Output):
            raise UnimplementedError(
                "integer average pooling with a symbolic window size isn't supported"
            )
        windows = Windows(w, pool.x, pool.kernel, pool.stride, pool.padding, [1], pool.out)
        return whole_means(windows, 1.0 / np.asarray(share))
    padded = pad(w, pool.batch(pool.x), pool.amounts)
    return pool.unbatch(_window_means(w, pool, padded, pool.x.dtype, share))


def _register_mean(spatial: int) -> Any:
    @rule(f"avg_pool{spatial}d")
    def pooled(
        w: Writer,
        x: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        *rest: Any,
    ) -> Output:
        pool = Pool(w, x, kernel_size, stride, padding, w.result, spatial, ceil_mode=ceil_mode)
        return _means(w, pool, *rest)

    return pooled


_avg_pool, _ = (_register_mean(spatial) for spatial in (2, 3))


@rule("avg_pool2d_backward")
def _avg_pool_backward(
    w: Writer,
    grad: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Output:
    pool = Pool(w, x, kernel_size, stride, padding, grad.meta, ceil_mode=ceil_mode)
    share = _shares(w, pool, count_include_pad, divisor_override)
    flow = _weighted(w, pool, pool.batch(grad), share, x.dtype)
    padded = [d + b + a for d, (b, a) in zip(pool.dims, pool.amounts, strict=True)]
    sizes = w.cast(w.integers(padded), dtypes.int32)
    out = w.op("AvgPoolGrad", sizes, flow, padding="VALID", **pool.channels_first)
    return pool.unbatch(pad(w, out, [[-b, -a] for b, a in pool.amounts]))


# ---- rows of an image, each a weighted sum of a few


class Taps:
    """The rows, of `extent`, that contribute to each row of a result, and their weights.

    Rows with weight zero are not included, so that NaN and infinities don't spread.
    """

    def __init__(self, extent: int, places: np.ndarray, weights: np.ndarray) -> None:
        self.extent, self.places, self.weights = extent, places, weights

    @classmethod
    def of_parts(cls, first: np.ndarray, last: np.ndarray, extent: int, weights: Any) -> Taps:
        """Returns the taps for the rows from `first` to before `last`; shorter parts repeat their
        last row with reduced weights. weights(places): the weights of rows."""
        wanted = first[:, None] + np.arange(int(np.max(last - first, initial=1)))
        places = np.minimum(wanted, last[:, None] - 1)
        repeats = 1 + wanted[:, -1:] - (last[:, None] - 1)
        is_last = places == last[:, None] - 1
        shares = weights(places) / np.where(is_last, repeats, 1)
        heaviest = np.take_along_axis(places, shares.argmax(1)[:, None], 1)
        return cls(extent, np.where(shares == 0, heaviest, places), shares)

    @property
    def matrix(self) -> np.ndarray:
        """[rows of the result, extent]"""
        matrix = np.zeros((len(self.places), self.extent))
        np.add.at(matrix, (np.arange(len(self.places))[:, None], self.places), self.weights)
        return matrix

    def apply(self, w: Writer, value: Output, rank: int, axis: int) -> Output:
        """Applies the taps along a dimension of a value."""
        count, dtype = self.places.shape[1], dtypes.named(value.dtype)
        tail = [1] * (rank - 1 - axis)
        if count <= _FEW_TAPS:
            parts = [
                w.op("GatherV2", value, w.indices(self.places[:, k]), w.indices(axis))
                * w.constant(self.weights[:, k].reshape(-1, *tail), dtype)
                for k in range(count)
            ]
            return functools.reduce(lambda x, y: w.op("AddV2", x, y), parts)
        rows = w.op("GatherV2", value, w.indices(self.places), w.indices(axis))
        weighted = rows * w.constant(self.weights.reshape(*self.weights.shape, *tail), dtype)
        return reduce(w, "Sum", weighted, [axis + 1])


# The maximum number of rows that are added one by one.
_FEW_TAPS = 4


def along_axes(w: Writer, x: Tensor, each: Sequence[Taps]) -> Output:
    """Returns the taps of each of the last dimensions, in turn; integers are rounded after each,
    columns first."""
    (value,), dtype = w.promoted(KEEP, x)
    pairs = list(enumerate(each, x.rank - len(each)))
    if dtype.is_floating_point:
        for axis, taps in pairs:
            value = taps.apply(w, value, x.rank, axis)
        return w.cast(value, dtype)
    limits = dtypes.limits(dtype)
    low, high = (w.cast(v, dtypes.float32) for v in (limits.min, limits.max))
    value = w.cast(value, dtypes.float32)
    for axis, taps in reversed(pairs):
        value = w.op("Floor", taps.apply(w, value, x.rank, axis) + 0.5)
        value = w.op("Minimum", w.op("Maximum", value, low), high)
    return w.cast(value, dtype)


# ---- means over parts of an image


def _parts(extent: int, count: int) -> Taps:
    """Returns the taps of parts that begin and end at whole rows."""
    require_small(count, extent)
    first = np.arange(count) * extent // count
    last = -((-(np.arange(count) + 1) * extent) // count)
    sizes = (last - first)[:, None]
    return Taps.of_parts(first, last, extent, lambda places: np.ones(places.shape) / sizes)


def _all_parts(w: Writer, x: Tensor, out: Sequence[Dim]) -> list[Taps]:
    dims = x.shape[-len(out) :]
    if not is_static([*dims, *out]):
        raise UnimplementedError("an adaptive pool of an image of symbolic size")
    return [_parts(d, o) for d, o in zip(dims, out, strict=True)]


def _register_adaptive_mean(spatial: int) -> Any:
    @rule(f"_adaptive_avg_pool{spatial}d", f"adaptive_avg_pool{spatial}d")
    def pooled(w: Writer, x: Tensor, output_size: Sequence[Dim]) -> Output:
        size, dims = w.dims(output_size), x.shape[-spatial:]
        if all(isinstance(d, int) and d == 1 for d in size):
            return reduce(w, "Mean", x, range(x.rank - spatial, x.rank), True)
        if is_static([*size, *dims]) and not any(d % o for d, o in zip(dims, size, strict=True)):
            window = [d // o for d, o in zip(dims, size, strict=True)]
            return _means(w, Pool(w, x, window, (), (0,), Meta(x.dtype, tuple(size)), spatial))
        return along_axes(w, x, _all_parts(w, x, size))

    return pooled


_adaptive_avg_pool, _ = (_register_adaptive_mean(spatial) for spatial in (2, 3))


@rule("_adaptive_avg_pool2d_backward")
def _adaptive_avg_pool_backward(w: Writer, grad: Tensor, x: Tensor) -> Output:
    rows, columns = (taps.matrix for taps in _all_parts(w, x, grad.shape[-2:]))
    left = w.op("BatchMatMulV2", w.constant(rows.T, x.dtype), grad)
    return w.op("BatchMatMulV2", left, w.constant(columns, x.dtype))
