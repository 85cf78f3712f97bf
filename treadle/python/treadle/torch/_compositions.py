"""Decompositions of ops that PyTorch computes with separate kernels and never decomposes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from .._errors import UnimplementedError
from ._parts import PARTS

Tensor = torch.Tensor
aten = torch.ops.aten


def decomposition_of(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function of PyTorch ops as the decomposition of ops."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            PARTS[op] = function
        return function

    return register


# ---- distances of rows


def _norm_of_difference(difference: Tensor, p: float) -> Tensor:
    return torch.linalg.vector_norm(difference, p, -1)


def _norm_gradient(difference: Tensor, distance: Tensor, grad: Tensor, p: float) -> Tensor:
    """Returns the gradient of each difference from that of its norm; zero if the norm is zero."""
    distance, grad = distance[..., None], grad[..., None]
    sign = difference.sign()
    if p == 0:
        return torch.zeros_like(difference)
    if p == 1:
        return grad * sign
    if p == float("inf"):
        return grad * sign * (difference.abs() == distance)
    safe = torch.where(distance == 0, 1, distance)
    share = sign * (difference.abs() / safe) ** (p - 1)
    return torch.where(distance == 0, 0, grad * share)


@decomposition_of(aten._cdist_backward.default)
def _cdist_backward(grad: Tensor, x: Tensor, y: Tensor, p: float, distances: Tensor) -> Tensor:
    return _norm_gradient(x[..., :, None, :] - y[..., None, :, :], distances, grad, p).sum(-2)


@decomposition_of(aten._euclidean_dist.default)
def _euclidean(x: Tensor, y: Tensor) -> Tensor:
    return _norm_of_difference(x[..., :, None, :] - y[..., None, :, :], 2)


def _pairs(rows: int) -> tuple[Tensor, Tensor]:
    first, second = torch.triu_indices(rows, rows, 1)
    return first, second


@decomposition_of(aten._pdist_backward.default)
def _pdist_backward(grad: Tensor, x: Tensor, p: float, distances: Tensor) -> Tensor:
    first, second = _pairs(x.shape[0])
    flow = _norm_gradient(x[first] - x[second], distances, grad, p)
    return torch.zeros_like(x).index_add(0, first, flow).index_add(0, second, -flow)


# ---- gradients of elements by index


@decomposition_of(aten.masked_scatter_backward.default)
def _masked_scatter_backward(grad: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """Returns the gradient of a source: element n gets that of the n-th position in the mask."""
    grad, mask = torch.broadcast_tensors(grad, mask)
    count = math.prod(sizes)
    taken = mask.reshape(-1)
    places = torch.where(taken, (taken.cumsum(0) - 1).clamp_min(0), count)
    flow = torch.zeros(count + 1, dtype=grad.dtype).index_add(0, places, grad.reshape(-1))
    return flow[:count].reshape(sizes)


# ---- rows of a table, added up by bags

_MEAN, _MAX = 1, 2


def _bags(indices: Tensor, offsets: Tensor, count: int) -> Tensor:
    """Returns the bag of each index for a number of bags; the offsets may include the end of the
    last bag."""
    starts = torch.zeros(indices.shape[0] + 1, dtype=torch.int64)
    begins = offsets[:count].to(torch.int64)
    return starts.index_add(0, begins, torch.ones_like(begins)).cumsum(0)[:-1] - 1


@decomposition_of(aten._embedding_bag_backward.default)
def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    bag: Tensor,
    sizes: Tensor,
    largest: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """Computes the gradient of embedding_bag. `bag` is empty for sums; `offsets` is always
    given."""
    if scale_grad_by_freq or sparse:
        raise UnimplementedError(
            "gradients of embedding bags that are sparse or scaled by frequency"
        )
    table = torch.zeros(num_weights, grad.shape[1], dtype=grad.dtype)
    if mode == _MAX:
        flow = torch.where(largest < 0, 0, grad)
        return table.scatter_add(0, largest.clamp_min(0).to(torch.int64), flow)
    if mode == _MEAN:
        grad = grad / sizes.clamp_min(1)[:, None].to(grad.dtype)
    flow = grad[_bags(indices, offsets, grad.shape[0])]
    if per_sample_weights is not None:
        flow = flow * per_sample_weights[:, None]
    flow = torch.where((indices != padding_idx)[:, None], flow, 0)
    return table.index_add(0, indices.to(torch.int64), flow)


@decomposition_of(aten._embedding_bag_per_sample_weights_backward.default)
def _embedding_bag_weights_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Tensor:
    flow = (grad[_bags(indices, offsets, grad.shape[0])] * weight[indices]).sum(1)
    return torch.where(indices != padding_idx, flow, 0)


# ---- layers


@decomposition_of(aten._weight_norm_interface_backward.default)
def _weight_norm_backward(
    grad: Tensor, v: Tensor, g: Tensor, norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Computes, for w = g v / |v|: dg = sum(dw v) / |v|, dv = g (dw - v dg / |v|) / |v| (T.
    Salimans and D. Kingma, Weight Normalization, 2016, equation 3)."""
    others = [i for i in range(v.dim()) if i != dim % v.dim()]
    dg = (grad * v).sum(others, keepdim=True) / norms
    return g / norms * (grad - v * dg / norms), dg.reshape(g.shape)


