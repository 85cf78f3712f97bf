"""Graphs of PyTorch: imported one by one, or as a backend of torch.compile.

>>> program = treadle.from_fx(torch.fx.symbolic_trace(model), [x])
>>> y = program(x)
>>> fast = torch.compile(model, backend="treadle")

PyTorch is imported with this module, and by nothing else of treadle. See docs/from-torch.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import fx

from .._native import Communicator
from ._importer import import_graph
from ._program import Program
from ._rules import RULES
from ._trace import functional

__all__ = ["Program", "backend", "from_fx", "supported_ops"]


def from_fx(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    dynamic: bool = False,
    freeze: bool = False,
    tier: str = "auto",
    threads: int | None = None,
    communicator: Communicator | None = None,
) -> Program:
    """Imports a graph module of PyTorch.

    Args:
        graph_module: from torch.fx.symbolic_trace, make_fx, torch.export (`.module()`), or a pass.
            Graphs of OpOverloads that change nothing are taken as they are, control_deps included;
            others are traced with the example inputs first.
        example_inputs: tensors of the dtypes and shapes that calls are going to have.
        dynamic: whether dimensions of the example inputs may change from call to call. Only where
            the module is traced; a graph that has symbolic shapes keeps them.
        freeze: whether the module's tensors become constants. They are copied then, and changes to
            them aren't seen; else they are used where they are.
        tier, threads, communicator: as of treadle.Session.

    UnimplementedError names the op and the node that can't be imported.
    """
    module, state = functional(graph_module, example_inputs, dynamic=dynamic)
    imported = import_graph(module, state=state, freeze=freeze)
    return Program(imported, tier=tier, threads=threads, communicator=communicator)


def supported_ops() -> list[str]:
    """The ops of PyTorch that have rules of their own; others are taken apart as PyTorch does."""
    return sorted(RULES)


def __getattr__(name: str) -> Any:
    # torch.compile's machinery takes a second to import.
    if name == "backend":
        from ._backend import backend

        return backend
    raise AttributeError(name)
