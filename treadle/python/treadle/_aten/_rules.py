"""The table of rules: how each op of PyTorch's is written as nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: A rule gets the writer and the op's arguments as its schema orders and names them, with values of
#: the graph as Tensor, and numbers that depend on symbolic shapes as Output. It gives an Output or
#: a Tensor, a tuple or a list where the op has several results, with None for those that the op
#: was told to leave out.
Rule = Callable[..., Any]

#: By `aten.max.dim`, or by `aten.add` for all overloads that have no rule of their own.
RULES: dict[str, Rule] = {}


#: The rules that draw random numbers.
_DRAWING: set[Rule] = set()


def rule(*names: str, draws: bool = False) -> Callable[[Rule], Rule]:
    """Makes a function the rule of ops of `aten`; names with a namespace are taken as they are."""

    def register(function: Rule) -> Rule:
        for name in names:
            key = name if name.startswith(_NAMESPACES) else f"aten.{name}"
            assert key not in RULES, key
            RULES[key] = function
        if draws:
            _DRAWING.add(function)
        return function

    return register


_NAMESPACES = ("prims.", "_c10d_functional.", "torch.", "math.")


def find(target: str) -> Rule | None:
    """The rule of an op with its overload: `aten.add.Tensor`."""
    return RULES.get(target) or RULES.get(target.rsplit(".", 1)[0])


def draws(target: str) -> bool:
    """Whether an op draws random numbers."""
    return find(target) in _DRAWING
