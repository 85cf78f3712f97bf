"""Composed ops: PyTorch's functions written with Python operators on values.

>>> @composed("deg2rad")
... def _radians(x: Operand) -> Operand:
...     return x * (math.pi / 180)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._errors import UnimplementedError
from . import _dtypes as dtypes
from ._dtypes import DType
from ._rules import find, rule
from ._values import Meta, broadcast
from ._writer import Dim, Tensor, Value, Writer, axes_of, axis_of


def operand(w: Writer, value: Value) -> Operand:
    """Returns a value with its metadata; dimensions that the graph doesn't specify are computed
    from the value."""
    if isinstance(value, Tensor):
        return Operand(w, value.out, value.meta, value.swapped)
    shape = [
        w.op("Shape", value, out_type="int64")[axis] if dim is None else dim
        for axis, dim in enumerate(value.shape or ())
    ]
    return Operand(w, value, Meta(dtypes.named(value.dtype), tuple(shape)))


def mapped_operands(w: Writer, value: Any) -> Any:
    if isinstance(value, Tensor):
        return operand(w, value)
    if isinstance(value, list | tuple):
        return type(value)(mapped_operands(w, v) for v in value)
    return value


def composed(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function on operands the rule of ops."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def write(w: Writer, *args: Any, **kwargs: Any) -> Any:
            given = mapped_operands(w, args)
            named = {name: mapped_operands(w, value) for name, value in kwargs.items()}
            return function(*given, **named)

        rule(*names)(write)
        return function

    return register


def call(name: str, *args: Any, result: Any = None, **kwargs: Any) -> Any:
    """Adds a PyTorch op by name. `result`: the metadata of its results if its rule uses it: a Meta,
    or several."""
    w = next(a.writer for a in _flat(args) if isinstance(a, Operand))
    found = find(f"aten.{name}")
    assert found is not None, name
    with w.giving(result):
        out = found(w, *args, **kwargs)
    if out is NotImplemented:
        raise UnimplementedError(f"'{name}' of these arguments, of which it is made")
    if isinstance(out, tuple | list):
        return [None if o is None else operand(w, o) for o in out]
    return operand(w, out)


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


class Operand(Tensor):
    """A tensor in a rule that is composed of PyTorch's ops, with operators and methods.

    Elements are promoted as in PyTorch. Methods that are not defined here are the ops of that name.
    """

    __slots__ = ()

    @property
    def writer(self) -> Writer:
        return self._writer

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if find(f"aten.{name}.default") is None:
            raise AttributeError(name)
        return functools.partial(call, f"{name}.default", self)

    # ---- dtypes

    def to(self, dtype: DType) -> Operand:
        return call("_to_copy", self, result=Meta(dtype, self.meta.shape))

    def floating(self) -> Operand:
        """Integers as floating numbers."""
        kind = self.dtype.is_floating_point or self.dtype.is_complex
        return self if kind else self.to(self.writer.default_dtype)

    # ---- shapes

    def _like(self, shape: Sequence[Any], dtype: DType | None = None) -> Meta:
        return Meta(dtype or self.dtype, tuple(shape))

    def axis(self, dim: int) -> int:
        return axis_of(dim, self.rank)

    def size(self, dim: int) -> Dim:
        return self.shape[self.axis(dim)]

    def static_size(self, dim: int, what: str) -> int:
        """Returns a size that a rule needs as a number."""
        size = self.size(dim) if self.rank else 1
        if not isinstance(size, int):
            raise UnimplementedError(f"{what} of symbolic size")
        return size

    def reshape(self, shape: Sequence[Dim]) -> Operand:
        return operand(self.writer, self.writer.reshape(self, list(shape)))

    def flat(self) -> Operand:
        return self.reshape([-1])

    def expand(self, shape: Sequence[Dim]) -> Operand:
        return call("expand", self, result=self._like(shape))

    def permute(self, order: Sequence[int]) -> Operand:
        order = [self.axis(d) for d in order]
        shape = [self.meta.shape[a] for a in order]
        return call("permute", self, order, result=self._like(shape))

    def transpose(self, dim0: int, dim1: int) -> Operand:
        order = list(range(self.rank))
        i, j = self.axis(dim0), self.axis(dim1)
        order[i], order[j] = j, i
        return self.permute(order)

    @property
    def mT(self) -> Operand:  # noqa: N802
        return self.transpose(-2, -1)

    @property
    def mH(self) -> Operand:  # noqa: N802
        return self.mT.conj()

    def movedim(self, source: int, destination: int) -> Operand:
        order = [a for a in range(self.rank) if a != self.axis(source)]
        order.insert(self.axis(destination), self.axis(source))
        return self.permute(order)

    def unsqueeze(self, dim: int) -> Operand:
        axis = axis_of(dim, self.rank + 1)
        shape = list(self.meta.shape)
        shape.insert(axis, 1)
        return call("unsqueeze", self, axis, result=self._like(shape))

    def squeeze(self, dim: int) -> Operand:
        shape = list(self.meta.shape)
        del shape[self.axis(dim)]
        return call("squeeze", self, dim, result=self._like(shape))

    # ---- slices

    def narrow(self, dim: int, start: Any, length: Any) -> Operand:
        return call("narrow", self, dim, start, length)

    def first(self, dim: int, count: Any) -> Operand:
        """Returns the first `count` elements; without the last `-count` if it is negative."""
        return call("slice", self, dim, 0, count)

    def after(self, dim: int, start: Any) -> Operand:
        return call("slice", self, dim, start)

    def split(self, sizes: Sequence[Dim], dim: int) -> list[Operand]:
        ends, parts = 0, []
        for size in sizes:
            parts.append(self.narrow(dim, ends, size))
            ends = ends + size
        return parts

    # ---- reductions

    def _reduced(self, name: str, dims: Any, keepdim: bool, dtype: DType) -> Operand:
        shape = list(self.meta.shape)
        axes = axes_of(dims, self.rank)
        kept = [1 if a in axes else d for a, d in enumerate(shape)]
        shape = kept if keepdim else [d for a, d in enumerate(shape) if a not in axes]
        return call(name, self, axes, keepdim, result=self._like(shape, dtype))

    def _summed_dtype(self) -> DType:
        is_number = self.dtype.is_floating_point or self.dtype.is_complex
        return self.dtype if is_number else dtypes.int64

    def sum(self, dims: Any = None, keepdim: bool = False) -> Operand:
        return self._reduced("sum", dims, keepdim, self._summed_dtype())

    def prod(self, dims: Any = None, keepdim: bool = False) -> Operand:
        return self._reduced("prod", dims, keepdim, self._summed_dtype())

    def mean(self, dims: Any = None, keepdim: bool = False) -> Operand:
        return self._reduced("mean", dims, keepdim, self.dtype)

    def any(self, dims: Any = None, keepdim: bool = False) -> Operand:
        return self._reduced("any", dims, keepdim, dtypes.bool_)

    def all(self, dims: Any = None, keepdim: bool = False) -> Operand:
        return self._reduced("all", dims, keepdim, dtypes.bool_)

    def cumsum(self, dim: int) -> Operand:
        return call("cumsum", self, dim, result=self._like(self.meta.shape, self._summed_dtype()))

    def norm(self, order: Any = 2, dims: Any = None, keepdim: bool = False) -> Operand:
        real = self.abs() if self.dtype.is_complex else self
        meta = real._like(real.meta.shape)
        return call(
            "linalg_vector_norm", real, order, axes_of(dims, self.rank), keepdim, result=meta
        )

    def log_softmax(self, dim: int) -> Operand:
        return call("_log_softmax", self, dim, False, result=self.meta)

    def filled(self, number: Any, dtype: DType | None = None) -> Operand:
        """Returns a tensor of the same shape filled with a number."""
        return call("full_like", self, number, result=self._like(self.meta.shape, dtype))

    def imag(self) -> Operand:
        return call("imag", self, result=self._like(self.meta.shape, dtypes.real_of(self.dtype)))

    def real(self) -> Operand:
        return call("real", self, result=self._like(self.meta.shape, dtypes.real_of(self.dtype)))


def _register_operators() -> None:
    operators = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "lt": "lt",
        "le": "le", "gt": "gt", "ge": "ge", "matmul": "matmul", "and": "bitwise_and",
        "or": "bitwise_or", "mod": "remainder",
    }  # fmt: skip
    for python, name in operators.items():

        def apply(x: Operand, y: Any, name: str = name) -> Operand:
            return call(name, x, y)

        def swapped(x: Operand, y: Any, name: str = name) -> Operand:
            return call(name, y, x)

        setattr(Operand, f"__{python}__", apply)
        setattr(Operand, f"__r{python}__", swapped)
    for python, name in {"neg": "neg", "invert": "bitwise_not"}.items():
        setattr(Operand, f"__{python}__", lambda x, name=name: call(name, x))


_register_operators()


# ---- functions of several operands


def cat(parts: Sequence[Operand], dim: int = 0) -> Operand:
    return call("cat", list(parts), dim, result=Meta(together(*parts), ()))


def stack(parts: Sequence[Operand], dim: int = 0) -> Operand:
    return call("stack", list(parts), dim, result=Meta(together(*parts), ()))


def where(condition: Operand, x: Any, y: Any) -> Operand:
    return call("where", condition, x, y)


def together(*parts: Any) -> DType:
    """Returns the promoted dtype of tensors and numbers."""
    tensors = [(p.dtype, p.rank) for p in parts if isinstance(p, Tensor)]
    numbers = [p for p in parts if not isinstance(p, Tensor)]
    default = next(
        (p.writer.default_dtype for p in parts if isinstance(p, Operand)), dtypes.DEFAULT
    )
    return dtypes.elementwise(dtypes.Kind.KEEP, tensors, numbers, default)[1]


def stretched(*parts: Operand) -> list[Operand]:
    """Broadcasts all values to their common shape."""
    shape = broadcast([p.meta.shape for p in parts])
    return [p.expand(p.writer.dims(shape)) for p in parts]


def counted(x: Operand, count: Dim, dtype: DType = dtypes.int64) -> Operand:
    """Returns 0, 1, ..., count - 1."""
    return operand(x.writer, x.writer.range(count, dtype))


def constant(x: Operand, value: Any, dtype: DType) -> Operand:
    """Numbers of a rule's own."""
    return operand(x.writer, x.writer.constant(value, dtype))
