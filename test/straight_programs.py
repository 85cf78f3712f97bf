"""Random straight programs over tensors, as graphs: of every op that machine code has a form of its
own for, on numbers that break things (zeros, infinities, what is no number, the ends of the
integers) and on shapes that do (no rank, no elements, dimensions that are repeated).

Functions (not sums and products) round differently than kernels, so their results are tainted: no
discontinuous op, and none with cancellation, reads a tainted value.
"""

import random

import numpy as np

FLOATS = ["f32", "f64"]
INTEGERS = ["i32", "i64"]
UNSIGNED = ["ui32", "ui64"]
NATIVE = [*FLOATS, *INTEGERS, "i1"]
NUMPY = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
    "i1": np.bool_,
    "ui8": np.uint8,
    "ui32": np.uint32,
    "ui64": np.uint64,
    "i8": np.int8,
    "i16": np.int16,
    "f16": np.float16,
}
WIDTHS = {"f16": 2, "f32": 4, "f64": 8}  # in bytes

# Ops by what they do: functions that round in their own way, what is exact but for rounding once,
# what jumps, what hands on, ...
ROUNDING = (
    "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Elu Erf Erfc Exp Expm1 Inv Log Log1p Reciprocal "
    "Rsqrt Selu Sigmoid Sin Sinh Softplus Softsign Tan Tanh"
).split()
EXACT = "Abs Neg Square Sqrt".split()
JUMPING = "Ceil Floor Rint Round Sign".split()
KEEPING = "Relu Relu6 Identity StopGradient OnesLike ZerosLike".split()
INTEGER_UNARY = "Abs Neg Sign Square Invert Relu Relu6 Identity OnesLike ZerosLike".split()
ASKING = "IsFinite IsInf IsNan".split()
SUMS = "Add AddV2 Sub SquaredDifference".split()
PRODUCTS = "Mul MulNoNan Maximum Minimum".split()
QUOTIENTS = "Div RealDiv DivNoNan".split()
ROUNDING_BINARY = "Atan2 Pow Xdivy Xlog1py Xlogy".split()
COMPARING = "Equal NotEqual Less LessEqual Greater GreaterEqual".split()
INTEGER_BINARY = (
    "Add AddV2 Sub Mul Maximum Minimum SquaredDifference BitwiseAnd BitwiseOr BitwiseXor"
).split()
SHIFTS = "LeftShift RightShift".split()
UNSIGNED_BINARY = (
    "Add AddV2 Sub Mul Maximum Minimum BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift"
).split()
DIVIDING = "FloorDiv FloorMod TruncateDiv TruncateMod".split()
LOGICAL = "LogicalAnd LogicalOr".split()

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.75, -7.0, 100.25, 1e-3]
STRANGE = [np.inf, -np.inf, np.nan, 1e-45, 1e-38, 3e38, -3e38, 2.0**31, -(2.0**63), 1e10]
WHOLE = [0, 1, -1, 2, -2, 3, 7, -7, 31, 100]


class Value:
    def __init__(self, name, type, is_scalar=False, is_tainted=False, text=None):
        self.name, self.type = name, type
        self.is_scalar, self.is_tainted = is_scalar, is_tainted
        self.text = text or (f"tensor<{type}>" if is_scalar else f"tensor<*x{type}>")


def node(op, inputs, result, attrs):
    """A line of a graph."""
    name, types = result.name, ", ".join(i.text for i in inputs)
    call = f"{op}({', '.join(f'%{i.name}' for i in inputs)})" if inputs else op
    return (
        f'%{name}, %{name}_c = {call} name("{name}") {{{attrs}}} : ({types}) -> ({result.text})\n'
    )


def literal(type, value):
    """A number as the text of a graph has it, to the last bit."""
    if type in WIDTHS:
        bits = np.array(value, NUMPY[type]).view(f"u{WIDTHS[type]}")
        return f"0x{int(bits):0{2 * WIDTHS[type]}X}"
    return str(bool(value)).lower() if type == "i1" else str(int(value))


def constant(name, type, value):
    """A line, and the value that it makes: a scalar, or of a list a vector."""
    is_list = isinstance(value, list)
    text = f"tensor<{len(value)}x{type}>" if is_list else f"tensor<{type}>"
    made = Value(name, type, not is_list, text=text)
    dense = f"[{', '.join(literal(type, v) for v in value)}]" if is_list else literal(type, value)
    return node("Const", [], made, f"dtype = {type}, value = dense<{dense}> : {text}"), made


