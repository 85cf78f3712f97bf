"""Predicates of Switch, LoopCond and Case: the same values are accepted, with the same errors,
everywhere.

docs/spec.md has the rules: switch_1 and switch_2. A v1 loop is run as a plain loop, by frames
(loop_overlap="on") or by compiled code.
"""

import numpy as np
import pytest

import treadle

# ruff: noqa: E501

WAYS = {
    "interpreted": {"tier": "interpret"},
    "frames": {"tier": "interpret", "loop_overlap": "on"},
    "compiled": {"tier": "jit"},
}


def text_graph(*lines):
    return treadle.Graph.from_bytes(
        "\n".join(
            ["tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {", *lines, "}"]
        ).encode()
    )


CONDITIONAL = """
  %x, %xc = Placeholder name("x") {{dtype = f32}} : () -> (tensor<*xf32>)
  %p, %pc = Placeholder name("p") {{dtype = {dtype}}} : () -> (tensor<*x{dtype}>)
  %s:2, %sc = {op}(%x, %p) name("s") {{T = f32{more}}} : (tensor<*xf32>, tensor<*x{dtype}>) -> (tensor<*xf32>, tensor<*xf32>)
  %n, %nc = Neg(%s#1) name("n") {{T = f32}} : (tensor<*xf32>) -> (tensor<*xf32>)
  %m:2, %mc = Merge(%s#0, %n) name("m") {{N = 2 : i64, T = f32}} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<i32>)
"""
LOOP = """
  %x, %xc = Placeholder name("x") {{dtype = f32}} : () -> (tensor<*xf32>)
  %p, %pc = Placeholder name("p") {{dtype = {dtype}}} : () -> (tensor<*x{dtype}>)
  %q, %qc = Enter(%p) name("q") {{T = {dtype}, frame_name = "loop", is_constant = true}} : (tensor<*x{dtype}>) -> (tensor<*x{dtype}>)
  %e, %ec = Enter(%x) name("e") {{T = f32, frame_name = "loop"}} : (tensor<*xf32>) -> (tensor<*xf32>)
  %m:2, %mc = Merge(%e, %next) name("merge") {{N = 2 : i64, T = f32}} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<i32>)
  %c, %cc = LoopCond(%q) name("c") : (tensor<*x{dtype}>) -> (tensor<i1>)
  %s:2, %sc = Switch(%m#0, %c) name("switch") {{T = f32}} : (tensor<*xf32>, tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>)
  %n, %nc = Neg(%s#1) name("n") {{T = f32}} : (tensor<*xf32>) -> (tensor<*xf32>)
  %next, %nextc = NextIteration(%n) name("next") {{T = f32}} : (tensor<*xf32>) -> (tensor<*xf32>)
  %exit, %exitc = Exit(%s#0) name("exit") {{T = f32}} : (tensor<*xf32>) -> (tensor<*xf32>)
"""
# Dtypes that are known are checked before anything runs; a shape may be known only then.
NO_PREDICATES = [
    ("i32", np.int32(1), "is int32, expected bool"),
    ("f32", np.float32(1), "is float32, expected bool"),
    ("i1", [True], r"the predicate must be a bool scalar, found bool\[1\]"),
]


@pytest.fixture(params=WAYS)
def run(request):
    """Runs a graph; raises its error."""

    def call(graph, fetch, feeds):
        return treadle.Session(graph, **WAYS[request.param]).run(fetch, feeds)

    return call


@pytest.mark.parametrize("dtype, value, found", NO_PREDICATES)
def test_a_switch_takes_a_bool_scalar(run, dtype, value, found):
    graph = text_graph(CONDITIONAL.format(dtype=dtype, op="Switch", more=""))
    message = rf"node 's' \(Switch\): .*{found}"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        run(graph, "m:0", {"x": np.float32(2), "p": value})


@pytest.mark.parametrize("dtype, value, found", NO_PREDICATES)
def test_a_loops_condition_is_a_bool_scalar(run, dtype, value, found):
    graph = text_graph(LOOP.format(dtype=dtype))
    with pytest.raises(treadle.InvalidArgumentError, match=rf"node 'c' \(LoopCond\): .*{found}"):
        run(graph, "exit:0", {"x": np.float32(2), "p": value})


