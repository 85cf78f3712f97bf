"""`treadle check`, as somebody types it."""

import json
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
    assert check(RACE % "") == (
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
    status, _, error = check(RACE % "", "--fetch", "q")
    assert status == 1 and "'q'" in error


def test_races_are_fixed_by_edges(check, tmp_path):
    fixed = tmp_path / "fixed.pbtxt"
    status, out, notes = check(RACE % "", "--fix", fixed)
    assert (status, out) == (0, "0 errors, 0 races\n")
    assert notes == "treadle: note: added an edge: 'read' waits for 'init'\n"
    assert "^init" in treadle.Graph.from_file(fixed).node("read").inputs
    assert check(fixed.read_text())[0] == 0


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
    status, out, _ = check(RACE % "", "--json")
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
