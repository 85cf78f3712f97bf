"""`treadle explain` and Graph.explain: what orders a loop's iterations, and what is said of it."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402
from loop_programs import Body, Program, less, variable  # noqa: E402
from test_loop_order import PROGRAMS, load  # noqa: E402

ROOT = pathlib.Path(__file__).parents[1]
PASSES_OF_AUTO = "tfg-deps-to-chains{only-gaining=true},tfg-overlap-loops"
PASSES_OF_ON = "tfg-deps-to-chains{loop-overlap=on},tfg-overlap-loops{all=true}"


@pytest.fixture
def explain(tmp_path):
    return lambda text, **asked: load(tmp_path, text).explain(**asked)


@pytest.fixture
def command(tmp_path):
    def run(text, *options):
        path = tmp_path / "graph.mlir"
        path.write_text(text)
        line = [command_line.BINARY, "explain", path, *options]
        done = subprocess.run(line, capture_output=True, timeout=60, text=True)
        return done.returncode, done.stdout, done.stderr

    return run


def counted(make_body, cond=lambda b: None, **options):
    """A loop `while` with a counter and a list; make_body gives the list's next item."""
    program, main = Program(), Body()

    def condition(b, i, items):
        cond(b)
        return less(b, i, b.const(3))

    def body(b, i, items):
        return b.add(i, b.const(1)), b.set_item(items, i, make_body(b, i))

    init = [main.const(0), main.new_list()]
    loop = program.loop(main, "while", ["i32", "list"], init, condition, body, **options)
    main.stack(loop[1])
    return program.graph(main)


def writing(name, value=lambda b, i, handle: i):
    def body(b, i):
        handle = variable(b, name)
        b.write("AssignVariableOp", handle, value(b, i, handle))
        return b.mul(i, i)

    return body


def resources(loop):
    return {order.subject: order for order in loop.orders if order.kind == "resource"}


def names(ops):
    return {op.name for op in ops}


def ops(things):
    return {op.op for op in things}


# --- the order of iterations ----------------------------------------------------------------------

