"""The interface of a graph: its feeds and results, and their memory layouts."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._values import Meta, channels_last, inverse, is_swap, swap
from ._writer import Tensor, Writer


@dataclasses.dataclass
class Source:
    """The source of a fed value: an argument by its number, or a tensor.

    order: the order of its dimensions in memory, in which it is fed.
    memory: the identity of its memory, shared by all views of it.
    """

    name: str
    argument: int | None = None
    captured: Any = None
    order: list[int] | None = None
    memory: Any = None


@dataclasses.dataclass
class Result:
    """The source of one result of a call: a fetch by its number, an argument, or a constant.

    name: for a fetch, the name of the value in the graph.
    order: the order of the fetch's dimensions, which is that of the result in memory.
    stride: its strides, if its shape and the order don't determine them; otherwise None.
    """

    fetch: int | None = None
    argument: int | None = None
    constant: Any = None
    name: str | None = None
    is_number: bool = False
    order: list[int] | None = None
    stride: list[int | None] | None = None


def graph_name(name: str) -> str:
    """Returns a valid node name: one that doesn't begin with an underscore."""
    return name if name[0].isalnum() else f"x{name}"


class Border:
    """Collects the feeds and fetches of a graph.

    Args:
        views: whether results may be views of arguments, as PyTorch's are.
        turned: arguments that are images whose channels are last in memory.
    """

    def __init__(self, writer: Writer, *, views: bool, turned: Collection[str]) -> None:
        self.writer, self.views, self.turned = writer, views, turned
        self.sources: list[Source] = []
        # Values by name, with the identity of their memory.
        self._fetches: list[tuple[str, Any]] = []

    @property
    def fetches(self) -> list[str]:
        return [name for name, _ in self._fetches]

    def feed(self, name: str, meta: Meta, argument: int | None, captured: Any = None) -> Tensor:
        if meta.device not in ("cpu", "meta"):
            raise UnimplementedError(f"node '{name}': a tensor on {meta.device}; expected the CPU")
        order = self._order_of_argument(name, meta) if captured is None else None
        shape = [d if isinstance(d, int) else None for d in meta.shape]
        dtype = dtypes.name_of(meta.dtype)
        fed = [shape[axis] for axis in order] if order else shape
        out = self.placeholder(name, dtype, fed, argument, captured)
        source = self.sources[-1]
        source.order, source.memory = order, meta.memory
        if order is None:
            return Tensor(self.writer, out, meta)
        whole = self.writer.transpose(out, inverse(order))
        return Tensor(self.writer, whole, meta, out if is_swap(order) else None)

    def _order_of_argument(self, name: str, meta: Meta) -> list[int] | None:
        """Returns the memory order of an argument: swapped for transposed values that a forward
        graph saved, channels last for images; otherwise None."""
        if self.views and meta.is_swapped():
            return swap(meta.dim())
        return channels_last(meta.dim()) if name in self.turned else None

    def placeholder(
        self,
        name: str,
        dtype: str,
        shape: list[int | None],
        argument: int | None,
        captured: Any = None,
    ) -> Output:
        out = self.writer.builder.placeholder(graph_name(name), dtype, shape)
        self.sources.append(Source(out.name, argument, captured))
        return out

    def result(self, leaf: Any, *, is_own: bool) -> Result:
        """Returns the result of a call for a value; `is_own`: it must have PyTorch's
        memory layout."""
        if isinstance(leaf, Output):
            number = self._number_of((leaf.name, None))
            return Result(fetch=number, name=leaf.name, is_number=True)
        if not isinstance(leaf, Tensor):
            return Result(constant=leaf)
        order = self._order_of_result(leaf, is_own)
        swapped = leaf.swapped if is_swap(order) else None
        source = self._source_of(leaf.out, leaf.meta)
        if source is not None:
            return Result(argument=source.argument, constant=source.captured)
        source = self._source_of(swapped, leaf.meta) if self.views else None
        if source is not None:
            return Result(argument=source.argument, constant=source.captured, order=order)
        out = leaf.out if order is None else swapped
        if out is None:
            out = self._laid_out(leaf, order)
        # Equal values share memory if PyTorch's do.
        number = self._number_of((out.name, leaf.meta.memory))
        stride = leaf.meta.other_stride() if is_own else None
        return Result(fetch=number, name=leaf.out.name, order=order, stride=stride)

    def _laid_out(self, leaf: Tensor, order: list[int]) -> Output:
        with self.writer.builder.scope("results"):
            return self.writer.transpose(leaf, order)

    def _order_of_result(self, leaf: Tensor, is_own: bool) -> list[int] | None:
        order = leaf.meta.memory_order()
        is_free = self.views and is_swap(order) and leaf.swapped is not None
        return order if is_own or is_free else None

    def _source_of(self, out: Output | None, meta: Meta) -> Source | None:
        """Returns the source of a value that is fed and returned unchanged: PyTorch uses the same
        memory for both."""
        if out is None or meta.memory is None:
            return None
        same = (s for s in self.sources if s.name == out.name and s.order is None)
        return next((s for s in same if s.memory == meta.memory), None)

    def fetch(self, name: str) -> int:
        """Returns the number of the fetch of a value that is only read."""
        return self._number_of(next((f for f in self._fetches if f[0] == name), (name, None)))

    def _number_of(self, fetch: tuple[str, Any]) -> int:
        if fetch not in self._fetches:
            self._fetches.append(fetch)
        return self._fetches.index(fetch)
