"""Graphs of any size, in families that grow in one direction each, for `./dev bench growth`.

A family is a function of a size that returns a Graph: a GraphDef or a StableHLO program in text,
and how to run it. FAMILIES has them by name. They need nothing but Python.
"""

import dataclasses
import random

from graph_text import (
    BOOL,
    FLOAT,
    INT,
    RESOURCE,
    VARIANT,
    Body,
    Graph,
    function_named,
    functions_named,
    tensor,
    text,
    types,
)


@dataclasses.dataclass(frozen=True)
class Family:
    make: object
    first: int  # the smallest size
    last: int  # the largest
    summary: str


FAMILIES = {}


def family(first=500, last=128_000):
    def register(make):
        FAMILIES[make.__name__] = Family(make, first, last, make.__doc__)
        return make

    return register


def started():
    """A graph with the placeholder x, to which runs feed 1."""
    graph = Graph(inputs={"x": "1"})
    graph.body.placeholder("x")
    return graph, graph.body


def fetching(graph, *names):
    graph.fetches = [name if ":" in name else name + ":0" for name in names]
    return graph


def ended(graph, nodes):
    graph.targets = [graph.body.barrier(nodes)]
    return graph


# --- plain graphs ---------------------------------------------------------------------------------


@family()
def chain(n):
    """n additions, each to the one before"""
    graph, body = started()
    return fetching(graph, body.chain("n", "x", n, body.constant("c", 1)))


@family()
def shuffled(n):
    """n operations on two of those before, in any order of nodes"""
    graph, body = started()
    choose = random.Random(5)
    names = ["x"]
    for i in range(n):
        op = choose.choice(["AddV2", "Maximum", "Minimum"])
        names.append(body.op(f"n{i}", op, names[-1], choose.choice(names)))
    choose.shuffle(body.nodes)
    return fetching(graph, names[-1])


@family(last=32_000)
def fan(n):
    """one value with n uses, and one sum of n values"""
    graph, body = started()
    hub = body.op("hub", "Neg", "x")
    return fetching(graph, body.sum([body.op(f"n{i}", "Mul", hub, "x") for i in range(n)]))


