"""SymbolicGradient: what a run gives is the slope of the function, for each op with a gradient."""

import itertools
import pathlib

import numpy as np
import pytest

import treadle

F64 = "tensor<*xf64>"
INTS = "tensor<*xi32>"


class Body:
    """The nodes of a function over float64 arguments x0, x1, ..."""

    def __init__(self):
        self.lines = []
        self.types = {}

    def op(self, op, inputs, attrs="T = f64", results=1, type=F64, name=None):
        name = name or f"n{len(self.lines)}"
        given = ", ".join(self.types.get(i.split("#")[0], F64) for i in inputs)
        self.types["%" + name] = type
        bound = f"%{name}:{results}" if results > 1 else f"%{name}"
        self.lines.append(
            f'  {bound}, %{name}_ctl = {op}({", ".join(inputs)}) name("{name}") {{{attrs}}}'
            f" : ({given}) -> ({', '.join([type] * results)})"
        )
        return [f"%{name}#{i}" for i in range(results)] if results > 1 else f"%{name}"

    def ints(self, *values, scalar=False):
        type = "tensor<i32>" if scalar else f"tensor<{len(values)}xi32>"
        text = values[0] if scalar else list(values)
        return self.op("Const", [], f"dtype = i32, value = dense<{text}> : {type}", type=type)

    def function(self, name, arguments, result, attributes=""):
        given = ", ".join(f'%x{i}: {F64} {{tfg.name = "x{i}"}}' for i in range(arguments))
        head = f'tfg.func @{name}({given}) -> ({F64} {{tfg.name = "y"}}){attributes} {{'
        return "\n".join([head, *self.lines, f"  return({result}) : {F64}", "}", ""])


def unary(op):
    return lambda b: b.op(op, ["%x0"])


def binary(op):
    return lambda b: b.op(op, ["%x0", "%x1"])


def call(op, constants, attrs, inputs=1):
    """An op with int32 constants after its inputs."""
    return lambda b: b.op(
        op, [f"%x{i}" for i in range(inputs)] + [b.ints(*c) for c in constants], "T = f64, " + attrs
    )


def reduction(op, axes, keep):
    return call(op, [axes], f"Tidx = i32, keep_dims = {str(keep).lower()}")


def matrix(op, a, b, names):
    return lambda body: body.op(
        op,
        ["%x0", "%x1"],
        f"T = f64, {names[0]} = {str(a).lower()}, {names[1]} = {str(b).lower()}",
    )


def concat(b):
    return b.op(
        "ConcatV2", ["%x0", "%x1", b.ints(-1, scalar=True)], "N = 2 : i64, T = f64, Tidx = i32"
    )


def split(b):
    parts = b.op(
        "Split", [b.ints(1, scalar=True), "%x0"], "T = f64, num_split = 3 : i64", results=3
    )
    return b.op("Mul", [parts[0], parts[2]])


def pack(b):
    whole = b.op("Pack", ["%x0", "%x1"], "N = 2 : i64, T = f64, axis = 1 : i64")
    return b.op("Square", [whole])


def unpack(b):
    rows = b.op("Unpack", ["%x0"], "T = f64, axis = 1 : i64, num = 3 : i64", results=3)
    return b.op("Mul", [rows[0], rows[1]])


def strided(b):
    ends = [b.ints(0, -1), b.ints(2, -3), b.ints(1, -1)]
    masks = "ellihsvs_mask = 0 : i64, new_axis_mask = 0 : i64, shrink_axis_mask = 0 : i64"
    return b.op(
        "StridedSlice",
        ["%x0", *ends],
        f"T = f64, Index = i32, begin_mask = 0 : i64, end_mask = 0 : i64, {masks}",
    )


def chosen(op):
    def build(b):
        where = b.op("Greater", ["%x0", "%x1"], type="tensor<*xi1>")
        return b.op(op, [where, "%x0", "%x1"])

    return build


def entropy(b):
    labels = b.op("Softmax", [b.op("ZerosLike", ["%x0"])])
    return b.op("SoftmaxCrossEntropyWithLogits", ["%x0", labels], results=2)[0]


def convolution(b):
    return b.op(
        "Conv2D",
        ["%x0", "%x1"],
        'T = f64, strides = [1, 1, 1, 1], padding = "SAME", data_format = "NHWC"',
    )


def used_often(b):
    squared = b.op("Square", ["%x0"])
    return b.op("AddN", [squared, b.op("Mul", [squared, "%x0"]), "%x0"], "N = 3 : i64, T = f64")


def without_path(b):
    return b.op("Mul", ["%x0", b.op("StopGradient", ["%x1"])])


