"""Exports JAX programs family by family: python3 jax_families.py FOLDER [NAME...], with JAX.

It writes the same files as jax_programs.py. Those programs are like ones that people write; these
cover the functions of each family, with their types and options.
"""

import sys

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax
from jax_programs import Programs

R = np.random.default_rng(1)
PROGRAMS = Programs()
case = PROGRAMS.case
dynamic = PROGRAMS.dynamic


def f(*shape):
    return R.standard_normal(shape).astype(np.float32)


def ints(*shape, low=-9, high=9, dtype=np.int32):
    return R.integers(low, high, shape).astype(dtype)


KEY = np.array([7, 11], np.uint32)

# --- elementwise, by type ------------------------------------------------------------------------

REALS = {
    "exp_log": (
        jnp.exp,
        jnp.exp2,
        jnp.expm1,
        lambda x: jnp.log(abs(x)),
        lambda x: jnp.log1p(x * x),
    ),
    "trig": (jnp.sin, jnp.cos, jnp.tan, jnp.arctan, jnp.sinc, jnp.deg2rad),
    "hyperbolic": (jnp.sinh, jnp.cosh, jnp.tanh, jnp.arcsinh, lambda x: jnp.arccosh(x * x + 1)),
    "rounding": (jnp.floor, jnp.ceil, jnp.round, jnp.trunc, jnp.rint, lambda x: jnp.round(x, 1)),
    "roots": (lambda x: jnp.sqrt(abs(x)), jnp.cbrt, jnp.square, lambda x: lax.rsqrt(abs(x) + 1)),
    "tests": (jnp.isnan, jnp.isinf, jnp.isfinite, jnp.signbit, jnp.isposinf),
    "signs": (jnp.abs, jnp.sign, jnp.negative, jnp.positive, jnp.reciprocal, jnp.nan_to_num),
    "parts": (
        lambda x: jnp.frexp(x)[0],
        lambda x: jnp.frexp(x)[1],
        lambda x: jnp.modf(x)[0],
        lambda x: jnp.ldexp(x, 3),
        jnp.spacing,
    ),
}
SPECIALS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, np.inf, -np.inf, np.nan, 1e-5, 100.0])
for kind, functions in REALS.items():
    for name in ("float32", "float16", "bfloat16"):
        if kind == "parts" and name != "float32":
            continue
        case(
            f"{kind}_{name}",
            lambda x, functions=functions, name=name: [
                jnp.asarray(g(x.astype(name))).astype(
                    "float32" if jnp.issubdtype(g(x.astype(name)).dtype, jnp.floating) else None
                )
                for g in functions
            ],
            np.concatenate([SPECIALS, R.standard_normal(8)]).astype(np.float32),
        )
    case(
        f"{kind}_float64",
        lambda x, functions=functions: [g(x) for g in functions],
        np.concatenate([SPECIALS, R.standard_normal(8)]),
        x64=True,
    )

PAIRS = (
    jnp.add,
    jnp.subtract,
    jnp.multiply,
    jnp.maximum,
    jnp.minimum,
    jnp.equal,
    jnp.not_equal,
    jnp.less,
    jnp.less_equal,
    jnp.greater,
    jnp.greater_equal,
    jnp.floor_divide,
    jnp.remainder,
    jnp.true_divide,
)
BITS = (
    jnp.bitwise_and,
    jnp.bitwise_or,
    jnp.bitwise_xor,
    lambda a, b: ~a,
    jnp.left_shift,
    jnp.right_shift,
    lambda a, b: lax.population_count(a),
    lambda a, b: lax.clz(a),
    jnp.gcd,
    jnp.lcm,
    lambda a, b: jnp.power(a, 3),
    lambda a, b: jnp.sign(a),
    lambda a, b: jnp.abs(a),
)
for name in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
    small = np.array([0, 1, 2, 3, 7, 100, 5, 6], name)
    other = np.array([1, 2, 3, 1, 4, 7, 2, 5], name)
    case(f"arithmetic_{name}", lambda a, b: [g(a, b) for g in PAIRS], small, other)
    case(f"bits_{name}", lambda a, b: [g(a, b) for g in BITS], small, other)
for name in ("int64", "uint64"):
    small = np.array([0, 1, 2, 3, 7, 100, 5, 2**40], name)
    other = np.array([1, 2, 3, 1, 4, 7, 2, 3], name)
    case(f"arithmetic_{name}", lambda a, b: [g(a, b) for g in PAIRS], small, other, x64=True)
    case(f"bits_{name}", lambda a, b: [g(a, b) for g in BITS], small, other, x64=True)
for name in ("float16", "bfloat16"):
    case(
        f"arithmetic_{name}",
        lambda a, b, name=name: [
            g(a.astype(name), b.astype(name)).astype(jnp.float32)
            for g in (*PAIRS, jnp.power, jnp.arctan2, jnp.hypot, jnp.fmod, jnp.logaddexp2)
        ],
        np.abs(f(8)) + 0.1,
        np.abs(f(8)) + 0.1,
    )
case(
    "arithmetic_float64",
    lambda a, b: [
        g(a, b)
        for g in (
            *PAIRS,
            jnp.power,
            jnp.arctan2,
            jnp.hypot,
            jnp.fmod,
            jnp.logaddexp,
            jnp.nextafter,
            jnp.copysign,
            jnp.heaviside,
        )
    ],
    np.abs(R.standard_normal(8)),
    R.standard_normal(8),
    x64=True,
)
case(
    "arithmetic_bool",
    lambda a, b: [
        jnp.logical_and(a, b),
        jnp.logical_or(a, b),
        jnp.logical_xor(a, b),
        jnp.logical_not(a),
        a == b,
        a < b,
        a >= b,
        jnp.maximum(a, b),
        a + b,
        a * b,
        a & b,
        a | b,
        a ^ b,
        ~a,
        jnp.where(a, 1, 2),
        a.astype(jnp.int8),
    ],
    np.array([0, 0, 1, 1], bool),
    np.array([0, 1, 0, 1], bool),
)
C = (R.standard_normal(6) + 1j * R.standard_normal(6)).astype(np.complex64)
D = (R.standard_normal(6) + 1j * R.standard_normal(6)).astype(np.complex64)
COMPLEX = (
    jnp.exp,
    jnp.log,
    jnp.sqrt,
    jnp.sin,
    jnp.cos,
    jnp.tan,
    jnp.tanh,
    jnp.sinh,
    jnp.cosh,
    jnp.abs,
    jnp.angle,
    jnp.conj,
    jnp.real,
    jnp.imag,
    jnp.square,
    jnp.reciprocal,
    jnp.negative,
    jnp.sign,
    lax.rsqrt,
    jnp.log1p,
    jnp.expm1,
)
for g in COMPLEX:
    case(f"complex_{g.__name__}", g, C)
for g in (jnp.arcsin, jnp.arccos, jnp.arctan, jnp.arcsinh, jnp.arccosh, jnp.arctanh):
    case(f"complex_{g.__name__}", g, C)
case(
    "complex_pairs",
    lambda a, b: [a + b, a - b, a * b, a / b, a**b, a == b, a != b, jnp.where(a == b, a, b), a**2],
    C,
    D,
)
case(
    "complex_products",
    lambda a, b: (
        jnp.dot(a, b),
        jnp.vdot(a, b),
        jnp.outer(a, b),
        a.sum(),
        a.prod(),
        a.mean(),
        jnp.cumsum(a),
        jnp.einsum("i,j->ij", a, jnp.conj(b)),
    ),
    C,
    D,
)
case(
    "complex128",
    lambda a, b: [a * b, a / b, jnp.exp(a), jnp.abs(b), jnp.sum(a)],
    C.astype(np.complex128),
    D.astype(np.complex128),
    x64=True,
)
case("complex_sort", jnp.sort, C)
case(
    "converts",
    lambda x: [
        x.astype(t)
        for t in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "bool", "float16")
    ],
    np.array(
        [
            0.0,
            1.5,
            -1.5,
            127.6,
            128,
            255,
            256,
            65535,
            65536,
            1e6,
            3e9,
            5e9,
            -3e9,
            np.inf,
            -np.inf,
            np.nan,
        ],
        np.float32,
    ),
)
case(
    "converts_from_ints",
    lambda x: [
        x.astype(t)
        for t in (
            "int8",
            "int16",
            "uint8",
            "uint16",
            "uint32",
            "bool",
            "float16",
            "float32",
            "bfloat16",
            "complex64",
        )
        if t != "bfloat16"
    ],
    np.array([0, 1, -1, 127, 128, 255, 256, -129, 65535, 65536, 2**31 - 1, -(2**31)], np.int32),
)
case(
    "small_floats",
    lambda x: [
        x.astype(t).astype(jnp.float32)
        for t in (
            jnp.float8_e4m3fn,
            jnp.float8_e5m2,
            jnp.float8_e4m3b11fnuz,
            jnp.float8_e5m2fnuz,
            jnp.float8_e4m3fnuz,
        )
    ],
    np.array([0.0, 1.0, 0.3, -2.7, 17.0, 100.0, 0.001], np.float32),
)
case(
    "small_ints",
    lambda x: [x.astype(t).astype(jnp.int32) for t in (jnp.int4, jnp.uint4, jnp.int2, jnp.uint2)],
    np.array([0, 1, -1, 2, 3, 1], np.int32),
)
case(
    "f8_product",
    lambda a, b: lax.dot(
        a.astype(jnp.float8_e4m3fn), b.astype(jnp.float8_e4m3fn), preferred_element_type=jnp.float32
    ),
    f(3, 4),
    f(4, 2),
)

# --- special functions ---------------------------------------------------------------------------

