"""Readers: records of the files whose names a queue gives."""

import threading

import pytest

import treadle


def node(name, op, *inputs, **attrs):
    lines = [f'input: "{value}"' for value in inputs]
    lines += [f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items()]
    return f'node {{ name: "{name}" op: "{op}" ' + " ".join(lines) + " }"


def session(kind, **attrs):
    strings = "list { type: DT_STRING }"
    nodes = [
        node("name", "Placeholder", dtype="type: DT_STRING"),
        node("count", "Placeholder", dtype="type: DT_INT64"),
        node("queue", "FIFOQueueV2", component_types=strings),
        node("put", "QueueEnqueueV2", "queue", "name", Tcomponents=strings),
        node("close", "QueueCloseV2", "queue"),
        node("reader", kind + "V2", **attrs),
        node("read", "ReaderReadV2", "reader", "queue"),
        node("some", "ReaderReadUpToV2", "reader", "queue", "count"),
        node("records", "ReaderNumRecordsProducedV2", "reader"),
        node("files", "ReaderNumWorkUnitsCompletedV2", "reader"),
        node("state", "ReaderSerializeStateV2", "reader"),
        node("restore", "ReaderRestoreStateV2", "reader", "name"),
        "versions { producer: 2474 }",
    ]
    return treadle.Session("\n".join(nodes).encode(), allow_read="/")


def read_all(s, paths):
    for path in paths:
        s.run([], {"name": str(path)}, ["put"])
    s.run([], targets=["close"])
    records = []
    while True:
        try:
            key, value = s.run(["read:0", "read:1"])
        except treadle.OutOfRangeError:
            return records
        records.append((key.item().decode().rsplit("/")[-1], value.item()))


@pytest.fixture
def files(tmp_path):
    def write(**contents):
        for name, content in contents.items():
            (tmp_path / name).write_bytes(content)
        return [tmp_path / name for name in contents]

    return write


def test_lines(files):
    paths = files(a=b"one\ntwo\r\n\nfour", b=b"", c=b"x\n")
    s = session("TextLineReader")
    lines = [("a:1", b"one"), ("a:2", b"two"), ("a:3", b""), ("a:4", b"four"), ("c:1", b"x")]
    assert read_all(s, paths) == lines
    assert s.run(["records", "files"]) == [5, 3]
    skipping = session("TextLineReader", skip_header_lines="i: 3")
    assert read_all(skipping, paths) == [("a:4", b"four")]


def test_records_of_one_size(files):
    sizes = {"header_bytes": "i: 2", "record_bytes": "i: 3", "footer_bytes": "i: 1"}
    paths = files(a=b"HH012345678F")
    whole = [("a:0", b"012"), ("a:1", b"345"), ("a:2", b"678")]
    assert read_all(session("FixedLengthRecordReader", **sizes), paths) == whole
    hopping = session("FixedLengthRecordReader", hop_bytes="i: 5", **sizes)
    assert read_all(hopping, paths) == [("a:0", b"012"), ("a:1", b"567")]
    s = session("FixedLengthRecordReader", **sizes)
    with pytest.raises(treadle.OutOfRangeError, match="has 1 bytes, expected 2"):
        s.run([], {"name": str(files(b=b"H")[0])}, ["put"])
        s.run("read:0")


# Two records, "abc" and "", as TensorFlow writes them.
RECORDS = bytes.fromhex("0300000000000000b099490e6162636e57f121000000000000000029039807d8ea82a2")


def test_tfrecords(files):
    damaged = bytearray(RECORDS)
    damaged[13] ^= 1
    good, cut, bad = files(a=RECORDS, b=RECORDS[:20], c=bytes(damaged))
    s = session("TFRecordReader")
    assert read_all(s, [good, cut]) == [("a:0", b"abc"), ("a:19", b""), ("b:0", b"abc")]
    s = session("TFRecordReader")
    with pytest.raises(treadle.DataLossError, match="doesn't match its checksum"):
        read_all(s, [bad])


def test_whole_files_and_state(files):
    paths = files(a=b"first", b=b"second")
    s = session("WholeFileReader")
    assert read_all(s, paths) == [("a", b"first"), ("b", b"second")]
    s.run([], {"name": b"\x08\x05\x10\x05\x18\x07"}, ["restore"])
    assert s.run(["records", "files"]) == [7, 5]
    assert s.run("state").item() == b"\x08\x05\x10\x05\x18\x07"
    with pytest.raises(treadle.UnimplementedError, match="a reader of parts of files"):
        session("TextLineReader").run("state")


def test_some_records_are_of_one_file(files):
    s = session("TextLineReader")
    for path in files(a=b"1\n2\n3\n", b=b"4\n"):
        s.run([], {"name": str(path)}, ["put"])
    taken = [s.run("some:1", {"count": 2}).tolist() for _ in range(3)]
    assert taken == [[b"1", b"2"], [b"3"], [b"4"]]


def test_a_reader_waits_for_work(files):
    (path,) = files(a=b"late\n")
    s = session("TextLineReader")
    values = []
    thread = threading.Thread(target=lambda: values.append(s.run("read:1")))
    thread.start()
    s.run([], {"name": str(path)}, ["put"])
    thread.join()
    assert [v.item() for v in values] == [b"late"]
