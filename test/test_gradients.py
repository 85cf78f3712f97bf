"""Graph.gradients: values are the slopes of the graph's, through calls, conditionals and loops."""

import pathlib

import numpy as np
import pytest

import treadle

HEAD = "tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {\n"
F64 = "tensor<*xf64>"
I32 = "tensor<i32>"
HANDLE = "tensor<!tf_type.resource>"


def node(result, op, inputs, attrs, types, results):
    """`%r, %r_c = Op(%a) name("r") {attrs} : (types) -> (results)`; several results: `%r#0`."""
    count = results.count("tensor<")
    bound = f"%{result}:{count}" if count > 1 else f"%{result}"
    taken = f"({inputs})" if inputs else ""
    return (
        f'  {bound}, %{result}_c = {op}{taken} name("{result}") {{{attrs}}}'
        f" : ({types}) -> ({results})\n"
    )


def math(result, op, *inputs):
    return node(result, op, ", ".join(inputs), "T = f64", ", ".join([F64] * len(inputs)), F64)


def placeholder(name, shape):
    attrs = f"dtype = f64, shape = #tf_type.shape<{'x'.join(map(str, shape))}>"
    return node(name, "Placeholder", "", attrs, "", F64)


def count(name, value):
    attrs = f"dtype = i32, value = dense<{value}> : {I32}"
    return node(name, "Const", "", attrs, "", I32)


def function(name, arguments, body, results):
    """Arguments and results as lists of (value, type)."""
    given = ", ".join(f'%{n}: {t} {{tfg.name = "{n}"}}' for n, t in arguments)
    gives = ", ".join(f'{t} {{tfg.name = "r{i}"}}' for i, (_, t) in enumerate(results))
    values, types = ", ".join(v for v, _ in results), ", ".join(t for _, t in results)
    return f"tfg.func @{name}({given}) -> ({gives}) {{\n{body}  return({values}) : {types}\n}}\n"


def load(tmp_path, nodes, functions=""):
    path = pathlib.Path(tmp_path) / "graph.mlir"
    path.write_text(HEAD + nodes + "}\n" + functions)
    return treadle.Graph.from_file(str(path))


def check_slopes(graph, y, inputs, setup=(), step=1e-6):
    """Central differences of the sum of y, element by element, are the gradients."""
    xs = list(inputs)
    names = graph.gradients(y, xs)
    session = treadle.Session(graph)
    session.run([], {}, targets=list(setup))
    gradients = session.run(names, inputs)
    for x, gradient in zip(xs, gradients, strict=True):
        assert gradient.shape == np.shape(inputs[x])
        slope = np.zeros(np.shape(inputs[x]))
        for at in np.ndindex(slope.shape):
            sums = []
            for sign in (1, -1):
                moved = np.array(inputs[x], np.float64)
                moved[at] += sign * step
                sums.append(session.run([y], {**inputs, x: moved})[0].sum())
            slope[at] = (sums[0] - sums[1]) / (2 * step)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7, err_msg=x)


def numbers(*shape, seed=3):
    return np.random.default_rng(seed).uniform(0.4, 1.3, shape)


COUNTER = [("i", I32), ("n", I32)]
TEST = node("less", "Less", "%i, %n", "T = i32", f"{I32}, {I32}", "tensor<i1>")
NEXT = count("one", 1) + node("next", "AddV2", "%i, %one", "T = i32", f"{I32}, {I32}", I32)


