"""Measures costs on the ranks that run a graph."""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_leaves

from ..steps import Costs, Link, Step
from ..steps._problem import Problem, Timeline
from ..steps._step import COMPUTE
from ..steps._traces import Measured, fit_link
from ._steps import Ranks, Sizes, step_of


def measure(
    graph_module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    ranks: Ranks = None,
    sizes: Sizes | None = None,
    repeat: int = 5,
    group: Any = None,
) -> Costs:
    """Runs a graph on all ranks, and returns the costs of its nodes; all ranks return the same
    costs.

    Every rank has to call it. Nodes run one by one, and exchanges are waited for at once. A device
    is synchronized after each node. The time of the graph beyond that of its nodes is divided
    among them. Copies of 8 MiB say what memory is able to do, and all-reduces of two sizes what the
    link is.

    Args:
        inputs: what the graph is called with. It changes what it would change.
        repeat: how often; the shortest time counts, since whatever disturbs only adds.
        group: the ranks that measure; None: all.
    """
    step = step_of(graph_module, ranks=ranks, sizes=sizes)
    timed = {node.name for node in step.nodes if node.kind == COMPUTE}
    run = _Timed(graph_module, timed)
    for _ in range(repeat + 1):
        run.run(*inputs)
    nodes = {name: min(times[1:]) for name, times in run.times.items()}
    device = next((t.device for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)), "cpu")
    link = measure_link(group, device=device) if step.exchanges() else Link()
    costs = agreed(Costs(nodes=nodes, link=link, bandwidth=_bandwidth(repeat, device)), group)
    whole = _time_whole(graph_module, inputs, repeat)
    return agreed(_with_rest(step, costs, whole), group)


def _time_whole(graph_module: torch.fx.GraphModule, inputs: Sequence[Any], repeat: int) -> float:
    times = []
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        _synchronize(graph_module(*inputs))
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def _with_rest(step: Step, costs: Costs, whole: float) -> Costs:
    """Returns costs that add up to the time of the whole graph: the difference is distributed among
    the nodes."""
    problem = Problem(step, costs)
    predicted = Timeline(problem, problem.in_order()).nanoseconds / 1e9
    computing = problem.computing() / 1e9
    if not computing or whole <= predicted:
        return costs
    factor = 1 + (whole - predicted) / computing
    return dataclasses.replace(costs, nodes={n: factor * t for n, t in costs.nodes.items()})


def agreed(costs: Costs, group: Any = None) -> Costs:
    """Returns the merged costs of all ranks; all ranks must call it."""
    if not dist.is_initialized():
        return costs
    parts: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(parts, costs, group)
    return Costs.merged(parts)


def measure_link(group: Any = None, *, repeat: int = 5, device: Any = "cpu") -> Link:
    """Measures latency and bandwidth of a group's link with all-reduces of 4 bytes and of 4 MiB."""
    group = group or dist.group.WORLD
    ranks = dist.get_world_size(group)
    found = []
    for elements in (1, 1 << 20):
        data = torch.zeros(elements, device=device)
        times = []
        for _ in range(repeat + 1):
            dist.barrier(group)
            begin = time.perf_counter()
            dist.all_reduce(data, group=group)
            _synchronize(data)
            times.append(time.perf_counter() - begin)
        found.append(Measured("all_reduce", ranks, 4 * elements, min(times[1:])))
    return fit_link(found) or Link()


def _bandwidth(repeat: int, device: Any) -> float:
    data = torch.zeros(1 << 21, device=device)
    times = []
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        _synchronize(data.clone())
        times.append(time.perf_counter() - begin)
    return 2 * data.nbytes / min(times[1:])


def _synchronize(result: Any) -> None:
    for tensor in tree_leaves(result):
        if isinstance(tensor, torch.Tensor) and tensor.device.type != "cpu":
            torch.accelerator.synchronize(tensor.device)


class _Timed(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule, timed: set[str]):
        super().__init__(module)
        self.timed, self.times = timed, defaultdict[str, list[float]](list)

    def run_node(self, n: torch.fx.Node) -> Any:
        begin = time.perf_counter()
        result = super().run_node(n)
        if n.name in self.timed:
            _synchronize(result)
            self.times[n.name].append(time.perf_counter() - begin)
        elif n.op == "call_function" and "_c10d_functional" in str(n.target):
            if "wait" not in str(n.target) and isinstance(result, torch.Tensor):
                torch.ops._c10d_functional.wait_tensor(result)
        return result
