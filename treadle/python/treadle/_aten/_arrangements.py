"""Ops that concatenate, split and rearrange tensors, composed of other ops as in PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from . import _dtypes as dtypes
from ._operands import (
    Operand,
    call,
    cat,
    composed,
    constant,
    counted,
    stack,
    stretched,
    together,
    where,
)
from ._rules import RULES, rule
from ._writer import Dim, Tensor, Value, Writer

# ---- ranks


@composed("atleast_1d")
def _vector(x: Any) -> Any:
    return _with_rank_at_least(x, _vector, 1)


@composed("atleast_2d")
def _matrix(x: Any) -> Any:
    return _with_rank_at_least(x, _matrix, 2)


@composed("atleast_3d")
def _volume(x: Any) -> Any:
    return _with_rank_at_least(x, _volume, 3)


def _with_rank_at_least(x: Any, form: Any, rank: int) -> Any:
    """Adds dimensions up to the required rank: leading ones, and the third one at the end."""
    if not isinstance(x, Operand):
        return [form(part) for part in x]
    while x.rank < rank:
        x = x.unsqueeze(-1 if x.rank == 2 else 0)
    return x


@composed("broadcast_tensors")
def _stretched(tensors: Sequence[Operand]) -> list[Operand]:
    return stretched(*tensors)


@rule("reshape_as")
def _reshape_as(w: Writer, x: Tensor, other: Tensor) -> Value:
    return RULES["aten.reshape"](w, x)


@composed("sum_to_size")
def _sum_to_size(x: Operand, size: Sequence[Dim]) -> Operand:
    lead = x.rank - len(size)
    is_one = [isinstance(d, int) and d == 1 for d in size]
    axes = [a for a, one in enumerate(is_one, lead) if one and not _is_one(x.shape[a])]
    axes = [*range(lead), *axes]
    return (x.sum(axes, True) if axes else x).reshape(size)


def _is_one(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 1


# ---- concatenation


@composed("hstack")
def _column_stacked(tensors: Sequence[Operand]) -> Operand:
    parts = _vector(tensors)
    return cat(parts, 0 if parts[0].rank == 1 else 1)


@composed("vstack", "row_stack")
def _row_stacked(tensors: Sequence[Operand]) -> Operand:
    return cat(_matrix(tensors), 0)


@composed("dstack")
def _concatenated(tensors: Sequence[Operand]) -> Operand:
    return cat(_volume(tensors), 2)


@composed("column_stack")
def _as_columns(tensors: Sequence[Operand]) -> Operand:
    return cat([t if t.rank > 1 else t.reshape([-1, 1]) for t in tensors], 1)


@composed("block_diag")
def _blocks(tensors: Sequence[Operand]) -> Operand:
    blocks = _matrix(tensors)
    dtype = together(*blocks)
    widths = [b.static_size(1, "blocks") for b in blocks]
    rows, before, whole = [], 0, sum(widths)
    for block, width in zip(blocks, widths, strict=True):
        amounts = [before, whole - before - width]
        rows.append(call("constant_pad_nd", block.to(dtype), amounts))
        before += width
    return cat(rows, 0)


@composed("cartesian_prod")
def _all_pairs(tensors: Sequence[Operand]) -> Operand:
    count = len(tensors)
    if count == 1:
        return tensors[0]
    columns = [
        t.reshape([-1 if j == i else 1 for j in range(count)]) for i, t in enumerate(tensors)
    ]
    return stack([c.flat() for c in stretched(*columns)], 1)


@composed("combinations")
def _combinations(x: Operand, r: int = 2, with_replacement: bool = False) -> Operand:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    numbers = list(choose(range(x.static_size(0, "combinations")), r))
    if not numbers:
        return x.first(0, 0).reshape([0, r])
    return call("index_select", x, 0, constant(x, sum(numbers, ()), dtypes.int64)).reshape([-1, r])


@rule("meshgrid.indexing")
def _mesh(w: Writer, tensors: Sequence[Tensor], *, indexing: str = "ij") -> Any:
    """Writes meshgrid; with indexing "xy", the first two dimensions are swapped."""
    if indexing == "ij" or len(tensors) < 2:
        return RULES["aten.meshgrid"](w, tensors)
    order = [1, 0, *range(2, len(tensors))]
    columns = {0: 1, 1: 0}
    out = []
    for i, (tensor, meta) in enumerate(zip(tensors, w.result, strict=True)):
        column = [-1 if j == columns.get(i, i) else 1 for j in range(len(order))]
        out.append(w.broadcast(w.reshape(tensor, column), w.dims(meta.shape)))
    return out


# ---- splitting


def _register_split(name: str, dim: int) -> None:
    @rule(name)
    def split(w: Writer, x: Tensor, sections: Any) -> Any:
        return RULES["aten.split"](w, x, sections, 0 if x.rank == 1 and dim == 1 else dim)


for _name, _dim in {"vsplit": 0, "hsplit": 1, "dsplit": 2}.items():
    _register_split(_name, _dim)


# ---- other orders


@composed("mT")
def _transposed(x: Operand) -> Operand:
    return x.mT


@composed("adjoint", "mH", "matrix_H")
def _adjoint(x: Operand) -> Operand:
    return x.mH if x.rank > 1 else x


@composed("fliplr")
def _left_to_right(x: Operand) -> Operand:
    return x.flip([1])


@composed("flipud")
def _upside_down(x: Operand) -> Operand:
    return x.flip([0])


@composed("rot90")
def _turned(x: Operand, k: int = 1, dims: Sequence[int] = (0, 1)) -> Operand:
    first, second = dims
    if k % 4 == 1:
        return x.flip([second]).transpose(first, second)
    if k % 4 == 2:
        return x.flip([first, second])
    return x.flip([first]).transpose(first, second) if k % 4 == 3 else x


@composed("msort")
def _sorted(x: Operand) -> Operand:
    return x.sort(0)[0]


@composed("channel_shuffle", "native_channel_shuffle")
def _shuffled(x: Operand, groups: int) -> Operand:
    batch, channels, *image = x.shape
    return x.reshape([batch, groups, channels // groups, *image]).transpose(1, 2).reshape(x.shape)


@composed("pixel_unshuffle")
def _unshuffled(x: Operand, downscale_factor: int) -> Operand:
    *batch, channels, height, width = x.shape
    f, k = downscale_factor, len(batch)
    apart = x.reshape([*batch, channels, height // f, f, width // f, f])
    order = [*range(k), k, k + 2, k + 4, k + 1, k + 3]
    return apart.permute(order).reshape([*batch, channels * f * f, height // f, width // f])


# ---- slices, and elements by position


@composed("linalg_diagonal")
def _diagonals(x: Operand, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Operand:
    return x.diagonal(offset, dim1, dim2)


@composed("diag")
def _diag(x: Operand, diagonal: int = 0) -> Operand:
    return x.diag_embed(diagonal) if x.rank == 1 else x.diagonal(diagonal)


@composed("diagflat")
def _flat_diagonal(x: Operand, offset: int = 0) -> Operand:
    return x.flat().diag_embed(offset)


@composed("trace")
def _trace(x: Operand) -> Operand:
    return x.diagonal().sum()


@composed("argwhere")
def _places(x: Operand) -> Operand:
    return x.nonzero()


@composed("take_along_dim")
def _taken(x: Operand, indices: Operand, dim: int | None = None) -> Operand:
    if dim is None:
        x, indices, dim = x.flat(), indices.flat(), 0
    axis = x.axis(dim)
    shapes = [[1 if a == axis else d for a, d in enumerate(t.shape)] for t in (x, indices)]
    dims = [b if _is_one(a) else a for a, b in zip(*shapes, strict=True)]
    wide, places = (
        t.expand([*dims[:axis], t.shape[axis], *dims[axis + 1 :]]) for t in (x, indices)
    )
    return call("gather", wide, axis, _from_start(places, x.size(axis)))


def _from_start(places: Operand, extent: Dim) -> Operand:
    """Converts positions that may count from the end to positions from the start."""
    return where(places < 0, places + extent, places)


@composed("index_fill.int_Tensor")
def _filled_rows(x: Operand, dim: int, index: Operand, value: Operand) -> Operand:
    if not x.rank:
        return value.to(x.dtype)
    rows = counted(x, x.size(dim))
    places = _from_start(index.flat(), x.size(dim))
    is_one = rows.unsqueeze(1).eq(places).any([1])
    column = is_one.reshape([-1, *[1] * (x.rank - 1 - x.axis(dim))])
    return where(column, value.to(x.dtype), x)


# ---- neighbouring elements


@composed("diff")
def _differences(
    x: Operand,
    n: int = 1,
    dim: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Operand:
    parts = [p for p in (prepend, x, append) if p is not None]
    x = cat(parts, dim) if len(parts) > 1 else x
    extent = x.size(dim)
    if isinstance(extent, int) and extent <= n:
        return x.first(dim, 0)
    for _ in range(n):
        later, earlier = x.after(dim, 1), x.first(dim, -1)
        x = later.ne(earlier) if x.dtype == dtypes.bool_ else later - earlier
    return x


def _steps(y: Operand, x: Operand, dim: int) -> Operand:
    """Returns the distances of the positions x of the elements of y along a dimension."""
    if x.rank < y.rank and x.rank == 1:
        return _differences(x).reshape([-1, *[1] * (y.rank - 1 - y.axis(dim))])
    return _differences(x, 1, dim)


def _trapezoids(y: Operand, step: Any, dim: int) -> Operand:
    return (y.after(dim, 1) + y.first(dim, -1)) * step / 2.0


@composed("trapezoid.dx", "trapz.dx")
def _area(y: Operand, *, dx: Any = 1, dim: int = -1) -> Operand:
    return _trapezoids(y, dx, dim).sum(dim)


@composed("trapezoid.x", "trapz.x")
def _area_at(y: Operand, x: Operand, *, dim: int = -1) -> Operand:
    return _trapezoids(y, _steps(y, x, dim), dim).sum(dim)


@composed("cumulative_trapezoid.dx")
def _areas(y: Operand, *, dx: Any = 1, dim: int = -1) -> Operand:
    return _trapezoids(y, dx, dim).cumsum(dim)


@composed("cumulative_trapezoid.x")
def _areas_at(y: Operand, x: Operand, *, dim: int = -1) -> Operand:
    return _trapezoids(y, _steps(y, x, dim), dim).cumsum(dim)


@composed("gradient.scalarint")
def _slopes(x: Operand, *, spacing: Any = 1, dim: int | None = None, edge_order: int = 1) -> Any:
    dims = range(x.rank) if dim is None else [dim]
    return [_slope(x, d, 1 if spacing is None else spacing, edge_order) for d in dims]


@composed("gradient.scalararray", "gradient.array", "gradient.scalarrayint",
          "gradient.scalarrayarray")  # fmt: skip
def _slopes_along(x: Operand, *, spacing: Any, dim: Any = None, edge_order: int = 1) -> Any:
    dims = list(range(x.rank)) if dim is None else dim
    steps = spacing if isinstance(spacing, list | tuple) else [spacing] * len(dims)
    return [_slope(x, d, step, edge_order) for d, step in zip(dims, steps, strict=True)]


def _slope(x: Operand, dim: int, step: Any, edge_order: int) -> Operand:
    """Returns central differences, and one-sided differences at both ends."""
    size = x.static_size(dim, "a gradient")
    inner = (x.after(dim, 2) - x.first(dim, -2)) / 2 / step
    row = [x.narrow(dim, i, 1) for i in (0, 1, size - 2, size - 1)]
    if edge_order == 1:
        return cat([(row[1] - row[0]) / step, inner, (row[3] - row[2]) / step], dim)
    third, before = x.narrow(dim, 2, 1), x.narrow(dim, size - 3, 1)
    begin = (row[0] * -1.5 + row[1] * 2 - third * 0.5) / step
    end = (row[3] * 1.5 - row[2] * 2 + before * 0.5) / step
    return cat([begin, inner, end], dim)


# ---- padding


@composed("_pad_circular")
def circular(x: Operand, pad: Sequence[int]) -> Operand:
    """Pads images circularly; negative amounts remove rows."""
    pairs = [list(pad[i : i + 2]) for i in range(0, len(pad), 2)]
    for number, (before, after) in enumerate(pairs):
        dim = x.rank - 1 - number
        parts = [x]
        if not (isinstance(before, int) and before <= 0):
            parts.insert(0, x.narrow(dim, x.size(dim) - before, before))
        if not (isinstance(after, int) and after <= 0):
            parts.append(x.narrow(dim, 0, after))
        whole = cat(parts, dim) if len(parts) > 1 else x
        cut = [min(d, 0) if isinstance(d, int) else 0 for d in (before, after)]
        x = whole.narrow(dim, -cut[0], whole.size(dim) + sum(cut)) if any(cut) else whole
    return x
