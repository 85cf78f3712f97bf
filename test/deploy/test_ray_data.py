"""examples/ray_data.py on a local Ray of several processes."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import ray_data

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORDS = ROOT / "examples" / "words"


def test_the_example_prints_the_sum():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "ray_data.py", WORDS],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.splitlines()[-1:] == [str(2.5 * sum(range(100_000)))], done.stderr[-4000:]


def watched(place):
    """The example's class: each process writes its number down, and one waits to be killed."""

    class Watched(ray_data.Scale):  # in a function, so that Ray sends it as it is
        def __call__(self, batch):
            (place / f"process-{os.getpid()}").touch()
            try:
                with (place / "waiting").open("x") as file:
                    file.write(str(os.getpid()))
            except FileExistsError:
                return super().__call__(batch)
            time.sleep(120)
            raise AssertionError("it was not killed")

    return Watched


def kill_who_waits(place):
    waiting = place / "waiting"
    while not waiting.exists() or not waiting.read_text():
        time.sleep(0.05)
    os.kill(int(waiting.read_text()), signal.SIGKILL)
    (place / "killed").touch()


def test_no_row_is_lost_when_a_process_is_killed_in_a_batch(local_ray, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_data, "Scale", watched(tmp_path))
    killer = threading.Thread(target=kill_who_waits, args=[tmp_path], daemon=True)
    killer.start()
    rows = local_ray.data.range(20_000, override_num_blocks=8)
    result = ray_data.scaled(rows, str(WORDS)).to_pandas().sort_values("id")
    assert (tmp_path / "killed").exists()
    assert result["id"].tolist() == list(range(20_000))
    np.testing.assert_array_equal(result["scaled"], 2.5 * np.arange(20_000, dtype=np.float32))
    assert len(list(tmp_path.glob("process-*"))) == 3
