"""Programs of one StableHLO op each, with special values as arguments, for every element type.

A sample is an op with one element type. It has several lines where the op has several forms (the
directions of a comparison, the targets of a conversion); each line is a result of one program.
"""

import dataclasses
import itertools
import math
import re

import ml_dtypes
import numpy as np

SIGNED = [f"i{bits}" for bits in (2, 4, 8, 16, 32, 64)]
UNSIGNED = [f"u{element}" for element in SIGNED]
INTEGERS = SIGNED + UNSIGNED
WIDE_FLOATS = ["f16", "bf16", "f32", "f64"]
SMALL_FLOATS = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
}
FLOATS = WIDE_FLOATS + list(SMALL_FLOATS)
IN_PROGRAMS = ["f8E4M3", "f8E3M4"]  # which no argument and no result has
COMPLEX = ["complex<f32>", "complex<f64>"]
REAL = INTEGERS + FLOATS
ALL = [*REAL, "i1"]
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
    **{element: np.dtype(dtype) for element, dtype in SMALL_FLOATS.items()},
    **{f"i{bits}": np.dtype(getattr(ml_dtypes, f"int{bits}")) for bits in (2, 4)},
    **{f"ui{bits}": np.dtype(getattr(ml_dtypes, f"uint{bits}")) for bits in (2, 4)},
}
# Relative errors of functions that aren't rounded correctly.
TOLERANCES = {"f32": 4e-6, "f64": 1e-13, "complex<f32>": 1e-5, "complex<f64>": 1e-12, "f16": 2e-3}
TOLERANCES |= {"bf16": 1.6e-2} | dict.fromkeys(SMALL_FLOATS, 0.25)


# --- values --------------------------------------------------------------------------------------


def limits(element):
    dtype = DTYPES[element]
    return ml_dtypes.finfo(dtype) if element in FLOATS else ml_dtypes.iinfo(dtype)


def special(element):
    """The special values of a type. Subnormal numbers aren't among those of floats, because XLA
    takes them for zeros."""
    dtype = DTYPES[element]
    if element == "i1":
        return np.array([False, True])
    if element in COMPLEX:
        parts = [0.0, -0.0, 1.0, -1.5, 3.25, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)
    info = limits(element)
    least, most = (int(info.min), int(info.max)) if element in INTEGERS else (0, 0)
    if element in INTEGERS:
        bits = info.bits
        some = [0, 1, 2, 3, 5, 7, bits - 1, bits, bits + 1, 100, most, most - 1, -1, -2, -3, -7]
        some += [-100, least, least + 1]
        inside = sorted({n for n in some if least <= n <= most})
        return np.array(inside, object).astype(np.uint64 if least == 0 else np.int64).astype(dtype)
    some = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -7.0, 0.3, 127.5, 300.0, -300.0]
    ends = [float(info.max), float(info.min), float(info.tiny), np.inf, -np.inf, np.nan]
    return np.array(some + ends, np.float64).astype(dtype)


def finite(element, most=math.inf):
    x = special(element)
    with np.errstate(invalid="ignore"):
        return x[np.abs(x.astype(np.complex128)) < most] if element not in INTEGERS else x


def pairs(x, y=None):
    a, b = np.meshgrid(x, x if y is None else y, indexing="ij")
    return [a.ravel(), b.ravel()]


def without_nan(values):
    keep = np.ones(values[0].shape, bool)
    for value in values:
        keep &= ~np.isnan(value.astype(np.complex128))
    return [value[keep] for value in values]


# --- samples -------------------------------------------------------------------------------------


def type_of(value, element):
    return f"tensor<{''.join(f'{d}x' for d in np.shape(value))}{element}>"


@dataclasses.dataclass
class Line:
    """One result: `text` is an op that reads %a, %b, ... and gives %r."""

    text: str
    shape: tuple
    element: str

    @property
    def type(self):
        return f"tensor<{''.join(f'{d}x' for d in self.shape)}{self.element}>"


