"""What `treadle run` is asked, and what it says where it can't do it."""

import os
import subprocess
from pathlib import Path

import treadle

BINARY = os.environ.get("TREADLE_BIN") or Path(treadle.__file__).parents[2] / "bin" / "treadle"


def run(*args, status=0):
    done = subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def node(name, op, *inputs, **attrs):
    lines = "".join(f'input: "{i}" ' for i in inputs)
    lines += "".join(f'attr {{ key: "{k}" value {{ {v} }} }} ' for k, v in attrs.items())
    return f'node {{ name: "{name}" op: "{op}" {lines}}}\n'


def written(path, *nodes):
    path.write_text("".join(nodes))
    return path


TEXTS = node("x", "Placeholder", dtype="type: DT_STRING")
LENGTH = node("n", "StringLength", "x")
NUMBER = node("x", "Placeholder", dtype="type: DT_FLOAT", shape="shape { }")


def test_a_string_may_be_what_a_file_holds(tmp_path):
    graph = written(tmp_path / "g.pbtxt", TEXTS, LENGTH)
    (tmp_path / "a.bin").write_bytes(b"\0\xff@[,")
    (tmp_path / "b.txt").write_text("b")
    file, other = tmp_path / "a.bin", tmp_path / "b.txt"
    for value, lengths in (
        (f"@{file}", "5"),
        (f"[@{file},@{other}]", "[5 1]"),
        (f'"@{other}"', str(len(str(other)) + 1)),
        ("@", "1"),
        ("a@b", "3"),
    ):
        assert f"= {lengths}\n" in run("run", graph, "--fetch", "n", "--input", f"x={value}")
    message = run("run", graph, "--fetch", "n", "--input", "x=@nowhere", status=1)
    assert "nowhere" in message and 'write "@nowhere", in quotes' in message


def test_passes_keep_what_the_run_asks_for(tmp_path):
    float32 = {"T": "type: DT_FLOAT"}
    graph = written(
        tmp_path / "g.pbtxt",
        NUMBER,
        node("h", "Sqrt", "x", **float32),
        node("y", "Identity", "h", **float32),
        node("z", "Identity", "h", **float32),
        node("u", "AddV2", "y", "z", **float32),
    )
    asked = ["--fetch", "y,z,u", "--input", "x=4"]
    expected = "y: float32[] = 2.0\nz: float32[] = 2.0\nu: float32[] = 4.0\n"
    for passes in ("tfg-default", "tfg-inference", "tfg-default{fetches=y,z,u},tfg-toposort"):
        assert run("run", graph, "--passes", passes, *asked) == expected


def test_all_ops_without_a_kernel_are_named(tmp_path):
    graph = written(
        tmp_path / "g.pbtxt",
        NUMBER,
        node("a", "Acme>One", "x"),
        node("b", "Acme>Two", "a"),
        node("c", "Acme>One", "b"),
        node("other", "Acme>Three", "x"),
    )
    message = run("run", graph, "--target", "c", "--input", "x=1", status=1)
    assert "UnimplementedError" in message and "Three" not in message
    assert "'Acme>One' (2 nodes), 'Acme>Two' (1 node)" in message


def test_a_python_function_is_nowhere_but_in_python(tmp_path):
    attrs = {"token": 's: "pyfunc_3"', "Tin": "list { type: DT_FLOAT }"}
    attrs["Tout"] = "list { type: DT_FLOAT }"
    graph = written(tmp_path / "g.pbtxt", NUMBER, node("y", "PyFunc", "x", **attrs))
    message = run("run", graph, "--fetch", "y", "--input", "x=1", status=1)
    assert "token 'pyfunc_3'" in message
    assert "run the graph in Python, and call treadle.register_op('pyfunc_3', fn)" in message


def test_ops_of_tensorflows_dialect_may_stand_in_a_function(tmp_path):
    graph = tmp_path / "g.mlir"
    graph.write_text("""
module attributes {tf.versions = {bad_consumers = [], min_consumer = 0 : i32, producer = 1 : i32}} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = "tf.Const"() <{value = dense<2.0> : tensor<f32>}> {device = ""} : () -> tensor<f32>
    %1 = "tf.Mul"(%x, %0) {device = ""} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}""")
    assert "= 6.0" in run("run", graph, "--input", "arg0=3")


def test_explore_checks_shapes_as_a_run_does(tmp_path):
    pair = node("x", "Placeholder", dtype="type: DT_FLOAT", shape="shape { dim { size: 2 } }")
    graph = written(tmp_path / "g.pbtxt", pair, node("y", "Square", "x", T="type: DT_FLOAT"))
    for command in ("run", "explore"):
        message = run(command, graph, "--fetch", "y", "--input", "x=[1,2,3]", status=1)
        assert "feed 'x:0' is float32[3], but the graph wants the shape [2]" in message


def test_explain_code_initializes(tmp_path):
    float32 = {"dtype": "type: DT_FLOAT"}
    graph = written(
        tmp_path / "g.pbtxt",
        node("v", "VarHandleOp", shape="shape { }", shared_name='s: "v"', **float32),
        node(
            "two",
            "Const",
            value="tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 }",
            **float32,
        ),
        node("init", "AssignVariableOp", "v", "two", **float32),
        node("y", "ReadVariableOp", "v", **float32),
    )
    assert "--setup NODE" in run("explain", graph, "--code", "--fetch", "y", status=1)
    assert "nothing is compiled" in run(
        "explain", graph, "--code", "--fetch", "y", "--setup", "init"
    )
