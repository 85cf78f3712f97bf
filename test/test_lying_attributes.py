"""Attributes that no op defines change nothing that a graph computes, whatever they claim."""

import numpy as np
import pytest

import treadle

DTYPES = {"f32": "DT_FLOAT", "i32": "DT_INT32", "b": "DT_BOOL"}


def function(name, args, nodes, result, out="f32"):
    """A function of the library: `nodes` are (name, op, inputs, attributes)."""
    listed = " ".join(
        f'input_arg {{ name: "{arg}" type: {DTYPES[dtype]} }}' for arg, dtype in args.items()
    )
    body = " ".join(node(f"{n}", op, inputs, attrs, "node_def") for n, op, inputs, attrs in nodes)
    return (
        f'library {{ function {{ signature {{ name: "{name}" {listed} '
        f'output_arg {{ name: "out" type: {DTYPES[out]} }} }} {body} '
        f'ret {{ key: "out" value: "{result}" }} }} }}'
    )


def node(name, op, inputs, attrs, field="node"):
    fields = " ".join(f'attr {{ key: "{k}" value {{ {v} }} }}' for k, v in attrs.items())
    fed = " ".join(f'input: "{i}"' for i in inputs)
    return f'{field} {{ name: "{name}" op: "{op}" {fed} {fields} }}'


def ints(*values):
    return "list { " + " ".join(f"i: {v}" for v in values) + " }"


def func(name):
    return f'func {{ name: "{name}" }}'


F32, I32 = "type: DT_FLOAT", "type: DT_INT32"
PAIR = {"a": "f32", "b": "f32"}
MUL = function("f", PAIR, [("m", "Mul", ["a", "b"], {"T": F32})], "m:z:0")
LESS = function("f", PAIR, [("l", "Less", ["a", "b"], {"T": F32})], "l:z:0", "b")
GREATER = function("f", PAIR, [("g", "Greater", ["a", "b"], {"T": F32})], "g:z:0", "b")
# The sum of the elements of both, which is the sum of two scalars.
SUMS = function(
    "f",
    PAIR,
    [
        ("axes", "Range", ["zero:output:0", "rank:output:0", "one:output:0"], {"Tidx": I32}),
        ("rank", "Rank", ["a"], {"T": F32}),
        ("zero", "Const", [], {"dtype": I32, "value": "tensor { dtype: DT_INT32 int_val: 0 }"}),
        ("one", "Const", [], {"dtype": I32, "value": "tensor { dtype: DT_INT32 int_val: 1 }"}),
        ("s", "AddV2", ["a", "b"], {"T": F32}),
        ("t", "Sum", ["s:z:0", "axes:output:0"], {"T": F32, "Tidx": I32}),
    ],
    "t:output:0",
)
REDUCE = {
    "T": "list { type: DT_FLOAT }",
    "N": "i: 1",
    "dimensions_to_reduce": ints(0),
    "reducer": func("f"),
}
# ScatterDimensionNumbers: inserted window 0, operand dimension 0, index vector 1.
SCATTER = {
    "T": F32,
    "Tindices": I32,
    "update_computation": func("f"),
    "dimension_numbers": r's: "\020\000\030\000 \001"',
    "indices_are_sorted": "b: false",
}
SORT = {"T": "list { type: DT_FLOAT }", "comparator": func("f"), "is_stable": "b: true"}
X = np.array([[3, 1], [2, 5], [4, 2]], np.float32)
ONE = np.float32(1)
SCATTERED = (
    np.array([2, 3, 4], np.float32),
    np.array([[0], [2]], np.int32),
    np.array([5, 7], np.float32),
)
ROW, AXIS = np.array([3, 1, 4, 2], np.float32), np.int32(0)

# The op, its own attributes, the library, the inputs, what it computes, the lies.
CASES = {
    "elementwise reducer": (
        "XlaVariadicReduceV2",
        REDUCE,
        SUMS,
        (X, np.float32(0)),
        X.sum(0),
        {"_elementwise": "b: true"},
    ),
    "scalar reducer": (
        "XlaVariadicReduceV2",
        REDUCE,
        MUL,
        (X, ONE),
        X.prod(0),
        {"_elementwise": "b: false", "_combiner": 's: "add"'},
    ),
    "sum": (
        "XlaScatter",
        SCATTER,
        MUL,
        SCATTERED,
        [10, 3, 28],
        {"_combiner": 's: "add"', "_elementwise": "b: true"},
    ),
    "second": ("XlaScatter", SCATTER, MUL, SCATTERED, [10, 3, 28], {"_combiner": 's: "second"'}),
    "descending": (
        "XlaVariadicSort",
        SORT,
        LESS,
        (ROW, AXIS),
        [1, 2, 3, 4],
        {
            "_elementwise": "b: true",
            "_keys": ints(0),
            "_descending": ints(1),
            "_total_order": ints(0),
        },
    ),
    "key": (
        "XlaVariadicSort",
        SORT,
        GREATER,
        (ROW, AXIS),
        [4, 3, 2, 1],
        {"_keys": ints(0), "_descending": ints(0), "_total_order": ints(1)},
    ),
    "column": (
        "XlaVariadicSort",
        SORT,
        LESS,
        (ROW, AXIS),
        [1, 2, 3, 4],
        {"_keys": ints(7), "_descending": ints(0), "_total_order": ints(0)},
    ),
    "key function": (
        "XlaVariadicSort",
        SORT,
        LESS,
        (ROW, AXIS),
        [1, 2, 3, 4],
        {
            "_keys": ints(0),
            "_descending": ints(0),
            "_total_order": ints(0),
            "_key0": func("f"),
        },
    ),
    "cluster": (
        "StatefulPartitionedCall",
        {"Tin": "list { type: DT_FLOAT type: DT_FLOAT }", "Tout": "list { type: DT_FLOAT }"}
        | {"f": func("f")},
        SUMS,
        (ROW, ROW),
        20,
        {"_cluster": "b: true"},
    ),
    "shapes": (
        "AddV2",
        {"T": F32},
        "",
        (X, X),
        X + X,
        {"_output_shapes": "list { shape { dim { size: 7 } } }"},
    ),
}
PREFIXES = {"plain": "_", "reserved": "_mlir_derived_", "note": "tfg."}


