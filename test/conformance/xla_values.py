"""Values of StableHLO's ops beside XLA's: all dtypes, special values, both tiers. A Python that has
JAX, pytest and Treadle runs it, in minutes:

    python -m pytest -q --import-mode importlib xla_values.py

Left out is where XLA isn't the specification: NaN in maxima, minima and clamps, subnormal numbers,
and powers of integers with large exponents."""

import itertools

import numpy as np
import pytest

import treadle

jax = pytest.importorskip("jax")
ml_dtypes = pytest.importorskip("ml_dtypes")

from jax._src.interpreters import mlir  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

INTEGERS = [f"{sign}{bits}" for sign in ("i", "ui") for bits in (8, 16, 32, 64)]
FLOATS = ["f16", "bf16", "f32", "f64"]
COMPLEX = ["complex<f32>", "complex<f64>"]
DTYPES = {
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "i1": np.dtype(bool),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}


def special(element):
    dtype = DTYPES[element]
    if element == "i1":
        return np.array([False, True])
    if element in INTEGERS:
        info = np.iinfo(dtype)
        some = {
            0,
            1,
            2,
            3,
            5,
            7,
            info.bits - 1,
            info.bits,
            info.bits + 1,
            100,
            info.max,
            info.max - 1,
        }
        if info.min:
            some |= {-1, -2, -3, -7, -100, info.min, info.min + 1}
        return np.array(sorted(some), dtype)
    if element in COMPLEX:
        parts = [0.0, -0.0, 1.0, -1.5, 3.25, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)
    info = ml_dtypes.finfo(dtype)  # without subnormal numbers, which XLA takes for zeros
    rest = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -7.0, 0.3, 127.5, 300.0, -300.0]
    ends = [float(info.max), float(info.min), float(info.tiny), np.inf, -np.inf, np.nan]
    return np.array(rest + ends, np.float64).astype(dtype)


def type_of(value, element):
    return f"tensor<{''.join(f'{d}x' for d in value.shape)}{element}>"


def of_xla(text, values):
    jax.config.update("jax_enable_x64", True)
    device = jax.devices("cpu")[0]
    with mlir.make_ir_context(), ir.Location.unknown():
        code = mlir.module_to_bytecode(ir.Module.parse(text))
    program = device.client.compile_and_load(code, [device])
    arrays = program.execute_sharded([jax.device_put(value, device) for value in values])
    return np.asarray(arrays.disassemble_into_single_device_arrays()[0][0])


def of_treadle(path, text, values, tier):
    path.write_text(text)
    main = treadle.load(path, tier=tier, timeout=60).signatures["main"]
    return np.asarray(next(iter(main(*values).values())))


def program(line, values, elements, result):
    head = ", ".join(
        f"%{chr(97 + i)}: {type_of(v, e)}"
        for i, (v, e) in enumerate(zip(values, elements, strict=True))
    )
    return f"func.func public @main({head}) -> {result} {{\n  {line}\n  return %r : {result}\n}}\n"


def parts(value):
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return np.stack([value.real, value.imag])
    return value.astype(np.float64) if value.dtype.name in ("bfloat16", "float16") else value


def check(tmp_path, line, values, elements, result, rtol=0.0):
    text = program(line, values, elements, result)
    wanted = of_xla(text, values)
    for tier in ("interpret", "jit"):
        got = of_treadle(tmp_path / "p.mlir", text, values, tier)
        assert got.shape == wanted.shape
        a, b = parts(got), parts(wanted)
        if a.dtype.kind == "f":
            same = np.isclose(a, b, rtol=rtol, atol=0, equal_nan=True)
            same &= np.isnan(a) | (a != 0) | (np.signbit(a) == np.signbit(b)) | (rtol > 0)
        else:
            same = a == b
        if not same.all():
            where = np.argwhere(~same)[:6]
            at = [tuple(int(i) for i in w) for w in where]
            lines = []
            for w in at:
                ins = [v[w[-v.ndim :]] if v.ndim else v[()] for v in values]
                lines.append(f"{[str(i) for i in ins]}: {a[w]} and not {b[w]}")
            raise AssertionError(f"{tier}: " + "; ".join(lines))


def pairs(element):
    x = special(element)
    a, b = np.meshgrid(x, x, indexing="ij")
    return a.ravel(), b.ravel()


