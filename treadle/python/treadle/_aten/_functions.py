"""Elementwise functions that are composed of others."""

from __future__ import annotations

import math
from typing import Any

from .._errors import UnimplementedError
from . import _dtypes as dtypes
from . import _elementwise, _layers, _matrices, _reductions  # noqa: F401
from ._operands import Operand, call, composed, constant, counted, operand, together, where
from ._rules import RULES, rule

# ---- other names

_ALIASES = {
    "fix": "trunc", "special_digamma": "digamma", "special_psi": "digamma", "special_erfc": "erfc",
    "special_erfinv": "erfinv", "special_exp2": "exp2", "special_gammainc": "igamma",
    "special_gammaincc": "igammac", "special_gammaln": "lgamma", "special_logsumexp": "logsumexp",
    "special_polygamma": "polygamma", "special_round": "round", "special_xlogy": "xlogy",
    "special_softmax": "softmax.int", "special_log_softmax": "log_softmax.int",
    "linalg_matmul": "matmul",
}  # fmt: skip

for _name, _same in _ALIASES.items():
    rule(_name)(RULES[f"aten.{_same}"])


# ---- one input


@composed("deg2rad")
def _radians(x: Operand) -> Operand:
    return x.floating() * (math.pi / 180)


@composed("rad2deg")
def _degrees(x: Operand) -> Operand:
    return x.floating() * (180 / math.pi)


@composed("sinc", "special_sinc")
def _sinc(x: Operand) -> Operand:
    x = x.floating()
    x = x.to(dtypes.float32) if x.dtype.itemsize == 2 else x  # pi times x may overflow it
    scaled = x * math.pi
    return where(x.eq(0), 1, scaled.sin() / scaled)


@composed("logit", "special_logit")
def _logit(x: Operand, eps: float | None = None) -> Operand:
    x = x.floating()
    if eps is not None:
        x = where(x < eps, eps, where(x > 1 - eps, 1 - eps, x))
    return (x / (1 - x)).log()


@composed("isposinf")
def _is_infinite(x: Operand) -> Operand:
    return x.eq(math.inf)


@composed("isneginf")
def _is_minus_infinite(x: Operand) -> Operand:
    return x.eq(-math.inf)


@composed("isreal")
def _is_real(x: Operand) -> Operand:
    return x.imag().eq(0) if x.dtype.is_complex else x.filled(True, dtypes.bool_)


@composed("special_entr")
def _entropy(x: Operand) -> Operand:
    x = x.floating()
    inside = where(x.eq(0), 0, where(x > 0, -x * x.log(), -math.inf))
    return where(x.isnan(), x, inside)


@composed("special_ndtr")
def _normal_distribution(x: Operand) -> Operand:
    return (x.floating() * -math.sqrt(0.5)).erfc() * 0.5


@composed("mvlgamma", "special_multigammaln")
def _multivariate_lgamma(x: Operand, p: int) -> Operand:
    x = x.floating()
    total = x.lgamma()
    for j in range(1, p):
        total = total + (x - j / 2).lgamma()
    return total + p * (p - 1) / 4 * math.log(math.pi)


@composed("special_spherical_bessel_j0")
def _spherical_bessel(x: Operand) -> Operand:
    x = x.floating()
    square = x * x
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    return where(x.isinf(), 0, where(x.abs() < 0.5, series, x.sin() / x))


@composed("hardshrink")
def _hardshrink(x: Operand, lambd: float = 0.5) -> Operand:
    return where(call("bitwise_and", x >= -lambd, x <= lambd), 0, x)


@composed("softshrink")
def _softshrink(x: Operand, lambd: float = 0.5) -> Operand:
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))


@composed("rrelu")
def _rrelu(
    x: Operand, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any
) -> Any:
    return NotImplemented if training else x.leaky_relu((lower + upper) / 2)


def _register_cast(name: str, dtype: dtypes.DType) -> None:
    @composed(f"_cast_{name}")
    def cast(x: Operand, non_blocking: bool = False) -> Operand:
        return x.to(dtype)


for _name, _dtype in {
    "Byte": dtypes.uint8, "Char": dtypes.named("int8"), "Double": dtypes.float64,
    "Float": dtypes.float32, "Half": dtypes.float16, "Int": dtypes.int32, "Long": dtypes.int64,
    "Short": dtypes.int16,
}.items():  # fmt: skip
    _register_cast(_name, _dtype)


# ---- two inputs


@composed("heaviside")
def _heaviside(x: Operand, values: Operand) -> Operand:
    return where(x.eq(0), values, (x > 0).to(x.dtype))


@composed("float_power")
def _float_power(x: Any, y: Any) -> Operand:
    is_complex = together(x, y).is_complex
    dtype = dtypes.complex128 if is_complex else dtypes.float64
    x, y = (v.to(dtype) if isinstance(v, Operand) else v for v in (x, y))
    return call("pow", x, y)


@composed("logaddexp")
def _log_of_sum(x: Operand, y: Operand) -> Operand:
    return _added_in_logarithms(x, y, 1.0)


@composed("logaddexp2")
def _log2_of_sum(x: Operand, y: Operand) -> Operand:
    return _added_in_logarithms(x, y, math.log(2))


