"""Complex numbers, and transforms that return them."""

from __future__ import annotations

import math
from typing import Any

from .._native import Output
from . import _dtypes as dtypes
from ._elementwise import parts_of
from ._rules import rule
from ._writer import FLOAT, Tensor, Writer


def _promoted_dtype(w: Writer, real: Any, imag: Any) -> Output:
    return w.op("Complex", real, imag, Tout=dtypes.name_of(w.result.dtype))


@rule("view_as_real", "view_as_real_copy")
def _view_as_real(w: Writer, x: Tensor) -> Output:
    return w.op("Pack", list(parts_of(w, x.out)), axis=x.rank)


@rule("view_as_complex", "view_as_complex_copy")
def _view_as_complex(w: Writer, x: Tensor) -> Output:
    real, imag = w.op("Unpack", x, num=2, axis=x.rank - 1)
    return _promoted_dtype(w, real, imag)


@rule("complex")
def _complex(w: Writer, real: Tensor, imag: Tensor) -> Output:
    return _promoted_dtype(w, real, imag)


@rule("polar")
def _polar(w: Writer, radius: Tensor, angle: Tensor) -> Output:
    return _promoted_dtype(w, radius.out * w.op("Cos", angle), radius.out * w.op("Sin", angle))


@rule("angle")
def _angle(w: Writer, x: Tensor) -> Output:
    if x.dtype.is_complex:
        return w.op("Angle", x, Tout=dtypes.name_of(w.result.dtype))
    (value,), dtype = w.promoted(FLOAT, x)
    zero, pi = (w.cast(number, dtypes.named(value.dtype)) for number in (0, math.pi))
    turned = w.op("SelectV2", value < zero, pi, zero)
    return w.cast(w.op("SelectV2", w.op("IsNan", value), value, turned), dtype)