@dataclasses.dataclass
class Sample:
    op: str
    element: str
    values: list
    elements: list
    lines: list
    rtol: float = 0.0

    @property
    def name(self):
        return f"{self.op} {self.element}"

    def arguments(self):
        return [
            value.astype(np.float32) if element in IN_PROGRAMS else value
            for value, element in zip(self.values, self.elements, strict=True)
        ]

    def thinned(self, count):
        """The same with `count` of the values of each argument, spread evenly. Samples whose
        arguments have different shapes stay whole."""
        shapes = {np.shape(value) for value in self.values}
        [shape] = shapes if len(shapes) == 1 else [()]
        same = all(line.shape == shape for line in self.lines)
        if len(shape) != 1 or not same or shape[0] <= count:
            return self
        # Neighbouring samples see other values.
        step = shape[0] / count
        offset = sum(map(ord, self.name)) % max(1, int(step))
        at = np.unique((np.arange(count) * step).astype(int) + offset)
        at = at[at < shape[0]]
        before, after = f"<{shape[0]}x", f"<{len(at)}x"
        lines = [
            Line(line.text.replace(before, after), (len(at),), line.element) for line in self.lines
        ]
        return dataclasses.replace(self, values=[v[at] for v in self.values], lines=lines)


def program(parts):
    """@main of the values of samples, which returns the results of the lines that are paired with
    each. Graphs have no arguments and results of IN_PROGRAMS: these are f32 outside."""
    head, body, results = [], [], []
    for n, (sample, lines) in enumerate(parts):
        for name, value, element in zip("abc", sample.values, sample.elements, strict=False):
            name, inner = f"%s{n}_{name}", type_of(value, element)
            if element in IN_PROGRAMS:
                outer = type_of(value, "f32")
                body.append(f"{name} = stablehlo.convert {name}_f : ({outer}) -> {inner}")
                name, inner = f"{name}_f", outer
            head.append(f"{name}: {inner}")
        for i, line in enumerate(lines):
            text = line.text.replace("%r", f"%r{i}")
            body.append(re.sub(r"%(?=[a-z])", f"%s{n}_", text))
            name, type = f"%s{n}_r{i}", line.type
            if line.element in IN_PROGRAMS:
                inner, type = type, type.replace(line.element, "f32")
                body.append(f"{name}_f = stablehlo.convert {name} : ({inner}) -> {type}")
                name = f"{name}_f"
            results.append((name, type))
    names, types = (", ".join(part) for part in zip(*results, strict=True))
    return (
        f"func.func public @main({', '.join(head)}) -> ({types}) {{\n  "
        + "\n  ".join(body)
        + f"\n  return {names} : {types}\n}}\n"
    )


def elementwise(op, element, values, rtol=0.0, result=None, text="stablehlo.{op} {names} : {type}"):
    """A sample of an op whose operands and results have one shape."""
    names = ", ".join(f"%{chr(97 + i)}" for i in range(len(values)))
    shape, to = values[0].shape, result or element
    type = type_of(values[0], element)
    if result:
        operands = ", ".join([type] * len(values))
        text = f"stablehlo.{{op}} {{names}} : ({operands}) -> {type_of(values[0], to)}"
    line = Line("%r = " + text.format(op=op, names=names, type=type), shape, to)
    return Sample(op, element, values, [element] * len(values), [line], rtol)


def arithmetic():
    for op in ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum"):
        for element in REAL:
            values = pairs(special(element))
            # XLA leaves open which of NaN and a number is larger.
            yield elementwise(op, element, without_nan(values) if op[1] in "ai" else values)
    for op in ("add", "subtract", "multiply", "divide"):
        for element in COMPLEX:
            values = pairs(finite(element))
            rtol = TOLERANCES[element] if op in ("multiply", "divide") else 0.0
            yield elementwise(op, element, values, rtol)
    for op in ("add", "multiply", "maximum", "minimum"):
        yield elementwise(op, "i1", pairs(special("i1")))
    for op in ("and", "or", "xor"):
        for element in [*INTEGERS, "i1"]:
            yield elementwise(op, element, pairs(special(element)))
    for kind in ("left", "right_logical", "right_arithmetic"):
        for element in INTEGERS:
            yield elementwise(f"shift_{kind}", element, pairs(special(element)))
    for element in INTEGERS:  # XLA takes six bits of an exponent
        x = special(element)
        yield elementwise("power", element, pairs(x, x[x.astype(np.float64) < 64]))
    for op in ("power", "atan2"):
        for element in FLOATS:
            # Beyond, XLA's own atan2 overflows.
            x = special(element) if op == "power" else finite(element, 1e30)
            yield elementwise(op, element, pairs(x), TOLERANCES[element])
    for element in COMPLEX:
        x = finite(element)
        yield elementwise("power", element, pairs(x[x != 0]), 10 * TOLERANCES[element])


