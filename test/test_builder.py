"""treadle.Builder: programs give what Python and TensorFlow say, and mistakes are named at once.

TensorFlow is asked in the Python that TREADLE_TENSORFLOW_PYTHON names, or in this one.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import treadle

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from builder_programs import PROGRAMS  # noqa: E402

PYTHON = os.environ.get("TREADLE_TENSORFLOW_PYTHON") or sys.executable


def values_of(graph, fetches, feeds=None, **options):
    session = treadle.Session(graph, **options)
    if treadle.Builder.init in graph:
        session.run([], targets=[treadle.Builder.init])
    return session.run(fetches, feeds or {})


def built(name):
    """A program's graph, what to fetch, what to feed, and what comes of it."""
    write, feeds, expected = PROGRAMS[name]
    g = treadle.Builder()
    fetches = [value.name for value in write(g)]
    return g.build(), fetches, {f"{k}:0": v for k, v in feeds.items()}, expected


@pytest.mark.parametrize("overlap", ["off", "on"])
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_python_gives(name, threads, overlap):
    graph, fetches, feeds, expected = built(name)
    values = values_of(graph, fetches, feeds, threads=threads, loop_overlap=overlap)
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right_and_stays_so_in_all_forms(name, tmp_path):
    graph, fetches, feeds, expected = built(name)
    ends = [f.split(":")[0] for f in fetches]
    assert [p for p in graph.check(ends) if p.kind != "note"] == []
    graph.to_file(tmp_path / "g.pb")
    keep = "fetches=" + ",".join(fetches + [treadle.Builder.init] * ("init" in graph))
    for changed in (
        treadle.Graph.from_file(tmp_path / "g.pb"),
        graph.run_passes("tfg-deps-to-chains{loop-overlap=on}"),
        graph.run_passes(f"tfg-default{{{keep}}}"),
        graph.run_passes("tfg-functional-to-region"),
    ):
        for value, wanted in zip(values_of(changed, fetches, feeds), expected, strict=True):
            np.testing.assert_array_equal(value, wanted)


def test_tensorflow_gives_the_same(tmp_path):
    """For the programs as tf.functions, and for the graphs that were built."""
    listed = []
    for name in PROGRAMS:
        graph, fetches, feeds, _ = built(name)
        graph.to_file(tmp_path / f"{name}.pb")
        feeds = {k: np.asarray(v).tolist() for k, v in feeds.items()}
        listed.append([name, str(tmp_path / f"{name}.pb"), fetches, feeds])
    (tmp_path / "graphs.json").write_text(json.dumps(listed))
    script = HERE / "builder_by_tensorflow.py"
    done = subprocess.run(
        [PYTHON, script, tmp_path / "out.npz", tmp_path / "graphs.json"],
        capture_output=True,
        text=True,
    )
    if "No module named 'tensorflow'" in done.stderr:
        pytest.skip(f"{PYTHON} has no TensorFlow; TREADLE_TENSORFLOW_PYTHON can name one that has")
    assert done.returncode == 0, done.stderr[-3000:]
    found = np.load(tmp_path / "out.npz")
    for name in PROGRAMS:
        graph, fetches, feeds, _ = built(name)
        for i, value in enumerate(values_of(graph, fetches, feeds)):
            np.testing.assert_array_equal(value, found[f"{name}/own/{i}"], name)
            np.testing.assert_array_equal(value, found[f"{name}/graph/{i}"], name)


# --- the order of effects -------------------------------------------------------------


def test_reads_wait_for_the_writes_before_them():
    """And writes for the reads, however slow either is: 0 0 1 1 2 2 3 3."""
    treadle.register_op("BuilderSlow", lambda x: time.sleep(0.002) or x, effects="none")
    g = treadle.Builder()
    ticker = g.variable("ticker", 0)
    ticker.assign(0)
    items = g.op("TensorListReserve", [[], 8], element_dtype="int32")
    with g.while_loop(i=0, items=items, parallel_iterations=10) as loop:
        loop.condition(loop.i < 4)
        for place in (0, 1):
            read = ticker.read()
            loop.items = g.op("TensorListSetItem", [loop.items, loop.i * 2 + place, read])
        slow = g.op("BuilderSlow", [g.constant(1)], outputs=["int32"])
        ticker.assign_add(g.op("EnsureShape", [slow], shape=()))
        loop.i += 1
    stacked = g.op("TensorListStack", [loop.items, np.zeros(0, "int32")], element_dtype="int32")
    graph = g.build()
    for overlap in ("off", "auto", "on"):
        for _ in range(5):
            value = values_of(graph, stacked.name, threads=4, loop_overlap=overlap)
            assert value.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("overlap", ["off", "on"])
