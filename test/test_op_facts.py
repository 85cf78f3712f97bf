"""The build of the records of ops says what is wrong with a row, and where."""

import pathlib
import subprocess
import sys

import pytest

OPS = pathlib.Path(__file__).parent.parent / "treadle/ops"


def generate(tmp_path, facts, own=""):
    (tmp_path / "OpFacts.txt").write_text(facts)
    (tmp_path / "OwnOps.txt").write_text(own)
    return subprocess.run(
        [
            *(sys.executable, "-B", OPS / "generate.py", OPS / "OpTable.txt"),
            *(tmp_path / name for name in ("OwnOps.txt", "OpFacts.txt", "Tables.cpp")),
        ],
        capture_output=True,
        text=True,
    )


def test_rows_go_on_in_the_next_line(tmp_path):
    done = generate(tmp_path, "# a comment\n\nblocks : Add\n    Sub\n", "_Own x:f32 -> y:f32\n")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("blocks : Nothing", "OpFacts.txt:1: unknown op 'Nothing'"),
        ("# one\nblock : Add", "OpFacts.txt:2: unknown fact 'block'"),
        ("blocks=yes : Add", "OpFacts.txt:1: unknown fact 'blocks=yes'"),
        ("kind=loop : Add", "OpFacts.txt:1: unknown kind 'loop'"),
        ("arguments=x : Add", "OpFacts.txt:1: 'x' is not the index of an input"),
        ("effects=world.look : Add", "OpFacts.txt:1: unknown effects 'world.look'"),
        ("blocks blocks : Add", "OpFacts.txt:1: 'blocks' is stated twice"),
        ("stateless=NoWhile : While", "OpFacts.txt:1: unknown op 'NoWhile'"),
        ("negation=NoLess : Less", "OpFacts.txt:1: unknown op 'NoLess'"),
        ("keys=rank : Add", "OpFacts.txt:1: unknown keys 'rank'"),
        ("wants=look:0 : Add", "OpFacts.txt:1: unknown want 'look'"),
        ('images="x -> image" : Add', "OpFacts.txt:1: 'x -> image' is not a fact about images"),
        ("blocks : Add\nmoves : Sub\n Add", "OpFacts.txt:2: op 'Add' already has a row"),
        ("blocks Add", "OpFacts.txt:1: expected FACT... : OP..."),
    ],
)
def test_wrong_rows(tmp_path, facts, message):
    done = generate(tmp_path, facts + "\n")
    assert done.returncode == 1
    assert done.stderr == message + "\n"


def test_own_ops_are_none_of_tensorflow(tmp_path):
    done = generate(tmp_path, "", "Add x:f32 -> y:f32\n")
    assert done.returncode == 1
    assert done.stderr == "OwnOps.txt: op 'Add' is also in OpTable.txt\n"
