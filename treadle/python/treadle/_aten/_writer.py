"""The writer of rules: values with PyTorch's dtypes and shapes, on top of a treadle.Builder."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._builder import Builder
from .._errors import InvalidArgumentError, UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType, Kind
from ._values import Meta

KEEP, FLOAT, REAL, BOOL, POWER = Kind

# : A dimension: a number, or a value of the graph if the shape is symbolic.
Dim = int | Output


class Tensor:
    """A value of the graph, with its metadata in PyTorch.

    Attributes:
        out: the builder's value.
        meta: what PyTorch knows of it: dtype, and shape with its symbols.
        swapped: the same with the last two dimensions swapped, where the graph has it: products
            use it instead of a transposition.
    """

    __slots__ = ("_writer", "meta", "out", "swapped")

    def __init__(self, writer: Writer, out: Output, meta: Meta, swapped: Output | None = None):
        self._writer, self.out, self.meta, self.swapped = writer, out, meta, swapped

    @property
    def dtype(self) -> DType:
        return self.meta.dtype

    @property
    def rank(self) -> int:
        return self.meta.dim()

    @property
    def shape(self) -> list[Dim]:
        return [self._writer.dim(d) for d in self.meta.shape]


Value = Tensor | Output
Scalar = bool | int | float | Output


def product(dims: Iterable[Dim]) -> Dim:
    return functools.reduce(operator.mul, dims, 1)


def is_one(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 1


def is_static(dims: Iterable[Dim]) -> bool:
    return all(isinstance(d, int) for d in dims)


# The maximum number of elements that a rule may add as constants that are in no file.
_MOST_NUMBERS = 1 << 26


def is_small(*dims: int) -> bool:
    """Whether an array of these dimensions may become part of a graph."""
    return product(dims) <= _MOST_NUMBERS


def require_small(*dims: int) -> None:
    if not is_small(*dims):
        raise UnimplementedError(f"{product(dims)} numbers would become constants of the graph")


class Writer:
    """Adds nodes to a builder, for one node of PyTorch's graph at a time.

    `result` is what PyTorch says of that node's result: a Meta, or a tuple of them.
    `is_used` tells whether anything uses the result of a number.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.default_dtype = dtypes.DEFAULT
        self.result: Any = None
        self.is_used: Callable[[int], bool] = lambda index: True
        self._dims: dict[Any, Output] = {}
        # : Whether the seed of random numbers is fed to runs; otherwise the graph generates it.
        self.seed_is_fed = True
        self._seed: Output | None = None
        self._draws = 0
        self._instances = 0

    @contextlib.contextmanager
    def giving(
        self, result: Any, is_used: Callable[[int], bool] = lambda index: True
    ) -> Iterator[None]:
        """In this context, created nodes belong to an op with this result."""
        saved = self.result, self.is_used
        self.result, self.is_used = result, is_used
        try:
            yield
        finally:
            self.result, self.is_used = saved

    # ---- nodes

    def op(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        """Adds a node; returns its output, or a tuple of several."""
        return self.builder.op(op, [self._input(i) for i in inputs], attrs=attrs)

    @staticmethod
    def _input(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.out
        if isinstance(value, list | tuple):
            return [Writer._input(v) for v in value]
        return value

    def constant(self, value: Any, dtype: DType | None = None) -> Output:
        """Returns a constant; Python numbers and arrays are converted to the dtype."""
        if dtype is None:
            return self.builder.constant(value)
        return self.builder.constant(np.asarray(value).astype(dtypes.numpy_dtype(dtype)))

    def indices(self, values: Any) -> Output:
        """Returns numbers in the form of axes and sizes of ops."""
        return self.builder.constant(np.asarray(values, np.int64))

    def integers(self, value: Any) -> Output:
        """Returns a shape: a constant, or a Pack if a dimension is symbolic."""
        dims = list(value)
        if is_static(dims):
            return self.indices(dims)
        return self.op("Pack", [d if isinstance(d, Output) else self.indices(d) for d in dims])

    # ---- dtypes

    def cast(self, value: Any, dtype: DType) -> Output:
        """Returns a value or a number in a dtype."""
        if isinstance(value, Tensor):
            value = value.out
        if not isinstance(value, Output):
            return self.constant(value, dtype)
        name = dtypes.name_of(dtype)
        return value if value.dtype == name else self.op("Cast", value, DstT=name)

    def promoted(self, kind: Any, *values: Any, rounds: bool = False) -> tuple[list[Output], DType]:
        """Returns the values in the dtype that PyTorch computes in, and the dtype of its result.
        `rounds`: whether numbers are first rounded to the result's dtype."""
        tensors = [(v.dtype, v.rank) for v in values if isinstance(v, Tensor)]
        numbers = [_stand_in(v) for v in values if not isinstance(v, Tensor)]
        computed, result = dtypes.elementwise(kind, tensors, numbers, self.default_dtype)
        if rounds:
            values = tuple(
                dtypes.rounded(v, result) if isinstance(v, int | float) else v for v in values
            )
        return [self.cast(v, computed) for v in values], result

    # ---- shapes

    def dim(self, dim: Any) -> Dim:
        """Returns a dimension as PyTorch's graph has it: a number, a symbol's expression, or a
        value."""
        if isinstance(dim, int | Output):
            return dim
        return self._expression(dim)

    def dims(self, dims: Iterable[Any]) -> list[Dim]:
        return [self.dim(d) for d in dims]

    def bind(self, dim: Any, value: Callable[[], Output]) -> None:
        """Records the value of a symbolic dimension, unless it is known already."""
        if not isinstance(dim, int) and dim not in self._dims:
            self._dims[dim] = value()
            self._solve(dim, self._dims[dim])

    def _solve(self, expr: Any, value: Output) -> None:
        """Solves an expression such as `2*s + 1` for s."""
        if expr.kind == "Symbol":
            self._dims.setdefault(expr, value)
        numbers = [a for a in expr.args if isinstance(a, int)]
        rest = [a for a in expr.args if not isinstance(a, int)]
        if len(rest) == 1 and expr.kind == "Add":
            self._solve(rest[0], value - sum(numbers))
        elif len(rest) == 1 and expr.kind == "Mul" and product(numbers) != 0:
            self._solve(rest[0], value // product(numbers))

    @contextlib.contextmanager
    def scoped_dims(self) -> Iterator[None]:
        """Discards facts about dimensions that are found in the body of a loop at its end."""
        saved = dict(self._dims)
        try:
            yield
        finally:
            self._dims = saved

    def _expression(self, expr: Any) -> Dim:
        if isinstance(expr, int):
            return expr
        if expr in self._dims:
            return self._dims[expr]
        if expr.kind == "Float":
            return self.cast(float(expr.args[0]), dtypes.float64)
        if expr.kind in _CONVERSIONS:
            (part,) = expr.args
            rounding, dtype = _CONVERSIONS[expr.kind]
            value = self._expression(part)
            return self.cast(self.op(rounding, value) if rounding else value, dtype)
        if expr.kind not in _EXPRESSIONS:
            raise UnimplementedError(f"a dimension is {expr}, which no input has")
        parts = [self._expression(part) for part in expr.args]
        value = functools.reduce(functools.partial(_EXPRESSIONS[expr.kind], self), parts)
        if isinstance(value, Output):
            self._dims[expr] = value
        return value

    def reshape(self, value: Value, dims: Sequence[Dim]) -> Output:
        """Reshapes a value; the op infers one symbolic dimension."""
        symbolic = [i for i, d in enumerate(dims) if not isinstance(d, int)]
        if len(symbolic) == 1 and all(d != 0 for i, d in enumerate(dims) if i not in symbolic):
            dims = [-1 if i in symbolic else d for i, d in enumerate(dims)]
        return self.op("Reshape", value, self.integers(dims))

    def transpose(self, value: Value, permutation: Sequence[int]) -> Output:
        if list(permutation) == list(range(len(permutation))):
            return value.out if isinstance(value, Tensor) else value
        return self.op("Transpose", value, self.indices(permutation))

    def broadcast(self, value: Value, dims: Sequence[Dim]) -> Output:
        return self.op("BroadcastTo", value, self.integers(dims))

    def full(self, dims: Sequence[Dim], number: Any, dtype: DType) -> Output:
        return self.op("Fill", self.integers(dims), self.cast(number, dtype))

    def range(self, count: Dim, dtype: DType = dtypes.int64) -> Output:
        """Returns 0, 1, ..., count - 1."""
        if isinstance(count, int) and is_small(count):
            return self.constant(np.arange(count), dtype)
        zero, one = self.indices(0), self.indices(1)
        end = self.indices(count) if isinstance(count, int) else count
        return self.cast(self.op("Range", zero, end, one), dtype)

    # ---- collectives

    @property
    def has_collectives(self) -> bool:
        return self._instances > 0

    def next_instance(self) -> int:
        """Numbers the collectives of a graph, from 1 on."""
        self._instances += 1
        return self._instances

    # ---- random numbers

    @property
    def seed_name(self) -> str | None:
        """The placeholder that is fed with two random integers; None if the graph draws no random
        numbers."""
        return None if self._seed is None else self._seed.name

    def _first_seed(self) -> Output:
        if self.seed_is_fed:
            return self.builder.placeholder("random_seed", "int64", [2])
        low, high = self.indices(-(2**62)), self.indices(2**62)
        return self.op("RandomUniformInt", self.indices([2]), low, high)

    def seed(self) -> Output:
        """Returns a pair of integers that is unique for each call, and for each run of the
        graph."""
        if self._seed is None:
            self._seed = self._first_seed()
        self._draws += 1
        return self.op("AddV2", self._seed, self.indices([0, self._draws]))


def _stand_in(value: Any) -> Any:
    """Returns the representation of a number for dtype promotion: computed numbers count as Python
    numbers."""
    if isinstance(value, Output):
        return 1.0 if value.dtype.startswith("float") else 1
    return value


def _power(writer: Writer, base: Dim, exponent: Dim) -> Dim:
    if not isinstance(exponent, int) or exponent < 0:
        raise UnimplementedError("a dimension is a power with a symbolic exponent")
    return product([base] * exponent)


def _extreme(op: str, fn: Callable[[int, int], int]) -> Callable[..., Dim]:
    def apply(writer: Writer, x: Dim, y: Dim) -> Dim:
        both = isinstance(x, int) and isinstance(y, int)
        return fn(x, y) if both else writer.op(op, x, y)

    return apply


# The operations in expressions of symbolic dimensions, by class name.
_EXPRESSIONS: dict[str, Callable[..., Dim]] = {
    "Add": lambda w, x, y: x + y,
    "Mul": lambda w, x, y: x * y,
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": lambda w, x, y: x // y,
    "CleanDiv": lambda w, x, y: x // y,
    "FloatTrueDiv": lambda w, x, y: w.op("RealDiv", x, y),
    "IntTrueDiv": lambda w, x, y: w.op("RealDiv", *(w.cast(v, dtypes.float64) for v in (x, y))),
    "Mod": lambda w, x, y: x % y,
    "PythonMod": lambda w, x, y: x % y,
    "Max": _extreme("Maximum", max),
    "Min": _extreme("Minimum", min),
}


# Conversions of a number: the rounding op, and the dtype. Casts to integers truncate.
_CONVERSIONS = {
    "ToFloat": (None, dtypes.float64),
    "TruncToInt": (None, dtypes.int64),
    "CeilToInt": ("Ceil", dtypes.int64),
    "FloorToInt": ("Floor", dtypes.int64),
    "RoundToInt": ("Rint", dtypes.int64),
}


def axis_of(dim: int, rank: int) -> int:
    """Returns `dim` as a non-negative index; a scalar is treated as a vector of one element."""
    extent = max(rank, 1)
    if not -extent <= dim < extent:
        raise InvalidArgumentError(f"dimension {dim} is out of range for a tensor of rank {rank}")
    return dim % extent


def axes_of(dims: Any, rank: int) -> list[int]:
    """Returns the dimensions to reduce: all if none are given."""
    if dims is None or (isinstance(dims, list | tuple) and not dims):
        return list(range(rank))
    named = [dims] if isinstance(dims, int) else dims
    return sorted({axis_of(d, rank) for d in named}) if rank else []
