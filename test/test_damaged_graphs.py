"""Good graphs with one thing changed end in an error that names the node, or in a right answer.

Each is run in all tiers; what crashes takes the test down with it, so runs are processes.
"""

import os
import pathlib
import subprocess

import numpy as np
import pytest

import treadle

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREADLE = ROOT / "build" / "release" / "bin" / "treadle"
DAMAGED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT / ".." / "shared")) / "damaged"
TIERS = ["interpret", "auto", "jit"]

KEPT = {
    "split_65536.pb": ("split_21:0", "split"),
    "block_lstm.pb": ("BlockLSTMV2:6", None),
    "constant_of_another_dtype.pb": ("linspace/Slice:0", "linspace/SelectV2/condition"),
    "nested_v1_gradient.pb": ("gradients/while/Enter_grad/Exit:0", "while/cond/while/Mul/y"),
}


def run(graph, fetch, tier):
    return subprocess.run(
        [TREADLE, "run", graph, "--tier", tier, "--fetch", fetch],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", KEPT)
def test_graphs_that_crashed(name, tier):
    if not (DAMAGED / name).exists():
        pytest.skip("../shared/damaged is not there")
    fetch, node = KEPT[name]
    done = run(DAMAGED / name, fetch, tier)
    assert done.returncode in (0, 1), done.stderr
    if done.returncode:
        assert "node '" in done.stderr
        assert node is None or node in done.stderr


def const(name, dtype, text):
    return (
        f'node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: {dtype} }} }} '
        f'attr {{ key: "value" value {{ tensor {{ {text} }} }} }} }}\n'
    )


@pytest.mark.parametrize("tier", TIERS)
def test_no_kernel_is_chosen_by_an_attribute_without_a_dtype(tmp_path, tier):
    node = (
        'node { name: "n" op: "TensorScatterUpdate" input: "x" input: "i" input: "u" '
        'attr { key: "T" value { type: DT_INVALID } } '
        'attr { key: "Tindices" value { type: DT_INT32 } } }\n'
    )
    text = const("x", "DT_FLOAT", "dtype: DT_FLOAT tensor_shape { dim { size: 8 } } float_val: 1")
    text += const(
        "i",
        "DT_INT32",
        "dtype: DT_INT32 tensor_shape { dim { size: 2 } dim { size: 1 } } int_val: [4, 7]",
    )
    text += const("u", "DT_FLOAT", "dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 2")
    path = tmp_path / "graph.pbtxt"
    path.write_text(text + node)
    with pytest.raises(treadle.InvalidArgumentError, match="'n'.*attribute 'T' is invalid"):
        treadle.Session(path, tier=tier).run("n:0")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("parts", [65535, 65536])
def test_a_split_has_as_many_parts_as_it_says(tmp_path, parts, tier):
    session = treadle.Session(split(tmp_path, parts), tier=tier)
    for _ in range(2):
        (last,) = session.run([f"split:{parts - 1}"])
        assert last.tolist() == [parts - 1]


@pytest.mark.parametrize("parts", [-1, 65537, 2**31, 2**62])
def test_a_node_has_no_more_outputs_than_anybody_can_use(tmp_path, parts):
    with pytest.raises(treadle.InvalidArgumentError, match="node 'split'.*num_split"):
        treadle.Session(split(tmp_path, parts))


def split(tmp_path, parts):
    graph = tmp_path / "split.pbtxt"
    graph.write_text(
        const("axis", "DT_INT32", "dtype: DT_INT32 tensor_shape {} int_val: 0")
        + const("one", "DT_INT32", "dtype: DT_INT32 tensor_shape {} int_val: 1")
        + const("n", "DT_INT32", f"dtype: DT_INT32 tensor_shape {{}} int_val: {parts % 2**31}")
        + const("zero", "DT_INT32", "dtype: DT_INT32 tensor_shape {} int_val: 0")
        + 'node { name: "x" op: "Range" input: "zero" input: "n" input: "one" '
        'attr { key: "Tidx" value { type: DT_INT32 } } }\n'
        f'node {{ name: "split" op: "Split" input: "axis" input: "x" attr {{ key: "num_split" '
        f'value {{ i: {parts} }} }} attr {{ key: "T" value {{ type: DT_INT32 }} }} }}\n'
    )
    return str(graph)


@pytest.mark.parametrize("tier", TIERS)
def test_a_constant_is_of_the_dtype_that_it_states(tmp_path, tier):
    graph = tmp_path / "constant.pbtxt"
    graph.write_text(
        const("c", "DT_BOOL", 'dtype: DT_STRING tensor_shape {} string_val: "x"')
        + const("a", "DT_FLOAT", "dtype: DT_FLOAT tensor_shape {} float_val: 1")
        + 'node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }\n'
        'node { name: "y" op: "SelectV2" input: "c" input: "a" input: "p" '
        'attr { key: "T" value { type: DT_FLOAT } } }\n'
        'node { name: "z" op: "AddV2" input: "y" input: "p" '
        'attr { key: "T" value { type: DT_FLOAT } } }\n'
    )
    session = treadle.Session(str(graph), tier=tier)
    for _ in range(2):
        with pytest.raises(treadle.InvalidArgumentError, match="node 'c'.*its value is string"):
            session.run(["z:0"], {"p:0": np.float32(1)})


@pytest.mark.parametrize("tier", TIERS)
def test_an_input_is_of_the_dtype_that_the_node_states(tmp_path, tier):
    graph = tmp_path / "input.pbtxt"
    graph.write_text(
        'node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }\n'
        'node { name: "y" op: "AddV2" input: "p" input: "p" '
        'attr { key: "T" value { type: DT_DOUBLE } } }\n'
        'node { name: "z" op: "Mul" input: "y" input: "y" '
        'attr { key: "T" value { type: DT_DOUBLE } } }\n'
    )
    with pytest.raises(treadle.InvalidArgumentError, match="node 'y'"):
        session = treadle.Session(str(graph), tier=tier)
        session.run(["z:0"], {"p:0": np.arange(3, dtype=np.int32)})
