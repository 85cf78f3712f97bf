"""Graphs that TensorFlow made, to tf_executor and back: equal as messages.

They lie outside this repository: TREADLE_SHARED, or ../shared, holds corpus/ and programs/. A
sample of the corpus by default; TREADLE_WHOLE_CORPUS=1 takes all of it.
"""

import os
import pathlib
import tarfile

import pytest

import treadle

ROOT = pathlib.Path(__file__).parents[1]
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
WHOLE = os.environ.get("TREADLE_WHOLE_CORPUS") == "1"
PER_ARCHIVE = 12

# Graphs that tf_executor can't represent, by a part of the error.
IMPOSSIBLE = ["closes a cycle", "function 'main' has the name"]


def needed(folder):
    path = SHARED / folder
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path


def graphs():
    for archive in sorted(needed("corpus/cases").glob("*.tar.xz")):
        with tarfile.open(archive) as tar:
            names = [member for member in tar if member.name.endswith("/graph.pb")]
            step = 1 if WHOLE else max(1, len(names) // PER_ARCHIVE)
            for member in names[::step]:
                yield f"{archive.name}:{member.name}", tar.extractfile(member).read()


def there_and_back(data):
    """Describes the fault of a round trip, or returns None."""
    graph = treadle.Graph.from_bytes(data)
    try:
        text = graph.run_passes("tfg-to-tf-executor").text()
    except treadle.Error as error:
        return None if any(part in str(error) for part in IMPOSSIBLE) else f"there: {error}"
    if "tfg.graph" in text or "tf_executor.graph" not in text:
        return "no tf_executor"
    try:
        back = treadle.Graph.from_bytes(text.encode())
    except treadle.Error as error:
        return f"back: {error}"
    # The bytes of equal graphs are equal.
    return None if back.to_bytes() == graph.to_bytes() else "another graph"


def test_corpus():
    problems, number = [], 0
    for name, data in graphs():
        number += 1
        if problem := there_and_back(data):
            problems.append(f"{name}: {problem}")
    assert not problems, f"{len(problems)} of {number}:\n" + "\n".join(problems[:40])
    assert number > 100


def test_countdown():
    session = treadle.Session(str(needed("programs") / "countdown.tf_executor.mlir"))
    assert session.run(["tf.Exit:0"])[0] == 0
    assert session.run(["dec:0"])[0] == 31