def test_effects_of_the_condition_and_of_the_body_alternate(overlap):
    said = []
    treadle.register_op(
        "BuilderSay", lambda text: said.append(text.item()) or text, effects="world"
    )
    g = treadle.Builder()
    with g.while_loop(i=0, parallel_iterations=10) as loop:
        g.op("BuilderSay", ["A"], outputs=["string"])
        loop.condition(loop.i < 3)
        g.op("BuilderSay", ["B"], outputs=["string"])
        loop.i += 1
    for _ in range(10):
        said.clear()
        values_of(g.build(), loop.i.name, threads=4, loop_overlap=overlap)
        assert "".join(t.decode() if isinstance(t, bytes) else t for t in said) == "ABABABA"


@pytest.mark.parametrize("modify", range(8))
@pytest.mark.parametrize("overlap", ["off", "on"])
def test_resources_before_in_and_after_a_loop(modify, overlap):
    before, within, after = (bool(modify & bit) for bit in (1, 2, 4))
    g = treadle.Builder()
    ticker = g.variable("ticker", 123)
    ticker.assign(0)
    if before:
        ticker.assign_add(1)
    first = ticker.read()
    with g.while_loop(i=0, most=-1) as loop:
        loop.condition(loop.i < 3)
        if within:
            ticker.assign_add(1)
        loop.most = g.op("Maximum", [loop.most, ticker])
        loop.i += 1
    last = ticker.read()
    if after:
        ticker.assign_add(1)
    end = ticker.read()
    names = [v.name for v in (first, loop.most, last, end)]
    values = values_of(g.build(), names, loop_overlap=overlap, threads=4)
    in_loop = before + 3 * within
    assert [int(v) for v in values] == [before, in_loop, in_loop, in_loop + after]


def test_all_schedules_give_the_same():
    for name in ("condition_on_a_mutated_resource", "no_iteration", "effects_in_nested_branches"):
        graph, fetches, feeds, _ = built(name)
        found = graph.explore(fetches, feeds, setup=[treadle.Builder.init])
        assert found.is_complete and not found.difference and not found.is_ambiguous


def test_initial_values_are_made_by_init_alone():
    g = treadle.Builder()
    v = g.variable("v", lambda: g.op("Add", [g.constant(1.0), 2.0]))
    w = g.variable("w", lambda: v * 2.0)
    v.assign_add(10.0)
    total = v + w
    session = treadle.Session(g.build())
    session.run([], targets=["init"])
    assert [session.run(total.name) for _ in range(2)] == [19.0, 29.0]
    session.run([], targets=["init"])
    assert session.run(total.name) == 19.0


def test_effects_and_groups_are_targets():
    g = treadle.Builder()
    v, w = g.variable("v", 0), g.variable("w", 0)
    both = g.group([v.assign_add(1), w.assign_add(1)], name="both")
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < 3)
        v.assign_add(1)
        loop.i += 1
    step = g.effects(name="step")
    session = treadle.Session(g.build())
    session.run([], targets=["init"])
    session.run([], targets=[both.name])
    assert {n: int(x) for n, x in session.variables().items()} == {"v": 1, "w": 1}
    session.run([], targets=[step.name])
    assert {n: int(x) for n, x in session.variables().items()} == {"v": 5, "w": 2}


def test_control_dependencies_hold_for_what_is_in_bodies():
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [])
    check = g.op("Assert", [x > 0.0, [x]])
    with g.control_dependencies([check]):
        y = x + 1.0
        with g.while_loop(i=0, z=x) as loop:
            loop.condition(loop.i < 2)
            loop.z *= 2.0
            loop.i += 1
    session = treadle.Session(g.build())
    assert session.run([y.name, loop.z.name], {"x:0": 3.0}) == [4.0, 12.0]
    for name in (y.name, loop.z.name):
        with pytest.raises(treadle.InvalidArgumentError, match="assertion failed"):
            session.run(name, {"x:0": -1.0})


def test_a_scope_prefixes_names():
    g = treadle.Builder()
    with g.scope("encoder"), g.scope("layer"):
        w = g.variable("w", 0.0)
        y = g.op("Neg", [w], name="y")
    assert (w.name, y.name) == ("encoder/layer/w", "encoder/layer/y:0")


