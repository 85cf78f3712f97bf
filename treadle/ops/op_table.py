#!/usr/bin/env python3
"""Writes OpTable.txt: the signatures of all ops of an installed tensorflow.

    python3 treadle/ops/op_table.py            write the table
    python3 treadle/ops/op_table.py --check    only check that the table is up to date

Needs tensorflow (`pip install tensorflow-cpu`); run it by hand when tensorflow's version changes.
The table has names, types, attributes, defaults and flags, but no descriptions. table_format.py
describes the format. The table is read back and compared with the source.
"""

import argparse
import json
import pathlib
import sys

import numpy
import table_format as form
from tensorflow import __version__ as tensorflow_version
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

TABLE = pathlib.Path(__file__).with_name("OpTable.txt")

# Sets of dtypes that many attributes allow.
SETS = {
    "number": """f32 f64 i32 ui8 i16 i8 c64 i64 qi8 qui8 qi32 bf16 qi16 qui16 ui16 c128 f16 ui32
        ui64""".split(),
    "real": "f32 f64 i32 ui8 i16 i8 i64 bf16 ui16 f16 ui32 ui64".split(),
    "quantized": "qi8 qui8 qi32 qi16 qui16".split(),
    "floating": "f32 f64 bf16 f16".split(),
    "index": "i32 i64".split(),
}
SET_NAMES = {frozenset(dtypes): name for name, dtypes in SETS.items()}

FIELD_OF = {
    "string": "s",
    "int": "i",
    "float": "f",
    "bool": "b",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
FLAG_OF = {
    "stateful": "is_stateful",
    "commutative": "is_commutative",
    "aggregate": "is_aggregate",
    "uninitialized": "allows_uninitialized_input",
    "distributed": "is_distributed_communication",
}


def registered_ops():
    buffer = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return sorted(op_def_pb2.OpList.FromString(buffer).op, key=lambda op: op.name)


def kind_of(attr):
    is_list = attr.type.startswith("list(")
    return (attr.type[5:-1] if is_list else attr.type), is_list


def dims(shape):
    return None if shape.unknown_rank else tuple(d.size for d in shape.dim)


def tensor_value(tensor):
    if tensor.tensor_content or len(tensor.int_val) == 0:
        raise SystemExit(f"unsupported default value for a tensor: {tensor}")
    return tensor.dtype, dims(tensor.tensor_shape), tuple(tensor.int_val)


# Converters from protobuf messages to the values that table_format reads.
VALUE = {"shape": dims, "tensor": tensor_value, "func": lambda f: f.name}


def values(attr, message):
    kind, is_list = kind_of(attr)
    is_repeated = is_list or message is attr.allowed_values
    found = (
        getattr(message.list, FIELD_OF[kind]) if is_repeated else [getattr(message, FIELD_OF[kind])]
    )
    return tuple(VALUE.get(kind, lambda v: v)(v) for v in found)


def shape_text(shape):
    return "<*>" if shape is None else f"<{'x'.join(map(str, shape))}>"


def string_text(value):
    text = json.dumps(value.decode("latin-1"))
    return "".join(c if c.isalnum() or c in '"\\_-./:+@' else f"\\u{ord(c):04x}" for c in text)


TEXT = {
    "string": string_text,
    "int": str,
    "float": lambda v: str(numpy.float32(v)),
    "bool": lambda v: "true" if v else "false",
    "type": lambda v: form.DTYPES[v],
    "shape": shape_text,
    "tensor": lambda t: f"{form.DTYPES[t[0]]}{shape_text(t[1])}({','.join(map(str, t[2]))})",
    "func": json.dumps,
}


def arg_text(arg):
    if arg.type_list_attr:
        what = f"[{arg.type_list_attr}]"
    else:
        what = f"${arg.type_attr}" if arg.type_attr else form.DTYPES[arg.type]
    if arg.number_attr:
        what = f"${arg.number_attr}*{what}"
    return f"{arg.name}:{'&' if arg.is_ref else ''}{what}"


def attr_text(attr):
    kind, is_list = kind_of(attr)
    text = f"{attr.name}:{attr.type}"
    if attr.HasField("default_value"):
        default = ",".join(TEXT[kind](v) for v in values(attr, attr.default_value))
        text += f"=[{default}]" if is_list else f"={default}"
    if attr.has_minimum:
        text += f">={attr.minimum}"
    if attr.HasField("allowed_values"):
        allowed = values(attr, attr.allowed_values)
        if kind == "type":
            allowed = sorted(allowed)
        texts = [TEXT[kind](v) for v in allowed]
        text += "{%s}" % (SET_NAMES.get(frozenset(texts)) or ",".join(texts))
    return text


def flag_texts(op):
    flags = [flag for flag in form.FLAGS if getattr(op, FLAG_OF[flag])]
    if op.HasField("deprecation"):
        flags.append(f"deprecated={op.deprecation.version}")
    return flags


def op_text(op):
    signature = [op.name, *map(arg_text, op.input_arg), "->", *map(arg_text, op.output_arg)]
    parts = [signature, [attr_text(a) for a in op.attr], flag_texts(op)]
    while not parts[-1]:
        parts.pop()
    return " | ".join(" ".join(part) for part in parts).replace("|  |", "| |")


def table_text(ops):
    lines = [
        f"# Written by op_table.py from tensorflow {tensorflow_version}: {len(ops)} ops.",
        "# The form is described in table_format.py.",
    ]
    lines += [f"types {name} = {' '.join(dtypes)}" for name, dtypes in SETS.items()]
    return "\n".join(lines + [op_text(op) for op in ops]) + "\n"


def same_values(kind, read, source):
    if kind == "float":
        return [numpy.float32(v) for v in read] == [numpy.float32(v) for v in source]
    return tuple(read) == tuple(source)


def check_attr(read, attr):
    kind, is_list = kind_of(attr)
    assert (read.name, read.kind, read.is_list) == (attr.name, kind, is_list)
    assert (read.default is not None) == attr.HasField("default_value")
    if read.default is not None:
        found = values(attr, attr.default_value)
        assert len(read.default) == len(found) and same_values(kind, read.default, found)
    assert (read.minimum is not None) == attr.has_minimum and (read.minimum or 0) == attr.minimum
    allowed = values(attr, attr.allowed_values)
    assert same_values(kind, read.allowed, sorted(allowed) if kind == "type" else allowed)


def check_arg(read, arg):
    assert read == form.Arg(
        arg.name, arg.type, arg.type_attr, arg.number_attr, arg.type_list_attr, arg.is_ref
    )


def check_op(read, op):
    """Checks that parsing the written lines returns the same ops."""
    assert read.name == op.name and read.deprecated == op.deprecation.version
    assert read.flags == {flag for flag, field in FLAG_OF.items() if getattr(op, field)}
    assert not op.control_output
    for mine, other, check in (
        (read.inputs, op.input_arg, check_arg),
        (read.outputs, op.output_arg, check_arg),
        (read.attrs, op.attr, check_attr),
    ):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            check(a, b)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()

    ops = registered_ops()
    text = table_text(ops)
    for read, op in zip(form.parse_table(text), ops, strict=True):
        try:
            check_op(read, op)
        except AssertionError as error:
            raise SystemExit(f"op '{op.name}': reading '{op_text(op)}' gives {read}") from error
    if args.check:
        if TABLE.read_text() != text:
            raise SystemExit(f"{TABLE} doesn't match the ops of tensorflow {tensorflow_version}")
    else:
        TABLE.write_text(text)
    print(f"{len(ops)} ops of tensorflow {tensorflow_version}, {len(text)} bytes")


if __name__ == "__main__":
    sys.exit(main())
