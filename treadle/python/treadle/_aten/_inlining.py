"""Inlines the graphs of `torch.no_grad()` blocks where they are called."""

from __future__ import annotations

from typing import Any

from ._graph import Graph, Node, mapped

_CALL = "wrap_with_set_grad_enabled"  # gradients enabled?, graph, *operands


def inlined(graph: Graph) -> Graph:
    """Returns the graph without such calls, in bodies of conditionals and loops too."""
    writer = _Writer(graph)
    for node in graph.nodes:
        writer.add(node)
    return Graph(writer.out)


class _Writer:
    def __init__(self, graph: Graph) -> None:
        self.bodies = {n.args[1] for n in graph.nodes if n.target == _CALL}
        self.names = {n.name for n in graph.nodes}
        self.out: list[Node] = []
        # The replacements of removed nodes; for a call, its results.
        self.now: dict[Node, Any] = {}

    def add(self, node: Node) -> None:
        if node in self.bodies:
            return
        if node.target == "getitem" and isinstance(self.now.get(node.args[0]), list | tuple):
            self.now[node] = self.now[node.args[0]][node.args[1]]
        elif node.target == _CALL:
            self._inline(node)
        else:
            if isinstance(node.value, Graph):
                node.value = inlined(node.value)
            node.args, node.kwargs = self._given((node.args, node.kwargs))
            self.out.append(node)

    def _given(self, value: Any) -> Any:
        return mapped(value, lambda n: self.now.get(n, n))

    def _inline(self, node: Node) -> None:
        _, attribute, *operands = self._given(node.args)
        body = inlined(attribute.value)
        self.now.update(zip(body.placeholders, operands, strict=True))
        for inner in body.nodes:
            if inner.op == "output":
                self.now[node] = self._given(inner.args[0])
            elif inner.op != "placeholder":
                self._rename(inner)
                self.add(inner)

    def _rename(self, node: Node) -> None:
        name, number = node.name, 1
        while node.name in self.names:
            node.name, number = f"{name}_{number}", number + 1
        self.names.add(node.name)
