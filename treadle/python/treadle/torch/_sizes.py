"""Symbolic sizes, and the conditions on sizes under which a traced graph is valid."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy
import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import (
    SYMPY_INTERP,
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)
from torch.utils._sympy.printers import PythonPrinter

# : Whether a graph is valid for the arguments of a call.
Condition = Callable[[Sequence[Any]], bool]


def is_open(dim: Any) -> bool:
    """Whether a dimension may change."""
    return isinstance(dim, torch.SymInt) and dim.node.maybe_as_int() is None


@contextlib.contextmanager
def open_sizes(values: Sequence[Any]) -> Iterator[None]:
    """In this context, ops keep dynamic sizes of these values symbolic, and no size is assumed to
    be one."""
    fakes = [v for v in values if isinstance(v, FakeTensor)]
    mode = next((f.fake_mode for f in fakes if any(map(is_open, f.shape))), None)
    if mode is None:
        yield
        return
    with _config.patch(backed_size_oblivious=True), enable_python_dispatcher(), mode:
        yield


class Sizes:
    """Fake arguments whose sizes may change. A size of 1 is kept, since a broadcast dimension can't
    have another size.

    Attributes:
        names: those of the arguments, for messages.
    """

    def __init__(self) -> None:
        self.shapes = ShapeEnv(duck_shape=False, specialize_zero_one=False)
        self.mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=self.shapes)
        self.names: list[str] = []
        self._fakes: dict[int, torch.Tensor] = {}
        self._shapes: dict[int, tuple[Any, ...]] = {}

    def fixed(self, tensor: torch.Tensor) -> torch.Tensor:
        return self.mode.from_tensor(tensor, static_shapes=True)

    def argument(self, number: int, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if number not in self._fakes:
            self._fakes[number] = self._fake(f"argument_{number}", value)
            self._shapes[number] = tuple(map(_expression, self._fakes[number].shape))
        return self._fakes[number]

    def _fake(self, name: str, value: torch.Tensor) -> torch.Tensor:
        dense = value.detach().clone()  # its strides and its offset follow from its sizes
        kinds = [DimDynamic.STATIC if d == 1 else DimDynamic.DYNAMIC for d in dense.shape]
        context = StatelessSymbolicContext(kinds, constraint_sizes=[None] * len(kinds))
        return self.mode.from_tensor(dense, source=ConstantSource(name), symbolic_context=context)

    def require(self, module: fx.GraphModule) -> None:
        """Adds conditions on sizes for ops that treat a size of 1 differently."""
        for node in module.graph.nodes:
            if getattr(node.target, "_opname", "").startswith("squeeze"):
                for dim in node.args[0].meta["val"].shape:
                    bool(dim == 1)

    def __repr__(self) -> str:
        """Returns the conditions on sizes, such as `Eq(x.shape[0]//2, 2)`."""
        texts = {
            symbol: sympy.Symbol(f"{self.names[number]}.shape[{axis}]")
            for symbol, (number, axis) in self._places()
        }
        return " and ".join(str(guard.expr.xreplace(texts)) for guard in self.shapes.guards)

    def _places(self) -> list[tuple[sympy.Symbol, tuple[int, int]]]:
        """Returns the symbols, each with its argument and dimension."""
        return [
            (dim, (number, axis))
            for number, shape in self._shapes.items()
            for axis, dim in enumerate(shape)
            if not isinstance(dim, int)
        ]

    def condition(self) -> Condition:
        """Returns a condition that is true if the sizes of a call fulfill the assumptions of
        tracing."""
        traced, places = dict(self._shapes), self._places()
        symbols = {symbol for symbol, _ in places}
        guards = [g.expr for g in self.shapes.guards if g.expr.free_symbols <= symbols]
        text = " and ".join(f"({PythonPrinter().doprint(g)})" for g in guards) or "True"
        sizes = ", ".join(str(symbol) for symbol, _ in places)
        holds = eval(f"lambda {sizes}: {text}", dict(SYMPY_INTERP))

        def condition(args: Sequence[Any]) -> bool:
            given = {n: getattr(args[n], "shape", ()) for n in traced if n < len(args)}
            if {n: len(s) for n, s in given.items()} != {n: len(s) for n, s in traced.items()}:
                return True  # the call is rejected
            fits = all(_has_ones(shape, traced[n]) for n, shape in given.items())
            return fits and holds(*(given[n][axis] for _, (n, axis) in places))

        return condition


def _expression(dim: Any) -> Any:
    return dim.node.expr if is_open(dim) else int(dim)


def _has_ones(shape: Sequence[int], traced: Sequence[Any]) -> bool:
    return all(d == t for d, t in zip(shape, traced, strict=True) if isinstance(t, int))
