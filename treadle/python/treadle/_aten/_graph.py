"""A PyTorch graph as plain records, which the rules read; graphs from every source are converted to
it."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any

# : Python functions on dimensions; values of a graph support the operators too.
SCALAR_OPS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name)
    for name in "add sub mul floordiv mod neg truediv pow ge gt le lt eq ne and_ or_ xor".split()
}


@dataclasses.dataclass(eq=False, repr=False)
class Node:
    """One node.

    Attributes:
        op: "placeholder", "attribute", "call" or "output".
        target: the callee of a call: `aten.add.Tensor`, `getitem`, a name of SCALAR_OPS, `tuple`,
            or the name of an op with graphs as arguments (`cond`). For an attribute, its path in
            the module.
        args, kwargs: the arguments, with nodes for values. For an output, the returned values; for
            control_deps, the nodes that it follows, a Graph, and the Graph's arguments.
        value: a Meta, a number, an Expr, a list of them, or None. For an attribute, its value: a
            tensor, a Graph, or another member of a module.
        meta: the metadata of an attribute that is a tensor.
        users: the nodes that use it.
        draws: whether it draws random numbers.
        source: the node of PyTorch's own graph, if there is one.
    """

    name: str
    op: str
    target: str = ""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    value: Any = None
    meta: Any = None
    users: list[Node] = dataclasses.field(default_factory=list)
    draws: bool = False
    source: Any = None

    def __repr__(self) -> str:
        return self.name

    @property
    def known(self) -> Any:
        """Returns the metadata of its value, also for a tensor of the module."""
        return self.value if self.meta is None else self.meta

    @property
    def packet(self) -> str:
        """The op name without the overload: `aten.add`."""
        return self.target.rsplit(".", 1)[0]


@dataclasses.dataclass(eq=False)
class Graph:
    """Nodes in order; the last one is the output."""

    nodes: list[Node]

    @property
    def placeholders(self) -> list[Node]:
        return [n for n in self.nodes if n.op == "placeholder"]

    @property
    def calls(self) -> list[Node]:
        return [n for n in self.nodes if n.op == "call"]


def mapped(value: Any, fn: Callable[[Node], Any]) -> Any:
    """Returns arguments in which `fn` replaces each node."""
    if isinstance(value, Node):
        return fn(value)
    if isinstance(value, list | tuple):
        return type(value)(mapped(v, fn) for v in value)
    if isinstance(value, dict):
        return {k: mapped(v, fn) for k, v in value.items()}
    return value


def connect(graph: Graph) -> Graph:
    """Fills in the users of each node."""
    for node in graph.nodes:
        for used in dict.fromkeys(nodes_in((node.args, node.kwargs))):
            used.users.append(node)
    return graph


def nodes_in(value: Any) -> list[Node]:
    found: list[Node] = []
    mapped(value, found.append)
    return found
