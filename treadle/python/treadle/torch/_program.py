"""A graph that was PyTorch's, to be called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from .._aten._importer import Imported, Source
from .._errors import InvalidArgumentError
from .._native import Communicator, Graph, Session
from ._arrays import as_array, as_tensor
from ._trace import Traced
from ._variants import Variants


class Program:
    """A graph that was imported from PyTorch; from_fx makes it.

    Calling it runs the graph: tensors in, tensors out, as the graph module takes and gives them.
    Contiguous tensors go in without a copy, and results are tensors of the caller's own. No
    gradients are recorded; torch.compile(model, backend="treadle") does that. Thread-safe.

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
        # What nothing needs isn't there any more.
        self._sources = [s for s in imported.sources if s.name.split(":")[0] in graph]
        self._takes = [s for s in self._sources if s.argument is not None]
        # Tensors of the module are looked at again at each call, so that training them is seen.
        self._captured = [s for s in self._sources if s.captured is not None]
        self._seed = imported.seed if imported.seed and imported.seed[:-2] in graph else None
        self._fetches = imported.fetches
        self._session = Session(graph, threads=threads, tier=tier, communicator=communicator)

    @property
    def graph(self) -> Graph:
        """The graph as it was imported: a node has the name that it had in PyTorch's graph."""
        return self._imported.graph

    @property
    def session(self) -> Session:
        """What runs it."""
        return self._session

    @property
    def inputs(self) -> dict[str, int | None]:
        """What runs are fed with: names, and the number of the argument that each is (None for
        tensors of the module, and for the seed of random numbers)."""
        found = {s.name: s.argument for s in self._sources}
        return found | {self._seed: None} if self._seed else found

    @property
    def outputs(self) -> list[str | None]:
        """The value that each result is; None for one that is an argument or a constant."""
        results = self._imported.results
        return [None if r.fetch is None else self._fetches[r.fetch] for r in results]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph on tensors (or arrays of numpy); gives tensors."""
        flat = self._flat(args, kwargs)
        if self._variants:
            return self._variants.fitting(flat)._call(flat)
        return self._call(flat)

    def _call(self, flat: Sequence[Any]) -> Any:
        arrays = self._fetch(flat)
        tensors = [as_tensor(a) for a in arrays]
        self._write_back(flat, tensors)
        return self._results(flat, tensors)

    def call_flat(self, args: list[Any]) -> list[Any]:
        """As a call, without the structure of what is returned."""
        tensors = [as_tensor(a) for a in self._fetch(args)]
        self._write_back(args, tensors)
        return self._leaves(args, tensors)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph on arrays of numpy (or tensors); gives arrays."""
        flat = self._flat(args, kwargs)
        arrays = self._fetch(flat)
        self._write_back(flat, [as_tensor(a) for a in arrays] if self._imported.mutations else [])
        return self._results(flat, arrays)

    def _flat(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """The graph's arguments, one after another."""
        traced = self._traced
        if traced is None:
            return args
        flat = traced.flat(args, kwargs)
        for number, constant in traced.constants.items():
            given = flat[number] if number < len(flat) else constant
            if given is not constant and (hasattr(given, "shape") or given != constant):
                raise InvalidArgumentError(
                    f"value {number} of the arguments is {given!r}, but the graph was made for"
                    f" {constant!r}; import it once for each, or with a tensor in its place"
                )
        return flat

    def _fetch(self, args: Any) -> list[np.ndarray]:
        if not self._fetches:
            return []
        feeds = {source.name: _fed(source, args) for source in self._takes}
        for source in self._captured:
            feeds[source.name] = as_array(source.captured)
        if self._seed:
            # Drawn from PyTorch's own generator: torch.manual_seed decides what comes.
            feeds[self._seed] = torch.randint(-(2**62), 2**62, (2,)).numpy()
        return self._session.run(self._fetches, feeds)

    def _write_back(self, args: Any, tensors: list[torch.Tensor]) -> None:
        for target, fetch in self._imported.mutations:
            goal = args[target] if isinstance(target, int) else target
            with torch.no_grad():
                goal.copy_(tensors[fetch])

    def _leaves(self, args: Any, values: list[Any]) -> list[Any]:
        out = []
        for result in self._imported.results:
            if result.fetch is not None:
                value = values[result.fetch]
                value = value.item() if result.is_number else value
            else:
                value = result.constant if result.argument is None else args[result.argument]
            out.append(_channels_first(value) if result.is_turned else value)
            if result.is_swapped:
                out[-1] = value.mT
        return out

    def _results(self, args: Any, values: list[Any]) -> Any:
        leaves = self._leaves(args, values)
        if self._traced and self._traced.gives:
            return pytree.tree_unflatten(leaves, self._traced.gives)
        return pytree.tree_unflatten(leaves, self._imported.structure)


def _fed(source: Source, args: Any) -> Any:
    try:
        value = args[source.argument]
    except IndexError:
        raise InvalidArgumentError(
            f"{len(args)} arguments are given, and '{source.name}' is number {source.argument}"
        ) from None
    if source.is_swapped:
        value = value.mT
    elif source.is_turned:
        value = value.movedim(1, -1)
    return as_array(value) if isinstance(value, torch.Tensor) else np.asarray(value)


def _channels_first(image: torch.Tensor) -> torch.Tensor:
    return image.movedim(-1, 1)


def _turn_results(graph: Graph, imported: Imported, own: int) -> None:
    """Takes images as they are computed, with their channels last. Not the first `own` results:
    those somebody else sees, who may rely on how they lie in memory."""
    others = {r.fetch for r in imported.results[:own]} | {f for _, f in imported.mutations}
    others |= {r.fetch for r in imported.results if r.is_number or r.is_swapped}
    for number, fetch in enumerate(imported.fetches):
        node, _, index = fetch.partition(":")
        if number in others or index != "0" or not _puts_channels_first(graph, node):
            continue
        image = graph._inputs(node)[0]
        imported.fetches[number] = image if ":" in image else f"{image}:0"
        for result in imported.results:
            result.is_turned |= result.fetch == number


def _puts_channels_first(graph: Graph, node: str) -> bool:
    """Whether it is a Transpose that tfg-channels-last has made, or one like these."""
    if graph._op(node) != "Transpose":
        return False
    order = graph._inputs(node)[1].split(":")[0]
    if graph._op(order) != "Const":
        return False
    axes = np.asarray(graph.node(order).attrs["value"]).tolist()
    return len(axes) >= 4 and axes == [0, len(axes) - 1, *range(1, len(axes) - 1)]


def _prepared(imported: Imported) -> Graph:
    """The graph as it runs: what no fetch needs is left out, and what belongs together is one."""
    names = sorted({f.split(":")[0] for f in imported.fetches})
    if not names:
        return imported.graph
    keep = [*names, *(s.name.split(":")[0] for s in imported.sources)]
    listed, kept = ",".join(imported.fetches), ",".join(keep)
    passes = (
        f"tfg-prune{{fetches={listed}}},tfg-channels-last{{keep={kept}}},tfg-remap{{keep={kept}}}"
    )
    return imported.graph.run_passes(passes)
