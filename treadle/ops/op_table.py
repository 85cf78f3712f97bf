#!/usr/bin/env python3
"""Writes OpTable.txt: what each op takes, gives and is, from an installed tensorflow.

    python3 treadle/ops/op_table.py            write the table
    python3 treadle/ops/op_table.py --check    only say whether it is what would be written

Needs tensorflow (`pip install tensorflow-cpu`); run it by hand when tensorflow's version changes.
Only facts are taken: names, types, attributes, defaults, flags; no descriptions. The form of the
file is described in table_format.py. What is written is read back and compared with the source.
"""

import argparse
import json
import pathlib
import sys

import numpy
import table_format as form
from tensorflow import __version__ as tensorflowVersion
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

FIELD_OF = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape",
            "tensor": "tensor", "func": "func"}
FLAG_OF = {"stateful": "is_stateful", "commutative": "is_commutative", "aggregate": "is_aggregate",
           "uninitialized": "allows_uninitialized_input",
           "distributed": "is_distributed_communication"}


def registeredOps():
    buffer = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return sorted(op_def_pb2.OpList.FromString(buffer).op, key=lambda op: op.name)


def kindOf(attr):
    isList = attr.type.startswith("list(")
    return (attr.type[5:-1] if isList else attr.type), isList


def dims(shape):
    return None if shape.unknown_rank else tuple(d.size for d in shape.dim)


def tensorValue(tensor):
    if tensor.tensor_content or len(tensor.int_val) == 0:
        raise SystemExit(f"a default of this kind of tensor is new: {tensor}")
    return tensor.dtype, dims(tensor.tensor_shape), tuple(tensor.int_val)


# From a message to the values that table_format reads.
VALUE = {"shape": dims, "tensor": tensorValue, "func": lambda f: f.name}


def values(attr, message):
    kind, isList = kindOf(attr)
    isRepeated = isList or message is attr.allowed_values
    found = getattr(message.list, FIELD_OF[kind]) if isRepeated else [
        getattr(message, FIELD_OF[kind])]
    return tuple(VALUE.get(kind, lambda v: v)(v) for v in found)


def shapeText(shape):
    return "<*>" if shape is None else f"<{'x'.join(map(str, shape))}>"


def stringText(value):
    text = json.dumps(value.decode("latin-1"))
    return "".join(c if c.isalnum() or c in "\"\\_-./:+@" else f"\\u{ord(c):04x}" for c in text)


TEXT = {
    "string": stringText,
    "int": str,
    "float": lambda v: str(numpy.float32(v)),
    "bool": lambda v: "true" if v else "false",
    "type": lambda v: form.DTYPES[v],
    "shape": shapeText,
    "tensor": lambda t: f"{form.DTYPES[t[0]]}{shapeText(t[1])}({','.join(map(str, t[2]))})",
    "func": json.dumps,
}


def argText(arg):
    if arg.type_list_attr:
        what = f"[{arg.type_list_attr}]"
    else:
        what = f"${arg.type_attr}" if arg.type_attr else form.DTYPES[arg.type]
    if arg.number_attr:
        what = f"${arg.number_attr}*{what}"
    return f"{arg.name}:{'&' if arg.is_ref else ''}{what}"


def attrText(attr):
    kind, isList = kindOf(attr)
    text = f"{attr.name}:{attr.type}"
    if attr.HasField("default_value"):
        default = ",".join(TEXT[kind](v) for v in values(attr, attr.default_value))
        text += f"=[{default}]" if isList else f"={default}"
    if attr.has_minimum:
        text += f">={attr.minimum}"
    if attr.HasField("allowed_values"):
        allowed = values(attr, attr.allowed_values)
        if kind == "type":
            allowed = sorted(allowed)
        texts = [TEXT[kind](v) for v in allowed]
        text += "{%s}" % (SET_NAMES.get(frozenset(texts)) or ",".join(texts))
    return text


def flagTexts(op):
    flags = [flag for flag in form.FLAGS if getattr(op, FLAG_OF[flag])]
    if op.HasField("deprecation"):
        flags.append(f"deprecated={op.deprecation.version}")
    return flags


def opText(op):
    signature = [op.name, *map(argText, op.input_arg), "->", *map(argText, op.output_arg)]
    parts = [signature, [attrText(a) for a in op.attr], flagTexts(op)]
    while not parts[-1]:
        parts.pop()
    return " | ".join(" ".join(part) for part in parts).replace("|  |", "| |")


def tableText(ops):
    lines = [f"# Written by op_table.py from tensorflow {tensorflowVersion}: {len(ops)} ops.",
             "# The form is described in table_format.py."]
    lines += [f"types {name} = {' '.join(dtypes)}" for name, dtypes in SETS.items()]
    return "\n".join(lines + [opText(op) for op in ops]) + "\n"


def sameValues(kind, read, source):
    if kind == "float":
        return [numpy.float32(v) for v in read] == [numpy.float32(v) for v in source]
    return tuple(read) == tuple(source)


def checkAttr(read, attr):
    kind, isList = kindOf(attr)
    assert (read.name, read.kind, read.isList) == (attr.name, kind, isList)
    assert (read.default is not None) == attr.HasField("default_value")
    if read.default is not None:
        found = values(attr, attr.default_value)
        assert len(read.default) == len(found) and sameValues(kind, read.default, found)
    assert (read.minimum is not None) == attr.has_minimum and (read.minimum or 0) == attr.minimum
    allowed = values(attr, attr.allowed_values)
    assert sameValues(kind, read.allowed, sorted(allowed) if kind == "type" else allowed)


def checkArg(read, arg):
    assert read == form.Arg(arg.name, arg.type, arg.type_attr, arg.number_attr, arg.type_list_attr,
                            arg.is_ref)


def checkOp(read, op):
    """Reading the line back gives the op it was made from."""
    assert read.name == op.name and read.deprecated == op.deprecation.version
    assert read.flags == {flag for flag, field in FLAG_OF.items() if getattr(op, field)}
    assert not op.control_output
    for mine, other, check in ((read.inputs, op.input_arg, checkArg),
                               (read.outputs, op.output_arg, checkArg),
                               (read.attrs, op.attr, checkAttr)):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            check(a, b)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()

    ops = registeredOps()
    text = tableText(ops)
    for read, op in zip(form.parseTable(text), ops, strict=True):
        try:
            checkOp(read, op)
        except AssertionError as error:
            raise SystemExit(f"op '{op.name}': reading '{opText(op)}' gives {read}") from error
    if args.check:
        if TABLE.read_text() != text:
            raise SystemExit(f"{TABLE} is not what tensorflow {tensorflowVersion} gives")
    else:
        TABLE.write_text(text)
    print(f"{len(ops)} ops of tensorflow {tensorflowVersion}, {len(text)} bytes")


if __name__ == "__main__":
    sys.exit(main())
