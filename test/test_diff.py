"""`treadle diff`, as somebody types it."""

import json
import os
import pathlib
import subprocess

import pytest

import treadle

BINARIES = pathlib.Path(treadle.__file__).parents[2] / "bin"
BINARY = os.environ.get("TREADLE_BIN", BINARIES / "treadle")

GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "a" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "b" op: "Abs" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Add" input: "a" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
library { function { signature { name: "f" input_arg { name: "i" type: DT_FLOAT }
    output_arg { name: "o" type: DT_FLOAT } }
  node_def { name: "n" op: "Neg" input: "i" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "o" value: "n:y:0" } } }
"""


@pytest.fixture
def diff(tmp_path):
    def run(before, after, *options):
        paths = [tmp_path / "before.pbtxt", tmp_path / "after.pbtxt"]
        for path, text in zip(paths, (before, after), strict=True):
            path.write_text(text)
        command = [BINARY, "diff", *paths, *options]
        done = subprocess.run(command, capture_output=True, timeout=60, text=True)
        assert not done.stderr
        return done.returncode, done.stdout

    return run


def test_equal_graphs_differ_in_nothing(diff):
    assert diff(GRAPH, GRAPH) == (0, "")
    lines = GRAPH.strip().split("\n")
    other = "\n".join([*lines[3::-1], *lines[4:]])
    assert diff(GRAPH, other) == (0, ""), "the order of nodes doesn't count"


CHANGES = {
    'op: "Abs"': ('op: "Sign"', "~ node 'b': op is Sign, was Abs\n"),
    'input: "a" input: "b"': (
        'input: "b" input: "b"',
        "~ node 'y': inputs are [b:0, b:0], were [a:0, b:0]\n",
    ),
    'op: "Neg" input: "x"': (
        'op: "Neg" input: "x" device: "/CPU:0"',
        "~ node 'a': device is \"/CPU:0\", was none\n",
    ),
    'op: "Abs" input: "a"': (
        'op: "Abs" input: "a" input: "^x"',
        "~ node 'b': control inputs are [^x], were []\n",
    ),
    'name: "n" op: "Neg"': (
        'name: "n" op: "Abs"',
        "~ node 'n' in function 'f': op is Abs, was Neg\n",
    ),
    'type: DT_FLOAT } } }\nnode { name: "a"': (
        'type: DT_FLOAT } } attr { key: "_k" value { i: 1 } } }\nnode { name: "a"',
        "~ node 'x': attribute '_k' is 1 : i64, was none\n",
    ),
}


@pytest.mark.parametrize("old", CHANGES)
def test_changes_are_told(diff, old):
    new, line = CHANGES[old]
    assert old in GRAPH
    assert diff(GRAPH, GRAPH.replace(old, new)) == (1, line)


def test_added_and_removed(diff):
    more = GRAPH + 'node { name: "n" op: "NoOp" }'
    assert diff(GRAPH, more) == (1, "+ node 'n': NoOp is new\n")
    assert diff(more, GRAPH) == (1, "- node 'n': NoOp is gone\n")
    less = GRAPH[: GRAPH.index("library")]
    assert diff(GRAPH, less) == (1, "- function 'f': the function was removed\n")
    assert diff(less, GRAPH) == (1, "+ function 'f': the function was added\n")


def test_nodes_that_were_renamed_are_found_by_structure(diff):
    other = GRAPH.replace('"a"', '"first"').replace('"b"', '"second"')
    assert diff(GRAPH, other) == (
        1,
        "~ node 'first': was 'a'\n~ node 'second': was 'b'\n",
    )


def test_json(diff):
    status, out = diff(GRAPH, GRAPH.replace('op: "Abs"', 'op: "Sign"'), "--json")
    (found,) = json.loads(out)
    assert status == 1
    assert (found["kind"], found["node"], found["function"]) == ("changed", "b", "")


def test_python_tells_the_same(diff, tmp_path):
    after = GRAPH.replace('"Abs"', '"Neg"')
    status, out = diff(GRAPH, after)
    paths = tmp_path / "before.pbtxt", tmp_path / "after.pbtxt"
    found = treadle.diff(*paths)
    assert status == 1 and "".join(f"{line}\n" for line in found) == out
    assert found[0].node == "b" and found[0].kind == "changed"
    graph = treadle.Graph.from_file(paths[0])
    assert treadle.diff(graph, graph) == []
    with pytest.raises(TypeError, match="graph is a int, expected bytes of a GraphDef, a path"):
        treadle.diff(graph, 3)


def test_renamed_nodes_are_found_in_any_order(diff):
    """Each round of comparisons over all nodes would match one more."""
    count = 20_000

    def chain(prefix):
        nodes = [
            f'node {{ name: "{prefix}{i}" op: "Neg" input: "{prefix}{i - 1}" '
            'attr { key: "T" value { type: DT_FLOAT } } }'
            for i in range(1, count)
        ]
        first = 'attr { key: "dtype" value { type: DT_FLOAT } }'
        return "\n".join(
            [*reversed(nodes), f'node {{ name: "{prefix}0" op: "Placeholder" {first} }}']
        )

    status, out = diff(chain("a"), chain("b"))
    assert status == 1
    assert len(out.splitlines()) == count
    assert "~ node 'b7': was 'a7'" in out
