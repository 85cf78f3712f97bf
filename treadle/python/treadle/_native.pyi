"""Types of the native half; what it does is said in the docstrings."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import Value

__version__: str

class Graph:
    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Graph: ...
    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> Graph: ...
    def to_file(self, path: str | os.PathLike[str]) -> None: ...
    def to_bytes(self) -> bytes: ...
    def text(self) -> str: ...
    def inputs(self) -> list[Value]: ...
    def outputs(self) -> list[Value]: ...
    def run_passes(self, pipeline: str) -> Graph: ...

class Session:
    def __init__(
        self,
        graph: bytes | bytearray | memoryview | str | os.PathLike[str] | Graph,
        *,
        threads: int | None = None,
        tier: str = "auto",
        timeout: float | None = None,
    ) -> None: ...
    @overload
    def run(
        self,
        fetches: str,
        feeds: Mapping[str, ArrayLike] | None = {},
        targets: str | Iterable[str] | None = (),
    ) -> NDArray[Any]: ...
    @overload
    def run(
        self,
        fetches: Iterable[str] | None,
        feeds: Mapping[str, ArrayLike] | None = {},
        targets: str | Iterable[str] | None = (),
    ) -> list[np.ndarray]: ...
    def cancel(self) -> None: ...
    @property
    def graph(self) -> Graph: ...

def _register_function(name: str, fn: Callable[..., Any]) -> None: ...
