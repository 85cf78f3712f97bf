"""Working on graphs in Python: nodes read, added, rewired, removed, replaced by pattern."""

import copy

import numpy as np
import pytest

import treadle

DENSE = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
node { name: "w" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT
         tensor_shape { dim { size: 2 } dim { size: 2 } } float_val: [1, -2, 3, 4] } } } }
node { name: "b" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT
         tensor_shape { dim { size: 2 } } float_val: [0.5, 1] } } } }
node { name: "first" op: "NoOp" }
node { name: "mm" op: "MatMul" input: "x" input: "w" input: "^first"
       attr { key: "T" value { type: DT_FLOAT } } }
node { name: "add" op: "BiasAdd" input: "mm" input: "b"
       attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Relu" input: "add" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "z" op: "Neg" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "last" op: "NoOp" input: "^y" }
"""
X = np.array([[1, 2], [-3, 4]], np.float32)
W = np.array([[1, -2], [3, 4]], np.float32)
Y = np.maximum(X @ W + np.array([0.5, 1], np.float32), 0)


@pytest.fixture
def graph():
    return treadle.Graph.from_bytes(DENSE.encode())


def run(graph, fetch="z", **feeds):
    return treadle.Session(graph).run(fetch, feeds or {"x": X})


def test_nodes_can_be_read(graph):
    assert [node.name for node in graph.nodes()][:3] == ["x", "w", "b"]
    node = graph["mm"]
    assert (node.op, node.device, node.inputs) == ("MatMul", "", ["x:0", "w:0", "^first"])
    assert node.attrs["T"] == "float32"
    assert [user.name for user in node.users] == ["add"]
    assert [v.dtype for v in node.outputs] == ["float32"]
    assert "mm" in graph and "nn" not in graph
    assert graph["x"].attrs["shape"] == (None, 2)
    np.testing.assert_array_equal(graph["w"].attrs["value"], W)
    assert graph.nodes("NoOp") == [graph["first"], graph["last"]]


def test_nodes_can_be_added_and_rewired(graph):
    two = graph.add("Const", attrs={"dtype": "float32", "value": np.float32(2)})
    double = graph.add("Mul", ["y", two, "^first"], name="double")
    assert double.attrs["T"] == "float32"
    graph["z"].set_input(0, double)
    np.testing.assert_allclose(run(graph), -2 * Y)
    assert graph.add("Add", ["y", "y"]).name == "Add"
    assert graph.add("Add", ["y", "y"]).name == "Add_1"
    packed = graph.add("Pack", ["y", "y", "y"], name="packed")
    assert packed.attrs["N"] == 3
    split = graph.add("Split", [_scalar(graph, 1), "y"], attrs={"num_split": 2})
    assert len(split.outputs) == 2


def _scalar(graph, value):
    return graph.add("Const", attrs={"dtype": np.int32, "value": np.int32(value)})


def test_nodes_can_be_renamed_and_removed(graph):
    graph["y"].name = "relu"
    assert graph["z"].inputs == ["relu:0"]
    with pytest.raises(treadle.NotFoundError, match="no node 'y'"):
        graph["y"]
    graph.remove("z")
    assert "z" not in graph
    graph.remove("relu", keep_order=True)
    assert graph["last"].inputs == ["^add"]


def test_uses_can_be_replaced(graph):
    clipped = graph.add("Relu6", ["y"])
    graph.replace_uses("y:0", clipped.name)
    assert graph["z"].inputs == ["Relu6:0"]
    assert clipped.inputs == ["y:0"], "what the new value is made from stays"
    graph.replace_uses("^y", "^Relu6")
    assert graph["last"].inputs == ["^Relu6"]


def test_attributes_and_devices_can_be_set(graph):
    node = graph["mm"]
    node.set_attr("transpose_b", True)
    np.testing.assert_allclose(run(graph, "mm"), X @ W.T)
    node.remove_attr("transpose_b")
    np.testing.assert_allclose(run(graph, "mm"), X @ W)
    node.device = "/CPU:0"
    assert node.device == "/CPU:0"
    node.set_attr("_note", [1, 2])
    assert node.attrs["_note"] == [1, 2]


def test_an_input_that_is_set_rewires_the_node(graph):
    graph["z"].inputs[0] = "add"
    np.testing.assert_allclose(run(graph), -(X @ W + np.array([0.5, 1], np.float32)))
    inputs = graph["z"].inputs
    inputs.append("^first")
    inputs += ["^mm"]
    assert graph["z"].inputs == inputs == ["add:0", "^first", "^mm"]
    assert inputs[1:] == ["^first", "^mm"] and [*inputs, "q"][-1] == "q" and "^mm" in inputs
    inputs.remove("^mm")
    del inputs[1]
    assert inputs == ["add:0"] and repr(inputs) == "['add:0']"
    inputs[0] = graph["mm"]
    assert graph["z"].inputs == ["mm:0"]


def test_an_input_that_cannot_be_set_changes_nothing(graph):
    for wrong, error in [("nowhere", treadle.NotFoundError), (1, TypeError)]:
        with pytest.raises(error):
            graph["z"].inputs[0] = wrong
    with pytest.raises(IndexError):
        graph["z"].inputs[1] = "x"
    with pytest.raises(treadle.InvalidArgumentError, match="'z' .* expected 1"):
        graph["z"].inputs.clear()
    assert graph["z"].inputs == ["y:0"]


def test_an_attribute_that_is_set_changes_the_node(graph):
    node = graph["mm"]
    node.attrs["transpose_b"] = True
    np.testing.assert_allclose(run(graph, "mm"), X @ W.T)
    assert dict(node.attrs) == {"T": "float32", "transpose_b": True}
    del node.attrs["transpose_b"]
    node.attrs.update(_note=[1, 2], _other=3)
    assert node.attrs.pop("_other") == 3 and "_other" not in node.attrs
    assert node.attrs | {"T": "int32"} == {"T": "int32", "_note": [1, 2]}
    assert repr(node.attrs) == "{'T': 'float32', '_note': [1, 2]}"
    # Attributes that were read can be passed again.
    assert graph.add("MatMul", ["x", "w"], attrs=node.attrs).attrs == node.attrs


def test_an_attribute_that_cannot_be_set_changes_nothing(graph):
    with pytest.raises(treadle.InvalidArgumentError, match="int32"):
        graph["y"].attrs["T"] = "int32"
    with pytest.raises(treadle.NotFoundError, match="'y' has no attribute 'U'"):
        del graph["y"].attrs["U"]
    assert graph["y"].attrs == {"T": "float32"}


def test_what_a_node_gives_cannot_be_changed_in_part(graph):
    graph["mm"].attrs["_note"] = [1, 2]
    for edit in (
        lambda: graph["mm"].attrs["_note"].append(3),
        lambda: graph["mm"].attrs["_note"].__setitem__(0, 3),
        lambda: graph["mm"].attrs["_note"].sort(),
    ):
        with pytest.raises(TypeError, match=r"'_note' of node 'mm' .*attrs\['_note'\] = "):
            edit()
    with pytest.raises(ValueError, match="read-only"):
        graph["w"].attrs["value"][0, 0] = 5
    for parts in (graph["mm"].outputs, graph["mm"].users):
        assert isinstance(parts, tuple)


def test_a_session_keeps_the_graph_that_it_was_given(graph):
    session = treadle.Session(graph)
    other = copy.copy(graph)
    graph.remove("last")
    graph["z"].set_input(0, "mm")
    np.testing.assert_allclose(session.run("z", {"x": X}), -Y)
    np.testing.assert_allclose(run(graph), -(X @ W))
    assert "last" in other and "last" in session.graph


MISUSES = {
    "unknown node": (lambda g: g.add("Neg", ["q"]), treadle.NotFoundError, "no node 'q'"),
    "unknown value": (lambda g: g.add("Neg", ["x:3"]), treadle.NotFoundError, "has 1 outputs"),
    "duplicate name": (
        lambda g: g.add("Neg", ["x"], name="y"),
        treadle.AlreadyExistsError,
        "a node 'y' already",
    ),
    "rename to a taken name": (
        lambda g: setattr(g["y"], "name", "z"),
        treadle.AlreadyExistsError,
        "a node 'z' already",
    ),
    "no name": (
        lambda g: g.add("Neg", ["x"], name="a b"),
        treadle.InvalidArgumentError,
        "not a valid node name",
    ),
    "wrong dtype": (
        lambda g: g.add("LogicalNot", ["x"], name="n"),
        treadle.InvalidArgumentError,
        "node 'n': input 0 is 'x:0' of float32, expected bool",
    ),
    "rewired to another dtype": (
        lambda g: g["mm"].set_input(0, _scalar(g, 1)),
        treadle.InvalidArgumentError,
        "of int32, expected float32",
    ),
    "too few inputs": (
        lambda g: g.add("MatMul", ["x"], attrs={"T": "float32"}),
        treadle.InvalidArgumentError,
        "has 1 data inputs, expected 2",
    ),
    "cycle": (
        lambda g: g["mm"].set_input(0, "z"),
        treadle.InvalidArgumentError,
        "'z:0' would close a cycle",
    ),
    "control cycle": (
        lambda g: g["mm"].add_control("last"),
        treadle.InvalidArgumentError,
        "'\\^last' would close a cycle",
    ),
    "removed though used": (
        lambda g: g.remove("y"),
        treadle.FailedPreconditionError,
        "'y' is used by",
    ),
    "missing attribute": (
        lambda g: g.add("Cast", ["x"]),
        treadle.InvalidArgumentError,
        "attribute 'DstT' \\(type\\) is missing",
    ),
    "attribute of another kind": (
        lambda g: g["mm"].set_attr("transpose_a", 1),
        TypeError,
        "'transpose_a' has type int, expected a bool",
    ),
    "attribute that changes a type": (
        lambda g: g["w"].set_attr("dtype", "int32"),
        treadle.InvalidArgumentError,
        "would change output 0",
    ),
    "unknown op": (
        lambda g: g.add("Mystery", ["x"]),
        treadle.InvalidArgumentError,
        "op 'Mystery' is unknown",
    ),
    "another dtype in its place": (
        lambda g: g.replace_uses("x", _scalar(g, 1)),
        treadle.InvalidArgumentError,
        "expected float32",
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_an_error_and_changes_nothing(graph, name):
    edit, error, message = MISUSES[name]
    before = set(graph.text().splitlines())
    with pytest.raises(error, match=message):
        edit(graph)
    gone = before - set(graph.text().splitlines())
    assert not gone


# --- patterns ----------------------------------------------------------------------------------


def test_a_pattern_is_replaced(graph):
    def fuse(match):
        assert match.root.name == "y" and match["m"].name == "mm"
        attrs = {"fused_ops": ["BiasAdd", "Relu"], "num_args": 1}
        return graph.add("_FusedMatMul", [match["x"], match["w"], match["b"]], attrs=attrs)

    assert graph.replace("Relu(BiasAdd(m=MatMul(x, w), b))", fuse) == 1
    assert [n.op for n in graph.nodes() if n.op not in ("Const", "NoOp", "Placeholder")] == [
        "Neg",
        "_FusedMatMul",
    ]
    assert graph["y"].op == "_FusedMatMul", "the root's name stays"
    assert "^first" in graph["y"].inputs, "what came before still does"
    assert graph["last"].inputs == ["^y"]


def test_what_others_use_of_a_match_stays(graph):
    graph.add("Abs", ["add"], name="other")
    graph.replace("Relu(BiasAdd(x, b))", lambda m: graph.add("Relu6", [m["x"]]))
    assert "add" in graph and graph["y"].op == "Relu6"
    np.testing.assert_allclose(run(graph), -np.minimum(Y, 6))


def test_a_match_may_be_replaced_by_one_of_its_values(graph):
    graph.add("Identity", ["y", "^last"], name="copy")
    graph["z"].set_input(0, "copy")
    assert graph.replace("Identity(x)", lambda match: match["x"]) == 1
    assert "copy" not in graph
    assert graph["z"].inputs == ["y:0", "^last"], "a control dependency outlives its node"


def test_patterns_may_ask_for_attributes_alternatives_and_repetition(graph):
    names = []

    def note(match):
        names.append(match.root.name)

    for pattern in [
        "MatMul(_, _){transpose_a: False}",
        "Relu|Relu6(...)",
        "BiasAdd(MatMul(...), Const())",
    ]:
        graph.replace(pattern, note)
    assert names == ["y", "add"]
    graph["mm"].set_attr("transpose_a", False)
    graph.replace("MatMul(_, _){transpose_a: False}", note)
    assert names == ["y", "add", "mm"]
    graph.add("Mul", ["x", "x"], name="square")
    graph.add("Mul", ["x", "y"], name="product")
    graph.replace("Mul(a, a)", note)
    assert names[3:] == ["square"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("Relu(", "at character 5: expected an op or a word"),
        ("x", "expected an op"),
        ("Relu(x) y", "at character 8: expected the end"),
        ("Relu(x$)", "at character 6"),
        ("Relu(x){a}", "expected {name: value"),
    ],
)
def test_a_wrong_pattern_is_a_value_error(graph, pattern, message):
    with pytest.raises(ValueError, match=message.replace("{", "\\{")):
        graph.replace(pattern, lambda match: None)


def test_a_replacement_that_fails_leaves_the_graph_alone(graph):
    before = graph.text()

    def fail(match):
        graph.add("Neg", [match["x"]])
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        graph.replace("Relu(x)", fail)
    assert graph.text() == before


# --- parts -------------------------------------------------------------------------------------


def test_a_part_is_extracted_between_feeds_and_fetches(graph):
    part = graph.extract(["y"], feeds=["mm:0"])
    assert {n.name for n in part.nodes()} == {"mm", "b", "add", "y"}
    assert part["mm"].op == "Placeholder"
    value = np.array([[1.0, -3.0]], np.float32)
    np.testing.assert_allclose(run(part, "y", mm=value), [[1.5, 0]])
    assert "z" in graph, "the graph itself stays"
    with pytest.raises(treadle.NotFoundError, match="no node 'q'"):
        graph.extract(["q"])


VARIABLE = """
node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } } } }
       attr { key: "shared_name" value { s: "v" } } }
