"""Checkpoints go to TensorFlow and back, bit for bit; skipped where TensorFlow isn't installed."""

import numpy as np
import pytest

import treadle

tf = pytest.importorskip("tensorflow")
ml_dtypes = pytest.importorskip("ml_dtypes")

EXTENSIONS = (".index", ".data-00000-of-00001")
RANDOM = np.random.default_rng(0)
NUMBERS = """float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool
complex64 complex128""".split()


def save(prefix, names, slices, tensors):
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=list(tensors)
    )


def copy_by_treadle(source, target, names, slices, dtypes, read_as=None):
    """Restores and saves again; gives what was restored."""
    with tf.Graph().as_default() as graph:
        read_from = tf.compat.v1.placeholder(tf.string, [], name="source")
        write_to = tf.compat.v1.placeholder(tf.string, [], name="target")
        read = tf.raw_ops.RestoreV2(
            prefix=read_from,
            tensor_names=[read_as or n for n in names],
            shape_and_slices=slices,
            dtypes=dtypes,
        )
        tf.raw_ops.SaveV2(
            prefix=write_to, tensor_names=names, shape_and_slices=slices, tensors=read, name="save"
        )
    session = treadle.Session(graph.as_graph_def().SerializeToString())
    session.run([], {"source": source, "target": target}, ["save"])
    fetches = [f"{read[0].op.name}:{i}" for i in range(len(names))]
    return session.run(fetches, {"source": source})


def assert_same_files(one, other):
    for extension in EXTENSIONS:
        with open(one + extension, "rb") as a, open(other + extension, "rb") as b:
            assert a.read() == b.read(), extension


def check(folder, tensors, slices=None):
    names = list(tensors)
    values = [tf.constant(value) for value in tensors.values()]
    slices = slices or [""] * len(names)
    theirs, ours = f"{folder}/theirs", f"{folder}/ours"
    save(theirs, names, slices, values)
    restored = copy_by_treadle(theirs, ours, names, slices, [v.dtype for v in values])
    for got, value in zip(restored, values, strict=True):
        wanted = value.numpy()
        if value.dtype == tf.string:
            assert got.tolist() == wanted.tolist()
        else:
            assert got.tobytes() == wanted.tobytes()
    assert_same_files(theirs, ours)


def test_every_dtype(tmp_path):
    tensors = {kind: (RANDOM.random((3, 5)) * 100).astype(kind) for kind in NUMBERS}
    tensors["bfloat16"] = RANDOM.random(4).astype(ml_dtypes.bfloat16)
    tensors["string"] = [b"", b"abc", b"x" * 300, b"\0\1"]
    tensors |= {"scalar": np.float32(3), "empty": np.zeros((0, 4), np.float32)}
    check(tmp_path, tensors)


def test_many_variables(tmp_path):
    check(tmp_path, {f"layer_{i % 7}/{i:05d}/kernel": np.float32(i) for i in range(3000)})


def test_large_variables(tmp_path):
    check(tmp_path, {"large": RANDOM.random((700, 1000))})


def test_partitioned_variables(tmp_path):
    full = RANDOM.random((10, 6)).astype(np.float32)
    slices = ["10 6 0,4:-", "10 6 4,6:-"]
    theirs, ours = f"{tmp_path}/theirs", f"{tmp_path}/ours"
    save(theirs, ["v", "v"], slices, [full[:4], full[4:]])
    parts = copy_by_treadle(theirs, ours, ["v", "v"], slices, [tf.float32] * 2)
    np.testing.assert_array_equal(np.concatenate(parts), full)
    assert_same_files(theirs, ours)
    slices = ["", "10 6 2,5:1,3"]
    whole = copy_by_treadle(theirs, ours, ["v", "part"], slices, [tf.float32] * 2, read_as="v")
    np.testing.assert_array_equal(whole[0], full)
    np.testing.assert_array_equal(whole[1], full[2:7, 1:4])


def dense_table_by_treadle(restored, path):
    """Restores a dense table, changes it, and saves it again; gives what it finds."""
    with tf.Graph().as_default() as graph:
        one = tf.raw_ops.RestoreV2(
            prefix=restored,
            tensor_names=["keys", "values"],
            shape_and_slices=["", ""],
            dtypes=[tf.string, tf.int64],
        )
        table = tf.raw_ops.MutableDenseHashTableV2(
            empty_key="", deleted_key="$", value_dtype=tf.int64, initial_num_buckets=4, name="t"
        )
        tf.raw_ops.LookupTableImportV2(
            table_handle=table, keys=one[0], values=one[1], name="restore"
        )
        tf.raw_ops.LookupTableRemoveV2(table_handle=table, keys=["key 7"], name="remove")
        more = [f"more {i}" for i in range(50)]
        tf.raw_ops.LookupTableInsertV2(
            table_handle=table, keys=more, values=tf.range(50, dtype=tf.int64), name="insert"
        )
        tf.raw_ops.LookupTableFindV2(
            table_handle=table,
            keys=["key 3", "key 7", "more 8"],
            default_value=tf.constant(-1, tf.int64),
            name="find",
        )
        keys, values = tf.raw_ops.LookupTableExportV2(
            table_handle=table, Tkeys=tf.string, Tvalues=tf.int64
        )
        tf.raw_ops.SaveV2(
            prefix=path,
            tensor_names=["keys", "values"],
            shape_and_slices=["", ""],
            tensors=[keys, values],
            name="save",
        )
    session = treadle.Session(graph.as_graph_def().SerializeToString())
    for target in ("restore", "remove", "insert", "save"):
        session.run([], targets=[target])
    return session.run("find").tolist()


def test_dense_tables(tmp_path):
    theirs, ours, again = (f"{tmp_path}/{name}" for name in ("theirs", "ours", "again"))
    table = tf.lookup.experimental.DenseHashTable(
        tf.string, tf.int64, -1, empty_key="", deleted_key="$", initial_num_buckets=4
    )
    table.insert(tf.constant([f"key {i}" for i in range(40)]), tf.range(40, dtype=tf.int64))
    table.remove(tf.constant(["key 5"]))
    save(theirs, ["keys", "values"], ["", ""], table.export())
    assert dense_table_by_treadle(theirs, ours) == [3, -1, 8]
    # TensorFlow does the same, and keeps the same buckets.
    table.remove(tf.constant(["key 7"]))
    table.insert(tf.constant([f"more {i}" for i in range(50)]), tf.range(50, dtype=tf.int64))
    save(again, ["keys", "values"], ["", ""], table.export())
    assert_same_files(ours, again)
    # It finds every key in what was saved here.
    fresh = tf.lookup.experimental.DenseHashTable(
        tf.string, tf.int64, -1, empty_key="", deleted_key="$", initial_num_buckets=8
    )
    keys, values = tf.raw_ops.RestoreV2(
        prefix=ours,
        tensor_names=["keys", "values"],
        shape_and_slices=["", ""],
        dtypes=[tf.string, tf.int64],
    )
    tf.raw_ops.LookupTableImportV2(table_handle=fresh.resource_handle, keys=keys, values=values)
    found = fresh.lookup(tf.constant(["key 39", "more 49", "key 5", "key 7"])).numpy().tolist()
    assert found == [39, 49, -1, -1]
    assert fresh.size().numpy() == 88
