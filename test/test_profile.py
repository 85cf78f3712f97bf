"""Tests `treadle profile` and Session.profile(), which measure the time that each op takes."""

import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402

ROOT = pathlib.Path(__file__).parents[1]
COUNTDOWN = ROOT / "examples" / "countdown.pbtxt"
WORDS = ROOT / "examples" / "words"

treadle.register_op("profile_wait", lambda x: time.sleep(0.02) or x, effects="none")


def command(*args):
    line = [command_line.BINARY, "profile", *map(str, args)]
    done = subprocess.run(line, capture_output=True, timeout=60, text=True)
    return done.returncode, done.stdout, done.stderr


def found(*args):
    status, out, error = command(*args, "--json")
    assert (status, error) == (0, "")
    return json.loads(out)


def test_ops_are_counted_with_their_bytes():
    args = (COUNTDOWN, "--input", "start=100", "--tier", "interpret", "--repeat", "4")
    profile = found(*args)
    ops = {row["op"]: row for row in profile["ops"]}
    assert profile["runs"] == 4 and profile["left_out"] == 0
    assert (ops["Sub"]["calls"], ops["Sub"]["bytes"]) == (400, 1600)
    assert (ops["Greater"]["calls"], ops["Greater"]["bytes"]) == (404, 404)
    loop = ops["While"]
    assert loop["calls"] == 4 and "'loop/dec' (Sub)" in loop["contents"]
    inside = ops["Sub"]["all_ms"] + ops["Greater"]["all_ms"]
    assert loop["own_ms"] <= loop["all_ms"] - inside + 1e-6
    assert loop["all_ms"] <= profile["run_ms"]
    assert 0 < profile["measuring_ms"] < profile["run_ms"]


def test_machine_code_is_told():
    profile = found(COUNTDOWN, "--input", "start=100", "--tier", "jit")
    (row,) = profile["nodes"]
    assert row["op"] == "_Cluster" and row["compiled_calls"] == row["calls"] == 10
    assert row["contents"].startswith("'loop' (While)")
    out = command(COUNTDOWN, "--input", "start=100", "--tier", "jit")[1]
    assert "yes  _Cluster: 'loop' (While)" in out


def test_a_signature_is_profiled_by_node():
    status, out, error = command(WORDS, "--input", "x=[1,2]", "--by", "node", "--sort", "calls")
    assert (status, error) == (0, "")
    head, columns, *rows = out.splitlines()
    assert head.startswith("10 runs of ") and head.endswith("a run's share in each column")
    assert columns.split("  ")[-1] == "node"
    assert any(row.endswith("  y (Mul)") for row in rows)
    lookup = command(WORDS, "--signature", "lookup", "--input", "word=two")[1]
    assert "LookupTableFind" in lookup and "Mul" not in lookup


def test_rows_are_limited_and_sorted():
    args = (COUNTDOWN, "--input", "start=50", "--tier", "interpret")
    out = command(*args, "--rows", "1", "--sort", "bytes")[1]
    assert out.splitlines()[2].endswith("  Sub") and out.splitlines()[-1] == "... and 2 more rows"
    calls = [row["calls"] for row in found(*args, "--sort", "calls")["ops"]]
    assert calls == sorted(calls, reverse=True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--by", "nod"], "option '--by' is 'nod' (did you mean 'node'?), expected op or node"),
        (["--sort", "walt"], "(did you mean 'wait'?), expected own, all, wait, calls or bytes"),
        (["--repeat", "0"], "option '--repeat' is '0', expected an integer of at least 1"),
        (["--warmup", "-1"], "option '--warmup' is '-1', expected an integer of at least 0"),
        (["--rows", "x"], "option '--rows' is 'x'"),
        (["--warm-up", "1"], "did you mean '--warmup'?"),
    ],
)
def test_misuse_is_told(args, message):
    status, out, error = command(COUNTDOWN, *args)
    assert (status, out) == (2, "") and message in error