def graph(lines):
    head = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
    return head + "".join(lines) + "}\n"


COUNT = Value("i", "i32", True)  # of a loop's iterations


class Straight:
    """A program: `text` is its graph, `feeds` what it is given, `fetches` what is asked of it."""

    def __init__(self):
        self.inputs, self.lines, self.values = [], [], []
        self.given, self.feeds = [], {}
        self.fetches, self.tainted = [], set()
        self.steps, self.carried = 1, {}
        self.is_strange = False  # whether its numbers are beyond the usual, denormal ones included

    def take(self, value, data):
        shape = "" if value.is_scalar else "*"
        attrs = f"dtype = {value.type}, shape = #tf_type.shape<{shape}>"
        self.inputs.append(node("Placeholder", [], value, attrs))
        self.values.append(value)
        self.given.append(value)
        self.feeds[f"{value.name}:0"] = data
        return value

    def node(self, op, inputs, result, attrs):
        self.lines.append(node(op, inputs, result, attrs))
        self.values.append(result)
        return result

    def ask(self, values):
        self.asked = values
        self.fetches = [f"{v.name}:0" for v in values]
        self.tainted = {f"{v.name}:0" for v in values if v.is_tainted}

    @property
    def text(self):
        return graph(self.inputs + self.lines)

    @property
    def loop(self):
        """The same as the body of a loop of `steps` iterations, whose values are `loop_fetches`.

        `carried` maps values to their values in the next iteration; COUNT is its number.
        """
        results = [Value(f"r{k}", v.type) for k, v in enumerate(self.asked)]
        begin = [constant(v.name, v.type, 0) for v in [COUNT, *results]]
        variables = [COUNT, *self.given, *results]
        entries = ", ".join(v.text for v in [begin[0][1], *self.given, *(v for _, v in begin[1:])])
        attrs = f"T = [{', '.join(v.type for v in variables)}], output_shapes = []"
        attrs += ", cond = #tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>"
        attrs += ", parallel_iterations = 1 : i64"
        types = ", ".join(v.text for v in variables)
        operands = ", ".join(f"%{v.name}" for v in variables)
        head = f"%w:{len(variables)}, %w_c = StatelessWhile({operands})"
        loop = f'{head} name("w") {{{attrs}}} : ({entries}) -> ({types})\n'
        takes = ", ".join(f'%{v.name}: {v.text} {{tfg.name = "{v.name}"}}' for v in variables)
        gives = ", ".join(f'{v.text} {{tfg.name = "{v.name}_out"}}' for v in variables)
        last, steps = constant("steps", "i32", self.steps)
        goes_on, following = Value("p", "i1", True), Value("j", "i32", True)
        one, step = constant("step", "i32", 1)
        counting = one + node("AddV2", [COUNT, step], following, "T = i32")
        handed = [following, *(self.carried.get(v.name, v) for v in self.given), *self.asked]
        back = f"return({', '.join(f'%{v.name}' for v in handed)})"
        back += f" : {', '.join(v.text for v in handed)}"
        return (
            graph([*self.inputs, *(line for line, _ in begin), loop])
            + f'tfg.func @cond({takes}) -> (tensor<i1> {{tfg.name = "p"}}) {{\n'
            + f"{last}{node('Less', [COUNT, steps], goes_on, 'T = i32')}"
            + f"  return(%p) : tensor<i1>\n}}\ntfg.func @body({takes}) -> ({gives}) {{\n"
            + f"{counting}{''.join(self.lines)}  {back}\n}}\n"
        )

    @property
    def loop_fetches(self):
        return [f"w:{1 + len(self.given) + k}" for k in range(len(self.asked))]


