"""`treadle check`, as somebody types it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402
import model_texts  # noqa: E402

ROOT = pathlib.Path(__file__).parents[1]

RACE = """
node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "v" } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "init" op: "AssignVariableOp" input: "v" input: "c"
       attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "read" op: "ReadVariableOp" input: "v" %s
       attr { key: "dtype" value { type: DT_FLOAT } } }
"""


@pytest.fixture
def check(tmp_path):
    return command_line.on_text("check", tmp_path)


def test_races_are_told_and_fail(check):
    assert check(RACE % "", "--target", "init,read") == (
        1,
        "race: nodes 'init' (AssignVariableOp) and 'read' (ReadVariableOp): one writes "
        "variable 'v', the other reads it, and no path orders them; add a control edge\n"
        "0 errors, 1 race\n",
        "",
    )
    assert check(RACE % 'input: "^init"') == (0, "0 errors, 0 races\n", "")


def test_races_of_one_run(check):
    assert check(RACE % "", "--fetch", "read:0")[0] == 0
    assert check(RACE % "", "--fetch", "read:0", "--target", "init")[0] == 1
    status, _, error = check(RACE % "", "--target", "int")
    assert status == 1 and "'int', which isn't in the graph (did you mean 'init'?)" in error


def test_races_are_fixed_by_edges(check, tmp_path):
    fixed = tmp_path / "fixed.pbtxt"
    status, out, notes = check(RACE % "", "--target", "init,read", "--fix", fixed)
    assert (status, out) == (0, "0 errors, 0 races\n")
    assert notes == (
        "treadle: note: added an edge: 'read' waits for 'init'; runs of 'read' now run both\n"
    )
    assert "^init" in treadle.Graph.from_file(fixed).node("read").inputs
    assert check(fixed.read_text(), "--target", "init,read")[0] == 0


INT = 'attr { key: "KEY" value { type: DT_INT32 } }'


def const(name, value):
    tensor = f"tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {value} }}"
    return (
        f'node {{ name: "{name}" op: "Const" {INT.replace("KEY", "dtype")}\n'
        f'       attr {{ key: "value" value {{ {tensor} }} }} }}\n'
    )


# As TensorFlow 1 writes it: an initializer and steps, each a run of its own.
STEPS = (
    """
node { name: "v" op: "VariableV2" DTYPE attr { key: "shape" value { shape { } } } }
node { name: "v/Assign" op: "Assign" input: "v" input: "zero" T }
node { name: "init" op: "NoOp" input: "^v/Assign" }
node { name: "step" op: "AssignAdd" input: "v" input: "one" T }
node { name: "reset" op: "Assign" input: "v" input: "zero" T }
""".replace("DTYPE", INT.replace("KEY", "dtype")).replace(" T ", f" {INT.replace('KEY', 'T')} ")
    + const("zero", 0)
    + const("one", 1)
)


def test_runs_of_their_own_do_not_race(check):
    status, out, error = check(STEPS)
    assert (status, error, out.splitlines()[-1]) == (0, "", "0 errors, 0 races")
    assert out.startswith(
        "note: each node without users was checked as a run of its own: 'init', 'step', 'reset'; "
        "in a run that requests several of them, 3 more pairs of nodes would race: 'v/Assign' "
        "(Assign)"
    )
    (note,) = treadle.Graph.from_bytes(STEPS.encode()).check()
    assert note.kind == "note" and "name the nodes that one run requests" in note.message
    assert [p.nodes for p in treadle.Graph.from_bytes(STEPS.encode()).check(["step", "reset"])] == [
        ("step", "reset")
    ]


def test_a_fix_does_not_change_what_runs_give(check, tmp_path):
    fixed = tmp_path / "fixed.pbtxt"
    assert check(STEPS, "--fix", fixed)[0] == 0
    session = treadle.Session(fixed)
    session.run([], targets="init")
    assert [int(session.run("step")) for _ in range(3)] == [1, 2, 3]


def test_a_race_within_what_one_node_needs_is_told(check):
    racing = RACE % "" + 'node { name: "both" op: "NoOp" input: "^init" input: "^read" }'
    assert check(racing)[1].endswith("0 errors, 1 race\n")


def test_a_fix_adds_nothing_to_another_run(check, tmp_path):
    # 'value' reads without initializing; 'both' would like an order.
    text = RACE % "" + 'node { name: "both" op: "NoOp" input: "^init" input: "^read" }'
    text += 'node { name: "value" op: "Identity" input: "read" T }'
    text = text.replace(" T }", ' attr { key: "T" value { type: DT_FLOAT } } }')
    fixed = tmp_path / "fixed.pbtxt"
    status, out, notes = check(text, "--fix", fixed)
    assert (status, out.splitlines()[-1]) == (1, "0 errors, 1 race")
    assert notes == (
        "treadle: note: no edge between 'init' and 'read': 'value' needs 'read' only, and would "
        "then run both\n"
    )
    assert "^init" not in treadle.Graph.from_file(fixed)["read"].inputs


def test_a_loop_that_nothing_leaves_is_one_run(check):
    types = INT.replace("KEY", "T")
    text = STEPS + const("on", 1).replace("int_val: 1", "bool_val: true").replace("INT32", "BOOL")
    frame = 'attr { key: "frame_name" value { s: "loop" } }'
    text += f"""
