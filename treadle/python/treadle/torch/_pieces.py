"""Splits graphs: PyTorch runs the nodes that Treadle doesn't support, Treadle runs the rest."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx
from torch.fx.passes.split_module import split_module

from .._errors import Error, UnimplementedError

# A graph with more nodes that can't be imported is run by PyTorch as a whole.
_MOST_LEFT = 8

Run = Callable[..., Any]


class _Piece(torch.nn.Module):
    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def forward(self, *args: Any) -> Any:
        return self.run(*args)


def in_pieces(
    module: fx.GraphModule, error: UnimplementedError, imported: Callable[[fx.GraphModule], Run]
) -> tuple[fx.GraphModule, list[UnimplementedError]] | None:
    """Splits a graph at nodes without a rule, and converts the pieces with `imported`; `error`
    names the first such node. Returns the errors; None if an error names no node, or if there are
    too many."""
    left: dict[str, UnimplementedError] = {}
    names = {n.name for n in module.graph.nodes if n.op == "call_function"}
    while error.node in names - left.keys() and len(left) < _MOST_LEFT:
        left[error.node] = error
        split = _split(module, left)
        try:
            for name, piece in list(split.named_children()):
                if name.startswith("submod_") and _number(name) % 2 == 0:
                    setattr(split, name, _Piece(imported(piece)))
        except UnimplementedError as another:
            error = another
            continue
        except Error:
            return None
        return split, list(left.values())
    return None


def _split(module: fx.GraphModule, left: Mapping[str, Any]) -> fx.GraphModule:
    """Splits nodes, in order, into pieces for PyTorch (odd numbers) and for Treadle. Nodes keep
    their names."""
    number, names = 0, defaultdict[int, list[str]](list)

    def piece_of(node: fx.Node) -> int:
        nonlocal number
        is_part = node.target is operator.getitem and node.args[0].name in left
        number += (node.name in left or is_part) != (number % 2 == 1)
        names[number].append(node.name)
        return number

    split = split_module(module, None, piece_of, keep_original_order=True)
    for piece, own in names.items():
        calls = getattr(split, f"submod_{piece}").graph.nodes
        for node, name in zip([n for n in calls if n.op == "call_function"], own, strict=True):
            node._rename(name)
    return split


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])