def test_the_builder_goes_on_after_build():
    g = treadle.Builder()
    x = g.constant(1.0, name="x")
    first = g.build()
    g.op("Neg", [x], name="y")
    assert "y" not in first and "y" in g.build()


# --- gradients ----------------------------------------------------------------------------------


def test_gradients_go_through_loops_and_branches():
    g = treadle.Builder()
    x = g.placeholder("x", "float64", [])
    w = g.variable("w", np.float64(3.0))
    with g.while_loop(i=0, y=x) as loop:
        loop.condition(loop.i < 3)
        with g.cond(loop.i == 1) as c:
            with c.true():
                c.y = loop.y * w
            with c.false():
                c.y = loop.y**2.0
        loop.y = c.y
        loop.i += 1
    dx, dw, none = g.gradients(loop.y, [x, w, g.constant(np.float64(1.0))])
    assert none is None
    values = values_of(g.build(), [loop.y.name, dx.name, dw.name], {"x:0": 2.0})
    np.testing.assert_allclose(values, [9 * 16.0, 4 * 9 * 8.0, 2 * 3 * 16.0])


def test_a_loop_can_train():
    g = treadle.Builder()
    w = g.variable("w", 5.0)
    with g.while_loop(step=0) as training:
        training.condition(training.step < 50)
        w.assign_sub(0.1 * g.gradients((w - 2.0) ** 2.0, w))
        training.step += 1
    trained = w.read()
    assert abs(values_of(g.build(), trained.name) - 2.0) < 1e-3


def test_a_gradient_that_is_not_there_leaves_the_graph():
    g = treadle.Builder()
    x = g.constant([1.0, 2.0])
    y = g.op("Betainc", [x, x, x])
    with pytest.raises(treadle.UnimplementedError, match="Betainc"):
        g.gradients(y, x)
    assert values_of(g.build(), y.name).shape == (2,)


# --- mistakes, each named at the line that makes it ---------------------------------------------


def loop_of(g, **variables):
    return g.while_loop(name="loop", **variables)


def wrong_dtype_of_a_loop_variable(g):
    with loop_of(g, i=0) as loop:
        loop.condition(loop.i < 3)
        loop.i = g.cast(loop.i, "float32")


def wrong_number_for_a_loop_variable(g):
    with loop_of(g, i=0) as loop:
        loop.condition(loop.i < 3)
        loop.i = 0.5


def shape_of_a_loop_variable_changes(g):
    with loop_of(g, x=[1.0]) as loop:
        loop.condition(True)
        loop.x = g.op("ConcatV2", [[loop.x, loop.x], 0])


def unknown_loop_variable(g):
    with loop_of(g, i=0, n=5) as loop:
        loop.condition(loop.j < 3)


def loop_variable_set_in_the_condition(g):
    with loop_of(g, i=0) as loop:
        loop.i = loop.i + 1
        loop.condition(loop.i < 3)


def loop_without_a_condition(g):
    with loop_of(g, i=0):
        g.variable("v", 0).assign_add(1)


def two_conditions(g):
    with loop_of(g, i=0) as loop:
        loop.condition(loop.i < 3)
        loop.condition(loop.i < 4)


def condition_that_is_no_bool(g):
    with loop_of(g, i=0) as loop:
        loop.condition(loop.i)


def condition_that_is_no_scalar(g):
    with loop_of(g, x=[1.0, 2.0]) as loop:
        loop.condition(loop.x < 3.0)


def value_of_the_condition_in_the_body(g):
    with loop_of(g, i=0) as loop:
        double = loop.i * 2
        loop.condition(double < 3)
        loop.i = double


def value_of_a_body_outside(g):
    with loop_of(g, i=0) as loop:
        loop.condition(loop.i < 3)
        double = loop.i * 2
        loop.i += 1
    double + 1


def value_of_a_branch_outside(g):
    with g.cond(True, name="choice") as c, c.true():
        y = g.constant(1) + 1
    y + 1


def loop_variable_set_in_a_branch(g):
    with loop_of(g, i=0) as loop:
        loop.condition(loop.i < 3)
        with g.cond(loop.i < 1) as c, c.true():
            loop.i += 1


def branches_of_two_dtypes(g):
    with g.cond(True, name="choice") as c:
        with c.true():
            c.y = 1
        with c.false():
            c.y = g.constant(1.0)


