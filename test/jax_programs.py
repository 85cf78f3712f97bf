"""Exports common JAX programs: python3 jax_programs.py FOLDER [NAME...], where JAX is installed.

For each program NAME it writes NAME.mlir (the lowered text), NAME.generic.mlir and
NAME.export.mlir (MLIR's generic form, and with locations), NAME.mhlo.mlir (with the older dialect's
name), NAME.mlirbc (the portable artifact), NAME.jax (JAX's own file), and NAME.npz: inputs in0,
in1, ... and outputs out0, out1, ... as JAX computes them on the CPU.
"""

import contextlib
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

R = np.random.default_rng(0)


class Programs(dict):
    """Functions with arguments by name, and how they are exported."""

    def case(self, name, function, *args, x64=False, donate=()):
        """`x64`: with types of 64 bits; `donate`: arguments whose buffers the results may take."""
        assert name not in self, name
        self[name] = (function, args, None, x64, donate)

    def dynamic(self, name, function, specs, *args):
        """Exported with sizes unknown: a spec, as "b, 3", for each argument."""
        self["dynamic_" + name] = (function, args, specs, False, ())

    def write(self, folder, names):
        for name in names or self:
            function, args, specs, x64, donate = self[name]
            with jax.enable_x64(True) if x64 else contextlib.nullcontext():
                write(pathlib.Path(folder) / name, function, args, specs, donate)


PROGRAMS = Programs()
case = PROGRAMS.case
dynamic = PROGRAMS.dynamic


def f(*shape):
    return R.standard_normal(shape).astype(np.float32)


def integers(*shape):
    return R.integers(-9, 9, shape).astype(np.int32)


def mlp(p, x):
    for w, b in p[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = p[-1]
    return x @ w + b


P = [(f(8, 16), f(16)), (f(16, 4), f(4))]
case("mlp", mlp, P, f(5, 8))
case(
    "mlp_loss",
    lambda p, x, y: -jnp.mean(jax.nn.log_softmax(mlp(p, x))[jnp.arange(5), y]),
    P,
    f(5, 8),
    np.array([0, 1, 2, 3, 0], np.int32),
)


def loss(p, x, y):
    return -jnp.mean(jax.nn.log_softmax(mlp(p, x))[jnp.arange(5), y])


case(
    "mlp_step",
    lambda p, x, y: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, y)),
    P,
    f(5, 8),
    np.array([0, 1, 2, 3, 0], np.int32),
)


def cnn(w1, w2, w3, x):
    dn = ("NHWC", "HWIO", "NHWC")
    x = jax.nn.relu(lax.conv_general_dilated(x, w1, (1, 1), "SAME", dimension_numbers=dn))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(lax.conv_general_dilated(x, w2, (2, 2), "SAME", dimension_numbers=dn))
    x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    return x.reshape(x.shape[0], -1) @ w3


CA = (f(3, 3, 1, 4), f(3, 3, 4, 8), f(32, 10), f(2, 16, 16, 1))
case("cnn", cnn, *CA)
case(
    "cnn_grad",
    jax.grad(lambda w1, w2, w3, x: jnp.sum(cnn(w1, w2, w3, x) ** 2), argnums=(0, 1, 2)),
    *CA,
)
case("conv_nchw", lambda x, w: lax.conv(x, w, (2, 2), "SAME"), f(2, 3, 9, 9), f(5, 3, 3, 3))
case(
    "conv_1d",
    lambda x, w: lax.conv_general_dilated(
        x, w, (2,), [(2, 0)], dimension_numbers=("NWC", "WIO", "NWC")
    ),
    f(2, 9, 3),
    f(3, 3, 4),
)
case(
    "conv_3d",
    lambda x, w: lax.conv_general_dilated(
        x, w, (1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
    ),
    f(1, 4, 5, 6, 2),
    f(2, 3, 3, 2, 3),
)
case(
    "conv_transpose",
    lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
    f(2, 5, 5, 3),
    f(3, 3, 3, 4),
)
case(
    "conv_group",
    lambda x, w: lax.conv_general_dilated(
        x,
        w,
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=4,
        rhs_dilation=(2, 2),
    ),
    f(2, 8, 8, 8),
    f(3, 3, 2, 12),
)
case(
    "conv_group_grad",
    jax.grad(
        lambda x, w: jnp.sum(
            lax.conv_general_dilated(
                x,
                w,
                (1, 1),
                "SAME",
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
                feature_group_count=4,
            )
            ** 2
        ),
        argnums=(0, 1),
    ),
    f(2, 8, 8, 8),
    f(3, 3, 2, 12),
)
case(
    "conv_depthwise_grad",
    jax.grad(
        lambda x, w: jnp.sum(
            lax.conv_general_dilated(
                x,
                w,
                (2, 2),
                "SAME",
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
                feature_group_count=8,
            )
            ** 2
        ),
        argnums=(0, 1),
    ),
    f(2, 8, 8, 8),
    f(3, 3, 1, 8),
)


def att(q, k, v):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    m = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(m, s, -1e9), -1), v)