U = np.array([0.05, 0.3, 0.9, 1.0, 1.7, 2.5, 4.0, 9.0], np.float32)
V = np.array([0.1, 0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99], np.float32)
for name in (
    "erf",
    "erfc",
    "erfinv",
    "gammaln",
    "digamma",
    "gamma",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "ndtr",
    "ndtri",
    "log_ndtr",
    "logit",
    "expit",
    "entr",
    "spence",
    "exp1",
    "expi",
    "factorial",
    "loggamma",
    "sici",
):
    case(f"special_{name}", getattr(jsp.special, name), V)
case(
    "special_pairs",
    lambda a, x: (
        jsp.special.gammainc(a, x),
        jsp.special.gammaincc(a, x),
        jsp.special.zeta(a + 1.5, x),
        jsp.special.betaln(a, x),
        jsp.special.xlogy(a, x),
        jsp.special.xlog1py(a, x),
        jsp.special.beta(a, x),
        jsp.special.rel_entr(a, x),
        jsp.special.kl_div(a, x),
    ),
    U,
    V,
)
case("special_polygamma", lambda x: (jsp.special.polygamma(1, x), jsp.special.polygamma(3, x)), U)
case("special_betainc", lambda a, b, x: jsp.special.betainc(a, b, x), U, U[::-1].copy(), V)
case(
    "special_grads",
    lambda a, x: (
        [
            jax.grad(lambda x, g=g: g(x).sum())(x)
            for g in (
                lax.lgamma,
                lax.digamma,
                lax.erf,
                lax.erf_inv,
                jsp.special.i0e,
                lax.bessel_i1e,
                jsp.special.ndtri,
            )
        ]
        + [jax.grad(lambda a: lax.igamma(a, x).sum())(a)]
    ),
    U,
    V,
)
case("special_bessel_jn", lambda x: jsp.special.bessel_jn(x, v=3), U)
case(
    "special_f64",
    lambda x: (lax.erf(x), lax.erf_inv(x), lax.lgamma(x), lax.digamma(x), lax.erfc(x)),
    V.astype(np.float64),
    x64=True,
)
case(
    "special_bf16",
    lambda x: [
        g(x.astype(jnp.bfloat16)).astype(jnp.float32)
        for g in (lax.erf, lax.lgamma, lax.digamma, lax.erf_inv)
    ],
    V,
)

# --- reductions ----------------------------------------------------------------------------------

case(
    "reduce_axes",
    lambda x: [
        g(x, axis=a, keepdims=k)
        for g in (jnp.sum, jnp.max, jnp.min, jnp.prod, jnp.mean)
        for a in (0, (0, 2), None, -1, ())
        for k in (False, True)
    ],
    f(2, 3, 4),
)
case(
    "reduce_where",
    lambda x, w: (
        jnp.sum(x, where=w),
        jnp.max(x, axis=1, where=w, initial=-5),
        jnp.mean(x, 0, where=w),
        jnp.std(x, where=w),
        jnp.any(x > 0, 1, where=w),
        jnp.all(x > 0, where=w),
    ),
    f(3, 4),
    f(3, 4) > -0.5,
)
case(
    "reduce_nan",
    lambda x: (
        jnp.max(x),
        jnp.min(x, 0),
        jnp.nansum(x),
        jnp.nanmax(x, 1),
        jnp.nanmean(x),
        jnp.argmax(x),
        jnp.nanargmin(x),
        jnp.sum(x, 0),
        jnp.nanstd(x),
    ),
    np.where(f(3, 4) > 1, np.nan, f(3, 4)).astype(np.float32),
)
for name in ("int8", "uint8", "int16", "bool", "float16", "bfloat16"):
    case(
        f"reduce_{name}",
        lambda x, name=name: [
            jnp.asarray(r).astype(jnp.float32)
            for r in (
                jnp.sum(x.astype(name)),
                jnp.max(x.astype(name), 0),
                jnp.min(x.astype(name), 1),
                jnp.prod(x.astype(name), 0),
                jnp.any(x.astype(name)),
                jnp.cumsum(x.astype(name), 1),
                jnp.argmax(x.astype(name), 1),
                jnp.sort(x.astype(name), 0),
            )
        ],
        ints(3, 4, low=0, high=5),
    )
case(
    "reduce_empty",
    lambda x: (jnp.sum(x), jnp.prod(x, 0), jnp.all(x > 0), x + 1, x.reshape(2, 0)),
    np.zeros((0, 2), np.float32),
)
case("reduce_large", lambda x: (jnp.sum(x), jnp.mean(x, 0), jnp.max(x, 1), jnp.var(x)), f(300, 400))
case(
    "arg_reductions",
    lambda x: [
        g(x, axis=a, keepdims=k)
        for g in (jnp.argmax, jnp.argmin)
        for a in (0, 1, None)
        for k in (False, True)
    ],
    np.round(f(4, 5) * 2),
)
case(
    "norms",
    lambda x: (
        jnp.linalg.norm(x),
        jnp.linalg.norm(x, axis=1),
        jnp.linalg.norm(x, 1, 0),
        jnp.linalg.norm(x, jnp.inf, 1),
        jnp.ptp(x, 0),
        jnp.average(x, 0),
    ),
    f(3, 4),
)
case(
    "statistics",
    lambda x: (
        jnp.cov(x),
        jnp.corrcoef(x),
        jnp.quantile(x, 0.3, axis=1),
        jnp.median(x, 0),
        jnp.histogram2d(x[0], x[1], bins=3)[0],
    ),
    f(3, 8),
)
case(
    "reduce_closure",
    lambda x, s: lax.reduce(x, jnp.float32(0), lambda a, b: a + b * 1.0, (1,)) + s,
    f(3, 4),
    f(),
)
case(
    "reduce_ands",
    lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (1,)), lax.reduce_xor(x, (0, 1))),
    f(3, 4) > 0,
)
case(
    "reduce_precision_op",
    lambda x: [
        lax.reduce_precision(x, e, m) for e, m in ((8, 7), (5, 10), (4, 3), (5, 2), (8, 23))
    ],
    f(20) * 50,
)
case(
    "logsumexp_axes",
    lambda x: (
        jsp.special.logsumexp(x, axis=(0, 1)),
        jax.nn.softmax(x, 0),
        jax.nn.log_softmax(x, (0, 1)),
        jax.nn.standardize(x),
    ),
    f(3, 4),
)

# --- cumulative ----------------------------------------------------------------------------------

case(
    "cumulative",
    lambda x: [
        g(x, axis=a, reverse=r)
        for g in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)
        for a in (0, 1)
        for r in (False, True)
    ],
    f(5, 7),
)
case("cumulative_int", lambda x: (jnp.cumsum(x), jnp.cumprod(x, 0), lax.cummax(x)), ints(4, 3))
case("cumulative_long", lambda x: (jnp.cumsum(x), lax.cummax(x)), f(5000))
case("cumulative_grad", jax.grad(lambda x: (jnp.cumsum(x, 0) * jnp.cumprod(x, 1)).sum()), f(4, 5))
case(
    "diff_trapezoid",
    lambda x: (
        jnp.diff(x),
        jnp.diff(x, 2, 0),
        jnp.trapezoid(x),
        jnp.gradient(x[0]),
        jnp.ediff1d(x),
    ),
    f(4, 6),
)
case(
    "assoc_scans",
    lambda x: (
        lax.associative_scan(jnp.maximum, x),
        lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x)),
        lax.associative_scan(jnp.add, x, reverse=True),
    ),
    f(13),
)

# --- sort ----------------------------------------------------------------------------------------

case(
    "sort_axes",
    lambda x: (jnp.sort(x, 0), jnp.sort(x, 1), jnp.sort(x, None), jnp.sort(x, descending=True)),
    f(6, 5),
)
for name in ("int8", "uint8", "int16", "uint32"):
    case(
        f"sort_{name}",
        lambda x: (jnp.sort(x), jnp.argsort(x)),
        ints(20, low=0, high=100, dtype=name),
    )
case("sort_bool", lambda x: (jnp.sort(x), jnp.argsort(x)), f(20) > 0)
case("sort_f16", lambda x: jnp.sort(x.astype(jnp.float16)).astype(jnp.float32), f(20))
case("sort_f64", jnp.sort, R.standard_normal(20), x64=True)
case(
    "sort_keys",
    lambda a, b, c: lax.sort((a, b, c), num_keys=2),
    ints(30, low=0, high=3),
    np.round(f(30)),
    f(30),
)
case("sort_pairs", lambda a, b: lax.sort_key_val(a, b), np.round(f(3, 10)), f(3, 10))
case(
    "sort_unstable",
    lambda a, b: lax.sort((a, b), num_keys=1, is_stable=False, dimension=0),
    f(9, 2),
    f(9, 2),
)
case(
    "argsort_axes",
    lambda x: (jnp.argsort(x, 0), jnp.argsort(x, descending=True), jnp.argsort(x, stable=False)),
    f(6, 5),
)
case("sort_long", lambda x: (jnp.sort(x), jnp.argsort(x)), f(20000))
case("top_ks", lambda x: (lax.top_k(x, 4), lax.top_k(-x, 1)), np.round(f(3, 11) * 3))
case("top_k_int", lambda x: lax.top_k(x, 3), ints(10))
case("top_k_grad", jax.grad(lambda x: (lax.top_k(x, 3)[0] ** 2).sum()), f(10))
case("approx_top_k", lambda x: lax.approx_max_k(x, 3), f(2, 16))
case("sort_grad", jax.grad(lambda x: (jnp.sort(x) * jnp.arange(10.0)).sum()), f(10))
case(
    "partition",
    lambda x: (
        jnp.partition(x, 3)[3],
        jnp.nanmedian(x),
        jnp.percentile(x, jnp.array([10.0, 50.0])),
    ),
    f(12),
)
case(
    "sets",
    lambda x, y: (
        jnp.isin(x, y),
        jnp.unique(x, size=8, return_counts=True, fill_value=-1),
        jnp.intersect1d(x, y, size=5),
        jnp.union1d(x, y, size=12),
    ),
    ints(10),
    ints(6),
)
case(
    "searches",
    lambda a, v: (
        [
            jnp.searchsorted(a, v, side=s, method=m)
            for s in ("left", "right")
            for m in ("scan", "sort", "compare_all", "scan_unrolled")
        ]
        + [jnp.digitize(v, a)]
    ),
    np.sort(f(20)),
    f(7),
)
case(
    "nonzeros",
    lambda x: (
        jnp.nonzero(x, size=6),
        jnp.flatnonzero(x, size=4, fill_value=-1),
        jnp.argwhere(x, size=5),
    ),
    np.maximum(np.round(f(4, 4)), 0),
)