ROUNDING = "abs negate sign floor ceil round_nearest_afz round_nearest_even".split()
FUNCTIONS = (
    "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan "
    "tanh"
).split()


def unary():
    for op in ROUNDING:
        for element in FLOATS:
            yield elementwise(op, element, [special(element)])
    for op in ("abs", "negate", "sign", "not", "popcnt", "count_leading_zeros"):
        for element in SIGNED if op in ("abs", "sign") else INTEGERS:
            x = special(element)
            if (op, element) == ("popcnt", "i4"):
                x = x[x >= 0]  # XLA counts copies of the sign
            yield elementwise(op, element, [x])
    yield elementwise("not", "i1", [special("i1")])
    for element in FLOATS:
        yield elementwise("is_finite", element, [special(element)], result="i1")
    for op, element in itertools.product(FUNCTIONS, FLOATS):
        x = special(element)
        if op in ("cosine", "sine", "tan"):  # XLA reduces larger angles with fewer digits
            x = finite(element, 1000)
        yield elementwise(op, element, [x], TOLERANCES[element])
    for op, element in itertools.product([f for f in FUNCTIONS if f != "cbrt"], COMPLEX):
        x = finite(element)
        if (
            op == "sqrt"
        ):  # of a negative number, whose imaginary part is -0, XLA takes the other root
            x = x[(x.imag != 0) | ~np.signbit(x.imag)]
        yield elementwise(op, element, [x], 10 * TOLERANCES[element])
    for op, element in itertools.product(("abs", "negate", "sign"), COMPLEX):
        part = element[8:-1] if op == "abs" else None
        x = special(element)
        x = x[~np.isnan(x)]  # which XLA ignores in the imaginary part of sizes
        yield elementwise(op, element, [x], TOLERANCES[element], part)
    for op, element in itertools.product(("real", "imag"), COMPLEX):
        yield elementwise(op, element, [special(element)], result=element[8:-1])
    for element in ("f32", "f64"):
        yield elementwise("complex", element, pairs(special(element)), result=f"complex<{element}>")


def conversions():
    for given in [*ALL, *COMPLEX]:
        x = special(given)
        targets = [*ALL, *COMPLEX] if given in ALL else COMPLEX
        lines = [
            Line(
                f"%r = stablehlo.convert %a : ({type_of(x, given)}) -> {type_of(x, to)}",
                x.shape,
                to,
            )
            for to in targets
        ]
        yield Sample("convert", given, [x], [given], lines)
    bits = [("i32", "f32"), ("ui32", "f32"), ("i64", "f64"), ("i16", "f16"), ("ui16", "bf16")]
    for a, b in bits:
        for given, to in ((a, b), (b, a)):
            sample = elementwise("bitcast_convert", given, [special(given)], result=to)
            yield dataclasses.replace(sample, op=f"bitcast_convert to {to}")
    for element in WIDE_FLOATS:
        x = special(element)
        forms = ["e5m10", "e8m7", "e4m3", "e2m1", "e11m3", "e8m23"]
        t = type_of(x, element)
        lines = [
            Line(f"%r = stablehlo.reduce_precision %a, format = {form} : {t}", x.shape, element)
            for form in forms
        ]
        yield Sample("reduce_precision", element, [x], [element], lines)


