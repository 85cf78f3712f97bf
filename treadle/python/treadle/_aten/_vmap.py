"""Converts programs of torch.export that use torch.vmap to programs with loops.

PyTorch writes such a function in place, between nodes that begin and end a level of batching, for
one row. It becomes the body of a `map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._errors import UnimplementedError
from ._graph import Graph, Node, mapped, nodes_in
from ._values import Meta

_START = "torch._functorch.predispatch."


def without_batching(graph: Graph) -> Graph:
    """Returns the graph with a `map` for each level of batching."""
    return Graph(_rewritten(graph.nodes))


def _rewritten(nodes: Sequence[Node]) -> list[Node]:
    out: list[Node] = []
    rest = iter(nodes)
    for node in rest:
        if isinstance(node.value, Graph):
            node.value = without_batching(node.value)
        kind = _kind(node)
        if kind == "_vmap_increment_nesting":
            out += _as_map(node, _rewritten(_level(rest)))
        elif kind == "_unwrap_for_grad":  # gradients were computed already
            out.append(_as_same(node))
        elif kind not in ("lazy_load_decompositions", "_vmap_decrement_nesting"):
            out.append(node)
    return out


def _kind(node: Node) -> str:
    return node.target.removeprefix(_START) if node.target.startswith(_START) else ""


def _level(rest: Any) -> list[Node]:
    """Returns the nodes up to the end of a level that has begun."""
    nodes, depth = [], 1
    for node in rest:
        depth += {"_vmap_increment_nesting": 1, "_vmap_decrement_nesting": -1}.get(_kind(node), 0)
        if not depth:
            break
        nodes.append(node)
    return nodes


def _as_same(node: Node) -> Node:
    node.target, node.args, node.kwargs = "aten.alias.default", node.args[:1], {}
    return node


def _as_map(start: Node, nodes: list[Node]) -> list[Node]:
    """Returns a `map`, the tensors that it iterates over, and the results."""
    adds = [n for n in nodes if _kind(n) == "_add_batch_dim"]
    removes = [n for n in nodes if _kind(n) == "_remove_batch_dim"]
    inside = [n for n in nodes if n not in removes]
    if not adds or any(n in inside for add in adds for n in nodes_in(add.args)):
        raise UnimplementedError(
            f"node '{start.name}': torch.vmap over a value that is not an argument"
        )
    rows = [_moved(f"{add.name}_rows", add.args[0], add.args[1], 0) for add in adds]
    results = list(dict.fromkeys(remove.args[0] for remove in removes))
    used = nodes_in([[(n.args, n.kwargs) for n in inside if n not in adds], results])
    others = [n for n in dict.fromkeys(used) if n not in inside]
    body = Node(f"{start.name}_body", "attribute", f"{start.name}_body")
    body.value = _body(adds, others, [n for n in inside if n not in adds], results)
    whole = Node(f"{start.name}_map", "call", "map_impl", (body, rows, others))
    whole.value = [_stacked(result.known, removes[0].args[2]) for result in results]
    stacks = [
        Node(f"{whole.name}_{i}", "call", "getitem", (whole, i), value=whole.value[i])
        for i in range(len(results))
    ]
    for remove in removes:
        stack = stacks[results.index(remove.args[0])]
        remove.target, remove.args = "aten.movedim.int", (stack, 0, remove.args[3])
    return [*rows, body, whole, *stacks, *removes]


def _moved(name: str, x: Node, source: int, to: int) -> Node:
    meta = x.known
    shape = list(meta.shape)
    shape.insert(to, shape.pop(source))
    value = Meta(meta.dtype, tuple(shape))
    return Node(name, "call", "aten.movedim.int", (x, source, to), value=value)


def _stacked(row: Meta, count: Any) -> Meta:
    """Returns the metadata of that many stacked rows."""
    return Meta(row.dtype, (count.known if isinstance(count, Node) else count, *row.shape))


def _body(adds: list[Node], others: list[Node], inside: list[Node], results: list[Node]) -> Graph:
    """Returns the body for one row; captured values follow the rows."""
    places = {o: Node(f"{o.name}_outside", "placeholder", value=o.known) for o in others}
    for add in adds:
        add.op, add.target, add.args = "placeholder", "", ()

    def own(value: Any) -> Any:
        return mapped(value, lambda n: places.get(n, n))

    for node in inside:
        node.args, node.kwargs = own((node.args, node.kwargs))
    output = Node("output", "output", args=(own(results),))
    return Graph([*adds, *places.values(), *inside, output])
