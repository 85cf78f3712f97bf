"""Staging areas, session tensors and maps of sparse tensors keep what they get between runs."""

import threading

import numpy as np
import pytest

import treadle

TYPES = {
    "float32": "DT_FLOAT",
    "int32": "DT_INT32",
    "int64": "DT_INT64",
    "string": "DT_STRING",
}


def types(*names):
    return "list { " + " ".join(f"type: {TYPES[name]}" for name in names) + " }"


def node(name, op, *inputs, **attrs):
    lines = [f'input: "{value}"' for value in inputs]
    lines += [f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items()]
    return f'node {{ name: "{name}" op: "{op}" ' + " ".join(lines) + " }"


def placeholder(name, dtype):
    return node(name, "Placeholder", dtype=f"type: {TYPES[dtype]}")


def session(*nodes):
    return treadle.Session("\n".join([*nodes, "versions { producer: 2474 }"]).encode())


def staging(capacity=0):
    area = {"dtypes": types("float32", "int32"), "capacity": f"i: {capacity}"}
    name = {"shared_name": 's: "area"'}
    return session(
        placeholder("x", "float32"),
        placeholder("n", "int32"),
        node("put", "Stage", "x", "n", **area, **name),
        node("get", "Unstage", **area, **name),
        node("peek", "StagePeek", "n", **area, **name),
        node("size", "StageSize", **area, **name),
        node("clear", "StageClear", **area, **name),
    )


def test_a_staging_area_is_a_line():
    s = staging()
    for i in range(3):
        s.run([], {"x": float(i), "n": i}, ["put"])
    assert s.run("size") == 3
    assert s.run(["peek:0", "peek:1"], {"n": 2}) == [2, 2]
    assert s.run(["get:0", "get:1"]) == [0, 0]
    s.run([], targets=["clear"])
    assert s.run("size") == 0


def test_unstage_waits_for_a_stage_and_a_full_area_for_room():
    s = staging(capacity=1)
    taken = []
    taker = threading.Thread(target=lambda: taken.extend(s.run("get:0") for _ in range(50)))
    taker.start()
    for i in range(50):
        s.run([], {"x": float(i), "n": i}, ["put"])
    taker.join()
    assert taken == list(range(50))


@pytest.mark.parametrize("kind", ["Map", "OrderedMap"])
def test_parts_of_a_tuple_are_staged_by_key(kind):
    area = {"dtypes": types("float32", "int32"), "shared_name": 's: "area"'}
    s = session(
        placeholder("key", "int64"),
        placeholder("which", "int32"),
        placeholder("x", "float32"),
        placeholder("n", "int32"),
        node("x_in", kind + "Stage", "key", "which", "x", **area, fake_dtypes=types("float32")),
        node("n_in", kind + "Stage", "key", "which", "n", **area, fake_dtypes=types("int32")),
        node("out", kind + "Unstage", "key", "which", **area),
        node("any", kind + "UnstageNoKey", "which", **area),
        node("size", kind + "Size", **area),
        node("open", kind + "IncompleteSize", **area),
    )

    def put(key, target, **value):
        which = [0 if target == "x_in" else 1]
        s.run([], {"key": key, "which": which, **value}, [target])

    put(7, "x_in", x=0.5)
    assert s.run(["size", "open"]) == [0, 1]
    with pytest.raises(treadle.InvalidArgumentError, match="part 0 for key 7 is staged already"):
        put(7, "x_in", x=0.5)
    put(7, "n_in", n=3)
    put(4, "x_in", x=1.5)
    put(4, "n_in", n=5)
    assert s.run(["size", "open"]) == [2, 0]
    assert s.run(["any:0", "any:1", "any:2"], {"which": [0, 1]}) == [4, 1.5, 5]
    assert s.run(["out:0", "out:1"], {"key": 7, "which": [0, 1]}) == [0.5, 3]
    with pytest.raises(treadle.InvalidArgumentError, match="expected increasing indices"):
        s.run("out:0", {"key": 7, "which": [1, 0]})


def test_a_session_keeps_tensors_under_handles():
    s = session(
        placeholder("x", "float32"),
        placeholder("h", "string"),
        node("keep", "GetSessionHandle", "x", T="type: DT_FLOAT"),
        node("get", "GetSessionTensor", "h", dtype="type: DT_FLOAT"),
        node("forget", "DeleteSessionTensor", "h"),
    )
    handle = s.run("keep", {"x": [1.0, 2.0]})
    assert s.run("get", {"h": handle}).tolist() == [1, 2]
    s.run([], {"h": handle}, ["forget"])
    with pytest.raises(treadle.InvalidArgumentError, match="has no tensor with the handle"):
        s.run("get", {"h": handle})


def test_sparse_tensors_go_into_a_map_and_come_back_as_a_batch():
    name = {"shared_name": 's: "map"'}
    s = session(
        placeholder("i", "int64"),
        placeholder("v", "float32"),
        placeholder("d", "int64"),
        placeholder("numbers", "int64"),
        node("add", "AddManySparseToTensorsMap", "i", "v", "d", T="type: DT_FLOAT", **name),
        node("take", "TakeManySparseFromTensorsMap", "numbers", dtype="type: DT_FLOAT", **name),
    )
    numbers = s.run("add", {"i": [[0, 1], [2, 0]], "v": [5.0, 6.0], "d": [3, 2]})
    assert numbers.tolist() == [0, 2, 1]  # empty rows are numbered last
    values = s.run(["take:0", "take:1", "take:2"], {"numbers": np.array([1, 0])})
    assert [v.tolist() for v in values] == [[[0, 0], [1, 1]], [6, 5], [2, 2]]
    with pytest.raises(treadle.InvalidArgumentError, match="not yet taken"):
        s.run("take:0", {"numbers": [1]})