def graph_of(op, attrs, library, values):
    nodes = [
        node(f"x{i}", "Placeholder", [], {"dtype": I32 if v.dtype == np.int32 else F32})
        for i, v in enumerate(values)
    ]
    nodes.append(node("y", op, [f"x{i}" for i in range(len(values))], attrs))
    return treadle.Graph.from_bytes("\n".join([*nodes, library]).encode())


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("case", CASES)
def test_a_lie_changes_no_value(case, prefix):
    op, attrs, library, values, wanted, lies = CASES[case]
    lies = {PREFIXES[prefix] + key[1:]: value for key, value in lies.items()}
    graph = graph_of(op, attrs | lies, library, values)
    feeds = {f"x{i}:0": v for i, v in enumerate(values)}
    for text in (graph, treadle.Graph.from_bytes(graph.text().encode())):
        got = treadle.Session(text).run("y:0", feeds)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("key", ["_keys", "_mlir_derived_keys"])
def test_texts_state_no_keys(key):
    op, attrs, library, values, wanted, _ = CASES["descending"]
    text = graph_of(op, attrs, library, values).text()
    lies = "".join(
        f"{key.replace('keys', k)} = [{n} : i64], "
        for k, n in (("keys", 0), ("descending", 1), ("total_order", 0))
    )
    assert "comparator = " in text
    graph = treadle.Graph.from_bytes(text.replace("comparator = ", lies + "comparator = ").encode())
    got = treadle.Session(graph).run("y:0", {"x0:0": ROW, "x1:0": AXIS})
    np.testing.assert_array_equal(got, wanted)


PROGRAM = """module { func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32> } }"""


ESCAPED = PROGRAM.replace("\n", "\\n")
CALL = {
    "Tin": "list { type: DT_FLOAT }",
    "Tout": "list { type: DT_FLOAT }",
    "Sout": "list { shape { dim { size: 2 } } }",
    "version": "i: 5",
    "platforms": 'list { s: "CPU" }',
    "module": f's: "{ESCAPED}"',
}


@pytest.mark.parametrize("key", ["_problem", "_mlir_derived_problem", "tfg.problem"])
def test_a_problem_that_is_none_stops_nothing(key):
    x = np.array([1, 2], np.float32)
    graph = graph_of("XlaCallModule", CALL | {key: 's: "it is not to be run"'}, "", (x,))
    np.testing.assert_array_equal(treadle.Session(graph).run("y:0", {"x0:0": x}), [2, 4])


@pytest.mark.parametrize(
    "op, attrs, inputs", [("AddV2", {"T": F32}, 2), ("XlaCallModule", CALL, 1)]
)
def test_a_text_states_no_problem(op, attrs, inputs):
    x = np.array([1, 2], np.float32)
    text = graph_of(op, attrs, "", (x,) * inputs).text()
    lie = 'name("y") {tfg.problem = #tfg.problem<"it is not to be run">, '
    graph = treadle.Graph.from_bytes(text.replace('name("y") {', lie).encode())
    assert "it is not to be run" in graph.text()
    feeds = {f"x{i}:0": x for i in range(inputs)}
    np.testing.assert_array_equal(treadle.Session(graph).run("y:0", feeds), [2, 4])


@pytest.mark.parametrize("key", ["_switch", "tfg.switch"])
def test_a_condition_of_any_dtype_stays_one(key):
    """A Switch takes a bool alone; an If isn't one because it says so."""
    negated = function("f", {"a": "f32"}, [("n", "Neg", ["a"], {"T": F32})], "n:y:0")
    attrs = {
        "Tcond": I32,
        "Tin": f"list {{ {F32} }}",
        "Tout": f"list {{ {F32} }}",
        "then_branch": func("f"),
        "else_branch": func("f"),
        key: "b: true",
    }
    graph = graph_of("If", attrs, negated, (AXIS, ONE))
    assert treadle.Session(graph).run("y:0", {"x0:0": np.int32(2), "x1:0": ONE}) == -1


