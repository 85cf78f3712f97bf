"""Models in a sandbox: honest ones compute what they compute outside, and others get nowhere."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

ADD = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""


def treadle_command(*words, **options):
    return subprocess.run([BINARY, *words], capture_output=True, timeout=120, text=True, **options)


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.pbtxt"
    path.write_text(ADD)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with a signature."""
    path = tmp_path_factory.mktemp("program") / "double.mlir"
    path.write_text(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %y = stablehlo.add %x, %x : tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n"
        "}\n"
    )
    return path


def both_ways(*words):
    """Returns the output and the exit status of a command, in a sandbox and outside of it."""
    for more in (["--sandbox"], []):
        done = treadle_command("run", *words, *more, cwd=ROOT)
        yield done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "countdown.pbtxt --fetch count:0,loop/dec:0@* --input start=3",
        "countdown.pbtxt --fetch count:0 --input start=3000 --tier jit",
        "words --input x=[1,2]",
        "words --signature lookup --input word=two",
        "words --signature lokup --input word=two",
        "words",
    ],
)
def test_examples_print_what_they_print_outside(line):
    inside, outside = both_ways("examples/" + line.split()[0], *line.split()[1:])
    assert inside == outside


GRAPHS = sorted((ROOT / "test" / "graphs").glob("*.pbtxt"))


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.stem)
def test_graphs_print_what_they_print_outside(graph):
    inside, outside = both_ways(graph)
    assert inside[:2] == outside[:2]


def test_a_model_keeps_its_variables_tables_and_texts(tmp_path):
    model = treadle.load(shutil.copytree(EXAMPLES / "words", tmp_path / "model"), sandbox=True)
    for call in (11, 12):
        outputs = model.signatures["serving_default"](x=[1, 2])
        np.testing.assert_array_equal(outputs["scaled"], np.array([2.5, 5], np.float32))
        assert outputs["calls"] == call
    assert model.signatures["lookup"](word="two")["id"] == 2
    assert model.signatures["lookup"](word="ten")["id"] == -1


def test_a_graph_from_standard_input():
    done = treadle_command("run", "-", "--fetch", "y", "--input", "x=3", "--sandbox", input=ADD)
    assert done.stdout == "y: float32[] = 6.0\n", done.stderr


def test_passes_run_inside(graph):
    done = treadle_command(
        "run", graph, "--fetch", "y:0", "--input", "x=3", "--passes", "tfg-cse", "--sandbox"
    )
    assert done.stdout == "y:0: float32[] = 6.0\n", done.stderr
    done = treadle_command("run", graph, "--passes", "no-such-pass", "--sandbox")
    assert done.returncode == 1
    assert "no-such-pass" in done.stderr


def test_a_missing_input_lists_what_there_is(graph):
    done = treadle_command("run", graph, "--sandbox")
    assert done.returncode == 1
    assert "the graph's inputs:\n  x:0: float32" in done.stderr


def test_a_file_that_is_not_there():
    done = treadle_command("run", "nothing.pb", "--sandbox")
    assert done.returncode == 1
    assert done.stderr.startswith("treadle: NotFoundError: ")


@pytest.mark.parametrize("option", [["--stats"], ["--trace", "t.json"]])
def test_options_that_ask_for_more_than_values(graph, option):
    done = treadle_command("run", graph, "--sandbox", *option)
    assert done.returncode == 2
    assert f"option '{option[0]}' can't be used with '--sandbox'" in done.stderr


def test_bench_tells_what_the_sandbox_costs(graph):
    words = ["bench", graph, "--fetch", "y", "--input", "x=3", "--sandbox", "--repeat", "5"]
    assert re.search(r"^sandbox: .*started in \d+ ms", treadle_command(*words).stdout, re.MULTILINE)
    found = json.loads(treadle_command(*words, "--json").stdout)
    assert found["sandbox"]["start_ms"] > 0


def test_the_command_of_children_is_for_sandboxes():
    done = treadle_command("sandbox-child")
    assert done.returncode == 2
    assert "for internal use by sandboxes" in done.stderr
    assert "sandbox-child" not in treadle_command("--help").stdout


def test_a_deadline_ends_a_long_loop():
    done = treadle_command(
        "run", EXAMPLES / "countdown.pbtxt", "--fetch", "count:0", "--input", "start=2000000000",
        "--tier", "interpret",
        "--timeout", "0.3", "--sandbox",
    )  # fmt: skip
    assert done.returncode == 1
    assert "DeadlineExceededError" in done.stderr


# --- Python --------------------------------------------------------------------------------------


def test_a_model_in_python(program):
    outside, inside = treadle.load(program), treadle.load(program, sandbox=True)
    assert inside.signatures.keys() == outside.signatures.keys()
    x = np.arange(5, dtype=np.float32)
    (name,) = inside.signatures
    for (key, got), (other, expected) in zip(
        inside.signatures[name](x).items(), outside.signatures[name](x).items(), strict=True
    ):
        assert key == other
        np.testing.assert_array_equal(got, expected)
    assert outside.sandbox is None
    assert inside.sandbox.end == ""
    assert inside.sandbox.landlock >= 0


def test_what_a_model_in_a_sandbox_lacks(program):
    model = treadle.load(program, sandbox=True)
    for use in (lambda: model.session, model.variables, model.save):
        with pytest.raises(treadle.FailedPreconditionError, match="in a sandbox"):
            use()
    with pytest.raises(ValueError, match="statistics and trace"):
        treadle.load(program, sandbox=True, trace=True)


def test_a_graph_without_signatures(graph):
    with pytest.raises(treadle.InvalidArgumentError, match="no signatures to call"):
        treadle.load(graph, sandbox=True)


def test_wrong_inputs_raise_as_outside(program):
    model = treadle.load(program, sandbox=True)
    (signature,) = model.signatures.values()
    with pytest.raises(treadle.InvalidArgumentError):
        signature(nonsense=3)
    with pytest.raises(treadle.InvalidArgumentError):
        signature(np.ones((2, 2), np.float32))
    (y,) = signature(np.ones(2, np.float32)).values()
    np.testing.assert_array_equal(y, [2, 2])
    assert model.sandbox.end == ""


def child_of(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"sandbox-child" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                yield int(child)


def test_a_process_that_is_killed_is_one_error(program):
    before = set(child_of(os.getpid()))
    model = treadle.load(program, sandbox=True)
    (child,) = set(child_of(os.getpid())) - before
    os.kill(child, signal.SIGKILL)
    (signature,) = model.signatures.values()
    for _ in range(2):
        with pytest.raises(treadle.UnavailableError, match=r"signal 9 \(SIGKILL\)"):
            signature(np.ones(2, np.float32))
    assert "SIGKILL" in model.sandbox.end


def test_a_process_ends_with_its_model(program):
    before = set(child_of(os.getpid()))
    model = treadle.load(program, sandbox=True)
    assert len(set(child_of(os.getpid())) - before) == 1
    del model
    assert not set(child_of(os.getpid())) - before


def test_a_model_outlives_the_thread_that_loaded_it(program):
    made = []
    thread = threading.Thread(target=lambda: made.append(treadle.load(program, sandbox=True)))
    thread.start()
    thread.join()
    time.sleep(0.1)
    (signature,) = made[0].signatures.values()
    (y,) = signature(np.ones(2, np.float32)).values()
    np.testing.assert_array_equal(y, [2, 2])
