"""Ops that PyTorch computes by kernels of its own and takes apart nowhere, written by others of
its ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from .._errors import UnimplementedError
from ._parts import PARTS

Tensor = torch.Tensor
aten = torch.ops.aten


def made_of(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function of PyTorch's what ops are taken apart to."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            PARTS[op] = function
        return function

    return register


# ---- scans: by steps of 1, 2, 4, ... each element learns of all before it


def _steps(extent: Any) -> list[int]:
    if not isinstance(extent, int):
        raise UnimplementedError("a scan along a dimension of symbolic size")
    return [1 << i for i in range(max(extent - 1, 0).bit_length())]


def _extreme_so_far(largest: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    def apply(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        if x.dim() == 0:
            return x.clone(), torch.zeros((), dtype=torch.int64)
        # Where nothing comes before, an element is compared with itself.
        values = x.movedim(dim, -1)
        extent = values.shape[-1]
        places = torch.arange(extent).expand(values.shape)
        for step in _steps(extent):
            before = torch.cat([values[..., :step], values[..., :-step]], -1)
            place = torch.cat([places[..., :step], places[..., :-step]], -1)
            keeps = values >= before if largest else values <= before
            if x.dtype.is_floating_point:
                keeps = keeps | values.isnan()
            values, places = torch.where(keeps, values, before), torch.where(keeps, places, place)
        return values.movedim(-1, dim), places.movedim(-1, dim)

    return apply


made_of(aten.cummax.default)(_extreme_so_far(True))
made_of(aten.cummin.default)(_extreme_so_far(False))


@made_of(aten.logcumsumexp.default)
def _logcumsumexp(x: Tensor, dim: int) -> Tensor:
    if x.dim() == 0:
        return x.clone()
    total = x.movedim(dim, -1)
    for step in _steps(total.shape[-1]):
        nothing = torch.full_like(total[..., :step], float("-inf"))
        total = torch.logaddexp(total, torch.cat([nothing, total[..., :-step]], -1))
    return total.movedim(-1, dim)


# ---- one of the elements in order


@made_of(aten.kthvalue.default)
def _kth_value(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, places = x.sort(dim)
    value, place = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


@made_of(aten.median.dim)
def _median_along(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    extent = x.shape[dim] if x.dim() else 1
    return _kth_value(x, (extent + 1) // 2, dim, keepdim)


@made_of(aten.median.default)
def _median(x: Tensor) -> Tensor:
    return _median_along(x.reshape(-1), 0)[0]


# ---- distances of rows


def _norm_of_difference(difference: Tensor, p: float) -> Tensor:
    return torch.linalg.vector_norm(difference, p, -1)


def _flow_of_norm(difference: Tensor, distance: Tensor, grad: Tensor, p: float) -> Tensor:
    """What flows to each difference from its norm; nothing where the norm is zero."""
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


@made_of(aten._cdist_forward.default)
def _cdist(x: Tensor, y: Tensor, p: float, compute_mode: int | None) -> Tensor:
    return _norm_of_difference(x[..., :, None, :] - y[..., None, :, :], p)


@made_of(aten._cdist_backward.default)
def _cdist_backward(grad: Tensor, x: Tensor, y: Tensor, p: float, distances: Tensor) -> Tensor:
    return _flow_of_norm(x[..., :, None, :] - y[..., None, :, :], distances, grad, p).sum(-2)


@made_of(aten._euclidean_dist.default)
def _euclidean(x: Tensor, y: Tensor) -> Tensor:
    return _norm_of_difference(x[..., :, None, :] - y[..., None, :, :], 2)


def _pairs(rows: int) -> tuple[Tensor, Tensor]:
    first, second = torch.triu_indices(rows, rows, 1)
    return first, second


@made_of(aten._pdist_forward.default)
def _pdist(x: Tensor, p: float = 2) -> Tensor:
    first, second = _pairs(x.shape[0])
    return _norm_of_difference(x[first] - x[second], p)


@made_of(aten._pdist_backward.default)
def _pdist_backward(grad: Tensor, x: Tensor, p: float, distances: Tensor) -> Tensor:
    first, second = _pairs(x.shape[0])
    flow = _flow_of_norm(x[first] - x[second], distances, grad, p)
    return torch.zeros_like(x).index_add(0, first, flow).index_add(0, second, -flow)


# ---- elements by number


@made_of(aten.repeat_interleave.Tensor)
def _repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """The number of each element as often as it says; those of no repeats count nowhere."""
    if output_size is None:
        raise UnimplementedError("a result whose size depends on elements; give it output_size")
    ends = repeats.cumsum(0)
    begins = torch.zeros(output_size + 1, dtype=repeats.dtype)
    return (
        begins.index_add(0, ends, torch.ones_like(ends)).cumsum(0)[:output_size].to(repeats.dtype)
    )


@made_of(aten.masked_scatter.default)
def _masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    x, mask = torch.broadcast_tensors(x, mask)
    order = mask.reshape(-1).cumsum(0) - 1
    taken = source.reshape(-1)[order.clamp(0, source.numel() - 1)]
    return torch.where(mask, taken.reshape(x.shape), x)


@made_of(aten.masked_scatter_backward.default)
def _masked_scatter_backward(grad: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """What flows to a source: of the n-th place that the mask allows, to element n."""
    grad, mask = torch.broadcast_tensors(grad, mask)
    count = math.prod(sizes)
    taken = mask.reshape(-1)
    places = torch.where(taken, (taken.cumsum(0) - 1).clamp_min(0), count)
    flow = torch.zeros(count + 1, dtype=grad.dtype).index_add(0, places, grad.reshape(-1))
    return flow[:count].reshape(sizes)


@made_of(aten.put.default)
def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    flat = x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


@made_of(aten.histc.default)
def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    flat = x.reshape(-1)
    low, high = torch.tensor(float(min), dtype=x.dtype), torch.tensor(float(max), dtype=x.dtype)
    if min == max:
        low, high = flat.min(), flat.max()
        low, high = torch.where(low == high, low - 1, low), torch.where(low == high, high + 1, high)
    place = ((flat - low) / (high - low) * bins).floor().clamp(0, bins - 1)
    counts = ((flat >= low) & (flat <= high)).to(x.dtype)
    return torch.zeros(bins, dtype=x.dtype).index_add(0, place.to(torch.int64), counts)


# ---- rows of a table, added up by bags

_SUM, _MEAN, _MAX = range(3)


def _bags(indices: Tensor, offsets: Tensor, count: int) -> Tensor:
    """The bag of each index, of so many bags; where all end may stand behind where each begins."""
    starts = torch.zeros(indices.shape[0] + 1, dtype=torch.int64)
    begins = offsets[:count].to(torch.int64)
    return starts.index_add(0, begins, torch.ones_like(begins)).cumsum(0)[:-1] - 1


def _bag_sizes(bag: Tensor, count: int, indices: Tensor, padding: int) -> Tensor:
    counted = (indices != padding).to(torch.int64)
    return torch.zeros(count, dtype=torch.int64).index_add(0, bag, counted)


@made_of(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    count = offsets.shape[0] - int(include_last_offset)
    bag = _bags(indices, offsets, count)
    sizes = _bag_sizes(bag, count, indices, padding_idx)
    rows, width = weight[indices], weight.shape[1]
    is_counted = (indices != padding_idx)[:, None]
    empty = (sizes == 0)[:, None]
    largest = torch.zeros((count, width) if mode == _MAX else (0,), dtype=torch.int64)
    if mode == _MAX:
        low = torch.full((count, width), float("-inf"), dtype=weight.dtype)
        wide = bag[:, None].expand(-1, width)
        rows = torch.where(is_counted, rows, float("-inf"))
        top = low.scatter_reduce(0, wide, rows, "amax")
        # Of equal ones the first, as PyTorch has it.
        number = torch.arange(indices.shape[0])[:, None].expand(-1, width)
        number = torch.where(rows == top[bag], number, indices.shape[0])
        last = torch.full((count, width), indices.shape[0], dtype=torch.int64)
        first = last.scatter_reduce(0, wide, number, "amin").clamp_max(indices.shape[0] - 1)
        largest = torch.where(empty, -1, indices[first])
        return torch.where(empty, 0, top), bag, sizes, largest.to(indices.dtype)
    rows = torch.where(is_counted, rows, 0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    total = torch.zeros(count, width, dtype=weight.dtype).index_add(0, bag, rows)
    if mode == _MEAN:
        total = total / sizes.clamp_min(1)[:, None].to(weight.dtype)
    return total, bag, sizes, largest


@made_of(aten._embedding_bag_backward.default)
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
    """PyTorch leaves `bag` empty where it sums; offsets are always there."""
    if scale_grad_by_freq or sparse:
        raise UnimplementedError("gradients of bags that are sparse, or scaled by how often")
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


@made_of(aten._embedding_bag_per_sample_weights_backward.default)
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


@made_of(aten._weight_norm_interface_backward.default)
def _weight_norm_backward(
    grad: Tensor, v: Tensor, g: Tensor, norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Of w = g v / |v|: dg = sum(dw v) / |v|, dv = g (dw - v dg / |v|) / |v| (T. Salimans and
    D. Kingma, Weight Normalization, 2016, equation 3)."""
    others = [i for i in range(v.dim()) if i != dim % v.dim()]
    dg = (grad * v).sum(others, keepdim=True) / norms
    return g / norms * (grad - v * dg / norms), dg.reshape(g.shape)