def _added_in_logarithms(x: Operand, y: Operand, base: float) -> Operand:
    """Computes log_b(b^x + b^y), stably, with the larger exponent factored out; b = exp(base)."""
    x, y = x.floating(), y.floating()
    if x.dtype.is_complex:
        raise UnimplementedError("sums of logarithms of complex numbers")
    rest = (-(x - y).abs() * base).exp().log1p() / base
    return where(x.eq(y) & x.isinf(), x, x.maximum(y) + rest)


@composed("special_xlog1py")
def _x_log1p_y(x: Any, y: Any) -> Operand:
    w = next(v.writer for v in (x, y) if isinstance(v, Operand))
    dtype = together(x, y)
    x, y = (v if isinstance(v, Operand) else operand(w, w.cast(v, dtype)) for v in (x, y))
    x, y = x.floating(), y.floating()
    return where(y.isnan(), y, where(x.eq(0), 0, x * y.log1p()))


@composed("isclose")
def _is_close(
    x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Operand:
    close = x.eq(y)
    if equal_nan:
        close = close | (x.isnan() & y.isnan())
    if rtol == 0 and atol == 0:
        return close
    distance = (x - y).abs() if x.dtype != dtypes.bool_ else x.ne(y).to(dtypes.int64)
    allowed = (y.floating() * rtol).abs() + atol
    return close | (distance.isfinite() & (distance <= allowed))


@composed("addr")
def _outer_sum(x: Operand, y: Operand, z: Operand, *, beta: Any = 1, alpha: Any = 1) -> Operand:
    outer = y.unsqueeze(1) * z
    if outer.dtype == dtypes.bool_:
        product = outer if alpha else outer & False
        return product | x if beta else product
    scaled = outer * alpha
    return scaled + x * beta if beta != 0 else scaled


# ---- reductions


@composed("isin")
def _is_in(x: Any, y: Any, *, assume_unique: bool = False, invert: bool = False) -> Operand:
    if not isinstance(y, Operand):
        found = call("eq", x, y)
    elif not isinstance(x, Operand):
        found = call("eq", y, x).any()
    else:
        found = call("eq", x.unsqueeze(-1), y.flat()).any([-1])
    return found.logical_not() if invert else found


@composed("nansum")
def _sum_of_numbers(
    x: Operand, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Operand:
    x = x if dtype is None else x.to(dtype)
    return where(x.isnan(), 0, x).to(x.dtype).sum(dim, keepdim)


@composed("nanmean")
def _mean_of_numbers(
    x: Operand, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Operand:
    total = _sum_of_numbers(x, dim, keepdim, dtype=dtype)
    return total / x.isnan().logical_not().sum(dim, keepdim)


def _quantile(
    x: Operand, q: Any, dim: int | None, keepdim: bool, interpolation: str, skips_nan: bool
) -> Operand:
    """Interpolates between the two sorted elements at quantile q; NaN come last."""
    rank, axis = x.rank, 0 if dim is None else x.axis(dim)
    q = q if isinstance(q, Operand) else constant(x, q, x.dtype)
    rows = (x.flat() if dim is None else x).movedim(axis, -1) if rank else x.reshape([1])
    ordered = rows.sort()[0]
    has_nan = rows.isnan()
    ordered = where(has_nan.sum([-1], True) > 0, _nan_last(rows), ordered)
    count = has_nan.logical_not().sum([-1], True).to(x.dtype)
    last = count - 1 if skips_nan else count * 0 + (rows.static_size(-1, "quantiles") - 1)
    place = last.clamp_min(0).unsqueeze(0) * q.reshape([-1, *[1] * rows.rank])
    if not skips_nan:
        place = where(has_nan.any([-1], True).unsqueeze(0), rows.static_size(-1, "") - 1, place)
    found = _between(ordered, place.to(x.dtype), interpolation)
    if keepdim and rank:
        found = found.unsqueeze(-1).movedim(-1, axis + 1) if dim is not None else found.reshape(
            [*found.shape[:1], *[1] * rank])  # fmt: skip
    return found if q.rank else found.squeeze(0)


def _nan_last(rows: Operand) -> Operand:
    """Returns sorted rows with NaN after all numbers."""
    known = where(rows.isnan(), math.inf, rows).sort()[0]
    numbers = counted(rows, rows.size(-1))
    return where(numbers < rows.isnan().logical_not().sum([-1], True), known, math.nan)


def _between(ordered: Operand, place: Operand, interpolation: str) -> Operand:
    """Returns the values of rows at positions that may be between two elements."""
    below, above = place.floor(), place.ceil()
    if interpolation == "nearest":
        below = above = place.round()
    low, high = (_at(ordered, p) for p in (below, above))
    if interpolation in ("lower", "nearest"):
        return low
    if interpolation == "higher":
        return high
    share = place.squeeze(-1) - below.squeeze(-1) if interpolation == "linear" else 0.5
    return call("lerp", low, high, share)


def _at(rows: Operand, place: Operand) -> Operand:
    """Returns the elements of [..., n] at positions [k, ..., 1], as [k, ...]."""
    wide = rows.unsqueeze(0).expand([*place.shape[:-1], rows.shape[-1]])
    return call("gather", wide, -1, place.to(dtypes.int64)).squeeze(-1)


def _register_quantile(name: str, skips_nan: bool) -> None:
    @composed(name)
    def quantile(
        x: Operand,
        q: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Operand:
        return _quantile(x, q, dim, keepdim, interpolation, skips_nan)


_register_quantile("quantile", False)
_register_quantile("nanquantile", True)