# --- shapes --------------------------------------------------------------------------------------

case(
    "joins",
    lambda a, b: (
        jnp.concatenate([a, b], 0),
        jnp.stack([a, b], 1),
        jnp.vstack([a, b]),
        jnp.hstack([a, b]),
        jnp.dstack([a, b]),
        jnp.append(a, b),
        jnp.block([[a, b], [b, a]]),
    ),
    f(2, 3),
    f(2, 3),
)
case(
    "splits",
    lambda x: (
        jnp.split(x, 3),
        jnp.array_split(x, 4, 0),
        jnp.split(x, [1, 2], 1),
        jnp.hsplit(x, 2),
    ),
    f(6, 4),
)
case(
    "rolls",
    lambda x: (
        jnp.roll(x, 2),
        jnp.roll(x, (1, -1), (0, 1)),
        jnp.flip(x),
        jnp.flipud(x),
        jnp.rot90(x),
        jnp.swapaxes(x, 0, 1),
        jnp.moveaxis(x, 0, -1),
        lax.rev(x, (0,)),
    ),
    f(3, 4),
)
case("roll_dynamic", lambda x, k: jnp.roll(x, k, 1), f(3, 7), np.int32(-3))
for mode in (
    "constant",
    "edge",
    "reflect",
    "symmetric",
    "wrap",
    "linear_ramp",
    "maximum",
    "mean",
    "minimum",
    "empty",
):
    if mode != "empty":
        case(f"pad_{mode}", lambda x, mode=mode: jnp.pad(x, ((1, 2), (3, 0)), mode=mode), f(4, 5))
case(
    "tiles",
    lambda x: (
        jnp.tile(x, (2, 3)),
        jnp.repeat(x, 3, 0),
        jnp.repeat(x, jnp.array([1, 0, 2]), 0, total_repeat_length=3),
        jnp.broadcast_to(x, (2, 3, 4)),
        jnp.expand_dims(x, (0, 2)),
        jnp.ravel(x),
        jnp.resize(x, (5, 4)),
    ),
    f(3, 4),
)
case(
    "takes",
    lambda x, i: [jnp.take(x, i, axis=a, mode=m) for a in (0, 1) for m in ("clip", "wrap", "fill")],
    f(4, 5),
    np.array([[0, 7], [-2, 3]], np.int32),
)
case(
    "take_along_axes",
    lambda x, i: (jnp.take_along_axis(x, i, 1), jnp.take_along_axis(x, i % 4, 0)),
    f(4, 5),
    ints(4, 5, low=0, high=5),
)
case(
    "selects",
    lambda c, a, b: (
        jnp.where(c, a, b),
        jnp.select([c, a > 0], [a, b], 7.0),
        jnp.choose(c.astype(int), [a, b], mode="clip"),
        jnp.clip(a, b - 1, b + 1),
        jnp.piecewise(a, [a < 0, a >= 0], [lambda x: -x, lambda x: x * 2]),
    ),
    f(3, 4) > 0,
    f(3, 4),
    f(3, 4),
)
case(
    "select_many",
    lambda i, a, b, c: lax.select_n(i, a, b, c),
    ints(4, low=0, high=3),
    f(4),
    f(4),
    f(4),
)
case("select_scalar", lambda p, a, b: lax.select(p, a, b), np.bool_(False), f(3), f(3))
case(
    "triangles",
    lambda x: (
        jnp.tril(x),
        jnp.triu(x, 1),
        jnp.diag(x[0]),
        jnp.diagonal(x),
        jnp.trace(x),
        jnp.fill_diagonal(x, 5.0, inplace=False),
        jnp.diagflat(x[0], 1),
        jnp.vander(x[0]),
    ),
    f(4, 4),
)
case(
    "ranges",
    lambda: (
        jnp.arange(3, 10, 2),
        jnp.linspace(0, 1, 7),
        jnp.logspace(0, 2, 4),
        jnp.geomspace(1.0, 8.0, 4),
        jnp.identity(3),
        jnp.full((2, 2), 7),
        jnp.indices((2, 3)),
        jnp.zeros((0, 3)),
        jnp.arange(4.0, dtype=jnp.bfloat16).astype(jnp.float32),
    ),
)
case(
    "packs",
    lambda x: (jnp.packbits(x), jnp.unpackbits(jnp.packbits(x))),
    ints(16, low=0, high=2, dtype=np.uint8),
)
case(
    "indexing",
    lambda x, i: (
        x[1],
        x[-1, ..., 0],
        x[:, i],
        x[i, :, i],
        x[1:, None, ::-2],
        x[jnp.array([True, False, True]).nonzero(size=2)[0]],
        x[..., jnp.array([[0, 1], [2, 3]])],
        x.at[1].get(mode="fill", fill_value=0),
        x[i][:, i],
    ),
    f(3, 4, 5),
    np.array([2, 0], np.int32),
)
case(
    "space_to_depth",
    lambda x: x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(1, 2, 2, 12),
    f(1, 4, 4, 3),
)
case(
    "meshgrids",
    lambda a, b: (
        jnp.meshgrid(a, b, indexing="ij"),
        jnp.ix_(a, b),
        jnp.broadcast_arrays(a[:, None], b),
    ),
    f(3),
    f(2),
)

# --- slices and updates --------------------------------------------------------------------------

case(
    "dynamic_slices",
    lambda x, i, j: (
        lax.dynamic_slice(x, (i, j), (2, 2)),
        lax.dynamic_index_in_dim(x, i, 0, keepdims=False),
        lax.dynamic_slice_in_dim(x, j, 3, 1),
        lax.dynamic_update_slice(x, x[:2, :2] * 2, (j, i)),
        lax.dynamic_update_index_in_dim(x, x[0], i, 0),
    ),
    f(5, 6),
    np.int32(-2),
    np.int32(9),
)
case("dynamic_slice_u8", lambda x, i: lax.dynamic_slice(x, (i,), (3,)), f(6), np.uint8(2))
case(
    "slice_strides",
    lambda x: (
        lax.slice(x, (1, 0), (5, 6), (2, 3)),
        x[::-2, 4:1:-1],
        lax.slice_in_dim(x, 1, -1, 2, 1),
    ),
    f(6, 6),
)
UPDATES = (
    lambda r, u: r.set(u),
    lambda r, u: r.add(u),
    lambda r, u: r.multiply(u),
    lambda r, u: r.max(u),
    lambda r, u: r.min(u),
    lambda r, u: r.divide(u),
    lambda r, u: r.power(2.0),
)
case(
    "at_updates",
    lambda x, i, u: [g(x.at[i], u) for g in UPDATES],
    f(5, 3),
    np.array([0, 2, 4], np.int32),
    np.abs(f(3, 3)) + 1,
)
case(
    "at_nd",
    lambda x, i, j, u: (
        x.at[i, j].add(u),
        x.at[:, j].set(u[:, None].T),
        x.at[1:3, ::2].set(0),
        x.at[i, :].min(0.0),
        x.at[..., -1].multiply(2),
    ),
    f(5, 4),
    np.array([0, 2, 4], np.int32),
    np.array([1, 1, 3], np.int32),
    f(3),
)
case(
    "at_modes",
    lambda x, i, u: (
        [x.at[i].set(u, mode=m) for m in ("drop", "clip")]
        + [x.at[i].add(u, mode="fill"), x.at[i].add(u, indices_are_sorted=True)]
    ),
    f(5),
    np.array([1, 3, 7], np.int32),
    f(3),
)
case(
    "at_unique",
    lambda x, i, u: x.at[i].add(u, unique_indices=True),
    f(5),
    np.array([3, 0], np.int32),
    f(2),
)
case(
    "at_int",
    lambda x, i: (x.at[i].add(1), x.at[i].max(3), x.at[i].set(-1)),
    ints(6),
    np.array([1, 1, 5], np.int32),
)
case(
    "at_bool",
    lambda x, i: (x.at[i].set(True), x.at[i].max(True)),
    f(6) > 0,
    np.array([1, 1, 5], np.int32),
)
case(
    "at_f16",
    lambda x, i: x.astype(jnp.float16).at[i].add(1.5).astype(jnp.float32),
    f(6),
    np.array([1, 1, 5], np.int32),
)
case("at_complex", lambda x, i: x.at[i].add(1 + 2j), C, np.array([1, 1, 5], np.int32))
case(
    "gather_grad", jax.grad(lambda x, i: (x[i] ** 3).sum()), f(5, 2), np.array([0, 3, 0], np.int32)
)
case("gather_batched", jax.vmap(lambda x, i: x[i]), f(4, 5, 2), ints(4, 3, low=0, high=5))
case(
    "scatter_batched",
    jax.vmap(lambda x, i, u: x.at[i].add(u)),
    f(4, 5),
    ints(4, 3, low=0, high=5),
    f(4, 3),
)
case(
    "dynamic_slice_batched",
    jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
    f(4, 5),
    ints(4, low=-2, high=6),
)
case(
    "dynamic_update_batched",
    jax.vmap(lambda x, i: lax.dynamic_update_slice(x, x[:2] * 2, (i,))),
    f(4, 5),
    ints(4, low=0, high=6),
)
case(
    "segments",
    lambda x, i: [
        g(x, i, num_segments=5)
        for g in (
            jax.ops.segment_sum,
            jax.ops.segment_max,
            jax.ops.segment_min,
            jax.ops.segment_prod,
        )
    ],
    f(8, 2),
    np.array([0, 1, 1, 3, 3, 3, 0, 2], np.int32),
)
case(
    "bincounts",
    lambda i, w: (jnp.bincount(i, length=6), jnp.bincount(i, w, length=4)),
    ints(9, low=0, high=6),
    f(9),
)
case(
    "lax_gather",
    lambda x, i: lax.gather(
        x,
        i,
        lax.GatherDimensionNumbers(
            offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0, 1)
        ),
        (1, 2),
        mode="clip",
    ),
    f(4, 5),
    ints(3, 2, low=0, high=4),
)

