"""Metadata of values: dtype, and shape with symbols for dynamic sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ._dtypes import DType


@dataclasses.dataclass(frozen=True, repr=False)
class Expr:
    """A dimension that may change, as sympy has it: `Expr("Mul", (2, Expr("Symbol", ("s0",))))`."""

    kind: str
    args: tuple[Any, ...]

    def __repr__(self) -> str:
        return str(self.args[0]) if self.kind == "Symbol" else f"{self.kind}{self.args}"


@dataclasses.dataclass(frozen=True)
class OtherNumber:
    """A symbolic number that is not an integer: `kind` is PyTorch's name for it."""

    kind: str


@dataclasses.dataclass
class Meta:
    """The metadata of a tensor.

    Attributes:
        shape: numbers and Exprs.
        stride: the strides of its memory, likewise; None: contiguous.
        memory: the identity of the storage that it is a view of; None if unknown.
        source: PyTorch's own object for it, if available.
    """

    dtype: DType
    shape: tuple[Any, ...]
    stride: tuple[Any, ...] | None = None
    storage_offset: Any = 0
    device: str = "cpu"
    memory: Any = None
    source: Any = None

    def dim(self) -> int:
        return len(self.shape)

    def is_contiguous(self) -> bool:
        return self.stride is None or _is_contiguous(self.shape, self.stride)

    def memory_order(self) -> list[int] | None:
        """Returns the dimensions in memory order, the outermost first, for a dense tensor that is
        permuted; None for others."""
        if self.stride is None:
            return None
        left, inner = list(range(self.dim())), []
        while left:
            size = _product(self.shape[axis] for axis in inner)
            fits = (a for a in reversed(left) if self._is_next(a, size))
            axis = next(fits, None)
            if axis is None:
                return None
            left.remove(axis)
            inner.append(axis)
        order = inner[::-1]
        return order if order != list(range(self.dim())) else None

    def _is_next(self, axis: int, size: Any) -> bool:
        extent = self.shape[axis]
        return (isinstance(extent, int) and extent == 1) or _factors(self.stride[axis]) == size

    def is_swapped(self) -> bool:
        """Whether the tensor is dense with its last two dimensions swapped in memory."""
        return is_swap(self.memory_order())

    def other_stride(self) -> list[int | None] | None:
        """Returns the strides of dimensions of size 1, which `memory_order` doesn't determine; None
        for other dimensions, and if there are no such strides."""
        if self.stride is None:
            return None
        given = [
            step if extent == 1 and isinstance(step, int) else None
            for extent, step in zip(self.shape, self.stride, strict=True)
        ]
        return given if any(given) else None

    def flat(self) -> Meta:
        """Returns the metadata of all elements as a vector."""
        number, rest = 1, []
        for dim in self.shape:
            number, rest = (number * dim, rest) if isinstance(dim, int) else (number, [*rest, dim])
        count = Expr("Mul", (number, *rest)) if rest else number
        return Meta(self.dtype, (count,))

    def row(self) -> Meta:
        """Returns the metadata of x[0]."""
        source = self.source[0] if self.source is not None else None
        stride = None if self.stride is None else self.stride[1:]
        return dataclasses.replace(self, shape=self.shape[1:], stride=stride, source=source)


def channels_last(rank: int) -> list[int]:
    """Returns the order of dimensions that moves the channels of an image to the end."""
    return [0, *range(2, rank), 1]


def is_swap(order: Sequence[int] | None) -> bool:
    """Whether an order of dimensions swaps exactly the last two."""
    return order is not None and list(order) == swap(len(order))


def inverse(order: Sequence[int]) -> list[int]:
    """Returns the order that undoes another."""
    return sorted(range(len(order)), key=order.__getitem__)


def swap(rank: int) -> list[int]:
    """Returns the order of dimensions that swaps the last two."""
    return [*range(rank - 2), rank - 1, rank - 2]


def _is_contiguous(shape: Sequence[Any], stride: Sequence[Any]) -> bool:
    """Whether strides are those of contiguous elements; False if sizes are symbolic."""
    if not all(isinstance(d, int) for d in (*shape, *stride)):
        return False
    expected = 1
    for extent, step in zip(reversed(shape), reversed(stride), strict=True):
        if extent != 1 and step != expected:
            return 0 in shape
        expected *= extent
    return True


def is_in_order(meta: Any) -> bool:
    """Whether a tensor is contiguous in memory, also for symbolic sizes."""
    if not isinstance(meta, Meta) or meta.stride is None:
        return False
    expected: list[Any] = []
    for extent, step in zip(reversed(meta.shape), reversed(meta.stride), strict=True):
        if extent != 1 and _factors(step) != _product(expected):
            return False
        expected.append(extent)
    return True


def _factors(dim: Any) -> tuple[int, tuple[str, ...]]:
    """Returns a product as its number, and the rest in a fixed order."""
    if isinstance(dim, int):
        return dim, ()
    return _product(dim.args) if dim.kind == "Mul" else (1, (repr(dim),))


def _product(dims: Any) -> tuple[int, tuple[str, ...]]:
    number, rest = 1, []
    for factor, names in map(_factors, dims):
        number *= factor
        rest += names
    return number, tuple(sorted(rest))


def broadcast(shapes: Sequence[Sequence[Any]]) -> list[Any]:
    """Returns the broadcast shape; a symbolic dimension is assumed to match any other."""
    rank = max(len(s) for s in shapes)
    padded = [[1] * (rank - len(s)) + list(s) for s in shapes]
    return [_common(dims) for dims in zip(*padded, strict=True)]


def _common(dims: Sequence[Any]) -> Any:
    wide = [d for d in dims if not (isinstance(d, int) and d == 1)]
    known = [d for d in wide if isinstance(d, int)]
    return (known or wide or [1])[0]