IN_A_LOOP = """
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<*xi1>)
  %q, %qc = Enter(%p) name("q") {T = i1, frame_name = "loop", is_constant = true} : (tensor<*xi1>) -> (tensor<*xi1>)
  %e, %ec = Enter(%x) name("e") {T = f32, frame_name = "loop"} : (tensor<f32>) -> (tensor<f32>)
  %m:2, %mc = Merge(%e, %next) name("merge") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  %lt, %ltc = Less(%m#0, %l) name("lt") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<i1>)
  %l0, %l0c = Const name("l0") {dtype = f32, value = dense<100.0> : tensor<f32>} : () -> (tensor<f32>)
  %l, %lc = Enter(%l0) name("l") {T = f32, frame_name = "loop", is_constant = true} : (tensor<f32>) -> (tensor<f32>)
  %c, %cc = LoopCond(%lt) name("c") : (tensor<i1>) -> (tensor<i1>)
  %s:2, %sc = Switch(%m#0, %c) name("switch") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %t:2, %tc = Switch(%s#1, %q) name("s") {T = f32} : (tensor<f32>, tensor<*xi1>) -> (tensor<f32>, tensor<f32>)
  %a, %ac = Mul(%t#1, %t#1) name("a") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %b, %bc = Add(%t#0, %t#0) name("b") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %j:2, %jc = Merge(%a, %b) name("j") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  %next, %nextc = NextIteration(%j#0) name("next") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %exit, %exitc = Exit(%s#0) name("exit") {T = f32} : (tensor<f32>) -> (tensor<f32>)
"""


def test_a_switch_in_a_loop_takes_a_bool_scalar(run):
    assert run(text_graph(IN_A_LOOP), "exit:0", {"x": np.float32(2), "p": True}) == 256
    with pytest.raises(treadle.InvalidArgumentError, match=NO_PREDICATES[-1][-1]):
        run(text_graph(IN_A_LOOP), "exit:0", {"x": np.float32(2), "p": [True]})


@pytest.mark.parametrize(
    "text, fetch, node",
    [
        (LOOP.format(dtype="i1"), "exit:0", r"node 'c' \(LoopCond\)"),
        (IN_A_LOOP, "exit:0", r"node 's' \(Switch\)"),
    ],
)
def test_exploring_ends_with_the_error_of_a_run(text, fetch, node):
    with pytest.raises(treadle.InvalidArgumentError, match=f"{node}: {NO_PREDICATES[-1][-1]}"):
        text_graph(text).explore([fetch], {"x": np.float32(2), "p": [True]})


@pytest.mark.parametrize("dtype, value", [("i64", np.int64(1)), ("i1", True), ("i32", [1])])
def test_a_switch_of_many_takes_an_int32_scalar(run, dtype, value):
    graph = text_graph(CONDITIONAL.format(dtype=dtype, op="_SwitchN", more=", num_outs = 2 : i64"))
    message = r"node 's' \(_SwitchN\): .*(expected int32|the index must be an int32 scalar)"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        run(graph, "m:0", {"x": np.float32(2), "p": value})


FUNCTIONS = """
tfg.func @one(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  return(%x) : tensor<*xf32>
}
tfg.func @two(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %y, %c = Neg(%x) name("y") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%y) : tensor<*xf32>
}
"""
CHOICE = """
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {{
  %x, %xc = Placeholder name("x") {{dtype = f32}} : () -> (tensor<*xf32>)
  %p, %pc = Placeholder name("p") {{dtype = {dtype}}} : () -> (tensor<{shape}{dtype}>)
  %s, %sc = {op}(%p, %x) name("s") {{{attrs}, Tin = [f32], Tout = [f32], output_shapes = []}} : (tensor<{shape}{dtype}>, tensor<*xf32>) -> (tensor<*xf32>)
}}
"""
IF = "Tcond = {dtype}, then_branch = #tf_type.func<@one, {{}}>, else_branch = #tf_type.func<@two, {{}}>"
CASE = "branches = [#tf_type.func<@one, {{}}>, #tf_type.func<@two, {{}}>]"