case("attention", att, f(2, 6, 4, 8), f(2, 6, 4, 8), f(2, 6, 4, 8))


def rnn(wx, wh, b, xs):
    def step(h, x):
        h = jnp.tanh(x @ wx + h @ wh + b)
        return h, h

    return lax.scan(step, jnp.zeros((xs.shape[1], wh.shape[0])), xs)


case("rnn", rnn, f(4, 8), f(8, 8), f(8), f(7, 3, 4))
case(
    "rnn_grad",
    jax.grad(lambda wx, wh, b, xs: jnp.sum(rnn(wx, wh, b, xs)[1] ** 2), argnums=(0, 1, 2)),
    f(4, 8),
    f(8, 8),
    f(8),
    f(7, 3, 4),
)
case(
    "while_loop",
    lambda x: lax.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2 + 1, s[1] + s[0]), (x, 0.0)),
    np.float32(1.5),
)
case("fori", lambda n, x: lax.fori_loop(0, n, lambda i, a: a + i * x, x), np.int32(10), f(3))
case(
    "cond",
    lambda p, x, y: lax.cond(p, lambda a, b: a + b, lambda a, b: a * b, x, y),
    np.bool_(True),
    f(3),
    f(3),
)
case(
    "switch",
    lambda i, x: lax.switch(i, [lambda a: a, lambda a: -a, lambda a: a * 2], x),
    np.int32(2),
    f(3),
)
case(
    "sort",
    lambda x: jnp.sort(x),
    np.concatenate([f(20), [np.nan, 0.0, -0.0, np.inf]]).astype(np.float32),
)
case("sort2d", lambda x: jnp.sort(x, axis=0), f(9, 5))
case("argsort", lambda x: (jnp.argsort(x), jnp.argsort(-x, stable=True)), np.round(f(33) * 3))
case(
    "lexsort",
    lambda a, b: jnp.lexsort((a, b)),
    R.integers(0, 4, 30).astype(np.int32),
    R.integers(0, 4, 30).astype(np.int32),
)
case("sort_int", lambda x: jnp.sort(x)[::-1], R.integers(-50, 50, 40).astype(np.int32))
case("top_k", lambda x: lax.top_k(x, 3), f(4, 10))
case("median", lambda x: (jnp.median(x), jnp.percentile(x, 30.0)), f(21))
case("unique", lambda x: jnp.unique(x, size=6), R.integers(0, 5, 20).astype(np.int32))
case("searchsorted", lambda a, v: jnp.searchsorted(a, v), np.sort(f(20)), f(7))
case("normal", lambda k: jax.random.normal(k, (5, 3)), np.array([1, 2], np.uint32))
case("uniform", lambda k: jax.random.uniform(k, (7,)), np.array([1, 2], np.uint32))
case("bits", lambda k: jax.random.bits(k, (6,), dtype=jnp.uint8), np.array([1, 2], np.uint32))
case("randint", lambda k: jax.random.randint(k, (6,), -3, 17), np.array([1, 2], np.uint32))
case("split", lambda k: jax.random.split(k, 4), np.array([1, 2], np.uint32))
case(
    "categorical",
    lambda k, logits: jax.random.categorical(k, logits, shape=(11,)),
    np.array([1, 2], np.uint32),
    f(5),
)
case("permutation", lambda k: jax.random.permutation(k, 12), np.array([1, 2], np.uint32))
case("gamma", lambda k: jax.random.gamma(k, 2.5, (4,)), np.array([1, 2], np.uint32))
case(
    "truncnorm",
    lambda k: jax.random.truncated_normal(k, -1.0, 2.0, (4,)),
    np.array([1, 2], np.uint32),
)
case("rng_key", lambda s: jax.random.key_data(jax.random.key(s)), np.int32(42))
case("rbg_bits", lambda: jax.random.key_data(jax.random.split(jax.random.key(3, impl="rbg"), 2)))
case(
    "rng_philox",
    lambda k: lax.rng_bit_generator(k, (7,), algorithm=lax.RandomAlgorithm.RNG_PHILOX),
    np.array([1, 2, 3, 4], np.uint32),
)
case(
    "rng_threefry",
    lambda k: lax.rng_bit_generator(k, (5,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY),
    np.array([1, 2, 3, 4], np.uint32),
)
case(
    "rng_default64",
    lambda k: lax.rng_bit_generator(k, (3, 3), dtype=jnp.uint32),
    np.array([9, 2, 3, 4], np.uint32),
)
case(
    "cumsum",
    lambda x: (
        jnp.cumsum(x, 1),
        jnp.cumprod(x, 0),
        lax.cummax(x, 1, reverse=True),
        lax.cumlogsumexp(x, 0),
    ),
    f(4, 9),
)
case("gather_rows", lambda x, i: x[i], f(10, 3), np.array([0, 3, -1, 9], np.int32))
case(
    "gather_nd",
    lambda x, i, j: x[i, :, j],
    f(5, 4, 6),
    np.array([0, 3, -1], np.int32),
    np.array([1, 2, 5], np.int32),
)
case(
    "take_along",
    lambda x, i: jnp.take_along_axis(x, i, 1),
    f(4, 5),
    R.integers(0, 5, (4, 2)).astype(np.int32),
)
case("take_fill", lambda x, i: jnp.take(x, i, axis=0), f(4, 5), np.array([0, 7, 2], np.int32))
case(
    "dyn_index",
    lambda x, i: (
        x[i],
        lax.dynamic_slice(x, (i, 1), (2, 3)),
        lax.dynamic_update_slice(x, jnp.ones((2, 2)), (i, 4)),
    ),
    f(6, 5),
    np.int32(5),
)
case("scatter_add", lambda x, i, u: x.at[i].add(u), f(5, 3), np.array([0, 2, 0], np.int32), f(3, 3))
case("scatter_set", lambda x, i, u: x.at[i, 1].set(u), f(5, 3), np.array([0, 2, 4], np.int32), f(3))
case(
    "scatter_max",
    lambda x, i, u: (x.at[i].max(u), x.at[i].multiply(u), x.at[i].min(u)),
    f(5),
    np.array([0, 2, 0], np.int32),
    f(3),
)
case("scatter_apply", lambda x, i: x.at[i].apply(jnp.exp), f(5), np.array([0, 2, 3], np.int32))
case(
    "segment_sum",
    lambda x, i: jax.ops.segment_sum(x, i, num_segments=4),
    f(8, 2),
    np.array([0, 1, 1, 3, 3, 3, 0, 2], np.int32),
)
case("bincount", lambda i: jnp.bincount(i, length=6), np.array([0, 1, 1, 3, 3, 3, 0, 2], np.int32))
case("histogram", lambda x: jnp.histogram(x, bins=5)[0], f(40))
case("one_hot", lambda i: jax.nn.one_hot(i, 5), np.array([0, 4, 2], np.int32))
case("logsumexp", lambda x: jax.scipy.special.logsumexp(x, axis=1), f(3, 4))
case(
    "argmax",
    lambda x: (jnp.argmax(x, 1), jnp.argmin(x), jnp.max(x, 0), jnp.min(x), jnp.prod(x, 1)),
    f(3, 4),
)
case("anyall", lambda x: (jnp.any(x > 1, 1), jnp.all(x < 2, 0), jnp.count_nonzero(x > 0)), f(3, 4))
case("var", lambda x: (jnp.var(x, 0), jnp.std(x), jnp.mean(x, 1)), f(3, 4))
case(
    "layernorm",
    lambda x, g, b: (
        (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b
    ),
    f(3, 8),
    f(8),
    f(8),
)
case(
    "gelu",
    lambda x: (
        jax.nn.gelu(x),
        jax.nn.gelu(x, approximate=False),
        jax.nn.silu(x),
        jax.nn.softplus(x),
        jax.nn.elu(x),
        jax.nn.sigmoid(x),
    ),
    f(9),
)
case(
    "elementwise",
    lambda x: [
        g(x)
        for g in (
            jnp.exp,
            jnp.sin,
            jnp.cos,
            jnp.tan,
            jnp.tanh,
            jnp.abs,
            jnp.sign,
            jnp.floor,
            jnp.ceil,
            jnp.round,
            jnp.square,
            jnp.cbrt,
            jnp.expm1,
            jnp.arctan,
            jnp.sinh,
            jnp.cosh,
            jnp.arcsinh,
            jnp.isfinite,
            jnp.isnan,
            jnp.negative,
        )
    ],
    f(12) * 2,
)
case(
    "positive",
    lambda x: [
        g(x)
        for g in (
            jnp.log,
            jnp.log1p,
            jnp.sqrt,
            lax.rsqrt,
            jnp.log2,
            jnp.log10,
            jnp.reciprocal,
            lax.lgamma,
            lax.digamma,
            lax.erf,
            lax.erfc,
        )
    ],
    np.abs(f(12)) + 0.1,
)
case(
    "unit",
    lambda x: [g(x) for g in (jnp.arcsin, jnp.arccos, jnp.arctanh, lax.erf_inv)],
    np.tanh(f(12)),
)
case(
    "special",
    lambda a, x: (
        lax.igamma(a, x),
        lax.igammac(a, x),
        lax.betainc(a, x, x / 10),
        jax.scipy.special.i0e(x),
        jax.scipy.special.i1(x),
        lax.bessel_i1e(x),
    ),
    np.abs(f(5)) + 0.5,
    np.abs(f(5)) % 1 + 0.1,
)
case(
    "binary",
    lambda a, b: [
        g(a, b)
        for g in (
            jnp.add,
            jnp.subtract,
            jnp.multiply,
            jnp.divide,
            jnp.maximum,
            jnp.minimum,
            jnp.arctan2,
            jnp.power,
            jnp.fmod,
            jnp.remainder,
            jnp.floor_divide,
            jnp.hypot,
            jnp.logaddexp,
            jnp.nextafter,
            jnp.copysign,
            jnp.equal,
            jnp.less,
            jnp.greater_equal,
        )
    ],
    np.abs(f(7)),
    f(7),
)
case(
    "intops",
    lambda a, b: (
        [
            g(a, b)
            for g in (
                jnp.floor_divide,
                jnp.remainder,
                jnp.fmod,
                jnp.bitwise_and,
                jnp.bitwise_or,
                jnp.bitwise_xor,
                lax.div,
                lax.rem,
            )
        ]
        + [
            a << 2,
            a >> 1,
            lax.shift_right_logical(a, jnp.int32(3)),
            a**3,
            lax.clz(a),
            lax.population_count(a),
            ~a,
            jnp.sign(a),
            jnp.abs(a),
        ]
    ),
    integers(8),
    np.array([1, 0, -2, 3, 4, -5, 6, 0], np.int32),
)
case(
    "shifts",
    lambda a, b: (
        lax.shift_left(a, b),
        lax.shift_right_arithmetic(a, b),
        lax.shift_right_logical(a, b),
    ),
    np.array([-1, 1, 5, -7, 2**31 - 1], np.int32),
    np.array([31, 32, 33, 40, -1], np.int32),
)
case(
    "uint",
    lambda a, b: [
        a + b,
        a * b,
        a - b,
        a // b,
        a % b,
        a > b,
        jnp.maximum(a, b),
        a >> 1,
        a.astype(jnp.float32),
        -a,
    ],
    np.array([1, 2**31 + 5, 7], np.uint32),
    np.array([3, 2, 2**31], np.uint32),
)
case(
    "convert",
    lambda x: [
        x.astype(t) for t in (jnp.int32, jnp.int8, jnp.uint8, jnp.bool_, jnp.float16, jnp.complex64)
    ],
    np.array([1.5, -2.7, 300.0, -1e10, 1e10, np.nan, 0.0], np.float32),
)
case(
    "bf16",
    lambda x, y: jnp.maximum(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16)).astype(jnp.float32),
    f(3, 4),
    f(3, 4),
)
case(
    "f8",
    lambda x: (
        x.astype(jnp.float8_e4m3fn).astype(jnp.float32)
        + x.astype(jnp.float8_e5m2).astype(jnp.float32)
    ),
    f(6),
)
case(
    "i4",
    lambda x: (x.astype(jnp.int4) * jnp.int4(2)).astype(jnp.int32),
    np.array([1, 2, -3], np.int32),
)
case(
    "bitcast",
    lambda x: (
        lax.bitcast_convert_type(x, jnp.int32),
        lax.bitcast_convert_type(x, jnp.uint8),
        lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.uint16), jnp.float32),
    ),
    f(5),
)
case(
    "complex",
    lambda x, y: (
        jnp.abs(x + 1j * y),
        jnp.real((x + 1j * y) * (y - 2j)),
        jnp.exp(x + 1j * y),
        jnp.conj(x + 1j * y),
        jnp.angle(x + 1j * y),
    ),
    f(4),
    f(4),
)
case(
    "fft",
    lambda x: (
        jnp.fft.rfft(x),
        jnp.fft.irfft(jnp.fft.rfft(x)),
        jnp.fft.fft2(x + 0j),
        jnp.fft.ifft(x + 0j),
    ),
    f(3, 8),
)
case(
    "clamp",
    lambda x: (jnp.clip(x, -0.5, 0.5), lax.clamp(jnp.float32(-0.1), x, jnp.float32(0.2))),
    f(5),
)
case(
    "pad",
    lambda x: (
        jnp.pad(x, ((1, 2), (0, 1))),
        lax.pad(x, jnp.float32(9), ((1, -1, 2), (-1, 2, 0))),
        jnp.pad(x, 1, mode="reflect"),
        jnp.pad(x, 2, mode="edge"),
    ),
    f(4, 5),
)
case(
    "concat",
    lambda a, b: (
        jnp.concatenate([a, b], 1),
        jnp.stack([a, a]),
        jnp.tile(a, (2, 1)),
        jnp.repeat(a, 2, 1),
        jnp.roll(a, 1, 0),
        jnp.flip(a, 1),
    ),
    f(2, 3),
    f(2, 2),
)
case("slice", lambda x: (x[1:3, ::2], x[::-1], x[:, -2], x[None, :, 0]), f(5, 6))
case(
    "iota",
    lambda: (
        jnp.arange(5),
        jnp.eye(3),
        jnp.linspace(0.0, 1.0, 5),
        jnp.tri(3),
        lax.broadcasted_iota(jnp.int32, (2, 3), 1),
    ),
)
case("meshgrid", lambda a, b: jnp.meshgrid(a, b), f(3), f(2))
case(
    "einsum",
    lambda a, b: (
        jnp.einsum("bij,bjk->bik", a, b),
        jnp.einsum("bij,bij->b", a, a),
        jnp.einsum("bij->ji", a),
        jnp.einsum("bij,bkl->ikjl", a, b),
    ),
    f(2, 3, 4),
    f(2, 4, 5),
)
case(
    "dot_int",
    lambda a, b: a @ b,
    R.integers(-5, 5, (3, 4)).astype(np.int32),
    R.integers(-5, 5, (4, 2)).astype(np.int32),
)
case(
    "dot_i8",
    lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32),
    R.integers(-5, 5, (3, 4)).astype(np.int8),
    R.integers(-5, 5, (4, 2)).astype(np.int8),
)
case("vmap", jax.vmap(lambda x, y: jnp.dot(x, y) + jnp.sort(x)[0]), f(4, 5), f(4, 5))
case("assoc_scan", lambda x: lax.associative_scan(jnp.add, x), f(9))
case("map", lambda x: lax.map(lambda r: jnp.sum(r**2), x), f(4, 3))
case("custom_jvp", jax.grad(lambda x: jnp.sum(jax.nn.relu(x) * jax.nn.softplus(x))), f(5))
case("hessian", jax.hessian(lambda x: jnp.sum(x**3) * x[0]), f(3))
case("jacfwd", jax.jacfwd(lambda x: jnp.sin(x) * x[::-1]), f(3))
case(
    "nested",
    lambda x: lax.fori_loop(
        0,
        3,
        lambda i, a: lax.cond(
            i % 2 == 0, lambda b: lax.fori_loop(0, 4, lambda j, c: c + j * i, b), lambda b: b * 2, a
        ),
        x,
    ),
    f(2),
)
case(
    "newton",
    lambda a: lax.while_loop(lambda s: jnp.abs(s * s - a) > 1e-4, lambda s: 0.5 * (s + a / s), a),
    np.float32(7.0),
)
case(
    "nms_like",
    lambda b: lax.scan(
        lambda c, i: (c.at[i].set(jnp.where(jnp.sum(c) > 3, 0.0, c[i] + 1)), c[i]), b, jnp.arange(5)
    ),
    np.abs(f(5)),
)
case(
    "kv_cache",
    lambda c, k, i: (
        lax.dynamic_update_slice_in_dim(c, k, i, 1),
        lax.dynamic_index_in_dim(c, i, 1),
    ),
    f(2, 8, 4),
    f(2, 1, 4),
    np.int32(3),
)
case(
    "max_pool_grad",
    jax.grad(
        lambda x: jnp.sum(
            lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2
        )
    ),
    f(1, 7, 7, 2),
)
case(
    "avg_pool_grad",
    jax.grad(
        lambda x: jnp.sum(
            lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2
        )
    ),
    f(1, 7, 7, 2),
)
case(
    "reduce_custom",
    lambda x: lax.reduce(x, jnp.float32(1), lambda a, b: a * b + a * 0.5 * 0 + 0 * b, (0,)),
    f(6, 3),
)
case(
    "reduce_multi",
    lambda x: lax.reduce(
        (x, x),
        (jnp.float32(0), jnp.float32(-9)),
        lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])),
        (1,),
    ),
    f(6, 3),
)
case("reduce_precision", lambda x: lax.reduce_precision(x, 5, 10), f(6))
case("optbar", lambda x: lax.optimization_barrier((x, x + 1)), f(3))
case(
    "tri_inv", lambda a: jnp.trace(a) + jnp.outer(a[0], a[1]).sum() + jnp.kron(a, a).sum(), f(3, 3)
)
case(
    "polyval",
    lambda p, x: (jnp.polyval(p, x), jnp.interp(x, jnp.arange(4.0), p), jnp.convolve(p, x)),
    f(4),
    f(6),
)
case("resize", lambda x: jax.image.resize(x, (1, 8, 8, 2), "bilinear"), f(1, 4, 4, 2))
case(
    "dropout",
    lambda k, x: jnp.where(jax.random.bernoulli(k, 0.5, x.shape), x * 2, 0),
    np.array([1, 2], np.uint32),
    f(10),
)
case(
    "adam",
    lambda m, v, g, t: (
        lambda m2, v2: (m2, v2, m2 / (1 - 0.9**t) / (jnp.sqrt(v2 / (1 - 0.999**t)) + 1e-8))
    )(0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g),
    f(4),
    np.abs(f(4)),
    f(4),
    np.float32(3),
)
case("remat", jax.grad(lambda x: jnp.sum(jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)))(x))), f(4))
case("bool_reduce", lambda x: (jnp.logical_xor.reduce(x), jnp.cumsum(x)), f(6) > 0)
case("select_n", lambda i, a, b: lax.select_n(i, a, b), f(4) > 0, f(4), f(4))
case(
    "intreduce",
    lambda x: (
        lax.reduce_and(x, (0,)),
        lax.reduce_or(x, (0,)),
        lax.reduce_xor(x, (1,)),
        jnp.sum(x, 1),
        jnp.max(x),
        jnp.prod(x, 0),
    ),
    R.integers(0, 255, (3, 4)).astype(np.int32),
)
case(
    "scan_rev",
    lambda x: lax.scan(lambda c, a: (c * 0.9 + a, c), jnp.zeros(2), x, reverse=True),
    f(5, 2),
)
case(
    "lstm",
    lambda W, xs: lax.scan(
        lambda s, x: (
            lambda g, c: (
                lambda i, fg, o, u: (lambda c2: ((jax.nn.sigmoid(o) * jnp.tanh(c2), c2), None))(
                    jax.nn.sigmoid(fg) * c + jax.nn.sigmoid(i) * jnp.tanh(u)
                )
            )(*jnp.split(g, 4, -1))
        )(jnp.concatenate([x, s[0]], -1) @ W, s[1]),
        (jnp.zeros((2, 5)), jnp.zeros((2, 5))),
        xs,
    )[0],
    f(8, 20),
    f(6, 2, 3),
)