# --- products ------------------------------------------------------------------------------------

case(
    "einsums",
    lambda a, b, c: (
        jnp.einsum("bij,bjk->bik", a, b),
        jnp.einsum("bij,bjk,bkl->il", a, b, c),
        jnp.einsum("...ij->...ji", a),
        jnp.einsum("bii->b", jnp.einsum("bij,bkj->bik", a, a)),
        jnp.einsum("bij->i", a),
        jnp.einsum("bij,kij->bk", a, a),
    ),
    f(2, 3, 4),
    f(2, 4, 5),
    f(2, 5, 3),
)
case(
    "dots",
    lambda a, b, v, w: (
        a @ b,
        a @ v,
        w @ a,
        v @ v,
        jnp.tensordot(a, b, 1),
        jnp.inner(a, a),
        jnp.outer(v, w),
        jnp.kron(a, b),
        jnp.vdot(v, v),
        jnp.linalg.multi_dot([a, b, b.T]),
        jnp.matvec(a, v),
        jnp.cross(w, w[::-1]),
    ),
    f(3, 4),
    f(4, 5),
    f(4),
    f(3),
)
case(
    "tensordots",
    lambda a, b: (
        jnp.tensordot(a, b, ((0, 2), (1, 0))),
        lax.dot_general(a, b, (((2,), (0,)), ((0,), (1,)))),
        jnp.tensordot(a, b, 0),
    ),
    f(3, 2, 4),
    f(4, 3, 5),
)
for name in ("int8", "uint8", "int32", "float16", "bfloat16", "bool"):
    case(
        f"dot_{name}",
        lambda a, b, name=name: (a.astype(name) @ b.astype(name)).astype(jnp.float32),
        ints(4, 5),
        ints(5, 3),
    )
case(
    "dot_preferred",
    lambda a, b: (
        lax.dot(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32),
        lax.dot(a.astype(jnp.int8), b.astype(jnp.int8), preferred_element_type=jnp.int32),
        lax.dot(a.astype(jnp.float16), b.astype(jnp.float16), preferred_element_type=jnp.float32),
    ),
    f(4, 5) * 5,
    f(5, 3) * 5,
)
case(
    "dot_precision",
    lambda a, b: (
        lax.dot(a, b, precision="highest"),
        jnp.matmul(a, b, precision=lax.Precision.HIGH),
        lax.dot(a, b, precision=lax.DotAlgorithmPreset.F32_F32_F32),
    ),
    f(4, 5),
    f(5, 3),
)
case("dot_f64", lambda a, b: a @ b, R.standard_normal((4, 5)), R.standard_normal((5, 3)), x64=True)
case("dot_empty", lambda a, b: a @ b, np.zeros((3, 0), np.float32), np.zeros((0, 2), np.float32))
case("dot_large", lambda a, b: a @ b, f(150, 200), f(200, 100))
case(
    "ragged_dot",
    lambda a, b, g: lax.ragged_dot(a, b, g),
    f(6, 3),
    f(2, 3, 4),
    np.array([2, 4], np.int32),
)
case("scaled_matmul", lambda a: jnp.linalg.matrix_power(a, 5), f(3, 3))

# --- convolution and pooling ---------------------------------------------------------------------


def convolution(name, lhs, rhs, dims, **options):
    case(
        f"conv_{name}",
        lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=dims, **options),
        lhs,
        rhs,
    )
    case(
        f"conv_{name}_grad",
        jax.grad(
            lambda x, w: (
                lax.conv_general_dilated(x, w, dimension_numbers=dims, **options) ** 2
            ).sum(),
            argnums=(0, 1),
        ),
        lhs,
        rhs,
    )


N1, N2, N3 = ("NWC", "WIO", "NWC"), ("NHWC", "HWIO", "NHWC"), ("NDHWC", "DHWIO", "NDHWC")
convolution(
    "1d", f(2, 9, 3), f(3, 3, 4), N1, window_strides=(2,), padding="SAME", rhs_dilation=(2,)
)
convolution(
    "1d_group",
    f(2, 9, 4),
    f(3, 2, 6),
    N1,
    window_strides=(1,),
    padding="VALID",
    feature_group_count=2,
)
convolution(
    "2d_strides", f(2, 9, 8, 3), f(3, 2, 3, 4), N2, window_strides=(2, 3), padding=[(1, 2), (0, 1)]
)
convolution(
    "2d_negative",
    f(2, 9, 8, 3),
    f(3, 2, 3, 4),
    N2,
    window_strides=(1, 1),
    padding=[(-1, 2), (0, -2)],
)
convolution(
    "2d_dilated",
    f(1, 9, 9, 2),
    f(3, 3, 2, 4),
    N2,
    window_strides=(1, 2),
    padding=[(1, 1), (2, 0)],
    rhs_dilation=(2, 1),
    lhs_dilation=(1, 2),
)
convolution(
    "2d_oihw",
    f(2, 3, 9, 8),
    f(4, 3, 3, 3),
    ("NCHW", "OIHW", "NCHW"),
    window_strides=(1, 1),
    padding="SAME",
)
convolution(
    "2d_odd",
    f(9, 2, 8, 3),
    f(3, 4, 3, 2),
    ("HNWC", "IOHW", "CWNH"),
    window_strides=(1, 1),
    padding="VALID",
)
convolution(
    "2d_batch_group",
    f(4, 6, 6, 3),
    f(3, 3, 3, 8),
    N2,
    window_strides=(1, 1),
    padding="VALID",
    batch_group_count=2,
)
convolution(
    "2d_depthwise",
    f(1, 6, 6, 4),
    f(3, 3, 1, 8),
    N2,
    window_strides=(2, 2),
    padding="SAME",
    feature_group_count=4,
)
convolution("3d", f(1, 5, 6, 7, 2), f(2, 3, 3, 2, 3), N3, window_strides=(1, 2, 1), padding="SAME")
convolution(
    "3d_group",
    f(1, 4, 4, 4, 4),
    f(2, 2, 2, 2, 4),
    N3,
    window_strides=(1, 1, 1),
    padding="VALID",
    feature_group_count=2,
)
case(
    "conv_0d",
    lambda x, w: lax.conv_general_dilated(x, w, (), [], dimension_numbers=("NC", "IO", "NC")),
    f(3, 4),
    f(4, 5),
)
case(
    "conv_4d",
    lambda x, w: lax.conv_general_dilated(x, w, (1,) * 4, "VALID"),
    f(1, 2, 3, 3, 3, 3),
    f(2, 2, 2, 2, 2, 2),
)
case(
    "conv_transposes",
    lambda x, w: (
        [lax.conv_transpose(x, w, s, p) for s in ((1, 1), (2, 3)) for p in ("SAME", "VALID")]
        + [lax.conv_transpose(x, w, (2, 2), "SAME", rhs_dilation=(2, 1))]
    ),
    f(2, 5, 5, 3),
    f(3, 3, 3, 4),
)
case(
    "conv_transpose_kernel",
    lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", transpose_kernel=True),
    f(2, 5, 5, 3),
    f(3, 3, 4, 3),
)
case("conv_int", lambda x, w: lax.conv(x, w, (1, 1), "SAME"), ints(1, 2, 5, 5), ints(3, 2, 3, 3))
case(
    "conv_i8",
    lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", preferred_element_type=jnp.int32),
    ints(1, 2, 5, 5, dtype=np.int8),
    ints(3, 2, 3, 3, dtype=np.int8),
)
case(
    "conv_bf16",
    lambda x, w: lax.conv(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), (1, 1), "SAME").astype(
        jnp.float32
    ),
    np.round(f(1, 2, 5, 5)),
    np.round(f(3, 2, 3, 3)),
)
case(
    "conv_f64",
    lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
    R.standard_normal((1, 2, 5, 5)),
    R.standard_normal((3, 2, 3, 3)),
    x64=True,
)
case("conv_complex", lambda x, w: jnp.convolve(x, w), C, D)
case(
    "conv_vmap",
    jax.vmap(lambda x, w: lax.conv(x[None], w, (1, 1), "SAME")[0]),
    f(3, 2, 5, 5),
    f(3, 4, 2, 3, 3),
)
case(
    "conv_numpy",
    lambda a, b: (
        [jnp.convolve(a, b, m) for m in ("full", "same", "valid")]
        + [jnp.correlate(a, b), jsp.signal.convolve(a, b), jsp.signal.fftconvolve(a, b)]
    ),
    f(9),
    f(4),
)
case(
    "conv_patches",
    lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID"),
    f(1, 2, 4, 4),
)
case(
    "conv_local",
    lambda x, w: lax.conv_general_dilated_local(x, w, (1, 1), "VALID", (2, 2)),
    f(1, 2, 4, 4),
    f(3, 8, 3, 3),
)
WINDOWS = ((0.0, lax.add), (-jnp.inf, lax.max), (jnp.inf, lax.min), (1.0, lax.mul))
case(
    "pools",
    lambda x: [
        lax.reduce_window(x, i, g, (1, 3, 2, 1), (1, 2, 1, 1), p)
        for i, g in WINDOWS
        for p in ("SAME", "VALID")
    ],
    f(1, 7, 6, 2),
)
case(
    "pools_dilated",
    lambda x: [
        lax.reduce_window(x, i, g, (2, 3), (1, 2), ((1, 0), (2, 1)), (2, 1), (1, 2))
        for i, g in WINDOWS
    ],
    f(5, 7),
)
case(
    "pool_custom",
    lambda x: lax.reduce_window(
        x, jnp.float32(0), lambda a, b: jnp.maximum(a, b) + 0.0 * a, (2, 2), (1, 1), "VALID"
    ),
    f(5, 6),
)
case(
    "pool_int",
    lambda x: (
        lax.reduce_window(x, 0, lax.add, (2, 2), (2, 2), "VALID"),
        lax.reduce_window(x, -100, lax.max, (2, 2), (1, 1), "SAME"),
    ),
    ints(6, 6),
)
case(
    "pool_pairs",
    lambda x, y: lax.reduce_window(
        (x, y),
        (jnp.float32(0), jnp.float32(-9)),
        lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])),
        (2, 2),
        (2, 2),
        "VALID",
    ),
    f(4, 6),
    f(4, 6),
)
case(
    "pool_argmax",
    lambda x: lax.reduce_window(
        (x, lax.iota(jnp.int32, 12).reshape(3, 4)),
        (-jnp.inf, jnp.int32(-1)),
        lambda a, b: (lax.select(a[0] >= b[0], a[0], b[0]), lax.select(a[0] >= b[0], a[1], b[1])),
        (2, 2),
        (1, 1),
        "VALID",
    ),
    f(3, 4),
)
case(
    "pool_grads",
    lambda x: [
        jax.grad(
            lambda x, g=g, i=i, p=p: (
                lax.reduce_window(x, i, g, (1, 3, 3, 1), (1, 2, 2, 1), p) ** 2
            ).sum()
        )(x)
        for i, g in WINDOWS[:3]
        for p in ("SAME", "VALID")
    ],
    f(1, 7, 7, 2),
)
case(
    "pool_jvp",
    lambda x, t: jax.jvp(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), (x,), (t,)
    ),
    f(4, 4),
    f(4, 4),
)
case(
    "batch_norm",
    jax.grad(
        lambda x, g, b: (
            jax.nn.relu((x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-3) * g + b) ** 2
        ).sum(),
        argnums=(0, 1, 2),
    ),
    f(2, 4, 4, 3),
    f(3),
    f(3),
)

