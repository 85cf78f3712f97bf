"""Traces: what ran when, on which thread, in which iteration."""

import json
import pathlib
import subprocess
import sys
import threading
import time

import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

COUNTDOWN = pathlib.Path(__file__).parent.parent / "examples" / "countdown.pbtxt"

OPS, ITERATIONS, WAITS = 1, 2, 4  # the groups of tracks

treadle.register_op("trace_wait", lambda x: time.sleep(0.002) or x, effects="none")

# A loop whose iterations wait for nothing but their number.
OVERLAPPING = """
node { name: "n" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 12 } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
node { name: "enter_i" op: "Enter" input: "zero" FRAME }
node { name: "enter_n" op: "Enter" input: "n"
  attr { key: "is_constant" value { b: true } } FRAME }
node { name: "i" op: "Merge" input: "enter_i" input: "next"
  attr { key: "N" value { i: 2 } } attr { key: "T" value { type: DT_INT32 } } }
node { name: "less" op: "Less" input: "i" input: "enter_n"
  attr { key: "T" value { type: DT_INT32 } } }
node { name: "more" op: "LoopCond" input: "less" }
node { name: "switch" op: "Switch" input: "i" input: "more"
  attr { key: "T" value { type: DT_INT32 } } }
node { name: "one" op: "Const" input: "^switch" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }
node { name: "wait" op: "PyFunc" input: "switch:1"
  attr { key: "Tin" value { list { type: DT_INT32 } } }
  attr { key: "Tout" value { list { type: DT_INT32 } } }
  attr { key: "token" value { s: "trace_wait" } } }
node { name: "add" op: "AddV2" input: "switch:1" input: "one"
  attr { key: "T" value { type: DT_INT32 } } }
node { name: "next" op: "NextIteration" input: "add" attr { key: "T" value { type: DT_INT32 } } }
node { name: "exit" op: "Exit" input: "switch" attr { key: "T" value { type: DT_INT32 } } }
""".replace(
    "FRAME",
    'attr { key: "frame_name" value { s: "loop" } } attr { key: "T" value { type: DT_INT32 } }'
    ' attr { key: "parallel_iterations" value { i: 4 } }',
)


def run(*args):
    command = [BINARY, "run", *map(str, args)]
    return subprocess.run(command, capture_output=True, timeout=60, text=True)


def slices(text, group):
    events = json.loads(text)["traceEvents"]
    return [e for e in events if e["ph"] == "X" and e["pid"] == group]


def inside(inner, outer):
    """Up to the nanosecond that a time is rounded to."""
    begin, end = outer["ts"], outer["ts"] + outer["dur"]
    return begin - 0.002 <= inner["ts"] and inner["ts"] + inner["dur"] <= end + 0.002


def test_ops_of_a_loop_stand_in_its_iterations(tmp_path):
    file = tmp_path / "trace.json"
    done = run(COUNTDOWN, "--fetch", "count:0", "--input", "start=5", "--trace", file)
    assert (done.returncode, done.stderr) == (0, "")
    ops = slices(file.read_text(), OPS)
    loop = [e for e in ops if e["args"].get("op") in ("While", "StatelessWhile", "_While")]
    assert len(loop) == 1
    iterations = [e for e in ops if e["name"].startswith("iteration ")]
    assert [e["name"] for e in iterations] == [f"iteration {i}" for i in range(6)]
    assert all(inside(e, loop[0]) and e["tid"] == loop[0]["tid"] for e in iterations)
    decrements = [e for e in ops if e["name"].endswith("dec")]
    assert len(decrements) == 5
    for op, iteration in zip(decrements, iterations, strict=False):
        assert inside(op, iteration)


