# ruff: noqa: E501
"""The requests of `treadle run`, and its errors."""

import json
import os
import re
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
        assert "feed 'x:0' is float32[3], but the graph expects the shape [2]" in message


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


def test_passes_are_told_what_the_run_gives_and_asks_for(tmp_path):
    int32 = {"T": "type: DT_INT32"}

    def constant(name, value):
        tensor = f"tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {value} }}"
        return node(name, "Const", dtype="type: DT_INT32", value=tensor)

    graph = written(
        tmp_path / "g.pbtxt",
        constant("two", 2),
        constant("three", 3),
        node("y", "Mul", "two", "three", **int32),
        node("z", "Identity", "y", **int32),
        node("other", "Neg", "y", **int32),
    )
    sandboxes = ([], ["--sandbox"])
    for sandbox in sandboxes:
        for passes in ("tfg-constant-folding", "tfg-cse,tfg-default", "tfg-default{feeds=two}"):
            options = ["--passes", passes, "--input", "two=5", *sandbox]
            assert run("run", graph, "--fetch", "y,z", *options) == (
                "y: int32[] = 15\nz: int32[] = 15\n"
            )
        # tfg-prune removes nodes that the request doesn't need, since it knows the request.
        asked = ["--fetch", "z", "--input", "other=1", *sandbox]
        message = run("run", graph, "--passes", "tfg-prune{feeds=y}", *asked, status=1)
        assert "other" in message or "'y' has no value" in message
        assert "= 6" in run("run", graph, "--passes", "tfg-prune", "--fetch", "z", *sandbox)
    text = run("run", graph, "--passes", "tfg-prune{fetches=other}", "--fetch", "z", status=1)
    assert "the graph has no node 'z'" in text


def options_of(command):
    return set(re.findall(r"--[a-z][a-z-]*", run(command, "--help")))


def needs(tmp_path):
    """Graphs whose runs need an option, and what to fetch."""
    variable = {"shape": "shape { }", "dtype": "type: DT_FLOAT"}
    text = {"dtype": "type: DT_STRING"}
    name = "tensor { dtype: DT_STRING tensor_shape { } string_val: '/nowhere/else' }"
    yield written(
        tmp_path / "variable.pbtxt",
        node("v", "VariableV2", **variable),
        node(
            "c",
            "Const",
            dtype="type: DT_FLOAT",
            value="tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 }",
        ),
        node("init", "Assign", "v", "c", T="type: DT_FLOAT"),
        node("y", "Identity", "v", T="type: DT_FLOAT"),
    )
    yield written(tmp_path / "clock.pbtxt", node("y", "Timestamp"))
    yield written(
        tmp_path / "file.pbtxt",
        node("name", "Const", value=name, **text),
        node("y", "ReadFile", "name"),
    )
    yield written(tmp_path / "input.pbtxt", NUMBER, node("y", "Neg", "x", T="type: DT_FLOAT"))


def test_commands_have_the_options_that_their_errors_advise(tmp_path):
    commands = (["run"], ["bench"], ["profile"], ["explain", "--code"], ["explore"])
    for graph in needs(tmp_path):
        for command, *more in commands:
            message = run(command, graph, "--fetch", "y", *more, status=1)
            own = re.sub(r"for 'treadle run' --[a-z-]*", "", message)
            advised = set(re.findall(r"--[a-z][a-z-]*", own))
            assert advised <= options_of(command), message
    graph = next(needs(tmp_path))
    out = run("explain", graph, "--code", "--fetch", "y", "--setup", "init")
    assert "nothing is compiled" in out


SAME_NAMES = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %0 = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<64>} : () -> (tensor<64xf32>)
  %w, %1 = StatelessWhile(%x) name("w") {T = [f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [#tf_type.shape<64>], parallel_iterations = 10} : (tensor<64xf32>) -> (tensor<64xf32>)
}
tfg.func @cond(%v: tensor<64xf32> {tfg.name = "v"}) -> (tensor<i1> {tfg.name = "more"}) {
  %a, %0 = Const name("a") {dtype = f32, value = dense<100.0> : tensor<f32>} : () -> (tensor<f32>)
  %n, %1 = Const name("n") {dtype = i32, value = dense<0> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %same, %2 = Mul(%v, %v) name("same") {T = f32} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>)
  %sum, %3 = Sum(%same, %n) name("sum") {T = f32, Tidx = i32, keep_dims = false} : (tensor<64xf32>, tensor<1xi32>) -> (tensor<f32>)
  %less, %4 = Less(%sum, %a) name("less") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<i1>)
  return(%less) : tensor<i1>
}
tfg.func @body(%v: tensor<64xf32> {tfg.name = "v"}) -> (tensor<64xf32> {tfg.name = "next"}) {
  %same, %0 = Add(%v, %v) name("same") {T = f32} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>)
  return(%same) : tensor<64xf32>
}
"""


def test_nodes_of_one_name_are_told_apart(tmp_path):
    """One stands in the condition of a loop, one in its body."""
    graph = tmp_path / "g.mlir"
    graph.write_text(SAME_NAMES)
    out = run("explain", graph, "--fetch", "w")
    assert "'same' (Mul of 'cond')" in out and "'same' (Add of 'body')" in out
    assert "'less' (Less)" in out
    value = "x=[" + ",".join(["0.1"] * 64) + "]"
    out = run("explain", graph, "--code", "--fetch", "w", "--input", value)
    assert "'same' (Mul of 'cond')" in out or "'same' (Add of 'body')" in out
    message = run("run", graph, "--fetch", "same", "--input", value, status=1)
    assert "nodes of functions 'body', 'cond' have this name" in message
    trace = tmp_path / "t.json"
    options = ["--tier", "interpret", "--trace", trace]
    run("run", graph, "--fetch", "w", "--input", value, *options)
    events = json.loads(trace.read_text())["traceEvents"]
    found = {(e["args"]["op"], e["args"]["function"]) for e in events if e["name"] == "same"}
    assert found == {("Mul", "cond"), ("Add", "body")}