node {{ name: "enter" op: "Enter" input: "zero" {types} {frame} }}
node {{ name: "on_in" op: "Enter" input: "on" {types.replace("INT32", "BOOL")} {frame}
       attr {{ key: "is_constant" value {{ b: true }} }} }}
node {{ name: "v_in" op: "RefEnter" input: "v" {types} {frame}
       attr {{ key: "is_constant" value {{ b: true }} }} }}
node {{ name: "i" op: "Merge" input: "enter" input: "next" {types}
       attr {{ key: "N" value {{ i: 2 }} }} }}
node {{ name: "more" op: "LoopCond" input: "on_in" }}
node {{ name: "switch" op: "Switch" input: "i" input: "more" {types} }}
node {{ name: "add" op: "AssignAdd" input: "v_in" input: "switch:1" {types} }}
node {{ name: "sub" op: "AssignSub" input: "v_in" input: "switch:1" {types} }}
node {{ name: "next" op: "NextIteration" input: "switch:1" input: "^add" input: "^sub" {types} }}
"""
    assert "race: nodes 'add' (AssignAdd) and 'sub' (AssignSub)" in check(text)[1]


def test_a_file_that_cannot_be_written_is_told(check, tmp_path):
    status, _, error = check(RACE % "", "--fix", tmp_path / "no" / "fixed.pb")
    assert status == 1 and "fixed.pb" in error


def test_malformed_attributes_are_told(check):
    text = RACE.replace("shape { }", "shape { dim { size: 2 } }") % 'input: "^init"'
    text += 'node { name: "n" op: "Neg" input: "c" attr { key: "T" value { s: "float" } } }'
    status, out, error = check(text)
    assert status == 1 and "'T'" in out + error and "node 'n'" in out + error


def test_unknown_ops_are_notes(check):
    status, out, _ = check('node { name: "n" op: "Mystery" }')
    assert (status, out.splitlines()[-1]) == (0, "0 errors, 0 races")
    assert out.startswith("note: node 'n': op 'Mystery' is neither known nor a function")


def test_json(check):
    status, out, _ = check(RACE % "", "--json", "--target", "init,read")
    (race,) = json.loads(out)
    assert status == 1 and race["kind"] == "race" and race["nodes"] == ["init", "read"]


def test_the_example_is_clean():
    example = ROOT / "examples" / "countdown.pbtxt"
    done = subprocess.run(
        [command_line.BINARY, "check", example], capture_output=True, timeout=60, text=True
    )
    assert (done.returncode, done.stdout) == (0, "0 errors, 0 races\n")


ADDITION = 'node { name: "add" op: "AssignAddVariableOp" input: "v" input: "x" TYPES %s }'
RESULT = (
    'node { name: "r" op: "Identity" input: "read" input: "^add" '
    'attr { key: "T" value { type: DT_INT32 } } }'
)


def problems(extra, folder):
    model = model_texts.variable_model(extra, {"r": "r:0"}, folder)
    return [(p.kind, p.nodes) for p in treadle.Graph.from_file(model).check()]


def test_what_a_models_callers_never_run_together_does_not_race(tmp_path):
    # The initializer writes what a signature reads.
    ordered = ADDITION % 'input: "^read"' + RESULT
    assert problems(ordered, tmp_path / "ordered") == []


def test_a_race_within_a_signature_is_told(tmp_path):
    racing = ADDITION % "" + RESULT
    assert problems(racing, tmp_path / "racing") == [("race", ("read", "add"))]


def test_a_signature_of_what_is_not_there_is_told(tmp_path):
    assert problems("", tmp_path / "lacking") == [("error", ())]


MALFORMED = """
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "a" op: "Neg" input: "nowhere" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "b" op: "Neg" input: "x:3" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "c" op: "Neg" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "uses_c" op: "Neg" input: "c:0" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "x" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    library { function { signature { name: "F" input_arg { name: "i" type: DT_FLOAT } }
      node_def { name: "n" op: "Neg" input: "i:7" attr { key: "T" value { type: DT_FLOAT } } } } }
