"""Applies plans to graphs of torch.fx: buckets, the order, and the dependencies that enforce it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map_only

from .._errors import InvalidArgumentError, UnimplementedError
from ..steps._buckets import Bucket
from ._steps import step_of

if TYPE_CHECKING:
    from ._plans import Plan

aten, c10d = torch.ops.aten, torch.ops._c10d_functional


def apply(plan: Plan, module: torch.fx.GraphModule, *, hold: bool) -> None:
    options = plan.options
    step = step_of(module, ranks=options.ranks, sizes=options.sizes)
    if step.digest() != plan.digest:
        raise InvalidArgumentError("the plan belongs to another graph; create it from this one")
    graph = module.graph
    nodes = {node.name: node for node in graph.nodes}
    with_it: dict[str, list[torch.fx.Node]] = {}
    for bucket in plan.buckets:
        _Bucketing(graph, nodes, with_it).write(bucket)
    last = graph._root
    for name in plan.order:
        for node in (*with_it.get(name, ()), nodes[name]):
            last.append(node)
            last = node
    if hold:
        hold_order(module, [(nodes[a], nodes[b]) for a, b in plan.edges])
    graph.lint()
    module.recompile()


def hold_order(
    module: torch.fx.GraphModule, edges: Sequence[tuple[torch.fx.Node, torch.fx.Node]]
) -> None:
    """Inserts control_deps so that nodes run after others."""
    from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
    from torch.utils._ordered_set import OrderedSet

    place = {node: i for i, node in enumerate(module.graph.nodes)}
    deps: dict[torch.fx.Node, OrderedSet[torch.fx.Node]] = {}
    for first, second in sorted(edges, key=lambda e: place[e[1]]):
        if second.op == "call_function" and str(second.target) != "control_deps":
            deps.setdefault(second, OrderedSet()).add(first)
    preserve_node_ordering(module.graph, deps)


class _Bucketing:
    """Writes the nodes of buckets. `with_it` has the nodes that come with one of the plan's."""

    def __init__(
        self,
        graph: torch.fx.Graph,
        nodes: dict[str, torch.fx.Node],
        with_it: dict[str, list[torch.fx.Node]],
    ):
        self.graph, self.nodes, self.with_it = graph, nodes, with_it
        self.helpers: list[torch.fx.Node] = []

    def write(self, bucket: Bucket) -> None:
        starts = [self.nodes.pop(name) for name in bucket.members]
        waits = [self.nodes.pop(name) for name in bucket.waits]
        first = starts[0]
        with self.graph.inserting_before(first):
            self._pack(bucket, first, [start.args[0] for start in starts])
            self._keep(bucket.name, first.target, self.nodes[bucket.pack], *first.args[1:])
            self._keep(bucket.wait, c10d.wait_tensor.default, self.nodes[bucket.name])
            at = 0
            for start, wait in zip(starts, waits, strict=True):
                sent = start.args[0].meta["val"]
                at = self._part(bucket, first, wait, sent, at)
        for node in (*waits, *starts):
            self.graph.erase_node(node)

    def _pack(self, bucket: Bucket, first: torch.fx.Node, inputs: Sequence[torch.fx.Node]) -> None:
        if not _scatters(first):
            rows = [self._call(aten.reshape.default, x, [-1]) for x in inputs]
            self._keep(bucket.pack, aten.cat.default, rows)
            return
        rows = [self._call(aten.reshape.default, x, [first.args[2], -1]) for x in inputs]
        joined = self._call(aten.cat.default, rows, 1)
        self._keep(bucket.pack, aten.reshape.default, joined, [-1])

    def _part(
        self, bucket: Bucket, first: torch.fx.Node, wait: torch.fx.Node, sent: Any, at: int
    ) -> int:
        """Replaces the wait of one member by its part of the result, with the same name."""
        result, shape = self.nodes[bucket.wait], list(wait.meta["val"].shape)
        size = sent.numel() // (first.args[2] if _scatters(first) else 1)
        if _gathers(first):
            rows = self._call(aten.reshape.default, result, [first.args[1], -1])
            part = self._call(aten.slice.Tensor, rows, 1, at, at + size)
            part = self._call(aten.clone.default, part, memory_format=torch.contiguous_format)
        else:
            part = self._call(aten.slice.Tensor, result, 0, at, at + size)
        name = wait.name
        self._keep(name, aten.reshape.default, part, shape)
        wait.replace_all_uses_with(self.nodes[name])
        return at + size

    def _call(self, target: Any, *args: Any, **kwargs: Any) -> torch.fx.Node:
        node = self.graph.call_function(target, args, kwargs)
        node.meta["val"] = _value(target, args, kwargs)
        self.helpers.append(node)
        return node

    def _keep(self, name: str, target: Any, *args: Any) -> None:
        """Adds a node under its name in the plan, with the nodes created for it."""
        node = self._call(target, *args)
        node.name = name
        *self.with_it[name], self.nodes[name] = self.helpers
        self.helpers = []


def _gathers(start: torch.fx.Node) -> bool:
    return start.target is c10d.all_gather_into_tensor.default


def _scatters(start: torch.fx.Node) -> bool:
    return start.target is c10d.reduce_scatter_tensor.default


def _value(target: Any, args: Any, kwargs: Any) -> Any:
    """Returns the fake result of a call."""
    from torch._guards import detect_fake_mode

    args, kwargs = tree_map_only(torch.fx.Node, lambda n: n.meta["val"], (args, kwargs))
    mode = detect_fake_mode((args, kwargs))
    if mode is None:
        raise UnimplementedError(
            "buckets in a graph whose nodes have no fake values; trace it with "
            'make_fx(..., tracing_mode="fake"), or plan without buckets'
        )
    with mode:
        return target(*args, **kwargs)
