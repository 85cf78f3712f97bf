"""Inferred shapes: they match the shapes of the values, and are at least as precise as those that
TensorFlow infers.

The corpus lies outside this repository: TREADLE_SHARED, or ../shared, holds it. TensorFlow runs
in the Python that TREADLE_TENSORFLOW_PYTHON names, or in this one.
"""

import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

import treadle

HERE = pathlib.Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("passes_on_corpus", HERE / "passes_on_corpus.py")
harness = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(harness)

PYTHON = os.environ.get("TREADLE_TENSORFLOW_PYTHON") or sys.executable
# TensorFlow calls these handles vectors of two, but makes scalars of them.
SCALAR_HANDLES = {"StackV2", "ResourceConditionalAccumulator"}


@pytest.fixture(scope="module")
def cases():
    if not harness.CORPUS.is_dir():
        pytest.skip(f"there is no {harness.CORPUS}")
    lines = (harness.CORPUS / "index.jsonl").read_text().splitlines()
    names = [json.loads(line)["dir"] for line in lines]
    files = {}
    for name in random.Random(7).sample(names, 400):
        archive, case = name.split("/", 1)
        files.setdefault(archive, []).append(case)
    replay = harness.load_replay()
    root = harness.CORPUS / "cases"
    return [
        (f"{archive}/{case}", found[case])
        for archive, wanted in files.items()
        for found in [replay.read(root / f"{archive}.tar.xz", set(wanted))]
        for case in wanted
    ]


def fits(shape, actual):
    return shape is None or (
        len(shape) == len(actual)
        and all(d is None or d < 0 or d == a for d, a in zip(shape, actual, strict=True))
    )


def inferred(graph, feeds=()):
    fed = f"{{feeds={','.join(feeds)}}}" if feeds else ""
    return graph.run_passes(f"tfg-shape-inference{fed}")


def test_values_have_the_shapes_that_follow(cases):
    bad, known, seen = [], 0, 0
    for name, files in cases:
        case = json.loads(files["case.json"])
        fed = dict.fromkeys(feed["tensor"] for call in case["calls"] for feed in call["feeds"])
        graph = inferred(treadle.Graph.from_bytes(files["graph.pb"]), fed)
        for call in case["calls"]:
            values = call["expect"].get("values", [])
            for fetch, value in zip(call["fetches"], values, strict=False):
                node, _, output = fetch.partition(":")
                shape = graph[node].outputs[int(output or 0)].shape
                seen += "shape" in value
                known += shape is not None and "shape" in value
                if "shape" in value and not fits(shape, value["shape"]):
                    bad.append((name, fetch, shape, value["shape"]))
    assert not bad, bad[:20]
    assert known > 0.75 * seen


def test_check_finds_no_fault_with_what_runs(cases):
    bad = []
    for name, files in cases:
        case = json.loads(files["case.json"])
        if any("error" in call["expect"] for call in case["calls"]):
            continue
        graph = treadle.Graph.from_bytes(files["graph.pb"])
        bad += [(name, p.message) for p in graph.check() if p.kind == "error"]
    assert not bad, bad[:20]


def compare(ours, theirs):
    if theirs is None:
        return "same"
    if ours is None:
        return "less"
    ours = [-1 if d is None else d for d in ours]
    if len(ours) != len(theirs):
        return "other"
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b and b >= 0]
    return "other" if any(a >= 0 for a, _ in pairs) else "less" if pairs else "same"


def test_as_precise_as_tensorflow(cases, tmp_path):
    if subprocess.run([PYTHON, "-c", "import tensorflow"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has no TensorFlow; TREADLE_TENSORFLOW_PYTHON can name one that has")
    paths = []
    for number, (_, files) in enumerate(cases):
        paths.append(tmp_path / f"{number}.pb")
        paths[-1].write_bytes(files["graph.pb"])
    command = [PYTHON, HERE / "shapes_by_tensorflow.py", *paths]
    done = subprocess.run(command, capture_output=True, timeout=600, text=True)
    assert not done.returncode, done.stderr[-2000:]
    counts, bad = {"same": 0, "less": 0, "other": 0}, []
    lines = done.stdout.splitlines()
    for (name, files), line in zip(cases, lines, strict=True):
        graph = inferred(treadle.Graph.from_bytes(files["graph.pb"]))
        if any(node.op in SCALAR_HANDLES for node in graph.nodes()):
            continue
        for node, shapes in (json.loads(line) or {}).items():
            for value, theirs in zip(graph[node].outputs, shapes, strict=True):
                verdict = compare(value.shape, theirs)
                counts[verdict] += 1
                if verdict != "same":
                    bad.append((name, node, value.shape, theirs))
    assert counts["other"] == 0 and counts["less"] <= 0.001 * counts["same"], bad[:20]


MISFIT = """
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
node { name: "b" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 4 } dim { size: -1 } } } } }
node { name: "m" op: "MatMul" input: "a" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 2474 }
"""


def test_check_names_shapes_that_cannot_be(tmp_path):
    path = tmp_path / "misfit.pbtxt"
    path.write_text(MISFIT)
    problems = [p for p in treadle.Graph.from_file(path).check() if p.kind == "error"]
    assert [p.message for p in problems] == [
        "node 'm': matrices of shapes [2,3] and [4,?] can't be multiplied: 3 columns, 4 rows"
    ]