class Program(Straight):
    """A random one."""

    def __init__(self, seed, size=16):
        super().__init__()
        self.random = random.Random(seed)
        self.count = 0
        self.base = [self.random.choice([0, 1, 2, 3, 3, 5]) for _ in range(4)]
        self.is_strange = self.random.random() < 0.5
        for i in range(self.random.randint(3, 6)):
            self.input(f"x{i}")
        while self.count < size:
            self.random.choice(self.MAKERS)(self)
        made = self.values[len(self.given) :]
        wanted = {made[-1].name} | {v.name for v in self.random.sample(made, 2)}
        self.ask([v for v in made if v.name in wanted])

    # --- values ---------------------------------------------------------------------------------

    def shape(self):
        """A part of the base's end, of which some dimensions are 1; seldom what doesn't fit."""
        rank = self.random.choice([0, 0, 1, 1, 2, 2, 3, 4])
        dims = [d if self.random.random() < 0.8 else 1 for d in self.base[4 - rank :]]
        if rank and self.random.random() < 0.02:
            dims[self.random.randrange(rank)] += 1
        return dims

    def data(self, type, shape):
        rng, count = self.random, int(np.prod(shape, dtype=int))
        if type in WIDTHS:
            pool = NUMBERS + (STRANGE if self.is_strange else [])
        elif type == "i1":
            pool = [False, True]
        else:
            ends = np.iinfo(NUMPY[type])
            pool = [w for w in WHOLE if ends.min <= w <= ends.max]
            pool += [int(ends.min), int(ends.max)] if self.is_strange else []
        with np.errstate(all="ignore"):
            values = np.array([rng.choice(pool) for _ in range(count)]).astype(NUMPY[type])
        return values.reshape(shape)

    def input(self, name):
        value = Value(name, self.random.choice(NATIVE), self.random.random() < 0.4)
        self.take(value, self.data(value.type, [] if value.is_scalar else self.shape()))

    def constant(self, type, value=None):
        value = self.data(type, []).item() if value is None else value
        line, made = constant(f"c{len(self.lines)}", type, value)
        self.lines.append(line)
        return made

    def pick(self, types, clean=False, scalar=False):
        fit = [
            v
            for v in self.values
            if v.type in types and not (clean and v.is_tainted) and (v.is_scalar or not scalar)
        ]
        if not fit or self.random.random() < 0.1:
            return self.constant(self.random.choice(types))
        return self.random.choice(fit[-6:] if self.random.random() < 0.6 else fit)

    def add(self, op, inputs, type, attrs, tainted=False, is_scalar=None):
        self.count += 1
        if is_scalar is None:
            is_scalar = all(i.is_scalar for i in inputs)
        return self.node(op, inputs, Value(f"n{self.count}", type, is_scalar, tainted), attrs)

    def plain(self, op, inputs, taints=False):
        type = inputs[-1].type
        tainted = taints or any(i.is_tainted for i in inputs)
        return self.add(op, inputs, type, f"T = {type}", tainted)

    # --- ops ------------------------------------------------------------------------------------

    def unary(self):
        kind = self.random.randrange(5)
        if kind == 0:
            return self.plain(self.random.choice(ROUNDING), [self.pick(FLOATS, True)], True)
        if kind == 1:
            return self.plain(self.random.choice(EXACT + KEEPING), [self.pick(FLOATS)])
        if kind == 2:
            return self.plain(self.random.choice(JUMPING), [self.pick(FLOATS, True)])
        if kind == 3:
            return self.plain(self.random.choice(INTEGER_UNARY), [self.pick(INTEGERS)])
        x = self.pick(FLOATS)
        return self.add(self.random.choice(ASKING), [x], "i1", f"T = {x.type}")

    def two(self, types, clean=False, scalar=False):
        x = self.pick(types, clean, scalar)
        return [x, self.pick([x.type], clean, scalar)]

    def binary(self):
        kind = self.random.randrange(5)
        if kind == 0:
            return self.plain(self.random.choice(SUMS), self.two(FLOATS, True))
        if kind == 1:
            return self.plain(self.random.choice(PRODUCTS), self.two(FLOATS))
        if kind == 2:
            return self.plain(self.random.choice(QUOTIENTS), self.two(FLOATS, True))
        if kind == 3:
            return self.plain(self.random.choice(ROUNDING_BINARY), self.two(FLOATS, True), True)
        return self.plain(self.random.choice([*INTEGER_BINARY, "Pow"]), self.two(INTEGERS))

    def dividing(self):
        types, scalar = (INTEGERS, True) if self.random.random() < 0.7 else (FLOATS, False)
        ops = DIVIDING if types == INTEGERS else DIVIDING[:2]
        return self.plain(self.random.choice(ops), self.two(types, True, scalar))

    def comparing(self):
        op = self.random.choice(COMPARING)
        types = NATIVE if op in COMPARING[:2] else NATIVE[:4]
        x, y = self.two(types, True)
        attrs = ", incompatible_shape_error = true" if op in COMPARING[:2] else ""
        return self.add(op, [x, y], "i1", f"T = {x.type}{attrs}")

    def logical(self):
        if self.random.random() < 0.3:
            return self.add("LogicalNot", [self.pick(["i1"])], "i1", "")
        return self.add(self.random.choice(LOGICAL), self.two(["i1"]), "i1", "")

    def cast(self):
        x = self.pick(NATIVE, True)
        to = self.random.choice(list(NUMPY))
        attrs = "SrcT = {}, DstT = {}, Truncate = false"
        y = self.add("Cast", [x], to, attrs.format(x.type, to))
        if to not in NATIVE:  # and from there
            back = self.random.choice(NATIVE)
            self.add("Cast", [y], back, attrs.format(to, back))

    def select(self):
        x, y = self.two(NATIVE)
        tainted = x.is_tainted or y.is_tainted
        condition = self.pick(["i1"])
        return self.add("SelectV2", [condition, x, y], x.type, f"T = {x.type}", tainted)

    def moving(self):
        x, kind = self.pick(NATIVE), self.random.randrange(4)
        attrs = f"T = {x.type}"
        if kind == 0:
            axis = self.constant("i32", self.random.choice([0, 0, -1, 1]))
            given = ("ExpandDims", [x, axis], x.type, f"{attrs}, Tdim = i32")
        elif kind == 1:
            given = ("Reshape", [x, self.constant("i32", [-1])], x.type, f"{attrs}, Tshape = i32")
        elif kind == 2:
            given = ("Squeeze", [x], x.type, f"{attrs}, squeeze_dims = []")
        else:
            given = ("Shape", [x], "i32", f"{attrs}, out_type = i32")
        tainted = x.is_tainted and kind != 3
        return self.add(*given, tainted, is_scalar=kind == 2 and x.is_scalar)

    def bias(self):
        x, y = self.two(FLOATS, True)
        return self.add("BiasAdd", [x, y], x.type, f'T = {x.type}, data_format = "NHWC"')

    MAKERS = [unary, unary, unary, binary, binary, binary, dividing, comparing, logical, cast]
    MAKERS += [select, moving, bias]


