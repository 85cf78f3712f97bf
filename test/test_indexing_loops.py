# ruff: noqa: E501 (programs in text)
"""Loops that join, move, scatter and gather elements: random ones of each kind are compiled, and
give what the interpreter gives.

TREADLE_STRESS_PROGRAMS sets how many of each kind; TREADLE_STRESS_SEED the first one, to repeat a
failure."""

import os
import random

import numpy as np
import pytest

import treadle

PROGRAMS = int(os.environ.get("TREADLE_STRESS_PROGRAMS", "12"))
FIRST = int(os.environ.get("TREADLE_STRESS_SEED", "0"))

LOOP = """
func.func @main(%x: TYPE) -> (TYPE, TYPE) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<9> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, TYPE, TYPE
  cond {
    %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
BODY
    stablehlo.return %next, %y, %keep : tensor<i32>, TYPE, TYPE
  }
  return %r#1, %r#2 : TYPE, TYPE
}
"""

COMBINERS = ["add", "multiply", "minimum", "maximum", "subtract", "second", "squares"]


def typed(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class Program:
    """The body of a loop over `a`: ops, each of which makes a value of a shape."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.count = 0
        self.element = self.random.choice(["f32", "f64", "i32", "i64"])
        self.shape = self.shape_of_rank(self.random.randint(1, 3))
        self.values = [("%a", self.shape)]

    def shape_of_rank(self, rank):
        most = [40, 12, 6][rank - 1]
        return tuple(self.random.randint(1, most) for _ in range(rank))

    def emit(self, text, shape, element=None):
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"    {name} = {text} -> {typed(shape, element or self.element)}")
        return name

    def pick(self):
        return self.random.choice(self.values)

    def type_of(self, shape):
        return typed(shape, self.element)

    def slice(self, value, shape):
        begins = [self.random.randint(0, size - 1) for size in shape]
        ends = [self.random.randint(b + 1, size) for b, size in zip(begins, shape, strict=True)]
        if self.random.random() < 0.5:  # whole but for one dimension
            keep = self.random.randrange(len(shape))
            begins = [b if i == keep else 0 for i, b in enumerate(begins)]
            ends = [e if i == keep else shape[i] for i, e in enumerate(ends)]
        sizes = tuple(e - b for b, e in zip(begins, ends, strict=True))
        ranges = ", ".join(f"{b}:{e}" for b, e in zip(begins, ends, strict=True))
        return self.emit(
            f"stablehlo.slice {value} [{ranges}] : ({self.type_of(shape)})", sizes
        ), sizes

    def roll(self, value, shape):
        axis = self.random.randrange(len(shape))
        at = self.random.randint(0, shape[axis])
        parts = []
        for begin, end in ((at, shape[axis]), (0, at)):
            if begin == end:
                continue
            sizes = tuple(end - begin if i == axis else n for i, n in enumerate(shape))
            ranges = ", ".join(
                f"{begin}:{end}" if i == axis else f"0:{n}" for i, n in enumerate(shape)
            )
            parts.append(
                (
                    self.emit(
                        f"stablehlo.slice {value} [{ranges}] : ({self.type_of(shape)})", sizes
                    ),
                    sizes,
                )
            )
        names = ", ".join(name for name, _ in parts)
        types = ", ".join(self.type_of(sizes) for _, sizes in parts)
        return self.emit(f"stablehlo.concatenate {names}, dim = {axis} : ({types})", shape), shape

    def join(self, value, shape):
        axis = self.random.randrange(len(shape))
        others = [(v, s) for v, s in self.values if len(s) == len(shape)]
        others = [
            (v, s)
            for v, s in others
            if all(a == b or i == axis for i, (a, b) in enumerate(zip(s, shape, strict=True)))
        ]
        parts = [(value, shape)] + [
            self.random.choice(others) for _ in range(self.random.randint(1, 3))
        ]
        sizes = tuple(
            sum(s[axis] for _, s in parts) if i == axis else n for i, n in enumerate(shape)
        )
        names = ", ".join(name for name, _ in parts)
        types = ", ".join(self.type_of(s) for _, s in parts)
        return self.emit(f"stablehlo.concatenate {names}, dim = {axis} : ({types})", sizes), sizes

    def pad(self, value, shape):
        low = [self.random.randint(-1, 3) for _ in shape]
        high = [self.random.randint(-1, 3) for _ in shape]
        gaps = [self.random.choice([0, 0, 0, 1, 2]) for _ in shape]
        sizes = tuple(
            n + a + b + (n - 1) * k for n, a, b, k in zip(shape, low, high, gaps, strict=True)
        )
        if min(sizes) < 1:
            return value, shape
        edge = self.emit_constant()
        text = f"stablehlo.pad {value}, {edge}, low = {low}, high = {high}, interior = {gaps} : ({self.type_of(shape)}, tensor<{self.element}>)"
        return self.emit(text, sizes), sizes

    def emit_constant(self):
        self.count += 1
        number = self.random.randint(-3, 3)
        text = f"{number}.0" if self.element[0] == "f" else str(number)
        self.lines.append(
            f"    %c{self.count} = stablehlo.constant dense<{text}> : tensor<{self.element}>"
        )
        return f"%c{self.count}"

    def reverse(self, value, shape):
        axes = self.random.sample(range(len(shape)), self.random.randint(1, len(shape)))
        self.count += 1
        self.lines.append(
            f"    %r{self.count} = stablehlo.reverse {value}, dims = {axes} : {self.type_of(shape)}"
        )
        return f"%r{self.count}", shape

    def double(self, value, shape):
        self.count += 1
        op = self.random.choice(["add", "subtract", "maximum"])
        self.lines.append(
            f"    %d{self.count} = stablehlo.{op} {value}, {value} : {self.type_of(shape)}"
        )
        return f"%d{self.count}", shape

    def numbers(self, shape, low, high):
        """Indices that are constant, or move with the iterations."""
        self.count += 1
        name = f"%n{self.count}"
        array = np.array(
            [self.random.randint(low, high) for _ in range(int(np.prod(shape)))]
        ).reshape(shape)
        text = str(array.tolist())
        kind = typed(shape, "i32")
        self.lines.append(f"    {name} = stablehlo.constant dense<{text}> : {kind}")
        if self.random.random() < 0.3:
            return name
        self.lines.append(
            f"    {name}w = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> {kind}"
        )
        self.lines.append(f"    {name}m = stablehlo.add {name}, {name}w : {kind}")
        return f"{name}m"

    def combiner(self):
        name = self.random.choice(COMBINERS)
        scalar = f"tensor<{self.element}>"
        if name == "second":
            body = f"stablehlo.return %q : {scalar}"
        elif name == "squares":
            body = f"%s = stablehlo.multiply %q, %q : {scalar}\n      %o = stablehlo.subtract %p, %s : {scalar}\n      stablehlo.return %o : {scalar}"
        else:
            body = f"%o = stablehlo.{name} %p, %q : {scalar}\n      stablehlo.return %o : {scalar}"
        return f"({{\n    ^bb0(%p: {scalar}, %q: {scalar}):\n      {body}\n    }})"

    def scatter(self, value, shape):
        """Windows, some of them outside, that may overlap."""
        window = [self.random.randint(1, n) for n in shape]
        inserted = [i for i, n in enumerate(window) if n == 1 and self.random.random() < 0.7]
        named = sorted(self.random.sample(range(len(shape)), self.random.randint(1, len(shape))))
        along = self.random.choice([(), (1,), (3,), (2, 2)])
        indices = self.numbers((*along, len(named)), -2, max(shape))
        kept = [n for i, n in enumerate(window) if i not in inserted]
        sizes = (*along, *kept)
        updates = self.values_of(sizes)
        numbers = f"#stablehlo.scatter<update_window_dims = {list(range(len(along), len(sizes)))}, inserted_window_dims = {inserted}, scatter_dims_to_operand_dims = {named}, index_vector_dim = {len(along)}>"
        text = f'"stablehlo.scatter"({value}, {indices}, {updates}) <{{scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = false}}> {self.combiner()} : ({self.type_of(shape)}, {typed((*along, len(named)), "i32")}, {self.type_of(sizes)})'
        return self.emit(text, shape), shape

    def values_of(self, shape):
        """Something of a shape: numbers, times one that differs between iterations."""
        self.count += 1
        name = f"%u{self.count}"
        kind = self.type_of(shape)
        array = np.array([self.random.randint(-4, 4) for _ in range(int(np.prod(shape)))]).reshape(
            shape
        )
        if self.element[0] == "f":
            array = array.astype(float)
        self.lines.append(f"    {name} = stablehlo.constant dense<{array.tolist()}> : {kind}")
        self.lines.append(
            f"    {name}i = stablehlo.convert %i : (tensor<i32>) -> tensor<{self.element}>"
        )
        self.lines.append(
            f"    {name}w = stablehlo.broadcast_in_dim {name}i, dims = [] : (tensor<{self.element}>) -> {kind}"
        )
        self.lines.append(f"    {name}p = stablehlo.subtract {name}, {name}w : {kind}")
        return f"{name}p"

    def write(self, value, shape):
        """A block that replaces another, at a place that is moved inside."""
        part, sizes = self.slice(value, shape) if self.random.random() < 0.5 else (None, None)
        if part is None:
            sizes = tuple(self.random.randint(1, n) for n in shape)
            part = self.values_of(sizes)
        starts = []
        for n in shape:
            self.count += 1
            self.lines.append(
                f"    %s{self.count} = stablehlo.constant dense<{self.random.randint(-1, n)}> : tensor<i32>"
            )
            starts.append(self.random.choice([f"%s{self.count}", "%i"]))
        kinds = ", ".join("tensor<i32>" for _ in shape)
        text = f"stablehlo.dynamic_update_slice {value}, {part}, {', '.join(starts)} : ({self.type_of(shape)}, {self.type_of(sizes)}, {kinds})"
        return self.emit(text, shape), shape

    def gather(self, value, shape):
        sizes = [self.random.randint(1, n) for n in shape]
        collapsed = [i for i, n in enumerate(sizes) if n == 1 and self.random.random() < 0.7]
        named = sorted(self.random.sample(range(len(shape)), self.random.randint(1, len(shape))))
        along = self.random.choice([(), (1,), (3,), (2, 2), (20,)])
        indices = self.numbers((*along, len(named)), -2, max(shape))
        kept = [n for i, n in enumerate(sizes) if i not in collapsed]
        result = (*along, *kept)
        if not result or len(result) > 3:
            return value, shape
        numbers = f"#stablehlo.gather<offset_dims = {list(range(len(along), len(result)))}, collapsed_slice_dims = {collapsed}, start_index_map = {named}, index_vector_dim = {len(along)}>"
        text = f'"stablehlo.gather"({value}, {indices}) <{{dimension_numbers = {numbers}, slice_sizes = array<i64: {", ".join(map(str, sizes))}>, indices_are_sorted = false}}> : ({self.type_of(shape)}, {typed((*along, len(named)), "i32")})'
        return self.emit(text, result), result

    def scalar_function(self, op):
        scalar = f"tensor<{self.element}>"
        return f"({{\n    ^bb0(%p: {scalar}, %q: {scalar}):\n      %o = stablehlo.{op} %p, %q : {scalar}\n      stablehlo.return %o : {scalar}\n    }})"

    def neutral(self, op):
        self.count += 1
        lowest = "-1.0e30" if self.element[0] == "f" else "-1000000"
        text = {"add": "0.0" if self.element[0] == "f" else "0", "maximum": lowest}[op]
        self.lines.append(
            f"    %z{self.count} = stablehlo.constant dense<{text}> : tensor<{self.element}>"
        )
        return f"%z{self.count}"

    def window(self, value, shape):
        """Windows of any form, or all up to each element."""
        op = self.random.choice(["add", "maximum"])
        axis = self.random.randrange(len(shape))
        if self.random.random() < 0.5:
            sizes = [n if i == axis else 1 for i, n in enumerate(shape)]
            before = self.random.random() < 0.5
            padding = [
                [(n - 1) * before, (n - 1) * (not before)] if i == axis else [0, 0]
                for i, n in enumerate(shape)
            ]
            strides = steps = [1] * len(shape)
        else:
            sizes = [self.random.randint(1, 3) for _ in shape]
            padding = [[self.random.randint(0, 2), self.random.randint(0, 2)] for _ in shape]
            strides = [self.random.randint(1, 2) for _ in shape]
            steps = [self.random.randint(1, 2) for _ in shape]
        result = []
        for n, size, (low, high), stride, step in zip(
            shape, sizes, padding, strides, steps, strict=True
        ):
            places = n + low + high - (size - 1) * step
            if places < 1:
                return value, shape
            result.append((places - 1) // stride + 1)
        arrays = [", ".join(map(str, values)) for values in (sizes, strides, steps)]
        text = f'"stablehlo.reduce_window"({value}, {self.neutral(op)}) <{{window_dimensions = array<i64: {arrays[0]}>, window_strides = array<i64: {arrays[1]}>, window_dilations = array<i64: {arrays[2]}>, padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}> {self.scalar_function(op)} : ({self.type_of(shape)}, tensor<{self.element}>)'
        return self.emit(text, tuple(result)), tuple(result)

    def extreme(self, value, shape):
        """Returns the position of the greatest element along an axis, and the element."""
        axis = self.random.randrange(len(shape))
        kept = tuple(n for i, n in enumerate(shape) if i != axis)
        self.count += 1
        name, scalar = f"%e{self.count}", f"tensor<{self.element}>"
        kind, result = self.type_of(shape), self.type_of(kept)
        self.lines.append(f"""    {name}n = stablehlo.iota dim = {axis} : {typed(shape, "i32")}
    {name}:2 = "stablehlo.reduce"({value}, {name}n, {self.neutral("maximum")}, %zero) <{{dimensions = array<i64: {axis}>}}> ({{
    ^bb0(%p: {scalar}, %i0: tensor<i32>, %q: {scalar}, %i1: tensor<i32>):
      %g = stablehlo.compare GT, %p, %q : ({scalar}, {scalar}) -> tensor<i1>
      %e = stablehlo.compare EQ, %p, %q : ({scalar}, {scalar}) -> tensor<i1>
      %l = stablehlo.compare LT, %i0, %i1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %f = stablehlo.and %e, %l : tensor<i1>
      %t = stablehlo.or %g, %f : tensor<i1>
      %o = stablehlo.select %t, %p, %q : tensor<i1>, {scalar}
      %w = stablehlo.select %t, %i0, %i1 : tensor<i1>, tensor<i32>
      stablehlo.return %o, %w : {scalar}, tensor<i32>
    }}) : ({kind}, {typed(shape, "i32")}, {scalar}, tensor<i32>) -> ({result}, {typed(kept, "i32")})
    {name}w = stablehlo.convert {name}#1 : ({typed(kept, "i32")}) -> {result}
    {name}s = stablehlo.subtract {name}#0, {name}w : {result}""")
        return (f"{name}s", kept) if kept else (value, shape)

    def first(self, value, shape):
        """The first few along an axis in an order, less where they stood."""
        axis = self.random.randrange(len(shape))
        few = self.random.randint(1, min(9, shape[axis]))
        sizes = (*shape[:axis], few, *shape[axis + 1 :])
        ranges = ", ".join(f"0:{size}" for size in sizes)
        self.sort(value, shape, axis)
        name, whole, part = f"%o{self.count}", self.type_of(shape), self.type_of(sizes)
        self.lines[-1] = self.lines[-1].rsplit("\n", 1)[0]  # only the slices are read
        self.lines.append(f"""    {name}f = stablehlo.slice {name}#0 [{ranges}] : ({whole}) -> {part}
    {name}w = stablehlo.slice {name}#1 [{ranges}] : ({whole}) -> {part}
    {name}d = stablehlo.subtract {name}f, {name}w : {part}""")
        return f"{name}d", sizes

    def sort(self, value, shape, axis=None):
        """Sorted along an axis, less where each element stood."""
        axis = self.random.randrange(len(shape)) if axis is None else axis
        self.count += 1
        name, scalar, kind = f"%o{self.count}", f"tensor<{self.element}>", self.type_of(shape)
        order = "TOTALORDER" if self.element[0] == "f" else "SIGNED"
        self.lines.append(f"""    {name}n = stablehlo.iota dim = {axis} : {kind}
    {name}:2 = "stablehlo.sort"({value}, {name}n) <{{dimension = {axis} : i64, is_stable = true}}> ({{
    ^bb0(%p: {scalar}, %q: {scalar}, %i0: {scalar}, %i1: {scalar}):
      %o = stablehlo.compare {self.random.choice(["LT", "GT"])}, %p, %q, {order} : ({scalar}, {scalar}) -> tensor<i1>
      stablehlo.return %o : tensor<i1>
    }}) : ({kind}, {kind}) -> ({kind}, {kind})
    {name}s = stablehlo.subtract {name}#0, {name}#1 : {kind}""")
        return f"{name}s", shape

    def text(self, kinds):
        for _ in range(self.random.randint(3, 9)):
            made = getattr(self, self.random.choice(kinds))(*self.pick())
            if np.prod(made[1]) <= 400:
                self.values.append(made)
        # All that is left of the last values is added up, so that each of them counts.
        total = "%a"
        for value, shape in self.values[-3:]:
            flat = self.emit(
                f"stablehlo.reshape {value} : ({self.type_of(shape)})", (int(np.prod(shape)),)
            )
            scalar = self.emit(
                f"stablehlo.slice {flat} [{np.prod(shape) // 2}:{np.prod(shape) // 2 + 1}] : ({self.type_of((int(np.prod(shape)),))})",
                (1,),
            )
            scalar = self.emit(f"stablehlo.reshape {scalar} : (tensor<1x{self.element}>)", ())
            wide = self.emit(
                f"stablehlo.broadcast_in_dim {scalar}, dims = [] : (tensor<{self.element}>)",
                self.shape,
            )
            same = [(v, s) for v, s in self.values if s == self.shape]
            other = self.random.choice(same)[0] if value == "%a" or shape != self.shape else value
            self.count += 1
            self.lines.append(
                f"    %t{self.count} = stablehlo.minimum {wide}, {other} : {self.type_of(self.shape)}"
            )
            self.lines.append(
                f"    %w{self.count} = stablehlo.maximum %t{self.count}, {total} : {self.type_of(self.shape)}"
            )
            total = f"%w{self.count}"
        kind = self.type_of(self.shape)
        keep = self.random.choice(["%a", "%b", total])
        self.lines.append(
            f"    %y = stablehlo.add {total}, {self.random.choice(['%a', '%b', total])} : {kind}"
        )
        self.lines.append(f"    %keep = stablehlo.maximum {keep}, {total} : {kind}")
        return LOOP.replace("BODY", "\n".join(self.lines)).replace("TYPE", kind)


KINDS = {
    "moves": ["slice", "roll", "join", "pad", "reverse", "double"],
    "writes": ["scatter", "write", "scatter", "double", "slice"],
    "reads": ["gather", "slice", "gather", "roll", "double"],
    "folds": ["window", "extreme", "sort", "first", "slice", "double"],
    "all": [
        "sort",
        "first",
        "window",
        "extreme",
        "slice",
        "roll",
        "join",
        "pad",
        "reverse",
        "double",
        "scatter",
        "write",
        "gather",
    ],
}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
@pytest.mark.parametrize("kinds", KINDS)
def test_random_loop_is_compiled_and_gives_the_same(kinds, seed):
    program = Program(f"{kinds} {seed}")
    text = program.text(KINDS[kinds]).encode()
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}[
        program.element
    ]
    x = (np.arange(np.prod(program.shape)).reshape(program.shape) % 7 - 3).astype(dtype)
    results = {}
    for tier in ("interpret", "jit"):
        session = treadle.Session(text, tier=tier, statistics=True)
        given = x.copy()
        with np.errstate(all="ignore"):
            results[tier] = session.run(["while:1", "while:2"], {"arg0": given})
        np.testing.assert_array_equal(given, x)
    statistics = session.statistics()
    assert (statistics.compiled_calls, statistics.bails) == (1, 0), statistics.last_failure
    for got, want in zip(results["jit"], results["interpret"], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


SHARED = """
func.func @main(%x: tensor<2x5x3xi32>) -> (tensor<2x5x3xi32>, tensor<2x5x3xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<3> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<2x5x3xi32>, tensor<2x5x3xi32>
  cond {
    %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %d1 = stablehlo.maximum %a, %a : tensor<2x5x3xi32>
    %d2 = stablehlo.subtract %d1, %d1 : tensor<2x5x3xi32>
    %c8 = stablehlo.constant dense<-1> : tensor<i32>
    %v9 = stablehlo.pad %d2, %c8, low = [3, 1, 1], high = [1, 0, 2], interior = [0, 0, 0] : (tensor<2x5x3xi32>, tensor<i32>) -> tensor<6x6x6xi32>
    %v20 = stablehlo.reshape %v9 : (tensor<6x6x6xi32>) -> tensor<216xi32>
    %v21 = stablehlo.slice %v20 [108:109] : (tensor<216xi32>) -> tensor<1xi32>
    %v22 = stablehlo.reshape %v21 : (tensor<1xi32>) -> tensor<i32>
    %v23 = stablehlo.broadcast_in_dim %v22, dims = [] : (tensor<i32>) -> tensor<2x5x3xi32>
    %t24 = stablehlo.minimum %v23, %d2 : tensor<2x5x3xi32>
    %w24 = stablehlo.maximum %t24, %d1 : tensor<2x5x3xi32>
    %keep = stablehlo.maximum %b, %w24 : tensor<2x5x3xi32>
    stablehlo.return %next, %b, %keep : tensor<i32>, tensor<2x5x3xi32>, tensor<2x5x3xi32>
  }
  return %r#1, %r#2 : tensor<2x5x3xi32>, tensor<2x5x3xi32>
}
"""


def test_of_a_loop_with_two_results_each_reader_has_its_own():
    """An op that was fused with another may turn out to only move elements once it is
    simplified."""
    x = (np.arange(30).reshape(2, 5, 3) % 7 - 3).astype(np.int32)
    values = []
    for tier in ("interpret", "jit"):
        session = treadle.Session(SHARED.encode(), tier=tier, statistics=True)
        values.append(session.run(["while:1", "while:2"], {"arg0": x}))
    assert session.statistics().compiled_calls == 1
    for got, want in zip(*values, strict=True):
        np.testing.assert_array_equal(got, want)
