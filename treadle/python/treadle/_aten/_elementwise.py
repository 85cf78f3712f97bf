"""Elementwise ops: each promotes and broadcasts its inputs as PyTorch does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType
from ._rules import rule
from ._writer import BOOL, FLOAT, KEEP, POWER, REAL, Scalar, Tensor, Writer

# ---- one input

Unary = Callable[[Writer, Output], Output]


def _node(op: str) -> Unary:
    return lambda w, x: w.op(op, x)


def _is_floating(x: Output) -> bool:
    return x.dtype.startswith(("float", "bfloat", "complex"))


def _of_floats(op: str) -> Unary:
    """Writes an op that returns integers unchanged."""
    return lambda w, x: w.op(op, x) if _is_floating(x) else x


def _truncated(w: Writer, x: Output) -> Output:
    if not _is_floating(x):
        return x
    return w.op("SelectV2", x < 0, w.op("Ceil", x), w.op("Floor", x))


def parts_of(w: Writer, x: Output) -> list[Output]:
    """Returns the real and the imaginary part."""
    real = dtypes.name_of(dtypes.real_of(dtypes.named(x.dtype)))
    return [w.op(part, x, Tout=real) for part in ("Real", "Imag")]


def _false_for_integers(op: str, otherwise: bool) -> Unary:
    """Writes a predicate of floating-point numbers; it is `otherwise` for integers."""

    def write(w: Writer, x: Output) -> Output:
        if dtypes.named(x.dtype).is_complex:
            together = "LogicalAnd" if otherwise else "LogicalOr"
            return w.op(together, *(w.op(op, part) for part in parts_of(w, x)))
        if _is_floating(x):
            return w.op(op, x)
        return w.op("Fill", w.op("Shape", x), w.constant(otherwise))

    return write


def _computed_wider(op: str) -> Callable[..., Output]:
    """Computes an op without kernels for the narrowest integers in wider ones, which is equal
    modulo 2^n."""

    def write(w: Writer, *values: Output) -> Output:
        dtype = values[0].dtype
        if dtype not in ("uint8", "int8", "int16"):
            return w.op(op, *values)
        wide = [w.cast(v, dtypes.int64) for v in values]
        return w.cast(w.op(op, *wide), dtypes.named(dtype))

    return write


def _sign_bit(w: Writer, x: Output) -> Output:
    """Returns whether the sign bit is set: also for -0.0."""
    if not _is_floating(x):
        return x < 0 if x.dtype.startswith("int") else w.op("NotEqual", x, x)
    return w.op("SelectV2", x == 0.0, w.op("Reciprocal", x) < 0.0, x < 0.0)


def _silu(w: Writer, x: Output) -> Output:
    return x * w.op("Sigmoid", x)


def _sign(w: Writer, x: Output) -> Output:
    if x.dtype == "bool":
        return x
    if x.dtype.startswith("uint"):  # dtypes without Sign
        return w.op("Cast", x > 0, DstT=x.dtype)
    sign = w.op("Sign", x)
    if x.dtype.startswith("complex"):
        return sign
    return w.op("SelectV2", w.op("IsNan", x), _like(w, 0, x), sign) if _is_floating(x) else sign


def _within(op: str, low: float, high: float) -> Unary:
    """Replaces results outside of the domain of an op by NaN."""

    def write(w: Writer, x: Output) -> Output:
        inside = w.op("LogicalAnd", x >= low, x <= high)
        return w.op("SelectV2", inside, w.op(op, x), _like(w, math.nan, x))

    return write


def _above_zero(op: str, at_zero: float) -> Unary:
    """Replaces results by `at_zero` at zero, and by NaN below."""

    def write(w: Writer, x: Output) -> Output:
        out = w.op("SelectV2", x == 0.0, _like(w, at_zero, x), w.op(op, x))
        return w.op("SelectV2", x < 0.0, _like(w, math.nan, x), out)

    return write


def _inverse_erf(w: Writer, x: Output) -> Output:
    return w.op("SelectV2", x == 0.0, x, _within("Erfinv", -1.0, 1.0)(w, x))


def _digamma(w: Writer, x: Output) -> Output:
    """Computes digamma; at zero it is infinite, with the opposite sign."""
    return w.op("SelectV2", x == 0.0, -w.op("Reciprocal", x), w.op("Digamma", x))


def _abs(w: Writer, x: Output) -> Output:
    if x.dtype.startswith("complex"):
        return w.op("ComplexAbs", x, Tout="float32" if x.dtype == "complex64" else "float64")
    return x if x.dtype.startswith(("uint", "bool")) else w.op("Abs", x)


def _logarithm(base: float) -> Unary:
    """Computes a logarithm that is exact for powers of the base."""

    def write(w: Writer, x: Output) -> Output:
        if x.dtype.startswith("complex"):
            return w.op("Log", x) * (1 / math.log(base))
        wide = w.cast(x, dtypes.float64)
        found = w.op("Log", wide) * (1 / math.log(base))
        if x.dtype == "float64":
            whole = w.op("Rint", found)
            is_power = w.op("Pow", _like(w, base, x), whole) == x
            found = w.op("SelectV2", is_power, whole, found)
        return w.cast(found, dtypes.named(x.dtype))

    return write


_UNARY: dict[str, tuple[Any, Unary]] = {
    "abs": (REAL, _abs),
    "acos": (FLOAT, _node("Acos")),
    "acosh": (FLOAT, _node("Acosh")),
    "asin": (FLOAT, _node("Asin")),
    "asinh": (FLOAT, _node("Asinh")),
    "atan": (FLOAT, _node("Atan")),
    "atanh": (FLOAT, _node("Atanh")),
    "bitwise_not": (KEEP, lambda w, x: ~x),
    "ceil": (KEEP, _of_floats("Ceil")),
    "cos": (FLOAT, _node("Cos")),
    "cosh": (FLOAT, _node("Cosh")),
    "digamma": (FLOAT, _digamma),
    "erf": (FLOAT, _node("Erf")),
    "erfc": (FLOAT, _node("Erfc")),
    "erfinv": (FLOAT, _inverse_erf),
    "exp": (FLOAT, _node("Exp")),
    "exp2": (FLOAT, lambda w, x: w.op("Pow", w.op("Fill", w.op("Shape", x), _like(w, 2, x)), x)),
    "expm1": (FLOAT, _node("Expm1")),
    "floor": (KEEP, _of_floats("Floor")),
    "i0": (FLOAT, _node("BesselI0")),
    "frac": (KEEP, lambda w, x: x - _truncated(w, x)),
    "isfinite": (KEEP, _false_for_integers("IsFinite", True)),
    "isinf": (KEEP, _false_for_integers("IsInf", False)),
    "isnan": (KEEP, _false_for_integers("IsNan", False)),
    "lgamma": (FLOAT, _node("Lgamma")),
    "log": (FLOAT, _node("Log")),
    "log10": (FLOAT, _logarithm(10.0)),
    "log1p": (FLOAT, _node("Log1p")),
    "log2": (FLOAT, _logarithm(2.0)),
    "logical_not": (KEEP, lambda w, x: w.op("LogicalNot", _truth(w, x))),
    "neg": (KEEP, _computed_wider("Neg")),
    "_neg_view": (KEEP, _computed_wider("Neg")),
    "positive": (KEEP, lambda w, x: x),
    "reciprocal": (FLOAT, _node("Reciprocal")),
    "relu": (KEEP, _node("Relu")),
    "rsqrt": (FLOAT, _node("Rsqrt")),
    "prims.bessel_i0": (FLOAT, _node("BesselI0")),
    "prims.bessel_i1": (FLOAT, _node("BesselI1")),
    "prims.signbit": (KEEP, _sign_bit),
    "sgn": (KEEP, _sign),
    "sigmoid": (FLOAT, _node("Sigmoid")),
    "sign": (KEEP, _sign),
    "silu": (KEEP, _silu),
    "sin": (FLOAT, _node("Sin")),
    "signbit": (KEEP, _sign_bit),
    "sinh": (FLOAT, _node("Sinh")),
    "special_bessel_j0": (FLOAT, _node("BesselJ0")),
    "special_bessel_j1": (FLOAT, _node("BesselJ1")),
    "special_bessel_y0": (FLOAT, _above_zero("BesselY0", -math.inf)),
    "special_bessel_y1": (FLOAT, _above_zero("BesselY1", -math.inf)),
    "special_i0": (FLOAT, _node("BesselI0")),
    "special_i1": (FLOAT, _node("BesselI1")),
    "special_i0e": (FLOAT, _node("BesselI0e")),
    "special_i1e": (FLOAT, _node("BesselI1e")),
    "special_modified_bessel_i0": (FLOAT, _node("BesselI0")),
    "special_modified_bessel_i1": (FLOAT, _node("BesselI1")),
    "special_modified_bessel_k0": (FLOAT, _above_zero("BesselK0", math.inf)),
    "special_modified_bessel_k1": (FLOAT, _above_zero("BesselK1", math.inf)),
    "special_scaled_modified_bessel_k0": (FLOAT, _above_zero("BesselK0e", math.inf)),
    "special_scaled_modified_bessel_k1": (FLOAT, _above_zero("BesselK1e", math.inf)),
    "special_ndtri": (FLOAT, _within("Ndtri", 0.0, 1.0)),
    "sqrt": (FLOAT, _node("Sqrt")),
    "square": (KEEP, _node("Square")),
    "tan": (FLOAT, _node("Tan")),
    "tanh": (FLOAT, _node("Tanh")),
    "trunc": (KEEP, _truncated),
}

# Ops with bool results for all dtypes.
_BOOL_RESULT_OPS = {"isfinite", "isinf", "isnan", "logical_not", "prims.signbit", "signbit"}


def _register_unary(name: str, kind: Any, write: Unary) -> None:
    def apply(w: Writer, x: Tensor) -> Output:
        (value,), dtype = w.promoted(kind, x)
        return w.cast(write(w, value), dtypes.bool_ if name in _BOOL_RESULT_OPS else dtype)

    rule(name)(apply)


for _name, (_kind, _write) in _UNARY.items():
    _register_unary(_name, _kind, _write)


def _like(w: Writer, number: float, x: Output) -> Output:
    """Returns a number in the dtype of a value."""
    return w.cast(number, dtypes.named(x.dtype))


def _truth(w: Writer, x: Output) -> Output:
    return x if x.dtype == "bool" else w.op("NotEqual", x, _like(w, 0, x))


@rule("round")
def _round(w: Writer, x: Tensor, *, decimals: int = 0) -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    if not _is_floating(value):
        return value
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return w.cast(w.op("Rint", value / scale) * scale, dtype)
    rounded = w.op("Rint", value * scale) / scale if decimals else w.op("Rint", value)
    return w.cast(rounded, dtype)


# ---- two inputs

Binary = Callable[[Writer, Output, Output], Output]


def _or_on_bool(op: str, on_bool: str) -> Binary:
    return lambda w, x, y: w.op(on_bool if x.dtype == "bool" else op, x, y)


def _compared(op: str) -> Binary:
    """Compares values; false is less than true."""

    def write(w: Writer, x: Output, y: Output) -> Output:
        if x.dtype == "bool" and op not in ("Equal", "NotEqual"):
            x, y = w.cast(x, dtypes.uint8), w.cast(y, dtypes.uint8)
        return w.op(op, x, y)

    return write


def _logical(op: str) -> Binary:
    return lambda w, x, y: w.op(op, _truth(w, x), _truth(w, y))


def _truncated_division(w: Writer, x: Output, y: Output) -> Output:
    return _truncated(w, w.op("RealDiv", x, y)) if _is_floating(x) else w.op("TruncateDiv", x, y)


def _floor_division(w: Writer, x: Output, y: Output) -> Output:
    """Divides and rounds down. Floating-point numbers are divided after subtracting the remainder,
    so that quotient and remainder match."""
    if not _is_floating(x):
        return w.op("FloorDiv", x, y)
    exact, rest = w.op("RealDiv", x, y), w.op("Mod", x, y)
    whole = w.op("RealDiv", x - rest, y)
    signs_differ = w.op("NotEqual", y < 0.0, rest < 0.0)
    is_above = w.op("LogicalAnd", w.op("NotEqual", rest, _like(w, 0, x)), signs_differ)
    whole = w.op("Rint", w.op("SelectV2", is_above, whole - 1.0, whole))
    whole = w.op("SelectV2", whole == 0.0, exact * 0.0, whole)  # with the sign of the quotient
    return w.op("SelectV2", y == 0.0, exact, whole)


def _truncated_remainder(w: Writer, x: Output, y: Output) -> Output:
    return w.op("Mod", x, y) if _is_floating(x) else _computed_wider("TruncateMod")(w, x, y)


def _larger_number(op: str, on_bool: str) -> Binary:
    """Returns the larger or smaller number; a number if the other is NaN."""

    def write(w: Writer, x: Output, y: Output) -> Output:
        if not _is_floating(x):
            return _or_on_bool(op, on_bool)(w, x, y)
        either = w.op("SelectV2", w.op("IsNan", y), x, w.op(op, x, y))
        return w.op("SelectV2", w.op("IsNan", x), y, either)

    return write


def _hypotenuse(w: Writer, x: Output, y: Output) -> Output:
    """Computes hypot: infinite if a side is infinite, even if the other is NaN."""
    x, y = w.op("Abs", x), w.op("Abs", y)
    large, small = w.op("Maximum", x, y), w.op("Minimum", x, y)
    ratio = w.op("DivNoNan", small, large)
    length = large * w.op("Sqrt", w.op("Square", ratio) + 1.0)
    infinity = _like(w, math.inf, x)
    is_infinite = w.op("LogicalOr", x == infinity, y == infinity)
    return w.op("SelectV2", is_infinite, infinity, length)


def _x_log_y(w: Writer, x: Output, y: Output) -> Output:
    """Computes x * log(y): zero where x is zero, unless y is NaN."""
    value = w.op("Xlogy", x, y)
    return w.op("SelectV2", w.op("IsNan", y), y, value)


def _incomplete_gamma(op: str, at_zero: float) -> Binary:
    """Computes the incomplete gamma function. With shape 0 all of the distribution is at zero; with
    an infinite shape, nothing is below infinity."""

    def write(w: Writer, shape: Output, x: Output) -> Output:
        low, high, nan = (_like(w, v, x) for v in (at_zero, 1.0 - at_zero, math.nan))
        infinity = _like(w, math.inf, x)
        out = w.op("SelectV2", x == infinity, high, w.op(op, shape, x))
        of_infinite = w.op("SelectV2", x == infinity, nan, low)
        out = w.op("SelectV2", shape == infinity, of_infinite, out)
        out = w.op("SelectV2", x == 0.0, low, out)
        of_zero = w.op("SelectV2", x > 0.0, high, nan)
        out = w.op("SelectV2", shape == 0.0, of_zero, out)
        is_negative = w.op("LogicalOr", shape < 0.0, x < 0.0)
        is_nan = w.op("LogicalOr", w.op("IsNan", shape), w.op("IsNan", x))
        return w.op("SelectV2", w.op("LogicalOr", is_negative, is_nan), nan, out)

    return write


def _zeta(w: Writer, x: Output, q: Output) -> Output:
    """Computes the Hurwitz zeta function: infinite if a summand is, at whole numbers from zero
    down. Zero if the first summand underflows, since the later ones then do too."""
    is_pole = w.op("LogicalAnd", q <= 0.0, w.op("Equal", q, w.op("Floor", q)))
    is_pole = w.op("LogicalAnd", is_pole, w.op("LogicalNot", x <= 1.0))
    is_series = w.op("LogicalAnd", w.op("LogicalAnd", q > 1.0, x > 1.0), w.op("IsFinite", x))
    is_small = w.op("Equal", w.op("Pow", q, -x), _like(w, 0, x))
    is_nothing = w.op("LogicalAnd", is_series, is_small)
    total = w.op("SelectV2", is_nothing, _like(w, 0, x), w.op("Zeta", x, q))
    return w.op("SelectV2", is_pole, _like(w, math.inf, x), total)


def _with_sign(w: Writer, x: Output, y: Output) -> Output:
    size = w.op("Abs", x)
    return w.op("SelectV2", _sign_bit(w, y), -size, size)


def _shifted(op: str) -> Binary:
    """Shifts bits. If the count is negative or too large, the result is 0, or the sign for right
    shifts."""

    def write(w: Writer, x: Output, count: Output) -> Output:
        bits = 8 * dtypes.named(x.dtype).itemsize
        zero, most = _like(w, 0, x), _like(w, bits - 1, x)
        fits = w.op("LogicalAnd", count >= zero, count <= most)
        shifted = w.op(op, x, w.op("SelectV2", fits, count, most))
        if op == "RightShift" and x.dtype.startswith("int"):
            return shifted
        return w.op("SelectV2", fits, shifted, zero)

    return write


_BINARY: dict[str, tuple[Any, Binary]] = {
    "atan2": (FLOAT, lambda w, x, y: w.op("Atan2", x, y)),
    "bitwise_and": (KEEP, lambda w, x, y: x & y),
    "bitwise_left_shift": (KEEP, _shifted("LeftShift")),
    "bitwise_or": (KEEP, lambda w, x, y: x | y),
    "bitwise_right_shift": (KEEP, _shifted("RightShift")),
    "bitwise_xor": (KEEP, lambda w, x, y: x ^ y),
    "copysign": (FLOAT, _with_sign),
    "eq": (BOOL, _compared("Equal")),
    "floor_divide": (KEEP, _floor_division),
    "fmax": (KEEP, _larger_number("Maximum", "LogicalOr")),
    "fmin": (KEEP, _larger_number("Minimum", "LogicalAnd")),
    "fmod": (KEEP, _truncated_remainder),
    "ge": (BOOL, _compared("GreaterEqual")),
    "gt": (BOOL, _compared("Greater")),
    "hypot": (KEEP, _hypotenuse),
    "igamma": (FLOAT, _incomplete_gamma("Igamma", 0.0)),
    "igammac": (FLOAT, _incomplete_gamma("Igammac", 1.0)),
    "ldexp": (FLOAT, lambda w, x, y: x * _UNARY["exp2"][1](w, y)),
    "le": (BOOL, _compared("LessEqual")),
    "logical_and": (BOOL, _logical("LogicalAnd")),
    "logical_or": (BOOL, _logical("LogicalOr")),
    "logical_xor": (BOOL, lambda w, x, y: w.op("NotEqual", _truth(w, x), _truth(w, y))),
    "lt": (BOOL, _compared("Less")),
    "maximum": (KEEP, _or_on_bool("Maximum", "LogicalOr")),
    "max.other": (KEEP, _or_on_bool("Maximum", "LogicalOr")),
    "minimum": (KEEP, _or_on_bool("Minimum", "LogicalAnd")),
    "min.other": (KEEP, _or_on_bool("Minimum", "LogicalAnd")),
    "mul": (KEEP, _or_on_bool("Mul", "LogicalAnd")),
    "ne": (BOOL, _compared("NotEqual")),
    "remainder": (KEEP, lambda w, x, y: w.op("FloorMod", x, y)),
    "special_zeta": (FLOAT, _zeta),
    "xlogy": (FLOAT, _x_log_y),
}


# Ops that compute with a number as it is, and not with the nearest one of a narrow dtype.
_OF_WHOLE_NUMBERS = {"mul", "floor_divide"}


def _register_binary(name: str, kind: Any, write: Binary) -> None:
    def apply(w: Writer, x: Tensor | Scalar, y: Tensor | Scalar) -> Output:
        values, dtype = w.promoted(kind, x, y, rounds=name not in _OF_WHOLE_NUMBERS)
        return w.cast(write(w, *values), dtype)

    rule(name)(apply)


for _name, (_kind, _write) in _BINARY.items():
    _register_binary(_name, _kind, _write)


@rule("nextafter")
def _next_after(w: Writer, x: Tensor, y: Tensor) -> Output:
    (value, goal), _ = w.promoted(BOOL, x, y)  # in the promoted dtype
    if value.dtype in ("float32", "float64"):
        return w.op("NextAfter", value, goal)
    # Adds or subtracts one from the bits, which are a sign and a magnitude.
    bits = w.op("Bitcast", value, type="int16")
    one, zero = w.cast(1, dtypes.int16), _like(w, 0, value)
    grows = w.op("Equal", value < goal, value > zero)
    moved = w.op("SelectV2", grows, w.op("AddV2", bits, one), w.op("Sub", bits, one))
    out = w.op("Bitcast", moved, type=value.dtype)
    least = w.op("Bitcast", one, type=value.dtype)
    from_zero = w.op("SelectV2", goal > zero, least, w.op("Neg", least))
    out = w.op("SelectV2", w.op("Equal", value, zero), from_zero, out)
    out = w.op("SelectV2", w.op("Equal", value, goal), goal, out)
    nan = _like(w, math.nan, value)
    is_nan = w.op("LogicalOr", w.op("IsNan", value), w.op("IsNan", goal))
    return w.op("SelectV2", is_nan, nan, out)


def _scaled(w: Writer, x: Output, factor: Scalar) -> Output:
    is_whole = isinstance(factor, int | float) and factor == 1
    return x if is_whole else x * _like(w, factor, x)


@rule("add")
def _add(w: Writer, x: Any, y: Any, *, alpha: Scalar = 1) -> Output:
    (x, y), dtype = w.promoted(KEEP, x, y)
    if x.dtype == "bool":
        return w.op("LogicalOr", x, y)
    return w.cast(w.op("AddV2", x, _scaled(w, y, alpha)), dtype)


@rule("sub")
def _sub(w: Writer, x: Any, y: Any, *, alpha: Scalar = 1) -> Output:
    (x, y), dtype = w.promoted(KEEP, x, y)
    return w.cast(w.op("Sub", x, _scaled(w, y, alpha)), dtype)


@rule("rsub")
def _rsub(w: Writer, x: Any, y: Any, alpha: Scalar = 1) -> Output:
    return _sub(w, y, x, alpha=alpha)


_DIVISIONS: dict[str | None, tuple[Any, Binary]] = {
    None: (FLOAT, lambda w, x, y: w.op("RealDiv", x, y)),
    "trunc": (KEEP, _truncated_division),
    "floor": (KEEP, _floor_division),
}


@rule("div", "true_divide")
def _div(w: Writer, x: Any, y: Any, *, rounding_mode: str | None = None) -> Output:
    kind, write = _DIVISIONS[rounding_mode]
    values, dtype = w.promoted(kind, x, y)
    is_tensor = isinstance(y, Tensor) and y.rank > 0
    if rounding_mode == "trunc" and is_tensor and values[0].dtype != dtype.name:
        # Truncates a quotient rounded to the narrow dtype.
        return _truncated(w, w.cast(w.op("RealDiv", *values), dtype))
    return w.cast(write(w, *values), dtype)


_POWERS: dict[float, Unary] = {
    1.0: lambda w, x: x,
    2.0: _node("Square"),
    3.0: lambda w, x: x * w.op("Square", x),
    0.5: _node("Sqrt"),
    -0.5: _node("Rsqrt"),
    -1.0: _node("Reciprocal"),
}


def _power_of_integers(w: Writer, x: Output, y: Output) -> Output:
    """Computes integer powers. A negative exponent truncates 1 / x: 1 and -1 have a power, others
    zero."""
    zero, one = _like(w, 0, x), _like(w, 1, x)
    whole = _computed_wider("Pow")(w, x, w.op("Maximum", y, zero))
    size_is_one = w.op("LogicalOr", x == one, x == -one)
    odd = w.op("BitwiseAnd", y, one) == one
    inverse = w.op("SelectV2", size_is_one, w.op("SelectV2", odd, x, one), zero)
    return w.op("SelectV2", y < zero, inverse, whole)


@rule("pow")
def _pow(w: Writer, x: Any, y: Any) -> Output:
    (base, exponent), dtype = w.promoted(POWER, x, y)
    is_number = isinstance(y, int | float)
    special = _POWERS.get(y) if is_number and _is_floating(base) else None
    if special:
        return w.cast(special(w, base), dtype)
    if base.dtype.startswith("int") and not is_number:
        return w.cast(_power_of_integers(w, base, exponent), dtype)
    return w.cast(_computed_wider("Pow")(w, base, exponent), dtype)


# ---- three operands and more


@rule("where")
def _where(w: Writer, condition: Tensor, x: Any, y: Any) -> Output:
    (x, y), dtype = w.promoted(KEEP, x, y)
    # Selection computes nothing, so the numbers needn't have the compute dtype.
    return w.op("SelectV2", _truth(w, condition.out), w.cast(x, dtype), w.cast(y, dtype))


def _bound(x: Tensor, bound: Any) -> Any:
    """Clamps a number to the range of x's integer dtype, so that it can be compared with x."""
    is_integer = not (x.dtype.is_floating_point or x.dtype.is_complex or x.dtype == dtypes.bool_)
    if not is_integer or not isinstance(bound, int):
        return bound
    limits = dtypes.limits(x.dtype)
    return sorted((int(limits.min), bound, int(limits.max)))[1]


