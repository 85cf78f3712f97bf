"""Tier auto: right from the first run on, compiled in the background, and cached."""

import gc
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import treadle

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
COUNTDOWN = EXAMPLES / "countdown.pbtxt"
PATIENCE = 120  # seconds; machines may be busy


def halving(factor=0.5, ops=1):
    """A program: while n > 0: x = x * factor + 1, `ops` times an iteration."""
    g = treadle.Builder()
    n = g.placeholder("n", "int32", [])
    x = g.placeholder("x", "float32")
    with g.while_loop(n=n, x=x) as loop:
        loop.condition(loop.n > 0)
        value = loop.x
        for i in range(ops):
            value = value * np.float32(factor + i) + np.float32(1)
        loop.x = value
        loop.n -= 1
    return g.build(), loop.x.name


def halved(x, n, factor=0.5):
    x = np.float32(x)
    for _ in range(n):
        x = x * np.float32(factor) + np.float32(1)
    return x


def until(condition, step):
    """Repeats the step until the condition holds of its results' statistics."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        step()
        if condition():
            return
        time.sleep(0.002)
    pytest.fail("it never came")


def until_compiled(session, step):
    until(lambda: session.statistics().compiled_calls > 0, step)


# --- runs ----------------------------------------------------------------------------------------


def test_values_are_right_from_the_first_run_on_and_become_compiled():
    graph, out = halving()
    session = treadle.Session(graph, statistics=True)
    rng = np.random.default_rng(1)

    def step():
        x, n = rng.normal(size=5).astype(np.float32), int(rng.integers(0, 9))
        values = session.run(out, {"n:0": np.int32(n), "x:0": x})
        np.testing.assert_allclose(values, halved(x, n), rtol=1e-5)

    until_compiled(session, step)
    for _ in range(5):
        step()
    statistics = session.statistics()
    assert statistics.compiled_calls >= 6
    assert statistics.compilations + statistics.memory_hits == 1
    assert (statistics.failed_compilations, statistics.last_failure) == (0, "")
    assert statistics.pending_compilations == 0


def test_nothing_is_compiled_for_a_request_that_comes_once():
    graph, out = halving()
    session = treadle.Session(graph, statistics=True)
    for _ in range(3):
        g, name = halving()  # and other sessions don't matter
        treadle.Session(g).run(name, {"n:0": np.int32(2), "x:0": np.float32(1)})
    session.run(out, {"n:0": np.int32(2), "x:0": np.float32(1)})
    session.run([out, "n:0"], {"n:0": np.int32(2), "x:0": np.float32(1)})
    statistics = session.statistics()
    assert statistics.pending_compilations == 0
    assert statistics.compilations + statistics.memory_hits == 0
    assert statistics.interpreted_calls == 2


def test_jit_compiles_before_the_first_run():
    graph, out = halving()
    session = treadle.Session(graph, tier="jit", statistics=True)
    session.run(out, {"n:0": np.int32(2), "x:0": np.float32(1)})
    statistics = session.statistics()
    assert (statistics.compiled_calls, statistics.interpreted_calls) == (1, 0)


def test_interpret_compiles_nothing():
    graph, out = halving()
    session = treadle.Session(graph, tier="interpret", statistics=True)
    for _ in range(5):
        session.run(out, {"n:0": np.int32(2), "x:0": np.float32(1)})
    statistics = session.statistics()
    assert statistics.compiled_calls + statistics.interpreted_calls == 0
    assert statistics.compilations + statistics.pending_compilations == 0


def test_a_thousand_sizes_are_one_compilation():
    graph, out = halving()
    session = treadle.Session(graph, statistics=True)
    sizes = iter(range(2, 100_000))

    def step():
        x = np.ones(next(sizes), np.float32)
        session.run(out, {"n:0": np.int32(1), "x:0": x})

    until_compiled(session, step)
    for _ in range(1000):
        step()
    statistics = session.statistics()
    assert statistics.compilations + statistics.memory_hits == 1
    assert statistics.compiled_calls > 1000


def test_a_shape_that_comes_again_and_again_has_code_of_its_own():
    graph, out = halving()
    session = treadle.Session(graph, tier="jit", statistics=True)

    def made(size, calls):
        x = np.linspace(1, 2, size, dtype=np.float32)
        for _ in range(calls):
            values = session.run(out, {"n:0": np.int32(3), "x:0": x})
            np.testing.assert_allclose(values, halved(x, 3))
        statistics = session.statistics()
        assert statistics.bails == 0
        return statistics.compilations + statistics.memory_hits

    assert made(3, 10) == 1
    assert made(3, 30) == 2
    assert [made(size, 1) for size in range(2, 20)] == [2] * 18
    assert made(100, 50) == 3
    assert made(4, 50) == 3  # two of them are enough


def test_each_class_of_shapes_is_compiled_beside_the_runs():
    graph, out = halving()
    session = treadle.Session(graph, statistics=True)
    shapes = [(), (40,), (1, 40), (3, 40)]

    def step():
        for shape in shapes:
            x = np.full(shape, 3, np.float32)
            values = session.run(out, {"n:0": np.int32(3), "x:0": x})
            np.testing.assert_allclose(values, halved(x, 3))

    def is_done():
        statistics = session.statistics()
        return statistics.compilations + statistics.memory_hits == len(shapes)

    until(is_done, step)
    until_compiled(session, step)


def test_a_loop_in_a_loop_is_compiled_with_it_and_not_by_itself():
    g = treadle.Builder()
    n = g.placeholder("n", "int32", [])
    with g.while_loop(n=n, x=np.float32(1)) as outer:
        outer.condition(outer.n > 0)
        with g.while_loop(m=outer.n, x=outer.x) as inner:
            inner.condition(inner.m > 0)
            inner.x = inner.x * np.float32(0.5) + np.float32(1)
            inner.m -= 1
        outer.x = inner.x
        outer.n -= 1
    session = treadle.Session(g.build(), statistics=True)
    feeds = {"n:0": np.int32(4)}
    until_compiled(session, lambda: session.run(outer.x.name, feeds))
    while session.is_compiling:
        session.run(outer.x.name, feeds)
    statistics = session.statistics()
    assert statistics.compilations + statistics.memory_hits == 1
    np.testing.assert_allclose(session.run(outer.x.name, feeds), halved(1, 4 + 3 + 2 + 1))


def test_many_threads_run_while_code_comes():
    graph, out = halving(0.25)
    session = treadle.Session(graph, statistics=True)
    wrong = []
    is_over = threading.Event()

    def work(seed):
        x = np.full(7, seed, np.float32)
        while not is_over.is_set():
            values = session.run(out, {"n:0": np.int32(4), "x:0": x})
            if not np.allclose(values, halved(x, 4, 0.25)):
                wrong.append(values)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    until_compiled(session, lambda: None)
    is_over.set()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- state that runs leave remains the session's --------------------------------------------------


def test_a_random_stream_goes_on():
    def made(tier):
        g = treadle.Builder()
        n = g.placeholder("n", "int32", [])
        shape = np.array([3], np.int32)
        noise = g.op("RandomUniform", [shape], T="int32", dtype="float32", seed=3, seed2=4)
        with g.while_loop(n=n, x=noise) as loop:
            loop.condition(loop.n > 0)
            loop.x = loop.x * np.float32(0.5) + np.float32(1)
            loop.n -= 1
        return treadle.Session(g.build(), tier=tier, statistics=True), loop.x.name

    (auto, out), (reference, _) = made("auto"), made("interpret")
    pairs = []

    def step():
        feeds = {"n:0": np.int32(2)}
        pairs.append((auto.run(out, feeds), reference.run(out, feeds)))

    until_compiled(auto, step)
    step()
    for value, expected in pairs:
        np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert not np.allclose(pairs[0][0], pairs[-1][0])


def test_variables_go_on():
    g = treadle.Builder()
    seen = g.variable("seen", np.float32(0))
    n = g.placeholder("n", "int32", [])
    with g.while_loop(n=n, x=np.float32(0)) as loop:
        loop.condition(loop.n > 0)
        loop.x += np.float32(1)
        loop.n -= 1
    seen.assign_add(loop.x)
    target = g.effects().name
    session = treadle.Session(g.build(), statistics=True)
    session.run([], targets=["init"])
    total = 0

    def step():
        nonlocal total
        session.run([], {"n:0": np.int32(3)}, targets=[target])
        total += 3
        assert session.variables()["seen"] == total

    until_compiled(session, step)
    step()


PRINTING = """
node { name: 'said' op: 'Print' input: 'start' input: 'start'
  attr { key: 'T' value { type: DT_INT32 } }
  attr { key: 'U' value { list { type: DT_INT32 } } }
  attr { key: 'message' value { s: 'said ' } }
  attr { key: 'first_n' value { i: 2 } } }
