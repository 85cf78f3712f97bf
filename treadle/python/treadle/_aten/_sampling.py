"""Samples images and volumes at the positions of a grid, which may be between elements."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

from .._native import Output
from . import _dtypes as dtypes
from ._rules import rule
from ._writer import KEEP, Dim, Tensor, Writer, product

_ZEROS, _BORDER, _REFLECTION = range(3)


class _Axis:
    """A dimension of an image, and the sampling positions along it."""

    def __init__(self, w: Writer, extent: Dim, dtype: str, padding: int, align: bool) -> None:
        self.w, self.padding, self.align = w, padding, align
        self.dtype = dtypes.named(dtype)
        self.extent = w.cast(extent, self.dtype)

    def number(self, value: float) -> Output:
        return self.w.cast(value, self.dtype)

    def place(self, x: Output) -> Output:
        """Converts a coordinate in -1 ... 1 to an element position."""
        if self.align:
            return (x + 1.0) * 0.5 * (self.extent - 1.0)
        return ((x + 1.0) * self.extent - 1.0) * 0.5

    def clipped(self, place: Output) -> Output:
        """Clips positions to the image; NaN becomes the first position."""
        known = self.w.op("SelectV2", self.w.op("Equal", place, place), place, self.number(0))
        low = self.w.op("Maximum", known, self.number(0))
        return self.w.op("Minimum", low, self.extent - 1.0)

    def reflected(self, place: Output) -> Output:
        """Reflects positions beyond the ends into the image."""
        start = 0.0 if self.align else -0.5
        span = self.extent - 1.0 if self.align else self.extent
        w, distance = self.w, self.w.op("Abs", place - start)
        turns = w.op("Floor", w.op("DivNoNan", distance, span))
        rest = distance - turns * span
        is_odd = w.op("FloorMod", turns, self.number(2)) > 0.0
        inside = w.op("SelectV2", is_odd, span - rest, rest) + start
        return w.op("SelectV2", span > 0.0, inside, w.op("ZerosLike", inside))

    def inside(self, place: Output) -> Output:
        """Maps a position into the image according to the padding mode; padding with zeros changes
        none."""
        if self.padding == _ZEROS:
            return place
        return self.clipped(self.reflected(place) if self.padding == _REFLECTION else place)

    def share(self, tap: Output, weight: Output) -> Output:
        """Returns the weight of an element; zero outside."""
        if self.padding != _ZEROS:
            return weight
        is_inside = self.w.op("LogicalAnd", tap >= 0.0, tap <= self.extent - 1.0)
        return weight * self.w.cast(is_inside, self.dtype)


Taps = list[tuple[Output, Output]]


def _linear(axis: _Axis, x: Output) -> Taps:
    place = axis.inside(axis.place(x))
    below = axis.w.op("Floor", place)
    share = place - below
    return [(below, 1.0 - share), (below + 1.0, share)]


def _nearest(axis: _Axis, x: Output) -> Taps:
    tap = axis.w.op("Rint", axis.inside(axis.place(x)))
    return [(tap, axis.w.op("OnesLike", tap))]


_SHARPNESS = -0.75  # as in PyTorch


def _cubic_near(t: Output) -> Output:
    """Computes Keys' cubic convolution (1981, equation 15) at a distance of at most 1."""
    return ((_SHARPNESS + 2.0) * t - (_SHARPNESS + 3.0)) * t * t + 1.0


def _cubic_far(t: Output) -> Output:
    """Computes Keys' cubic convolution at a distance from 1 to 2."""
    return ((t * _SHARPNESS - 5.0 * _SHARPNESS) * t + 8.0 * _SHARPNESS) * t - 4.0 * _SHARPNESS


def _cubic(axis: _Axis, x: Output) -> Taps:
    """Samples cubically; the padding maps each of the four elements into the image separately."""
    place = axis.place(x)
    below = axis.w.op("Floor", place)
    t = place - below
    weights = (_cubic_far(t + 1.0), _cubic_near(t), _cubic_near(1.0 - t), _cubic_far(2.0 - t))
    return [(axis.inside(below + float(i - 1)), weight) for i, weight in enumerate(weights)]


_INTERPOLATIONS: dict[int, Callable[[_Axis, Output], Taps]] = {
    0: _linear,
    1: _nearest,
    2: _cubic,
}


@rule("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(
    w: Writer,
    x: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Output:
    """Returns the axes in the order of a grid: the last dimension first."""
    (image, places), dtype = w.promoted(KEEP, x, grid)
    batch, channels, *extents = x.shape
    outs, spatial = grid.shape[1:-1], len(extents)
    rows = w.transpose(w.reshape(image, [batch, channels, product(extents)]), [0, 2, 1])
    flat = w.reshape(places, [batch, product(outs), spatial])
    axes = [_Axis(w, e, image.dtype, padding_mode, align_corners) for e in extents]
    taps_of = _INTERPOLATIONS[interpolation_mode]
    taps = [taps_of(axis, flat[:, :, spatial - 1 - i]) for i, axis in enumerate(axes)]
    parts = [_part(w, rows, axes, chosen) for chosen in itertools.product(*taps)]
    out = w.transpose(functools.reduce(operator.add, parts), [0, 2, 1])
    return w.cast(w.reshape(out, [batch, channels, *outs]), dtype)


def _part(w: Writer, rows: Output, axes: list[_Axis], chosen: tuple[Any, ...]) -> Output:
    """Returns the elements at one tap of each dimension, multiplied by their weights."""
    flat: Any = None
    share: Any = None
    for axis, (tap, weight) in zip(axes, chosen, strict=True):
        place = w.cast(axis.clipped(tap), dtypes.int64)
        extent = w.cast(axis.extent, dtypes.int64)
        flat = place if flat is None else flat * extent + place
        counted = axis.share(tap, weight)
        share = counted if share is None else share * counted
    taken = w.op("GatherV2", rows, flat, w.indices(1), batch_dims=1)
    return taken * w.op("ExpandDims", share, w.indices(2))