def result_that_one_branch_lacks(g):
    with g.cond(True, name="choice") as c:
        with c.true():
            c.y = 1
        with c.false():
            pass


def result_that_the_first_branch_lacks(g):
    with g.cond(True, name="choice") as c:
        with c.true():
            pass
        with c.false():
            c.y = 1


def result_without_a_false_branch(g):
    with g.cond(True, name="choice") as c, c.true():
        c.y = 1


def false_branch_first(g):
    with g.cond(True, name="choice") as c, c.false():
        pass


def case_left_out(g):
    with g.switch_case(0, name="choice") as s:
        with s.case(0):
            pass
        with s.case(2):
            pass


def predicate_that_is_no_bool(g):
    g.cond(1.5 * g.constant(1.0), name="choice")


def variable_read_before_it_has_a_value(g):
    g.variable("v", dtype="float32", shape=[]).read()


def value_as_the_initial_value(g):
    g.variable("v", g.placeholder("x", "float32", []))


def assignment_of_another_dtype(g):
    g.variable("v", 0).assign(g.constant(1.5))


def assignment_of_another_shape(g):
    g.variable("v", [0.0, 0.0]).assign([1.0, 2.0, 3.0])


def inputs_of_two_dtypes(g):
    g.constant(1) + g.constant(1.0)


def shapes_that_do_not_fit(g):
    g.constant([[1.0, 2.0]]) @ g.constant([[1.0, 2.0]])


def unknown_op(g):
    g.op("Addd", [g.constant(1), 1])


def unknown_attribute(g):
    g.op("Sum", [g.constant([1]), 0], keepdims=True)


def attribute_left_out(g):
    g.op("Cast", [g.constant(1)])


def number_of_inputs(g):
    g.op("AddV2", [g.constant(1)])


def op_of_version_1(g):
    g.op("Switch", [g.constant(1), True])


def name_that_is_taken(g):
    g.op("Neg", [g.constant(1)], name="x")
    g.op("Neg", [g.constant(1)], name="x")


def two_builders(g):
    g.constant(1) + treadle.Builder().constant(2, name="other")


def placeholder_in_a_body(g):
    with g.cond(True, name="choice") as c, c.true():
        g.placeholder("x")


def function_of_another_dtype(g):
    def f(x):
        return x

    g.function(x="float32")(f)(g.constant(1))


def function_that_calls_itself(g):
    @g.function
    def f(x):
        return f(x)

    f(1)


def build_in_a_body(g):
    with loop_of(g, i=0):
        g.build()


def operation_as_a_value(g):
    g.variable("v", 0).assign_add(1)
    g.op("Neg", [g.op("NoOp", name="nothing")])


