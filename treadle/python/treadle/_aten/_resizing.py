"""Resizes images, one dimension after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._images import Taps, along_axes
from ._rules import rule
from ._writer import Dim, Tensor, Writer, is_static, require_small

_Rows = Callable[[int, int, Any, bool], Taps]


def _nearest_places(extent: int, size: int, scale: float | None) -> np.ndarray:
    """Returns the source row of each row of the result."""
    require_small(size)
    factor = np.float32(1 / scale if scale else extent / size)
    sources = np.floor(np.arange(size, dtype=np.float32) * factor).astype(int)
    return np.minimum(sources, extent - 1)


def _nearest_rows(extent: int, size: int, scale: float | None) -> Taps:
    places = _nearest_places(extent, size, scale)[:, None]
    return Taps(extent, places, np.ones(places.shape))


def _places(extent: int, size: int, scale: float | None, align_corners: bool) -> np.ndarray:
    """Returns the position of each row of the result among the rows of the image."""
    require_small(extent, max(extent, size))
    if align_corners:
        return np.arange(size) * ((extent - 1) / (size - 1) if size > 1 else 0.0)
    return (np.arange(size) + 0.5) * (1 / scale if scale else extent / size) - 0.5


def _linear_rows(extent: int, size: int, scale: float | None, align_corners: bool) -> Taps:
    """Interpolates each row of the result between two rows."""
    places = np.maximum(_places(extent, size, scale, align_corners), 0)
    below = np.minimum(np.floor(places).astype(int), extent - 1)
    share = places - below
    above = np.minimum(below + 1, extent - 1)
    return Taps(extent, np.stack([below, above], 1), np.stack([1 - share, share], 1))


def _cubic(distance: np.ndarray, sharpness: float) -> np.ndarray:
    """Computes Keys' cubic convolution (1981, equation 15)."""
    x, a = np.abs(distance), sharpness
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _cubic_rows(extent: int, size: int, scale: float | None, align_corners: bool) -> Taps:
    """Interpolates cubically between four rows; the first and the last row are repeated at the
    ends."""
    places = _places(extent, size, scale, align_corners)[:, None]
    sources = np.floor(places).astype(int) + np.arange(-1, 3)
    return Taps(extent, np.clip(sources, 0, extent - 1), _cubic(places - sources, -0.75))


def _antialiased_rows(filter_of: Callable[[np.ndarray], np.ndarray], support: float) -> _Rows:
    """Returns the antialiased taps of rows, which cover all rows below them if an image becomes
    smaller."""

    def rows(extent: int, size: int, scale: float | None, align_corners: bool) -> Taps:
        step = 1 / scale if scale else extent / size
        if align_corners:
            step = (extent - 1) / (size - 1) if size > 1 else 0.0
        require_small(extent, size)
        centers = (np.arange(size) + 0.5)[:, None] * step
        width = max(step, 1.0)
        first = np.maximum((centers - support * width + 0.5).astype(int), 0)
        last = np.minimum((centers + support * width + 0.5).astype(int), extent)

        def weights(places: np.ndarray) -> np.ndarray:
            return filter_of((places - centers + 0.5) / width)

        taps = Taps.of_parts(first[:, 0], last[:, 0], extent, weights)
        taps.weights /= taps.weights.sum(1, keepdims=True)
        return taps

    return rows


# ---- in one direction


def _scales(given: Sequence[Any], dims: int) -> list[float | None]:
    """Returns the factor of each dimension, for all forms of the arguments."""
    if len(given) == 1 and isinstance(given[0], list | tuple):
        return list(given[0])
    return [*given, *[None] * (dims - len(given))]


def _dims(w: Writer, x: Tensor) -> list[tuple[Dim, Dim]]:
    """Returns for each dimension its size in the image, and in the result."""
    return list(zip(x.shape[2:], w.dims(w.result.shape[2:]), strict=True))


def _step(w: Writer, extent: Dim, size: Dim, scale: float | None) -> Output:
    """Returns the distance of the rows of a result, for symbolic sizes."""
    if scale:
        return w.cast(1 / scale, dtypes.float32)
    return w.op("RealDiv", *(w.cast(d, dtypes.float32) for d in (extent, size)))


def _register_nearest(n: int, name: str, shift: float, places_of: Callable[..., Any]) -> None:
    """Registers nearest-neighbour resizing; `shift`: the sampled position in a row."""

    @rule(f"{name}{n}d")
    def nearest(w: Writer, x: Tensor, output_size: Any = None, *scales: Any) -> Output:
        """Resizes with a factor for each dimension, or a list of factors."""
        value = x.out
        each = zip(_dims(w, x), _scales(scales, n), strict=True)
        for axis, ((extent, size), scale) in enumerate(each):
            if isinstance(extent, int) and isinstance(size, int):
                places = w.indices(places_of(extent, size, scale))
            else:
                places = _number_rows(w, extent, size, scale, shift)
            value = w.op("GatherV2", value, places, w.indices(2 + axis))
        return value


