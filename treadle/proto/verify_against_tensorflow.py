#!/usr/bin/env python3
"""Compares the schemas in this folder with the descriptors of an installed tensorflow.

    python3 treadle/proto/verify_against_tensorflow.py [--protoc protoc]

Needs tensorflow and protoc; run it by hand when a schema or tensorflow's version changes. A field
must agree in number, name, type, cardinality, packing, presence, oneof and, for maps, in key and
value; an enum in names and numbers. A message of ours must have every field that tensorflow's has,
and no other. Exits 1 after listing all that differs.
"""

import argparse
import importlib
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor as Field

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = "treadle.pb"
THEIRS = "tensorflow"

# The modules of tensorflow that have the messages of our schemas.
MODULES = [
    "tensorflow.core.framework." + name
    for name in """attr_value full_type function graph graph_debug_info node_def op_def
    resource_handle tensor tensor_shape tensor_slice types variable versions""".split()
] + [
    "tensorflow.core.protobuf." + name
    for name in """composite_tensor_variant control_flow fingerprint meta_graph saved_model
    saved_object_graph saver struct tensor_bundle trackable_object_graph""".split()
]


def our_pool(protoc):
    # The wheel has no Python of chunk.proto's messages, which are not of tensorflow's package.
    files = sorted(
        str(p.relative_to(ROOT))
        for p in pathlib.Path(__file__).parent.glob("*.proto")
        if p.name != "chunk.proto"
    )
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(
            [protoc, f"--proto_path={ROOT}", "--include_imports", f"-o{out.name}", *files],
            check=True,
        )
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(
            pathlib.Path(out.name).read_bytes()
        )
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors.file:
        pool.Add(file)
    return [pool.FindFileByName(name) for name in files]


def walk(files):
    """Full name without the package -> descriptor, for messages and for enums."""
    messages, enums = {}, {}

    def visit(message, package):
        if message.GetOptions().map_entry:
            return
        messages[message.full_name[len(package) + 1 :]] = message
        for enum in message.enum_types:
            enums[enum.full_name[len(package) + 1 :]] = enum
        for nested in message.nested_types:
            visit(nested, package)

    for file in files:
        for enum in file.enum_types_by_name.values():
            enums[enum.full_name[len(file.package) + 1 :]] = enum
        for message in file.message_types_by_name.values():
            visit(message, file.package)
    return messages, enums


def type_name(field):
    if field.type in (Field.TYPE_MESSAGE, Field.TYPE_ENUM):
        target = field.message_type or field.enum_type
        if field.message_type is not None and target.GetOptions().map_entry:
            entry = target.fields_by_name
            return f"map<{type_name(entry['key'])}, {type_name(entry['value'])}>"
        name, package = target.full_name, target.file.package
        return name[len(package) + 1 :] if package in (OURS, THEIRS) else name
    names = {v: k for k, v in vars(Field).items() if k.startswith("TYPE_")}
    return names[field.type].removeprefix("TYPE_").lower()


def is_repeated(field):
    return (
        field.is_repeated if hasattr(field, "is_repeated") else field.label == Field.LABEL_REPEATED
    )


def facts(field):
    oneof = field.containing_oneof
    return {
        "number": field.number,
        "type": type_name(field),
        "repeated": is_repeated(field),
        "packed": is_repeated(field) and field.is_packed,
        "presence": field.has_presence,
        "oneof": oneof.name if oneof else None,
        "default": None if is_repeated(field) or field.message_type else field.default_value,
    }


def compare_messages(ours, theirs):
    problems = []
    for name, message in sorted(ours.items()):
        twin = theirs.get(name)
        if twin is None:
            problems.append(f"message {name}: tensorflow has none of this name")
            continue
        mine = {f.name: facts(f) for f in message.fields}
        other = {f.name: facts(f) for f in twin.fields}
        for field in sorted(mine.keys() | other.keys()):
            if mine.get(field) != other.get(field):
                problems.append(
                    f"field {name}.{field}: found {mine.get(field)}, expected {other.get(field)}"
                )
    return problems


def compare_enums(ours, theirs):
    problems = []
    for name, enum in sorted(ours.items()):
        if name not in theirs:
            problems.append(f"enum {name}: tensorflow has none of this name")
            continue
        mine = {(v.name, v.number) for v in enum.values}
        other = {(v.name, v.number) for v in theirs[name].values}
        problems += [f"enum {name}: {n} = {v} is not tensorflow's" for n, v in sorted(mine - other)]
        problems += [f"enum {name}: {n} = {v} is missing" for n, v in sorted(other - mine)]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protoc", default="protoc")
    args = parser.parse_args()

    import tensorflow

    our_messages, our_enums = walk(our_pool(args.protoc))
    their_messages, their_enums = walk(
        [importlib.import_module(m + "_pb2").DESCRIPTOR for m in MODULES]
    )

    problems = compare_messages(our_messages, their_messages) + compare_enums(
        our_enums, their_enums
    )
    for problem in problems:
        print(problem)
    fields = sum(len(m.fields) for m in our_messages.values())
    print(
        f"{len(our_messages)} messages, {fields} fields, {len(our_enums)} enums against tensorflow "
        f"{tensorflow.__version__}: {len(problems)} differences"
    )
    absent = sorted(their_messages.keys() - our_messages.keys())
    if absent:
        print("not in our schemas:", ", ".join(absent))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
