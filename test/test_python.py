"""The Python package, as its users see it: graphs in, arrays out, errors by class."""

import ast
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import treadle

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
COUNTDOWN = EXAMPLES / "countdown.pbtxt"

DTYPES = {
    "float32": "DT_FLOAT",
    "float64": "DT_DOUBLE",
    "float16": "DT_HALF",
    "bfloat16": "DT_BFLOAT16",
    "float8_e5m2": "DT_FLOAT8_E5M2",
    "float8_e4m3fn": "DT_FLOAT8_E4M3FN",
    "int4": "DT_INT4",
    "int8": "DT_INT8",
    "int16": "DT_INT16",
    "int32": "DT_INT32",
    "int64": "DT_INT64",
    "uint8": "DT_UINT8",
    "uint16": "DT_UINT16",
    "uint32": "DT_UINT32",
    "uint64": "DT_UINT64",
    "bool": "DT_BOOL",
    "complex64": "DT_COMPLEX64",
    "complex128": "DT_COMPLEX128",
    "string": "DT_STRING",
}
ML_DTYPES = ("bfloat16", "float8_e5m2", "float8_e4m3fn", "int4")


def node(name, op, *inputs, **attrs):
    """A NodeDef as text; attributes are given as they are written there."""
    lines = [f'input: "{value}"' for value in inputs]
    lines += [f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items()]
    return f'node {{ name: "{name}" op: "{op}" ' + " ".join(lines) + " }"


def graph(*nodes):
    return "\n".join([*nodes, "versions { producer: 2474 }"]).encode()


def placeholder(name, dtype, dims=None):
    shape = "unknown_rank: true"
    if dims is not None:
        shape = " ".join(f"dim {{ size: {dim} }}" for dim in dims)
    kind = f"type: {DTYPES[dtype]}"
    return node(name, "Placeholder", dtype=kind, shape=f"shape {{ {shape} }}")


def typed(name, op, *inputs, dtype="float32", **attrs):
    return node(name, op, *inputs, T=f"type: {DTYPES[dtype]}", **attrs)


def identity(dtype, dims=None):
    return graph(placeholder("x", dtype, dims), typed("y", "Identity", "x", dtype=dtype))


def endless():
    """A loop that adds 0 to 0 until it is 1."""
    one = "tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 }"
    kind = {"dtype": "int32"}
    return graph(
        placeholder("x", "int32", []),
        typed("enter", "Enter", "x", frame_name='s: "loop"', **kind),
        typed("merge", "Merge", "enter", "next", N="i: 2", **kind),
        node("one", "Const", "^merge", dtype="type: DT_INT32", value=one),
        typed("less", "Less", "merge", "one", **kind),
        node("cond", "LoopCond", "less"),
        typed("switch", "Switch", "merge", "cond", **kind),
        typed("add", "AddV2", "switch:1", "switch:1", **kind),
        typed("next", "NextIteration", "add", **kind),
        typed("exit", "Exit", "switch", **kind),
    )


def variable(dtype="float32"):
    kind = f"type: {DTYPES[dtype]}"
    return graph(
        placeholder("x", dtype),
        node("v", "VarHandleOp", dtype=kind, shape="shape { unknown_rank: true }"),
        node("assign", "AssignVariableOp", "v", "x", dtype=kind),
        node("add", "AssignAddVariableOp", "v", "x", dtype=kind),
        node("read", "ReadVariableOp", "v", dtype=kind),
    )


# --- graphs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["path", "str", "bytes", "bytearray", "graph"])
def test_a_session_takes_a_graph_in_every_form(kind):
    given = {
        "path": COUNTDOWN,
        "str": str(COUNTDOWN),
        "bytes": COUNTDOWN.read_bytes(),
        "bytearray": bytearray(COUNTDOWN.read_bytes()),
        "graph": treadle.Graph.from_file(COUNTDOWN),
    }[kind]
    assert treadle.Session(given).run("count:0") == 0


def test_a_graph_tells_its_inputs_and_outputs():
    values = treadle.Graph.from_bytes(identity("int64", [2, -1]))
    assert values.inputs() == [treadle.Value("x:0", "int64", (2, None))]
    assert [value.name for value in values.outputs()] == ["y:0"]
    assert values.inputs()[0].shape == (2, None)
    assert treadle.Graph.from_bytes(identity("int64")).inputs()[0].shape is None