TALL, ROW, CUBE = (2, 3), (3,), (2, 3, 3)
CASES = {
    **{
        op: (unary(op), [TALL])
        for op in (
            "Abs Neg Inv Reciprocal Square Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Asin Acos "
            "Atan Sinh Cosh Tanh Asinh Atanh Sigmoid Relu Relu6 Elu Selu Softplus Softsign "
            "Softmax LogSoftmax Identity Snapshot"
        ).split()
    },
    **{
        f"{op} {a} {b}": (binary(op), [a, b])
        for op in (
            "Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan Pow Maximum Minimum Xlogy Xlog1py "
            "Xdivy SquaredDifference"
        ).split()
        for a, b in [(TALL, ROW), ((2, 1), TALL)]
    },
    **{
        f"{op} {axes} {keep}": (reduction(op, axes, keep), [CUBE])
        for op in ("Sum", "Mean", "Max", "Min")
        for axes, keep in [((0,), False), ((-1, 1), True), ((), False)]
    },
    **{
        f"{op} {a} {b}": (matrix(op, a, b, names), shapes)
        for op, names, shapes in [
            ("MatMul", ("transpose_a", "transpose_b"), [(3, 3), (3, 3)]),
            ("BatchMatMul", ("adj_x", "adj_y"), [CUBE, CUBE]),
            ("BatchMatMulV2", ("adj_x", "adj_y"), [CUBE, (3, 3)]),
        ]
        for a, b in itertools.product([False, True], repeat=2)
    },
    "Reshape": (call("Reshape", [(3, 2)], "Tshape = i32"), [TALL]),
    "ExpandDims": (
        lambda b: b.op("ExpandDims", ["%x0", b.ints(1, scalar=True)], "T = f64, Tdim = i32"),
        [TALL],
    ),
    "Transpose": (call("Transpose", [(2, 0, 1)], "Tperm = i32"), [(2, 3, 4)]),
    "ReverseV2": (call("ReverseV2", [(1,)], "Tidx = i32"), [TALL]),
    "BroadcastTo": (call("BroadcastTo", [(4, 2, 3)], "Tidx = i32"), [(2, 1)]),
    "Tile": (call("Tile", [(2, 3)], "Tmultiples = i32"), [TALL]),
    "Slice": (call("Slice", [(0, 1), (2, -1)], "Index = i32"), [TALL]),
    "Fill": (
        lambda b: b.op("Fill", [b.ints(2, 3), "%x0"], "T = f64, index_type = i32"),
        [()],
    ),
    "ConcatV2": (concat, [TALL, (2, 1)]),
    "Split": (split, [TALL]),
    "Pack": (pack, [TALL, TALL]),
    "Unpack": (unpack, [TALL]),
    "StridedSlice": (strided, [TALL]),
    "Select": (chosen("Select"), [TALL, TALL]),
    "SelectV2": (chosen("SelectV2"), [TALL, ROW]),
    "SoftmaxCrossEntropyWithLogits": (entropy, [TALL]),
    "BiasAdd": (
        lambda b: b.op("BiasAdd", ["%x0", "%x1"], 'T = f64, data_format = "NHWC"'),
        [TALL, ROW],
    ),
    "Conv2D": (convolution, [(1, 4, 4, 2), (3, 3, 2, 1)]),
    "several uses": (used_often, [TALL]),
    "no path": (without_path, [TALL, TALL]),
}


def load(tmp_path: pathlib.Path, text: str) -> treadle.Graph:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return treadle.Graph.from_file(str(path))


def program(count, functions, called="f"):
    """A graph with y = called(x0, ...) and the gradients g:0, ... for dy."""
    lines = ["tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {"]
    for name in [*(f"x{i}" for i in range(count)), "dy"]:
        lines.append(
            f'  %{name}, %{name}_c = Placeholder name("{name}") {{dtype = f64}} : () -> ({F64})'
        )
    xs = ", ".join(f"%x{i}" for i in range(count))
    given, types = ", ".join([F64] * count), ", ".join(["f64"] * count)
    bound = f"%g:{count}" if count > 1 else "%g"
    lines.append(f'  %y, %y_c = {called}({xs}) name("y") : ({given}) -> ({F64})')
    lines.append(
        f'  {bound}, %g_c = SymbolicGradient({xs}, %dy) name("g") {{Tin = [{types}, f64], '
        f"Tout = [{types}], f = #tf_type.func<@{called}, {{}}>}} : ({given}, {F64}) -> ({given})"
    )
    return "\n".join([*lines, "}", functions])


def slopes(session, feeds, name, dy, step=1e-6):
    """Returns the changes of the sum of y * dy when each element of one input changes."""
    slope = np.zeros_like(feeds[name])
    for i in np.ndindex(slope.shape):
        ends = []
        for sign in (1, -1):
            moved = feeds[name].copy()
            moved[i] += sign * step
            ends.append(session.run(["y:0"], {**feeds, name: moved})[0])
        slope[i] = np.sum((ends[0] - ends[1]) * dy) / (2 * step)
    return slope