EXACT = ["add", "subtract", "multiply", "maximum", "minimum"]
NUMBERS = INTEGERS + FLOATS
BINARY = (
    [(op, e) for op in EXACT + ["divide", "remainder"] for e in NUMBERS]
    + [(op, e) for op in ("and", "or", "xor") for e in [*INTEGERS, "i1"]]
    + [(op, e) for op in ("add", "multiply", "maximum", "minimum") for e in ["i1"]]
    + [
        (f"shift_{kind}", e)
        for kind in ("left", "right_logical", "right_arithmetic")
        for e in INTEGERS
    ]
    + [("power", e) for e in INTEGERS]
    + [(op, e) for op in ("power", "atan2") for e in ("f32", "f64")]
)


@pytest.mark.parametrize(("op", "element"), BINARY)
def test_binary(tmp_path, op, element):
    a, b = pairs(element)
    if element in FLOATS and op in ("maximum", "minimum"):
        both = (a == a) & (b == b)
        a, b = a[both], b[both]
    if element in INTEGERS and op == "power":
        a, b = a[b.astype(np.float64) < 64], b[b.astype(np.float64) < 64]
    if op == "atan2":
        a, b = (v[(abs(a) < 1e30) & (abs(b) < 1e30)] for v in (a, b))
    result = type_of(a, element)
    rtol = 0.0
    if element in FLOATS and op in ("power", "atan2"):
        rtol = {"f32": 2e-6, "f64": 1e-14}[element]
    check(tmp_path, f"%r = stablehlo.{op} %a, %b : {result}", [a, b], [element] * 2, result, rtol)


ROUNDING = "abs negate sign floor ceil round_nearest_afz round_nearest_even".split()
UNARY = (
    [(op, e) for op in ROUNDING for e in FLOATS]
    + [
        (op, e)
        for op in ("abs", "negate", "sign", "not", "popcnt", "count_leading_zeros")
        for e in INTEGERS
        if not (e.startswith("u") and op in ("abs", "sign"))
    ]
    + [("not", "i1")]
)


@pytest.mark.parametrize(("op", "element"), UNARY)
def test_unary(tmp_path, op, element):
    x = special(element)
    result = type_of(x, element)
    check(tmp_path, f"%r = stablehlo.{op} %a : {result}", [x], [element], result)


FUNCTIONS = (
    "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan "
    "tanh"
).split()


@pytest.mark.parametrize(("op", "element"), [(o, e) for o in FUNCTIONS for e in ("f32", "f64")])
def test_function(tmp_path, op, element):
    x = special(element)
    result = type_of(x, element)
    rtol = {"f32": 4e-6, "f64": 1e-13}[element]
    if op in ("cosine", "sine", "tan"):
        x = x[np.abs(x.astype(np.float64)) < 1000]
        result = type_of(x, element)
    check(tmp_path, f"%r = stablehlo.{op} %a : {result}", [x], [element], result, rtol)


ALL = [*INTEGERS, *FLOATS, "i1"]


@pytest.mark.parametrize(("given", "to"), itertools.product(ALL, ALL))
def test_convert(tmp_path, given, to):
    x = special(given)
    result = type_of(x, to)
    check(
        tmp_path,
        f"%r = stablehlo.convert %a : ({type_of(x, given)}) -> {result}",
        [x],
        [given],
        result,
    )


@pytest.mark.parametrize("element", ALL)
@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("kind", ["", ", TOTALORDER"])
def test_compare(tmp_path, element, direction, kind):
    if kind and element not in FLOATS:
        pytest.skip("of floats alone")
    a, b = pairs(element)
    t, result = type_of(a, element), type_of(a, "i1")
    line = f"%r = stablehlo.compare {direction}, %a, %b{kind} : ({t}, {t}) -> {result}"
    check(tmp_path, line, [a, b], [element] * 2, result)


@pytest.mark.parametrize("element", NUMBERS)
def test_clamp(tmp_path, element):
    x = special(element)
    x = x[x == x]
    for low, high in ((x[2], x[-3]), (x[-3], x[2]), (x[-2], x[3]), (x[3], x[-2])):
        values = [np.array(low), x, np.array(high)]
        s, t = type_of(values[0], element), type_of(x, element)
        check(
            tmp_path,
            f"%r = stablehlo.clamp %a, %b, %c : ({s}, {t}, {s}) -> {t}",
            values,
            [element] * 3,
            t,
        )


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("form", ["e5m10", "e8m7", "e4m3", "e2m1", "e11m3", "e8m23"])
def test_reduce_precision(tmp_path, element, form):
    x = special(element)
    t = type_of(x, element)
    check(tmp_path, f"%r = stablehlo.reduce_precision %a, format = {form} : {t}", [x], [element], t)


