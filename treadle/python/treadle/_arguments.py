"""Conversion of arguments, and TypeErrors that name a wrong argument."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ._native import _did_you_mean


def name(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is {_kind(value)}, expected a str")
    return value


def several(values: Any, what: str, one: type | tuple[type, ...] = str) -> list[Any]:
    """Returns the elements of an iterable as a list; a single value of type `one` becomes a list.

    A str or bytes is not split into characters, which would mean that a list around it was
    forgotten.
    """
    if isinstance(values, one):
        return [values]
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{what} is {_kind(values)}, expected a list")
    return list(values)


def names(values: Any, what: str) -> list[str]:
    """Returns one name, or several, as a list."""
    return [name(value, f"an element of {what}") for value in several(values, what)]


def mapping(values: Any, what: str, keys: type | tuple[type, ...] = str) -> dict[Any, Any]:
    """Returns a dict whose keys are names; {} for None."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise TypeError(f"{what} is {_kind(values)}, expected a dict")
    for key in values:
        if not isinstance(key, keys):
            raise TypeError(f"a key of {what} is {_kind(key)}, expected a str")
    return dict(values)


def shape(value: Any, what: str) -> tuple[Any, ...] | None:
    """Returns dimensions, each an int or None, or None for an unknown rank."""
    return None if value is None else tuple(several(value, what, ()))


def _kind(value: Any) -> str:
    """Describes a value: `'x', of type str`."""
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'}, of type {type(value).__name__}"


def mismatch(function: Any, values: list[Any], named: dict[str, Any]) -> str:
    """Explains why a native function can't be called with these arguments; `values` begin with
    self."""
    title = function.__qualname__.removesuffix(".__init__") + "()"
    signatures = [re.sub(r"\\\d+", "...", signature) for signature, *_ in function.__nb_signature__]
    # If there are several signatures, report the error of the one that fits best.
    rank, line = max((_fault(title, text, values, named) for text in signatures), key=_first)
    return line if rank < _FITS else f"{title}: an argument can't be used; expected {signatures[0]}"


_UNKNOWN, _COUNT, _TYPE, _FITS = range(4)


def _first(pair: tuple[int, str]) -> int:
    return pair[0]


def _fault(title: str, signature: str, values: list[Any], named: dict[str, Any]) -> tuple[int, str]:
    """Returns the first wrong argument's message, with a rank of how well the signature fits."""
    function: Any = ast.parse(f"{signature}: ...").body[0]
    params = function.args
    placed = params.posonlyargs + params.args
    known = {param.arg: param for param in params.args + params.kwonlyargs}
    for name in named:
        if name not in known:
            return _UNKNOWN, f"{title} has no argument '{name}'{_did_you_mean(name, list(known))}"
    own = len(placed) and placed[0].arg == "self"
    if len(values) > len(placed):
        return _COUNT, (
            f"{title} got {len(values) - own} positional arguments, expected at most "
            f"{len(placed) - own}"
        )
    given = dict(zip((param.arg for param in placed), values, strict=False)) | named
    needed = placed[: len(placed) - len(params.defaults)] + [
        param
        for param, default in zip(params.kwonlyargs, params.kw_defaults, strict=True)
        if default is None
    ]
    for param in needed:
        if param.arg not in given:
            return _COUNT, f"{title} lacks its argument '{param.arg}'"
    for param in placed + params.kwonlyargs:
        if param.arg in given and not _fits(given[param.arg], param.annotation):
            kind, expected = _kind(given[param.arg]), _expected(param.annotation)
            return _TYPE, f"{param.arg} is {kind}, expected {expected}"
    return _FITS, ""


_TYPES = {"int": "an int", "float": "a number", "bool": "a bool", "str": "a str", "bytes": "bytes"}


def _fits(value: Any, annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.BinOp):
        return _fits(value, annotation.left) or _fits(value, annotation.right)
    if isinstance(annotation, ast.Constant):
        return value is annotation.value
    if isinstance(annotation, ast.Subscript):
        if not _fits(value, annotation.value):
            return False
        is_list = ast.unparse(annotation.value).endswith(("Sequence", "list"))
        return not is_list or all(_fits(item, annotation.slice) for item in value)
    text = ast.unparse(annotation) if annotation else "object"
    if text == "float":
        return hasattr(value, "__float__") or hasattr(value, "__index__")
    module, _, name = text.rpartition(".")
    kind = getattr(sys.modules.get(module or "builtins"), name, object)
    return isinstance(value, kind) or (kind is int and hasattr(value, "__index__"))


def _expected(annotation: ast.expr) -> str:
    """Describes the type of an annotation: `an int or None`."""
    if isinstance(annotation, ast.BinOp):
        return f"{_expected(annotation.left)} or {_expected(annotation.right)}"
    if isinstance(annotation, ast.Subscript):
        of = ast.unparse(annotation.slice).rpartition(".")[2]
        base = ast.unparse(annotation.value).rpartition(".")[2]
        return f"a list of {of}" if base in ("Sequence", "list") else f"a {base} of {of}"
    text = ast.unparse(annotation)
    name = text.rpartition(".")[2]
    return (
        text
        if text == "None"
        else _TYPES.get(text) or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
    )
