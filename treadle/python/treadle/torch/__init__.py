"""Imports graphs of PyTorch one by one, or as a backend of torch.compile.

>>> program = treadle.from_fx(model, [x])
>>> y = program(x)
>>> fast = torch.compile(model, backend="treadle")
>>> treadle.torch.save(torch.export.export(model, (x,)), "net.tfg")

PyTorch is imported with this module, and by nothing else of treadle. See docs/from-torch.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .._aten._files import require_name, write
from .._aten._rules import RULES
from .._native import Communicator
from ._importer import import_graph
from ._inputs import traced
from ._measure import agreed, measure, measure_link
from ._plans import Plan, check, inductor_pass, plan, simulate
from ._program import Program
from ._steps import step_of
from ._trace import Traced

__all__ = [
    "Plan",
    "Program",
    "agreed",
    "backend",
    "check",
    "from_fx",
    "inductor_pass",
    "measure",
    "measure_link",
    "plan",
    "save",
    "simulate",
    "step_of",
    "supported_ops",
]


def from_fx(
    graph_module: torch.nn.Module | torch.export.ExportedProgram | Callable[..., Any],
    example_inputs: Sequence[Any] | Mapping[str, Any] | torch.Tensor | None = None,
    *,
    dynamic: bool = False,
    freeze: bool = False,
    tier: str = "auto",
    threads: int | None = None,
    communicator: Communicator | None = None,
) -> Program:
    """Imports a module, an exported program or a function of PyTorch.

    Args:
        graph_module: a module, including modules of torch.fx (from symbolic_trace, make_fx, a
            pass), a program of torch.export, or a function of tensors. Graphs of OpOverloads
            without mutation are imported directly, including control_deps; others are traced with
            the example inputs first.
        example_inputs: tensors with the dtypes and shapes of calls, also in lists, tuples and
            dicts; a dict has them by the names of the arguments, a tensor means one argument. A
            number becomes a constant of the graph. Not needed for a program of torch.export.
        dynamic: whether dimensions of the example inputs may change from call to call, for modules
            that are traced; a graph with symbolic shapes, as made by torch.export with
            dynamic_shapes, keeps them.
        freeze: whether the module's tensors become constants. They are then copied, and later
            changes have no effect; otherwise they are used in place.
        tier, threads, communicator: as in treadle.Session.

    UnimplementedError names the op and the node that can't be imported, InvalidArgumentError
    explains why a module can't be traced.
    """

    def program_of(made: Traced) -> Program:
        imported = import_graph(made.module, state=made.state, freeze=freeze)
        another = None if freeze else program_of
        how = {"tier": tier, "threads": threads, "communicator": communicator}
        return Program(imported, made, another=another, **how)

    return program_of(traced(graph_module, example_inputs, dynamic=dynamic))


def save(exported: torch.export.ExportedProgram, path: str | os.PathLike[str]) -> None:
    """Writes an exported program as a model in one file, which runs without PyTorch.

    The file has the weights, and the signature "serving_default", whose inputs have the names of
    the program's inputs; its outputs have the names of the program's outputs, or the keys if the
    program returns a dict. State that the program changes, such as a cache in a buffer, becomes
    variables of the model.

    Args:
        path: a name that ends in .tfg, for `treadle run`, treadle.load and Model::load in C++.

    UnimplementedError names the op and the node that can't be imported, or the argument that the
    program changes; ResourceExhaustedError for weights of 2 GiB or more.

    >>> treadle.torch.save(torch.export.export(model, (x,)), "net.tfg")
    >>> treadle.load("net.tfg").signatures["serving_default"](x)
    """
    from ._save import model_of_program

    require_name(path)
    write(path, model_of_program(exported))


def supported_ops() -> list[str]:
    """Returns the ops of PyTorch with rules in Treadle; others are decomposed as PyTorch does."""
    return sorted(RULES)


def __getattr__(name: str) -> Any:
    # torch.compile's machinery takes a second to import.
    if name == "backend":
        from ._backend import backend

        return backend
    raise AttributeError(name)