@decomposition_of(aten.rrelu_with_noise_functional.default)
def _rrelu(
    x: Tensor,
    noise: Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> tuple[Tensor, Tensor]:
    if not training:
        return functional.leaky_relu(x, (lower + upper) / 2), noise
    slope = torch.where(x <= 0, torch.rand_like(x) * (upper - lower) + lower, 1)
    return x * slope, slope


# ---- means over windows of volumes: over planes, then over the rest


def _triple(values: Sequence[int]) -> list[int]:
    return list(values) * 3 if len(values) == 1 else list(values)


def _planes(x: Tensor) -> Tensor:
    """Reshapes [..., d, h, w] to images of h x w."""
    return x.reshape(-1, 1, *x.shape[-2:])


def _columns(x: Tensor) -> Tensor:
    """Reshapes [..., d, h, w] to images of d x (h w)."""
    return x.reshape(-1, 1, x.shape[-3], x.shape[-2] * x.shape[-1])


class _Windows:
    def __init__(
        self, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], *flags: bool
    ) -> None:
        k, p = _triple(kernel), _triple(padding)
        s = _triple(stride) if stride else k
        self.over_planes = ([k[1], k[2]], [s[1], s[2]], [p[1], p[2]], *flags)
        self.over_columns = ([k[0], 1], [s[0], 1], [p[0], 0], *flags)
        self.count = k[0] * k[1] * k[2]


def _factor(windows: _Windows, include_pad: bool, divisor: int | None) -> float:
    """Returns the factor by which a divisor changes the mean over a whole window."""
    if divisor is None:
        return 1.0
    if not include_pad:
        raise UnimplementedError("divisor_override with count_include_pad=False")
    return windows.count / divisor


@decomposition_of(aten.avg_pool3d_backward.default)
def _avg_pool3d_backward(
    grad: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    windows = _Windows(kernel_size, stride, padding, ceil_mode, count_include_pad)
    factor = _factor(windows, count_include_pad, divisor_override)
    planes = torch.empty(*x.shape[:-2], *grad.shape[-2:], dtype=x.dtype)
    pool = aten.avg_pool2d_backward.default
    deep = pool(_columns(grad * factor), _columns(planes), *windows.over_columns, None)
    flat = pool(_planes(deep.reshape(planes.shape)), _planes(x), *windows.over_planes, None)
    return flat.reshape(x.shape)


# ---- images and volumes sampled between their elements


_REFLECTION = 2
_NEAREST, _CUBIC = 1, 2


def _clipped(place: Tensor, extent: int) -> Tensor:
    """Clips positions; the gradient is zero at an end, as beyond it."""
    upper = torch.where(place >= extent - 1, extent - 1, place)
    return torch.where(place <= 0, 0, upper)


def _mirrored(place: Tensor, extent: int, align: bool) -> Tensor:
    start, span = (0.0, extent - 1) if align else (-0.5, extent)
    if span == 0:
        return torch.zeros_like(place)
    distance = torch.where(place < start, start - place, place - start)
    turns = (distance.detach() / span).floor()
    rest = distance - turns * span
    return torch.where(turns % 2 == 0, rest, span - rest) + start


def _padded(place: Tensor, extent: int, padding: int, align: bool) -> Tensor:
    if padding == _REFLECTION:
        place = _mirrored(place, extent, align)
    return _clipped(place, extent) if padding else place


def _keys(t: Tensor) -> list[Tensor]:
    """Returns the weights of the four elements around a position (R. Keys, Cubic convolution
    interpolation, 1981, equation 15), which is at distance t after the second one."""
    a = -0.75
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, 2 - t)]
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    return [far[0], *near, far[1]]


def _taps(
    x: Tensor, extent: int, mode: int, padding: int, align: bool
) -> list[tuple[Tensor, Tensor]]:
    """Returns the taps at each position along one dimension, and their weights."""
    place = (x + 1) / 2 * (extent - 1) if align else ((x + 1) * extent - 1) / 2
    if mode == _CUBIC:
        below = place.detach().floor()
        near = [_padded(below + (i - 1), extent, padding, align) for i in range(4)]
        return list(zip(near, _keys(place - below), strict=True))
    place = _padded(place, extent, padding, align)
    if mode == _NEAREST:
        return [(place.detach().round(), torch.ones_like(place))]
    below = place.detach().floor()
    share = place - below
    return [(below, 1 - share), (below + 1, share)]


def _sampled(x: Tensor, grid: Tensor, mode: int, padding: int, align: bool) -> Tensor:
    """Computes grid_sample with gathers and products only."""
    extents = x.shape[2:]
    coordinates = [grid[..., len(extents) - 1 - i].flatten(1) for i in range(len(extents))]
    pairs = zip(coordinates, extents, strict=True)
    rows, total = x.flatten(2), 0
    for chosen in itertools.product(*(_taps(c, e, mode, padding, align) for c, e in pairs)):
        flat, share = 0, 1
        for (tap, weight), extent in zip(chosen, extents, strict=True):
            inside = (tap >= 0) & (tap <= extent - 1)
            share = share * torch.where(inside, weight, 0)
            flat = flat * extent + torch.where(inside, tap, 0).to(torch.int64)
        taken = rows.gather(2, flat[:, None].expand(-1, rows.shape[1], -1))
        total = total + taken * share[:, None]
    return total.reshape(*x.shape[:2], *grid.shape[1:-1])


@decomposition_of(aten.grid_sampler_2d_backward.default, aten.grid_sampler_3d_backward.default)
def _grid_sampler_backward(
    grad: Tensor,
    x: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor]:
    how = interpolation_mode, padding_mode, align_corners
    _, flow = torch.func.vjp(lambda x, grid: _sampled(x, grid, *how), x, grid)
    to_x, to_grid = flow(grad)
    return to_x if output_mask[0] else None, to_grid