def loop(name, variables, body, results, iterations=4, *, op="StatelessWhile", inputs=None):
    """A While in the graph, and its functions; %i and %n count. Variables: (name, type)."""
    arguments = COUNTER + variables
    types = ", ".join(t for _, t in arguments)
    dtypes = ", ".join(ELEMENTS[t] for _, t in arguments)
    attrs = (
        f"T = [{dtypes}], body = #tf_type.func<@{name}_body, {{}}>, "
        f"cond = #tf_type.func<@{name}_cond, {{}}>, output_shapes = [], parallel_iterations = 10"
    )
    values = ", ".join(inputs or [f"%{n}" for n, _ in variables])
    while_node = count(f"{name}_zero", 0) + count(f"{name}_end", iterations)
    while_node += node(name, op, f"%{name}_zero, %{name}_end, {values}", attrs, types, types)
    functions = function(f"{name}_cond", arguments, TEST, [("%less", "tensor<i1>")])
    given = [("%next", I32), ("%n", I32)] + [
        (r, t) for r, (_, t) in zip(results, variables, strict=True)
    ]
    return while_node, functions + function(f"{name}_body", arguments, NEXT + body, given)


ELEMENTS = {F64: "f64", I32: "i32", HANDLE: "!tf_type.resource"}


def test_straight_code(tmp_path):
    nodes = placeholder("x", [3]) + placeholder("w", [2, 3])
    nodes += math("s", "Sin", "%x") + math("m", "Mul", "%s", "%w") + math("y", "Mul", "%m", "%m")
    check_slopes(load(tmp_path, nodes), "y:0", {"x:0": numbers(3), "w:0": numbers(2, 3)})


def test_a_power_loop(tmp_path):
    body = math("p", "Mul", "%v", "%x")
    nodes, functions = loop(
        "loop", [("v", F64), ("x", F64)], body, ["%p", "%x"], inputs=["%x", "%x"]
    )
    graph = load(tmp_path, placeholder("x", [3]) + nodes, functions)
    check_slopes(graph, "loop:2", {"x:0": numbers(3)})


def test_variables_that_change_places(tmp_path):
    body = math("p", "Mul", "%a", "%b")
    nodes, functions = loop("loop", [("a", F64), ("b", F64)], body, ["%b", "%p"])
    graph = load(tmp_path, placeholder("a", [2]) + placeholder("b", [2]) + nodes, functions)
    check_slopes(graph, "loop:3", {"a:0": numbers(2), "b:0": numbers(2, seed=4)})


def test_a_loop_without_iterations(tmp_path):
    body = math("p", "Mul", "%x", "%x")
    nodes, functions = loop("loop", [("x", F64)], body, ["%p"], iterations=0)
    check_slopes(
        load(tmp_path, placeholder("x", [2]) + nodes, functions), "loop:2", {"x:0": [2, 3]}
    )


def test_a_value_that_grows(tmp_path):
    body = math("p", "Mul", "%v", "%x") + count("axis", 0)
    types = f"{F64}, {F64}, {I32}"
    attrs = "N = 2 : i64, T = f64, Tidx = i32"
    body += node("whole", "ConcatV2", "%v, %p, %axis", attrs, types, F64)
    variables = [("v", F64), ("x", F64)]
    nodes, functions = loop("loop", variables, body, ["%whole", "%x"], 3, inputs=["%start", "%x"])
    graph = load(tmp_path, placeholder("start", [1]) + placeholder("x", []) + nodes, functions)
    check_slopes(graph, "loop:2", {"start:0": numbers(1), "x:0": numbers()})


def nested(op="StatelessWhile"):
    inner_body = (
        math("s", "Sin", "%x") + math("p", "Mul", "%z", "%s") + math("q", "AddV2", "%p", "%y")
    )
    inner = [("z", F64), ("x", F64), ("y", F64)]
    node_in, inner_functions = loop(
        "inner", inner, inner_body, ["%q", "%x", "%y"], 3, op=op, inputs=["%y", "%x", "%y"]
    )
    outer = [("y", F64), ("x", F64)]
    node_out, functions = loop(
        "outer", outer, node_in, ["%inner#2", "%x"], 3, op=op, inputs=["%x", "%x"]
    )
    return placeholder("x", [2]) + node_out, functions + inner_functions


def test_nested_loops(tmp_path):
    check_slopes(load(tmp_path, *nested()), "outer:2", {"x:0": numbers(2)})


