"""Every pass and pipeline over a sample of graphs: the values stay those that were recorded.

The corpus lies outside this repository: TREADLE_SHARED, or ../shared, holds it. passes_on_corpus.py
runs the same by hand, on as many cases as wanted.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

SPEC = importlib.util.spec_from_file_location(
    "passes_on_corpus", pathlib.Path(__file__).with_name("passes_on_corpus.py")
)
harness = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(harness)

SAMPLES = {"calls": (["function_calls"], 25), "loops": (["cf_v1", "cf_v2"], 40), "all": ([], 40)}


@pytest.mark.parametrize("sample", SAMPLES)
def test_values_stay(sample):
    if not harness.CORPUS.is_dir():
        pytest.skip(f"there is no {harness.CORPUS}")
    flags, size = SAMPLES[sample]
    cases = harness.chosen_cases(flags=flags, sample=size)
    passes = list(harness.single_passes() | harness.pipelines())
    results = harness.run_cases(cases, passes, jobs=2, timeout=90)
    bad = [result for result in results if result[2]]
    assert not bad, harness.table(results, passes) + "\n" + "\n".join(map(str, bad[:20]))
    # Most cases pass as they are, so that the passes were put to the test.
    assert len(results) >= 0.8 * len(cases) * len(passes)


def test_every_pass_is_found():
    found = harness.single_passes()
    assert found["tfg-cse"] == ["keep", "feeds"]
    assert found["tfg-prune"] == ["fetches", "targets", "feeds"]
    assert "tfg-default" in harness.pipelines()


def test_options_name_what_is_asked_for():
    case = {"calls": [{"fetches": ["y:0"], "targets": ["t"], "feeds": [{"tensor": "x:0"}]}]}
    assert harness.spelled("p", ["keep"], case) == "p{keep=y,t,x}"
    assert harness.spelled("p", ["feeds", "targets"], case) == "p{feeds=x:0 targets=t,x}"
    assert harness.spelled("p", [], case) == "p"


def test_tensorflow_runs_what_passes_give():
    """A few graphs of what './dev conformance graphs' runs."""
    python = os.environ.get("TREADLE_TENSORFLOW_PYTHON") or sys.executable
    if subprocess.run([python, "-c", "import tensorflow"], capture_output=True).returncode:
        pytest.skip(f"{python} has no TensorFlow; TREADLE_TENSORFLOW_PYTHON can name one that has")
    if not harness.CORPUS.is_dir():
        pytest.skip(f"there is no {harness.CORPUS}")
    script = pathlib.Path(__file__).with_name("conformance") / "graphs.py"
    passes = ["tfg-prune-arguments", "tfg-functional-to-v1", "tfg-deps-to-chains"]
    named = [part for name in passes for part in ("--pass", name)]
    done = subprocess.run(
        [python, script, "--only", "while_v2_test/", "--sample", "3", "--jobs", "1", *named],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tfg-prune-arguments" in done.stdout
