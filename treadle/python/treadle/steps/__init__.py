"""Steps of distributed training: planned, checked and simulated without PyTorch or a cluster.

>>> step = treadle.steps.Step.from_file("rank0.json")
>>> plan = treadle.steps.plan(step, treadle.steps.Costs(), bucket=25_000_000)
>>> treadle.steps.check({0: plan.step(step)})

treadle.torch makes such steps of PyTorch's graphs, and writes plans into them. See docs/overlap.md.
"""

from ._check import check
from ._costs import Costs, Link
from ._exchanges import Fault
from ._fusion import Fusion
from ._plan import Decision, Plan, plan
from ._simulate import Bar, Case, Simulation, Topology, simulate
from ._step import Exchange, Node, Step
from ._traces import costs_of_traces

__all__ = [
    "Bar",
    "Case",
    "Costs",
    "Decision",
    "Exchange",
    "Fault",
    "Fusion",
    "Link",
    "Node",
    "Plan",
    "Simulation",
    "Step",
    "Topology",
    "check",
    "costs_of_traces",
    "plan",
    "simulate",
]