MISTAKES = {
    wrong_dtype_of_a_loop_variable: "loop 'loop': variable 'i' is int32, but is set to 'Cast:0', "
    "float32[]; expected the same dtype",
    wrong_number_for_a_loop_variable: "the value",
    shape_of_a_loop_variable_changes: "loop 'loop': variable 'x' is float32[1], but is set to "
    "'ConcatV2:0', float32[2]; declare a shape that fits all its values, such as [?]",
    unknown_loop_variable: "loop 'loop' has no variable 'j'; it has i, n",
    loop_variable_set_in_the_condition: "loop 'loop': variable 'i' is set before the loop's "
    "condition; expected in its body, after its condition",
    loop_without_a_condition: "loop 'loop' ends without a condition",
    two_conditions: "loop 'loop' has its condition already",
    condition_that_is_no_bool: "loop 'loop': its condition is 'i', int32[]; expected a scalar bool",
    condition_that_is_no_scalar: "loop 'loop': its condition is 'Less:0', bool[2]; expected a "
    "scalar bool",
    value_of_the_condition_in_the_body: "loop 'loop': variable 'i' is 'Mul:0' of the condition of "
    "loop 'loop', and is used in the body of loop 'loop'; the body must recompute the values of "
    "the condition that it uses",
    value_of_a_body_outside: "node 'AddV2' (AddV2): input 0 is 'Mul:0' of the body of loop 'loop', "
    "and is used in the graph; a value leaves a loop only as one of its variables",
    value_of_a_branch_outside: "node 'AddV2' (AddV2): input 0 is 'AddV2:0' of the true branch of "
    "conditional 'choice', and is used in the graph; a value leaves a branch only as one of its "
    "results",
    loop_variable_set_in_a_branch: "loop 'loop': variable 'i' is set while the true branch of "
    "conditional 'cond' is open; end that first",
    branches_of_two_dtypes: "conditional 'choice': 'y' is int32 in the true branch of conditional "
    "'choice', but 'Const:0', float32[], in the false branch of conditional 'choice'; expected "
    "one dtype",
    result_that_one_branch_lacks: "the false branch of conditional 'choice' has no result 'y', but "
    "the true branch of conditional 'choice' does; expected both branches to set the same results",
    result_that_the_first_branch_lacks: "the false branch of conditional 'choice' sets 'y', but "
    "the true branch of conditional 'choice' doesn't; expected both branches to set the same "
    "results",
    result_without_a_false_branch: "the true branch of conditional 'choice' sets 'y', but there "
    "is no false branch; expected one that sets it",
    false_branch_first: "the branch for false was added, but true is next",
    case_left_out: "the branch for 2 was added, but 1 is next",
    predicate_that_is_no_bool: "conditional 'choice': its predicate is 'Mul:0', float32[]; "
    "expected a scalar bool",
    variable_read_before_it_has_a_value: "variable 'v' is read, but it has no initial value, and "
    "nothing before assigns one; expected an initial value",
    value_as_the_initial_value: "variable 'v': its initial value is a value of the graph; expected "
    "numbers, or a function that builds it from nodes that run with 'init'",
    assignment_of_another_dtype: "variable 'v' is int32[], but the value assigned to it, "
    "'Const:0', is float32[]",
    assignment_of_another_shape: "variable 'v' is float32[2], but the value assigned to it, "
    "'v/Assign_1/value:0', is float32[3]",
    inputs_of_two_dtypes: "node 'AddV2' (AddV2): input 1 ('y') is 'Const_1:0' of float32, expected "
    "int32",
    shapes_that_do_not_fit: "node 'MatMul' (MatMul): ",
    unknown_op: "there is no op 'Addd'; for a custom op, give the dtypes of its outputs",
    unknown_attribute: "node 'Sum' (Sum): there is no attribute 'keepdims'; expected one of ",
    attribute_left_out: "node 'Cast' (Cast): attribute 'DstT' (type) is missing and can't be "
    "inferred from the inputs",
    number_of_inputs: "node 'AddV2' (AddV2): there are 1 inputs, expected 2",
    op_of_version_1: "'Switch' is an op of version 1's control flow, whose effects the builder "
    "can't order; use a loop or a conditional",
    name_that_is_taken: "there is a node 'x' in the graph already; expected another name, or a "
    "scope of its own",
    two_builders: "node 'AddV2' (AddV2): input 1 is 'other:0', a value of another builder",
    placeholder_in_a_body: "placeholder 'x' is created in the true branch of conditional 'choice'; "
    "expected in the graph itself",
    function_of_another_dtype: "function 'f': argument 'x' is float32[], but the value passed is "
    "'Const:0', int32[]",
    function_that_calls_itself: "function 'f' calls itself",
    build_in_a_body: "the graph is built while the condition of loop 'loop' is open; end that "
    "first",
    operation_as_a_value: "node 'Neg' (Neg): input 0: node 'nothing' has 0 outputs; expected a "
    "value",
}


# Only the beginning of these messages is checked; other tests check the rest.
BEGINNINGS = {wrong_number_for_a_loop_variable, shapes_that_do_not_fit, unknown_attribute}
# These are made when a function is whole.
WITH_FUNCTIONS = {function_of_another_dtype, value_of_a_body_outside, value_of_a_branch_outside}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_named(mistake):
    g = treadle.Builder()
    with pytest.raises((treadle.Error, TypeError)) as raised:
        mistake(g)
    message, expected = str(raised.value), MISTAKES[mistake]
    assert message.startswith(expected) if mistake in BEGINNINGS else message == expected
    # The abandoned nodes are gone, and the builder can still be used.
    y = g.constant(2, name="y")
    graph = g.build()
    assert not graph.functions or mistake in WITH_FUNCTIONS
    assert treadle.Session(graph).run(y.name) == 2


def test_python_cannot_decide_by_a_value():
    g = treadle.Builder()
    x = g.constant(1)
    for use in (lambda: x and 1, lambda: bool(x < 2), lambda: list(x), lambda: x["a"]):
        with pytest.raises(TypeError):
            use()
