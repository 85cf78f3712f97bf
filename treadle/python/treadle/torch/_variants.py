"""Programs whose graph depends on the sizes of their arguments, with one graph for each case."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from .._errors import InvalidArgumentError
from ._trace import Traced

if TYPE_CHECKING:
    from ._program import Program

# The limit that torch.compile has for variants of a function.
_MOST = 8


class Variants:
    """A program, and programs of the same function for other sizes. Thread-safe."""

    def __init__(
        self, program: Program, traced: Traced, another: Callable[[Traced], Program] | None
    ) -> None:
        self._traced, self._another = traced, another
        self._programs = [(traced.sizes.condition(), program)]
        self._lock = threading.Lock()

    def fitting(self, args: Sequence[Any]) -> Program:
        """Returns the program for arguments with these sizes; InvalidArgumentError if there is
        none."""
        return self._known(args) or self._made(args)

    def _known(self, args: Sequence[Any]) -> Program | None:
        return next((p for holds, p in self._programs if holds(args)), None)

    def _made(self, args: Sequence[Any]) -> Program:
        with self._lock:
            found = self._known(args)
            if found is not None:
                return found
            self._require_another()
            given = [torch.as_tensor(a) if hasattr(a, "shape") else a for a in args]
            traced = self._traced.again(given)
            program = self._another(traced)
            self._programs.append((traced.sizes.condition(), program))
            return program

    def _require_another(self) -> None:
        if self._another is None:
            raise InvalidArgumentError(
                "the program is valid for some sizes only, and it is frozen; expected sizes that "
                f"it was traced for: {self._traced.sizes}"
            )
        if len(self._programs) == _MOST:
            raise InvalidArgumentError(
                f"the program is valid for some sizes only, and already has {_MOST} graphs; "
                f"expected a program that doesn't depend on these sizes: {self._traced.sizes}"
            )
