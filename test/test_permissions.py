"""Permissions: graphs can access nothing but their own files, unless it is granted."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

READ = "--allow-read"


def command(*words):
    return subprocess.run([BINARY, *words], capture_output=True, timeout=60, text=True)


def text_node(name, value):
    value = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_STRING }} }} '
        f'attr {{ key: "value" value {{ tensor {{ dtype: DT_STRING tensor_shape {{ }} '
        f'string_val: "{value}" }} }} }} }}\n'
    )


def op(name, kind, *inputs, **attrs):
    lines = [f'input: "{value}"' for value in inputs]
    lines += [f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items()]
    return f'node {{ name: "{name}" op: "{kind}" {" ".join(lines)} }}\n'


def reading(path):
    return text_node("path", path) + op("y", "ReadFile", "path")


def writing(path):
    return text_node("path", path) + text_node("text", "x") + op("y", "WriteFile", "path", "text")


@pytest.fixture
def place(tmp_path):
    """A folder with a model's in it, a file in each, and links that lead out."""
    model = tmp_path / "model"
    (model / "inner").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (model / "inner" / "own").write_text("own")
    (model / ".hidden").write_text("hidden")
    (model / "link").symlink_to(tmp_path / "secret")
    (model / "up").symlink_to(tmp_path)
    return tmp_path


def run(place, text, *options, fetch="y:0", target=None):
    path = place / "model" / "graph.pbtxt"
    path.write_text(text)
    wanted = ("--target", target) if target else ("--fetch", fetch)
    return command("run", path, *wanted, *options)


def test_a_model_reads_its_own_files(place):
    done = run(place, reading(place / "model" / "inner" / "own"))
    assert done.returncode == 0 and "b'own'" in done.stdout


@pytest.mark.parametrize(
    "path",
    ["secret", "model/../secret", "model/link", "model/up/secret", "model/.hidden", "/etc/passwd"],
)
def test_other_files_are_denied_by_name(place, path):
    path = os.path.join(place, path)
    done = run(place, reading(path))
    assert done.returncode == 1 and not done.stdout
    for part in ("node 'y'", "ReadFile", str(path), f"{READ} {path}"):
        assert part in done.stderr, done.stderr


def test_the_option_that_is_named_grants_it(place):
    done = run(place, reading(place / "secret"), READ, place / "secret")
    assert done.returncode == 0 and "b'secret'" in done.stdout
    done = run(place, reading(place / "model" / "up" / "secret"), READ, place)
    assert done.returncode == 0 and "b'secret'" in done.stdout


def test_writing_is_denied_unless_granted(place):
    for path in ("model/new", "new", "model/graph.pbtxt"):
        done = run(place, writing(place / path), target="y")
        assert done.returncode == 1 and "--allow-write" in done.stderr
    assert not (place / "new").exists() and not (place / "model" / "new").exists()
    out = place / "out"
    done = run(place, writing(out / "new"), "--allow-write", out, target="y")
    assert done.returncode == 0 and (out / "new").read_text() == "x"
    done = run(place, writing(out / ".." / "new"), "--allow-write", out, target="y")
    assert done.returncode == 1 and not (place / "new").exists()


def test_links_are_not_written_through(place):
    (place / "out").mkdir()
    (place / "out" / "dangling").symlink_to(place / "elsewhere")
    append = text_node("text", "x") + op(
        "y", "PrintV2", "text", output_stream=f's: "file://{place}/out/dangling"'
    )
    done = run(place, append, "--allow-write", place / "out", target="y")
    assert done.returncode == 1 and not (place / "elsewhere").exists()


def matching(pattern):
    return text_node("pattern", pattern) + op("y", "MatchingFiles", "pattern")


def test_folders_are_listed_where_they_may_be_read(place):
    done = run(place, matching(place / "model" / "*"))
    assert done.returncode == 0 and "link" in done.stdout
    for pattern in (place / "*", place / "none" / "*", place / "secret", "/etc/pass*"):
        done = run(place, matching(pattern))
        assert done.returncode == 1 and READ in done.stderr