"""


def test_a_node_that_prints_a_few_times_does_not_begin_again(capfd):
    graph = treadle.Graph.from_bytes((COUNTDOWN.read_text() + PRINTING).encode())
    session = treadle.Session(graph, statistics=True)
    until_compiled(session, lambda: session.run(["count:0", "said:0"], {"start:0": 3}))
    for _ in range(3):
        session.run(["count:0", "said:0"], {"start:0": 3})
    assert capfd.readouterr().err == "said [3]\n" * 2


# --- loops that can't be compiled ----------------------------------------------------------------


def test_what_cannot_be_compiled_stays_interpreted_and_is_told():
    g = treadle.Builder()
    n, x = g.placeholder("n", "int32", []), g.placeholder("x", "float32")
    with g.while_loop(n=n, x=x) as loop:
        loop.condition(loop.n > 0)
        loop.x = g.op("AddN", [[loop.x] * 100])  # more inputs than calls of kernels have
        loop.n -= 1
    graph, out = g.build(), loop.x.name
    session = treadle.Session(graph, statistics=True)
    reference = treadle.Session(graph, tier="interpret")
    feeds = {"n:0": np.int32(1), "x:0": np.ones(50, np.float32)}
    expected = reference.run(out, feeds)

    def step():
        np.testing.assert_allclose(session.run(out, feeds), expected)

    until(lambda: session.statistics().failed_compilations > 0, step)
    step()
    statistics = session.statistics()
    assert "too many inputs" in statistics.last_failure
    assert (statistics.compiled_calls, statistics.failed_compilations) == (0, 1)
    assert "failed_compilations=1" in repr(statistics)


# --- sessions and processes that end -------------------------------------------------------------


def test_sessions_that_go_leave_nothing_to_do():
    for i in range(30):
        graph, out = halving(factor=float(i))
        session = treadle.Session(graph)
        for _ in range(2 + i % 3):
            session.run(out, {"n:0": np.int32(2), "x:0": np.ones(i + 2, np.float32)})
        del session
        gc.collect()


PROGRAM = """
import sys, time
sys.path.insert(0, {here!r})
from test_background import *
"""


def in_process(code, **environment):
    """Returns the output of a program that has this file's functions."""
    here = str(pathlib.Path(__file__).parent)
    env = {k: v for k, v in os.environ.items() if k != "TREADLE_CACHE_DIR"} | environment
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(here=here) + code],
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("runs", range(1, 6))
def test_a_process_may_end_while_its_loops_are_compiled(runs):
    code = f"""
graph, out = halving(ops=200)
kept = treadle.Session(graph)
for _ in range({runs}):
    kept.run(out, {{"n:0": np.int32(1), "x:0": np.float32(1)}})
    time.sleep(0.01)
print("over")
"""
    assert in_process(code, TREADLE_CACHE_DIR="") == "over\n"