# --- control flow --------------------------------------------------------------------------------

case("fori_static", lambda x: lax.fori_loop(0, 7, lambda i, a: a * 0.9 + i, x), f(3))
case(
    "fori_unrolled",
    lambda x: lax.fori_loop(0, 6, lambda i, a: a.at[i].set(a[i - 1] + 1), x, unroll=2),
    f(6),
)
case(
    "while_tuple",
    lambda n: lax.while_loop(
        lambda s: s["n"] > 1,
        lambda s: {
            "n": jnp.where(s["n"] % 2 == 0, s["n"] // 2, 3 * s["n"] + 1),
            "steps": s["steps"] + 1,
        },
        {"n": n, "steps": jnp.int32(0)},
    ),
    np.int32(27),
)
case(
    "while_vmap",
    jax.vmap(
        lambda n: lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.5), (0, jnp.float32(1))
        )
    ),
    np.array([0, 3, 7], np.int32),
)
case(
    "while_closure",
    lambda w, x: lax.while_loop(
        lambda x: jnp.sum(x * x) > 1e-3, lambda x: jnp.tanh(w @ x) * 0.1, x
    ),
    f(4, 4),
    f(4),
)
case("while_never", lambda x: lax.while_loop(lambda x: False, lambda x: x + 1, x), f(3))
case(
    "scan_many",
    lambda w, xs: lax.scan(
        lambda c, x: ((jnp.tanh(c[0] @ w + x[0]), c[1] + x[1]), (c[0].sum(), x[1] * c[1])),
        (jnp.zeros(4), jnp.int32(0)),
        (xs, jnp.arange(6)),
    ),
    f(4, 4),
    f(6, 4),
)
case("scan_no_xs", lambda x: lax.scan(lambda c, _: (c * 1.1, c), x, None, length=5), f(2))
case(
    "scan_nested",
    lambda xs: lax.scan(
        lambda c, r: lax.scan(lambda d, v: (d * 0.5 + v, d), c, r), jnp.float32(0), xs
    ),
    f(3, 4),
)
case(
    "scan_unroll",
    lambda xs: lax.scan(lambda c, x: (c + x, c * x), jnp.float32(0), xs, unroll=3),
    f(10),
)
case(
    "scan_grad",
    jax.grad(
        lambda w, xs: lax.scan(lambda c, x: (jnp.sin(w * c + x), c), jnp.zeros(3), xs)[1].sum()
    ),
    f(3),
    f(5, 3),
)
case(
    "scan_jvp",
    lambda w, xs: jax.jvp(
        lambda w: lax.scan(lambda c, x: (jnp.sin(w * c + x), c), jnp.zeros(3), xs)[0], (w,), (w,)
    ),
    f(3),
    f(5, 3),
)
case(
    "scan_remat",
    jax.grad(
        lambda w, xs: lax.scan(
            jax.checkpoint(lambda c, x: (jnp.sin(w * c + x), c)), jnp.zeros(3), xs
        )[0].sum()
    ),
    f(3),
    f(5, 3),
)
case(
    "scan_hessian",
    jax.hessian(lambda w: lax.fori_loop(0, 3, lambda i, a: jnp.sin(a * w), w).sum()),
    f(2),
)
case(
    "conds",
    lambda p, x: (lax.cond(p > 0, jnp.sin, jnp.cos, x), lax.cond(p < 0, lambda: 1.0, lambda: 2.0)),
    np.int32(1),
    f(3),
)
case(
    "cond_grad",
    jax.grad(lambda x, p: lax.cond(p, lambda a: (a**2).sum(), lambda a: (a**3).sum(), x)),
    f(3),
    np.bool_(True),
)
case("cond_vmap", jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x)), f(4) > 0, f(4))
for i in (-5, 0, 1, 2, 9):
    case(
        f"switch_{'minus' if i < 0 else ''}{abs(i)}",
        lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x),
        np.int32(i),
        f(3),
    )
case(
    "switch_state",
    lambda i, x: lax.fori_loop(
        0, 6, lambda k, s: lax.switch(k % 3, [lambda a: a + 1, lambda a: a * 2, lambda a: -a], s), x
    ),
    np.int32(0),
    f(3),
)
case(
    "maps",
    lambda xs: (lax.map(lambda x: x @ x.T, xs), lax.map(jnp.sum, xs, batch_size=2)),
    f(5, 2, 3),
)
case(
    "fixed_point",
    lambda a: lax.while_loop(
        lambda s: jnp.any(jnp.abs(s[0] - s[1]) > 1e-5),
        lambda s: (s[1], jnp.cos(s[1] + 0 * a)),
        (a, jnp.cos(a)),
    ),
    f(3),
)
case(
    "beam_step",
    lambda logits, scores: (
        lambda total: (lambda v, i: (v, i // 7, i % 7))(*lax.top_k(total.reshape(-1), 4))
    )(scores[:, None] + jax.nn.log_softmax(logits)),
    f(4, 7),
    f(4),
)
case(
    "odeint",
    lambda y: lax.fori_loop(0, 20, lambda i, y: y + 0.1 * jnp.array([y[1], -y[0]]), y),
    f(2),
)
case(
    "custom_vjp",
    jax.grad(
        lambda x: (
            lambda g: (
                g.defvjp(lambda x: (jnp.exp(x), x), lambda r, t: (t * jnp.exp(r) * 2,)),
                g(x).sum(),
            )[1]
        )(jax.custom_vjp(jnp.exp))
    ),
    f(3),
)
case(
    "jacobians",
    lambda x: (
        jax.jacfwd(lambda x: jnp.outer(x, x))(x),
        jax.jacrev(lambda x: jnp.cumsum(x**2))(x),
        jax.hessian(lambda x: jnp.prod(jnp.sin(x)))(x),
    ),
    f(3),
)
case("linearize", lambda x, t: jax.linearize(lambda x: jnp.sin(x) * x.sum(), x)[1](t), f(3), f(3))
case("vjp", lambda x, t: jax.vjp(lambda x: jnp.sort(x) * jnp.max(x), x)[1](t), f(4), f(4))
case(
    "vmaps",
    lambda x, y: (
        jax.vmap(jnp.dot)(x, y),
        jax.vmap(jax.vmap(jnp.add, (0, None)), (None, 0))(x[0], y[0]),
        jax.vmap(jnp.linalg.norm, 1)(x),
        jax.vmap(lambda a: jnp.where(a > 0, a, 0))(x),
    ),
    f(4, 3),
    f(4, 3),
)
case(
    "cg",
    lambda a, b: jsp.sparse.linalg.cg(lambda x: a @ x, b, maxiter=10)[0],
    (lambda m: m @ m.T + 4 * np.eye(4, dtype=np.float32))(f(4, 4)),
    f(4),
)

# --- random --------------------------------------------------------------------------------------

RANDOM = {
    "uniform": lambda k: (
        jax.random.uniform(k, (5,)),
        jax.random.uniform(k, (2, 2), minval=-1, maxval=3),
    ),
    "normals": lambda k: (
        jax.random.normal(k, (5,)),
        jax.random.normal(k, (3,), jnp.bfloat16).astype(jnp.float32),
    ),
    "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (9,)),
    "categoricals": lambda k: jax.random.categorical(k, jnp.arange(4.0), shape=(8,)),
    "permutations": lambda k: (
        jax.random.permutation(k, 9),
        jax.random.permutation(k, jnp.arange(6.0).reshape(3, 2)),
    ),
    "choice": lambda k: (
        jax.random.choice(k, 9, (4,)),
        jax.random.choice(k, jnp.arange(5.0), (3,), replace=False),
        jax.random.choice(k, 4, (5,), p=jnp.array([0.1, 0.2, 0.3, 0.4])),
    ),
    "gammas": lambda k: (
        jax.random.gamma(k, 0.7, (3,)),
        jax.random.beta(k, 2.0, 3.0, (3,)),
        jax.random.dirichlet(k, jnp.ones(3)),
    ),
    "exponentials": lambda k: (
        jax.random.exponential(k, (4,)),
        jax.random.laplace(k, (4,)),
        jax.random.gumbel(k, (4,)),
        jax.random.logistic(k, (4,)),
        jax.random.cauchy(k, (4,)),
    ),
    "poisson": lambda k: jax.random.poisson(k, 3.5, (6,)),
    "binomial": lambda k: jax.random.binomial(k, 10, 0.4, (4,)),
    "ints": lambda k: (
        jax.random.randint(k, (6,), 0, 100),
        jax.random.randint(k, (6,), 0, 100, jnp.uint8),
        jax.random.bits(k, (4,), jnp.uint16),
        jax.random.bits(k, (4,)),
    ),
    "multivariate": lambda k: jax.random.multivariate_normal(
        k, jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]), (3,)
    ),
    "orthogonal": lambda k: abs(jax.random.orthogonal(k, 3)),
    "keys": lambda k: (
        jax.random.split(k, 3),
        jax.random.fold_in(k, 7),
        jax.random.split(k, (2, 2)),
    ),
    "rademacher": lambda k: (
        jax.random.rademacher(k, (5,)),
        jax.random.truncated_normal(k, -1, 1, (4,)),
        jax.random.t(k, 3.0, (3,)),
        jax.random.ball(k, 3),
    ),
    "init": lambda k: (
        jax.nn.initializers.glorot_uniform()(k, (4, 3)),
        jax.nn.initializers.he_normal()(k, (4, 3)),
    ),
}
for name, g in RANDOM.items():
    case(f"random_{name}", g, KEY)