@pytest.mark.parametrize("extension", ["pb", "pbtxt", "mlir"])
def test_a_graph_goes_to_a_file_and_back(tmp_path, extension):
    original = treadle.Graph.from_file(COUNTDOWN)
    original.to_file(tmp_path / f"graph.{extension}")
    copy = treadle.Graph.from_file(tmp_path / f"graph.{extension}")
    assert copy.to_bytes() == original.to_bytes()
    assert treadle.Graph.from_bytes(original.to_bytes()).text() == original.text()
    assert "tfg.graph" in original.text()


def test_graphs_that_are_none():
    with pytest.raises(treadle.NotFoundError, match="no-such-file"):
        treadle.Session("no-such-file.pb")
    with pytest.raises(treadle.InvalidArgumentError):
        treadle.Session(b"\x00\x01\x02 this is no graph")
    with pytest.raises(TypeError, match="expected bytes of a GraphDef, a path or a treadle.Graph"):
        treadle.Session(3)
    with pytest.raises(treadle.InvalidArgumentError, match="'fold' is not a valid pass pipeline"):
        treadle.Graph.from_file(COUNTDOWN).run_passes("fold")


@pytest.mark.parametrize(
    ("pipeline", "reason"),
    [
        ("tfg-tooposort", r"there is no pass 'tfg-tooposort' \(did you mean 'tfg-toposort'\?\)"),
        ("tfg-cse,tfg-prun{fetches=x}", r"no pass 'tfg-prun' \(did you mean 'tfg-prune'\?\)"),
        ("builtin.module(tfg-defalt)", r"no pass 'tfg-defalt' \(did you mean 'tfg-default'\?\)"),
        ("simplify-everything", "there is no pass 'simplify-everything'"),
        ("tfg-prune{fetchs=x}", "no such option fetchs.*tfg-prune"),
        ("tfg-cse(", "unbalanced parentheses"),
    ],
)
def test_a_pipeline_that_is_none_says_why(pipeline, reason):
    with pytest.raises(treadle.InvalidArgumentError, match=reason) as raised:
        treadle.Graph.from_file(COUNTDOWN).run_passes(pipeline)
    assert "\n" not in raised.value.message
    assert raised.value.message.endswith(
        "; see docs/working-on-graphs.md for passes and their options"
    )


def test_a_node_that_is_none_has_a_suggestion():
    graph = treadle.Graph.from_file(COUNTDOWN)
    with pytest.raises(treadle.NotFoundError, match=r"no node 'cout'.*did you mean 'count'\?"):
        graph["cout"]
    assert "cout" not in graph


def test_passes_give_a_new_graph():
    graph = treadle.Graph.from_bytes(b'node { name: "a" op: "NoOp" } node { name: "b" op: "NoOp" }')
    assert repr(graph.run_passes("tfg-cse")) == "<treadle.Graph: 1 nodes, 0 functions>"
    assert repr(graph) == "<treadle.Graph: 2 nodes, 0 functions>"


# --- values -------------------------------------------------------------------------------------