@rule("clamp", "clip")
def _clamp(w: Writer, x: Tensor, min: Any = None, max: Any = None) -> Output:
    min, max = _bound(x, min), _bound(x, max)
    given = [v for v in (min, max) if v is not None]
    (value, *bounds), dtype = w.promoted(KEEP, x, *given)
    if min is not None:
        value = _or_on_bool("Maximum", "LogicalOr")(w, value, bounds.pop(0))
    if max is not None:
        value = _or_on_bool("Minimum", "LogicalAnd")(w, value, bounds.pop(0))
    return w.cast(value, dtype)


@rule("clamp_min")
def _clamp_min(w: Writer, x: Tensor, min: Any) -> Output:
    return _clamp(w, x, min)


@rule("clamp_max")
def _clamp_max(w: Writer, x: Tensor, max: Any) -> Output:
    return _clamp(w, x, None, max)


@rule("addcmul")
def _addcmul(w: Writer, x: Tensor, y: Any, z: Any, *, value: Scalar = 1) -> Output:
    (x, y, z), dtype = w.promoted(KEEP, x, y, z)
    return w.cast(x + _scaled(w, y * z, value), dtype)


@rule("addcdiv")
def _addcdiv(w: Writer, x: Tensor, y: Any, z: Any, *, value: Scalar = 1) -> Output:
    (x, y, z), dtype = w.promoted(FLOAT, x, y, z)
    return w.cast(x + _scaled(w, w.op("RealDiv", y, z), value), dtype)