def test_a_forked_process_runs_and_ends():
    code = """
graph, out = halving()
session = treadle.Session(graph, threads=1, statistics=True)
feeds = {"n:0": np.int32(3), "x:0": np.ones(4, np.float32)}
until_compiled(session, lambda: session.run(out, feeds))
child = os.fork()
own = treadle.Session(graph, threads=1, statistics=True)
for _ in range(5):
    np.testing.assert_allclose(own.run(out, feeds), halved(np.ones(4), 3))
if child == 0:
    assert own.statistics().compiled_calls == 0  # nobody compiles there
    assert own.statistics().pending_compilations == 0
    del own
    sys.exit(0)
_, status = os.waitpid(child, 0)
print("status", status)
"""
    # Python 3.12 and newer warn of any fork beside threads.
    assert in_process(code, TREADLE_CACHE_DIR="", PYTHONWARNINGS="ignore") == "status 0\n"


# --- the code cache ------------------------------------------------------------------------------

JIT_TWICE = """
for _ in range(2):
    graph, out = halving()
    session = treadle.Session(graph, tier="jit", statistics=True)
    x = session.run(out, {"n:0": np.int32(3), "x:0": np.full(4, 8, np.float32)})
    s = session.statistics()
    print(x.tolist(), s.compilations, s.memory_hits, s.disk_hits, s.compiled_calls)
"""
VALUES = halved(np.full(4, 8), 3).tolist()


