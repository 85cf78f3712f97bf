"""Integrates plans with inductor: a pass on its graphs, and a limit on fusions that would delay
exchanges."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch._inductor.choices import InductorChoices
from torch._inductor.custom_graph_pass import CustomGraphPass

from ..steps import Fusion
from ._steps import step_of

if TYPE_CHECKING:
    from ._plans import Options, Plan


class InductorPass(CustomGraphPass):
    """Plans each graph with exchanges that inductor compiles, after inductor's own passes.

    Attributes:
        plans: those that were written into graphs, in the order of the graphs.
        graphs: how many graphs the pass has seen.
    """

    def __init__(self, options: Options, known: dict[str, Plan]):
        self.options, self.known = options, known
        self.plans: list[Plan] = []
        self.graphs = 0
        self.warned = False
        self.fusion: Fusion | None = None  # of the graph that is being compiled

    def __call__(self, graph: torch.fx.Graph) -> None:
        module = graph.owning_module
        step = step_of(module, ranks=self.options.ranks, sizes=self.options.sizes)
        self.fusion = None
        self.graphs += 1
        if not step.exchanges():
            self.warn_once(graph)
            return
        plan = self.known.get(step.digest()) or self.options.of(step)
        plan.apply(module, hold=True)
        self.plans.append(plan)
        self.fusion = Fusion(plan.step(step), self.options.costs)

    def warn_once(self, graph: torch.fx.Graph) -> None:
        """Warns once if the forward and backward graphs of a model have no exchanges although there
        are several ranks."""
        several = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        if self.warned or self.plans or not several or not _is_backward(graph):
            return
        self.warned = True
        warnings.warn(f"nothing to plan: {self.summary()}", stacklevel=2)

    def summary(self) -> str:
        """Summarizes the plans of the graphs so far, one line each; and explains where exchanges
        are if none was found.

        >>> print(made.summary())
        """
        lines = [str(plan).splitlines()[0] for plan in self.plans]
        return "\n".join([_found(len(lines), self.graphs), *lines])

    def uuid(self) -> Any:
        """Returns the key of the pass in inductor's cache: everything that plans depend on."""
        o = self.options
        return f"treadle {o.costs.text()} {o.ranks} {o.sizes} {o.memory} {o.bucket} {o.exchanges}"

    def choices(self) -> InductorChoices:
        """Returns inductor's choices without fusions that delay an exchange of the plan:

        >>> torch._inductor.virtualized.V.set_choices_handler(made.choices())
        """
        return _Choices(self)


def _found(planned: int, graphs: int) -> str:
    if planned:
        return f"{planned} of {graphs} graphs have exchanges"
    if not graphs:
        return (
            "0 of 0 graphs have exchanges: inductor compiled none, because nothing was called yet,"
            " its cache had them (torch._inductor.config.fx_graph_cache), or Dynamo skipped the"
            " functions (TORCH_LOGS=graph_breaks shows why)"
        )
    return f"0 exchanges in {graphs} graphs: {_positions()}; see docs/overlap.md"


def _positions() -> str:
    if torch._dynamo.utils.get_optimize_ddp_mode() == "python_reducer":
        return (
            "DDP's python_reducer runs them in hooks of the backward pass, which only compiled"
            " autograd traces; set torch._dynamo.config.compiled_autograd = True and compile the"
            " function that calls backward()"
        )
    return (
        "the reducer of DDP and the hooks of FSDP2 run theirs outside of graphs; compile DDP with"
        ' torch._dynamo.config.optimize_ddp = "python_reducer" and compiled autograd, and gather'
        " parameters by DTensor instead of fully_shard"
    )


def _is_backward(graph: torch.fx.Graph) -> bool:
    """Whether the graph is a backward graph, judged by the names that AOTAutograd gives to its
    arguments."""
    return any(n.name.startswith("tangents_") for n in graph.find_nodes(op="placeholder"))


class _Choices(InductorChoices):
    def __init__(self, planned: InductorPass):
        self.planned = planned
        self.refused: list[tuple[str, tuple[str, ...]]] = []  # exchanges, with the nodes

    def can_fuse(self, scheduler: Any, node1: Any, node2: Any, shared_data_score: int) -> bool:
        if not InductorChoices.can_fuse(scheduler, node1, node2, shared_data_score):
            return False
        if self.planned.fusion is None:
            return True
        names = sorted({*_origins(node1), *_origins(node2)})
        delayed = self.planned.fusion.delayed(names)
        if delayed is not None:
            self.refused.append((delayed, tuple(names)))
        return delayed is None

    def uuid(self) -> Any:
        return f"choices of {self.planned.uuid()}"


def _origins(node: Any) -> set[str]:
    """Returns the graph nodes that a node of the scheduler computes."""
    found: set[str] = set()
    for part in node.get_nodes():
        origin = getattr(part.node, "origin_node", None)
        if origin is not None:
            found.add(origin.name)
        else:
            found.update(n.name for n in getattr(part.node, "origins", ()))
    return found