@rule("lerp")
def _lerp(w: Writer, start: Tensor, end: Tensor, weight: Any) -> Output:
    (start, end, weight), dtype = w.promoted(KEEP, start, end, weight)
    return w.cast(start + weight * (end - start), dtype)


@rule("masked_fill")
def _masked_fill(w: Writer, x: Tensor, mask: Tensor, value: Any) -> Output:
    return w.op("SelectV2", mask, w.cast(value, x.dtype), x)


@rule("nan_to_num")
def _nan_to_num(
    w: Writer,
    x: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Output | Tensor:
    if x.dtype.is_complex:
        parts = [_numbers(w, part, nan, posinf, neginf) for part in parts_of(w, x.out)]
        return w.op("Complex", *parts, Tout=dtypes.name_of(x.dtype))
    return _numbers(w, x.out, nan, posinf, neginf) if x.dtype.is_floating_point else x


def _numbers(
    w: Writer, value: Output, nan: float | None, posinf: float | None, neginf: float | None
) -> Output:
    limits = dtypes.limits(dtypes.named(value.dtype))
    chosen = w.op("SelectV2", w.op("IsNan", value), _like(w, nan or 0.0, value), value)
    for infinity, given, limit in ((math.inf, posinf, limits.max), (-math.inf, neginf, limits.min)):
        number = _like(w, limit if given is None else given, value)
        chosen = w.op("SelectV2", value == _like(w, infinity, value), number, chosen)
    return chosen


# ---- of other dtypes, and more functions


@rule("_to_copy", "to")
def _to_copy(w: Writer, x: Tensor, *_: Any, **__: Any) -> Output:
    """Converts to a dtype; layouts, devices and memory formats are ignored."""
    return _converted(w, x, w.result.dtype)


@rule("prims.convert_element_type")
def _convert(w: Writer, x: Tensor, dtype: DType) -> Output:
    return _converted(w, x, dtype)


def _converted(w: Writer, x: Tensor, dtype: DType) -> Output:
    if dtype == dtypes.bool_:
        return _truth(w, x.out)
    # Truncates toward zero, like both ops.
    return w.cast(x, dtype)


@rule("polygamma")
def _polygamma(w: Writer, n: int, x: Tensor) -> Output:
    (value,), dtype = w.promoted(FLOAT, x)
    if n == 0:
        return w.cast(_digamma(w, value), dtype)
    if n == 1:
        return w.cast(_trigamma(w, value), dtype)
    return w.cast(_derivative_of_digamma(w, n, value), dtype)


def _derivative_of_digamma(w: Writer, n: int, x: Output) -> Output:
    return w.op("Polygamma", w.op("Fill", w.op("Shape", x), _like(w, n, x)), x)


def _trigamma(w: Writer, x: Output) -> Output:
    """Computes trigamma; below 1/2 from the value at 1 - x (Digital Library of Mathematical
    Functions, 5.15.6)."""
    is_low = x < 0.5
    inner = _derivative_of_digamma(w, 1, w.op("SelectV2", is_low, 1.0 - x, x))
    sine = w.op("Sin", (x - w.op("Floor", x)) * math.pi)
    mirrored = w.op("RealDiv", _like(w, math.pi**2, x), w.op("Square", sine)) - inner
    return w.op("SelectV2", is_low, mirrored, inner)