def test_fetches_as_one_name_and_as_a_list():
    session = treadle.Session(COUNTDOWN)
    bare = session.run("count")
    assert isinstance(bare, np.ndarray) and bare.shape == () and bare.dtype == np.int32
    assert session.run(["count:0", "start:0"]) == [0, 5]
    assert session.run((), targets=["count"]) == []
    assert session.run([], targets="count") == []
    # A fed value replaces that of the node; a fetch in a loop returns its first iteration.
    assert session.run(["loop/merge", "loop/merge:0@last"], {"start:0": 2}) == [2, 0]
    np.testing.assert_array_equal(session.run("loop/merge:0@*", {"start": 2}), [2, 1, 0])


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "string"])
@pytest.mark.parametrize("count", [0, 6, 6000])
def test_every_dtype_goes_in_and_comes_out(dtype, count):
    if dtype in ML_DTYPES:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        numpy_dtype = np.dtype(getattr(ml_dtypes, dtype))
    else:
        numpy_dtype = np.dtype(dtype)
    value = np.resize(np.arange(5), (2, count // 2)).astype(numpy_dtype)
    got = treadle.Session(identity(dtype)).run("y:0", {"x:0": value})
    assert got.dtype == numpy_dtype and got.shape == value.shape
    assert got.tobytes() == value.tobytes()


def test_strings_come_as_bytes():
    session = treadle.Session(identity("string"))
    value = np.array([[b"a\0", "\u00e9"], ["", b"\xff\x00"]], object)
    got = session.run("y:0", {"x:0": value})
    assert got.dtype == object and got.shape == (2, 2)
    assert got.tolist() == [[b"a\0", "\u00e9".encode()], [b"", b"\xff\x00"]]
    assert session.run("y:0", {"x:0": ["a", b"b\0"]}).tolist() == [b"a", b"b\0"]
    assert session.run("y:0", {"x:0": "text"}).item() == b"text"
    assert session.run("y:0", {"x:0": np.array(["abc", "d"])}).tolist() == [b"abc", b"d"]
    with pytest.raises(treadle.InvalidArgumentError, match="contains a int, expected bytes or str"):
        session.run("y:0", {"x:0": ["a", 1]})


@pytest.mark.parametrize(
    "dtype, value, want",
    [
        ("int32", [1, 2], [1, 2]),
        ("int64", np.int32([1, 2]), [1, 2]),
        ("int8", [], []),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("float32", [1, 2], [1.0, 2.0]),
        ("float32", 0.5, 0.5),
        ("float64", np.float32(0.5), 0.5),
        ("complex64", [1, 2j], [1, 2j]),
        ("bool", [True, False], [True, False]),
    ],
)
def test_numbers_become_what_the_graph_wants(dtype, value, want):
    got = treadle.Session(identity(dtype)).run("y:0", {"x:0": value})
    assert got.dtype == np.dtype(dtype)
    assert got.tolist() == want


@pytest.mark.parametrize(
    "dtype, value, message",
    [
        ("int32", 1.5, "feed 'x:0' is float64\\[\\], expected int32"),
        ("int8", [1, 300], "has a number that int8 can't represent"),
        ("int32", np.int64([1]), "feed 'x:0' is int64\\[1\\], expected int32; convert it with"),
        ("float32", np.float64(1), "is float64\\[\\], expected float32"),
        ("bool", [1], "expected bool"),
        ("string", np.int32([1]), "is int32\\[1\\], expected string"),
        ("int32", [[1], [2, 3]], "feed 'x:0' can't be converted to an array"),
        ("int32", None, "expected int32"),
        ("float32", np.array(["2020-01-01"], "M8[D]"), "expected float32"),
        ("float16", 1e300, "has a number that float16 can't represent"),
        ("float16", [65520], "has a number that float16 can't represent"),
        ("bfloat16", 1e300, "has a number that bfloat16 can't represent"),
        ("float32", 10**400, "has a number that float32 can't represent"),
        ("uint64", 2**64, "has a number that uint64 can't represent"),
        ("float32", [1, {}], "contains a dict, expected float32"),
        ("float32", np.ma.array(np.float32([1, 2]), mask=[0, 1]), "has masked elements"),
        ("string", "\ud800", "has a str that is not valid Unicode"),
    ],
)
def test_values_that_do_not_fit(dtype, value, message):
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        treadle.Session(identity(dtype)).run("y:0", {"x:0": value})


def test_what_just_fits():
    run = treadle.Session(identity("float16")).run
    assert run("y:0", {"x:0": 65519}) == 65504
    assert run("y:0", {"x:0": [1, float("inf")]}).tolist() == [1, float("inf")]
    assert np.isnan(run("y:0", {"x:0": float("nan")}))
    unmasked = np.ma.array(np.float16([1, 2]), mask=[0, 0])
    assert run("y:0", {"x:0": unmasked}).tolist() == [1, 2]


def test_results_that_numpy_cannot_hold():
    reshape = typed("y", "Reshape", "x", "shape", Tshape="type: DT_INT64")
    session = treadle.Session(
        graph(placeholder("x", "float32"), placeholder("shape", "int64"), reshape)
    )
    assert session.run("y", {"x": [1], "shape": [1] * 64}).ndim == 64
    with pytest.raises(treadle.InvalidArgumentError, match="which can't be a numpy array"):
        session.run("y", {"x": [1], "shape": [1] * 65})
    with pytest.raises(treadle.InvalidArgumentError, match="which can't be a numpy array"):
        session.run("y", {"x": [], "shape": [0, 1 << 62]})


def test_arrays_of_any_layout():
    session = treadle.Session(identity("float32"))
    value = np.arange(4096, dtype=np.float32).reshape(64, 64)
    unaligned = np.frombuffer(b"\0" + value.tobytes(), np.float32, offset=1).reshape(64, 64)
    read_only = value.copy()
    read_only.flags.writeable = False
    for odd in (
        value.T,
        value[::2, ::-1],
        unaligned,
        read_only,
        np.broadcast_to(value, (2, 64, 64)),
    ):
        np.testing.assert_array_equal(session.run("y:0", {"x:0": odd}), odd)
    np.testing.assert_array_equal(session.run("y:0", {"x:0": value.astype(">f4")}), value)


def test_results_are_the_callers_own():
    # `y` is what was fed; `z` is new.
    session = treadle.Session(
        graph(
            placeholder("x", "float32"),
            typed("y", "Identity", "x"),
            typed("z", "AddV2", "x", "x"),
        )
    )
    value = np.ones(5000, np.float32)
    for y, z in (session.run(["y", "z"], {"x:0": value}) for _ in range(2)):
        y += 1
        z += 1
        assert (y == 2).all() and (z == 3).all() and (value == 1).all()


def test_large_results_are_not_copied():
    session = treadle.Session(graph(placeholder("x", "float32"), typed("z", "Neg", "x")))
    z = session.run("z", {"x:0": np.ones(100_000, np.float32)})
    assert z.base is not None and z.flags.writeable and not z.flags.owndata
    kept = z[10:20]
    del z, session
    assert (kept == -1).all()


def test_large_feeds_are_not_copied():
    def address(x):
        return np.int64(x.__array_interface__["data"][0])

    treadle.register_op("address", address)
    session = treadle.Session(pyfunc("address", 1, ["int64"], op="PyFuncStateless"))
    value = np.ones(100_000, np.float32)
    assert session.run("f", {"x0": value}) == address(value)
    assert session.run("f", {"x0": value[:10]}) != address(value)


def test_a_variable_is_not_the_array_that_it_was_given():
    session = treadle.Session(variable())
    value = np.ones(5000, np.float32)
    session.run([], {"x:0": value}, ["assign"])
    value[:] = 7
    first = session.run("read")
    assert (first == 1).all()
    session.run([], {"x:0": np.ones(5000, np.float32)}, ["add"])
    assert (first == 1).all() and (session.run("read") == 2).all() and (value == 7).all()


def test_sessions_keep_their_state_to_themselves():
    one, two = treadle.Session(variable()), treadle.Session(variable())
    one.run([], {"x:0": 1.0}, ["assign"])
    assert one.run("read") == 1
    with pytest.raises(treadle.FailedPreconditionError):
        two.run("read")


# --- errors -------------------------------------------------------------------------------------


def test_the_classes_of_errors():
    classes = {name for name in dir(treadle) if name.endswith("Error")} - {"Error"}
    assert len(classes) == 16
    for name in classes:
        assert issubclass(getattr(treadle, name), treadle.Error)
    codes = [getattr(treadle, name).code for name in classes]
    assert sorted(codes) == list(range(1, 17))
    with pytest.raises(treadle.Error) as raised:
        treadle.Session(COUNTDOWN).run("no_such:0")
    assert raised.value.code == 3 and "no_such" in raised.value.message
    assert str(raised.value) == raised.value.message
    assert type(raised.value).__module__ == "treadle"


def test_calls_that_are_wrong():
    session = treadle.Session(COUNTDOWN)
    with pytest.raises(treadle.InvalidArgumentError, match="fetch|value"):
        session.run("count:1")
    with pytest.raises(treadle.InvalidArgumentError, match="nothing"):
        session.run("count", {"nothing:0": 1})
    with pytest.raises(treadle.InvalidArgumentError, match="shape"):
        session.run("count", {"start:0": [1, 2]})
    with pytest.raises(TypeError, match="fetches contains a int"):
        session.run([1])
    with pytest.raises(TypeError, match="feeds is a list"):
        session.run("count", [1])
    with pytest.raises(TypeError, match="a key of feeds is a int"):
        session.run("count", {1: 1})
    with pytest.raises(treadle.InvalidArgumentError, match="handle|resource"):
        treadle.Session(variable()).run("v")
    with pytest.raises(treadle.InvalidArgumentError, match="tier is 'fast'"):
        treadle.Session(COUNTDOWN, tier="fast")
    with pytest.raises(treadle.InvalidArgumentError, match="threads is -1"):
        treadle.Session(COUNTDOWN, threads=-1)
    with pytest.raises(treadle.InvalidArgumentError, match="cores has -1, expected cores that"):
        treadle.Session(COUNTDOWN, cores=[-1])
    with pytest.raises(treadle.InvalidArgumentError, match="cores has 1000000, expected"):
        treadle.load(EXAMPLES / "words", cores=(1000000,))


def test_names_that_are_no_text():
    session = treadle.Session(COUNTDOWN)
    for what, args in {
        "fetches": ["\ud800"],
        "feeds": ["count", {"\ud800": 1}],
        "targets": [[], {}, ["\ud800"]],
    }.items():
        with pytest.raises(
            treadle.InvalidArgumentError, match=f"a name in {what} is not valid Unicode"
        ):
            session.run(*args)


def test_more_threads_and_time_than_there_are():
    session = treadle.Session(COUNTDOWN, threads=10**9, timeout=1e300)
    assert session.run("count", {"start": 10_000}) == 0


def test_a_session_has_its_cores():
    cores = os.sched_getaffinity(0)
    session = treadle.Session(COUNTDOWN, cores=sorted(cores)[:1])
    assert session.run("count", {"start": 10_000}) == 0
    assert os.sched_getaffinity(0) == cores, "the caller's thread stays where it is"


# --- runs that do not end -----------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_a_timeout_ends_a_run(threads):
    session = treadle.Session(endless(), threads=threads, timeout=0.2)
    start = time.monotonic()
    with pytest.raises(treadle.DeadlineExceededError):
        session.run("exit", {"x:0": 0})
    assert 0.1 < time.monotonic() - start < 10
    assert session.run("exit", {"x:0": 1}) == 1


def test_another_thread_cancels():
    session = treadle.Session(endless())
    timer = threading.Timer(0.2, session.cancel)
    timer.start()
    with pytest.raises(treadle.CancelledError):
        session.run("exit", {"x:0": 0})
    timer.join()
    assert session.run("exit", {"x:0": 2}) == 2


def test_other_threads_go_on_during_a_run():
    session = treadle.Session(endless(), timeout=1)
    runner = threading.Thread(
        target=lambda: pytest.raises(treadle.Error, session.run, "exit", {"x": 0})
    )
    runner.start()
    ticks = 0
    while runner.is_alive():
        ticks += 1
        time.sleep(0.01)
    assert ticks > 10


@pytest.fixture
def interruptible():
    """SIGINT as Python handles it: a job in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_ends_a_run(tmp_path, interruptible):
    session = treadle.Session(endless())
    # Writing a file must not change who handles signals.
    session.graph.to_file(tmp_path / "graph.pb")
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.run("exit", {"x:0": 0})
    timer.join()
    assert time.monotonic() - start < 5
    assert session.run("exit", {"x:0": 1}) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)


def test_a_handler_of_the_programs_own_is_left_alone():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *args: seen.append(args))
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(treadle.DeadlineExceededError):
            treadle.Session(endless(), timeout=0.5).run("exit", {"x:0": 0})
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(seen) == 1


def test_sessions_serve_many_threads():
    session = treadle.Session(COUNTDOWN)
    wrong = []

    def work():
        for start in range(50):
            if session.run(["count", "start"], {"start:0": start}) != [0, start]:
                wrong.append(start)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- ops in Python ------------------------------------------------------------------------------


def pyfunc(token, inputs, outputs, op="PyFunc"):
    """A graph of one PyFunc of float32 inputs x0, x1, ... and outputs of these dtypes."""
    names = [f"x{i}" for i in range(inputs)]
    types = " ".join(f"type: {DTYPES[dtype]}" for dtype in outputs)
    return graph(
        *[placeholder(name, "float32") for name in names],
        node(
            "f",
            op,
            *names,
            token=f's: "{token}"',
            Tin="list { " + "type: DT_FLOAT " * inputs + "}",
            Tout="list { " + types + " }",
        ),
    )


def test_a_python_function_is_the_kernel_of_an_op():
    seen = {}

    def relu6(features, **attrs):
        seen.update(attrs)
        assert not features.flags.writeable
        return np.clip(features, 0, 5)

    nodes = graph(placeholder("x", "float32"), typed("y", "Relu6", "x"))
    before = treadle.Session(nodes)
    treadle.register_op("Relu6", relu6, effects="none")
    try:
        assert treadle.Session(nodes).run("y", {"x": [-1, 3, 9]}).tolist() == [0, 3, 5]
        assert seen == {"T": np.dtype("float32")}
        seen.clear()
        with pytest.raises(TypeError):
            treadle.register_op("Relu6", 3)
    finally:
        treadle.unregister_op("Relu6")
    assert before.run("y", {"x": [1.0]}).tolist() == [1] and not seen
    assert treadle.Session(nodes).run("y", {"x": [9.0]}).tolist() == [6] and not seen
    with pytest.raises(treadle.NotFoundError, match="registered as 'Relu6'"):
        treadle.unregister_op("Relu6")


def test_tokens_of_pyfunc():
    treadle.register_op("split", lambda a, b: (a + b, np.array([b"s"], object), np.int64(len(a))))
    session = treadle.Session(pyfunc("split", 2, ["float32", "string", "int64"]))
    total, text, size = session.run(["f:0", "f:1", "f:2"], {"x0": [1, 2], "x1": [3, 4]})
    assert total.tolist() == [4, 6] and text.tolist() == [b"s"] and size == 2


def test_a_python_function_may_run_a_session():
    inner = treadle.Session(COUNTDOWN)
    treadle.register_op("nested", lambda: np.float32(inner.run("count", {"start:0": 3}) + 1))
    assert treadle.Session(pyfunc("nested", 0, ["float32"])).run("f") == 1


def raising(error):
    def function(*args):
        raise error

    return function


@pytest.mark.parametrize(
    "function, error, message",
    [
        (raising(ValueError("no luck")), "UnknownError", "ValueError: no luck"),
        (raising(KeyError()), "UnknownError", "KeyError"),
        (raising(treadle.OutOfRangeError("the end")), "OutOfRangeError", "the end"),
        (lambda: None, "InvalidArgumentError", "returned 0 values, expected 1"),
        (lambda: (1.0, 2.0), "InvalidArgumentError", "returned 2 values, expected 1"),
        (
            lambda: np.int64(1),
            "InvalidArgumentError",
            "result 0 .* is int64\\[\\], expected float32",
        ),
        (lambda x: x, "UnknownError", "TypeError"),
    ],
)
def test_what_goes_wrong_in_a_python_function(function, error, message):
    treadle.register_op("wrong", function)
    with pytest.raises(getattr(treadle, error), match=message) as raised:
        treadle.Session(pyfunc("wrong", 0, ["float32"])).run("f")
    assert "node 'f'" in str(raised.value)


def test_tokens_and_effects_that_are_unknown():
    with pytest.raises(treadle.UnimplementedError, match="the Python function of token 'absent'"):
        treadle.Session(pyfunc("absent", 0, ["float32"])).run("f")
    with pytest.raises(ValueError, match="effects is 'some'"):
        treadle.register_op("effects", print, effects="some")
    with pytest.raises(TypeError, match="expected the name of an op"):
        treadle.register_op("", print)
    treadle.register_op("effects", print, effects={"log": "write"})


def test_interrupt_ends_a_python_function(interruptible):
    def wait():
        time.sleep(20)
        return np.float32(0)

    treadle.register_op("wait", wait)
    session = treadle.Session(pyfunc("wait", 0, ["float32"]), threads=1)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.run("f")
    timer.join()


# --- the package --------------------------------------------------------------------------------


def test_the_stub_says_what_is_there():
    folder = pathlib.Path(importlib.util.find_spec("treadle").origin).parent
    assert (folder / "py.typed").exists()
    from treadle import _native

    stub = ast.parse((folder / "_native.pyi").read_text())
    classes = {item.name: item for item in stub.body if isinstance(item, ast.ClassDef)}
    arithmetic = classes.pop("_Arithmetic")  # base classes of two of them
    built = {"Operation", "Output", "Variable", "_Branches", "_Builder", "_Function", "_Loop"}
    runs = {"Communicator", "Session", "Statistics", "_Model", "_Sandbox"}
    graphs = {"CommunicationSchedule", "Graph", "ScheduledNode"}
    assert set(classes) == runs | graphs | built
    for name, item in classes.items():
        parts = item.body + (arithmetic.body if item.bases else [])
        said = {part.name for part in parts if isinstance(part, ast.FunctionDef)}
        there = {part for part in dir(getattr(_native, name)) if not part.startswith("_")}
        assert {part for part in said if not part.startswith("_")} == there
        for part in there:
            assert getattr(getattr(_native, name), part).__doc__


def test_importing_needs_only_numpy():
    code = "import sys, treadle; print('ml_dtypes' in sys.modules, treadle.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", treadle.__version__]


def test_trim_gives_back_what_freed_tensors_had():
    g = treadle.Builder()
    x = g.placeholder("x", "float32", [None])
    y = g.op("Sum", [g.op("Tile", [x, [1 << 22]]), [0]])  # 16 MiB
    session = treadle.Session(g.build(), tier="interpret")
    treadle.trim()
    session.run(y.name, {"x": [1.0]})
    assert treadle.trim() >= 1 << 24
    assert treadle.trim() < 1 << 24