"""


def test_all_malformed_nodes_are_reported(check):
    status, out, err = check(MALFORMED)
    lines = err.splitlines()
    assert (status, out) == (1, "") and len(lines) == 5
    assert all(line.startswith("treadle: InvalidArgumentError: ") for line in lines)
    for name, line in zip(
        ("'b'", "'c'", "'x'", "'a'", "function 'F': node 'n'"), lines, strict=True
    ):
        assert name in line
    status, out, err = check(MALFORMED, "--limit", "2")
    assert status == 1 and len(err.splitlines()) == 2


PLACEHOLDER = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }'
LIBRARY = """
library { function { signature { name: "f" input_arg { name: "x" type: DT_INT32 }
    output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "c" op: "Cast" input: "x" attr { key: "SrcT" value { type: DT_INT32 } }
    attr { key: "DstT" value { type: DT_FLOAT } } }
  ret { key: "y" value: "c:y:0" } } }
"""
IF = """
node { name: "w" op: "If" input: "x" input: "x" attr { key: "Tcond" value { type: DT_INT32 } }
  attr { key: "Tin" value { list { type: DT_INT32 } } }
  attr { key: "Tout" value { list { type: %s } } }
  attr { key: "then_branch" value { func { name: "f" } } }
  attr { key: "else_branch" value { func { name: "%s" } } } }
"""
WHILE = """
node { name: "w" op: "While" input: "x" attr { key: "T" value { list { type: DT_INT32 } } }
  attr { key: "cond" value { func { name: "g" } } }
  attr { key: "body" value { func { name: "g" } } } }
"""
ENTER = """
node { name: "e" op: "Enter" input: "x" attr { key: "T" value { type: DT_INT32 } }
  attr { key: "frame_name" value { s: "f" } }
  attr { key: "parallel_iterations" value { i: %d } } }
"""
EXIT = 'node { name: "o" op: "Exit" input: "%s" attr { key: "T" value { type: DT_INT32 } } }'
MIXED = (
    'node { name: "z" op: "Neg" input: "x" input: "^e" attr { key: "T" value { type: DT_INT32 } } }'
)
CONST = """
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value"
  value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WHILE, "node 'w' (While): function 'g' is not in the graph's library"),
        (
            IF % ("DT_INT32", "f") + LIBRARY,
            "function 'f' returns float32 as result 0, expected int32",
        ),
        (ENTER % 0, "parallel_iterations is 0, expected at least 1"),
        (EXIT % "x", "it is not inside a frame"),
        (ENTER % 1 + MIXED, "its inputs 'x' and 'e' are in different frames"),
        (CONST, "its value is int32[], but its dtype is float32"),
    ],
)
def test_what_every_run_refuses_is_an_error(check, text, message):
    status, out, _ = check(PLACEHOLDER + text)
    assert status == 1 and message in out and out.endswith("1 error, 0 races\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ""),
        (IF % ("DT_FLOAT", "f") + LIBRARY, ""),
        (IF % ("DT_FLOAT", "h") + LIBRARY, "function 'h' is not in the graph's library"),
        ('node { name: "u" op: "Unheard" input: "x" }', "op 'Unheard' is neither known nor"),
    ],
)
def test_what_some_run_takes_is_none(check, text, message):
    status, out, _ = check(PLACEHOLDER + text)
    assert status == 0 and message in out and ("note: " in out) == bool(message)


ARRAY = """
node { name: "a" op: "TensorArrayV3" input: "x" attr { key: "dtype" value { type: DT_INT32 } } }
node { name: "w" op: "TensorArrayWriteV3" input: "a" input: "x" input: "x" input: "a:1"
  attr { key: "T" value { type: DT_INT32 } } }
node { name: "v" op: "TensorArrayWriteV3" input: "a" input: "x" input: "x" input: "a:1"
  attr { key: "T" value { type: DT_INT32 } } }
node { name: "r" op: "TensorArrayReadV3" input: "a" input: "x" input: "%s"
  attr { key: "dtype" value { type: DT_INT32 } } }
"""


def test_elements_of_arrays_are_written_in_any_order(check):
    flow = 'v" input: "^w'
    assert check(PLACEHOLDER + ARRAY % flow, "--fetch", "r") == (0, "0 errors, 0 races\n", "")
    status, out, _ = check(PLACEHOLDER + ARRAY % "w", "--target", "r,v")
    assert status == 1 and out.endswith("0 errors, 1 race\n")


REPORTS = (
    pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
    / "reports/tensorflow/false_races"
)


@pytest.mark.skipif(not REPORTS.is_dir(), reason="needs ../shared/reports")
def test_loops_of_arrays_do_not_race():
    for path in sorted(REPORTS.glob("*.pb")):
        out = subprocess.run(
            [command_line.BINARY, "check", path, "--fetch", "y"], capture_output=True, text=True
        )
        assert (out.returncode, out.stdout) == (0, "0 errors, 0 races\n")
