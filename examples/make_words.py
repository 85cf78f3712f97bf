#!/usr/bin/env python3
"""Writes words, a minimal SavedModel: a scale that counts its calls, and a vocabulary.

    ./dev python examples/make_words.py examples/words

serving_default multiplies by a variable and counts; lookup finds a word's number in a table that is
filled from an asset.
"""

import sys
from pathlib import Path

import treadle


def dtype(name, key="dtype"):
    return f'attr {{ key: "{key}" value {{ type: {name} }} }}'


def text(key, value):
    return f'attr {{ key: "{key}" value {{ s: "{value}" }} }}'


def node(name, op, inputs=(), *attrs):
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return f'node {{ name: "{name}" op: "{op}" {listed} {" ".join(attrs)} }}'


def strings(name, *values):
    elements = " ".join(f'string_val: "{v}"' for v in values)
    tensor = (
        f"tensor {{ dtype: DT_STRING tensor_shape {{ dim {{ size: {len(values)} }} }} {elements} }}"
    )
    value = f'attr {{ key: "value" value {{ {tensor} }} }}'
    return node(name, "Const", (), dtype("DT_STRING"), value)


def number(name, value, kind="DT_FLOAT", field="float_val"):
    tensor = f"tensor {{ dtype: {kind} tensor_shape {{ }} {field}: {value} }}"
    return node(name, "Const", (), dtype(kind), f'attr {{ key: "value" value {{ {tensor} }} }}')


def types(key, *kinds):
    return f'attr {{ key: "{key}" value {{ list {{ {" ".join(f"type: {k}" for k in kinds)} }} }} }}'


def shape(*dims):
    listed = " ".join(f"dim {{ size: {d} }}" for d in dims)
    return f'attr {{ key: "shape" value {{ shape {{ {listed} }} }} }}'


# A scale that counts its calls, and a vocabulary that is read from an asset.
NODES = [
    node("x", "Placeholder", (), dtype("DT_FLOAT"), shape(-1)),
    node("word", "Placeholder", (), dtype("DT_STRING"), shape()),
    node("scale", "VarHandleOp", (), dtype("DT_FLOAT"), shape(), text("shared_name", "scale")),
    node("calls", "VarHandleOp", (), dtype("DT_INT64"), shape(), text("shared_name", "calls")),
    number("one", 1, "DT_INT64", "int64_val"),
    node("count", "AssignAddVariableOp", ["calls", "one"], dtype("DT_INT64")),
    node("calls_now", "ReadVariableOp", ["calls", "^count"], dtype("DT_INT64")),
    node("scale_now", "ReadVariableOp", ["scale"], dtype("DT_FLOAT")),
    node("y", "Mul", ["x", "scale_now"], dtype("DT_FLOAT", "T")),
    # Saving and restoring.
    node("prefix", "Placeholder", (), dtype("DT_STRING"), shape()),
    strings("keys", "scale", "calls"),
    strings("slices", "", ""),
    node("scale_saved", "ReadVariableOp", ["scale"], dtype("DT_FLOAT")),
    node("calls_saved", "ReadVariableOp", ["calls"], dtype("DT_INT64")),
    node("write", "SaveV2", ["prefix", "keys", "slices", "scale_saved", "calls_saved"],
         types("dtypes", "DT_FLOAT", "DT_INT64")),
    node("saved", "Identity", ["prefix", "^write"], dtype("DT_STRING", "T")),
    node("read", "RestoreV2", ["prefix", "keys", "slices"],
         types("dtypes", "DT_FLOAT", "DT_INT64")),
    node("restore_scale", "AssignVariableOp", ["scale", "read"], dtype("DT_FLOAT")),
    node("restore_calls", "AssignVariableOp", ["calls", "read:1"], dtype("DT_INT64")),
    node("restore", "NoOp", ["^restore_scale", "^restore_calls"]),
    # The vocabulary.
    node("file", "Placeholder", (), dtype("DT_STRING"), shape()),
    node("table", "HashTableV2", (), dtype("DT_STRING", "key_dtype"),
         dtype("DT_INT64", "value_dtype"), text("shared_name", "words")),
    node("fill", "InitializeTableFromTextFileV2", ["table", "file"],
         *[f'attr {{ key: "{key}" value {{ i: {column} }} }}'
           for key, column in (("key_index", -2), ("value_index", -1))]),
    number("unknown", -1, "DT_INT64", "int64_val"),
    node("id", "LookupTableFindV2", ["table", "word", "unknown"], dtype("DT_STRING", "Tin"),
         dtype("DT_INT64", "Tout")),
]  # fmt: skip

ASSET = 'asset_file_def { tensor_info { name: "file:0" } filename: "words.txt" }'


def info(key, tensor, kind, *dims):
    listed = " ".join(f"dim {{ size: {d} }}" for d in dims)
    value = f'name: "{tensor}" dtype: {kind} tensor_shape {{ {listed} }}'
    return f'{{ key: "{key}" value {{ {value} }} }}'


SIGNATURES = f"""
signature_def {{ key: "serving_default" value {{
  inputs {info("x", "x:0", "DT_FLOAT", -1)}
  outputs {info("scaled", "y:0", "DT_FLOAT", -1)} outputs {info("calls", "calls_now:0", "DT_INT64")}
  method_name: "predict" }} }}
signature_def {{ key: "lookup" value {{
  inputs {info("word", "word:0", "DT_STRING")} outputs {info("id", "id:0", "DT_INT64")} }} }}
signature_def {{ key: "__saved_model_init_op" value {{
  outputs {{ key: "__saved_model_init_op" value {{ name: "fill" }} }} }} }}
"""
SAVER = """saver_def { filename_tensor_name: "prefix:0" save_tensor_name: "saved:0"
                       restore_op_name: "restore" }"""


def write_model(folder: Path, asset=ASSET, tags=("serve",), signatures=SIGNATURES, files=True):
    listed = " ".join(f'tags: "{t}"' for t in tags)
    meta = f"meta_info_def {{ {listed} }} graph_def {{ {' '.join(NODES)} }} {SAVER} {asset}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "saved_model.pbtxt").write_text(f"meta_graphs {{ {meta} {signatures} }}")
    if not files:
        return folder
    (folder / "assets").mkdir()
    (folder / "assets" / "words.txt").write_text("zero\none\ntwo\n")
    (folder / "variables").mkdir()
    tensors = ["scale", "calls", "other"]
    values = [
        number("scale", 2.5),
        number("calls", 10, "DT_INT64", "int64_val"),
        number("other", 7),
    ]
    save = node("save", "SaveV2", ["prefix", "keys", "slices", *tensors],
                types("dtypes", "DT_FLOAT", "DT_INT64", "DT_FLOAT"))  # fmt: skip
    prefix = node("prefix", "Placeholder", (), dtype("DT_STRING"))
    graph = [prefix, strings("keys", *tensors), strings("slices", "", "", ""), *values, save]
    session = treadle.Session("\n".join(graph).encode(), allow_write=folder)
    session.run([], {"prefix": str(folder / "variables" / "variables")}, ["save"])
    return folder


if __name__ == "__main__":
    write_model(Path(sys.argv[1]))
