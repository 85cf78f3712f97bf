"""treadle.Builder: programs give what Python and TensorFlow say, and mistakes are named at once.

TensorFlow is asked in the Python that TREADLE_TENSORFLOW_PYTHON names, or in this one.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import treadle

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from builder_programs import PROGRAMS  # noqa: E402

PYTHON = os.environ.get("TREADLE_TENSORFLOW_PYTHON") or sys.executable


def values_of(graph, fetches, feeds=None, **options):
    session = treadle.Session(graph, **options)
    if treadle.Builder.init in graph:
        session.run([], targets=[treadle.Builder.init])
    return session.run(fetches, feeds or {})


def built(name):
    """A program's graph, what to fetch, what to feed, and what comes of it."""
    write, feeds, expected = PROGRAMS[name]
    g = treadle.Builder()
    fetches = [value.name for value in write(g)]
    return g.build(), fetches, {f"{k}:0": v for k, v in feeds.items()}, expected


@pytest.mark.parametrize("overlap", ["off", "on"])
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_python_gives(name, threads, overlap):
    graph, fetches, feeds, expected = built(name)
    values = values_of(graph, fetches, feeds, threads=threads, loop_overlap=overlap)
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right_and_stays_so_in_all_forms(name, tmp_path):
    graph, fetches, feeds, expected = built(name)
    ends = [f.split(":")[0] for f in fetches]
    assert [p for p in graph.check(ends) if p.kind != "note"] == []
    graph.to_file(tmp_path / "g.pb")
    keep = "fetches=" + ",".join(fetches + [treadle.Builder.init] * ("init" in graph))
    for changed in (
        treadle.Graph.from_file(tmp_path / "g.pb"),
        graph.run_passes("tfg-deps-to-chains{loop-overlap=on}"),
        graph.run_passes(f"tfg-default{{{keep}}}"),
        graph.run_passes("tfg-functional-to-region"),
    ):
        for value, wanted in zip(values_of(changed, fetches, feeds), expected, strict=True):
            np.testing.assert_array_equal(value, wanted)


def test_tensorflow_gives_the_same(tmp_path):
    """For the programs as tf.functions, and for the graphs that were built."""
    listed = []
    for name in PROGRAMS:
        graph, fetches, feeds, _ = built(name)
        graph.to_file(tmp_path / f"{name}.pb")
        feeds = {k: np.asarray(v).tolist() for k, v in feeds.items()}
        listed.append([name, str(tmp_path / f"{name}.pb"), fetches, feeds])
    (tmp_path / "graphs.json").write_text(json.dumps(listed))
    script = HERE / "builder_by_tensorflow.py"
    done = subprocess.run(
        [PYTHON, script, tmp_path / "out.npz", tmp_path / "graphs.json"],
        capture_output=True,
        text=True,
    )
    if "No module named 'tensorflow'" in done.stderr:
        pytest.skip(f"{PYTHON} has no TensorFlow; TREADLE_TENSORFLOW_PYTHON can name one that has")
    assert done.returncode == 0, done.stderr[-3000:]
    found = np.load(tmp_path / "out.npz")
    for name in PROGRAMS:
        graph, fetches, feeds, _ = built(name)
        for i, value in enumerate(values_of(graph, fetches, feeds)):
            np.testing.assert_array_equal(value, found[f"{name}/own/{i}"], name)
            np.testing.assert_array_equal(value, found[f"{name}/graph/{i}"], name)