def choices():
    for element in [*ALL, *COMPLEX]:
        values = pairs(special(element))
        t, result = type_of(values[0], element), type_of(values[0], "i1")
        # Complex numbers have no order.
        kinds = ["", ", TOTALORDER"] if element in FLOATS else [""]
        ways = ["EQ", "NE"] if element in COMPLEX else ["EQ", "NE", "LT", "LE", "GT", "GE"]
        lines = [
            Line(
                f"%r = stablehlo.compare {way}, %a, %b{kind} : ({t}, {t}) -> {result}",
                values[0].shape,
                "i1",
            )
            for way, kind in itertools.product(ways, kinds)
        ]
        yield Sample("compare", element, values, [element] * 2, lines)
    for element in REAL:
        x = special(element)
        [low, high] = pairs(np.unique(x[~np.isnan(x.astype(np.float64))])[[0, -1]])
        low, x, high = np.repeat(low, len(x)), np.tile(x, 4), np.repeat(high, len(x))
        yield elementwise("clamp", element, without_nan([low, x, high]))
    for element in [*ALL, *COMPLEX]:
        a, b = pairs(special(element))
        chosen = np.arange(len(a)) % 3 == 0
        p, t = type_of(chosen, "i1"), type_of(a, element)
        line = Line(f"%r = stablehlo.select %a, %b, %c : {p}, {t}", a.shape, element)
        yield Sample("select", element, [chosen, a, b], ["i1", element, element], [line])
    for element in ALL:
        if element in ("i2", "ui2"):  # which XLA doesn't sort
            continue
        x = np.concatenate([special(element)[::-1], special(element)])
        kind = ", TOTALORDER" if element in FLOATS else ""
        s, t = f"tensor<{element}>", type_of(x, element)
        line = (
            f'%r = "stablehlo.sort"(%a) ({{ ^bb0(%p: {s}, %q: {s}): '
            f"%s = stablehlo.compare LT, %p, %q{kind} : ({s}, {s}) -> tensor<i1> "
            "stablehlo.return %s : tensor<i1> "
            f"}}) {{dimension = 0 : i64, is_stable = true}} : ({t}) -> {t}"
        )
        yield Sample("sort", element, [x], [element], [Line(line, x.shape, element)])


# --- reductions and products ---------------------------------------------------------------------


def neutral(op, element, x):
    """XLA takes the initial value of a reduction for one that changes nothing."""
    if op in ("maximum", "minimum"):
        ordered = x[np.argsort(x.astype(np.float64), kind="stable")]
        return ordered[0 if op == "maximum" else -1]
    if op == "and":
        return np.array(-1).astype(DTYPES[element])[()] if element != "i1" else np.True_
    return np.array(op == "multiply").astype(DTYPES[element])[()]


def reductions():
    kinds = [(o, e) for o in ("add", "multiply", "maximum", "minimum") for e in REAL]
    kinds += [(o, e) for o in ("and", "or", "xor") for e in [*INTEGERS, "i1"]]
    for op, element in kinds:
        x = special(element)
        x = x[~np.isnan(x.astype(np.complex128))]
        if element in FLOATS and op in ("add", "multiply"):  # the order doesn't matter
            x = x[np.isin(x.astype(np.float64), [0, 0.5, 1, 1.5, -2.5])]
        first = np.array(neutral(op, element, x))
        rtol = TOLERANCES[element] if element in FLOATS and op in ("add", "multiply") else 0.0
        s = type_of(first, element)
        for name, case in (("", np.stack([x, x[::-1]])), (" of one", x[None, :1])):
            line = (
                f"%r = stablehlo.reduce(%a init: %b) applies stablehlo.{op} "
                f"across dimensions = [1] : ({type_of(case, element)}, {s}) -> "
                f"{type_of(case[:, 0], element)}"
            )
            result = Line(line, case[:, 0].shape, element)
            yield Sample(
                f"reduce {op}{name}", element, [case, first], [element] * 2, [result], rtol
            )


def products():
    for element in REAL + COMPLEX:
        if element in ("i2", "ui2"):  # which XLA has no products of
            continue
        x = np.arange(6).reshape(2, 3) - (0 if element in UNSIGNED else 2)
        if element in INTEGERS:
            x = np.clip(x, limits(element).min, limits(element).max)
        a = x.astype(DTYPES[element])
        b = (x.T % 2).astype(DTYPES[element])
        line = (
            f"%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
            f"({type_of(a, element)}, {type_of(b, element)}) -> tensor<2x2x{element}>"
        )
        result = Line(line, (2, 2), element)
        yield Sample("dot_general", element, [a, b], [element] * 2, [result])