@family()
def layers(n):
    """n edges: layers of 16 sums, each of the whole layer before"""
    graph, body = started()
    layer = [body.op(f"first{i}", "Neg", "x") for i in range(16)]
    for depth in range(max(1, n // 256)):
        layer = [body.op(f"l{depth}_{i}", "AddN", *layer, N=16) for i in range(16)]
    return fetching(graph, body.sum(layer))


@family()
def diamonds(n):
    """n pairs of paths, one after the other"""
    graph, body = started()
    last = "x"
    for i in range(n):
        last = body.op(f"n{i}", "AddV2", last, body.op(f"m{i}", "Neg", last))
    return fetching(graph, last)


@family()
def products(n):
    """a product of n factors beside x * Sigmoid(x)"""
    graph, body = started()
    last = "x"
    for i in range(n):
        last = body.op(f"n{i}", "Mul", last, body.constant(f"c{i}", 1 + i * 1e-6))
    swish = body.op("swish", "Mul", "x", body.op("sigmoid", "Sigmoid", "x"))
    return fetching(graph, body.op("y", "AddV2", last, swish))


@family()
def control_edges(n):
    """n nodes with control edges to the eight before, and one that waits for all"""
    graph, body = started()
    last, names = "x", []
    for i in range(n):
        last = body.op(f"n{i}", "Neg", last, *(f"^n{k}" for k in range(max(0, i - 9), i - 1)))
        names.append(last)
    return ended(graph, names)


# --- functions ------------------------------------------------------------------------------------


@family(last=32_000)
def functions(n):
    """n functions, each called once"""
    graph, body = started()
    last = "x"
    for i in range(n):
        graph.unary(f"f{i}")
        last = body.call(f"c{i}", f"f{i}", last)
    return fetching(graph, last)


@family(last=32_000)
def shared_function(n):
    """one function, called n times"""
    graph, body = started()
    graph.unary("f")
    last = "x"
    for i in range(n):
        last = body.call(f"c{i}", "f", last)
    return fetching(graph, last)


@family(first=50, last=800)
def call_depth(n):
    """functions that call each other, n deep"""
    graph, body = started()
    graph.unary(f"f{n}")
    for i in range(n):
        inner = Body(True)
        result = inner.call("c", f"f{i + 1}", inner.op("m", "AddV2", "a", "a"))
        graph.function(f"f{i}", [("a", FLOAT)], [(FLOAT, result)], inner)
    return fetching(graph, body.call("c", "f0", "x"))


@family(last=32_000)
def wide_function(n):
    """a function of n arguments and n results"""
    graph, body = started()
    inner = Body(True)
    results = [(FLOAT, inner.op(f"n{i}", "Neg", f"a{i}")) for i in range(n)]
    graph.function("f", [(f"a{i}", FLOAT) for i in range(n)], results, inner)
    kinds = types(*[FLOAT] * n)
    body.add("c", "PartitionedCall", ["x"] * n, Tin=kinds, Tout=kinds, f=function_named("f"))
    return fetching(graph, body.sum([f"c:{i}" for i in range(n)]))


@family(last=32_000)
def unused_functions(n):
    """n functions that nothing calls"""
    graph, body = started()
    for i in range(n):
        graph.unary(f"f{i}")
    return fetching(graph, body.op("y", "Neg", "x"))


# --- loops and branches ---------------------------------------------------------------------------


@family(first=50, last=8_000)
def loops(n):
    """n While, one after the other"""
    graph, body = started()
    zero, last = body.constant("zero", 0, kind=INT), "x"
    for i in range(n):
        kinds = graph.loop(str(i), 3, lambda inner: [inner.op("m", "Mul", "v", "v")])
        last = body.loop(f"w{i}", str(i), kinds, zero, last) + ":1"
    return fetching(graph, last)


@family(first=20, last=320)
def nested_loops(n):
    """While in While, n deep"""
    graph, body = started()
    for i in range(n):

        def step(inner, depth=i):
            if depth + 1 == n:
                return [inner.op("m", "Neg", "v")]
            zero = inner.constant("zero", 0, kind=INT)
            inner.loop("w", str(depth + 1), (INT, FLOAT), zero, "v")
            return ["w:output:1"]

        kinds = graph.loop(str(i), 1, step)
    body.loop("w", "0", kinds, body.constant("zero", 0, kind=INT), "x")
    return fetching(graph, "w:1")


@family(first=50, last=2_000)
def loop_variables(n):
    """a While of n variables"""
    graph, body = started()
    arguments = [(f"v{i}", FLOAT) for i in range(n)]
    kinds = graph.loop(
        "",
        10,
        lambda inner: [inner.op(f"m{i}", "AddV2", f"v{i}", f"v{i}") for i in range(n)],
        arguments,
    )
    body.loop("w", "", kinds, body.constant("zero", 0, kind=INT), *["x"] * n)
    return fetching(graph, f"w:{n}")


@family(last=32_000)
def loop_body(n):
    """a While with n nodes in its body"""
    graph, body = started()
    kinds = graph.loop("", 10, lambda inner: [inner.chain("m", "v", n)])
    body.loop("w", "", kinds, body.constant("zero", 0, kind=INT), "x")
    return fetching(graph, "w:1")


@family(first=2_000, last=2_000_000)
def iterations(n):
    """a While of n iterations"""
    graph, body = started()
    kinds = graph.loop("", n, lambda inner: [inner.op("m", "Neg", "v")])
    body.loop("w", "", kinds, body.constant("zero", 0, kind=INT), "x")
    return fetching(graph, "w:1")


@family(last=128_000)
def shared_lists(n):
    """a While that appends to a TensorList n times, and keeps the one before"""
    graph, body = started()
    body.add("shape", "Const", dtype=INT, value=tensor(INT, [], "tensor_shape { dim { size: 0 } }"))
    most = body.constant("most", -1, kind=INT)
    lists = {"element_dtype": FLOAT, "shape_type": INT}
    body.add("list", "EmptyTensorList", ["shape", most], **lists)

    def step(inner):
        length = inner.add("length", "TensorListLength", ["old"])
        total = inner.op("total", "AddV2", "sum", length, kind=INT)
        pushed = inner.add("push", "TensorListPushBack", ["l", "v"], element_dtype=FLOAT)
        return [pushed, "l", "v", total]

    arguments = [("l", VARIANT), ("old", VARIANT), ("v", FLOAT), ("sum", INT)]
    kinds = graph.loop("", n, step, arguments)
    body.loop("w", "", kinds, body.constant("zero", 0, kind=INT), "list", "list", "x", "zero")
    return fetching(graph, "w:4")


@family(first=50, last=8_000)
def branches(n):
    """n If, one after the other"""
    graph, body = started()
    last, predicate = "x", body.placeholder("p", BOOL)
    graph.inputs["p"] = "true"
    for i in range(n):
        graph.unary(f"then{i}")
        graph.unary(f"else{i}", "Tanh")
        last = body.branch(f"if{i}", predicate, last, f"then{i}", f"else{i}")
    return fetching(graph, last)


@family(last=32_000)
def cases(n):
    """a Case of n branches"""
    graph, body = started()
    graph.inputs["k"] = "1"
    for i in range(n):
        graph.unary(f"f{i}")
    listed = functions_named(f"f{i}" for i in range(n))
    kinds = {"Tin": types(FLOAT), "Tout": types(FLOAT), "branches": listed}
    body.add("case", "StatelessCase", [body.placeholder("k", INT), "x"], **kinds)
    return fetching(graph, "case")


# --- control flow of version 1 --------------------------------------------------------------------


@family()
def switches(n):
    """n pairs of Switch and Merge, one after the other"""
    graph, body = started()
    graph.inputs["p"] = "true"
    last = "x"
    body.placeholder("p", BOOL)
    for i in range(n):
        body.op(f"s{i}", "Switch", last, "p")
        negated, absolute = body.op(f"t{i}", "Neg", f"s{i}:1"), body.op(f"f{i}", "Abs", f"s{i}")
        last = body.merge(f"m{i}", absolute, negated)
    return fetching(graph, last)


def frame(body, at, first, variables=1, inner=lambda value: value, condition=None):
    """A loop of `variables` floats from `first`, which adds 1 to each; returns its results."""
    names = [f"{at}v{i}/" for i in range(variables)]
    for v in names:
        body.merge(v + "merge", body.enter(v + "enter", first, at), v + "next")
    tested = condition(names) if condition else names[0] + "merge"
    limit = body.constant(
        at + "limit", 3 if condition is None else 3 * variables, f"^{names[0]}merge"
    )
    body.add(at + "cond", "LoopCond", [body.op(at + "less", "Less", tested, limit)])
    for v in names:
        body.op(v + "switch", "Switch", v + "merge", at + "cond")
    body.constant(at + "one", 1, "^" + body.op(at + "body", "Identity", names[0] + "switch:1"))
    for v in names:
        added = body.op(v + "add", "AddV2", v + "switch:1", at + "one")
        body.op(v + "next", "NextIteration", inner(added) if v == names[0] else added)
    return [body.op(v + "exit", "Exit", v + "switch") for v in names]


@family(first=50, last=8_000)
def frames(n):
    """n frames, one after the other"""
    graph, body = started()
    last = "x"
    for i in range(n):
        last = body.op(f"r{i}", "Neg", *frame(body, f"l{i}/", last))
    return fetching(graph, last)


@family(last=32_000)
def frame_variables(n):
    """a frame of n variables, all of which its condition reads"""
    graph, body = started()

    def total(names):
        return body.op("total", "AddN", *(v + "merge" for v in names), N=n)

    return fetching(graph, body.sum(frame(body, "l/", "x", n, condition=total)))


@family(last=32_000)
def frame_effects(n):
    """a frame with n ordered assignments of one variable"""
    graph, body = started()
    set_up = body.variable("v", "x")

    def assign(value):
        handle, last = body.add("l/h", "Enter", ["v", "^" + set_up], T=RESOURCE, **constant), value
        for i in range(n):
            inputs = [handle, "l/one", "^" + last]
            last = body.add(f"l/a{i}", "AssignAddVariableOp", inputs, dtype=FLOAT)
        return body.op("l/after", "Identity", value, "^" + last)

    constant = {"frame_name": text("l/"), "is_constant": True}
    return fetching(graph, *frame(body, "l/", "x", inner=assign))


# --- effects --------------------------------------------------------------------------------------


@family(last=32_000)
def variables(n):
    """n variables, each assigned, read and assigned"""
    graph, body = started()
    ends = []
    for i in range(n):
        v = f"v{i}"
        read = body.add(f"r{i}", "ReadVariableOp", [v, "^" + body.variable(v, "x")], dtype=FLOAT)
        total = body.op(f"n{i}", "AddV2", read, "x")
        ends.append(body.add(f"a{i}", "AssignVariableOp", [v, total], dtype=FLOAT))
    return ended(graph, ends)


@family()
def ordered_effects(n):
    """n assignments of one variable, one after the other"""
    graph, body = started()
    last = body.variable("v", "x")
    for i in range(n):
        last = body.add(f"a{i}", "AssignAddVariableOp", ["v", "x", "^" + last], dtype=FLOAT)
    return ended(graph, [last])


@family()
def readers(n):
    """n reads of one variable between two assignments"""
    graph, body = started()
    first = body.variable("v", "x")
    reads = [body.add(f"r{i}", "ReadVariableOp", ["v", "^" + first], dtype=FLOAT) for i in range(n)]
    body.add("a", "AssignVariableOp", ["v", "x", *("^" + r for r in reads)], dtype=FLOAT)
    return ended(graph, ["a"])


@family(first=50, last=8_000)
def loops_with_effects(n):
    """n While, one after the other, each of which assigns one variable"""
    graph, body = started()
    last, zero = body.variable("v", "x"), body.constant("zero", 0, kind=INT)

    def step(inner):
        inner.add("a", "AssignAddVariableOp", ["h", inner.constant("o", 1)], dtype=FLOAT)
        return ["h"]

    for i in range(n):
        kinds = graph.loop(str(i), 3, step, [("h", RESOURCE)])
        last = body.loop(f"w{i}", str(i), kinds, zero, "v", "^" + last, op="While")
    return fetching(graph, last)


# --- constants, names and attributes --------------------------------------------------------------


@family(last=32_000)
def constants(n):
    """n different constants of 32 numbers"""
    graph, body = started()
    shape = "tensor_shape { dim { size: 32 } }"
    for i in range(n):
        value = tensor(FLOAT, range(i, i + 32), shape)
        body.add(f"c{i}", "Const", dtype=FLOAT, value=value)
    body.add("x32", "Fill", ["dims", "x"], T=FLOAT, index_type=INT)
    dims = tensor(INT, [32], "tensor_shape { dim { size: 1 } }")
    body.add("dims", "Const", dtype=INT, value=dims)
    return fetching(graph, body.sum(["x32", *(f"c{i}" for i in range(n))]))


@family(first=5_000, last=2_000_000)
def long_constant(n):
    """one constant of n numbers"""
    graph, body = started()
    value = tensor(FLOAT, range(n), f"tensor_shape {{ dim {{ size: {n} }} }}")
    body.add("c", "Const", dtype=FLOAT, value=value)
    body.op("product", "Mul", "c", "x")
    body.add("sum", "Sum", ["product", body.constant("axis", 0, kind=INT)], T=FLOAT, Tidx=INT)
    return fetching(graph, "sum")


@family(first=5_000, last=2_000_000)
def long_attribute(n):
    """an attribute of n integers"""
    graph, body = started()
    listed = f"list {{ {' '.join(f'i: {i}' for i in range(n))} }}"
    return fetching(graph, body.op("y", "Neg", "x", _numbers=listed))


@family()
def attributes(n):
    """a node with n attributes"""
    graph, body = started()
    return fetching(graph, body.op("y", "Neg", "x", **{f"_a{i}": i for i in range(n)}))


@family(first=2_000, last=32_000)
def long_names(n):
    """100 nodes with names of n characters"""
    graph, body = started()
    return fetching(graph, body.chain("n" * n, "x", 100))


@family(last=32_000)
def similar_names(n):
    """n nodes with names that differ in characters which identifiers don't have"""
    graph, body = started()
    last = "x"
    for i in range(n):
        name = "a" + "".join("._-/"[i >> 2 * k & 3] + "b" for k in range(10))
        last = body.op(name, "Neg", last)
    return fetching(graph, last)


@family(last=8_000)
def placeholders(n):
    """n inputs that are fed, and n results that are fetched"""
    graph, body = started()
    for i in range(n):
        graph.inputs[body.placeholder(f"x{i}")] = "1"
    return fetching(graph, *(body.op(f"n{i}", "Neg", f"x{i}") for i in range(n)))


# --- StableHLO ------------------------------------------------------------------------------------


def program(lines, arguments, results):
    """Text of a program whose results are (type, value)."""
    given = ", ".join(f"%arg{i}: {kind}" for i, kind in enumerate(arguments))
    kinds = ", ".join(kind for kind, _ in results)
    values = ", ".join(value for _, value in results)
    head = f"func.func @main({given}) -> ({kinds}) {{"
    text = "\n".join([head, *lines, f"  return {values} : {kinds}", "}", ""])
    inputs = {f"arg{i}": "256xf32=1" if "x" in kind else "1" for i, kind in enumerate(arguments)}
    return Graph(program=text, inputs=inputs)


@family(last=32_000)
def hlo_chain(n):
    """StableHLO: n operations on vectors, each on the two before"""
    kind = "tensor<256xf32>"
    lines, values = [], ["%arg0", "%arg0"]
    for i in range(n):
        op = ("add", "multiply", "maximum")[i % 3]
        lines.append(f"  %{i} = stablehlo.{op} {values[-1]}, {values[-2]} : {kind}")
        values.append(f"%{i}")
    return program(lines, [kind], [(kind, values[-1])])


@family(first=20, last=2_000)
def hlo_loops(n):
    """StableHLO: n while, one after the other"""
    lines = [
        f"  %{name} = stablehlo.constant dense<{value}> : tensor<i32>"
        for name, value in {"zero": 0, "one": 1, "limit": 3}.items()
    ]
    both, last = "tensor<i32>, tensor<f32>", "%arg0"
    for i in range(n):
        lines += [
            f"  %w{i}:2 = stablehlo.while(%i = %zero, %v = {last}) : {both}",
            "  cond {",
            "    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "    stablehlo.return %p : tensor<i1>",
            "  } do {",
            "    %count = stablehlo.add %i, %one : tensor<i32>",
            "    %next = stablehlo.multiply %v, %v : tensor<f32>",
            f"    stablehlo.return %count, %next : {both}",
            "  }",
        ]
        last = f"%w{i}#1"
    return program(lines, ["tensor<f32>"], [("tensor<f32>", last)])


@family(last=8_000)
def hlo_arguments(n):
    """StableHLO: a program of n arguments and n results"""
    kind = "tensor<f32>"
    lines = [f"  %{i} = stablehlo.negate %arg{i} : {kind}" for i in range(n)]
    return program(lines, [kind] * n, [(kind, f"%{i}") for i in range(n)])
