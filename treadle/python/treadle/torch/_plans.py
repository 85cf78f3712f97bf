"""Plans for graphs of PyTorch: creates them, applies them to graphs, and passes them to
inductor."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from .. import steps
from ..steps import Costs, Fault, Step
from ._steps import Ranks, Sizes, step_of


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of `plan`."""

    costs: Costs
    ranks: Ranks = None
    sizes: Sizes | None = None
    memory: int | None = None
    bucket: int = 0
    exchanges: str = "free"

    def plan(self, graph_module: torch.fx.GraphModule) -> Plan:
        step = step_of(graph_module, ranks=self.ranks, sizes=self.sizes)
        return self.of(step)

    def of(self, step: Step) -> Plan:
        made = steps.plan(
            step, self.costs, memory=self.memory, bucket=self.bucket, exchanges=self.exchanges
        )
        values = {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}
        return Plan(**values, options=self)


@dataclasses.dataclass(frozen=True)
class Plan(steps.Plan):
    """A plan of a graph; see treadle.steps.Plan for what it says."""

    options: Options = dataclasses.field(repr=False)

    def apply(self, graph_module: torch.fx.GraphModule, *, hold: bool = False) -> None:
        """Applies the plan to its graph: buckets, and the order of nodes.

        With `hold`, what keeps exchanges in their places is written down too, as `control_deps`:
        for passes that reorder nodes afterwards. A graph that runs as it is needs none.
        """
        from ._apply import apply

        apply(self, graph_module, hold=hold)

    def as_inductor_pass(self) -> Any:
        """Returns a pass for torch._inductor.config.post_grad_custom_post_pass.

        It writes this plan into the graph that it was created for, and creates a separate plan,
        with the same arguments, for each other graph that has exchanges.
        """
        from ._inductor import InductorPass

        return InductorPass(self.options, {self.digest: self})


def plan(
    graph_module: torch.fx.GraphModule,
    costs: Costs,
    *,
    ranks: Ranks = None,
    memory: int | None = None,
    bucket: int = 0,
    sizes: Sizes | None = None,
    exchanges: str = "free",
) -> Plan:
    """Finds an order in which a graph's computation hides its communication.

    >>> made = treadle.torch.plan(graph_module, costs, bucket=25_000_000)
    >>> print(made)
    >>> made.apply(graph_module)

    Args:
        graph_module: a graph of torch.ops with functional collectives.
        costs: what nodes and exchanges take. They have to be the same on all ranks, as
            Costs.merged makes them: then so is the plan.
        ranks, sizes: as of `step_of`.
        memory, bucket, exchanges: as of treadle.steps.plan.
    """
    return Options(costs, ranks, sizes, memory, bucket, exchanges).plan(graph_module)


def inductor_pass(costs: Costs, **options: Any) -> Any:
    """Returns a pass for torch._inductor.config.post_grad_custom_post_pass that plans each graph
    with exchanges, with the arguments of `plan`.

    >>> torch._inductor.config.post_grad_custom_post_pass = treadle.torch.inductor_pass(costs)
    """
    from ._inductor import InductorPass

    return InductorPass(Options(costs, **options), {})


def check(
    graph_module_by_rank: Mapping[int, Any],
    *,
    ranks: Ranks = None,
    sizes: Sizes | None = None,
    before: Mapping[int, Any] | None = None,
    memory: int | None = None,
    one_stream: bool = False,
) -> list[Fault]:
    """Checks the orders of all ranks' graphs; returns the faults, or an empty list.

    Args:
        graph_module_by_rank: a graph of each rank; or its step, or the path of a file that
            Step.to_file has written.
        ranks, sizes: as of `step_of`.
        before: the same before they were reordered, by anybody.
        memory, one_stream: as of treadle.steps.check.
    """

    def read(graphs: Mapping[int, Any]) -> dict[int, Step]:
        return {rank: _step(graph, ranks, sizes) for rank, graph in graphs.items()}

    was = None if before is None else read(before)
    return steps.check(read(graph_module_by_rank), before=was, memory=memory, one_stream=one_stream)


def simulate(
    graph_module: Any,
    costs: Costs,
    *,
    groups: Ranks = None,
    sizes: Sizes | None = None,
    **what: Any,
) -> steps.Simulation:
    """Simulates a step with other ranks, links or delays; see treadle.steps.simulate.

    Args:
        graph_module: a graph, a step, or the file of a step.
        groups, sizes: the `ranks` and `sizes` of `step_of`.
    """
    return steps.simulate(_step(graph_module, groups, sizes), costs, **what)


def _step(graph: Any, ranks: Ranks, sizes: Sizes | None) -> Step:
    if isinstance(graph, Step):
        return graph
    if isinstance(graph, torch.fx.GraphModule):
        return step_of(graph, ranks=ranks, sizes=sizes)
    return Step.from_file(graph)
