"""Arguments as they are given: what is meant by them, or a TypeError that names the argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def name(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is {_kind(value)}, expected a str")
    return value


def several(values: Any, what: str, one: type | tuple[type, ...] = str) -> list[Any]:
    """What a list holds, or anything else that can be iterated; `one` stands for itself.

    A str or bytes isn't taken for its characters: the list around it was forgotten.
    """
    if isinstance(values, one):
        return [values]
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{what} is {_kind(values)}, expected a list")
    return list(values)


def names(values: Any, what: str) -> list[str]:
    """A name, or several."""
    return [name(value, f"an element of {what}") for value in several(values, what)]


def mapping(values: Any, what: str, keys: type | tuple[type, ...] = str) -> dict[Any, Any]:
    """A dict whose keys are names; None is an empty one."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise TypeError(f"{what} is {_kind(values)}, expected a dict")
    for key in values:
        if not isinstance(key, keys):
            raise TypeError(f"a key of {what} is {_kind(key)}, expected a str")
    return dict(values)


def shape(value: Any, what: str) -> tuple[Any, ...] | None:
    """Dimensions, each an int or None, or None where nothing is known."""
    return None if value is None else tuple(several(value, what, ()))


def _kind(value: Any) -> str:
    """`'x', a str`."""
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'}, of type {type(value).__name__}"