# --- places --------------------------------------------------------------------------------------


INDICES = [-(2**31), -7, -1, 0, 1, 2, 3, 4, 5, 100, 2**31 - 1]


def indices():
    """Slices at places beyond the ends."""
    x, u = np.arange(5, dtype=np.float32), np.float32([8, 9])
    for element, index in itertools.product(["i32", "i64", "ui32", "i8"], INDICES):
        at = np.array(index).astype(DTYPES[element])
        s, v = f"tensor<{element}>", f"tensor<1x1x{element}>"
        row = f"%r_v = stablehlo.reshape %b : ({s}) -> {v}"
        lines = [
            (
                f"%r = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<5xf32>, {s}) -> "
                "tensor<2xf32>",
                (2,),
            ),
            (
                "%r = stablehlo.dynamic_update_slice %a, %c, %b : "
                f"(tensor<5xf32>, tensor<2xf32>, {s}) -> tensor<5xf32>",
                (5,),
            ),
            (
                f"{row}"
                '\n  %r = "stablehlo.gather"(%a, %r_v) '
                "{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], "
                "index_vector_dim = 1>, slice_sizes = array<i64: 2>} : "
                f"(tensor<5xf32>, {v}) -> tensor<1x2xf32>",
                (1, 2),
            ),
            (
                f"{row}"
                "\n  %r_u = stablehlo.reshape %c : (tensor<2xf32>) -> "
                'tensor<1x2xf32>\n  %r = "stablehlo.scatter"(%a, %r_v, %r_u) '
                "({^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32> "
                "stablehlo.return %s : tensor<f32>}) {scatter_dimension_numbers = "
                "#stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], "
                f"index_vector_dim = 1>}} : (tensor<5xf32>, {v}, tensor<1x2xf32>) -> tensor<5xf32>",
                (5,),
            ),
        ]
        lines = [Line(text, shape, "f32") for text, shape in lines]
        yield Sample("slices", f"{element} at {index}", [x, at, u], ["f32", element, "f32"], lines)


def samples():
    for family in (arithmetic, unary, conversions, choices, reductions, products, indices):
        yield from family()


# Samples that are few enough for a test: their special values are thinned, but each op has each
# element type.
FEW = 12


def few_samples():
    return [sample.thinned(FEW) for sample in samples()]


# --- comparing -----------------------------------------------------------------------------------


def parts(value):
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return np.stack([value.real, value.imag])
    if value.dtype.kind in "iub":
        return value
    return value.astype(np.float64) if value.dtype.itemsize < 4 else value


def smallest(value):
    """The smallest normal number of the type that XLA computes floats of `value`'s type in."""
    kind = np.float64 if np.asarray(value).dtype in (np.float64, np.complex128) else np.float32
    return np.finfo(kind).tiny


def difference(got, wanted, sample):
    """Describes the first fault of a result; empty if it is right."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)} and not {wanted.dtype}{list(wanted.shape)}"
    a, b = parts(got), parts(wanted)
    if a.dtype.kind == "f" and len(a) and got.dtype.kind == "c" and sample.rtol:
        # Relative to the whole number, not to the part.
        size = np.nan_to_num(np.abs(wanted), nan=0, posinf=0)
        same = np.isclose(a, b, rtol=sample.rtol, atol=sample.rtol * size, equal_nan=True)
    elif a.dtype.kind == "f":
        size = np.abs(np.stack([a, b]))
        same = np.isclose(a, b, rtol=sample.rtol, atol=0, equal_nan=True)
        same &= np.isnan(a) | (a != 0) | (np.signbit(a) == np.signbit(b)) | (sample.rtol > 0)
        same |= (size < smallest(got)).all(0)
    else:
        same = a == b
    if same.all():
        return None
    places = np.argwhere(~same)
    shown = []
    for place in places[:4]:
        inputs = [
            str(v[tuple(place[-v.ndim :])]) if v.ndim and v.shape[-1:] == a.shape[-1:] else "..."
            for v in sample.values
        ]
        shown.append(f"{inputs}: {a[tuple(place)]} and not {b[tuple(place)]}")
    return f"{len(places)} of {a.size}: " + "; ".join(shown)