# sizes that aren't known
dynamic("mlp", lambda x: jnp.tanh(x @ jnp.ones((3, 2))) * x.shape[0], ["b, 3"], f(5, 3))
dynamic("softmax", lambda x: jax.nn.softmax(x, -1), ["b, n"], f(5, 3))
dynamic(
    "concat",
    lambda x, y: jnp.concatenate([x, y, jnp.zeros_like(x)], 0),
    ["b, 3", "c, 3"],
    f(5, 3),
    f(2, 3),
)
dynamic("reshape", lambda x: x.reshape(-1, 2), ["b, 4"], f(5, 4))
dynamic("slice", lambda x: x[1:-1] + x[:-2], ["b, 4"], f(5, 4))
dynamic("arange", lambda x: x + jnp.arange(x.shape[0])[:, None], ["b, 4"], f(5, 4))
dynamic("cumsum", lambda x: jnp.cumsum(x, 0), ["b, 4"], f(5, 4))
dynamic("sort", lambda x: jnp.sort(x, 0), ["b, 4"], f(5, 4))
dynamic("gather", lambda x, i: x[i], ["b, 4", "k"], f(5, 4), np.array([0, 4, 1], np.int32))
dynamic(
    "conv",
    lambda x, w: lax.conv(x, w, (2, 2), "SAME"),
    ["b, 3, h, h", "5,3,3,3"],
    f(2, 3, 9, 9),
    f(5, 3, 3, 3),
)
dynamic(
    "loop",
    lambda x: lax.fori_loop(0, x.shape[0], lambda i, a: a + x[i], jnp.zeros(4)),
    ["b, 4"],
    f(5, 4),
)
dynamic("pad", lambda x: jnp.pad(x, ((1, x.shape[0]), (0, 1))), ["b, 4"], f(5, 4))
dynamic(
    "random",
    lambda k, x: jax.random.normal(k, x.shape),
    ["2", "b, 4"],
    np.array([1, 2], np.uint32),
    f(5, 4),
)


