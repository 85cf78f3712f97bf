"""Conditions on the sizes of arguments, in the syntax of exported programs:
`L['x'].size()[0] > 4`."""

from __future__ import annotations

import ast
import dataclasses
import operator
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from ._values import Expr

# : Returns the size of an argument, from its name and the dimension: a number, or a value of a
# graph.
Size = Callable[[str, int], Any]

# PyTorch uses a size of two for "more than one".
_ORDINARY = 2


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition that is true or false for given sizes."""

    tree: ast.expr

    def holds(self, size: Size) -> Any:
        return _value(self.tree, size)

    def __str__(self) -> str:
        """Returns a text such as `x.shape[0] > 4`."""
        text = re.sub(r"L\['(\w+)'\]", r"\1", ast.unparse(self.tree))
        return text.replace(".size()", ".shape")


def conditions_of(
    texts: Sequence[str], ranges: Sequence[tuple[str, int, Any, Any]], names: Collection[str]
) -> list[Condition]:
    """Returns the conditions in texts, and those that ranges imply (an argument, a dimension, and
    its smallest and largest size; None: any). Conditions on other arguments are omitted, and so are
    conditions that only affect strides."""
    whole = dict.fromkeys([*texts, *(text for r in ranges for text in _bounds(*r))])
    found = [_parsed(text, names) for text in whole]
    return [Condition(tree) for tree in found if tree is not None]


def _bounds(name: str, axis: int, low: Any, high: Any) -> Iterator[str]:
    if isinstance(low, int) and low > _ORDINARY:
        yield f"{name}.size()[{axis}] >= {low}"
    if isinstance(high, int):
        yield f"{name}.size()[{axis}] <= {high}"


def ranges_of(name: str, shape: Sequence[Any], limits: Any) -> list[tuple[str, int, Any, Any]]:
    """Returns the ranges of an argument's symbolic sizes; `limits` has the range of each symbol by
    name."""
    symbols = [(axis, d.args[0]) for axis, d in enumerate(shape) if _is_symbol(d)]
    return [(name, axis, *limits[s]) for axis, s in symbols if s in limits]


def _is_symbol(dim: Any) -> bool:
    return isinstance(dim, Expr) and dim.kind == "Symbol"


def _parsed(text: str, names: Collection[str]) -> ast.expr | None:
    used: list[str] = []
    try:
        tree = ast.parse(text, mode="eval").body
        _value(tree, lambda name, axis: used.append(name) or 7)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None
    is_strict = isinstance(tree, ast.Compare) and not isinstance(tree.ops[0], ast.NotEq)
    return tree if is_strict and all(name in names for name in used) else None


_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.NotEq: operator.ne,
}


def _value(tree: ast.expr, size: Size) -> Any:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_value(tree.operand, size)
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        return _OPERATORS[type(tree.op)](_value(tree.left, size), _value(tree.right, size))
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _OPERATORS:
        left, right = _value(tree.left, size), _value(tree.comparators[0], size)
        return _OPERATORS[type(tree.ops[0])](left, right)
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant):
        call = tree.value
        is_size = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if is_size and call.func.attr == "size" and not call.args:
            return size("_".join(_path(call.func.value)), int(tree.slice.value))
    raise ValueError(f"'{ast.unparse(tree)[:40]}' is not a size")


def _path(tree: ast.expr) -> list[str]:
    """Returns the path to an argument, which is its name in a graph: `d_a_0` for
    `L['d']['a'][0]`."""
    if isinstance(tree, ast.Name):
        return [] if tree.id == "L" else [tree.id]
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant):
        return [*_path(tree.value), str(tree.slice.value)]
    raise ValueError(f"'{ast.unparse(tree)[:40]}' is not an argument")