def test_iterations_that_overlap_have_tracks_of_their_own(tmp_path):
    file = tmp_path / "loop.pbtxt"
    file.write_text(OVERLAPPING)
    session = treadle.Session(file, threads=2, trace=True)
    # Fetching all iterations of a node keeps their values, so that the op that waits is needed.
    session.run(["exit", "wait:0@*"])
    ops = slices(session.trace(), OPS)
    waits = [e for e in ops if e["name"] == "wait"]
    assert sorted(e["args"]["iteration"] for e in waits) == list(range(12))
    assert {e["args"]["loop"] for e in waits} == {"loop"}
    iterations = slices(session.trace(), ITERATIONS)
    assert len({e["tid"] for e in iterations}) == 4
    assert {e["name"] for e in iterations} >= {f"iteration {i}" for i in range(12)}
    by_number = {e["name"]: e for e in iterations}
    first, second = by_number["iteration 0"], by_number["iteration 1"]
    assert second["ts"] < first["ts"] + first["dur"]
    # Those of one track are never at once.
    for track in {e["tid"] for e in iterations}:
        own = sorted((e for e in iterations if e["tid"] == track), key=lambda e: e["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(own, own[1:], strict=False))


def test_a_wait_that_holds_no_thread_has_a_track_of_its_own():
    g = treadle.Builder()
    queue = g.op("FIFOQueueV2", component_types=["int32"], capacity=1, shared_name="jobs")
    g.op("QueueEnqueueV2", [queue, [7]], name="put")
    g.op("QueueDequeueV2", [queue], component_types=["int32"], name="take")
    session = treadle.Session(g.build(), trace=True)

    def put():
        time.sleep(0.05)
        session.run([], targets=["put"])

    thread = threading.Thread(target=put)
    thread.start()
    assert session.run("take") == 7
    thread.join()
    (wait,) = slices(session.trace(), WAITS)
    assert (wait["name"], wait["args"]) == ("take", {"op": "QueueDequeueV2"})
    assert wait["dur"] > 30_000


def test_tracks_have_names(tmp_path):
    file = tmp_path / "loop.pbtxt"
    file.write_text(OVERLAPPING)
    session = treadle.Session(file, threads=2, trace=True)
    session.run(["exit", "wait:0@*"])
    events = json.loads(session.trace())["traceEvents"]
    names = {(e["pid"], e["args"]["name"]) for e in events if e["ph"] == "M"}
    assert {(OPS, "thread 0"), (ITERATIONS, "loop: 0, 4, ...")} <= names


def test_a_run_that_fails_leaves_its_trace(tmp_path):
    file, trace = tmp_path / "fails.pbtxt", tmp_path / "trace.json"
    check = (
        'node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }\n'
        '  attr { key: "value" value {'
        " tensor { dtype: DT_FLOAT tensor_shape {} float_val: inf } } } }\n"
        'node { name: "check" op: "CheckNumerics" input: "a"\n'
        '  attr { key: "T" value { type: DT_FLOAT } } attr { key: "message" value { s: "no" } } }\n'
    )
    file.write_text(check)
    done = run(file, "--fetch", "check", "--trace", trace)
    assert done.returncode == 1 and "check" in done.stderr
    assert [e["name"] for e in slices(trace.read_text(), OPS)][-1] == "check"


def fields(message):
    """The fields of a message of protobuf: numbers as int, the others as bytes."""
    out, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        assert key & 7 in (0, 2)
        value = varint()
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
        out.append((key >> 3, value))
    return out


def test_perfettos_own_format_says_the_same(tmp_path):
    packets = tmp_path / "trace.pftrace"
    done = run(COUNTDOWN, "--fetch", "count:0", "--input", "start=5", "--trace", packets)
    assert (done.returncode, done.stderr) == (0, "")
    tracks, open_slices, begun, last = {}, {}, [], {}
    for number, packet in fields(packets.read_bytes()):
        assert number == 1  # Trace.packet
        told = dict(fields(packet))
        if 60 in told:  # track_descriptor: its uuid and name
            about = dict(fields(told[60]))
            tracks[about[1]] = about[2].decode()
            continue
        event = dict(fields(told[11]))  # track_event
        track = tracks[event[11]]
        assert told[8] >= last.get(track, 0), "times of a track ascend"
        last[track] = told[8]
        depth = open_slices.get(track, 0)
        if event[9] == 1:  # TYPE_SLICE_BEGIN
            begun.append(event[23].decode())
        else:
            assert depth > 0, "a slice ends that did not begin"
        open_slices[track] = depth + (1 if event[9] == 1 else -1)
    assert tracks.keys() and {"ops by thread", "thread 0"} <= set(tracks.values())
    assert set(open_slices.values()) == {0}
    assert sum(name.startswith("iteration ") for name in begun) == 6
    assert sum(name.endswith("dec") for name in begun) == 5


def test_a_trace_that_cannot_be_written_is_an_error():
    done = run(COUNTDOWN, "--fetch", "count:0", "--trace", "no-such-folder/trace.json")
    assert done.returncode == 1
    assert "no-such-folder" in done.stderr


def test_a_session_that_does_not_trace_says_so():
    session = treadle.Session(COUNTDOWN)
    with pytest.raises(treadle.FailedPreconditionError, match="with the option 'trace'"):
        session.trace()
