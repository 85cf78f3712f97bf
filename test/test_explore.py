"""`treadle explore` and Graph.explore, as somebody uses them."""

import json
import pathlib
import subprocess
import sys

import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402
import model_texts  # noqa: E402
from loop_programs import Body, Program, less, variable  # noqa: E402
from test_loop_order import add_initializers  # noqa: E402

# An increment spelled as a read and a write, twice: without an order one of them may get lost.
TWO_INCREMENTS = """
node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "v" } } }
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "init" op: "AssignVariableOp" input: "v" input: "zero"
       attr { key: "dtype" value { type: DT_INT32 } } }
""" + "".join(
    f"""
node {{ name: "r{i}" op: "ReadVariableOp" input: "v" AFTER{i}
       attr {{ key: "dtype" value {{ type: DT_INT32 }} }} }}
node {{ name: "s{i}" op: "AddV2" input: "r{i}" input: "x"
       attr {{ key: "T" value {{ type: DT_INT32 }} }} }}
node {{ name: "w{i}" op: "AssignVariableOp" input: "v" input: "s{i}"
       attr {{ key: "dtype" value {{ type: DT_INT32 }} }} }}
"""
    for i in (1, 2)
)
TYPE = 'attr { key: "T" value { type: DT_INT32 } }'
RACING = TWO_INCREMENTS.replace("AFTER1", "").replace("AFTER2", "")
ORDERED = TWO_INCREMENTS.replace("AFTER1", "").replace("AFTER2", 'input: "^w1"')


def explore(text, **options):
    graph = treadle.Graph.from_bytes(text.encode())
    return graph.explore([], {"x:0": 5}, ["w1", "w2"], setup="init", **options)


def test_a_lost_update_is_found():
    found = explore(RACING)
    assert found.is_complete and not found.is_random and not found.is_ambiguous
    outcomes = {schedule.outcome for schedule in found.difference}
    assert outcomes == {"variable 'v': int32[] = 10", "variable 'v': int32[] = 5"}
    lost = next(s.firings for s in found.difference if s.outcome.endswith("5"))
    assert max(lost.index("r1"), lost.index("r2")) < min(lost.index("w1"), lost.index("w2"))


def test_a_run_that_initializes_anew_is_told(command):
    text = ORDERED.replace('op: "AssignVariableOp" input: "v" input: "s1"', "WRITE")
    text = text.replace("WRITE", 'op: "AssignVariableOp" input: "v" input: "s1" input: "^init"')
    (note,) = explore(text).notes
    assert note.startswith("the run itself runs 'init', which the setup ran too: ")
    assert "treadle: note: the run itself runs 'init'" in command(text, *REQUEST)[2]


def test_what_is_explored_without_being_asked_for_is_told(command):
    read = 'node { name: "out" op: "Identity" input: "zero" TYPE }'
    status, _, notes = command(read.replace("TYPE", TYPE) + RACING)
    assert status == 0 and notes == (
        "treadle: note: explored one run that fetches all of the graph's outputs: out:0; set the "
        "fetches and targets of one run with --fetch and --target\n"
    )


def test_an_edge_leaves_one_schedule():
    assert explore(ORDERED) == treadle.Exploration(1, True, False, False, ())


def test_the_limit_is_told():
    assert not explore(RACING, limit=1).is_complete


def test_errors_of_the_request():
    with pytest.raises(treadle.InvalidArgumentError, match="no node 'q'"):
        treadle.Graph.from_bytes(RACING.encode()).explore("q")
    with pytest.raises(treadle.InvalidArgumentError, match="'nowhere'"):
        treadle.Graph.from_bytes(RACING.encode()).explore("r1", setup="nowhere")
    with pytest.raises(
        treadle.InvalidArgumentError, match="there is nothing to run; name fetches or ta"
    ):
        treadle.Graph.from_bytes(RACING.encode()).explore(setup="init")


def test_loops_with_effects_of_function_bodies_keep_their_order(tmp_path):
    pytest.importorskip("numpy")
    # A functional loop whose body has no control edges: the order of its nodes counts.
    text = """
module {
  tfg.func @cond(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %i: tensor<i32> {tfg.name = "i"})
      -> (tensor<i1> {tfg.name = "more"}) {
    %n, %c = Const name("n") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
    %l, %c1 = Less(%i, %n) name("l") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    return(%l) : tensor<i1>
  }
  tfg.func @body(%v: tensor<!tf_type.resource> {tfg.name = "v"}, %i: tensor<i32> {tfg.name = "i"})
      -> (tensor<!tf_type.resource> {tfg.name = "v_out"}, tensor<i32> {tfg.name = "i_out"}) {
    %one, %c = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>}
        : () -> (tensor<i32>)
    %r, %c1 = ReadVariableOp(%v) name("r") {dtype = i32}
        : (tensor<!tf_type.resource>) -> (tensor<i32>)
    %s, %c2 = AddV2(%r, %one) name("s") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    %c3 = AssignVariableOp(%v, %s) name("w") {dtype = i32}
        : tensor<!tf_type.resource>, tensor<i32>
    %next, %c4 = AddV2(%i, %one) name("next") {T = i32}
        : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    return(%v, %next) : tensor<!tf_type.resource>, tensor<i32>
  }
  tfg.graph #tf_type.version<producer = 1200, min_consumer = 12> {
    %v, %c = VarHandleOp name("v") {container = "", dtype = i32, shape = #tf_type.shape<>,
        shared_name = "v"} : () -> (tensor<!tf_type.resource>)
    %zero, %c1 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>}
        : () -> (tensor<i32>)
    %c2 = AssignVariableOp(%v, %zero) name("init") {dtype = i32}
        : tensor<!tf_type.resource>, tensor<i32>
    %w:2, %c3 = While(%v, %zero) name("while") {T = [!tf_type.resource, i32],
        body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [],
        parallel_iterations = 10 : i64} : (tensor<!tf_type.resource>, tensor<i32>)
        -> (tensor<!tf_type.resource>, tensor<i32>)
  }
}
"""
    path = tmp_path / "loop.mlir"
    path.write_text(text)
    graph = treadle.Graph.from_file(path)
    found = graph.explore("while:1", setup="init")
    assert found.is_complete and not found.difference and found.schedules == 1