OTHERS = {
    "print": text_node("t", "x") + op("y", "PrintV2", "t", output_stream='s: "file:///OUT/a"'),
    "save": text_node("p", "/OUT/a")
    + text_node("n", "v")
    + op("names", "Reshape", "n", "one", T="type: DT_STRING", Tshape="type: DT_INT32")
    + op(
        "one",
        "Const",
        dtype="type: DT_INT32",
        value="tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 }",
    )
    + op("y", "SaveV2", "p", "names", "names", "n", dtypes="list { type: DT_STRING }"),
    "restore": text_node("p", "/OUT/secret")
    + text_node("n", "v")
    + op("y", "Restore", "p", "n", dt="type: DT_STRING"),
    "reader": text_node("p", "/OUT/secret")
    + op("reader", "WholeFileReaderV2")
    + op(
        "queue",
        "FIFOQueueV2",
        component_types="list { type: DT_STRING }",
        shapes="list { shape { } }",
    )
    + op("put", "QueueEnqueueV2", "queue", "p", Tcomponents="list { type: DT_STRING }")
    + op("y", "ReaderReadV2", "reader", "queue", "^put"),
    "table": text_node("p", "/OUT/secret")
    + op("table", "HashTableV2", key_dtype="type: DT_STRING", value_dtype="type: DT_INT64")
    + op(
        "y", "InitializeTableFromTextFileV2", "table", "p", key_index="i: -2", value_index="i: -1"
    ),
    "constant": op(
        "y",
        "ImmutableConst",
        dtype="type: DT_INT8",
        shape="shape { dim { size: 2 } }",
        memory_region_name='s: "/OUT/secret"',
    ),
    "events": text_node("p", "/OUT/logs")
    + text_node("suffix", "")
    + op("writer", "SummaryWriter", shared_name='s: "w"')
    + op(
        "n",
        "Const",
        dtype="type: DT_INT32",
        value="tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 }",
    )
    + op("y", "CreateSummaryFileWriter", "writer", "p", "n", "n", "suffix"),
    "clock": op("y", "Timestamp"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_op_that_reaches_out_is_denied(name, place):
    text = OTHERS[name].replace("/OUT/", f"{place}/")
    before = sorted(place.rglob("*"))
    done = run(place, text, target="y")
    assert done.returncode == 1 and "is not allowed; --allow-" in done.stderr, done.stderr
    assert [p for p in sorted(place.rglob("*")) if p.name != "graph.pbtxt"] == before


def test_the_clock_is_granted(place):
    assert run(place, op("y", "Timestamp"), "--allow-clock").returncode == 0


def test_a_file_in_a_shared_folder_owns_nothing_beside_it(place):
    (place / "model").chmod(0o1777)
    done = run(place, reading(place / "model" / "inner" / "own"))
    assert done.returncode == 1 and READ in done.stderr


def test_a_file_in_a_home_owns_nothing_beside_it(place, monkeypatch):
    monkeypatch.setenv("HOME", str(place / "model"))
    done = run(place, reading(place / "model" / "inner" / "own"))
    assert done.returncode == 1 and READ in done.stderr


def test_a_graph_from_memory_has_no_files(place):
    graph = reading(place / "model" / "inner" / "own").encode()
    with pytest.raises(treadle.PermissionDeniedError, match=READ):
        treadle.Session(graph).run("y")
    for granted in (place, str(place), [place / "model"], (place / "model/inner/own",)):
        assert treadle.Session(graph, allow_read=granted).run("y") == b"own"
    with pytest.raises(TypeError, match="allow_read"):
        treadle.Session(graph, allow_read=3)


def test_what_passes_make_of_a_graph_keeps_its_files(place):
    path = place / "model" / "graph.pbtxt"
    path.write_text(reading(place / "model" / "inner" / "own"))
    graph = treadle.Graph.from_file(path).run_passes("tfg-cse")
    assert treadle.Session(graph).run("y") == b"own"
    graph.add("Identity", ["y"], name="z")
    assert treadle.Session(graph).run("z") == b"own"


def test_nothing_is_read_while_a_graph_is_folded(place):
    path = place / "model" / "graph.pbtxt"
    path.write_text(reading(place / "secret"))
    folded = treadle.Graph.from_file(path).run_passes("tfg-constant-folding")
    assert folded["y"].op == "ReadFile"


def test_exploring_has_the_files_of_a_run(place):
    path = place / "model" / "graph.pbtxt"
    path.write_text(reading(place / "model" / "inner" / "own"))
    done = command("explore", path, "--fetch", "y")
    assert done.returncode == 0, done.stderr
    path.write_text(reading(place / "secret"))
    done = command("explore", path, "--fetch", "y")
    assert done.returncode == 1 and READ in done.stderr


def test_show_and_check_list_what_a_model_asks_for(place):
    path = place / "model" / "graph.pbtxt"
    path.write_text(reading(place / "secret") + op("now", "Timestamp"))
    for name in ("show", "check"):
        out = command(name, path).stdout
        assert f"reading '{place}/secret' (ReadFile); {READ} {place}/secret" in out
        assert "the time of day (Timestamp); --allow-clock" in out


@pytest.mark.parametrize("name", OTHERS)
def test_check_lists_each_op_that_reaches_out(name, place):
    path = place / "model" / "graph.pbtxt"
    path.write_text(OTHERS[name].replace("/OUT/", f"{place}/"))
    asked = [line for line in command("check", path).stdout.splitlines() if "requires: " in line]
    assert len(asked) == 1 and " allows it" in asked[0]
    path.write_text(text_node("t", "x") + op("y", "PrintV2", "t"))
    assert "requires: " not in command("check", path).stdout


def test_a_budget_of_memory_ends_the_run_that_wants_more():
    fill = (
        op("dims", "Placeholder", dtype="type: DT_INT32")
        + op(
            "one",
            "Const",
            dtype="type: DT_FLOAT",
            value="tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 }",
        )
        + op("y", "Fill", "dims", "one", T="type: DT_FLOAT", index_type="type: DT_INT32")
    ).encode()
    for tier in ("interpret", "auto", "jit"):
        session = treadle.Session(fill, memory=1 << 20, tier=tier)
        assert session.run("y", {"dims": [1000]}).shape == (1000,)
        with pytest.raises(treadle.ResourceExhaustedError, match=r"'y' \(Fill\).*1048576"):
            session.run("y", {"dims": [1000, 1000]})
        assert session.run("y", {"dims": [1000]}).shape == (1000,)
    with pytest.raises(treadle.InvalidArgumentError, match="memory"):
        treadle.Session(fill, memory=-1)


def test_texts_count(place):
    double = op("x", "Placeholder", dtype="type: DT_STRING") + op(
        "y", "StringJoin", "x", "x", N="i: 2"
    )
    session = treadle.Session(double.encode(), memory=100_000)
    assert len(session.run("y", {"x": b"x" * 1000}).item()) == 2000
    with pytest.raises(treadle.ResourceExhaustedError, match="strings of"):
        session.run("y", {"x": b"x" * 90_000})


def test_what_stays_in_a_queue_counts():
    queue = (
        op("x", "Placeholder", dtype="type: DT_FLOAT")
        + op("twice", "AddV2", "x", "x", T="type: DT_FLOAT")
        + op("queue", "FIFOQueueV2", component_types="list { type: DT_FLOAT }", shapes="list { }")
        + op("put", "QueueEnqueueV2", "queue", "twice", Tcomponents="list { type: DT_FLOAT }")
        + op("take", "QueueDequeueV2", "queue", component_types="list { type: DT_FLOAT }")
    ).encode()
    session = treadle.Session(queue, memory=100_000)
    feed = {"x": np.ones(10_000, np.float32)}
    for _ in range(2):
        session.run([], feed, "put")
    with pytest.raises(treadle.ResourceExhaustedError):
        session.run([], feed, "put")
    session.run("take")
    session.run([], feed, "put")


@pytest.mark.parametrize("size", ["", "x", "-1", "2XB", "1e99GiB", "0"])
def test_sizes_of_memory_are_read(size, place):
    done = run(place, op("y", "Timestamp"), "--memory", size)
    assert done.returncode == 2 and "512MiB" in done.stderr


def test_the_command_takes_a_size(place):
    done = run(place, reading(place / "model" / "inner" / "own"), "--memory", "1.5MiB")
    assert done.returncode == 0
    done = run(place, reading(place / "model" / "inner" / "own"), "--memory", "10B")
    assert done.returncode == 1 and "session's memory limit" in done.stderr
