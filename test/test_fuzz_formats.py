"""A few seconds of fuzz_formats.py, which runs for as long as one likes as a program."""

import pathlib
import re
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).with_name("fuzz_formats.py")


@pytest.mark.parametrize("kind", ["roundtrip", "text"])
def test_nothing_is_found(kind):
    command = [sys.executable, PROGRAM, kind, "--seconds", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    tried, read = map(int, re.search(r"(\d+) graphs, (\d+) of them", done.stdout).groups())
    assert tried >= 200
    assert read > tried / 100
