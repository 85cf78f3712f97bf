"""`check` and `explain` on graphs that TensorFlow's own tests ran, where that corpus is at hand.

Traces of tf.function are ordered: check must be silent on them. Every loop gets an answer.
The corpus lies outside this repository: TREADLE_SHARED, or ../shared, holds corpus/index.jsonl.
"""

import json
import os
import pathlib
import tarfile

import pytest

import treadle

SHARED = pathlib.Path(
    os.environ.get("TREADLE_SHARED", pathlib.Path(__file__).parents[2] / "shared")
)
CORPUS = SHARED / "corpus"
LOOPS = {"While", "StatelessWhile", "For", "Enter", "RefEnter"}


def cases(is_wanted):
    """Name, index row, graph and case.json of those of the corpus that are wanted."""
    if not (CORPUS / "index.jsonl").exists():
        pytest.skip(f"there is no {CORPUS / 'index.jsonl'}")
    rows = map(json.loads, (CORPUS / "index.jsonl").read_text().splitlines())
    wanted = {row["dir"]: row for row in rows if is_wanted(row)}
    archives = {name.split("/", 1)[0] for name in wanted}
    for archive in sorted(archives):
        with tarfile.open(CORPUS / "cases" / f"{archive}.tar.xz") as tar:
            files = {m.name: m for m in tar if m.name.endswith(("/graph.pb", "/case.json"))}
            read = {name: tar.extractfile(member).read() for name, member in files.items()}
        for name, data in read.items():
            folder, file = name.rsplit("/", 1)
            row = wanted.get(f"{archive}/{folder}")
            if file == "graph.pb" and row:
                yield row["dir"], row, data, json.loads(read[f"{folder}/case.json"])


def is_by_v2(row):
    return row["mode"] == "v2" and not row["flags"]["expects_error"]


def test_check_is_silent_on_what_tf_function_made():
    found, count = [], 0
    for name, _, data, case in cases(is_by_v2):
        graph = treadle.Graph.from_bytes(data)
        for call in case["calls"]:
            asked = [*call["fetches"], *call.get("targets", [])]
            problems = graph.check(asked) if asked else []
            found += [f"{name}: {p.message}" for p in problems if p.kind != "note"]
        count += 1
    assert count > 1000 and not found, "\n".join(found[:20])


def has_loop(row):
    return bool(LOOPS & set(row["ops"]))


def test_every_loop_gets_an_answer():
    count, silent = 0, []
    for name, _, data, _ in cases(has_loop):
        explanation = treadle.Graph.from_bytes(data).explain()
        if not explanation.loops or not str(explanation):
            silent.append(name)
        for loop in explanation.loops:
            count += 1
            answers = loop.name and loop.in_auto and loop.when_on and loop.parallel_iterations
            if not answers or loop.starved:
                silent.append(f"{name}: {loop}")
    assert count > 500 and not silent, "\n".join(silent[:20])


MODELS = pathlib.Path(os.environ.get("TREADLE_MODELS", "no models"))


@pytest.mark.skipif(not MODELS.is_dir(), reason="TREADLE_MODELS names no folder of models")
def test_check_is_silent_on_models_and_their_loops_are_explained():
    for folder in sorted(path for path in MODELS.iterdir() if path.is_dir()):
        plain = folder / "graph.pb"
        graph = treadle.Graph.from_file(plain if plain.exists() else folder)
        assert [p for p in graph.check() if p.kind != "note"] == [], folder.name
        assert all(loop.in_auto and loop.when_on for loop in graph.explain().loops), folder.name