@pytest.fixture
def command(tmp_path):
    return command_line.on_text("explore", tmp_path)


REQUEST = ("--target", "w1,w2", "--setup", "init", "--input", "x=5")


def test_the_command_exits_1_where_schedules_differ(command):
    status, out, _ = command(RACING, *REQUEST)
    assert status == 1
    assert "the results differ:" in out and "variable 'v': int32[] = 10" in out
    assert command(ORDERED, *REQUEST) == (0, "1 schedule explored\nall results are equal\n", "")


def test_json(command):
    status, out, _ = command(RACING, *REQUEST, "--json")
    found = json.loads(out)
    assert status == 1 and found["complete"] and len(found["difference"]) == 2
    assert {"firings", "outcome"} == set(found["difference"][0])


DIVISION = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
node { name: "y" op: "FloorDiv" input: "x" input: "x" attr { key: "T" value { type: DT_INT32 } } }
"""


def test_a_run_that_fails_says_why(command):
    status, _, error = command(DIVISION, "--fetch", "y", "--input", "x=0")
    assert status == 1 and "node 'y' (FloorDiv): integer division by zero" in error
    assert command(DIVISION, "--fetch", "y", "--input", "x=2")[0] == 0


def test_a_schedule_that_fails_says_why():
    found = treadle.Graph.from_bytes(RACING.encode()).explore("r1", {"x:0": 5}, "init")
    outcomes = sorted(schedule.outcome for schedule in found.difference)
    assert outcomes[1].startswith("the run fails: node 'r1' (ReadVariableOp): ")
    assert "'v'" in outcomes[1]


def test_a_wrong_option_is_named(command):
    status, _, error = command(ORDERED, "--setpu", "init")
    assert status == 2 and "--setpu" in error and "--setup" in error


def run_on(model, *options):
    line = [command_line.BINARY, "explore", model, *options]
    done = subprocess.run(line, capture_output=True, timeout=60, text=True)
    return done.returncode, done.stdout, done.stderr


ADD = 'node { name: "add" op: "AssignAddVariableOp" input: "v" input: "x" TYPES }'
AFTER = (
    'node { name: "r" op: "Identity" input: "read" input: "^add" '
    'attr { key: "T" value { type: DT_INT32 } } }'
)


def test_each_schedule_of_a_model_begins_as_it_is_loaded(tmp_path):
    model = model_texts.variable_model(ADD + AFTER, {"r": "r:0"}, tmp_path / "model")
    found = treadle.Graph.from_file(model).explore("r:0", {"x:0": 5})
    assert found.schedules == 2 and {s.outcome for s in found.difference} == {
        "r:0: int32[] = 10\nvariable 'v': int32[] = 15",
        "r:0: int32[] = 15\nvariable 'v': int32[] = 15",
    }
    status, out, _ = run_on(model, "--input", "x=5")
    assert status == 1 and "r:0: int32[] = 10" in out and "r:0: int32[] = 15" in out
    assert run_on(model, "--fetch", "read")[0] == 0


def counting(effect, step, limit=3):
    """A loop that counts in steps, of 0 without end, and may add to a variable."""
    program, main = Program(), Body()

    def body(b, i, v):
        if effect:
            b.write("AssignAddVariableOp", v, i)
        return b.add(i, b.const(step)), v

    init = [main.const(0), variable(main, "v")]
    cond = lambda b, i, v: less(b, i, b.const(limit))  # noqa: E731
    program.loop(main, "while", ["i32", "handle"], init, cond, body)
    return treadle.Graph.from_bytes(add_initializers(program.graph(main), ["v"]).encode())


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (True, "runs nodes with effects more than 5000 times; explore a smaller part of it"),
        (False, "takes more than 1000000 steps; explore a smaller part of it"),
    ],
)
def test_a_run_without_end_is_an_error(effect, message):
    with pytest.raises(treadle.ResourceExhaustedError, match=message):
        counting(effect, step=0).explore("while:0", setup="v/init")


def test_a_long_loop_is_explored():
    found = counting(True, step=1, limit=1000).explore("while:0", setup="v/init")
    assert found.schedules == 1 and found.is_complete
