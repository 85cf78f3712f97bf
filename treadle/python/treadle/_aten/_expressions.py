"""Parses dimensions in files: expressions of sympy, in the form of its srepr."""

from __future__ import annotations

import ast

from ._values import Expr


def expression_of(text: str) -> int | Expr:
    """Parses `Mul(Integer(2), Symbol('s0', integer=True))`; ValueError for other syntax."""
    if len(text) > _LONGEST:
        raise ValueError("the expression of a dimension is too long")
    try:
        return _converted(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"'{text[:40]}' is not an expression of a dimension") from error


_LONGEST = 10_000


def _converted(tree: ast.expr) -> int | Expr:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        value = _converted(tree.operand)
        if isinstance(value, int):
            return -value
    if isinstance(tree, ast.Name) and tree.id in _TRUTHS:
        return _TRUTHS[tree.id]
    if isinstance(tree, ast.Call):
        return _called(tree)
    raise ValueError(f"'{ast.unparse(tree)[:40]}' is not an expression of a dimension")


_TRUTHS = {"true": 1, "false": 0}


def _called(tree: ast.Call) -> int | Expr:
    """Parses a call; keywords, which are assumptions about a symbol, are ignored."""
    kind = ast.unparse(tree.func).rsplit(".", 1)[-1]
    first = tree.args[0] if tree.args else None
    if kind == "Symbol" and isinstance(first, ast.Constant) and isinstance(first.value, str):
        return Expr("Symbol", (first.value,))
    if kind == "Float" and isinstance(first, ast.Constant):
        return Expr("Float", (str(first.value),))
    if kind == "Symbol" or not tree.args:
        raise ValueError(f"'{ast.unparse(tree)[:40]}' is not an expression of a dimension")
    args = tuple(_converted(arg) for arg in tree.args)
    if kind == "Integer" and isinstance(args[0], int):
        return args[0]
    return Expr(kind, args)