for impl in ("rbg", "unsafe_rbg", "threefry2x32"):
    case(
        f"random_{impl}",
        lambda s, impl=impl: (
            lambda k: (
                jax.random.uniform(k, (5,)),
                jax.random.normal(jax.random.split(k)[0], (3,)),
                jax.random.bits(jax.random.fold_in(k, 3), (3,)),
            )
        )(jax.random.key(s, impl=impl)),
        np.int32(5),
    )
case(
    "random_loop",
    lambda k: lax.fori_loop(
        0, 4, lambda i, s: s + jax.random.normal(jax.random.fold_in(k, i), (3,)), jnp.zeros(3)
    ),
    KEY,
)
case(
    "random_vmap",
    lambda k: jax.vmap(lambda k: jax.random.uniform(k, (2,)))(jax.random.split(k, 3)),
    KEY,
)

# --- networks ------------------------------------------------------------------------------------


def nn(g):
    """A function of that module with its gradient."""
    return lambda x: (g(x), jax.grad(lambda x: jnp.sum(g(x) * jnp.cos(g(x))))(x))


for name in (
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "silu",
    "gelu",
    "elu",
    "celu",
    "selu",
    "leaky_relu",
    "hard_tanh",
    "hard_sigmoid",
    "hard_swish",
    "log_sigmoid",
    "soft_sign",
    "mish",
    "squareplus",
    "sparse_plus",
    "softmax",
    "log_softmax",
    "logsumexp",
    "tanh",
):
    case(f"nn_{name}", nn(getattr(jax.nn, name)), f(3, 6))
case("nn_glu", jax.nn.glu, f(3, 6))
case(
    "nn_dot_product_attention",
    lambda q, k, v: (
        jax.nn.dot_product_attention(q, k, v),
        jax.nn.dot_product_attention(q, k, v, is_causal=True),
    ),
    f(2, 5, 4, 8),
    f(2, 5, 4, 8),
    f(2, 5, 4, 8),
)
case(
    "nn_gqa",
    lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
    f(2, 5, 4, 8),
    f(2, 5, 2, 8),
    f(2, 5, 2, 8),
)
case(
    "nn_one_hot",
    lambda i: (jax.nn.one_hot(i, 4), jax.nn.one_hot(i, 4, axis=0, dtype=jnp.int8)),
    np.array([0, 3, 9], np.int32),
)


def norm(x, g):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6) * g


def block(p, x):
    h = norm(x, p["g1"])
    q, k, v = jnp.split(h @ p["qkv"], 3, -1)
    q, k, v = (a.reshape(*a.shape[:2], 2, -1) for a in (q, k, v))
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf)
    x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), v).reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(norm(x, p["g2"]) @ p["up"]) @ p["down"]


BLOCK = {
    "g1": f(8),
    "g2": f(8),
    "qkv": f(8, 24) * 0.3,
    "out": f(8, 8) * 0.3,
    "up": f(8, 32) * 0.3,
    "down": f(32, 8) * 0.3,
}
TOKENS = ints(2, 6, low=0, high=20)


def language_loss(p, tokens):
    x = p["embed"][tokens[:, :-1]] + p["pos"][: tokens.shape[1] - 1]
    x = block(p["block"], x)
    logp = jax.nn.log_softmax(x @ p["embed"].T)
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], -1).mean()


LANGUAGE = {"embed": f(20, 8), "pos": f(6, 8), "block": BLOCK}
case("transformer", block, BLOCK, f(2, 5, 8))
case("transformer_grad", jax.grad(lambda p, x: (block(p, x) ** 2).mean()), BLOCK, f(2, 5, 8))
case("language_loss", language_loss, LANGUAGE, TOKENS)
case(
    "language_step",
    lambda p, t: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(language_loss)(p, t)),
    LANGUAGE,
    TOKENS,
)
case(
    "layers_scanned",
    lambda p, x: lax.scan(lambda x, q: (block(q, x), None), x, p)[0],
    jax.tree.map(lambda a: np.stack([a, a * 0.5]), BLOCK),
    f(2, 5, 8),
)
case(
    "layers_scanned_grad",
    jax.grad(
        lambda p, x: (
            lax.scan(jax.checkpoint(lambda x, q: (block(q, x), None)), x, p)[0] ** 2
        ).mean()
    ),
    jax.tree.map(lambda a: np.stack([a, a * 0.5]), BLOCK),
    f(2, 5, 8),
)
case(
    "rope",
    lambda x: (lambda c, s, a, b: jnp.concatenate([a * c - b * s, b * c + a * s], -1))(
        jnp.cos(jnp.outer(jnp.arange(5.0), 10000 ** (-jnp.arange(4.0) / 4))),
        jnp.sin(jnp.outer(jnp.arange(5.0), 10000 ** (-jnp.arange(4.0) / 4))),
        *jnp.split(x, 2, -1),
    ),
    f(2, 5, 8),
)
case(
    "decode",
    lambda p, tok: lax.scan(
        lambda s, _: (
            lambda h: (lambda t: ((t, h), t))(jnp.argmax(h @ p["embed"].T).astype(jnp.int32))
        )(jnp.tanh(p["embed"][s[0]] + s[1] @ p["w"])),
        (tok, jnp.zeros(8)),
        None,
        length=7,
    )[1],
    {"embed": f(20, 8), "w": f(8, 8)},
    np.int32(3),
)
case(
    "gru",
    lambda w, u, xs: lax.scan(
        lambda h, x: (
            lambda z, r: (lambda n: ((1 - z) * n + z * h, n))(jnp.tanh(x @ w[2] + (r * h) @ u[2]))
        )(jax.nn.sigmoid(x @ w[0] + h @ u[0]), jax.nn.sigmoid(x @ w[1] + h @ u[1])),
        jnp.zeros((2, 4)),
        xs,
    ),
    f(3, 3, 4),
    f(3, 4, 4),
    f(5, 2, 3),
)
case(
    "resnet_block",
    lambda w1, w2, x: jax.nn.relu(
        x
        + lax.conv_general_dilated(
            jax.nn.relu(lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=N2)),
            w2,
            (1, 1),
            "SAME",
            dimension_numbers=N2,
        )
    ),
    f(3, 3, 4, 4),
    f(3, 3, 4, 4),
    f(1, 6, 6, 4),
)
case(
    "vit_patches",
    lambda x, w: lax.conv_general_dilated(x, w, (4, 4), "VALID", dimension_numbers=N2).reshape(
        2, -1, 6
    ),
    f(2, 8, 8, 3),
    f(4, 4, 3, 6),
)
case(
    "adamw",
    lambda p, g, m, v, t: (
        lambda m, v: (
            p - 1e-3 * (m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8) + 0.01 * p),
            m,
            v,
            t + 1,
        )
    )(0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g),
    f(4),
    f(4),
    f(4),
    abs(f(4)),
    np.int32(3),
)
case(
    "resizes",
    lambda x: [
        jax.image.resize(x, (1, 7, 5, 2), m) for m in ("nearest", "bilinear", "bicubic", "lanczos3")
    ],
    f(1, 4, 4, 2),
)
case(
    "map_coordinates",
    lambda x, c: jsp.ndimage.map_coordinates(x, [c[0], c[1]], order=1),
    f(5, 5),
    np.abs(f(2, 6)),
)
case(
    "ctc_like",
    lambda x: lax.scan(lambda a, e: (jnp.logaddexp(a, jnp.roll(a, 1)) + e, None), jnp.zeros(5), x)[
        0
    ],
    f(6, 5),
)
case(
    "viterbi",
    lambda t, e: lax.scan(
        lambda s, o: (lambda m: (m.max(0) + o, m.argmax(0)))(s[:, None] + t), jnp.zeros(4), e
    ),
    f(4, 4),
    f(6, 4),
)
case(
    "kmeans",
    lambda x, c: lax.fori_loop(
        0,
        5,
        lambda i, c: (
            lambda a: (
                jax.ops.segment_sum(x, a, 3)
                / jnp.maximum(jax.ops.segment_sum(jnp.ones(20), a, 3), 1)[:, None]
            )
        )(jnp.argmin(((x[:, None] - c) ** 2).sum(-1), 1)),
        c,
    ),
    f(20, 2),
    f(3, 2),
)
case(
    "life",
    lambda b: lax.fori_loop(
        0,
        4,
        lambda i, b: (lambda n: ((n == 3) | ((b == 1) & (n == 2))).astype(jnp.int32))(
            sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        ),
        b,
    ),
    ints(8, 8, low=0, high=2),
)
case(
    "mandelbrot",
    lambda c: lax.fori_loop(
        0,
        20,
        lambda i, s: (lambda z: (jnp.where(abs(s[0]) < 2, z, s[0]), s[1] + (abs(s[0]) < 2)))(
            s[0] ** 2 + c
        ),
        (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)),
    )[1],
    C,
)
case(
    "monte_carlo_pi",
    lambda k: 4 * jnp.mean((jax.random.uniform(k, (1000, 2)) ** 2).sum(-1) < 1),
    KEY,
)

