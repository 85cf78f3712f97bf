"""The command that is tested."""

import pathlib
import subprocess

BINARY = pathlib.Path(__file__).parent.parent.parent / "build" / "release" / "bin" / "treadle"


def view(*arguments):
    command = [BINARY, "view", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
