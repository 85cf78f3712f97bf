"""The `treadle` command on graphs written down in a test."""

import os
import pathlib
import subprocess

import treadle

BINARIES = pathlib.Path(treadle.__file__).parents[2] / "bin"
BINARY = os.environ.get("TREADLE_BIN", BINARIES / "treadle")


def on_text(command, folder):
    """A function of a graph's text and options that gives exit status, output and errors."""

    def run(text, *options):
        path = folder / "graph.pbtxt"
        path.write_text(text)
        line = [BINARY, command, path, *options]
        done = subprocess.run(line, capture_output=True, timeout=60, text=True)
        return done.returncode, done.stdout, done.stderr

    return run