def conditional(inputs):
    """An If of %which on two branches over a and b."""
    arguments = [("a", F64), ("b", F64)]
    attrs = (
        "Tcond = i1, Tin = [f64, f64], Tout = [f64], output_shapes = [], "
        "then_branch = #tf_type.func<@yes, {}>, else_branch = #tf_type.func<@no, {}>"
    )
    yes = math("s", "Sin", "%a") + math("r", "Mul", "%s", "%b")
    no = math("e", "Exp", "%b")
    functions = function("yes", arguments, yes, [("%r", F64)])
    functions += function("no", arguments, no, [("%e", F64)])
    types = f"tensor<i1>, {F64}, {F64}"
    return node("either", "StatelessIf", "%which, " + inputs, attrs, types, F64), functions


@pytest.mark.parametrize("which", ["true", "false"])
def test_a_branch_that_does_not_use_an_input(tmp_path, which):
    attrs = f"dtype = i1, value = dense<{which}> : tensor<i1>"
    nodes = placeholder("a", [2]) + placeholder("b", [2])
    nodes += node("which", "Const", "", attrs, "", "tensor<i1>")
    either, functions = conditional("%a, %b")
    graph = load(tmp_path, nodes + either, functions)
    check_slopes(graph, "either:0", {"a:0": numbers(2), "b:0": numbers(2, seed=4)})


def test_a_conditional_in_a_loop(tmp_path):
    either, functions = conditional("%v, %x")
    body = count("two", 2) + node(
        "which", "Less", "%i, %two", "T = i32", f"{I32}, {I32}", "tensor<i1>"
    )
    nodes, more = loop(
        "loop", [("v", F64), ("x", F64)], body + either, ["%either", "%x"], inputs=["%x", "%x"]
    )
    graph = load(tmp_path, placeholder("x", [3]) + nodes, functions + more)
    check_slopes(graph, "loop:2", {"x:0": numbers(3)})


def test_the_gradient_of_a_gradient(tmp_path):
    graph = load(tmp_path, *nested())
    [first] = graph.gradients("outer:2", "x:0")
    check_slopes(graph, first, {"x:0": numbers(2)})


def test_a_call_with_a_loop(tmp_path):
    body = math("p", "Mul", "%v", "%x") + math("q", "Tanh", "%p")
    inner, functions = loop(
        "loop", [("v", F64), ("x", F64)], body, ["%q", "%x"], inputs=["%a", "%b"]
    )
    functions += function("callee", [("a", F64), ("b", F64)], inner, [("%loop#2", F64)])
    attrs = "Tin = [f64, f64], Tout = [f64], f = #tf_type.func<@callee, {}>"
    nodes = placeholder("x", [2]) + math("s", "Square", "%x")
    nodes += node("once", "PartitionedCall", "%x, %s", attrs, f"{F64}, {F64}", F64)
    nodes += node("twice", "PartitionedCall", "%once, %x", attrs, f"{F64}, {F64}", F64)
    check_slopes(load(tmp_path, nodes, functions), "twice:0", {"x:0": numbers(2)})


def with_variable():
    """A loop that reads a variable of two elements, which `assign` gives the value of %value."""
    read = node("read", "ReadVariableOp", "%h", "dtype = f64", HANDLE, F64)
    body = read + math("p", "Mul", "%v", "%read") + math("q", "Sin", "%p")
    nodes, functions = loop(
        "loop", [("v", F64), ("h", HANDLE)], body, ["%q", "%h"], op="While", inputs=["%x", "%h"]
    )
    attrs = 'container = "", dtype = f64, shape = #tf_type.shape<2>, shared_name = "v"'
    handle = node("h", "VarHandleOp", "", attrs, "", HANDLE)
    assign = '  %assign = AssignVariableOp(%h, %value) name("assign") {dtype = f64} '
    assign += f": {HANDLE}, {F64}\n"
    return placeholder("x", [2]) + placeholder("value", [2]) + handle + assign + nodes, functions


