"""Summary writers: what is written is a file of records that TensorBoard reads."""

import struct

import pytest

import treadle


def node(name, op, *inputs, **attrs):
    lines = [f'input: "{value}"' for value in inputs]
    lines += [f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items()]
    return f'node {{ name: "{name}" op: "{op}" ' + " ".join(lines) + " }"


def placeholders(**dtypes):
    return [node(name, "Placeholder", dtype=f"type: {dtype}") for name, dtype in dtypes.items()]


def session():
    real, words = "type: DT_FLOAT", "DT_STRING"
    nodes = [
        *placeholders(folder=words, suffix=words, tag=words, graph=words, event=words),
        *placeholders(queue="DT_INT32", step="DT_INT64", value="DT_FLOAT"),
        node("writer", "SummaryWriter", shared_name='s: "writer"'),
        node("open", "CreateSummaryFileWriter", "writer", "folder", "queue", "queue", "suffix"),
        node("scalar", "WriteScalarSummary", "writer", "step", "tag", "value", T=real),
        node("graphs", "WriteGraphSummary", "writer", "step", "graph"),
        node("import", "ImportEvent", "writer", "event"),
        node("flush", "FlushSummaryWriter", "writer"),
        node("close", "CloseSummaryWriter", "writer"),
        "versions { producer: 2474 }",
    ]
    return treadle.Session("\n".join(nodes).encode(), allow_read="/", allow_write="/")


def records(path):
    data = path.read_bytes()
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        yield data[12 : 12 + size]
        data = data[16 + size :]


def test_events_are_written_in_order(tmp_path):
    s = session()
    s.run([], {"folder": str(tmp_path / "a"), "suffix": ".v2", "queue": 100}, ["open"])
    s.run([], {"step": 3, "tag": "loss", "value": 2.0}, ["scalar"])
    s.run([], {"step": 4, "graph": b""}, ["graphs"])
    s.run([], {"event": b"\x10\x09"}, ["import"])
    (path,) = (tmp_path / "a").iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".v2")
    s.run([], targets=["flush"])
    head, scalar, graph, imported = records(path)
    assert head[9:24] == b"\x1a\rbrain.Event:2"
    assert scalar[0] == 9 and scalar[9:] == b"\x10\x03*\r\n\x0b\n\x04loss\x15\0\0\0@"
    assert graph[9:] == b'\x10\x04"\x00' and imported == b"\x10\x09"


def test_a_writer_needs_a_file(tmp_path):
    s = session()
    scalar = {"step": 3, "tag": "loss", "value": 2.0}
    with pytest.raises(treadle.NotFoundError, match="run CreateSummaryFileWriter first"):
        s.run([], scalar, ["scalar"])
    s.run([], {"folder": str(tmp_path), "suffix": "", "queue": 0}, ["open"])
    with pytest.raises(treadle.DataLossError, match="not the bytes of a GraphDef"):
        s.run([], {"step": 1, "graph": b"\xff"}, ["graphs"])
    s.run([], targets=["close"])
    with pytest.raises(treadle.NotFoundError):
        s.run([], scalar, ["scalar"])
