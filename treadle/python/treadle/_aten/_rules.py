"""The table of rules: how each op of PyTorch's is written as nodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: A rule gets the writer and the op's arguments as its schema orders and names them, with values of
#: the graph as Tensor, and numbers that depend on symbolic shapes as Output. It gives an Output or
#: a Tensor, a tuple or a list where the op has several results, with None for those that the op
#: was told to leave out.
Rule = Callable[..., Any]

# : By `aten.max.dim`, or by `aten.add` for all overloads without a separate rule.
RULES: dict[str, Rule] = {}


# : The rules of ops with random numbers.
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


_NAMESPACES = ("prims.", "_c10d_functional.", "torch.", "math.", "transformers.")


def find(target: str) -> Rule | None:
    """Returns the rule of an op with its overload: `aten.add.Tensor`."""
    return RULES.get(target) or RULES.get(target.rsplit(".", 1)[0])


def refusal(target: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Explains why an op can't be converted: it has no rule, or its rule doesn't support these
    arguments. Arguments that differ from their defaults are named."""
    found = find(target)
    if found is None:
        return "this op has no rule"
    _, *parameters = inspect.signature(found).parameters.values()
    given = {p.name: a for p, a in zip(parameters, args, strict=False)} | dict(kwargs)
    usual = {p.name: p.default for p in parameters}
    told = {n: v for n, v in given.items() if isinstance(v, bool | int | float | str)}
    other = {n: v for n, v in told.items() if usual.get(n) != v or isinstance(usual.get(n), type)}
    named = ", ".join(f"{name}={value!r}" for name, value in other.items())
    return f"the rule of this op doesn't take {named or 'these arguments'}"


def draws(target: str) -> bool:
    """Whether an op draws random numbers."""
    return find(target) in _DRAWING
