"""Dense hash tables keep each key where TensorFlow does: their checkpoints have all buckets, and
keys are looked up in what is restored as it is. The buckets expected here are TensorFlow's."""

import numpy as np
import pytest

import treadle

EMPTY, DELETED = -1, -2


def session(empty=EMPTY, deleted=DELETED, key="int64", value="int64", value_shape=(), **attrs):
    graph = treadle.Graph.from_bytes(b"")

    def constant(name, number):
        graph.add("Const", name=name, attrs={"dtype": key, "value": np.array(number)})
        return name

    kinds = {"key_dtype": key, "value_dtype": value, "value_shape": value_shape}
    marks = [constant("empty", empty), constant("deleted", deleted)]
    graph.add("MutableDenseHashTableV2", marks, name="table", attrs={**kinds, **attrs})
    graph.add("Placeholder", name="keys", attrs={"dtype": key})
    graph.add("Placeholder", name="values", attrs={"dtype": value})
    pairs = ["table", "keys", "values"]
    graph.add("LookupTableInsertV2", pairs, name="insert")
    graph.add("LookupTableImportV2", pairs, name="import")
    graph.add("LookupTableFindV2", pairs, name="find")
    graph.add("LookupTableRemoveV2", ["table", "keys"], name="remove")
    graph.add("LookupTableSizeV2", ["table"], name="size")
    kinds = {"Tkeys": key, "Tvalues": value}
    graph.add("LookupTableExportV2", ["table"], name="export", attrs=kinds)
    return treadle.Session(graph)


def change(session, what, keys, values=None):
    feeds = {"keys": keys} if values is None else {"keys": keys, "values": values}
    session.run([], feeds, [what])


def buckets(session):
    return [array.tolist() for array in session.run(["export:0", "export:1"])]


def find(session, *keys, default=0):
    return session.run("find", {"keys": list(keys), "values": default}).tolist()


def test_keys_are_where_tensorflow_puts_them():
    table = session(initial_num_buckets=4)
    assert buckets(table) == [[[-1]] * 4, [[0]] * 4]
    change(table, "insert", [5, 1], [50, 10])
    assert buckets(table) == [[[-1], [5], [1], [-1]], [[0], [50], [10], [0]]]
    change(table, "insert", [9, 13], [90, 130])  # more than 0.8 of 4: twice as many buckets
    keys, values = [-1, 1, 9, -1, -1, 5, 13, -1], [0, 10, 90, 0, 0, 50, 130, 0]
    assert buckets(table) == [[[k] for k in keys], [[v] for v in values]]
    change(table, "remove", [1])
    keys[1] = DELETED
    assert buckets(table) == [[[k] for k in keys], [[v] for v in values]]
    assert table.run("size") == 3
    assert find(table, 5, 9, 13, 1, 2) == [50, 90, 130, 0, 0]


def test_strings_and_vectors_of_numbers():
    table = session("", "$", "string", "float32", (2,), initial_num_buckets=8)
    change(table, "insert", ["a", "b", "c"], [[1, 2], [3, 4], [5, 6]])
    keys, values = buckets(table)
    assert keys == [[b""], [b""], [b"b"], [b""], [b"a"], [b"c"], [b""], [b""]]
    assert values[4] == [1, 2] and values[2] == [3, 4] and values[0] == [0, 0]
    table = session([0, 0], [1, 1], initial_num_buckets=8)
    change(table, "insert", [[5, 1], [2, 3]], [50, 10])
    keys, values = buckets(table)
    assert keys == [[0, 0], [2, 3], [0, 0], [0, 0], [5, 1], [0, 0], [0, 0], [0, 0]]
    assert values == [[0], [10], [0], [0], [50], [0], [0], [0]]


def test_what_is_exported_can_be_imported():
    table = session(initial_num_buckets=4)
    change(table, "insert", list(range(100)), list(range(100, 200)))
    change(table, "remove", [3, 50])
    saved = buckets(table)
    again = session(initial_num_buckets=16)
    change(again, "insert", [1000], [1])
    change(again, "import", *saved)
    assert buckets(again) == saved
    assert again.run("size") == 98
    assert find(again, 99, 0, 3, 1000) == [199, 100, 0, 0]
    change(again, "insert", [3], [7])
    assert find(again, 3) == [7]


def test_pairs_that_nobody_laid_out_are_laid_out():
    table = session(initial_num_buckets=4)
    change(table, "import", [[4], [1], [-1], [2]], [[40], [10], [0], [20]])
    assert find(table, 4, 1, 2) == [40, 10, 20]
    keys = buckets(table)[0]
    assert keys == [[4], [1], [2], [-1]]  # their hashes are their own values
    change(table, "import", [[1], [2], [3]], [[10], [20], [30]])
    assert buckets(table)[0] == [[-1], [1], [2], [3]]


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"initial_num_buckets": 6}, "initial_num_buckets is 6, expected a power of two"),
        ({"max_load_factor": 1.0}, "max_load_factor is 1, expected a value between 0 and 1"),
        ({"deleted": EMPTY}, "empty_key and deleted_key are equal"),
        ({"deleted": [1, 2]}, r".*deleted_key is int64\[2\], expected the same dtype and shape"),
    ],
)
def test_tables_that_cannot_be(attrs, message):
    with pytest.raises(treadle.InvalidArgumentError, match=f"node 'table' .*: {message}"):
        session(**attrs).run("size")


@pytest.mark.parametrize("what", ["insert", "find", "remove"])
@pytest.mark.parametrize("key", [EMPTY, DELETED])
def test_keys_that_mark_buckets_cannot_be_used(what, key):
    values = None if what == "remove" else [0]
    message = f"node '{what}' .*: key 1 is the table's empty_key or deleted_key"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        change(session(), what, [5, key], values and [1, 2])


def test_buckets_of_another_shape():
    message = r"shapes are \[4,2\] and \[4,1\], expected \[n,1\] and \[n,1\]"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        change(session(), "import", np.zeros((4, 2), np.int64), np.zeros((4, 1), np.int64))


def test_a_table_without_a_deleted_key_keeps_its_keys():
    graph = treadle.Graph.from_bytes(b"")
    graph.add("Const", name="empty", attrs={"dtype": "int64", "value": np.array(-1)})
    kinds = {"key_dtype": "int64", "value_dtype": "int64", "value_shape": ()}
    graph.add("MutableDenseHashTable", ["empty"], name="table", attrs=kinds)
    graph.add("Const", name="keys", attrs={"dtype": "int64", "value": np.array([3, 4])})
    graph.add("LookupTableInsert", ["table", "keys", "keys"], name="insert")
    graph.add("LookupTableSize", ["table"], name="size")
    table = treadle.Session(graph)
    table.run([], targets=["insert"])
    assert table.run("size").item() == 2
