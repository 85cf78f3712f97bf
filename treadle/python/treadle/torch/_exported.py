"""Reads exported programs from their files, for programs that PyTorch can't decompose: loops that
begin with a constant, and bodies of conditionals and loops that change tensors."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._aten._archive import program_in
from .._aten._conditions import Condition, conditions_of
from .._aten._importer import FileOrigin
from .._errors import InvalidArgumentError
from ._arrays import as_array
from ._trace import Traced, signature_of


class Shared(FileOrigin):
    """A graph of a file that uses the program's own tensors."""

    is_file = False

    def array(self, tensor: torch.Tensor) -> Any:
        return as_array(tensor)


def traced_as_file(exported: torch.export.ExportedProgram) -> Traced:
    """Returns the graph of the program's file, with the program's own parameters and buffers."""
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


def conditions(exported: torch.export.ExportedProgram) -> list[Condition]:
    """Returns the conditions on the sizes of its arguments."""
    limits = {
        str(symbol): tuple(int(b) if b.is_Integer else None for b in (r.lower, r.upper))
        for symbol, r in exported.range_constraints.items()
    }
    names = set(exported.graph_signature.user_inputs)
    tensors = [n for n in exported.graph.nodes if n.op == "placeholder" and n.name in names]
    tensors = [n for n in tensors if isinstance(n.meta.get("val"), torch.Tensor)]
    ranges = [
        (node.name, axis, *limits[str(dim)])
        for node in tensors
        for axis, dim in enumerate(node.meta["val"].shape)
        if str(dim) in limits
    ]
    texts = getattr(exported, "_guards_code", None) or ()
    return conditions_of(texts, ranges, {node.name for node in tensors})


def sizes_checker(exported: torch.export.ExportedProgram) -> Callable[[Sequence[Any]], None]:
    """Returns a function that raises InvalidArgumentError if the program doesn't support the sizes
    of a call's arguments."""
    stated, names = conditions(exported), exported.graph_signature.user_inputs
    places = {name: place for place, name in enumerate(names) if isinstance(name, str)}

    def check(args: Sequence[Any]) -> None:
        try:
            sizes = [(c, c.holds(lambda n, axis: args[places[n]].shape[axis])) for c in stated]
        except (AttributeError, IndexError):
            return  # the call is rejected for other reasons
        for condition, holds in sizes:
            if not holds:
                raise InvalidArgumentError(f"the program is valid only for {condition}")

    return check
