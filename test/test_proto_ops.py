"""DecodeProtoV2 and EncodeProto. Values expected here are TensorFlow 2.21's."""

import pathlib
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from single_op_graphs import i32, run  # noqa: E402


def varint(n):
    n %= 1 << 64
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


TYPES = """double float int64 uint64 int32 fixed64 fixed32 bool string group message bytes uint32
    enum sfixed32 sfixed64 sint32 sint64""".split()


def field(name, n, kind, repeated=False, type_name=None, default=None, packed=None):
    out = text(1, name) + number(3, n) + number(4, 3 if repeated else 1)
    out += number(5, TYPES.index(kind) + 1)
    out += text(6, type_name) if type_name else b""
    out += text(7, default) if default is not None else b""
    return text(2, out + (text(8, number(2, packed)) if packed is not None else b""))


FIELDS = [
    field("whole", 1, "int32"),
    field("many", 2, "int32", repeated=True),
    field("packed", 3, "sint64", repeated=True, packed=True),
    field("inner", 4, "message", type_name=".pkg.M"),
    field("group", 5, "group", type_name=".pkg.M.Group"),
    field("name", 6, "string", default="hey"),
    field("raw", 7, "bytes", default="\\001\\377x\\n"),
    field("colour", 8, "enum", type_name=".pkg.Colour", default="BLUE"),
    field("plain_colour", 9, "enum", type_name=".pkg.Colour"),
    field("real", 10, "double", default="-inf"),
    field("small", 11, "float", default="2.5"),
    field("natural", 12, "uint64", default="18446744073709551615"),
    field("fixed", 13, "sfixed32", default="-4"),
    field("flag", 14, "bool", default="true"),
    field("names", 15, "string", repeated=True),
    field("signed", 16, "sint32", default="-6"),
    field("short", 17, "uint32"),
    field("doubles", 18, "double", repeated=True, packed=True),
]
GROUP = text(3, text(1, "Group") + field("x", 1, "int32"))
COLOUR = text(
    5,
    text(1, "Colour")
    + b"".join(
        text(2, text(1, name) + number(2, value)) for name, value in [("RED", 3), ("BLUE", -5)]
    ),
)
FILE = text(1, "f.proto") + text(2, "pkg") + text(4, text(1, "M") + b"".join(FIELDS) + GROUP)
SET = text(1, FILE + COLOUR)
PROTO3 = text(
    1, text(2, "p3") + text(4, text(1, "N") + field("many", 1, "int32", True)) + text(12, "proto3")
)


def quoted(data):
    return 's: "' + "".join(f"\\{byte:03o}" for byte in data) + '"'


def attributes(fields, source=b"bytes://" + SET, message="pkg.M"):
    names = ", ".join(f'"{name}"' for name in fields)
    return {
        "field_names": f"list {{ s: [{names}] }}",
        "message_type": f's: "{message}"',
        "descriptor_source": quoted(source),
    }


def decode(messages, fields, **given):
    """`fields`: the dtype of each."""
    types = ", ".join(f"DT_{dtype}" for dtype in fields.values())
    more = {key: given.pop(key) for key in ("message_format", "sanitize") if key in given}
    attrs = {**attributes(fields, **given), "output_types": f"list {{ type: [{types}] }}", **more}
    sizes, *values = run("DecodeProtoV2", [np.array(messages, object)], attrs, 1 + len(fields))
    return sizes.tolist(), [value.tolist() for value in values]


def encode(sizes, fields, **given):
    """`fields`: the values of each."""
    numpy_types = {
        "float32": "FLOAT",
        "float64": "DOUBLE",
        "int32": "INT32",
        "int64": "INT64",
        "object": "STRING",
    }
    types = ", ".join(f"DT_{numpy_types[str(v.dtype)]}" for v in fields.values())
    attrs = {**attributes(fields, **given), "Tinput_types": f"list {{ type: [{types}] }}"}
    return run("EncodeProto", [i32(sizes), *fields.values()], attrs).tolist()


def test_numbers_single_repeated_and_packed():
    message = number(1, -5) + number(2, 1) + number(2, 2) + text(3, varint(1) + varint(4))
    sizes, values = decode([b"", message], {"whole": "INT64", "many": "INT32", "packed": "INT64"})
    assert sizes == [[0, 0, 0], [1, 2, 2]]
    assert values == [[[0], [-5]], [[0, 0], [1, 2]], [[0, 0], [-1, 2]]]
    # Each may be encoded as the other, and the last of a single field counts.
    mixed = text(2, b"\1\2\3") + number(2, 9) + number(3, 3) + number(1, 1) + number(1, 2)
    sizes, values = decode([[mixed]], {"whole": "INT32", "many": "INT32", "packed": "INT64"})
    assert sizes == [[[1, 4, 1]]]
    assert values == [[[[2]]], [[[1, 2, 3, 9]]], [[[-2]]]]