def check(graph, shapes, tolerance=1e-5):
    random = np.random.default_rng(7)
    session = treadle.Session(graph)
    # Inside the domain of every function here, and nowhere near where one has no slope.
    feeds = {f"x{i}:0": random.uniform(0.1, 0.9, shape) for i, shape in enumerate(shapes)}
    dy = random.uniform(-1, 1, session.run(["y:0"], feeds)[0].shape)
    got = session.run([f"g:{i}" for i in range(len(shapes))], {**feeds, "dy:0": dy})
    for name, gradient in zip(feeds, got, strict=True):
        expected = slopes(session, feeds, name, dy)
        assert gradient.shape == expected.shape
        np.testing.assert_allclose(gradient, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", [case for case in CASES if case != "no path"])
def test_gradient_is_the_slope(tmp_path, case):
    build, shapes = CASES[case]
    body = Body()
    text = program(len(shapes), body.function("f", len(shapes), build(body)))
    check(load(tmp_path, text), shapes)


def test_acosh(tmp_path):
    body = Body()
    shifted = body.op("AddV2", ["%x0", body.op("OnesLike", ["%x0"])])
    text = program(1, body.function("f", 1, body.op("Acosh", [shifted])))
    check(load(tmp_path, text), [TALL])


def test_an_argument_that_counts_as_constant_gets_zeros(tmp_path):
    body = Body()
    text = program(2, body.function("f", 2, without_path(body)))
    x = np.full(TALL, 2.0)
    gradients = treadle.Session(load(tmp_path, text)).run(
        ["g:0", "g:1"], {"x0:0": x, "x1:0": x * 3, "dy:0": np.ones(TALL)}
    )
    np.testing.assert_array_equal(gradients[0], x * 3)
    np.testing.assert_array_equal(gradients[1], np.zeros(TALL))


CUBED = """tfg.func @cube(%x0: tensor<*xf64> {tfg.name = "x0"})
    -> (tensor<*xf64> {tfg.name = "y"}) {
  %s, %sc = Square(%x0) name("s") {T = f64} : (tensor<*xf64>) -> (tensor<*xf64>)
  %y, %yc = Mul(%s, %x0) name("y") {T = f64} : (tensor<*xf64>, tensor<*xf64>) -> (tensor<*xf64>)
  return(%y) : tensor<*xf64>
}
"""
PARTITIONED = "Tin = [f64], Tout = [f64], f = #tf_type.func<@cube, {}>"
GRADIENT = "Tin = [f64, f64], Tout = [f64], f = #tf_type.func<@cube, {}>"


@pytest.mark.parametrize(
    ("op", "attrs"), [("cube", ""), ("PartitionedCall", PARTITIONED)], ids=["legacy", "partitioned"]
)
def test_calls_inside(tmp_path, op, attrs):
    body = Body()
    once = body.op(op, ["%x0"], attrs)
    twice = body.op(op, [once], attrs)
    text = program(1, body.function("f", 1, body.op("AddV2", [once, twice])) + CUBED)
    graph = load(tmp_path, text)
    check(graph, [TALL])
    check(graph.run_passes("tfg-expand-symbolic-gradients"), [TALL])


def test_gradients_of_gradients(tmp_path):
    body = Body()
    ones = body.op("OnesLike", ["%x0"])
    first = body.op("SymbolicGradient", ["%x0", ones], GRADIENT)
    text = program(1, body.function("f", 1, first) + CUBED)
    graph = load(tmp_path, text)
    check(graph, [TALL])
    check(graph.run_passes("tfg-expand-symbolic-gradients"), [TALL])


def test_a_declared_gradient_is_called(tmp_path):
    body = Body()
    square = body.function("f", 1, body.op("Square", ["%x0"]), "\n attributes {gradient = @own}")
    own = Body()
    text = program(1, square + own.function("own", 2, own.op("Sub", ["%x0", "%x1"])))
    session = treadle.Session(load(tmp_path, text))
    got = session.run(["g:0"], {"x0:0": np.float64(5), "dy:0": np.float64(2)})
    assert got[0] == 3


def test_an_op_without_gradient_is_named(tmp_path):
    body = Body()
    text = program(1, body.function("f", 1, body.op("RGBToHSV", ["%x0"], name="hsv")))
    session = treadle.Session(load(tmp_path, text))
    with pytest.raises(treadle.UnimplementedError, match="node 'g' .*'f': node 'hsv' .*'RGBToHSV'"):
        session.run(["g:0"], {"x0:0": np.float64(1), "dy:0": np.float64(1)})


def test_a_conditional_inside(tmp_path):
    body = Body()
    yes = body.op("Const", [], "dtype = i1, value = dense<true> : tensor<i1>", type="tensor<i1>")
    branches = "then_branch = #tf_type.func<@cube, {}>, else_branch = #tf_type.func<@cube, {}>"
    attrs = f"Tcond = i1, Tin = [f64], Tout = [f64], output_shapes = [], {branches}"
    chosen = body.op("StatelessIf", [yes, "%x0"], attrs, name="either")
    graph = load(tmp_path, program(1, body.function("f", 1, chosen) + CUBED))
    check(graph, [TALL])
    check(graph.run_passes("tfg-expand-symbolic-gradients"), [TALL])