def choice(op, attrs, dtype, shape):
    attrs = attrs.format(dtype=dtype)
    text = CHOICE.format(op=op, attrs=attrs, dtype=dtype, shape=shape)
    return treadle.Graph.from_bytes((text + FUNCTIONS).encode())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", ["*x", ""])
@pytest.mark.parametrize("op", ["If", "StatelessIf"])
def test_an_if_takes_any_truth_that_tensorflow_has(way, shape, op):
    for dtype, value, holds in [
        ("i1", np.True_, True),
        ("i32", np.int32(0), False),
        ("i32", np.int32(-1), True),
        ("f32", np.float32(0.5), True),
        ("f64", np.float64(-0.0), False),
        ("ui8", np.uint8(255), True),
    ]:
        session = treadle.Session(choice(op, IF, dtype, shape), **WAYS[way])
        assert session.run("s", {"x": np.float32(2), "p": value}) == (2 if holds else -2)
    session = treadle.Session(choice(op, IF, "f16", shape), **WAYS[way])
    message = r"node 's' \((Stateless)?If\): a float16 scalar can't be a condition"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        session.run("s", {"x": np.float32(2), "p": np.float16(1)})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("op", ["Case", "StatelessCase"])
def test_a_case_takes_an_int32_scalar(way, op):
    for dtype, value in [("ui32", np.uint32(0)), ("i64", np.int64(0)), ("i32", np.int32([0]))]:
        shape = "*x" if np.ndim(value) else ""
        session = treadle.Session(choice(op, CASE, dtype, shape), **WAYS[way])
        message = rf"node 's' \({op}\): .*(expected int32|the index must be an int32 scalar)"
        with pytest.raises(treadle.InvalidArgumentError, match=message):
            session.run("s", {"x": np.float32(2), "p": value})
    session = treadle.Session(choice(op, CASE, "i32", ""), **WAYS[way])
    taken = [session.run("s", {"x": np.float32(2), "p": np.int32(i)}) for i in (-1, 0, 1, 2)]
    assert taken == [-2, 2, -2, -2]


WHILE = """
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {{
  %x, %xc = Placeholder name("x") {{dtype = {dtype}}} : () -> (tensor<{dtype}>)
  %w, %wc = {op}(%x) name("w") {{T = [{dtype}], cond = #tf_type.func<@cond, {{}}>, body = #tf_type.func<@body, {{}}>, output_shapes = [], parallel_iterations = 10 : i64}} : (tensor<{dtype}>) -> (tensor<{dtype}>)
}}
tfg.func @cond(%x: tensor<{dtype}> {{tfg.name = "x"}}) -> (tensor<{dtype}> {{tfg.name = "y"}}) {{
  return(%x) : tensor<{dtype}>
}}
tfg.func @body(%x: tensor<{dtype}> {{tfg.name = "x"}}) -> (tensor<{dtype}> {{tfg.name = "y"}}) {{
  %y, %c = Sub(%x, %x) name("y") {{T = {dtype}}} : (tensor<{dtype}>, tensor<{dtype}>) -> (tensor<{dtype}>)
  return(%y) : tensor<{dtype}>
}}
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("op", ["While", "StatelessWhile"])
def test_a_whiles_condition_is_any_truth_that_tensorflow_has(way, op):
    for dtype, value in [("i32", np.int32(3)), ("f32", np.float32(0.5))]:
        graph = treadle.Graph.from_bytes(WHILE.format(dtype=dtype, op=op).encode())
        assert treadle.Session(graph, **WAYS[way]).run("w", {"x": value}) == 0
    graph = treadle.Graph.from_bytes(WHILE.format(dtype="f16", op=op).encode())
    message = rf"node 'w' \({op}\): a float16 scalar can't be a condition"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        treadle.Session(graph, **WAYS[way]).run("w", {"x": np.float16(1)})
