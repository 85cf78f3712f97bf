"""Writes exported programs as model files."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from .._aten._graph import Graph
from .._aten._model import model_of
from .._aten._schema import output_names
from ._exported import Shared, conditions
from ._importer import PyTorch, dtype_of
from ._inputs import traced


def model_of_program(exported: torch.export.ExportedProgram) -> bytes:
    """Returns the contents of a model file."""
    if not isinstance(exported, torch.export.ExportedProgram):
        raise TypeError(
            f"exported is a {type(exported).__name__}, expected an ExportedProgram:"
            " torch.export.export(module, args)"
        )
    made = traced(exported, None, dynamic=False)
    if isinstance(made.module, Graph):
        return model_of(made.module, Shared(), _names(exported), conditions=conditions(exported))
    with _disable_current_modes():
        home = PyTorch()
        graph = home.graph(made.module)
        _keep(graph, made.state)
        names = exported.graph_signature.user_inputs
        for node, name in zip(graph.placeholders, names, strict=True):
            if isinstance(name, str):  # otherwise a number, which is not an input
                node.name = name
        default = dtype_of(torch.get_default_dtype())
        return model_of(graph, home, _names(exported), default, conditions(exported))


def _keep(graph: Graph, state: list[torch.Tensor]) -> None:
    """Converts the first arguments of a graph to attributes that hold the given tensors."""
    for node, tensor in zip(graph.placeholders, state, strict=False):
        node.op, node.target, node.meta, node.value = "attribute", node.name, node.value, tensor


def _names(exported: torch.export.ExportedProgram) -> list[str]:
    own: list[Any] = [
        spec.arg.name if spec.kind == torch.export.graph_signature.OutputKind.USER_OUTPUT else None
        for spec in exported.graph_signature.output_specs
    ]
    layout = exported.call_spec.out_spec
    text = pytree.treespec_dumps(layout) if layout is not None else None
    return output_names(text, [name for name in own if name is not None])
