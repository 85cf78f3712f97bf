"""The callees of control_deps, in all forms that PyTorch accepts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from torch import fx
from torch.utils import _pytree as pytree

from .._errors import InvalidArgumentError


def body_of(module: fx.GraphModule, node: fx.Node) -> tuple[fx.GraphModule, list[Any]]:
    """Returns the graph that a control_deps runs, and an operand for each of its arguments. The
    node belongs to `module`; if it has an op instead of a graph, a graph of the op is made."""
    _, body, *operands = node.args
    if isinstance(body, fx.Node) and body.op == "get_attr":
        found = operator.attrgetter(str(body.target))(module)
        if isinstance(found, fx.GraphModule):
            return found, [*operands, *named_operands(node, found)]
    if isinstance(body, fx.Node) or not callable(body):
        raise InvalidArgumentError(
            f"node '{node.name}': control_deps of '{body}'; expected a graph module or an op",
            node=node.name,
        )
    return _graph_of(node, body)


def has_order(module: fx.GraphModule) -> bool:
    """Whether a graph or one of its bodies contains control_deps."""
    graphs = [m.graph for m in module.modules() if isinstance(m, fx.GraphModule)]
    return any(str(n.target) == "control_deps" for graph in graphs for n in graph.nodes)


def named_operands(node: fx.Node, body: fx.GraphModule) -> list[Any]:
    """Returns the named operands of control_deps, in the order of the body's arguments."""
    if str(node.target) != "control_deps":
        return []
    names = [str(n.target) for n in body.graph.find_nodes(op="placeholder")]
    rest = names[len(node.args) - 2 :]
    if len(node.args) - 2 > len(names) or set(rest) != set(node.kwargs):
        raise InvalidArgumentError(
            f"node '{node.name}': control_deps gives its graph {len(node.args) - 2} operands and"
            f" {sorted(node.kwargs)}; expected {names}",
            node=node.name,
        )
    return [node.kwargs[name] for name in rest]


def _graph_of(node: fx.Node, op: Callable[..., Any]) -> tuple[fx.GraphModule, list[Any]]:
    graph = fx.Graph()
    arguments = (node.args[2:], dict(node.kwargs))
    operands = list(dict.fromkeys(n for n in pytree.tree_leaves(arguments, is_leaf=_is_node)
                                  if _is_node(n)))  # fmt: skip
    places = {n: graph.placeholder(n.name) for n in operands}
    for outer, place in places.items():
        place.meta = {k: v for k, v in outer.meta.items() if k == "val"}
    args, kwargs = fx.node.map_arg(arguments, lambda n: places[n])
    call = graph.call_function(op, args, kwargs)
    call.meta = {k: v for k, v in node.meta.items() if k == "val"}
    graph.output(call)
    return fx.GraphModule({}, graph), operands


def _is_node(value: Any) -> bool:
    return isinstance(value, fx.Node)