node { name: "start" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT
         tensor_shape { dim { size: 2 } } float_val: [3, 4] } } } }
node { name: "init" op: "AssignVariableOp" input: "v" input: "start"
       attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "read" op: "ReadVariableOp" input: "v"
       attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Neg" input: "read" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "after" op: "Identity" input: "y" input: "^init"
       attr { key: "T" value { type: DT_FLOAT } } }
"""


def test_variables_are_frozen():
    graph = treadle.Graph.from_bytes(VARIABLE.encode())
    session = treadle.Session(graph)
    with pytest.raises(treadle.FailedPreconditionError, match="'v' .* has no value"):
        graph.freeze(session, ["y"])
    session.run([], targets="init")
    frozen = graph.freeze(session, ["y"])
    assert {n.op for n in frozen.nodes()} == {"Const", "Neg"}
    assert frozen["read"].op == "Const"
    np.testing.assert_array_equal(run(frozen, "y", **{"read:0": np.float32([1, 2])}), [-1, -2])
    np.testing.assert_array_equal(treadle.Session(frozen).run("y"), [-3, -4])
    # A variable that is written stays one; 'init' is taken.
    frozen = graph.freeze(session, ["after"])
    assert {"VarHandleOp", "AssignVariableOp", "ReadVariableOp"} <= {n.op for n in frozen.nodes()}
    again = treadle.Session(frozen)
    again.run([], targets="init_1")
    np.testing.assert_array_equal(again.run("after"), [-3, -4])


def test_check_tells_races():
    graph = treadle.Graph.from_bytes(VARIABLE.encode())
    (race,) = graph.check()
    assert race.kind == "race" and race.nodes == ("init", "read")
    assert graph.check(["y"]) == []
    with pytest.raises(treadle.InvalidArgumentError, match="'q'"):
        graph.check(["q"])


# --- many edits; with work that grows with the graph for each of them, these take minutes ---------


def long_chain(count):
    graph = treadle.Graph.from_bytes(b"versions { producer: 1482 }")
    last = graph.add("Placeholder", name="x", attrs={"dtype": "float32"})
    nodes = []
    for i in range(count):
        last = graph.add("Neg", [last], name=f"n{i}")
        nodes.append(last)
    return graph, nodes


def test_many_control_inputs_of_one_node():
    graph, nodes = long_chain(20_000)
    barrier = graph.add("NoOp", name="all")
    for node in [*nodes, *nodes]:
        barrier.add_control(node)
    assert list(barrier.inputs) == [f"^n{i}" for i in range(len(nodes))]
    assert barrier.inputs.index("^n19999") == 19_999
    assert next(reversed(barrier.inputs)) == "^n19999"


def test_rewiring_all_of_a_chain():
    graph, nodes = long_chain(20_000)
    for before, node in zip(nodes, nodes[1:], strict=False):
        node.set_input(0, before)
        node.set_input(0, "x")
    for before, node in zip(nodes[1:], nodes, strict=False):
        node.set_input(0, before)
    assert nodes[0].inputs == ["n1:0"]
    with pytest.raises(treadle.InvalidArgumentError, match="would close a cycle"):
        nodes[-1].set_input(0, nodes[0])


def test_inserting_a_node_after_each():
    graph, nodes = long_chain(10_000)
    for i, node in enumerate(nodes):
        graph.replace_uses(node.name, graph.add("Tanh", [node], name=f"t{i}").name)
    assert nodes[1].inputs == ["t0:0"]