# Comparators that order rows by keys, and ones that only look like it: which rows come first.
A_B = {"a": "f32", "b": "f32", "c": "i32", "d": "i32"}
ROWS = (np.array([2, 1, 2, 1], np.float32), np.array([1, 3, 0, 2], np.int32))
LESS_A = ("la", "Less", ["a", "b"], {"T": F32})
EQUAL_A = ("ea", "Equal", ["a", "b"], {"T": F32})
LESS_C = ("lc", "Less", ["c", "d"], {"T": I32})
GREATER_C = ("gc", "Greater", ["c", "d"], {"T": I32})
NEGATED = [("na", "Neg", ["a"], {"T": F32}), ("nb", "Neg", ["b"], {"T": F32})]


def either(first, second):
    return ("r", "LogicalOr", [first, second], {})


def choice(condition, then, otherwise):
    return ("r", "SelectV2", [condition, then, otherwise], {"T": "type: DT_BOOL"})


COMPARATORS = {
    "one key": ([("r", "Less", ["a", "b"], {"T": F32})], [1, 3, 0, 2]),
    "the other way": ([("r", "Less", ["b", "a"], {"T": F32})], [0, 2, 1, 3]),
    "second column": ([("r", "Greater", ["d", "c"], {"T": I32})], [2, 0, 3, 1]),
    "a function": (
        [*NEGATED, ("r", "Less", ["na:y:0", "nb:y:0"], {"T": F32})],
        [0, 2, 1, 3],
    ),
    "two keys": (
        [LESS_A, EQUAL_A, GREATER_C]
        + [("t", "LogicalAnd", ["gc:z:0", "ea:z:0"], {}), either("t:z:0", "la:z:0")],
        [1, 3, 0, 2],
    ),
    "selected": (
        [LESS_A, EQUAL_A, LESS_C, choice("ea:z:0", "lc:z:0", "la:z:0")],
        [3, 1, 2, 0],
    ),
    "selected unless equal": (
        [LESS_A, ("ea", "NotEqual", ["a", "b"], {"T": F32}), LESS_C]
        + [choice("ea:z:0", "la:z:0", "lc:z:0")],
        [3, 1, 2, 0],
    ),
    # The tie is of another column than the key: nothing is known of the order.
    "another tie": (
        [LESS_A, ("ea", "Equal", ["c", "d"], {"T": I32}), LESS_C]
        + [("t", "LogicalAnd", ["ea:z:0", "lc:z:0"], {}), either("la:z:0", "t:z:0")],
        [1, 3, 0, 2],
    ),
    # a - b < b - a is a < b, but a - b is a key of neither row.
    "mixed rows": (
        [("na", "Sub", ["a", "b"], {"T": F32}), ("nb", "Sub", ["b", "a"], {"T": F32})]
        + [("r", "Less", ["na:z:0", "nb:z:0"], {"T": F32})],
        [1, 3, 0, 2],
    ),
}


@pytest.mark.parametrize("name", COMPARATORS)
def test_comparators_order_rows(name):
    nodes, wanted = COMPARATORS[name]
    result = "r:output:0" if nodes[-1][1] == "SelectV2" else "r:z:0"
    library = function("f", A_B, nodes, result, "b")
    attrs = SORT | {"T": "list { type: DT_FLOAT type: DT_INT32 }"}
    graph = graph_of("XlaVariadicSort", attrs, library, (*ROWS, AXIS))
    feeds = {"x0:0": ROWS[0], "x1:0": ROWS[1], "x2:0": AXIS}
    got = treadle.Session(graph).run(["y:0", "y:1"], feeds)
    for values, column in zip(got, ROWS, strict=True):
        np.testing.assert_array_equal(values, column[wanted])


JAX_SORT = """func.func @main(%x: tensor<300x200xf32>) -> tensor<300x200xf32> {
  %y = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<300x200xf32>) -> tensor<300x200xf32>
  return %y : tensor<300x200xf32> }"""


def test_what_is_derived_stands_in_no_text():
    """A program, its text and its GraphDef sort alike: NaNs last, -0 before 0."""
    program = treadle.Graph.from_bytes(JAX_SORT.encode())
    assert "_mlir_derived" not in program.text()
    x = np.random.default_rng(0).choice(
        np.array([1, -2, 0.0, -0.0, np.nan, np.inf], np.float32), (300, 200)
    )
    wanted = np.sort(x, axis=1)
    zeros = np.sum(np.signbit(x) & (x == 0), axis=1)
    for graph in (
        program,
        treadle.Graph.from_bytes(program.text().encode()),
        treadle.Graph.from_bytes(program.to_bytes()),
    ):
        fed = {graph.inputs()[0].name: x}
        got = treadle.Session(graph).run(graph.outputs()[0].name, fed)
        np.testing.assert_array_equal(got, wanted)
        assert all(np.signbit(row[row == 0])[:n].all() for row, n in zip(got, zeros, strict=True))