def flat(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def artifacts(exported):
    found = {"mlirbc": exported.mlir_module_serialized}
    with contextlib.suppress(ValueError):  # a result of a type that JAX has no file for
        found["jax"] = bytes(exported.serialize())
    return found


def forms(jitted, args, specs):
    """The program's texts, and its portable artifact, by extension."""
    if specs is not None:
        scope = export.SymbolicScope()
        shapes = [
            jax.ShapeDtypeStruct(export.symbolic_shape(spec, scope=scope), arg.dtype)
            for spec, arg in zip(specs, args, strict=True)
        ]
        exported = export.export(jitted)(*shapes)
        return {"mlir": exported.mlir_module(), **artifacts(exported)}
    lowered = jitted.lower(*args)
    module = lowered.compiler_ir(dialect="stablehlo").operation
    text = lowered.as_text()
    return {
        "mlir": text,
        "generic.mlir": module.get_asm(print_generic_op_form=True),
        "export.mlir": lowered.as_text(debug_info=True),
        "mhlo.mlir": text.replace("stablehlo.", "mhlo.").replace("#stablehlo<", "#mhlo<"),
        **artifacts(export.export(jitted)(*args)),
    }


def write(path, function, args, specs, donate):
    jitted = jax.jit(function, keep_unused=True, donate_argnums=donate)
    for extension, form in forms(jitted, args, specs).items():
        data = form if isinstance(form, bytes) else form.encode()
        path.with_name(f"{path.name}.{extension}").write_bytes(data)
    values = {f"in{i}": value for i, value in enumerate(flat(args))}
    values |= {f"out{i}": value for i, value in enumerate(flat(jitted(*args)))}
    np.savez(path.with_name(path.name + ".npz"), **values)


if __name__ == "__main__":
    PROGRAMS.write(sys.argv[1], sys.argv[2:])
