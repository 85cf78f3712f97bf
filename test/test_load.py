"""Some seconds of load_sessions.py, which runs for as long as one likes as a program."""

import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).with_name("load_sessions.py")


def test_many_callers_of_many_models_get_their_values():
    command = [sys.executable, PROGRAM, "--seconds", "6"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "calls a second" in done.stdout
