"""Callable graphs that were imported from PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from .._aten._importer import Imported, Result, Source
from .._aten._values import channels_last, inverse
from .._errors import InvalidArgumentError
from .._native import Communicator, Graph, Session
from ._arrays import as_array, as_tensor
from ._memory import require_own_memory
from ._trace import Traced
from ._variants import Variants


class Program:
    """A graph that was imported from PyTorch; created by from_fx.

    Calling it runs the graph on tensors and returns tensors, in the structure of the graph module.
    Contiguous tensors are used without a copy, and results are new tensors. No gradients are
    recorded; use torch.compile(model, backend="treadle") for that. Thread-safe.

    >>> program = treadle.from_fx(torch.fx.symbolic_trace(model), [x])
    >>> y = program(x)
    """

    def __init__(
        self,
        imported: Imported,
        traced: Traced | None = None,
        *,
        tier: str = "auto",
        threads: int | None = None,
        communicator: Communicator | None = None,
        own_results: int | None = None,
        another: Callable[[Traced], Program] | None = None,
    ) -> None:
        self._imported, self._traced = imported, traced
        self._variants = Variants(self, traced, another) if traced and traced.sizes else None
        graph = _prepared(imported)
        if own_results is not None:
            _turn_results(graph, imported, own_results)
        for result in imported.results:
            if result.fetch is not None and result.order is not None:
                fetch = _without_transposes(graph, imported.fetches[result.fetch])
                imported.fetches[result.fetch] = fetch
        # Unused sources were removed.
        self._sources = [s for s in imported.sources if s.name.split(":")[0] in graph]
        self._takes = [s for s in self._sources if s.argument is not None]
        # Tensors of the module are read again at each call, so that changes by training take
        # effect.
        self._captured = [s for s in self._sources if s.captured is not None]
        self._seed = imported.seed if imported.seed and imported.seed[:-2] in graph else None
        self._fetches = imported.fetches
        self._session = Session(
            graph, threads=threads, tier=tier, denormals=_denormals(), communicator=communicator
        )

    @property
    def graph(self) -> Graph:
        """The imported graph; nodes have their names in PyTorch's graph."""
        return self._imported.graph

    @property
    def session(self) -> Session:
        """The session that runs the program."""
        return self._session

    @property
    def inputs(self) -> dict[str, int | None]:
        """The feeds of runs: names, and the number of the argument for each (None for tensors of
        the module, and for the seed of random numbers)."""
        found = {s.name: s.argument for s in self._sources}
        return found | {self._seed: None} if self._seed else found

    @property
    def outputs(self) -> list[str | None]:
        """The value of each result; None for an argument or a constant."""
        return [result.name for result in self._imported.results]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph on tensors (or numpy arrays); returns tensors."""
        flat = self._flat(args, kwargs)
        if self._variants:
            return self._variants.fitting(flat)._call(flat)
        return self._call(flat)

    def _call(self, flat: Sequence[Any]) -> Any:
        leaves = self.call_flat(flat)
        if self._traced and self._traced.gives:
            return pytree.tree_unflatten(leaves, self._traced.gives)
        return pytree.tree_unflatten(leaves, self._imported.structure)

    def call_flat(self, args: Sequence[Any]) -> list[Any]:
        """Calls the program; returns flat results."""
        if self._imported.mutations:
            require_own_memory(self._imported.mutations, self._imported.sources, args)
        tensors = [as_tensor(a) for a in self._fetch(args)]
        self._write_back(args, tensors)
        return [_leaf(result, args, tensors) for result in self._imported.results]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph on numpy arrays (or tensors); returns arrays."""
        return pytree.tree_map_only(torch.Tensor, as_array, self(*args, **kwargs))

    def _flat(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """Returns the flattened arguments of the graph."""
        traced = self._traced
        if traced is None:
            return args
        flat = traced.flat(args, kwargs)
        traced.check(flat)
        for number, constant in traced.constants.items():
            given = flat[number] if number < len(flat) else constant
            if given is not constant and (hasattr(given, "shape") or given != constant):
                raise InvalidArgumentError(
                    f"value {number} of the arguments is {given!r}, but the graph was traced for "
                    f"{constant!r}; import it once for each value, or use a tensor instead"
                )
        return flat

    def _fetch(self, args: Any) -> list[np.ndarray]:
        if not self._fetches:
            return []
        feeds = {source.name: _fed(source, args) for source in self._takes}
        for source in self._captured:
            feeds[source.name] = as_array(source.captured)
        if self._seed:
            # Use PyTorch's generator, so that torch.manual_seed has its effect.
            feeds[self._seed] = torch.randint(-(2**62), 2**62, (2,)).numpy()
        return self._session.run(self._fetches, feeds)

    def _write_back(self, args: Any, tensors: list[torch.Tensor]) -> None:
        for target, fetch in self._imported.mutations:
            goal = args[target] if isinstance(target, int) else target
            with torch.no_grad():
                torch.as_tensor(goal).copy_(tensors[fetch])


def _leaf(result: Result, args: Sequence[Any], tensors: list[torch.Tensor]) -> Any:
    """Returns one result of a call."""
    if result.fetch is None:
        value = result.constant if result.argument is None else args[result.argument]
        value = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    else:
        value = tensors[result.fetch]
        value = value.item() if result.is_number else value
    if result.order is not None:
        value = value.permute(inverse(result.order))
    return value if result.stride is None else _with_stride(value, result.stride)


def _with_stride(value: torch.Tensor, stride: Sequence[int | None]) -> torch.Tensor:
    """Returns a tensor with these strides; None means its own stride."""
    pairs = zip(stride, value.stride(), strict=True)
    new = tuple(own if given is None else given for given, own in pairs)
    return value if new == value.stride() else value.as_strided(value.shape, new)


def _fed(source: Source, args: Any) -> Any:
    try:
        value = args[source.argument]
    except IndexError:
        raise InvalidArgumentError(
            f"{len(args)} arguments were passed, but '{source.name}' is argument {source.argument}"
        ) from None
    if source.order is not None:
        value = value.permute(source.order)
    return as_array(value) if isinstance(value, torch.Tensor) else np.asarray(value)


def _turn_results(graph: Graph, imported: Imported, own: int) -> None:
    """Keeps images in channels-last layout, as they are computed. Excludes the first `own` results,
    whose memory layout is visible to users."""
    others = {r.fetch for r in imported.results[:own]} | {f for _, f in imported.mutations}
    others |= {r.fetch for r in imported.results if r.is_number or r.order}
    for number, fetch in enumerate(imported.fetches):
        order = _order_of_image(graph, fetch) if number not in others else None
        if order is None:
            continue
        imported.fetches[number] = _untransposed(graph, fetch)
        for result in imported.results:
            if result.fetch == number:
                result.order = order


def _order_of_image(graph: Graph, fetch: str) -> list[int] | None:
    """Returns the memory order of an image before a Transpose that moves its channels first, such
    as one from tfg-channels-last; None for other nodes."""
    axes = _transposition(graph, fetch)
    if axes is None or len(axes) < 4:
        return None
    turned = channels_last(len(axes))
    return turned if axes == inverse(turned) else None


def _without_transposes(graph: Graph, fetch: str) -> str:
    """Returns a value equal to a fetch without Transposes that cancel each other."""
    value, order = fetch, None
    while (axes := _transposition(graph, value)) is not None:
        order = axes if order is None else [axes[axis] for axis in order]
        value = _untransposed(graph, value)
        if order == sorted(order):
            fetch, order = value, None
    return fetch


def _transposition(graph: Graph, value: str) -> list[int] | None:
    """Returns the order of dimensions of a Transpose; None for other nodes."""
    node = value.removesuffix(":0")
    if ":" in node or graph._op(node) != "Transpose":
        return None
    order = graph._inputs(node)[1].split(":")[0]
    if graph._op(order) != "Const":
        return None
    return np.asarray(graph.node(order).attrs["value"]).tolist()


def _untransposed(graph: Graph, value: str) -> str:
    given = graph._inputs(value.removesuffix(":0"))[0]
    return given if ":" in given else f"{given}:0"


def _prepared(imported: Imported) -> Graph:
    """Returns the graph that runs: pruned to the fetches, and with fused nodes."""
    values = {*imported.fetches, *(r.name for r in imported.results if r.name)}
    names = sorted({value.split(":")[0] for value in values})
    if not names:
        return imported.graph
    keep = [*names, *(s.name.split(":")[0] for s in imported.sources)]
    listed, kept = ",".join(sorted(values)), ",".join(keep)
    passes = (
        f"tfg-prune{{fetches={listed}}},tfg-channels-last{{keep={kept}}},tfg-remap{{keep={kept}}}"
    )
    return imported.graph.run_passes(passes)


def _denormals() -> str:
    """PyTorch's own mode for denormal numbers, which is the calling thread's."""
    smallest = float(np.finfo(np.float64).tiny)
    return "keep" if smallest / 2 else "flush"
