"""Processes that are killed while they save, and disks that are full: the old model or the new."""

import importlib.util
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

import treadle

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
