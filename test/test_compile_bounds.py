"""Parts that are too large to be compiled are interpreted, and `explain` says so."""

import json
import pathlib
import subprocess
import sys

import numpy as np

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command_line import BINARY  # noqa: E402

OF_A_GRAPH = 20_000


def explained(path):
    words = [BINARY, "explain", path, "--json"]
    return json.loads(subprocess.run(words, capture_output=True, check=True, timeout=300).stdout)


def node(name, op, *inputs, **attrs):
    lines = [f'input: "{value}"' for value in inputs]
    lines += [f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items()]
    return f'node {{ name: "{name}" op: "{op}" {" ".join(lines)} }}\n'


def chain(path, length):
    of = {"T": "type: DT_FLOAT"}
    text = node("n0", "Placeholder", dtype="type: DT_FLOAT", shape="shape { dim { size: -1 } }")
    for i in range(length):
        text += node(f"n{i + 1}", "Tanh", f"n{i}", **of)
    path.write_text(text)
    return explained(path)


def test_straight_code_of_a_graph_with_too_many_nodes_is_interpreted(tmp_path):
    small = chain(tmp_path / "small.pbtxt", 1000)
    assert sum(cluster["ops"] for cluster in small["clusters"]) == 1000
    large = chain(tmp_path / "large.pbtxt", OF_A_GRAPH + 100)
    assert large["clusters"] == []
    left = [part for part in large["interpreted"] if part["why"].startswith("too large: outside")]
    assert len(left) == 1 and len(left[0]["nodes"]) == OF_A_GRAPH + 100
    assert str(OF_A_GRAPH) in left[0]["why"]


def calling_twice(depth):
    """A loop whose body calls a function that calls another twice, which does so as well."""

    def function(name, inputs, outputs, nodes):
        args = "".join(f'input_arg {{ name: "{n}" type: {t} }}\n' for n, t in inputs)
        args += "".join(f'output_arg {{ name: "{n}" type: {t} }}\n' for n, t, _ in outputs)
        rets = "".join(f'ret {{ key: "{n}" value: "{v}" }}\n' for n, _, v in outputs)
        nodes = nodes.replace("node {", "node_def {")
        return f'function {{ signature {{ name: "{name}"\n{args} }}\n{nodes}{rets} }}\n'

    def call(name, value, callee):
        floats = "list { type: DT_FLOAT }"
        f = f'func {{ name: "{callee}" }}'
        return node(name, "PartitionedCall", value, Tin=floats, Tout=floats, f=f)

    def number(name, dtype, field, value):
        return node(
            name,
            "Const",
            dtype=f"type: {dtype}",
            value=f"tensor {{ dtype: {dtype} tensor_shape {{ }} {field}: {value} }}",
        )

    x = [("x", "DT_FLOAT")]
    library = function(
        "f0", x, [("y", "DT_FLOAT", "n:y:0")], node("n", "Neg", "x", T="type: DT_FLOAT")
    )
    for i in range(1, depth):
        body = call("a", "x", f"f{i - 1}") + call("b", "a:output:0", f"f{i - 1}")
        library += function(f"f{i}", x, [("y", "DT_FLOAT", "b:output:0")], body)
    state = [("i", "DT_INT32"), ("v", "DT_FLOAT")]
    body = number("one", "DT_INT32", "int_val", 1) + call("a", "v", f"f{depth - 1}")
    body += node("next", "AddV2", "i", "one:output:0", T="type: DT_INT32")
    library += function(
        "body", state, [("j", "DT_INT32", "next:z:0"), ("w", "DT_FLOAT", "a:output:0")], body
    )
    less = number("two", "DT_INT32", "int_val", 2)
    less += node("less", "Less", "i", "two:output:0", T="type: DT_INT32")
    library += function("cond", state, [("more", "DT_BOOL", "less:z:0")], less)
    text = node("x", "Placeholder", dtype="type: DT_FLOAT", shape="shape { }")
    text += number("zero", "DT_INT32", "int_val", 0)
    text += node(
        "loop",
        "StatelessWhile",
        "zero",
        "x",
        T="list { type: DT_INT32 type: DT_FLOAT }",
        cond='func { name: "cond" }',
        body='func { name: "body" }',
    )
    return text + node("y", "Identity", "loop:1", T="type: DT_FLOAT") + f"library {{ {library} }}\n"


def test_functions_that_stand_for_many_operations(tmp_path):
    path = tmp_path / "twice.pbtxt"
    path.write_text(calling_twice(19))
    found = explained(path)
    assert found["clusters"] == []
    (part,) = [part for part in found["interpreted"] if "too large" in part["why"]]
    assert "300000 operations that are compiled together" in part["why"]
    assert "loop" in [each["name"] for each in part["nodes"]]
    session = treadle.Session(path, tier="jit", statistics=True)
    assert session.run("y", {"x": np.float32(3)}) == 3
    assert "too large" in session.statistics().last_failure


def test_functions_that_stand_for_fewer_are_compiled(tmp_path):
    path = tmp_path / "twice.pbtxt"
    path.write_text(calling_twice(9))
    assert len(explained(path)["clusters"]) == 1


def test_code_counts_as_memory():
    graph = calling_twice(3).encode()
    for memory, compiled in ((2_000, False), (1 << 20, True)):
        session = treadle.Session(graph, tier="jit", memory=memory, statistics=True)
        for _ in range(2):
            assert session.run("y", {"x": np.float32(3)}) == 3
        found = session.statistics()
        assert (found.compiled_calls > 0) == compiled
        assert ("machine code of" in found.last_failure) == (not compiled)
