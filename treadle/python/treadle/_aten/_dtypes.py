"""PyTorch's dtypes by name, and how its ops on elements promote them."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError


@dataclasses.dataclass(frozen=True)
class DType:
    """A dtype with PyTorch's name. `level`: its position in the order of promotion."""

    name: str
    level: int
    itemsize: int

    @property
    def is_floating_point(self) -> bool:
        return self.name.startswith(("float", "bfloat"))

    @property
    def is_complex(self) -> bool:
        return self.name.startswith(("complex", "bcomplex"))

    def __str__(self) -> str:
        return f"torch.{self.name}"


# Each is wider than the one before it; names on one line promote each other to the next line.
_LEVELS = (
    "bool:1",
    "uint8:1 int8:1",
    "int16:2 uint16:2",
    "int32:4 uint32:4",
    "int64:8 uint64:8",
    "float8_e5m2:1 float8_e4m3fn:1",
    "float16:2 bfloat16:2",
    "float32:4",
    "float64:8",
    "complex32:4",
    "complex64:8",
    "complex128:16",
)
_BY_NAME = {
    name: DType(name, level, int(size))
    for level, line in enumerate(_LEVELS)
    for name, size in (word.split(":") for word in line.split())
}
_FIRST_AT = {dtype.level: dtype for dtype in reversed(_BY_NAME.values())}

bool_, uint8, int16 = (_BY_NAME[n] for n in ("bool", "uint8", "int16"))
int32, int64 = _BY_NAME["int32"], _BY_NAME["int64"]
float16, bfloat16 = _BY_NAME["float16"], _BY_NAME["bfloat16"]
float32, float64 = _BY_NAME["float32"], _BY_NAME["float64"]
complex64, complex128 = _BY_NAME["complex64"], _BY_NAME["complex128"]

_WITHOUT_TENSORS = {"complex32"}


def named(name: str) -> DType:
    """Returns PyTorch's dtype for a name, including dtypes that Treadle's tensors can't have."""
    return _BY_NAME.get(name) or DType(name, -1, 0)


def name_of(dtype: DType) -> str:
    """Returns Treadle's name of a PyTorch dtype; UnimplementedError if Treadle's tensors can't have
    it."""
    if dtype.level < 0 or dtype.name in _WITHOUT_TENSORS:
        raise UnimplementedError(f"there are no tensors of {dtype}")
    return dtype.name


def numpy_dtype(dtype: DType) -> Any:
    """Returns the dtype of numpy or ml_dtypes."""
    name = name_of(dtype)
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def limits(dtype: DType) -> Any:
    """Returns the smallest and largest number as .min and .max."""
    if not dtype.is_floating_point:
        return np.iinfo(name_of(dtype))
    if dtype.name in ("float16", "float32", "float64"):
        return np.finfo(dtype.name)
    import ml_dtypes

    return ml_dtypes.finfo(numpy_dtype(dtype))


# ---- promotion


class Kind(enum.Enum):
    """The result dtype of an elementwise op, as a function of the promoted dtype of its inputs."""

    KEEP = enum.auto()
    FLOAT = enum.auto()  # integers become floating-point numbers
    REAL = enum.auto()  # complex numbers become real ones
    BOOL = enum.auto()
    POWER = enum.auto()  # bools become integers


# : The dtype of Python floats among integer tensors.
DEFAULT = float32

_COMPLEX_OF = {"float64": complex128, "float16": named("complex32")}
_REAL_OF = {"complex32": float16, "complex64": float32, "complex128": float64}
_COMPUTED_IN = {"bfloat16": float32, "float16": float32, "complex32": complex64}


def real_of(dtype: DType) -> DType:
    """Returns the dtype of the parts of complex numbers."""
    return _REAL_OF.get(dtype.name, dtype)


def complex_of(dtype: DType) -> DType:
    """Returns the complex dtype whose parts have a dtype."""
    return dtype if dtype.is_complex else _COMPLEX_OF.get(dtype.name, complex64)


def higher(a: DType | None, b: DType | None) -> DType | None:
    """Returns the lowest dtype, in PyTorch's order, that both dtypes promote to."""
    if a is None or b is None or a == b:
        return a or b
    if a.level == b.level:
        return _FIRST_AT[a.level + 1]
    return a if a.level > b.level else b


def promoted(a: DType, b: DType) -> DType:
    return higher(a, b) or a


def _rank(dtype: DType) -> int:
    """Returns the rank of a kind: bool, integer, floating point, complex."""
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return int(dtype.name != "bool")


def _kind_of_number(number: Any) -> int:
    return next(i for i, kind in enumerate((bool, int, float, complex)) if isinstance(number, kind))


def _promoted_dtype(
    dtypes: Sequence[tuple[DType, int]], numbers: Sequence[Any], default: DType
) -> DType:
    """Returns the promoted dtype of tensors (dtypes and ranks) and Python numbers: tensors of rank
    0 and numbers count only if they are of a higher kind."""
    kinds = [_rank(d) for d, _ in dtypes] + [_kind_of_number(n) for n in numbers]
    kind = max(kinds, default=0)
    found: dict[bool, DType | None] = {True: None, False: None}
    for dtype, rank in dtypes:
        own = dtype
        if kind == 3 and dtype.is_floating_point:
            own = _COMPLEX_OF.get(dtype.name, complex64)
        if _rank(own) == kind:
            found[rank > 0] = higher(found[rank > 0], own)
    defaults = (bool_, int64, default, _COMPLEX_OF.get(default.name, complex64))
    return found[True] or found[False] or defaults[kind]


def elementwise(
    kind: Kind, tensors: Sequence[tuple[DType, int]], numbers: Sequence[Any], default: DType
) -> tuple[DType, DType]:
    """Returns the dtype in which an op computes, and the dtype of its result."""
    result = _promoted_dtype(tensors, numbers, default)
    if kind is Kind.FLOAT and _rank(result) < 2:
        result = default
    if kind is Kind.POWER and result == bool_:
        result = int64
    if kind is Kind.BOOL:
        return result, bool_
    computed = _COMPUTED_IN.get(result.name, result)
    if kind is Kind.REAL:
        result = _REAL_OF.get(result.name, result)
    return computed, result


def rounded(number: Any, dtype: DType) -> Any:
    """Rounds a number to the nearest value of a narrow floating-point dtype."""
    is_narrow = dtype.name in _COMPUTED_IN and dtype.is_floating_point
    return np.asarray(number).astype(numpy_dtype(dtype)) if is_narrow else number