REDUCTIONS = [(o, e) for o in ("add", "multiply", "maximum", "minimum") for e in NUMBERS] + [
    (o, e) for o in ("and", "or", "xor") for e in [*INTEGERS, "i1"]
]


@pytest.mark.parametrize(("op", "element"), REDUCTIONS)
def test_reduce(tmp_path, op, element):
    x = special(element)
    x = x[x == x]
    # Sums whose order doesn't matter; maxima of all.
    if element in FLOATS and op in ("add", "multiply"):
        x = x[np.isin(x.astype(np.float64), [0, 0.5, 1, 1.5, 2.5, -2.5, 3, -7])]
    cases = [np.stack([x, x[::-1]]), x[None, :1], x[None, :0]]
    if element in FLOATS and op in ("maximum", "minimum"):
        cases.append(x[~np.isnan(x.astype(np.float64))][None])
    # XLA takes the initial value for one that changes nothing.
    ends = (False, True) if element == "i1" else (x[np.argsort(x)][0], x[np.argsort(x)][-1])
    neutral = {"multiply": 1, "maximum": ends[0], "minimum": ends[1], "and": ~np.array(0)}
    first = np.array(neutral.get(op, 0)).astype(DTYPES[element])
    for case in cases:
        s, t = type_of(first, element), type_of(case, element)
        result = type_of(case[:, 0] if case.size else np.zeros(1), element)
        line = (
            f"%r = stablehlo.reduce(%a init: %b) applies stablehlo.{op} across dimensions = [1] : "
            f"({t}, {s}) -> {result}"
        )
        check(
            tmp_path,
            line,
            [case, first],
            [element] * 2,
            result,
            1e-2 if element in ("f16", "bf16") else 1e-6,
        )


INDICES = [-(2**31), -7, -1, 0, 1, 2, 3, 4, 5, 100, 2**31 - 1]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("element", ["i32", "i64", "ui32", "i8"])
def test_indices_beyond_the_ends(tmp_path, index, element):
    at = np.array(index).astype(DTYPES[element])
    x = np.arange(5, dtype=np.float32)
    s = type_of(at, element)
    line = (
        f"%r = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<5xf32>, {s}) -> tensor<2xf32>"
    )
    check(tmp_path, line, [x, at], ["f32", element], "tensor<2xf32>")
    u = np.float32([8, 9])
    line = (
        "%r = stablehlo.dynamic_update_slice %a, %b, %c : "
        f"(tensor<5xf32>, tensor<2xf32>, {s}) -> tensor<5xf32>"
    )
    check(tmp_path, line, [x, u, at], ["f32", "f32", element], "tensor<5xf32>")
    v = at.reshape(1, 1)
    line = (
        '%r = "stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>} : "
        f"(tensor<5xf32>, {type_of(v, element)}) -> tensor<1x2xf32>"
    )
    check(tmp_path, line, [x, v], ["f32", element], "tensor<1x2xf32>")
    line = (
        '%r = "stablehlo.scatter"(%a, %b, %c) ({^bb0(%p: tensor<f32>, %q: tensor<f32>): '
        "%s = stablehlo.add %p, %q : tensor<f32> stablehlo.return %s : tensor<f32>}) "
        "{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
        f"(tensor<5xf32>, {type_of(v, element)}, tensor<1x2xf32>) -> tensor<5xf32>"
    )
    check(tmp_path, line, [x, v, u.reshape(1, 2)], ["f32", element, "f32"], "tensor<5xf32>")


@pytest.mark.parametrize("element", ALL)
def test_sort(tmp_path, element):
    x = np.concatenate([special(element)[::-1], special(element)])
    t = type_of(x, element)
    kind = ", TOTALORDER" if element in FLOATS else ""
    line = f"""%r = "stablehlo.sort"(%a) ({{
      ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
        %s = stablehlo.compare LT, %p, %q{kind}
          : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
        stablehlo.return %s : tensor<i1>
      }}) {{dimension = 0 : i64, is_stable = true}} : ({t}) -> {t}"""
    check(tmp_path, line, [x], [element], t)
