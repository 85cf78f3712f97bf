"""Variables of a SavedModel are told apart by what the file states of objects, not by names."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import treadle

SPEC = importlib.util.spec_from_file_location(
    "make_words", Path(__file__).parents[1] / "examples" / "make_words.py"
)
make_words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_words)
node, dtype, shape, text, types, strings, number = (
    getattr(make_words, name)
    for name in ("node", "dtype", "shape", "text", "types", "strings", "number")
)
FLOAT, TWO_FLOATS = dtype("DT_FLOAT"), types("dtypes", "DT_FLOAT", "DT_FLOAT")


def handle(name):
    return node(name, "VarHandleOp", (), FLOAT, shape(), text("shared_name", name))


def function(name):
    """Multiplies `x` by the variable that it captures, which it doubles first."""
    return f"""function {{
  signature {{ name: "{name}" is_stateful: true
    input_arg {{ name: "x" type: DT_FLOAT }} input_arg {{ name: "w" type: DT_RESOURCE }}
    output_arg {{ name: "y" type: DT_FLOAT }} }}
  node_def {{ name: "old" op: "ReadVariableOp" input: "w" {FLOAT} }}
  node_def {{ name: "sum" op: "AddV2" input: "old:value:0" input: "old:value:0"
    {dtype("DT_FLOAT", "T")} }}
  node_def {{ name: "set" op: "AssignVariableOp" input: "w" input: "sum:z:0" {FLOAT} }}
  node_def {{ name: "mul" op: "Mul" input: "x" input: "sum:z:0" input: "^set"
    {dtype("DT_FLOAT", "T")} }}
  ret {{ key: "y" value: "mul:z:0" }} }}"""


def call(name, callee, variable):
    return node(
        name,
        "StatefulPartitionedCall",
        ["x", variable],
        types("Tin", "DT_FLOAT", "DT_RESOURCE"),
        types("Tout", "DT_FLOAT"),
        f'attr {{ key: "f" value {{ func {{ name: "{callee}" }} }} }}',
    )


def saver(variables):
    """Saves and restores the variables of objects `a` and `b`."""
    keys = [f"{path}/.ATTRIBUTES/VARIABLE_VALUE" for path in ("a", "b")]
    return [
        node("prefix", "Placeholder", (), dtype("DT_STRING"), shape()),
        strings("keys", *keys),
        strings("slices", "", ""),
        *[node(f"saved_{v}", "ReadVariableOp", [v], FLOAT) for v in variables],
        node(
            "write",
            "SaveV2",
            ["prefix", "keys", "slices", *[f"saved_{v}" for v in variables]],
            TWO_FLOATS,
        ),
        node("saved", "Identity", ["prefix", "^write"], dtype("DT_STRING", "T")),
        node("read", "RestoreV2", ["prefix", "keys", "slices"], TWO_FLOATS),
        *[
            node(f"restore_{v}", "AssignVariableOp", [v, f"read:{i}"], FLOAT)
            for i, v in enumerate(variables)
        ],
        node("restore", "NoOp", [f"^restore_{v}" for v in variables]),
    ]


def signature(name):
    info = make_words.info
    return f"""signature_def {{ key: "{name}" value {{ inputs {info("x", "x:0", "DT_FLOAT")}
      outputs {info("y", f"call_{name}:0", "DT_FLOAT")} }} }}"""


def variable(name):
    return f'nodes {{ variable {{ name: "{name}" dtype: DT_FLOAT shape {{ }} trainable: true }} }}'


def captures(function, object):
    value = "canonicalized_input_signature { none_value { } }"
    return f'concrete_functions {{ key: "{function}" value {{ bound_inputs: {object} {value} }} }}'


def write_model(folder, restored, called):
    """Objects `a` (2) and `b` (3), both named `kernel`, and signatures that multiply by them.

    `restored` are the handles that are saved and restored: copies of those that are `called`.
    """
    nodes = [
        node("x", "Placeholder", (), FLOAT, shape()),
        *map(handle, sorted({*restored, *called})),
        *saver(restored),
        call("call_a", "f_a", called[0]),
        call("call_b", "f_b", called[1]),
    ]
    if restored != called:
        for copy, of in zip(restored, called, strict=True):
            nodes += [
                node(f"{copy}/Read", "ReadVariableOp", [of], FLOAT),
                node(f"{copy}/Assign", "AssignVariableOp", [copy, f"{copy}/Read"], FLOAT),
            ]
    graph = f"{' '.join(nodes)} library {{ {function('f_a')} {function('f_b')} }}"
    children = " ".join(
        f'children {{ node_id: {i} local_name: "{name}" }}' for i, name in enumerate("ab", 1)
    )
    listed = f"""object_graph_def {{ nodes {{ {children} user_object {{ }} }}
      {variable("kernel_1")} {variable("kernel")} {captures("f_a", 1)} {captures("f_b", 2)} }}"""
    folder.mkdir()
    (folder / "saved_model.pbtxt").write_text(
        f"""meta_graphs {{ meta_info_def {{ tags: "serve" }} graph_def {{ {graph} }}
          {make_words.SAVER} {signature("a")} {signature("b")} {listed} }}"""
    )
    values = [number("two", 2), number("three", 3)]
    save = node("save", "SaveV2", ["prefix", "keys", "slices", "two", "three"], TWO_FLOATS)
    session = treadle.Session(
        "\n".join([*saver(())[:3], *values, save]).encode(), allow_write=folder
    )
    session.run([], {"prefix": str(folder / "variables" / "variables")}, ["save"])
    return folder


def answers(model):
    return [model.signatures[name](x=1)["y"].item() for name in ("a", "b")]


RESTORED = {
    "as they are": ("kernel_1", "kernel"),
    "copies": ("Variable", "Variable_1"),
    "copies whose numbers are the other way round": ("Variable_1", "Variable"),
}


@pytest.mark.parametrize("restored", RESTORED.values(), ids=RESTORED)
@pytest.mark.parametrize("called", [("kernel_1", "kernel"), ("kernel", "kernel_1")])
def test_variables_are_those_that_the_file_states(restored, called, tmp_path):
    if not restored[0].startswith("Variable"):
        restored = called
    model = treadle.load(write_model(tmp_path / "model", restored, called))
    assert answers(model) == [4, 6] and answers(model) == [8, 12]
    # Each is there once, and what was written is what is saved.
    assert {name: value.item() for name, value in model.variables().items()} == {
        called[0]: 8,
        called[1]: 12,
    }
    model.save(tmp_path / "copy")
    assert answers(treadle.load(tmp_path / "copy")) == [16, 24]


@pytest.mark.parametrize("called", [("kernel_1", "kernel"), ("kernel", "kernel_1")])
def test_such_a_model_is_frozen(called, tmp_path):
    folder = write_model(tmp_path / "model", ("Variable", "Variable_1"), called)
    graph = treadle.Graph.from_file(folder)
    model = treadle.load(folder)
    frozen = graph.freeze(model.session, ["call_a"])
    session = treadle.Session(frozen)
    session.run([], targets="init")
    np.testing.assert_array_equal(session.run("call_a", {"x": 1}), 4)