def test_a_run_that_fails_is_told():
    status, _, error = command(WORDS)
    assert status == 1 and "set each with --input" in error


def loop_with_wait(folder):
    g = treadle.Builder()
    with g.while_loop(i=np.int32(0)) as loop:
        loop.condition(loop.i < 3)
        loop.i += 1
    graph = g.build()
    name = loop.i.name
    types = {"Tin": ["int32"], "Tout": ["int32"], "token": "profile_wait"}
    waited = graph.add("PyFunc", [name], attrs=types, name="slow")
    return graph, waited


def test_python_gets_rows_and_a_table(tmp_path):
    graph, waited = loop_with_wait(tmp_path)
    session = treadle.Session(graph, tier="interpret", trace=True)
    for _ in range(2):
        assert session.run(waited.name) == 3
    profile = session.profile(by="node", sort="all", rows=5)
    slow = profile.nodes[0]
    assert (slow.name, slow.op, slow.calls, slow.bytes) == ("slow", "PyFunc", 2, 8)
    assert 0.04 <= slow.all <= profile.seconds and slow.compiled_calls is None
    assert profile.runs == 2 and str(profile) == profile.text
    assert "slow (PyFunc)" in str(profile) and profile.ops[0].op == "PyFunc"
    session.forget_trace()
    assert session.profile().runs == 0 and session.profile().nodes == ()


def test_python_tells_misuse():
    with pytest.raises(treadle.FailedPreconditionError, match="with the option 'trace'"):
        treadle.Session(COUNTDOWN).profile()
    with pytest.raises(treadle.FailedPreconditionError, match="with the option 'trace'"):
        treadle.Session(COUNTDOWN).forget_trace()
    session = treadle.Session(COUNTDOWN, trace=True)
    with pytest.raises(treadle.InvalidArgumentError, match=r"'ops' \(did you mean 'op'\?\)"):
        session.profile(by="ops")
    with pytest.raises(treadle.InvalidArgumentError, match="'time', expected own, all"):
        session.profile(sort="time")
    with pytest.raises(ValueError, match="rows is 0"):
        session.profile(rows=0)


# Two runs of one session: one waits for what the other puts into a queue.
QUEUE = """
node { name: "q" op: "FIFOQueueV2" attr { key: "component_types" value { list { type: DT_INT32 } } }
       attr { key: "shared_name" value { s: "q" } } }
node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 7 } } } }
node { name: "put" op: "QueueEnqueueV2" input: "q" input: "x"
       attr { key: "Tcomponents" value { list { type: DT_INT32 } } } }
node { name: "take" op: "QueueDequeueV2" input: "q"
       attr { key: "component_types" value { list { type: DT_INT32 } } } }
versions { producer: 1882 }
"""


def test_waiting_is_not_computing():
    import threading

    session = treadle.Session(treadle.Graph.from_bytes(QUEUE.encode()), trace=True)
    taken = []
    thread = threading.Thread(target=lambda: taken.append(int(session.run("take"))))
    thread.start()
    time.sleep(0.1)
    session.run([], targets="put")
    thread.join()
    rows = {row.name: row for row in session.profile().nodes}
    assert taken == [7]
    assert rows["take"].wait >= 0.05 and rows["take"].own < 0.05
    assert rows["take"].all >= rows["take"].wait
    assert rows["put"].wait < 0.05


def test_a_loop_whose_iterations_overlap_has_a_row():
    from test_trace import OVERLAPPING

    session = treadle.Session(treadle.Graph.from_bytes(OVERLAPPING.encode()), threads=2, trace=True)
    for _ in range(2):
        session.run(["exit", "wait:0@*"])
    rows = {(row.name, row.op): row for row in session.profile().nodes}
    loop = rows["loop", "frame"]
    assert loop.contents.startswith("'wait' (PyFunc)") and loop.own == 0
    assert loop.calls in (24, 26) and rows["wait", "PyFunc"].calls == 24
    assert loop.all >= rows["wait", "PyFunc"].all