def test_a_loop_that_reads_a_variable(tmp_path):
    graph = load(tmp_path, *with_variable())
    [of_variable] = graph.gradients("loop:2", "h:0")
    session = treadle.Session(graph)
    x, value, step = numbers(2), numbers(2, seed=4), 1e-6

    def run(value, fetch):
        session.run([], {"value:0": value}, targets=["assign"])
        return session.run([fetch], {"x:0": x})[0]

    gradient = run(value, of_variable)
    # Elements don't mix.
    slope = (run(value + step, "loop:2") - run(value - step, "loop:2")) / (2 * step)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6)


def test_what_gets_no_gradient(tmp_path):
    nodes = placeholder("x", [2]) + placeholder("other", [2])
    nodes += math("s", "Square", "%x") + math("y", "Neg", "%s")
    graph = load(tmp_path, nodes)
    assert graph.gradients("y", ["other"]) == [None]
    assert graph.gradients("y", ["x"], stop_gradients=["s"]) == [None]
    [of_s] = graph.gradients("y", ["s"], stop_gradients=["s"])
    [start] = graph.gradients("y", "y", grad_ys=["other"])
    assert start == "other:0"
    [of_x] = graph.gradients("y", "x", grad_ys=["other"])
    feeds = {"x:0": [1.0, 2.0], "other:0": [10.0, 20.0]}
    got = treadle.Session(graph).run([of_s, of_x], feeds)
    np.testing.assert_array_equal(got[0], [-1, -1])
    np.testing.assert_array_equal(got[1], [-20, -80])


def test_an_op_without_gradient_is_named_with_its_path(tmp_path):
    functions = function("f", [("a", F64)], math("hsv", "RGBToHSV", "%a"), [("%hsv", F64)])
    attrs = "Tin = [f64], Tout = [f64], f = #tf_type.func<@f, {}>"
    nodes = placeholder("x", [2]) + node("y", "PartitionedCall", "%x", attrs, F64, F64)
    graph = load(tmp_path, nodes, functions)
    before = graph.text()
    path = r"node 'y' \(PartitionedCall\): in the gradient of function 'f': node 'hsv' .*'RGBToHSV'"
    with pytest.raises(treadle.UnimplementedError, match=path):
        graph.gradients("y:0", "x:0")
    assert graph.text() == before


def test_a_gradient_that_python_holds_is_refused(tmp_path):
    custom = node(
        "s", "Identity", "%x", 'T = f64, _gradient_op_type = "CustomGradient-7"', F64, F64
    )
    graph = load(tmp_path, placeholder("x", [2]) + custom + math("y", "Square", "%s"))
    with pytest.raises(treadle.UnimplementedError, match="node 's' .*'CustomGradient-7'"):
        graph.gradients("y", "x")


def test_a_function_that_runs_itself(tmp_path):
    """x to the power of 2 ** n, n levels deep."""
    n = node("m", "Sub", "%n, %one", "T = i32", f"{I32}, {I32}", I32)
    attrs = "Tin = [i32, f64], Tout = [f64], f = #tf_type.func<@power, {}>"
    yes = count("one", 1) + n + math("s", "Square", "%x")
    yes += node("again", "PartitionedCall", "%m, %s", attrs, f"{I32}, {F64}", F64)
    arguments = [("n", I32), ("x", F64)]
    functions = function("yes", arguments, yes, [("%again", F64)])
    functions += function("no", arguments, "", [("%x", F64)])
    body = count("zero", 0)
    body += node("more", "Greater", "%n, %zero", "T = i32", f"{I32}, {I32}", "tensor<i1>")
    branches = (
        "Tcond = i1, Tin = [i32, f64], Tout = [f64], output_shapes = [], "
        "then_branch = #tf_type.func<@yes, {}>, else_branch = #tf_type.func<@no, {}>"
    )
    types = f"tensor<i1>, {I32}, {F64}"
    body += node("either", "StatelessIf", "%more, %n, %x", branches, types, F64)
    functions += function("power", arguments, body, [("%either", F64)])
    nodes = placeholder("x", [2]) + count("levels", 3)
    nodes += node("y", "PartitionedCall", "%levels, %x", attrs, f"{I32}, {F64}", F64)
    check_slopes(load(tmp_path, nodes, functions), "y:0", {"x:0": numbers(2)})