def test_messages_and_groups_are_bytes():
    group = varint(5 << 3 | 3) + number(1, 6) + varint(5 << 3 | 4)
    unknown = varint(99 << 3 | 3) + group + number(1, 5) + varint(99 << 3 | 4)
    message = unknown + text(4, number(1, 4)) + group
    sizes, values = decode([message], {"inner": "STRING", "group": "STRING", "whole": "INT32"})
    assert sizes == [[1, 1, 0]]
    assert values == [[[number(1, 4)]], [[group]], [[0]]]


def test_defaults():
    fields = {
        "name": "STRING",
        "raw": "STRING",
        "colour": "INT32",
        "plain_colour": "INT32",
        "real": "DOUBLE",
        "small": "DOUBLE",
        "natural": "UINT64",
        "fixed": "INT32",
        "flag": "BOOL",
        "names": "STRING",
        "signed": "INT64",
    }
    sizes, values = decode([b""], fields)
    assert sizes == [[0] * len(fields)]
    flat = [value[0][0] for value in values]
    assert flat == [b"hey", b"\1\xffx\n", -5, 3, -np.inf, 2.5, 2**64 - 1, -4, True, b"", -6]


@pytest.mark.parametrize(
    "message",
    [
        b"\xff",
        number(1, 5)[:-1],
        varint(99 << 3 | 3),
        varint(99 << 3 | 4),
        b"\0\1",
        text(18, b"\1" * 9),
        text(4, b"abc")[:-1],
    ],
)
def test_what_is_no_message(message):
    with pytest.raises(treadle.DataLossError, match="element 1 of the input"):
        decode([b"", message], {"whole": "INT32", "doubles": "DOUBLE"})


@pytest.mark.parametrize(
    ("fields", "given", "match"),
    [
        ({"nope": "INT32"}, {}, "has no field 'nope'"),
        ({"whole": "STRING"}, {}, "is requested as str.*, expected"),
        ({"short": "INT64"}, {}, "expected"),
        ({"whole": "INT32"}, {"message": "pkg.Nope"}, "has no message 'pkg.Nope'"),
        ({"whole": "INT32"}, {"source": b"bytes://abc"}, "doesn't contain a FileDescriptorSet"),
        ({"whole": "INT32"}, {"message_format": 's: "x"'}, "expected 'binary' or 'text'"),
    ],
)
def test_attributes_that_make_no_sense(fields, given, match):
    with pytest.raises(treadle.InvalidArgumentError, match=match):
        decode([b""], fields, **given)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"message_format": 's: "text"'}, "message_format = text"),
        ({"sanitize": "b: true"}, "sanitize = true"),
        ({"source": b"local://"}, "linked into TensorFlow"),
    ],
)
def test_what_is_not_there(given, match):
    with pytest.raises(treadle.UnimplementedError, match=match):
        decode([b""], {"whole": "INT32"}, **given)


def test_a_file_of_descriptors_is_read_where_that_is_granted(tmp_path):
    path = tmp_path / "set.pb"
    path.write_bytes(SET)
    with pytest.raises(treadle.PermissionDeniedError):
        decode([b""], {"whole": "INT32"}, source=bytes(path))


def test_encoded_fields_stand_in_the_order_of_their_numbers():
    fields = {
        "packed": np.array([[-1, 300], [0, 0]]),
        "whole": i32([[-6], [7]]),
        "names": np.array([[b"a", b"bc"], [b"", b""]], object),
    }
    got = encode([[2, 1, 2], [0, 1, -1]], fields)
    first = number(1, -6) + text(3, varint(1) + varint(600)) + text(15, "a") + text(15, "bc")
    assert got == [first, number(1, 7)]


def test_encoded_dtypes():
    fields = {
        "group": np.array([[b"\x08\x04"]], object),
        "small": np.array([[1.5]]),
        "signed": np.array([[-5]], np.int64),
        "fixed": i32([[-2]]),
        "colour": i32([[-1]]),
    }
    group = varint(5 << 3 | 3) + b"\x08\x04" + varint(5 << 3 | 4)
    expected = group + number(8, -1) + b"\x5d\0\0\xc0\x3f" + b"\x6d\xfe\xff\xff\xff" + b"\x80\1\t"
    assert encode([[1] * 5], fields) == [expected]
    many = {"many": i32([[5, 6]])}
    assert encode([[2]], many) == [number(2, 5) + number(2, 6)]
    third = {"source": b"bytes://" + PROTO3, "message": "p3.N"}
    assert encode([[2]], many, **third) == [text(1, b"\5\6")]


def test_sizes_that_do_not_fit():
    with pytest.raises(treadle.InvalidArgumentError, match="message 0 has 3 values of 'many'"):
        encode([[3]], {"many": i32([[5, 6]])})
    with pytest.raises(treadle.InvalidArgumentError, match=r"sizes has shape \[1,2\]"):
        encode([[1, 1]], {"many": i32([[5, 6]])})
    with pytest.raises(treadle.InvalidArgumentError, match="rank 2 at least"):
        encode([1], {"many": i32([5])})