class Moves(Program):
    """A random one that moves elements about as well: parts, joins, gathers, reductions, ...

    The rank of most values is known, so that few programs fail; indices may be out of range.
    """

    def __init__(self, seed, size=12):
        self.ranks = {}
        super().__init__(seed, size)

    def take(self, value, data):
        self.ranks[value.name] = np.ndim(data)
        return super().take(value, data)

    def add(self, op, inputs, type, attrs, tainted=False, is_scalar=None):
        made = super().add(op, inputs, type, attrs, tainted, is_scalar)
        ranks = [self.ranks.get(i.name, 0) for i in inputs]
        rank = None if None in ranks else max(ranks)
        if op in ("Reshape", "Shape"):
            rank = 1
        elif op == "ExpandDims" and rank is not None:
            rank = ranks[0] + 1
        self.ranks[made.name] = None if op == "Squeeze" else rank
        return made

    def move(self, op, inputs, type, attrs, rank):
        tainted = any(i.is_tainted for i in inputs)
        made = self.add(op, inputs, type, attrs, tainted, is_scalar=False)
        self.ranks[made.name] = rank
        return made

    def ranked(self, types, least=0, clean=False):
        """A value whose rank is known, or one that is made, and its rank."""
        fit = [v for v in self.values if v.type in types and not (clean and v.is_tainted)]
        fit = [v for v in fit if self.ranks[v.name] is not None and self.ranks[v.name] >= least]
        if fit:
            value = self.random.choice(fit)
            return value, self.ranks[value.name]
        made = self.constant(self.random.choice(types), [1] * 2)
        self.ranks[made.name] = 1
        return made, 1

    def alike(self, value, rank, most):
        fit = [v for v in self.values if v.type == value.type and self.ranks[v.name] == rank]
        return [value, *self.random.sample(fit, min(len(fit), self.random.randint(0, most)))]

    def integers(self, count, pool):
        return self.constant("i32", [self.random.choice(pool) for _ in range(count)])

    def mask(self, count, p):
        return sum((self.random.random() < p) << k for k in range(count))

    def concat(self):
        x, rank = self.ranked(NATIVE, 1)
        parts = self.alike(x, rank, 2)
        axis = self.constant("i32", self.random.choice([0, -1, self.random.randrange(rank)]))
        attrs = f"N = {len(parts)} : i64, T = {x.type}, Tidx = i32"
        self.move("ConcatV2", [*parts, axis], x.type, attrs, rank)

    def pack(self):
        x, rank = self.ranked(NATIVE)
        parts = self.alike(x, rank, 2)
        attrs = (
            f"N = {len(parts)} : i64, T = {x.type}, axis = {self.random.randint(-1, rank)} : i64"
        )
        self.move("Pack", parts, x.type, attrs, rank + 1)

    def gather(self):
        x, rank = self.ranked(NATIVE, 1)
        pool, type = [0, 0, 1, 2, -1], self.random.choice(INTEGERS)
        count = self.random.randint(0, 3)
        places = [self.random.choice(pool) for _ in range(count)]
        indices = self.constant(type, places if count else self.random.choice(pool))
        axis = self.constant("i32", self.random.choice([0, 0, self.random.randrange(rank)]))
        attrs = f"Taxis = i32, Tindices = {type}, Tparams = {x.type}, batch_dims = 0 : i64"
        self.move("GatherV2", [x, indices, axis], x.type, attrs, rank - 1 + (count > 0))

    def begins(self, count, pool):
        scalars = [v for v in self.values if v.type == "i32" and v.is_scalar]
        if not scalars or self.random.random() < 0.6:
            return self.integers(count, pool)
        parts = [self.constant("i32", self.random.choice(pool)) for _ in range(count - 1)]
        attrs = f"N = {count} : i64, T = i32, axis = 0 : i64"
        return self.move("Pack", [self.random.choice(scalars), *parts], "i32", attrs, 1)

    def strided_slice(self):
        x, rank = self.ranked(NATIVE, 1)
        count = self.random.randint(1, rank)
        begin = self.begins(count, [0, 0, 1, 2, -1, -2, 5, -7])
        end = self.begins(count, [0, 1, 2, 3, -1, 5, 100])
        step = self.integers(count, [1, 1, 1, 2, 3, -1])
        rest = 1 << self.random.randrange(count) if self.random.random() < 0.15 else 0
        new = self.mask(count, 0.1) & ~rest
        gone = self.mask(count, 0.2) & ~(new | rest)
        masks = {"begin": self.mask(count, 0.2), "end": self.mask(count, 0.3), "ellipsis": rest}
        masks |= {"new_axis": new, "shrink_axis": gone}
        attrs = f"Index = i32, T = {x.type}, "
        attrs += ", ".join(f"{name}_mask = {mask} : i64" for name, mask in masks.items())
        rank += bin(new).count("1") - bin(gone).count("1")
        self.move("StridedSlice", [x, begin, end, step], x.type, attrs, rank)

    def slice(self):
        x, rank = self.ranked(NATIVE, 1)
        begin, size = self.integers(rank, [0, 0, 0, 1, 2]), self.integers(rank, [-1, -1, 0, 1, 2])
        self.move("Slice", [x, begin, size], x.type, f"Index = i32, T = {x.type}", rank)

    def transpose(self):
        x, rank = self.ranked(NATIVE, 1)
        order = self.constant("i32", self.random.sample(range(rank), rank))
        self.move("Transpose", [x, order], x.type, f"T = {x.type}, Tperm = i32", rank)

    def reduce(self):
        op = self.random.choice("Sum Mean Max Min Prod All Any ArgMax ArgMin".split())
        types = ["i1"] if op in ("All", "Any") else FLOATS if op == "Mean" else NATIVE[:4]
        x, rank = self.ranked(types, 1, clean=True)
        made = self.reduction(op, x, rank)
        made.is_tainted = x.type in FLOATS and op in ("Sum", "Mean", "Prod")

    def reduction(self, op, x, rank):
        if op.startswith("Arg"):
            attrs = f"T = {x.type}, Tidx = i32, output_type = i64"
            axis = self.constant("i32", self.random.randrange(-1, rank))
            return self.move(op, [x, axis], "i64", attrs, rank - 1)
        axes = self.random.sample(range(rank), self.random.randint(1, rank))
        keeps = self.random.random() < 0.5
        attrs = "" if x.type == "i1" else f"T = {x.type}, "
        attrs += f"Tidx = i32, keep_dims = {str(keeps).lower()}"
        left = rank if keeps else rank - len(axes)
        return self.move(op, [x, self.constant("i32", axes)], x.type, attrs, left)

    def tile(self):
        x, rank = self.ranked(NATIVE, 1)
        times = self.integers(rank, [1, 1, 2, 0])
        self.move("Tile", [x, times], x.type, f"T = {x.type}, Tmultiples = i32", rank)

    def one_hot(self):
        x, rank = self.ranked(INTEGERS)
        type = self.random.choice(NATIVE)
        depth = self.constant("i32", self.random.choice([0, 1, 3]))
        attrs = f"T = {type}, TI = {x.type}, axis = {self.random.choice([-1, 0])} : i64"
        inputs = [x, depth, self.constant(type), self.constant(type)]
        self.move("OneHot", inputs, type, attrs, rank + 1)

    def choose(self):
        x, rank = self.ranked(NATIVE)
        condition, _ = self.ranked(["i1"])
        self.move(
            "Select", [condition, x, self.alike(x, rank, 1)[-1]], x.type, f"T = {x.type}", rank
        )

    def reshape(self):
        x, _ = self.ranked(NATIVE)
        like, rank = self.ranked(NATIVE)
        shape = self.move("Shape", [like], "i32", f"T = {like.type}, out_type = i32", 1)
        shape.is_tainted = False
        self.move("Reshape", [x, shape], x.type, f"T = {x.type}, Tshape = i32", rank)

    MAKERS = [*Program.MAKERS, concat, pack, gather, strided_slice, slice, transpose, reduce, tile]
    MAKERS += [one_hot, choose, reshape]


