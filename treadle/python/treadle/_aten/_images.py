"""Convolutions and pools over images; channels come before the image, as PyTorch has them."""

from __future__ import annotations

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
from ._writer import Dim, Tensor, Writer, is_static, product, require_small

# ---- convolutions


class _Convolution:
    """One convolution: what an op of ours is told of it.

    Vectors are images of one row. Volumes are padded beforehand, since their ops aren't told how.
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
        """What a volume is padded with."""
        rows = self.padding if self.is_volume else [0] * len(self.padding)
        return [[0, 0], [0, 0]] + [[p, p] for p in rows]

    def image(self, x: Tensor | Output) -> Output:
        """As its op takes it: with a row for vectors."""
        value = x.out if isinstance(x, Tensor) else x
        return self.w.op("ExpandDims", value, self.w.indices(2)) if self.spatial == 1 else value

    def dims(self, x: Tensor) -> list[Dim]:
        dims = x.shape
        return [*dims[:2], 1, *dims[2:]] if self.spatial == 1 else dims

    def from_image(self, value: Output) -> Output:
        return self.w.op("Squeeze", value, squeeze_dims=[2]) if self.spatial == 1 else value

    def filter(self, weight: Tensor) -> Output:
        """[out, in, window...] as [window..., in, out]."""
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
        """The gradient of the input, whose dimensions (as an image's) are given."""
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
    """Each channel with windows of its own: [in * n, 1, h, w] as [h, w, in, n]."""
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
    if transposed:
        dims = w.dims(w.result.shape)
        image = [*dims[:2], 1, *dims[2:]] if conv.spatial == 1 else dims
        return _with_bias(w, conv.input_gradient(image, weight, x), bias)
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
    """A transposed convolution is the gradient of one, so its gradients are one, and one with
    the roles of input and gradient swapped."""
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


def _pair(values: Sequence[int]) -> list[int]:
    return list(values) * 2 if len(values) == 1 else list(values)


class _Pool:
    """A window over images [n, c, h, w], or [c, h, w], which count as one of a batch."""

    def __init__(
        self,
        w: Writer,
        x: Tensor,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        out: Any,
    ) -> None:
        self.w, self.x = w, x
        self.kernel, self.padding = _pair(kernel), _pair(padding)
        self.stride = _pair(stride) if stride else self.kernel
        self.out = w.dims(out.shape[-2:])

    @property
    def dims(self) -> list[Dim]:
        dims = self.x.shape
        return dims if self.x.rank == 4 else [1, *dims]

    def batch(self, x: Tensor) -> Output:
        return x.out if x.rank == 4 else self.w.op("ExpandDims", x, self.w.indices(0))

    def unbatch(self, value: Output) -> Output:
        return value if self.x.rank == 4 else self.w.op("Squeeze", value, squeeze_dims=[0])

    def after(self, axis: int) -> Dim:
        """How much is padded at the end: more than at the beginning where sizes are rounded up."""
        extent, k, s, p = (self.dims[2 + axis], self.kernel[axis], self.stride[axis],
                           self.padding[axis])  # fmt: skip
        if not is_static([extent, self.out[axis]]):
            return p
        return max(0, (self.out[axis] - 1) * s + k - extent - p)

    @property
    def amounts(self) -> list[list[Dim]]:
        return [[0, 0], [0, 0], *([self.padding[a], self.after(a)] for a in (0, 1))]

    def attrs(self, data_format: str = "NCHW") -> dict[str, Any]:
        def placed(values: list[int]) -> list[int]:
            return [1, 1, *values] if data_format == "NCHW" else [1, *values, 1]

        return {"ksize": placed(self.kernel), "strides": placed(self.stride), "padding": "VALID"}


def _lowest(w: Writer, dtype: DType) -> Output:
    if dtype.is_floating_point:
        return w.cast(float("-inf"), dtype)
    return w.cast(dtypes.limits(dtype).min, dtype)


def _max_with_places(w: Writer, pool: _Pool, x: Tensor) -> tuple[Output, Output]:
    """Places count within the channel's image, without the padding."""
    padded = pad(w, pool.batch(x), pool.amounts, _lowest(w, x.dtype))
    last = w.transpose(padded, [0, 2, 3, 1])
    values, places = w.op("MaxPoolWithArgmax", last, **pool.attrs("NHWC"))
    _, channels, _, width = pool.dims
    # In the padded image, channels last: (row * padded_width + column) * channels + channel.
    cells = w.op("FloorDiv", places, w.cast(channels, dtypes.int64))
    (left, right), top = pool.amounts[3], pool.amounts[2][0]
    if any(not isinstance(a, int) or a for a in (left, right, top)):
        padded_width = w.cast(width + left + right, dtypes.int64)
        row, column = w.op("FloorDiv", cells, padded_width), w.op("FloorMod", cells, padded_width)
        cells = (row - top) * w.cast(width, dtypes.int64) + (column - left)
    return w.transpose(values, [0, 3, 1, 2]), w.transpose(cells, [0, 3, 1, 2])


@rule("max_pool2d_with_indices")
def _max_pool(
    w: Writer,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Output, Output | None]:
    if any(d != 1 for d in dilation):
        raise UnimplementedError(f"a pool of dilation {list(dilation)}")
    pool = _Pool(w, x, kernel_size, stride, padding, w.result[0])
    if w.is_used(1):
        values, places = _max_with_places(w, pool, x)
        return pool.unbatch(values), pool.unbatch(places)
    value = pad(w, pool.batch(x), pool.amounts, _lowest(w, x.dtype))
    return pool.unbatch(w.op("MaxPool", value, **pool.attrs(), data_format="NCHW")), None


@rule("max_pool2d_with_indices_backward")
def _max_pool_backward(
    w: Writer,
    grad: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Output:
    """What flows to each place, added up."""
    planes, area = product(x.shape[:-2]), product(x.shape[-2:])
    starts = w.range(planes) * area
    dims = grad.shape
    flat = w.reshape(indices, [planes, dims[-2] * dims[-1]])
    places = w.reshape(flat + w.op("ExpandDims", starts, w.indices(1)), [-1])
    count = w.cast(planes * area, dtypes.int64)
    total = w.op("UnsortedSegmentSum", w.reshape(grad, [-1]), places, count)
    return w.reshape(total, x.shape)


def _shares(w: Writer, pool: _Pool, count_include_pad: bool, divisor: int | None) -> Any:
    """What sums over windows are multiplied with: a number, or one for each window."""
    if divisor:
        return 1.0 / divisor
    if not any(a for pair in pool.amounts for a in pair):
        return 1.0 / product(pool.kernel)
    if not is_static(pool.dims):
        raise UnimplementedError("a mean over padded windows of an image of symbolic size")
    require_small(*pool.out)
    counts = [_window_sizes(pool, axis, count_include_pad) for axis in (0, 1)]
    return 1.0 / np.outer(*counts)


def _window_sizes(pool: _Pool, axis: int, count_include_pad: bool) -> np.ndarray:
    """How many rows a window counts; what lies beyond the padding asked for never counts."""
    k, s, p, extent = (pool.kernel[axis], pool.stride[axis], pool.padding[axis],
                       pool.dims[2 + axis])  # fmt: skip
    begin = np.arange(pool.out[axis]) * s - p
    end = np.minimum(begin + k, extent + p)
    if count_include_pad:
        return end - begin
    return np.minimum(end, extent) - np.maximum(begin, 0)


def _window_means(w: Writer, pool: _Pool, x: Output, dtype: DType, share: Any) -> Output:
    means = w.op("AvgPool", x, **pool.attrs(), data_format="NCHW")
    factor = share * product(pool.kernel)
    if np.ndim(factor) == 0 and abs(factor - 1) < 1e-12:
        return means
    return means * w.constant(factor, dtype)


@rule("avg_pool2d")
def _avg_pool(
    w: Writer,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Output:
    pool = _Pool(w, x, kernel_size, stride, padding, w.result)
    share = _shares(w, pool, count_include_pad, divisor_override)
    padded = pad(w, pool.batch(x), pool.amounts)
    return pool.unbatch(_window_means(w, pool, padded, x.dtype, share))


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
    pool = _Pool(w, x, kernel_size, stride, padding, grad.meta)
    share = _shares(w, pool, count_include_pad, divisor_override)
    flow = pool.batch(grad)
    factor = share * product(pool.kernel)
    if np.ndim(factor) or abs(factor - 1) > 1e-12:
        flow = flow * w.constant(factor, x.dtype)
    padded = [d + b + a for d, (b, a) in zip(pool.dims, pool.amounts, strict=True)]
    sizes = w.cast(w.integers(padded), dtypes.int32)
    out = w.op("AvgPoolGrad", sizes, flow, **pool.attrs(), data_format="NCHW")
    return pool.unbatch(pad(w, out, [[-b, -a] for b, a in pool.amounts]))


# ---- means over parts of an image, as products with matrices


def _shares_of_parts(extent: int, parts: int) -> np.ndarray:
    """[parts, extent]: what each row gives to each part, which begin and end at whole rows."""
    require_small(parts, extent)
    matrix = np.zeros((parts, extent))
    for i in range(parts):
        begin, end = i * extent // parts, -((-(i + 1) * extent) // parts)
        matrix[i, begin:end] = 1.0 / (end - begin)
    return matrix


def _part_matrices(w: Writer, x: Tensor, out: Sequence[Dim]) -> tuple[np.ndarray, np.ndarray]:
    dims = x.shape[-2:]
    if not is_static([*dims, *out]):
        raise UnimplementedError("an adaptive pool of an image of symbolic size")
    rows, columns = (_shares_of_parts(d, o) for d, o in zip(dims, out, strict=True))
    return rows, columns


@rule("_adaptive_avg_pool2d", "adaptive_avg_pool2d")
def _adaptive_avg_pool(w: Writer, x: Tensor, output_size: Sequence[Dim]) -> Output:
    size = w.dims(output_size)
    if all(isinstance(d, int) and d == 1 for d in size):
        return reduce(w, "Mean", x, [x.rank - 2, x.rank - 1], True)
    rows, columns = _part_matrices(w, x, size)
    left = w.op("BatchMatMulV2", w.constant(rows, x.dtype), x)
    return w.op("BatchMatMulV2", left, w.constant(columns.T, x.dtype))


@rule("_adaptive_avg_pool2d_backward")
def _adaptive_avg_pool_backward(w: Writer, grad: Tensor, x: Tensor) -> Output:
    rows, columns = _part_matrices(w, x, grad.shape[-2:])
    left = w.op("BatchMatMulV2", w.constant(rows.T, x.dtype), grad)
    return w.op("BatchMatMulV2", left, w.constant(columns, x.dtype))


# ---- images made larger, as products with matrices


def _nearest_places(extent: int, size: int, scale: float | None) -> np.ndarray:
    """Which row each row of the result is."""
    require_small(size)
    factor = np.float32(1 / scale if scale else extent / size)
    sources = np.floor(np.arange(size, dtype=np.float32) * factor).astype(int)
    return np.minimum(sources, extent - 1)


def _nearest_rows(extent: int, size: int, scale: float | None) -> np.ndarray:
    """[size, extent]: the same as a matrix."""
    require_small(extent, max(extent, size))
    return np.eye(extent)[_nearest_places(extent, size, scale)]


def _linear_rows(extent: int, size: int, scale: float | None, align_corners: bool) -> np.ndarray:
    """[size, extent]: how each row of the result is made of two."""
    require_small(extent, max(extent, size))
    if align_corners:
        places = np.arange(size) * ((extent - 1) / (size - 1) if size > 1 else 0.0)
    else:
        factor = 1 / scale if scale else extent / size
        places = np.maximum((np.arange(size) + 0.5) * factor - 0.5, 0)
    below = np.minimum(np.floor(places).astype(int), extent - 1)
    share = (places - below)[:, None]
    above = np.minimum(below + 1, extent - 1)
    return np.eye(extent)[below] * (1 - share) + np.eye(extent)[above] * share


def _flow_back(w: Writer, grad: Tensor, rows: np.ndarray, columns: np.ndarray) -> Output:
    left = w.op("BatchMatMulV2", w.constant(rows.T, grad.dtype), grad)
    return w.op("BatchMatMulV2", left, w.constant(columns, grad.dtype))


def _static_sizes(sizes: Sequence[Dim], dims: Sequence[Dim]) -> tuple[list[int], list[int]]:
    if not is_static([*sizes, *dims]):
        raise UnimplementedError("the gradient of an image of symbolic size made larger")
    return list(sizes), list(dims)


@rule("upsample_nearest2d_backward")
def _nearest_backward(
    w: Writer,
    grad: Tensor,
    output_size: Sequence[Dim],
    input_size: Sequence[Dim],
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Output:
    sizes, dims = _static_sizes(w.dims(output_size), w.dims(input_size))
    rows = _nearest_rows(dims[2], sizes[0], scales_h)
    return _flow_back(w, grad, rows, _nearest_rows(dims[3], sizes[1], scales_w))


@rule("upsample_bilinear2d_backward")
def _bilinear_backward(
    w: Writer,
    grad: Tensor,
    output_size: Sequence[Dim],
    input_size: Sequence[Dim],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Output:
    sizes, dims = _static_sizes(w.dims(output_size), w.dims(input_size))
    rows = _linear_rows(dims[2], sizes[0], scales_h, align_corners)
    return _flow_back(w, grad, rows, _linear_rows(dims[3], sizes[1], scales_w, align_corners))