def lines(*counts):
    return "".join(f"{VALUES} {' '.join(map(str, count))} 1\n" for count in counts)


def test_processes_share_what_is_on_disk(tmp_path):
    folder = tmp_path / "new" / "cache"
    first = in_process(JIT_TWICE, TREADLE_CACHE_DIR=str(folder))
    assert first == lines((1, 0, 0), (0, 1, 0))
    assert [path.suffix for path in folder.iterdir()] == [".code"]
    assert in_process(JIT_TWICE, TREADLE_CACHE_DIR=str(folder)) == lines((0, 0, 1), (0, 1, 0))


def test_auto_finds_on_disk_what_another_process_compiled(tmp_path):
    in_process(JIT_TWICE, TREADLE_CACHE_DIR=str(tmp_path))
    code = """
graph, out = halving()
session = treadle.Session(graph, statistics=True)
until_compiled(session, lambda: session.run(out, {"n:0": np.int32(3), "x:0": np.ones(4, "f4")}))
print(session.statistics().compilations, session.statistics().disk_hits)
"""
    assert in_process(code, TREADLE_CACHE_DIR=str(tmp_path)) == "0 1\n"


def test_damage_on_disk_is_no_error(tmp_path):
    in_process(JIT_TWICE, TREADLE_CACHE_DIR=str(tmp_path))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:50], whole[:-1], whole[:200] + b"\0" * 8 + whole[208:]):
        path.write_bytes(damaged)
        again = in_process(JIT_TWICE, TREADLE_CACHE_DIR=str(tmp_path))
        assert again == lines((1, 0, 0), (0, 1, 0))
        assert path.read_bytes()[:8] == whole[:8]  # and written again


def test_the_folder_is_where_the_environment_says(tmp_path):
    in_process(JIT_TWICE, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert len(list((tmp_path / "xdg" / "treadle").iterdir())) == 1
    home = {k: "" for k in ("XDG_CACHE_HOME",)} | {"HOME": str(tmp_path / "home")}
    in_process(JIT_TWICE, **home)
    assert len(list((tmp_path / "home" / ".cache" / "treadle").iterdir())) == 1


@pytest.mark.parametrize("folder", ["", "off", "/dev/null/folder", "/proc/nowhere"])
def test_without_a_folder_nothing_is_written(tmp_path, folder):
    out = in_process(JIT_TWICE, TREADLE_CACHE_DIR=folder, HOME=str(tmp_path))
    assert out == lines((1, 0, 0), (1, 0, 0) if folder == "off" else (0, 1, 0))
    assert list(tmp_path.iterdir()) == []


def test_processes_may_write_at_once(tmp_path):
    here = str(pathlib.Path(__file__).parent)
    env = os.environ | {"TREADLE_CACHE_DIR": str(tmp_path)}
    code = PROGRAM.format(here=here) + JIT_TWICE
    processes = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in processes:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert [line.split("]")[0] + "]" for line in out.splitlines()] == [str(VALUES)] * 2
    assert len(list(tmp_path.iterdir())) == 1
