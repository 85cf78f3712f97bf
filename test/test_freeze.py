"""`treadle freeze`, Graph.freeze and Graph.extract: graphs whose variables are constants."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402
import model_texts  # noqa: E402

ROOT = pathlib.Path(__file__).parents[1]
WORDS = ROOT / "examples" / "words"
TYPES = 'attr { key: "KEY" value { type: DT_INT32 } }'
RESULT = 'node { name: "r" op: "AddV2" input: "read" input: "x" TYPES }'.replace(
    "TYPES", TYPES.replace("KEY", "T")
)


def command(*args):
    line = [command_line.BINARY, "freeze", *map(str, args)]
    done = subprocess.run(line, capture_output=True, timeout=60, text=True)
    return done.returncode, done.stdout, done.stderr


def ops(graph):
    return {op for node in graph.nodes() for op in [node.op]}


def frozen_from(build, **feeds):
    """Values of `y` before and after freezing, and the frozen graph."""
    g = treadle.Builder()
    y = build(g)
    graph = g.build()
    session = treadle.Session(graph)
    session.run([], targets="init")
    frozen = graph.freeze(session, [y.name])
    assert not ops(frozen) & {"VarHandleOp", "ReadVariableOp"}
    feeds = {name + ":0": value for name, value in feeds.items()}
    expected, got = session.run(y.name, feeds), treadle.Session(frozen).run(y.name, feeds)
    np.testing.assert_array_equal(got, expected)
    return frozen


def test_a_saved_model_is_frozen(tmp_path):
    model = model_texts.variable_model(RESULT, {"r": "r:0"}, tmp_path / "model")
    loaded = treadle.load(model)
    frozen = treadle.Graph.from_file(model).freeze(loaded.session, ["r"])
    assert ops(frozen) == {"Placeholder", "Const", "AddV2"}
    assert treadle.Session(frozen).run("r", {"x": 5}) == 15
    # It is a plain graph, which stands in one file.
    frozen.to_file(tmp_path / "frozen.pb")
    assert treadle.Session(tmp_path / "frozen.pb").run("r", {"x": 1}) == 11


def test_a_part_of_a_saved_model_is_extracted(tmp_path):
    model = model_texts.variable_model(RESULT, {"r": "r:0"}, tmp_path / "model")
    part = treadle.Graph.from_file(model).extract(["r"], feeds=["read"])
    assert treadle.Session(part).run("r", {"x": 5, "read": 2}) == 7


def test_variables_that_a_loop_reads_are_frozen():
    def build(g):
        w, n = g.variable("w", np.float32([1, 2])), g.placeholder("n", "int32", [])
        with g.while_loop(i=0, sum=np.zeros(2, np.float32)) as loop:
            loop.condition(loop.i < n)
            loop.sum += w.read()
            loop.i += 1
        return loop.sum

    assert "While" in " ".join(ops(frozen_from(build, n=3)))


def test_variables_that_branches_read_are_frozen():
    def build(g):
        v, w, n = g.variable("v", 2), g.variable("w", 3), g.placeholder("n", "int32", [])
        with g.cond(n > 0) as c:
            with c.true():
                c.y = v.read() * w.read()
            with c.false():
                c.y = v.read() + v.read()
        return c.y

    for n in (0, 1):
        frozen_from(build, n=n)


def test_rows_of_batches_are_gathered_from_a_constant():
    """Each row of indices from the row of the variable that stands where it does."""

    def build(g):
        v = g.variable("v", np.arange(6, dtype=np.int32).reshape(2, 3))
        attrs = {"dtype": "int32", "batch_dims": 1}
        return g.op("ResourceGather", [v.handle, [[2, 0], [1, 1]]], attrs=attrs)

    assert "GatherV2" in ops(frozen_from(build))


def test_one_constant_serves_all_reads_of_a_body():
    def build(g):
        w = g.variable("w", 7)
        return w.read() * w.read() - w.read()

    frozen = frozen_from(build)
    assert len([node for node in frozen.nodes("Const") if node.attrs["value"] == 7]) == 1


def int_node(name, op, *inputs, key="T", more=""):
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return f'node {{ name: "{name}" op: "{op}" {listed} {TYPES.replace("KEY", key)} {more} }}\n'


def const(name, *values):
    dims = f"dim {{ size: {len(values)} }}" if len(values) > 1 else ""
    listed = " ".join(f"int_val: {v}" for v in values)
    tensor = f"tensor {{ dtype: DT_INT32 tensor_shape {{ {dims} }} {listed} }}"
    return int_node(
        name, "Const", key="dtype", more=f'attr {{ key: "value" value {{ {tensor} }} }}'
    )


SHAPE = 'attr { key: "shape" value { shape { dim { size: 3 } } } }'
FRAME = 'attr { key: "frame_name" value { s: "loop" } }'
CONSTANT = FRAME + ' attr { key: "is_constant" value { b: true } }'
INDICES = 'attr { key: "Tindices" value { type: DT_INT32 } }'
HANDLE = (
    int_node("v", "VarHandleOp", key="dtype", more=SHAPE)
    + const("start", 3, 4, 5)
    + int_node("init", "AssignVariableOp", "v", "start", key="dtype")
)
REFERENCE = (
    int_node("v", "VariableV2", key="dtype", more=SHAPE)
    + const("start", 3, 4, 5)
    + int_node("init", "Assign", "v", "start")
)
LOOP = """
%s
node { name: "more" op: "LoopCond" input: "less" }
""" % (
    const("zero", 0)
    + const("two", 2)
    + int_node("i_in", "Enter", "zero", more=FRAME)
    + int_node("n_in", "Enter", "two", more=CONSTANT)
    + int_node("i", "Merge", "i_in", "i_next", more='attr { key: "N" value { i: 2 } }')
    + int_node("less", "Less", "i", "n_in")
    + int_node("i_switch", "Switch", "i", "more")
    + int_node(
        "one",
        "Const",
        "^i_switch",
        key="dtype",
        more="""attr { key: "value" value { tensor {
        dtype: DT_INT32 tensor_shape { } int_val: 1 } } }""",
    )
    + int_node("i_add", "AddV2", "i_switch:1", "one")
    + int_node("i_next", "NextIteration", "i_add")
    + int_node("s_in", "Enter", "start", more=FRAME)
    + int_node("s", "Merge", "s_in", "s_next", more='attr { key: "N" value { i: 2 } }')
    + int_node("s_switch", "Switch", "s", "more")
    + int_node("s_add", "AddV2", "s_switch:1", "read")
    + int_node("s_next", "NextIteration", "s_add")
    + int_node("y", "Exit", "s_switch")
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HANDLE + int_node("y", "VariableShape", "v", key="out_type"), [3]),
        (
            HANDLE
            + const("i", 2, 0)
            + int_node("y", "ResourceGather", "v", "i", key="dtype", more=INDICES),
            [5, 3],
        ),
        (
            HANDLE
            + 'node { name: "is" op: "VarIsInitializedOp" input: "v" }'
            + 'node { name: "y" op: "Cast" input: "is" attr { key: "SrcT" value { type: DT_BOOL } }'
            + ' attr { key: "DstT" value { type: DT_INT32 } } }',
            1,
        ),
        (REFERENCE + int_node("y", "Identity", "v"), [3, 4, 5]),
        (REFERENCE + int_node("y", "Neg", "v"), [-3, -4, -5]),
        # Handles and references that are taken into a frame.
        (
            HANDLE
            + LOOP
            + 'node { name: "v_in" op: "Enter" input: "v" attr { key: "T" value { type: '
            + "DT_RESOURCE } } "
            + CONSTANT
            + "}"
            + int_node("read", "ReadVariableOp", "v_in", key="dtype"),
            [9, 12, 15],
        ),
        (
            REFERENCE
            + LOOP
            + int_node("v_in", "RefEnter", "v", more=CONSTANT)
            + int_node("read", "Identity", "v_in"),
            [9, 12, 15],
        ),
        # Nodes that wait for a variable then wait for its predecessors.
        (HANDLE + int_node("r", "ReadVariableOp", "v", key="dtype")
         + int_node("y", "Identity", "r", "^v"), [3, 4, 5]),
    ],
    ids=["shape", "gather", "test", "reference", "read by an op", "in a frame",
         "reference in a frame", "waited for"],
)  # fmt: skip
def test_all_that_looks_at_a_variable_is_frozen(text, expected):
    graph = treadle.Graph.from_bytes((text + "versions { producer: 1882 }").encode())
    session = treadle.Session(graph)
    session.run([], targets="init")
    np.testing.assert_array_equal(session.run("y"), expected)
    frozen = graph.freeze(session, "y")
    assert not ops(frozen) & {"VarHandleOp", "VariableV2", "ReadVariableOp", "RefEnter"}
    np.testing.assert_array_equal(treadle.Session(frozen).run("y"), expected)


def test_what_cannot_be_frozen_is_told():
    words = treadle.load(WORDS)
    graph = treadle.Graph.from_file(WORDS)
    with pytest.raises(treadle.FailedPreconditionError, match="table .* is empty"):
        graph.freeze(treadle.Session(graph), ["id"])
    with pytest.raises(treadle.NotFoundError, match="no node 'q'"):
        graph.freeze(words.session, ["q"])
    with pytest.raises(treadle.InvalidArgumentError, match="list of fetches is empty"):
        graph.freeze(words.session, [])
    with pytest.raises(TypeError, match="session is a Model, expected .* model.session"):
        graph.freeze(words, ["y"])
    with pytest.raises(treadle.NotFoundError, match="no value 'y:7': 'y' has 1 outputs"):
        graph.freeze(words.session, ["y"], feeds=["y:7"])


def test_what_is_written_stays_a_variable():
    """A variable that a fetch writes is kept with its value; those that are only read become
    constants."""
    words = treadle.load(WORDS)
    frozen = treadle.Graph.from_file(WORDS).freeze(words.session, ["y", "calls_now"])
    assert [node.name for node in frozen.nodes("VarHandleOp")] == ["calls"]
    session = treadle.Session(frozen)
    with pytest.raises((treadle.NotFoundError, treadle.FailedPreconditionError), match="calls"):
        session.run("calls_now", {"x": [1, 2]})
    session.run([], targets="init")
    y, calls = session.run(["y", "calls_now"], {"x": [1, 2]})
    np.testing.assert_array_equal(y, np.float32([2.5, 5]))
    assert (calls, session.run("calls_now", {"x": [1]})) == (11, 12)


def test_tables_stay_with_what_they_hold():
    words = treadle.load(WORDS)
    frozen = treadle.Graph.from_file(WORDS).freeze(words.session, ["id"])
    session = treadle.Session(frozen)
    session.run([], targets="init")
    asked = np.array([b"two", b"zero", b"nothing"])
    expected = words.session.run("id", {"word": asked[0]})
    assert session.run("id", {"word": asked[0]}) == expected == 2


def test_a_variable_that_a_loop_writes_stays():
    g = treadle.Builder()
    v, w = g.variable("v", 2), g.variable("w", 5)
    n = g.placeholder("n", "int32", [])
    with g.while_loop(i=0) as loop:
        loop.condition(loop.i < n)
        v.assign_add(w.read())
        loop.i += 1
    y = v.read() * loop.i
    graph = g.build()
    session = treadle.Session(graph)
    session.run([], targets="init")
    frozen = graph.freeze(session, [y.name])
    again = treadle.Session(frozen)
    again.run([], targets="init")
    for _ in range(2):
        assert again.run(y.name, {"n:0": 3}) == session.run(y.name, {"n:0": 3})
    assert {node.attrs.get("shared_name") for node in frozen.nodes("VarHandleOp")} == {"v"}


def test_the_command_freezes_a_signature(tmp_path):
    model = model_texts.variable_model(RESULT, {"r": "r:0"}, tmp_path / "model")
    status, out, error = command(model, "-o", tmp_path / "frozen.pb")
    assert (status, error) == (0, "")
    assert out == (
        "serving_default\n  <- x: int32 of any shape (x:0)\n  -> r: int32 of any shape (r:0)\n"
    )
    assert treadle.Session(tmp_path / "frozen.pb").run("r", {"x": 5}) == 15
    status, out, error = command(WORDS, "-o", tmp_path / "words.pb", "--signature", "lookup")
    assert (status, error) == (0, "") and out.endswith("run 'init' first: --setup init\n")


def test_the_command_freezes_a_plain_graph(tmp_path):
    graph = tmp_path / "graph.pbtxt"
    graph.write_text(REFERENCE + int_node("y", "Neg", "v") + "versions { producer: 1882 }")
    frozen = tmp_path / "frozen.mlir"
    assert command(graph, "-o", frozen, "--fetch", "y", "--setup", "init") == (0, "", "")
    np.testing.assert_array_equal(treadle.Session(frozen).run("y"), [-3, -4, -5])
    status, _, error = command(graph, "-o", frozen, "--fetch", "y")
    assert status == 1 and "variable 'v' (node 'v') has no value" in error


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        ([], 2, "option '-o' is missing"),
        (["-o", "x.pb", "--signature", "lokup"], 1, "did you mean 'lookup'?"),
        (["-o", "x.pb", "--signatur", "lookup"], 2, "did you mean '--signature'?"),
        (["-o", "x.onnx", "--fetch", "y"], 1, "'x.onnx' has no known extension"),
        (["-o", "x.pb", "--fetch", "yy"], 1, "no node 'yy'"),
        (["-o", "x.pb", "--fetch", "y", "--setup", "inti"], 1, "inti"),
        (["-o", "x.pb", "--fetch", "y", "--passes", "tfg-cleanupp"], 1, "tfg-cleanupp"),
    ],
)
def test_misuse_of_the_command(args, status, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    got, out, error = command(WORDS, *args)
    assert (got, out) == (status, "") and message in error
    assert list(tmp_path.iterdir()) == []
