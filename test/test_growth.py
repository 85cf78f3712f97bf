"""The cost of commands doesn't grow faster than the graph: a short form of `./dev bench growth`."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import types

import pytest
from command_line import BINARY

import treadle

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import growing_graphs  # noqa: E402
import growth  # noqa: E402

# Cheaper than the benchmark: smaller graphs, of which quadratic work is still most of the cost.
SETTINGS = types.SimpleNamespace(
    seconds=0.12, least=0.02, repeat=4, perf=growth.counts_instructions()
)
# Quadratic work has an exponent of 2; processor time of linear work on a busy machine up to 1.5.
LIMIT = growth.TOO_STEEP if SETTINGS.perf else 1.6

LINEAR = {
    "frame_variables": ["check", "explain"],
    "frames": ["explain", "view"],
    "loops_with_effects": ["check"],
    "ordered_effects": ["check"],
    "shuffled": ["diff"],
    "variables": ["check"],
}


def cases():
    return [(family, command) for family, commands in LINEAR.items() for command in commands]


@pytest.fixture
def program(monkeypatch):
    monkeypatch.setattr(growth, "PROGRAM", BINARY)


@pytest.mark.skipif("TREADLE_BIN" in os.environ, reason="sanitizers distort what commands cost")
@pytest.mark.parametrize(("family", "command"), cases())
def test_cost_grows_with_the_graph(program, tmp_path, family, command):
    inputs = growth.Inputs(growing_graphs.FAMILIES[family], tmp_path)
    for _ in range(3):  # others may use the machine
        measured = growth.grow(inputs, growth.Growth(family, command), SETTINGS)
        assert not measured.error
        if measured.exponent is None or measured.exponent < LIMIT:
            return
    pytest.fail(growth.line(measured))


@pytest.mark.parametrize("family", growing_graphs.FAMILIES)
def test_every_family_runs(program, tmp_path, family):
    given = growth.write(growing_graphs.FAMILIES[family].make(20), tmp_path)
    growth.cost_once(growth.COMMANDS["run"](given, tmp_path), perf=False)


def seconds_of_requests(size, count=200):
    """The processor time of requests that are new to a session, each of which needs one node."""
    graph, body = growing_graphs.started()
    for i in range(size):
        body.op(f"n{i}", "Neg", "x")
    session = treadle.Session(treadle.Graph.from_bytes(graph.text().encode()), tier="interpret")
    session.run("n0", {"x": 1})
    start = time.process_time()
    for i in range(1, count):
        session.run(f"n{i}", {"x": 1})
    return time.process_time() - start


def test_a_new_request_costs_what_it_needs():
    """Not what the session's graph has, which is a hundred times as much."""
    assert min(seconds_of_requests(50_000) / seconds_of_requests(500) for _ in range(3)) < 10


def test_functions_share_the_call_that_names_them(tmp_path):
    """With a copy for each of its branches, a Case of n branches took n * n pointers."""
    given = growth.write(growing_graphs.FAMILIES["cases"].make(8_000), tmp_path)
    words = [BINARY, "run", given.path, *given.run, "--tier=interpret", "--stats"]
    # Not as a child of this process, whose memory would count.
    line = shlex.join(map(str, words)) + "; exit $?"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    (megabytes,) = re.findall(r"peak memory: ([\d.]+) MB", done.stderr)
    assert float(megabytes) < 300


@pytest.mark.parametrize(("power", "expected"), [(1, 1), (2, 2), (1.5, 1.5)])
def test_the_exponent_is_that_of_the_last_step(power, expected):
    costs = [growth.Cost(7 + size**power, 1, 1) for size in (0, 100, 400)]
    assert growth.exponent(costs[1], costs[2], costs[0]) == pytest.approx(expected)