def v1_loop():
    """y = x ** 5, by the nodes of v1 control flow."""
    frame = 'frame_name = "loop", is_constant = {}, parallel_iterations = 10 : i64'
    text = placeholder("x", [2]) + count("zero", 0) + count("end", 4)
    for name, of, type, is_constant in [
        ("ei", "%zero", "i32", "false"),
        ("en", "%end", "i32", "true"),
        ("ev", "%x", "f64", "false"),
        ("ex", "%x", "f64", "true"),
    ]:
        full = f"tensor<*x{type}>" if type == "f64" else I32
        attrs = f"T = {type}, " + frame.format(is_constant)
        text += node(name, "Enter", of, attrs, full, full)
    merge = "tensor<i32>, tensor<i32>", f"{I32}, {I32}"
    text += node("mi", "Merge", "%ei, %ni", "N = 2 : i64, T = i32", *merge)
    text += node(
        "mv", "Merge", "%ev, %nv", "N = 2 : i64, T = f64", f"{F64}, {F64}", f"{F64}, {I32}"
    )
    text += node("test", "Less", "%mi#0, %en", "T = i32", f"{I32}, {I32}", "tensor<i1>")
    text += node("go", "LoopCond", "%test", "", "tensor<i1>", "tensor<i1>")
    text += node("si", "Switch", "%mi#0, %go", "T = i32", f"{I32}, tensor<i1>", f"{I32}, {I32}")
    text += node("sv", "Switch", "%mv#0, %go", "T = f64", f"{F64}, tensor<i1>", f"{F64}, {F64}")
    text += (
        '  %one, %one_c = Const [%si_c] name("one") {dtype = i32, value = dense<1> : tensor<i32>}'
    )
    text += f" : () -> ({I32})\n"
    text += node("ai", "AddV2", "%si#1, %one", "T = i32", f"{I32}, {I32}", I32)
    text += math("av", "Mul", "%sv#1", "%ex")
    text += node("ni", "NextIteration", "%ai", "T = i32", I32, I32)
    text += node("nv", "NextIteration", "%av", "T = f64", F64, F64)
    return text + node("y", "Exit", "%sv#0", "T = f64", F64, F64)


def test_a_v1_loop(tmp_path):
    check_slopes(load(tmp_path, v1_loop()), "y:0", {"x:0": numbers(2)})


def test_a_value_inside_of_a_v1_loop_is_refused(tmp_path):
    graph = load(tmp_path, v1_loop())
    with pytest.raises(treadle.InvalidArgumentError, match="'av' .* is inside one of them"):
        graph.gradients("y:0", "av")


def test_requests_that_make_no_sense(tmp_path):
    graph = load(tmp_path, placeholder("x", [2]) + math("y", "Square", "%x") + count("n", 2))
    with pytest.raises(treadle.NotFoundError, match="there is no node 'z'"):
        graph.gradients("y", "z")
    with pytest.raises(treadle.InvalidArgumentError, match="'\\^x' is a control token"):
        graph.gradients("y", "^x")
    with pytest.raises(treadle.InvalidArgumentError, match="2 gradients of 1 ys"):
        graph.gradients("y", "x", grad_ys=["x", "x"])
    with pytest.raises(treadle.InvalidArgumentError, match="'n:0' can't be the gradient of 'y:0'"):
        graph.gradients("y", "x", grad_ys=["n"])
    assert graph.gradients("n", "x") == [None]