def _number_rows(w: Writer, extent: Dim, size: Dim, scale: float | None, shift: float) -> Output:
    centers = w.range(size, dtypes.float32) + shift
    places = w.op("Floor", centers * _step(w, extent, size, scale))
    last = w.cast(extent, dtypes.int64) - np.int64(1)
    return w.op("Minimum", w.cast(places, dtypes.int64), last)


def _exact_places(extent: int, size: int, scale: float | None) -> np.ndarray:
    """Returns the nearest rows by the centres of rows."""
    require_small(size)
    factor = np.float32(1 / scale if scale else extent / size)
    sources = np.floor((np.arange(size, dtype=np.float32) + np.float32(0.5)) * factor).astype(int)
    return np.minimum(sources, extent - 1)


for _n in (1, 2, 3):
    _register_nearest(_n, "upsample_nearest", 0.0, _nearest_places)
    _register_nearest(_n, "_upsample_nearest_exact", 0.5, _exact_places)


def _register_rows(name: str, n: int, rows_of: _Rows) -> None:
    @rule(name)
    def resize(w: Writer, x: Tensor, size: Any, align_corners: bool, *scales: Any) -> Output:
        dims, by = _dims(w, x), _scales(scales, n)
        if is_static(d for pair in dims for d in pair):
            each = zip(dims, by, strict=True)
            return along_axes(w, x, [rows_of(*pair, scale, align_corners) for pair, scale in each])
        if rows_of is not _linear_rows:
            raise UnimplementedError("enlarging an image of symbolic size by more than two rows")
        value = x.out
        for axis, (pair, scale) in enumerate(zip(dims, by, strict=True)):
            value = _linear_rows_symbolic(w, value, x.rank, 2 + axis, *pair, scale, align_corners)
        return value


def _linear_rows_symbolic(
    w: Writer,
    value: Output,
    rank: int,
    axis: int,
    extent: Dim,
    size: Dim,
    scale: float | None,
    align_corners: bool,
) -> Output:
    """Interpolates like _linear_rows for symbolic sizes."""
    zero, one = (w.cast(number, dtypes.float32) for number in (0, 1))
    rows = w.range(size, dtypes.float32)
    last = w.cast(extent, dtypes.float32) - 1.0
    if align_corners:
        gaps = w.op("Maximum", w.cast(size, dtypes.float32) - 1.0, one)
        places = rows * w.op("RealDiv", last, gaps)
    else:
        places = (rows + 0.5) * _step(w, extent, size, scale) - 0.5
    places = w.op("Minimum", w.op("Maximum", places, zero), last)
    below = w.op("Floor", places)
    above = w.op("Minimum", below + 1.0, last)
    column = [-1, *[1] * (rank - 1 - axis)]
    dtype = dtypes.named(value.dtype)
    share = w.cast(w.reshape(places - below, column), dtype)
    lower, upper = (
        w.op("GatherV2", value, w.cast(p, dtypes.int64), w.indices(axis)) for p in (below, above)
    )
    return lower + (upper - lower) * share


_ROWS: dict[str, tuple[int, _Rows]] = {
    "upsample_linear1d": (1, _linear_rows),
    "upsample_bilinear2d": (2, _linear_rows),
    "upsample_trilinear3d": (3, _linear_rows),
    "upsample_bicubic2d": (2, _cubic_rows),
    "_upsample_bilinear2d_aa": (2, _antialiased_rows(lambda x: np.maximum(1 - np.abs(x), 0), 1.0)),
    "_upsample_bicubic2d_aa": (2, _antialiased_rows(lambda x: _cubic(x, -0.5), 2.0)),
}

for _name, (_count, _rows) in _ROWS.items():
    _register_rows(_name, _count, _rows)


# ---- gradients


def _backpropagated(w: Writer, grad: Tensor, rows: Taps, columns: Taps) -> Output:
    left = w.op("BatchMatMulV2", w.constant(rows.matrix.T, grad.dtype), grad)
    return w.op("BatchMatMulV2", left, w.constant(columns.matrix, grad.dtype))


def _static_sizes(sizes: Sequence[Dim], dims: Sequence[Dim]) -> tuple[list[int], list[int]]:
    if not is_static([*sizes, *dims]):
        raise UnimplementedError("the gradient of enlarging an image of symbolic size")
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
    return _backpropagated(w, grad, rows, _nearest_rows(dims[3], sizes[1], scales_w))


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
    return _backpropagated(w, grad, rows, _linear_rows(dims[3], sizes[1], scales_w, align_corners))
