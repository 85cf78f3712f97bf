"""Plans inside of inductor: a pass on its graphs, and which nodes it had better not fuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass

from ._steps import step_of

if TYPE_CHECKING:
    from ._plans import Options, Plan


class InductorPass(CustomGraphPass):
    """Plans each graph with exchanges that inductor compiles, after inductor's own passes.

    Attributes:
        plans: those that were written into graphs, in the order of the graphs.
    """

    def __init__(self, options: Options, known: dict[str, Plan]):
        self.options, self.known = options, known
        self.plans: list[Plan] = []

    def __call__(self, graph: torch.fx.Graph) -> None:
        module = graph.owning_module
        step = step_of(module, ranks=self.options.ranks, sizes=self.options.sizes)
        if not step.exchanges():
            return
        plan = self.known.get(step.digest()) or self.options.of(step)
        plan.apply(module, hold=True)
        self.plans.append(plan)

    def uuid(self) -> Any:
        """What inductor's cache knows the pass by: everything that plans depend on."""
        o = self.options
        return f"treadle {o.costs.text()} {o.ranks} {o.sizes} {o.memory} {o.bucket} {o.exchanges}"
