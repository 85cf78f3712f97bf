"""Exported programs as their files say them, for what PyTorch can't take apart: loops that begin
with a constant, and bodies of conditionals and loops that change tensors."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._aten._archive import program_in
from .._aten._importer import Alone
from ._arrays import as_array
from ._trace import Traced, signature_of


class Shared(Alone):
    """A graph of a file whose tensors are those of the program itself."""

    is_file = False

    def array(self, tensor: torch.Tensor) -> Any:
        return as_array(tensor)


def traced_as_file(exported: torch.export.ExportedProgram) -> Traced:
    """The graph of the program's file, with the program's own parameters and buffers."""
    file = io.BytesIO()
    torch.export.save(exported, file)
    graph = program_in(file).graph
    own = {**exported.constants, **exported.state_dict}
    for node in graph.nodes:
        if node.op == "attribute" and node.target in own:
            node.value = own[node.target]
    layout = exported.call_spec
    given = pytree.tree_leaves(exported.example_inputs)
    constants = {i: v for i, v in enumerate(given) if not isinstance(v, torch.Tensor)}
    signature = signature_of(exported.module(check_guards=False))
    return Traced(graph, [], layout.in_spec, layout.out_spec, constants, signature)