@made_of(aten._trilinear.default)
def _trilinear(
    first: Tensor,
    second: Tensor,
    third: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three tensors, each with dimensions of one more, summed over some."""
    parts = [first, second, third]
    for i, dims in enumerate((expand1, expand2, expand3)):
        for dim in sorted(dims):
            parts[i] = parts[i].unsqueeze(dim)
    return (parts[0] * parts[1] * parts[2]).sum(list(sumdim))


@made_of(aten.rrelu_with_noise_functional.default)
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


# ---- means over windows of volumes: over planes, then over what is left


def _triple(values: Sequence[int]) -> list[int]:
    return list(values) * 3 if len(values) == 1 else list(values)


def _planes(x: Tensor) -> Tensor:
    """[..., d, h, w] as images of h x w."""
    return x.reshape(-1, 1, *x.shape[-2:])


def _columns(x: Tensor) -> Tensor:
    """[..., d, h, w] as images of d x (h w)."""
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
    """What a divisor makes of a mean over all of a window."""
    if divisor is None:
        return 1.0
    if not include_pad:
        raise UnimplementedError("a divisor for means without the padding")
    return windows.count / divisor


@made_of(aten.avg_pool3d.default)
def _avg_pool3d(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    windows = _Windows(kernel_size, stride, padding, ceil_mode, count_include_pad)
    flat = functional.avg_pool2d(_planes(x), *windows.over_planes)
    planes = flat.reshape(*x.shape[:-2], *flat.shape[-2:])
    deep = functional.avg_pool2d(_columns(planes), *windows.over_columns)
    out = deep.reshape(*x.shape[:-3], deep.shape[-2], *planes.shape[-2:])
    factor = _factor(windows, count_include_pad, divisor_override)
    return out if factor == 1 else out * factor


@made_of(aten.avg_pool3d_backward.default)
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
