"""Ownership of memory: arguments that a program changes must not share memory, and results that are
views are PyTorch's own views."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import fx

from .._aten._importer import Source
from .._errors import InvalidArgumentError
from ._arrays import as_array, memory_of

# ---- arguments


def require_own_memory(
    mutations: Sequence[tuple[Any, int]], sources: Sequence[Source], args: Sequence[Any]
) -> None:
    """Raises InvalidArgumentError if a tensor that a call changes shares memory with another tensor
    that it uses."""
    changed = {t if isinstance(t, int) else id(t) for t, _ in mutations}
    spans = sorted(filter(None, (_span(s, args, changed) for s in sources)), key=_start)
    for i, span in enumerate(spans):
        for other in spans[i + 1 :]:
            if other.start >= span.end:
                break
            if (span.changes or other.changes) and np.shares_memory(span.array, other.array):
                first, second = (span, other) if span.changes else (other, span)
                raise InvalidArgumentError(
                    f"'{first.name}' and '{second.name}' share memory, but the program changes "
                    f"'{first.name}'; expected separate tensors: clone one of them"
                )


@dataclasses.dataclass
class _Span:
    """The memory range of a value."""

    name: str
    array: np.ndarray
    changes: bool
    start: int
    end: int


def _start(span: _Span) -> int:
    return span.start


def _span(source: Source, args: Sequence[Any], changed: set[int]) -> _Span | None:
    is_argument = source.argument is not None
    if is_argument and source.argument >= len(args):
        return None  # the call is rejected later
    value = args[source.argument] if is_argument else source.captured
    array = as_array(value) if isinstance(value, torch.Tensor) else np.asarray(value)
    changes = (source.argument if is_argument else id(value)) in changed
    start, end = np.lib.array_utils.byte_bounds(array)
    return _Span(source.name.partition(":")[0], array, changes, start, end) if array.size else None


# ---- results


@dataclasses.dataclass
class Views:
    """A graph without the views that it returns, and the function that creates these views.

    Attributes:
        core: returns the bases of the views.
        own: the number of leading results that users see.
        make: returns the results, from the graph's arguments and the core's results; None: they are
            the same.
    """

    core: fx.GraphModule
    own: int
    make: Callable[[Sequence[Any], list[Any]], list[Any]] | None = None


def split_views(module: fx.GraphModule, own: int | None) -> Views:
    """Removes views at the end of a functional graph, so that PyTorch makes them with its own
    sizes, strides and memory. For results after the first `own` (None: all), which a backward graph
    uses, removes only views of arguments."""
    (results,) = next(n for n in module.graph.nodes if n.op == "output").args
    own = len(results) if own is None else own
    roots = [_root(r) if isinstance(r, fx.Node) else r for r in results]
    for i, (result, root) in enumerate(zip(results, roots, strict=True)):
        if result is not root and not (i < own or root.op == "placeholder"):
            roots[i] = result
    if all(a is b for a, b in zip(results, roots, strict=True)):
        return Views(module, own)
    return _without_views(module, results, roots, own)


def _without_views(
    module: fx.GraphModule, results: Sequence[Any], roots: Sequence[Any], own: int
) -> Views:
    pairs = list(zip(results, roots, strict=True))
    first = dict.fromkeys(s for r, s in pairs[:own] if _is_computed(r, s))
    rest = dict.fromkeys(s for r, s in pairs[own:] if _is_computed(r, s) and s not in first)
    taken = [*first, *rest]
    copy, twins = fx.Graph(), {}
    copy.graph_copy(module.graph, twins)
    copy.output(tuple(twins[node] for node in taken))
    return Views(fx.GraphModule(module, copy), len(first), _maker(module, results, taken))


def _is_computed(result: Any, root: Any) -> bool:
    """Whether the core returns the value; views of arguments are created from the arguments."""
    return isinstance(root, fx.Node) and (root is result or root.op != "placeholder")


def _maker(
    module: fx.GraphModule, results: Sequence[Any], taken: list[fx.Node]
) -> Callable[[Sequence[Any], list[Any]], list[Any]]:
    """Returns a function that makes the results from arguments and the core's results."""
    graph, twins = fx.Graph(), {}
    places = [n for n in module.graph.nodes if n.op == "placeholder"]
    inputs = {node: graph.placeholder(node.name) for node in places}
    twins |= inputs | {node: graph.placeholder(f"result_{i}") for i, node in enumerate(taken)}

    def copied(node: fx.Node) -> fx.Node:
        if node not in twins:
            twins[node] = graph.node_copy(node, copied)
        return twins[node]

    graph.output([copied(r) if isinstance(r, fx.Node) else r for r in results])
    run = fx.GraphModule(torch.nn.Module(), graph).forward
    return lambda args, values: list(run(*args, *values))


def _root(node: fx.Node) -> fx.Node:
    """Returns the computed value or argument that a node is a view of; the node itself if it isn't
    a view, or if its elements decide."""
    root, needs = node, set()
    while (base := _base(root)) is not None:
        needs |= {n for n in _between(root, base) if n is not base}
        root = base
    return root if all(_is_of_sizes(n) for n in needs) else node


def _base(node: fx.Node) -> fx.Node | None:
    """Returns the input that a node is a view of."""
    memory = _memory(node)
    if memory is None or node.op != "call_function":
        return None
    if node.target is operator.getitem:
        bases = node.args[0].all_input_nodes
    else:
        bases = node.all_input_nodes
    return next((n for n in bases if _memory(n) == memory), None)


def _between(node: fx.Node, base: fx.Node) -> Iterator[fx.Node]:
    """Returns the inputs of a view besides its base."""
    for used in node.all_input_nodes:
        if used is base:
            continue
        if node.target is operator.getitem:
            yield from (n for n in used.all_input_nodes if n is not base)
        else:
            yield used


def _is_of_sizes(node: fx.Node) -> bool:
    """Whether a number is computed from numbers that are arguments."""
    if not isinstance(node.meta.get("val"), torch.SymInt | int):
        return False
    return node.op == "placeholder" or all(_is_of_sizes(n) for n in node.all_input_nodes)


def _memory(node: fx.Node) -> int | None:
    value = node.meta.get("val")
    return memory_of(value) if isinstance(value, torch.Tensor) else None
