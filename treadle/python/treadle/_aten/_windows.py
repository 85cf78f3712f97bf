"""Windows of images and volumes as separate dimensions: for adaptive pools and im2col."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType
from ._reductions import last_place_of_largest
from ._rules import rule
from ._shapes import pad, summed_rows
from ._writer import Dim, Tensor, Writer, is_static, product, require_small


def each(values: Sequence[int], spatial: int) -> list[int]:
    """Returns a number for each dimension of an image; a single one is repeated."""
    return list(values) * spatial if len(values) == 1 else list(values)


def lowest(w: Writer, dtype: DType) -> Output:
    if dtype.is_floating_point:
        return w.cast(float("-inf"), dtype)
    return w.cast(dtypes.limits(dtype).min, dtype)


class Windows:
    """The elements of each window along each of the last dimensions of x."""

    def __init__(
        self,
        w: Writer,
        x: Tensor,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        out: Sequence[Dim],
    ) -> None:
        self.w, self.x, self.spatial = w, x, len(out)
        self.kernel, self.padding = each(kernel, self.spatial), each(padding, self.spatial)
        self.dilation = each(dilation, self.spatial)
        self.stride = each(stride, self.spatial) if stride else self.kernel
        self.out = list(out)
        self.first = x.rank - self.spatial

    @property
    def amounts(self) -> list[list[Dim]]:
        """Returns the padding of x, which is larger at the end if sizes are rounded up."""
        rows: list[list[Dim]] = [[0, 0] for _ in range(self.first)]
        for axis in range(self.spatial):
            p, extent = self.padding[axis], self.x.shape[self.first + axis]
            reach = (self.out[axis] - 1) * self.stride[axis] + self.dilation[axis] * (
                self.kernel[axis] - 1
            )
            after = reach + 1 - extent - p
            if isinstance(after, int):
                after = max(after, 0)
            else:
                after = self.w.op("Maximum", after, self.w.indices(0))
            rows.append([p, after])
        return rows

    def places(self, axis: int) -> Output:
        """Returns [windows, elements]: the positions of elements, padding included."""
        starts = self.w.range(self.out[axis]) * np.int64(self.stride[axis])
        steps = self.w.indices(np.arange(self.kernel[axis]) * self.dilation[axis])
        return self.w.op("ExpandDims", starts, self.w.indices(1)) + steps

    def elements(self, number: Output | None) -> Output:
        """Returns the elements as [..., windows of each dimension..., elements of a window]."""
        value = pad(self.w, self.x, self.amounts, number)
        for axis in reversed(range(self.spatial)):
            places = self.places(axis)
            value = self.w.op("GatherV2", value, places, self.w.indices(self.first + axis))
        pairs = range(self.first, self.first + 2 * self.spatial, 2)
        order = [*range(self.first), *pairs, *(i + 1 for i in pairs)]
        dims = [*self.x.shape[: self.first], *self.out, product(self.kernel)]
        return self.w.reshape(self.w.transpose(value, order), dims)


# ---- integers, for which convolution and mean ops have no kernels


def convolved(
    w: Writer,
    x: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Output:
    """Returns a convolution, as products of each window and all filters; of narrow dtypes in
    int32."""
    dtype = x.dtype
    if dtype.itemsize < 4:
        x, weight = (Tensor(w, w.cast(t, dtypes.int32), t.meta) for t in (x, weight))
    count, _, *kernel = weight.shape
    if not is_static(kernel):
        raise UnimplementedError("a convolution of integers with windows of symbolic size")
    outs = w.dims(w.result.shape)
    elements = Windows(w, x, kernel, stride, padding, dilation, outs[2:]).elements(None)
    shape = [x.shape[0], groups, x.shape[1] // groups, product(outs[2:]), product(kernel)]
    filters = w.reshape(weight, [groups, count // groups, shape[2], shape[4]])
    inputs = [w.reshape(elements, shape), filters]
    out = w.reshape(w.op("Einsum", inputs, equation="ngcpk,gock->ngop"), outs)
    return w.cast(out, dtype)


def whole_means(windows: Windows, counts: np.ndarray) -> Output:
    """Means of windows, rounded towards zero."""
    w = windows.w
    total = w.op("Sum", windows.elements(None), w.indices(windows.x.rank))
    return w.op("TruncateDiv", total, w.constant(np.rint(counts), windows.x.dtype))


# ---- maxima of parts that begin and end at whole rows


def _register_adaptive(spatial: int) -> None:
    @rule(f"adaptive_max_pool{spatial}d")
    def largest(w: Writer, x: Tensor, output_size: Sequence[Dim]) -> tuple[Output, Output]:
        dims, outs = x.shape[-spatial:], w.dims(output_size)
        if not is_static([*dims, *outs]):
            raise UnimplementedError("an adaptive pool of an image of symbolic size")
        parts = [_part_places(d, o) for d, o in zip(dims, outs, strict=True)]
        value, first = x.out, x.rank - spatial
        for axis in reversed(range(spatial)):
            value = w.op("GatherV2", value, w.indices(parts[axis][0]), w.indices(first + axis))
        pairs = range(first, first + 2 * spatial, 2)
        order = [*range(first), *pairs, *(i + 1 for i in pairs)]
        flat, is_inside = _flat_parts(parts, dims)
        elements = w.reshape(w.transpose(value, order), [*x.shape[:first], *flat.shape])
        inside = w.constant(is_inside, dtypes.bool_)
        elements = w.op("SelectV2", inside, elements, lowest(w, x.dtype))
        most = w.op("Max", elements, w.indices(x.rank))
        number = last_place_of_largest(w, elements, x.rank)
        row = w.indices(np.arange(flat[..., 0].size).reshape(flat.shape[:-1]) * flat.shape[-1])
        place = w.op("GatherV2", w.indices(flat.reshape(-1)), number + row, w.indices(0))
        return most, place


def _part_places(extent: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns [count, longest]: the rows of each part, and a mask of the rows that belong to it."""
    require_small(extent, count)
    begin = np.arange(count) * extent // count
    end = -((-(np.arange(count) + 1) * extent) // count)
    places = begin[:, None] + np.arange(max(end - begin, default=1))
    return np.minimum(places, extent - 1), places < end[:, None]


def _flat_parts(parts: Sequence[Any], dims: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Returns [counts..., elements]: the flat positions in an image, and a mask of the valid
    ones."""
    spatial = len(dims)
    flat, inside = np.zeros((), int), np.ones((), bool)
    for axis, ((places, own), extent) in enumerate(zip(parts, dims, strict=True)):
        shape = [1] * (2 * spatial)
        shape[axis], shape[spatial + axis] = places.shape
        flat = flat * extent + places.reshape(shape)
        inside = inside & own.reshape(shape)
    counts = flat.shape[:spatial]
    return flat.reshape(*counts, -1), inside.reshape(*counts, -1)


for _spatial in (2, 3):
    _register_adaptive(_spatial)


# ---- im2col and col2im


@rule("im2col")
def _im2col(
    w: Writer,
    x: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Output:
    counts = [
        (x.shape[i - 2] + 2 * p - d * (k - 1) - 1) // s + 1
        for i, (k, d, p, s) in enumerate(zip(kernel_size, dilation, padding, stride, strict=True))
    ]
    windows = Windows(w, x, kernel_size, stride, padding, dilation, counts)
    order = [*range(x.rank - 2), x.rank, x.rank - 2, x.rank - 1]
    return w.reshape(w.transpose(windows.elements(None), order), w.dims(w.result.shape))


@rule("col2im")
def _col2im(
    w: Writer,
    x: Tensor,
    output_size: Sequence[Dim],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Output:
    """Adds up the values for each element of an image (col2im)."""
    sizes = w.dims(output_size)
    if not is_static(sizes):
        raise UnimplementedError("col2im to an image of symbolic size")
    places = []
    for extent, k, d, p, s in zip(sizes, kernel_size, dilation, padding, stride, strict=True):
        count = (extent + 2 * p - d * (k - 1) - 1) // s + 1
        places.append(np.arange(k)[:, None] * d + np.arange(count) * s)
    rows, columns = places
    require_small(rows.size, columns.size)
    height, width = (size + 2 * p for size, p in zip(sizes, padding, strict=True))
    flat = rows[:, None, :, None] * width + columns[None, :, None, :]
    batch = x.shape[:-2]
    values = w.reshape(x, [*batch, -1, flat.size])
    added = summed_rows(w, values, w.indices(flat.reshape(-1)), x.rank - 1, height * width, x.rank)
    rank = x.rank + 1
    image = w.reshape(added, [*batch, x.shape[-2] // product(kernel_size), height, width])
    return pad(w, image, [[0, 0]] * (rank - 2) + [[-p, -p] for p in padding])
