"""A few seconds of fuzz_sessions.py, which runs for as long as one likes as a program."""

import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).with_name("fuzz_sessions.py")


def test_graphs_with_something_wrong_give_values_or_errors():
    command = [sys.executable, PROGRAM, "--seconds", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 20  # graphs
