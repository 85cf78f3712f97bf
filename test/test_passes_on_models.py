"""Passes on SavedModels: signatures keep their nodes, in each of several meta graphs."""

import pathlib
import subprocess

import pytest

BIN = pathlib.Path(__file__).resolve().parent.parent / "build" / "release" / "bin"

NODE = """
  node {{ name: "{name}" op: "{op}" {inputs}
    attr {{ key: "{attr}" value {{ type: DT_FLOAT }} }} }}
"""


def node(name, op, *inputs):
    attr = "dtype" if op == "Placeholder" else "T"
    return NODE.format(
        name=name, op=op, attr=attr, inputs=" ".join(f'input: "{i}"' for i in inputs)
    )


def meta_graph(tag):
    nodes = node("x", "Placeholder") + node("y", "Neg", "x") + node("z", "Neg", "x")
    nodes += node("u", "Neg", "x") + node("sum", "AddV2", "u", "z")
    value = "dtype: DT_FLOAT tensor_shape { unknown_rank: true }"
    return f"""
meta_graphs {{
  meta_info_def {{ tags: "{tag}" }}
  graph_def {{ {nodes} versions {{ producer: 1882 }} }}
  collection_def {{ key: "c" value {{ node_list {{ value: "sum" }} }} }}
  signature_def {{ key: "serving_default" value {{
    inputs {{ key: "x" value {{ name: "x:0" {value} }} }}
    outputs {{ key: "z" value {{ name: "z:0" {value} }} }}
    method_name: "tensorflow/serving/predict"
  }} }}
}}
"""


@pytest.fixture(params=[["serve"], ["serve", "train"]], ids=["one", "two"])
def model(request, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    text = "saved_model_schema_version: 1\n" + "".join(map(meta_graph, request.param))
    (folder / "saved_model.pbtxt").write_text(text)
    return folder


def converted(model, passes, tmp_path):
    out = tmp_path / "out.mlir"
    done = subprocess.run(
        [BIN / "treadle", "convert", model, out, "--passes", passes], capture_output=True, text=True
    )
    return done, out.read_text() if out.exists() else ""


@pytest.mark.parametrize("passes", ["tfg-cse", "tfg-cleanup", "tfg-cse{keep=y},tfg-toposort"])
def test_nodes_of_signatures_stay(model, passes, tmp_path):
    done, text = converted(model, passes, tmp_path)
    assert done.returncode == 0, done.stderr
    metas = text.count("tfg.graph")
    # Three nodes are equal: a signature names z; the other two are merged.
    assert text.count('name("z")') == text.count('name("sum")') == metas
    assert text.count('name("y")') + text.count('name("u")') == metas


def test_names_of_signatures_stay(model, tmp_path):
    done, text = converted(model, "tfg-name-compress", tmp_path)
    assert done.returncode == 0, done.stderr
    metas = text.count("tfg.graph")
    assert text.count('name("z")') == text.count('name("sum")') == metas
    assert text.count('name("y")') == text.count('name("u")') == 0


def test_a_pass_that_removes_a_node_of_a_signature_is_an_error(model, tmp_path):
    done, _ = converted(model, "tfg-prune{fetches=y}", tmp_path)
    assert done.returncode == 1
    assert "removed node 'sum', which the SavedModel's metadata refers to" in done.stderr