# --- linear algebra and Fourier transforms -------------------------------------------------------

A = f(4, 4)
SPD = A @ A.T + 4 * np.eye(4, dtype=np.float32)
case(
    "cholesky",
    lambda a: (jnp.linalg.cholesky(a), lax.linalg.cholesky(a), jsp.linalg.cholesky(a, lower=False)),
    SPD,
)
case("cholesky_batch", jax.vmap(jnp.linalg.cholesky), np.stack([SPD, SPD * 2]))
case("cholesky_grad", jax.grad(lambda a: jnp.linalg.cholesky(a).sum()), SPD)
case("cho_solve", lambda a, b: jsp.linalg.cho_solve(jsp.linalg.cho_factor(a), b), SPD, f(4, 2))
for left in (True, False):
    for lower in (True, False):
        for trans in (0, 1):
            case(
                f"triangular_{left:d}{lower:d}{trans}",
                lambda a, b, left=left, lower=lower, trans=trans: [
                    lax.linalg.triangular_solve(
                        a,
                        b if left else b.T,
                        left_side=left,
                        lower=lower,
                        transpose_a=bool(trans),
                        unit_diagonal=u,
                    )
                    for u in (False, True)
                ],
                SPD,
                f(4, 3),
            )
case(
    "triangular_complex",
    lambda a, b: [
        lax.linalg.triangular_solve(
            a + 1j * a.T, b + 0j, left_side=True, lower=True, transpose_a=t, conjugate_a=c
        )
        for t in (False, True)
        for c in (False, True)
    ],
    SPD,
    f(4, 3),
)
case("solve_triangular", lambda a, b: jsp.linalg.solve_triangular(a, b, lower=True), SPD, f(4))
case(
    "solve",
    lambda a, b: (
        jnp.linalg.solve(a, b),
        jnp.linalg.inv(a),
        jnp.linalg.det(a),
        jnp.linalg.slogdet(a),
    ),
    A,
    f(4, 2),
)
case("solve_batch", lambda a, b: jnp.linalg.solve(a, b), np.stack([A, SPD]), f(2, 4, 2))
case("solve_grad", jax.grad(lambda a, b: jnp.linalg.solve(a, b).sum(), argnums=(0, 1)), A, f(4))
case("lu", lambda a: (lax.linalg.lu(a), jsp.linalg.lu(a)), A)
case("lu_tall", lambda a: lax.linalg.lu(a), f(5, 3))
case("qr", lambda a: (lambda q, r: (q @ r, abs(r)))(*jnp.linalg.qr(a)), f(5, 3))
case(
    "qr_complete",
    lambda a: (lambda q, r: (q @ r, q @ q.T))(*jnp.linalg.qr(a, mode="complete")),
    f(5, 3),
)
case("eigh", lambda a: (lambda w, v: (w, v @ jnp.diag(w) @ v.T))(*jnp.linalg.eigh(a)), SPD)
case("eigvalsh", jnp.linalg.eigvalsh, SPD)
case("eigh_grad", jax.grad(lambda a: jnp.linalg.eigh(a)[0][0]), SPD)
case(
    "svd",
    lambda a: (lambda u, s, v: (s, u * s @ v))(*jnp.linalg.svd(a, full_matrices=False)),
    f(5, 3),
)
case("svd_full", lambda a: (lambda u, s, v: (s, u[:, :3] * s @ v))(*jnp.linalg.svd(a)), f(5, 3))
case(
    "svd_values",
    lambda a: (
        jnp.linalg.svd(a, compute_uv=False),
        jnp.linalg.norm(a, 2),
        jnp.linalg.matrix_rank(a),
        jnp.linalg.cond(a),
    ),
    f(4, 3),
)
case("pinv_lstsq", lambda a, b: (jnp.linalg.pinv(a), jnp.linalg.lstsq(a, b)[0]), f(5, 3), f(5))
case("eig", lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), A)
case("schur", lambda a: (lambda t, z: z @ t @ z.T)(*jsp.linalg.schur(a)), A)
case("hessenberg", lambda a: (lambda h, q: q @ h @ q.T)(*jsp.linalg.hessenberg(a, calc_q=True)), A)
case("expm", jsp.linalg.expm, A * 0.3)
case("sqrtm_polar", lambda a: jsp.linalg.polar(a, method="svd")[1], A)
case(
    "tridiagonal",
    lambda low, d, up, b: lax.linalg.tridiagonal_solve(low, d, up, b),
    np.array([0, 0.1, 0.2, 0.3], np.float32),
    np.full(4, 2, np.float32),
    np.array([0.3, 0.2, 0.1, 0], np.float32),
    f(4, 2),
)
case("toeplitz", lambda c: (jsp.linalg.toeplitz(c), jsp.linalg.block_diag(c[None], c[None])), f(4))
for g in (
    jnp.fft.fft,
    jnp.fft.ifft,
    jnp.fft.rfft,
    jnp.fft.hfft,
    jnp.fft.ihfft,
    jnp.fft.fft2,
    jnp.fft.ifft2,
    jnp.fft.rfft2,
    jnp.fft.rfftn,
):
    case(f"fft_{g.__name__}", g, f(3, 6))
case(
    "fft_real_back",
    lambda x: (
        jnp.fft.irfft(jnp.fft.rfft(x)),
        jnp.fft.irfft(jnp.fft.rfft(x), 5),
        jnp.fft.irfft2(jnp.fft.rfft2(x)),
        jnp.fft.irfftn(jnp.fft.rfftn(x)),
    ),
    f(4, 6),
)
case(
    "fft_lengths",
    lambda x: (
        jnp.fft.fft(x, 4),
        jnp.fft.fft(x, 9),
        jnp.fft.fft(x, axis=0),
        jnp.fft.fftshift(x),
        jnp.fft.fftfreq(6),
        jnp.fft.rfft(x, norm="ortho"),
    ),
    f(3, 7),
)
case("fft_3d", lambda x: (jnp.fft.fftn(x), jnp.fft.ifftn(x)), f(2, 3, 4))
case("fft_grad", jax.grad(lambda x: (abs(jnp.fft.rfft(x)) ** 2).sum()), f(6))
case("fft_f64", lambda x: jnp.fft.rfft(x), R.standard_normal(8), x64=True)
case("dct", lambda x: jsp.fft.dct(x), f(8))
case("stft", lambda x: jnp.abs(jsp.signal.stft(x, nperseg=8)[2]), f(32))

# --- ops that lowering leaves in the text --------------------------------------------------------

