"""Processes that are killed while they save, disks that are full, and files that end too early."""

import importlib.util
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
SPEC = importlib.util.spec_from_file_location("make_words", EXAMPLES / "make_words.py")
make_words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_words)

SAVER = """
import sys
import treadle

model = treadle.load(sys.argv[1])
serve = model.signatures["serving_default"]
print("ready", flush=True)
while True:
    serve(x=[1])
    model.save()
"""


@pytest.fixture
def folder(tmp_path):
    return make_words.write_model(tmp_path / "model")


def test_a_model_that_is_saved_when_its_process_is_killed_can_be_loaded(folder):
    chance = random.Random(1)
    last = 0
    for _ in range(12):
        words = [sys.executable, "-c", SAVER, folder]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.05))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        calls = int(treadle.load(folder).variables()["calls"])
        assert calls >= last
        last = calls
    assert last > 10


FULL = """
import resource, signal, sys
import treadle

model = treadle.load(sys.argv[1])
model.signatures["serving_default"](x=[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for save in (lambda: model.save(), lambda: model.save(sys.argv[1] + "-copy")):
    try:
        save()
        print("saved")
    except treadle.Error as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("size", [0, 1, 10, 100])
def test_a_disk_that_is_full_loses_nothing(folder, size):
    before = sorted(p.name for p in folder.rglob("*"))
    words = [sys.executable, "-c", FULL, str(folder), str(size)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Error" in done.stdout
    assert sorted(p.name for p in folder.rglob("*")) == before
    assert treadle.load(folder).variables()["calls"] in (10, 11)


NODE = 'node { name: "%s" op: "NoOp" }\n'


def test_a_graph_that_comes_in_small_pieces(tmp_path):
    text = "".join(NODE % f"n{i}" for i in range(2000))
    for place in ("-", "/dev/stdin"):
        child = subprocess.Popen(
            [BINARY, "show", place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for begin in range(0, len(text), 10_000):
            child.stdin.write(text[begin : begin + 10_000])
            child.stdin.flush()
            time.sleep(0.005)
        shown, _ = child.communicate(timeout=60)
        assert child.returncode == 0 and "2000 nodes" in shown


def test_a_graph_that_ends_too_early():
    text = NODE % "n"
    for size in (1, len(text) // 2, len(text) - 3):
        words = [BINARY, "show", "-"]
        done = subprocess.run(words, input=text[:size], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr


def test_a_named_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = subprocess.Popen([BINARY, "show", pipe], stdout=subprocess.PIPE, text=True)
    pipe.write_text(NODE % "n")
    shown, _ = child.communicate(timeout=60)
    assert child.returncode == 0 and "1 node" in shown


LOADER = """
import sys
import treadle

try:
    treadle.load(sys.argv[1])
except treadle.Error as error:
    sys.exit(1)
"""

SHRINKER = """
import os, sys
while True:
    for size in (0, int(sys.argv[2]) // 2, int(sys.argv[2])):
        os.truncate(sys.argv[1], size)
"""


@pytest.mark.parametrize("what", ["graph.pb", "variables/variables.data-00000-of-00001"])
def test_files_that_shrink_while_they_are_read(folder, tmp_path, what):
    file = folder / what
    if what == "graph.pb":
        file = tmp_path / "graph.pbtxt"
        file.write_text("".join(NODE % f"n{i}" for i in range(20_000)))
    words = [sys.executable, "-c", SHRINKER, str(file), str(file.stat().st_size)]
    shrinker = subprocess.Popen(words)
    reader = (
        [BINARY, "show", file] if what == "graph.pb" else [sys.executable, "-c", LOADER, folder]
    )
    try:
        for _ in range(30):
            done = subprocess.run(reader, capture_output=True, text=True, timeout=60)
            assert done.returncode in (0, 1), done.stderr  # no signal
    finally:
        shrinker.kill()
        shrinker.wait()
