"""Arguments that can't be meant: a TypeError or ValueError that names the argument."""

import numpy as np
import pytest

import treadle

GRAPH = b"""
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }"""


@pytest.fixture
def graph():
    return treadle.Graph.from_bytes(GRAPH)


@pytest.mark.parametrize(
    "effects",
    [
        {"write": ["a"]},
        {"a": ["write"]},
        {"a": "wirte"},
        {1: "read"},
        ["a"],
        "World",
        np.array(["none"]),
        None,
    ],
)
def test_effects_that_are_none(effects):
    message = r"effects is .*, expected 'none', 'world' or a dict of resource names"
    with pytest.raises(ValueError, match=message):
        treadle.register_op("Never", lambda: None, effects)


@pytest.mark.parametrize("effects", ["none", "world", {}, {"a": "read", "b": "write"}])
def test_effects(effects):
    treadle.register_op("Sometimes", lambda: None, effects)


def test_what_is_registered():
    for name in (None, 3, "", b"Op"):
        with pytest.raises(TypeError, match="name is .*, expected the name of an op"):
            treadle.register_op(name, lambda: None)
    with pytest.raises(TypeError, match="fn is a int, expected a function"):
        treadle.register_op("Never", 3)
    for name, effects in (("\ud800", "none"), ("Never", {"\ud800": "read"})):
        with pytest.raises(treadle.InvalidArgumentError, match="is not valid Unicode"):
            treadle.register_op(name, lambda: None, effects)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda g: g.add("Neg", 3), "inputs is 3, of type int, expected a list"),
        (lambda g: g.add("Neg", b"x"), "inputs is b'x', of type bytes, expected a list"),
        (lambda g: g.add("Neg", [3]), "an input is a int"),
        (lambda g: g.add("Neg", ["x"], attrs=["T"]), r"attrs is \['T'\], of type list.*a dict"),
        (lambda g: g.add("Neg", ["x"], attrs={1: 2}), "a key of attrs is 1, of type int"),
        (lambda g: g.add("New", outputs=[1]), "an element of outputs is 1, of type int"),
        (lambda g: g.remove(3), "a node is 3, of type int"),
        (lambda g: g["y"].add_control(None), "a node is None"),
        (lambda g: g.replace(3, lambda m: None), "the pattern is 3"),
        (lambda g: g.replace("Neg(x)", lambda m: 3), "the replacement is 3"),
        (lambda g: g.extract(3), "fetches is 3"),
        (lambda g: g.extract("y", 3), "feeds is 3"),
        (lambda g: g.check(3), "asked is 3"),
        (lambda g: g.explain([3]), "an input is a int"),
        (lambda g: g.explain("y", 3), "targets is 3"),
        (lambda g: g.explore("y", [("x", 1)]), "feeds is .*, expected a dict"),
        (lambda g: g.explore("y", {1: 1}), "a key of feeds is 1"),
        (lambda g: g.explore("y", setup=3), "setup is 3"),
        (lambda g: g.gradients(3, "x"), "ys is 3"),
        (lambda g: g.gradients("y", "x", 3), "grad_ys is 3"),
        (lambda g: g.preserve_order([("x", "y")]), "order is .*, expected a dict"),
        (lambda g: g.preserve_order({"y": 3}), r"order\['y'\] is 3"),
        (lambda g: treadle.load("nowhere", tags=3), "tags is 3"),
        (lambda g: treadle.load("nowhere", tags=["serve", 3]), "an element of tags is 3"),
        (lambda g: treadle.Session(3), "graph is a int, expected bytes of a GraphDef"),
        (lambda g: treadle.Session(g).run(3), "fetches is a int, expected a name"),
        (lambda g: treadle.Session(g).run([3]), "fetches contains a int"),
        (lambda g: treadle.Session(g).run("y", {}, 3), "targets is a int"),
        (lambda g: treadle.Session(g).run("y", ["x"]), "feeds is a list"),
    ],
)
def test_graphs_and_sessions(graph, call, message):
    with pytest.raises(TypeError, match=message):
        call(graph)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda g: treadle.Session(g, threds=2),
            r"Session\(\) has no argument 'threds' \(did you mean 'threads'\?\)",
        ),
        (lambda g: treadle.Session(), r"Session\(\) lacks its argument 'graph'"),
        (
            lambda g: treadle.Session(g, 2),
            r"Session\(\) got 2 positional arguments, expected at most 1",
        ),
        (
            lambda g: treadle.Session(g, threads="1"),
            "threads is '1', of type str, expected an int or None",
        ),
        (
            lambda g: treadle.Session(g, cores=[1, "2"]),
            "cores is .*, expected a list of int or None",
        ),
        (
            lambda g: treadle.Session(g, timeout="1"),
            "timeout is '1', of type str, expected a number or None",
        ),
        (lambda g: treadle.Session(g, trace=3), "trace is 3, of type int, expected a bool"),
        (
            lambda g: treadle.Session(g, communicator=3),
            "communicator is 3, of type int, expected a Communicator",
        ),
        (
            lambda g: treadle.Session(g, threads=2**70),
            r"Session\(\): an argument can't be used; expected",
        ),
        (
            lambda g: treadle.Session(g).run("y", feed={}),
            r"Session.run\(\) has no argument 'feed' \(did you mean 'feeds'\?\)",
        ),
        (lambda g: treadle.Session(g).run("y", "x"), "feeds is a str, expected a dict"),
        (lambda g: g.run_passes(3), "pipeline is 3, of type int, expected a str"),
        (
            lambda g: treadle.load("nowhere", threads="1"),
            "threads is '1', of type str, expected an int or None",
        ),
    ],
)
def test_errors_of_native_functions_are_one_line(graph, call, message):
    with pytest.raises(TypeError, match=message) as raised:
        call(graph)
    assert "\n" not in str(raised.value) and "incompatible" not in str(raised.value)