class Loop(Moves):
    """A random one that is a `loop` only: of several iterations that change what it is given.

    Shapes are said by constants more often, so that some sizes are known in the body alone, and
    parts of tensors are read and written at places that depend on the iteration.
    """

    def __init__(self, seed, size=12):
        super().__init__(seed, size)
        self.steps = self.random.choice([0, 1, 2, 3, 3])
        for value in self.given:
            fit = [v for v in self.values[len(self.given) :] if self.may_follow(value, v)]
            if fit and self.random.random() < 0.8:
                self.carried[value.name] = self.random.choice(fit)

    def may_follow(self, value, other):
        """Whether a variable may become another value; seldom one of another rank."""
        is_alike = self.ranks[value.name] == self.ranks[other.name] or self.random.random() < 0.05
        return is_alike and value.text == other.text and not other.is_tainted

    def shaped(self):
        """Broadcasts to a constant shape, and sometimes reshapes the result to another one."""
        x, rank = self.ranked(NATIVE)
        if rank > 4:
            return
        rank = max(rank, 1)
        dims = self.base[4 - rank :]
        attrs = f"T = {x.type}, Tidx = i32"
        made = self.move("BroadcastTo", [x, self.constant("i32", dims)], x.type, attrs, rank)
        if self.random.random() < 0.5:
            shape = self.random.choice([[1, *dims], [*dims, 1], [int(np.prod(dims))], [*dims, -1]])
            if 0 in dims and -1 in shape:
                shape = dims
            attrs = f"T = {x.type}, Tshape = i32"
            inputs = [made, self.constant("i32", shape)]
            self.move("Reshape", inputs, x.type, attrs, len(shape))

    def standing(self):
        """A value with a dimension more."""
        x, rank = self.ranked(NATIVE)
        axis = self.constant("i32", self.random.randint(0, rank))
        self.move("ExpandDims", [x, axis], x.type, f"T = {x.type}, Tdim = i32", rank + 1)

    def places(self, rank):
        """Returns start indices of a slice: scalars, computed from the number of iterations."""
        scalars = [COUNT, *(v for v in self.values if v.type == "i32" and v.is_scalar)]
        parts = [
            self.random.choice(scalars)
            if self.random.random() < 0.5
            else self.constant("i32", self.random.choice([0, 0, 1, 2, -1]))
            for _ in range(rank)
        ]
        return self.move("Pack", parts, "i32", f"N = {rank} : i64, T = i32, axis = 0 : i64", 1)

    def centred(self):
        """Each column less its greatest element, where only a constant says how many there are."""
        fit = [v for v in self.given if v.type in NATIVE[:4] and self.ranks[v.name] > 1]
        if not fit:
            return
        x, axis = self.random.choice(fit), self.constant("i32", [0])
        rank, dims = self.ranks[x.name], [1, *self.feeds[f"{x.name}:0"].shape[1:]]
        attrs = f"T = {x.type}, Tidx = i32, keep_dims = false"
        attrs_of_cast = f"SrcT = i32, DstT = {x.type}, Truncate = false"
        steps = self.add("Cast", [COUNT], x.type, attrs_of_cast)
        x = self.plain("Maximum", [x, steps])
        most = self.move("Max", [x, axis], x.type, attrs, rank - 1)
        inputs = [most, self.constant("i32", dims)]
        row = self.move("Reshape", inputs, x.type, f"T = {x.type}, Tshape = i32", rank)
        left = self.plain("Sub", [x, row])
        self.plain("Maximum", [self.move("Min", [left, axis], x.type, attrs, rank - 1), most])

    def dynamic_slice(self):
        x, rank = self.ranked(NATIVE, 1)
        sizes = self.constant("i32", [self.random.choice([0, 1, 1, 2]) for _ in range(rank)])
        inputs = [x, self.places(rank), sizes]
        attrs = f"T = {x.type}, Tindices = i32"
        self.move("XlaDynamicSlice", inputs, x.type, attrs, rank)

    def dynamic_update(self):
        x, rank = self.ranked(NATIVE, 1)
        part = self.alike(x, rank, 1)[-1]
        attrs = f"T = {x.type}, Tindices = i32"
        self.move("XlaDynamicUpdateSlice", [x, part, self.places(rank)], x.type, attrs, rank)

    def scatter(self):
        """The first row again, with another sign."""
        x, rank = self.ranked(NATIVE[:4], 1)
        place, axis = self.constant("i32", [0]), self.constant("i32", 0)
        attrs = f"Taxis = i32, Tindices = i32, Tparams = {x.type}, batch_dims = 0 : i64"
        rows = self.move("GatherV2", [x, place, axis], x.type, attrs, rank)
        rows = self.move("Neg", [rows], x.type, f"T = {x.type}", rank)
        column = self.move("ExpandDims", [place, axis], "i32", "T = i32, Tdim = i32", 2)
        attrs = f"T = {x.type}, Tindices = i32"
        self.move("TensorScatterUpdate", [x, column, rows], x.type, attrs, rank)

    def exact(self, op):
        """Returns values whose sums and products are exact in every order: integers, or numbers of
        size 1."""
        x, rank = self.ranked(NATIVE[:4], 1, clean=True)
        if x.type in FLOATS and op in ("Sum", "Prod", "Cumsum", "Cumprod"):
            x = self.move("Sign", [x], x.type, f"T = {x.type}", rank)
        return x, rank

    def reduce(self):
        op = self.random.choice(["Sum", "Sum", "Max", "Max", "Min", "Prod", "ArgMax"])
        self.reduction(op, *self.exact(op))

    def running(self):
        op = self.random.choice(["Cumsum", "Cumprod"])
        x, rank = self.exact(op)
        axis = self.constant("i32", self.random.randrange(rank))
        attrs = f"T = {x.type}, Tidx = i32, exclusive = false, reverse = false"
        self.move(op, [x, axis], x.type, attrs, rank)

    MAKERS = [Program.unary, Program.binary, Program.binary, Program.comparing, Program.select]
    MAKERS += [Moves.concat, Moves.pack, Moves.strided_slice, Moves.transpose, Moves.tile]
    MAKERS += [*[reduce] * 3, Moves.one_hot, *[shaped] * 3, standing, centred]
    MAKERS += [dynamic_slice, dynamic_update, scatter, running]


# By the bytes of a float: how far apart results may be that are rounded in two ways. Kernels have
# no logarithms of the least numbers.
TOLERANCES = {2: (2e-3, 1e-6), 4: (5e-6, 1e-37), 8: (1e-13, 1e-300)}


def same(expected, found, is_tainted):
    """Whether two arrays of one dtype and shape have the same elements, including the signs of
    zeros."""
    if expected.dtype.kind != "f":
        return expected == found
    with np.errstate(all="ignore"):
        equal = (expected == found) & (np.signbit(expected) == np.signbit(found))
        equal |= np.isnan(expected) & np.isnan(found)
        if is_tainted:
            rtol, atol = TOLERANCES[expected.dtype.itemsize]
            equal |= np.abs(expected - found) <= rtol * np.abs(expected) + atol
    return equal


def differs(expected, found, is_tainted):
    """Why two results aren't the same; None if they are."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return f"{found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    return None if same(expected, found, is_tainted).all() else f"{found!r}, expected {expected!r}"