case("barriers", lambda x: lax.optimization_barrier((x, (x + 1, x * 2))), f(3))
case(
    "named",
    lambda x: jax.named_call(lambda a: a + 1, name="plus one")(jax.checkpoint(jnp.sin)(x)),
    f(3),
)
case("inner_jit", lambda x: jax.jit(lambda a: a * 2)(x) + jax.jit(jax.jit(jnp.sin))(x), f(3))
case("unused", lambda x, y: x, f(3), f(2))
case("repeated", lambda x: (x, x, x + 0), f(3))
case(
    "constants",
    lambda x: x + np.arange(12, dtype=np.float32).reshape(3, 4) + jnp.float32(np.pi),
    f(3, 4),
)
case("constants_large", lambda x: x + np.arange(5000, dtype=np.float32), f(5000))
case(
    "constants_odd",
    lambda x: x + np.array([np.inf, -np.inf, np.nan, -0.0, 1e-40], np.float32),
    f(5),
)
case(
    "constants_types",
    lambda x: (
        x + np.array([1, 2], np.int8),
        np.array([True, False]) & (x > 0),
        jnp.asarray([1 + 2j, 3j]),
        jnp.asarray([1, 2], jnp.bfloat16).astype(jnp.float32),
        jnp.asarray([1.5, 2], jnp.float16),
    ),
    ints(2, dtype=np.int8),
)
case("donated", lambda x, y: (x + y, x * y), f(3), f(3), donate=(0,))
case("scalars", lambda a, b: (a + b, a * 2.0, b // 2, a > b), np.float32(2), np.int32(5))
case(
    "rank_5",
    lambda x: (x.transpose(4, 2, 0, 1, 3), x.sum((1, 3)), x[:, 0, :, ::2]),
    f(2, 3, 2, 4, 2),
)
case("weak_types", lambda x: x * 2 + 1 - True, ints(3))
case("stop_gradient", jax.grad(lambda x: (lax.stop_gradient(x) * x).sum()), f(3))
case("platform", lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos), f(3))
case(
    "debug_nothing",
    lambda x: (
        lax.with_sharding_constraint(x, jax.sharding.SingleDeviceSharding(jax.devices()[0])) + 1
    ),
    f(3),
)

# --- sizes that aren't known ---------------------------------------------------------------------

dynamic("elementwise", lambda x, y: jnp.sin(x) * y + x.shape[0], ["b, n", "n"], f(3, 4), f(4))
dynamic(
    "reductions",
    lambda x: (x.sum(), x.mean(0), x.max(1), jnp.var(x, 1), jnp.prod(x)),
    ["b, n"],
    f(3, 4),
)
dynamic("argmaxes", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), ["b, n"], f(3, 4))
dynamic("cumsums", lambda x: (jnp.cumsum(x, 1), lax.cummax(x)), ["b, n"], f(3, 4))
dynamic(
    "matmul",
    lambda a, b: (a @ b, jnp.einsum("ij,kj->ik", a, a)),
    ["b, n", "n, m"],
    f(3, 4),
    f(4, 2),
)
dynamic(
    "transformer",
    lambda x: block({k: jnp.asarray(v) for k, v in BLOCK.items()}, x),
    ["b, t, 8"],
    f(2, 5, 8),
)
dynamic(
    "attention_mask",
    lambda q, k: jax.nn.softmax(
        jnp.where(jnp.tril(jnp.ones((q.shape[0], k.shape[0]), bool)), q @ k.T, -1e9)
    ),
    ["t, 4", "t, 4"],
    f(5, 4),
    f(5, 4),
)
dynamic(
    "shapes",
    lambda x: (
        x.reshape(-1),
        x.T,
        x.reshape(x.shape[0] * 2, -1),
        jnp.broadcast_to(x, (2, *x.shape)),
        x[:, None],
    ),
    ["b, 2*n"],
    f(3, 4),
)
dynamic(
    "slices",
    lambda x: (x[1:], x[:-1], x[::2], x[-1], x[:, :2], x[x.shape[0] // 2 :]),
    ["b, 4"],
    f(6, 4),
)
dynamic(
    "joins",
    lambda x, y: (
        jnp.concatenate([x, y]),
        jnp.stack([x, x]),
        jnp.tile(x, (2, 1)),
        jnp.repeat(x, 2, 0),
    ),
    ["b, 3", "c, 3"],
    f(2, 3),
    f(4, 3),
)
dynamic(
    "scatter",
    lambda x, i: (x.at[i].add(1.0), x.at[0].set(0.0), x.at[-1].multiply(2)),
    ["b, 3", "k"],
    f(4, 3),
    np.array([0, 2, 2], np.int32),
)
dynamic(
    "gathers",
    lambda x, i: (x[i], jnp.take(x, i, 0), jnp.take_along_axis(x, i[:, None], 0), x[:, i % 3]),
    ["b, 3", "k"],
    f(4, 3),
    np.array([0, 2, 2], np.int32),
)
dynamic("sorts", lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0)), ["b, n"], f(4, 3))
dynamic("top_k", lambda x: lax.top_k(x, 2), ["b, 5"], f(4, 5))
dynamic(
    "scan", lambda x: lax.scan(lambda c, r: (c + r, c.sum()), jnp.zeros(3), x), ["b, 3"], f(4, 3)
)
dynamic(
    "while",
    lambda x: lax.while_loop(
        lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, jnp.zeros(3))
    )[1],
    ["b, 3"],
    f(4, 3),
)
dynamic("cond", lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), ["b, n"], f(4, 3))
dynamic("vmap", jax.vmap(lambda r: jnp.sort(r)[0] + r @ r), ["b, 3"], f(4, 3))
dynamic("grad", jax.grad(lambda x: (jnp.tanh(x) ** 2).mean()), ["b, n"], f(4, 3))
dynamic(
    "conv_2d",
    lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=N2),
    ["b, h, w, 3", "3, 3, 3, 4"],
    f(1, 5, 6, 3),
    f(3, 3, 3, 4),
)
dynamic(
    "pool",
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    ["b, 4*h, 4*w, 3"],
    f(1, 4, 8, 3),
)
dynamic(
    "pool_same",
    lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    ["b, h, w, 3"],
    f(1, 5, 8, 3),
)
dynamic(
    "iota",
    lambda x: (jnp.arange(x.shape[0]), jnp.eye(x.shape[0]), jnp.linspace(0, 1, 5) * x.shape[0]),
    ["b, n"],
    f(4, 3),
)
dynamic(
    "pads", lambda x: (jnp.pad(x, 1), jnp.pad(x, ((0, 0), (2, 1)), mode="edge")), ["b, n"], f(4, 3)
)
dynamic("roll", lambda x: (jnp.roll(x, 1, 0), jnp.flip(x, 0)), ["b, n"], f(4, 3))
dynamic("random", lambda k, x: jax.random.uniform(k, x.shape), ["2", "b, 4"], KEY, f(5, 4))
dynamic("one_hot", lambda i: jax.nn.one_hot(i, 5), ["b"], np.array([0, 3], np.int32))
dynamic("cholesky", lambda a: jnp.linalg.cholesky(a), ["b, 4, 4"], np.stack([SPD, SPD]))
dynamic("fft", lambda x: jnp.abs(jnp.fft.rfft(x)), ["b, 8"], f(3, 8))
dynamic(
    "embedding", lambda e, i: e[i].mean(1), ["v, 3", "b, t"], f(5, 3), ints(2, 4, low=0, high=5)
)
dynamic("size", lambda x: x[:1] * x.shape[0], ["b, 3"], f(5, 3))
dynamic(
    "einsum_batch",
    lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k),
    ["b, t, 2, 4", "b, s, 2, 4"],
    f(2, 3, 2, 4),
    f(2, 5, 2, 4),
)

# models as strangers write them


def blockwise_attention(q, k, v, size=4):
    """Attention block after block of the keys, with a running maximum and sum."""
    n, d = q.shape

    def step(carry, block):
        most, total, out = carry
        scores = q @ block[0].T / np.sqrt(d).astype(np.float32)
        now = jnp.maximum(most, scores.max(-1))
        weights, kept = jnp.exp(scores - now[:, None]), jnp.exp(most - now)
        total = total * kept + weights.sum(-1)
        return (now, total, out * kept[:, None] + weights @ block[1]), None

    start = (jnp.full(n, -jnp.inf), jnp.zeros(n), jnp.zeros((n, d)))
    blocks = (k.reshape(-1, size, d), v.reshape(-1, size, d))
    (_, total, out), _ = lax.scan(step, start, blocks)
    return out / total[:, None]


case("blockwise_attention", blockwise_attention, f(8, 4), f(16, 4), f(16, 4))
case(
    "blockwise_attention_grad",
    jax.grad(
        lambda q, k, v: jnp.sum(jax.vmap(blockwise_attention)(q, k, v) ** 2), argnums=(0, 1, 2)
    ),
    f(2, 8, 4),
    f(2, 8, 4),
    f(2, 8, 4),
)


def normalized_convolution(p, x, labels):
    """The loss of a convolution with batch normalization, and what it normalized by."""
    w, scale, offset, head = p
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
    y = jax.nn.relu((y - mean) * lax.rsqrt(variance + 1e-5) * scale + offset)
    y = lax.reduce_window(y, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    logs = jax.nn.log_softmax(y.reshape(x.shape[0], -1) @ head)
    return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1)), (mean, variance)


case(
    "normalized_convolution_step",
    jax.value_and_grad(normalized_convolution, has_aux=True),
    (f(3, 3, 2, 4), f(4), f(4), f(64, 5)),
    f(2, 8, 8, 2),
    np.array([1, 3], np.int32),
)


def adam_steps(p, x, y):
    """A few steps of Adam with clipped gradients, in a scan."""

    def step(carry, _):
        p, m, v, t = carry
        loss, g = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p[0]) @ p[1] - y) ** 2))(p)
        norm = jnp.sqrt(sum(jnp.sum(a * a) for a in g))
        g, t = [a * jnp.minimum(1, 1 / norm) for a in g], t + 1
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g, strict=True)]
        rates = [
            a / (1 - 0.9**t) / (jnp.sqrt(b / (1 - 0.999**t)) + 1e-8)
            for a, b in zip(m, v, strict=True)
        ]
        return ([a - 0.01 * b for a, b in zip(p, rates, strict=True)], m, v, t), loss

    zeros = [jnp.zeros_like(a) for a in p]
    return lax.scan(step, (p, zeros, zeros, jnp.int32(0)), None, length=5)


case("adam_steps", adam_steps, [f(4, 8), f(8, 2)], f(16, 4), f(16, 2))
case(
    "four_bits",
    lambda x, w: (
        jnp.clip(jnp.round(x * 4), -8, 7).astype(jnp.int4).astype(jnp.float32),
        x @ w.astype(jnp.int4).astype(jnp.float32),
        x * jnp.asarray(np.array([1, -3, 7, -8]), jnp.int4).astype(jnp.float32),
        x * jnp.asarray(np.array([1, 3, 15, 2]), jnp.uint4).astype(jnp.float32),
    ),
    f(3, 4),
    ints(4, 2, low=-7, high=7, dtype=np.int8),
)

if __name__ == "__main__":
    PROGRAMS.write(sys.argv[1], sys.argv[2:])