def test_one_name_is_a_list_of_it(graph):
    graph.add("Neg", "y", name="z")
    graph["z"].inputs = "x"
    assert graph["z"].inputs == ["x:0"]
    assert graph.explain(graph["y"]).bodies == graph.explain(["y"]).bodies
    assert len(graph.extract(graph["y"]).nodes()) == 2


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda g: g.placeholder(3), "name is 3"),
        (lambda g: g.placeholder("p", shape=3), "shape is 3, of type int, expected a list"),
        (lambda g: g.placeholder("p", shape="3"), "shape is '3', of type str, expected a list"),
        (lambda g: g.variable("v", dtype="int32", shape=3), "shape is 3"),
        (lambda g: g.op(3), "op is 3"),
        (lambda g: g.op("Neg", "ab"), "inputs of Neg is 'ab', of type str, expected a list"),
        (lambda g: g.op("Neg", 3), "inputs of Neg is 3, of type int, expected a list"),
        (lambda g: g.op("Neg", [3], attrs=["T"]), "attrs is"),
        (lambda g: g.op("Neg", [3], attrs={1: 2}), "a key of attrs is 1"),
        (lambda g: g.while_loop(variables=[1]), "variables is"),
        (lambda g: g.while_loop(i=0, shapes=[1]), "shapes is"),
        (lambda g: g.while_loop(i=0, shapes={"i": 3}), r"shapes\['i'\] is 3"),
        (lambda g: g.group(3), "operations is 3"),
    ],
)
def test_builders(call, message):
    with pytest.raises(TypeError, match=message):
        call(treadle.Builder())


def test_one_value_is_a_list_of_it():
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [])
    assert g.op("Neg", x).dtype == "float32"
    with g.control_dependencies(g.group(x, name="done")):
        y = g.op("Identity", [x], name="y")
    assert "^done" in g.build()[y.op.name].inputs