# By program: resources that order the loop's iterations, and those that are only read.
ORDERS = {
    "multi_reads": ({"variable 'v'"}, set()),
    "reads_at_both_ends": ({"variable 'v'"}, set()),
    "condition_reads": ({"variable 'v'", "variable 'w'"}, set()),
    "condition_writes": ({"variable 'v'"}, set()),
    "says": ({"the outside world"}, set()),
    "two_variables": ({"variable 'v'", "variable 'w'"}, set()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_resources_that_order(explain, name):
    (loop,) = explain(PROGRAMS[name]()[0]).loops
    found = resources(loop)
    assert {s for s, order in found.items() if order.orders} == ORDERS[name][0]
    assert {s for s, order in found.items() if not order.orders} == ORDERS[name][1]


def test_a_loop_without_effects(explain):
    found = explain(counted(lambda b, i: b.mul(i, i)))
    (loop,) = found.loops
    assert not resources(loop) and loop.overlaps_when_on and not loop.overlaps_in_auto
    assert ops(loop.overlapping) == {"Mul"}
    assert ops(loop.in_turns) == {"Less", "AddV2", "TensorListSetItem"}
    assert "no op in it waits" in loop.in_auto and not loop.advice
    assert "nothing else orders its iterations" in str(found)


def test_a_counter_alone_has_nothing_to_overlap(explain):
    (loop,) = explain(counted(lambda b, i: i)).loops
    assert not loop.overlaps_when_on and not loop.overlapping
    assert "each of its ops waits for the previous iteration" in loop.when_on


def test_a_variable_is_named_with_what_gets_to_it(explain):
    found = explain(counted(writing("v", lambda b, i, v: b.add(b.read(v), i))))
    (loop,) = found.loops
    order = resources(loop)["variable 'v'"]
    assert [(a.op.op, a.writes) for a in order.by] == [
        ("ReadVariableOp", False),
        ("AssignVariableOp", True),
    ]
    assert ops(order.would_be_free) == {"ReadVariableOp", "AddV2", "AssignVariableOp"}
    assert "Mul" in ops(loop.overlapping)
    (advice,) = loop.advice
    free = "'readvariableop_4' (ReadVariableOp) and 'addv2_5' (AddV2)"
    assert advice.endswith(f" writes variable 'v'; without that, {free} would overlap")


def test_a_variable_that_is_only_read_orders_nothing(explain):
    found = explain(counted(lambda b, i: b.read(variable(b, "v"))))
    (loop,) = found.loops
    assert not resources(loop)["variable 'v'"].orders and "ReadVariableOp" in ops(loop.overlapping)
    assert "only read:   variable 'v'" in str(found)


def test_an_effect_of_the_condition(explain):
    (loop,) = explain(counted(lambda b, i: b.mul(i, i), lambda b: b.say("x"))).loops
    (access,) = resources(loop)["the outside world"].by
    assert access.in_condition and access.writes
    assert not {"Mul"} & ops(loop.in_turns)


def test_prints_are_what_stands_in_the_way(explain):
    def body(b, i):
        b.say("x")
        return b.mul(i, i)

    (loop,) = explain(counted(body)).loops
    (advice,) = loop.advice
    assert "(PrintV2) prints; without that" in advice


def test_a_writer_in_a_called_function_is_found(explain):
    program, main, callee = Program(), Body(), Body()
    callee.say("deep")

    def body(b, i):
        b.node(
            "StatefulPartitionedCall", [], [], [], 'Tin = [], Tout = [], config = "", '
            'config_proto = "", executor_type = "", f = #tf_type.func<@callee, {}>', "call",
        )  # fmt: skip
        return (b.add(i, b.const(1)),)

    program.loop(main, "while", ["i32"], [main.const(0)], lambda b, i: less(b, i, b.const(2)), body)
    text = program.graph(main) + "\n".join(
        ["tfg.func @callee() -> () {", *callee.lines, "return", "}"]
    )
    (loop,) = explain(text).loops
    (access,) = resources(loop)["the outside world"].by
    assert access.op.name == "call"
    assert loop.advice and "(PrintV2) prints" in loop.advice[0]


# --- verdicts ------------------------------------------------------------------------------------


def test_one_unknown_op(explain):
    (loop,) = explain(counted(lambda b, i: b.op("Mystery", b.mul(i, i))[0])).loops
    assert "Mystery" in ops(loop.in_turns) and "Mul" in ops(loop.overlapping)
    (advice,) = loop.advice
    assert "has an unknown op" in advice and "register_op" in advice


def test_what_register_op_says_counts(explain):
    text = counted(lambda b, i: b.op("ExplainedOp", b.mul(i, i))[0])
    treadle.register_op("ExplainedOp", lambda x: x, effects="none")
    (loop,) = explain(text).loops
    assert "ExplainedOp" in ops(loop.overlapping) and loop.overlaps_in_auto
    assert loop.in_auto.startswith("up to 10 iterations at a time, since ")
    treadle.register_op("ExplainedOp", lambda x: x, effects={"r": "write"})
    (loop,) = explain(text).loops
    assert "ExplainedOp" in ops(loop.in_turns) and not loop.overlaps_in_auto
    assert resources(loop)["resource 'r'"].orders
    assert "may wait, but in the order of the iterations" in loop.in_auto


@pytest.mark.parametrize(
    ("options", "says", "advises"),
    [
        ({"parallel": 1}, "'parallel_iterations' is 1", "'parallel_iterations' to 2 or more"),
        (
            {"attrs": ", _stateful_parallelism = false"},
            "'_stateful_parallelism' is false",
            "--loop-overlap on",
        ),
    ],
)
def test_attributes_that_forbid(explain, options, says, advises):
    (loop,) = explain(counted(lambda b, i: b.mul(i, i), **options)).loops
    assert not loop.overlaps_in_auto and says in loop.in_auto
    assert loop.overlaps_when_on == ("parallel" not in options)
    assert any(advises in advice for advice in loop.advice)


BODIES = {
    "pure": lambda b, i: b.mul(i, i),
    "waits": lambda b, i: waits(b, b.mul(i, i)),
    "reads and waits": lambda b, i: waits(b, b.read(variable(b, "v"))),
    "waits and may do anything": lambda b, i: b.op("Mystery", waits(b, i))[0],
    "may do anything": lambda b, i: b.op("Mystery", i)[0],
    "waits and writes": writing("v", lambda b, i, v: waits(b, i)),
    "reads, waits and writes": writing("v", lambda b, i, v: waits(b, b.read(v))),
}


def waits(b, value):
    """An op that waits and has no effects on anything that others have."""
    traits = "waits = true, touches_world = false, reads = [], writes = []"
    attrs = f"tfg.op_traits = #tfg.op_traits<{traits}>"
    return b.node("Mystery", [value], ["i32"], ["i32"], attrs)[0]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("options", [{}, {"parallel": 1}])
def test_what_is_said_of_auto_and_on_is_what_the_passes_do(tmp_path, body, options):
    body = BODIES[body]
    graph = load(tmp_path, counted(body, **options))
    (loop,) = graph.explain().loops

    def stays(passes):
        return any(node.op == "While" for node in graph.run_passes(passes).nodes())

    assert loop.overlaps_in_auto == (not stays(PASSES_OF_AUTO))
    assert loop.overlaps_when_on == (not stays(PASSES_OF_ON) and bool(loop.overlapping))


# --- where loops are -----------------------------------------------------------------------------


def nested():
    program, main = Program(), Body()

    def outer(b, i):
        def inner(c, j):
            return (c.add(j, c.const(1)),)

        program.loop(b, "inner", ["i32"], [i], lambda c, j: less(c, j, c.const(5)), inner)
        return (b.add(i, b.const(1)),)

    cond = lambda b, i: less(b, i, b.const(3))  # noqa: E731
    out = program.loop(main, "outer", ["i32"], ["%a0"], cond, outer)
    return program.text(main, out, ["tensor<i32>"])


def test_loops_in_functions_and_loops(explain):
    found = explain(nested())
    assert [(body.function, [loop.name for loop in body.loops]) for body in found.bodies] == [
        ("main", ["outer"]),
        ("outer_body", ["inner"]),
    ]
    assert found.bodies[0].users == ("called by 'call' (StatefulPartitionedCall)",)
    assert found.bodies[1].users == ("body of 'outer' (While)",)


def test_loops_in_regions_keep_their_op(tmp_path):
    graph = load(tmp_path, nested()).run_passes("tfg-functional-to-region")
    found = graph.explain()
    assert {loop.kind for loop in found.loops} == {"WhileRegion"}
    assert {loop.name for loop in found.loops} == {"outer", "inner"}


def test_only_what_a_run_gets_to(explain):
    text = counted(lambda b, i: i)
    assert len(explain(text, fetches="while").loops) == 1
    assert explain(text, fetches=["const_1:0"]).bodies == ()
    assert str(explain(text, targets="const_1")) == "no loops\n"
    with pytest.raises(treadle.InvalidArgumentError, match="'q'"):
        explain(text, fetches="q")


def test_a_v1_loop_is_explained_by_its_edges():
    graph = treadle.Graph.from_file(ROOT / "examples" / "countdown.pbtxt")
    (loop,) = graph.explain().loops
    assert (loop.name, loop.kind) == ("loop", "frame")
    assert names(loop.in_turns) == {"loop/more", "loop/dec"}


def test_races_of_a_v1_loop_are_none_of_its_orders(tmp_path):
    program = counted(writing("v"))
    frames = load(tmp_path, program).run_passes("tfg-overlap-loops{all=true}")
    chained = load(tmp_path, program).run_passes(PASSES_OF_ON)
    for graph in (frames, chained):
        for loop in graph.explain().loops:
            order = resources(loop)["variable 'v'"]
            races = [p for p in graph.check(["while"]) if p.kind == "race"]
            assert order.race == bool(races) and order.orders == (not races)
    assert [loop.kind for loop in chained.explain().loops] == ["frame"]


# --- the command ---------------------------------------------------------------------------------


def test_the_command_says_it_in_words(command):
    status, out, error = command(counted(writing("v", lambda b, i, v: b.add(b.read(v), i))))
    assert (status, error) == (0, "")
    first, rest = out.split("graph\n")
    assert re.fullmatch(r"worth doing\n  compile loop 'while' \(While\): .*\n", first)
    assert rest.startswith("  loop 'while' (While), parallel_iterations 10\n    auto: ")
    assert "in order:    the condition and its inputs: " in out
    assert (
        "variable 'v': 'readvariableop_4' (ReadVariableOp) reads it, 'assignv" in out
        and "to free it: " in out
    )


def test_json(command):
    status, out, _ = command(counted(writing("v")), "--json")
    (body,) = json.loads(out)["bodies"]
    (loop,) = body["loops"]
    assert (
        status == 0
        and body["function"] == ""
        and loop["overlaps"]
        == {
            "auto": False,
            "on": True,
        }
    )
    assert [order["kind"] for order in loop["orders"]].count("resource") == 1


def test_what_is_compiled_and_why_the_rest_is_not(explain, command):
    found = explain(counted(lambda b, i: b.mul(i, i)))
    (cluster,) = found.clusters
    assert "while" in [node.name for node in cluster.nodes] and cluster.where == ""
    assert cluster.ops >= 4  # the loop, its condition, its counter, the product
    assert "compiled by tiers auto and jit\n" in str(found)

    text = counted(lambda b, i: b.mul(i, i), lambda b: b.say("x"))
    found = explain(text)
    assert found.clusters == ()
    (why,) = [part.why for part in found.interpreted if "while" in [n.name for n in part.nodes]]
    assert "its op has side effects" in why
    assert "always interpreted\n" in str(found)
    status, out, _ = command(text, "--json")
    read = json.loads(out)
    assert status == 0 and read["clusters"] == []
    assert why in [part["why"] for part in read["interpreted"]]
    assert any("too small" in part["why"] for part in read["interpreted"])


STRING_CONDITION = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %s, %0 = Placeholder name("s") {dtype = !tf_type.string, shape = #tf_type.shape<>} : () -> (tensor<!tf_type.string>)
  %e, %1 = Placeholder name("e") {dtype = !tf_type.string, shape = #tf_type.shape<>} : () -> (tensor<!tf_type.string>)
  %w:2, %2 = StatelessWhile(%s, %e) name("while") {T = [!tf_type.string, !tf_type.string], cond = #tf_type.func<@cond, {}>,
      body = #tf_type.func<@body, {}>, output_shapes = [], parallel_iterations = 10 : i64}
      : (tensor<!tf_type.string>, tensor<!tf_type.string>) -> (tensor<!tf_type.string>, tensor<!tf_type.string>)
}
tfg.func @cond(%s: tensor<!tf_type.string> {tfg.name = "s"}, %e: tensor<!tf_type.string> {tfg.name = "e"})
    -> (tensor<!tf_type.string> {tfg.name = "r"}) {
  return(%s) : tensor<!tf_type.string>
}
tfg.func @body(%s: tensor<!tf_type.string> {tfg.name = "s"}, %e: tensor<!tf_type.string> {tfg.name = "e"})
    -> (tensor<!tf_type.string> {tfg.name = "r"}, tensor<!tf_type.string> {tfg.name = "q"}) {
  return(%e, %e) : tensor<!tf_type.string>, tensor<!tf_type.string>
}
"""  # noqa: E501


def test_what_cannot_be_compiled_is_no_cluster(explain, tmp_path):
    """The obstacles that explain lists are those that the session finds when it compiles."""
    found = explain(STRING_CONDITION)
    assert found.clusters == ()
    (part,) = [part for part in found.interpreted if "while" in [n.name for n in part.nodes]]
    why = "node 'while' (StatelessWhile): its condition may not be a scalar"
    assert part.why == f"can't be compiled: {why}"
    assert f"  'while' (StatelessWhile): can't be compiled: {why}\n" in str(found)
    session = treadle.Session(load(tmp_path, STRING_CONDITION), tier="jit", statistics=True)
    assert session.run("while:0", {"s:0": b"x", "e:0": b""}) == b""
    statistics = session.statistics()
    assert (statistics.failed_compilations, statistics.last_failure) == (1, why)


def test_a_wrong_option_is_named(command):
    status, _, error = command("", "--fecth", "x")
    assert status == 2 and "--fecth" in error and "--fetch" in error
    status, _, error = command(counted(lambda b, i: i), "--fetch", "nowhere")
    assert status == 1 and "'nowhere'" in error


def test_help_shows_what_the_example_prints():
    run = {"capture_output": True, "text": True, "timeout": 60, "cwd": ROOT}
    out = subprocess.run([command_line.BINARY, "explain", "--help"], **run).stdout
    made = subprocess.run(
        [command_line.BINARY, "explain", "examples/countdown.pbtxt"], **run
    ).stdout
    assert made and all("  " + line in out for line in made.splitlines())


def test_python_explains_what_signatures_need():
    words = treadle.Graph.from_file(ROOT / "examples" / "words")

    def told(**options):
        found = words.explain(**options)
        return {op.op for part in found.interpreted for op in part.nodes}

    assert "Mul" in told() and "RestoreV2" not in told()
    assert "RestoreV2" in told(all=True)
    assert "Mul" not in told(signature="lookup") and "LookupTableFindV2" in told(signature="lookup")
    with pytest.raises(treadle.NotFoundError, match="did you mean 'lookup'"):
        words.explain(signature="lokup")
    with pytest.raises(treadle.InvalidArgumentError, match="can't be combined with"):
        words.explain("y", signature="lookup")


def test_variables_of_several_ranks_are_taken_as_they_are():
    g = treadle.Builder()
    limit = g.placeholder("limit", "float32", [])
    state = g.variable("state", [[1.0, 2.0]])
    weights = g.variable("weights", [[0.5, 0.25], [0.125, 1.0]])
    total = g.variable("total", 0.0)
    with g.while_loop(i=0) as loop:
        loop.condition(total.read() < limit)
        state.assign(g.op("MatMul", [state.read(), weights.read()]))
        total.assign_add(1.0)
        loop.i += 1
    graph = g.build()
    assert not any(
        "can't be compiled" in part.why for part in graph.explain(loop.i.name).interpreted
    )
    session = treadle.Session(graph, tier="jit", statistics=True)
    session.run([], targets=["init"])
    session.run(loop.i.name, {"limit": 5.0})
    assert session.statistics().compiled_calls == 1


HANDED_ON = """tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %n, %cn = Placeholder name("n") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
  %v, %cv = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>} : () -> (RESOURCE)
  %w:2, %cw = While(%n, %v) name("while") {T = [i32, !tf_type.resource],
    body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = []}
    : (tensor<i32>, RESOURCE) -> (tensor<i32>, RESOURCE)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %v: RESOURCE {tfg.name = "v"})
    -> (tensor<i1> {tfg.name = "more"}) {
  %z, %c0 = Const name("z") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %g, %c1 = Greater(%i, %z) name("g") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%g) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %v: RESOURCE {tfg.name = "v"})
    -> (tensor<i32> {tfg.name = "i2"}, RESOURCE {tfg.name = "v2"}) {
  %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %h, %c1 = Identity(%v) name("h") {T = !tf_type.resource} : (RESOURCE) -> (RESOURCE)
  %r, %c2 = ReadVariableOp(%h) name("r") {dtype = f32} : (RESOURCE) -> (tensor<f32>)
  %e, %c3 = Square(%r) name("e") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a = AssignVariableOp(%h, %e) [%c2] name("a") {dtype = f32} : RESOURCE, tensor<f32>
  %s, %c4 = Sub(%i, %one) name("s") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%s, %v) [%a {tfg.name = "a"}] : tensor<i32>, RESOURCE
}
""".replace("RESOURCE", "tensor<!tf_type.resource>")


def test_the_dtype_of_a_variable_whose_handle_is_handed_on(command):
    status, said, _ = command(HANDED_ON)
    assert status == 0 and "dtype" not in said and "compiled by tiers auto and jit" in said
