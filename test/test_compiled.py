"""Loops as machine code: the values, the errors and the effects are those of the interpreter."""

import pathlib
import threading

import numpy as np
import pytest

import treadle

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
COUNTDOWN = EXAMPLES / "countdown.pbtxt"

F32 = "tensor<*xf32>"
I32 = "tensor<*xi32>"
I64 = "tensor<*xi64>"


def op(result, name, operands, attrs, types):
    return f'%{result}, %{result}_ctl = {name}({operands}) name("{result}") {{{attrs}}} : {types}\n'


def constant(name, value, dtype="i32"):
    attrs = f"dtype = {dtype}, value = dense<{value}> : tensor<{dtype}>"
    return op(name, "Const", "", attrs, f"() -> (tensor<{dtype}>)").replace("Const()", "Const")


def loop(body, comparison="Less"):
    """while i < n: x = body(i, n, x), over placeholders n and x."""
    arguments = ", ".join(f'%{a}: {t} {{tfg.name = "{a}"}}' for a, t in ARGUMENTS)
    results = ", ".join(f'{t} {{tfg.name = "{a}_out"}}' for a, t in ARGUMENTS)
    types = ", ".join(t for _, t in ARGUMENTS)
    return f"""
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {{
  %n, %nc = Placeholder name("n") {{dtype = i32, shape = #tf_type.shape<>}} : () -> (tensor<i32>)
  %x, %xc = Placeholder name("x") {{dtype = f32, shape = #tf_type.shape<*>}} : () -> ({F32})
  {constant("zero", 0)}
  %w:3, %wc = While(%zero, %n, %x) name("w") {{T = [i32, i32, f32],
      cond = #tf_type.func<@cond, {{}}>, body = #tf_type.func<@body, {{}}>, output_shapes = [],
      parallel_iterations = 10 : i64}}
      : (tensor<i32>, tensor<i32>, {F32}) -> ({types})
}}
tfg.func @cond({arguments}) -> (tensor<*xi1> {{tfg.name = "p"}}) {{
  {op("p", comparison, "%i, %n", "T = i32", f"({I32}, {I32}) -> (tensor<*xi1>)")}
  return(%p) : tensor<*xi1>
}}
tfg.func @body({arguments}) -> ({results}) {{
  {constant("one", 1)}
  {op("next", "AddV2", "%i, %one", "T = i32", f"({I32}, tensor<i32>) -> ({I32})")}
  {body}
  return(%next, %n, %z) : {types}
}}
"""


ARGUMENTS = [("i", I32), ("n", I32), ("x", F32)]
FF = f"({F32}, {F32}) -> ({F32})"

BODIES = {
    "elementwise": op("y", "Tanh", "%x", "T = f32", f"({F32}) -> ({F32})")
    + op("z", "AddV2", "%y, %x", "T = f32", FF),
    "by kernel": op("y", "Softmax", "%x", "T = f32", f"({F32}) -> ({F32})")
    + op("z", "Sub", "%x, %y", "T = f32", FF),
    "growing": constant("axis", 0)
    + op(
        "z",
        "ConcatV2",
        "%x, %x, %axis",
        "N = 2 : i64, T = f32, Tidx = i32",
        f"({F32}, {F32}, tensor<i32>) -> ({F32})",
    ),
    "mixed": op("f", "Cast", "%i", "SrcT = i32, DstT = f32", f"({I32}) -> ({F32})")
    + op("y", "Mul", "%f, %x", "T = f32", FF)
    + op("z", "Maximum", "%y, %x", "T = f32", FF),
}


def sessions(text, **options):
    graph = treadle.Graph.from_bytes(text.encode())
    return [treadle.Session(graph, tier=tier, **options) for tier in ("interpret", "jit")]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (1, 4), (0,), (2, 1, 5)])
def test_values_are_the_interpreters(body, shape):
    interpreted, compiled = sessions(loop(BODIES[body]))
    rng = np.random.default_rng(len(shape))
    for n in (0, 1, 4):
        feeds = {"n:0": np.int32(n), "x:0": rng.normal(size=shape).astype(np.float32)}
        try:
            expected = interpreted.run(["w:0", "w:2"], feeds)
        except treadle.Error as error:
            with pytest.raises(type(error)) as found:
                compiled.run(["w:0", "w:2"], feeds)
            assert str(found.value) == str(error)
            continue
        for a, b in zip(expected, compiled.run(["w:0", "w:2"], feeds), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def array(name, values, dtype="i32"):
    """A constant, and its type."""
    values = np.asarray(values, np.float32 if dtype == "f32" else np.int64)
    kind = f"tensor<{'x'.join([*map(str, values.shape), dtype])}>"
    attrs = f"dtype = {dtype}, value = dense<{values.tolist()}> : {kind}"
    text = op(name, "Const", "", attrs, f"() -> ({kind})").replace("Const()", "Const")
    return text, kind


def body_of(name, inputs, attrs, result=F32):
    """A loop's body that adds all elements of what an op makes of constants."""
    body, types = "", []
    for i, values in enumerate(inputs):
        text, kind = array(f"c{i}", *values)
        body += text
        types.append(kind)
    operands = ", ".join(f"%c{i}" for i in range(len(inputs)))
    body += op("y", name, operands, attrs, f"({', '.join(types)}) -> ({result})")
    floats = "%y"
    if result != F32:
        attrs = f"SrcT = {result[-4:-1]}, DstT = f32"
        body += op("fy", "Cast", "%y", attrs, f"({result}) -> ({F32})")
        floats = "%fy"
    one, kind = array("flat", [-1])
    zero, _ = array("first", [0])
    body += one + zero
    attrs = "T = f32, Tshape = i32"
    body += op("row", "Reshape", f"{floats}, %flat", attrs, f"({F32}, {kind}) -> ({F32})")
    attrs = "T = f32, Tidx = i32, keep_dims = false"
    body += op("sum", "Sum", "%row, %first", attrs, f"({F32}, {kind}) -> ({F32})")
    return body + op("z", "AddV2", "%x, %sum", "T = f32", FF)


ROW = ([1, 2, 3], "f32")
SQUARE = ([[1, 2], [3, 4]], "f32")
PADS = "T = f32, Tpaddings = i32"
CONCAT = "N = 2 : i64, T = f32, Tidx = i32"
PARTS = "T = f32, Index = i32, " + ", ".join(
    f"{mask}_mask = 0 : i64" for mask in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
)
GATHER = "Tparams = f32, Tindices = i32, Taxis = i32, batch_dims = 0 : i64"
WRONG_RANKS = {
    "tile_scalar": ("Tile", [ROW, [2]], "T = f32, Tmultiples = i32"),
    "tile_matrix": ("Tile", [ROW, [[[2]]]], "T = f32, Tmultiples = i32"),
    "reverse_scalar": ("ReverseV2", [ROW, [0]], "T = f32, Tidx = i32"),
    "reverse_matrix": ("ReverseV2", [ROW, [[[0]]]], "T = f32, Tidx = i32"),
    "pad_vector": ("Pad", [ROW, [[1, 1]]], PADS),
    "pad_column": ("Pad", [ROW, [[[1], [1]]]], PADS),
    "pad_row": ("Pad", [SQUARE, [[[1, 1, 1, 1]]]], PADS),
    "pad_with_column": ("PadV2", [ROW, [[[1], [1]]], (0, "f32")], PADS),
    "broadcast_matrix": ("BroadcastTo", [ROW, [[[2, 3]]]], "T = f32, Tidx = i32"),
    "slice_scalars": ("Slice", [ROW, [1], [1]], "T = f32, Index = i32"),
    "slice_matrices": ("Slice", [ROW, [[[1]]], [[[1]]]], "T = f32, Index = i32"),
    "concat_matrix": ("ConcatV2", [ROW, ROW, [[[0]]]], CONCAT),
    "gather_vector": ("GatherV2", [SQUARE, [[1, 0]], [[0]]], GATHER),
    "range_matrices": ("Range", [[[[0]]], [[[3]]], [[[1]]]], "Tidx = i32", I32),
    "strided_slice_scalars": ("StridedSlice", [ROW, [0], [2], [1]], PARTS),
}


@pytest.mark.parametrize("case", WRONG_RANKS)
def test_constants_of_wrong_ranks_are_the_interpreters_error(case):
    errors = []
    for session in sessions(loop(body_of(*WRONG_RANKS[case]))):
        with pytest.raises(treadle.InvalidArgumentError) as error:
            session.run("w:2", {"n:0": np.int32(2), "x:0": np.float32(1)})
        errors.append(str(error.value))
    assert errors[0] == errors[1] and "'y'" in errors[0]


IMPOSSIBLE = {
    "fill": ("Fill", [[[-1]], (1, "f32")], "T = f32, index_type = i32"),
    "fill_without_end": ("Fill", [[[1 << 30] * 4], (1, "f32")], "T = f32, index_type = i32"),
    "one_hot": (
        "OneHot",
        [[[0, 1]], [-1], (1, "f32"), (0, "f32")],
        "T = f32, TI = i32, axis = -1 : i64",
    ),
    "range": ("Range", [(-(2**63), "i64"), (2**63 - 1, "i64"), (1, "i64")], "Tidx = i64", I64),
}


def guarded(body):
    """A loop that takes a body from its third iteration on."""
    types = f'(%x: {F32} {{tfg.name = "x"}}) -> ({F32} {{tfg.name = "z"}})'
    branches = "Tcond = i1, Tin = [f32], Tout = [f32], output_shapes = [], " + ", ".join(
        f"{name}_branch = #tf_type.func<@{name}, {{}}>" for name in ("then", "else")
    )
    outer = (
        constant("two", 2)
        + op("late", "GreaterEqual", "%i, %two", "T = i32", f"({I32}, tensor<i32>) -> (tensor<i1>)")
        + op("z", "If", "%late, %x", branches, f"(tensor<i1>, {F32}) -> ({F32})")
    )
    return f"""{loop(outer)}
tfg.func @then{types} {{ {body}
  return(%z) : {F32} }}
tfg.func @else{types} {{ {op("z", "Neg", "%x", "T = f32", f"({F32}) -> ({F32})")}
  return(%z) : {F32} }}
"""


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_a_size_that_cannot_be_leaves_the_rest_compiled(case):
    """The op fails when it runs; its loop is machine code as long as it doesn't."""
    interpreted, compiled = sessions(guarded(body_of(*IMPOSSIBLE[case])), statistics=True)
    feeds = {"n:0": np.int32(2), "x:0": np.float32(1)}
    assert compiled.run("w:2", feeds) == interpreted.run("w:2", feeds) == 1
    statistics = compiled.statistics()
    assert statistics.compiled_calls == 1 and statistics.bails == 0, statistics
    feeds["n:0"] = np.int32(3)
    errors = []
    for session in (interpreted, compiled):
        with pytest.raises(treadle.Error) as error:
            session.run("w:2", feeds)
        errors.append(str(error.value))
    assert errors[0] == errors[1] and "'y'" in errors[0]


def products(count):
    """x times a rotation, over and over."""
    turn, kind = array("turn", np.eye(4)[[1, 2, 3, 0]], "f32")
    body, last = turn, "%turn"
    attrs = "T = f32, transpose_a = false, transpose_b = false"
    for i in range(count):
        body += op(f"p{i}", "MatMul", f"{last}, %turn", attrs, f"({kind}, {kind}) -> ({kind})")
        last = f"%p{i}"
    return body + op("z", "AddV2", f"%x, {last}", "T = f32", f"({F32}, {kind}) -> ({F32})")


@pytest.mark.parametrize("count", [9, 400])
def test_many_small_products_are_compiled(count):
    interpreted, compiled = sessions(loop(products(count)), statistics=True)
    feeds = {"n:0": np.int32(3), "x:0": np.ones((4, 4), np.float32)}
    np.testing.assert_array_equal(compiled.run("w:2", feeds), interpreted.run("w:2", feeds))
    assert compiled.statistics().compiled_calls == 1


def test_shapes_of_all_sizes_are_one_class():
    interpreted, compiled = sessions(loop(BODIES["elementwise"]))
    for size in range(2, 60):
        feeds = {"n:0": np.int32(3), "x:0": np.linspace(-2, 2, size, dtype=np.float32)}
        expected = interpreted.run("w:2", feeds)
        np.testing.assert_allclose(compiled.run("w:2", feeds), expected, rtol=1e-6, atol=1e-7)


def test_an_error_in_the_middle_is_the_interpreters():
    body = (
        constant("three", 3)
        + op("left", "Sub", "%three, %i", "T = i32", f"(tensor<i32>, {I32}) -> ({I32})")
        + op("q", "FloorDiv", "%n, %left", "T = i32", f"({I32}, {I32}) -> ({I32})")
        + op("f", "Cast", "%q", "SrcT = i32, DstT = f32", f"({I32}) -> ({F32})")
        + op("z", "AddV2", "%f, %x", "T = f32", FF)
    )
    interpreted, compiled = sessions(loop(body))
    feeds = {"n:0": np.int32(3), "x:0": np.ones(4, np.float32)}
    np.testing.assert_array_equal(interpreted.run("w:2", feeds), compiled.run("w:2", feeds))
    feeds["n:0"] = np.int32(9)
    errors = []
    for session in (interpreted, compiled):
        with pytest.raises(treadle.InvalidArgumentError) as error:
            session.run("w:2", feeds)
        errors.append(str(error.value))
    assert errors[0] == errors[1] and "'q'" in errors[0]


def test_what_was_fed_is_not_overwritten():
    _, compiled = sessions(loop(BODIES["elementwise"]))
    x = np.ones(1000, np.float32)
    for _ in range(3):
        compiled.run("w:2", {"n:0": np.int32(5), "x:0": x})
        assert (x == 1).all()


def test_a_run_without_end_is_stopped():
    text = loop(BODIES["elementwise"], comparison="NotEqual")  # of i and -1
    graph = treadle.Graph.from_bytes(text.encode())
    session = treadle.Session(graph, tier="jit", timeout=0.3)
    with pytest.raises(treadle.DeadlineExceededError):
        session.run("w:2", {"n:0": np.int32(-1), "x:0": np.ones(8, np.float32)})


def test_v1_loops_are_compiled():
    session = treadle.Session(COUNTDOWN, tier="jit")
    assert session.run("count", {"start:0": 1000}) == 0
    assert session.run("count", {"start:0": 7}) == 0


def test_a_fetch_inside_a_loop_still_works():
    session = treadle.Session(COUNTDOWN, tier="jit")
    assert session.run("loop/dec:0@2", {"start:0": 9}) == 6


def test_threads_share_what_is_compiled():
    graph = treadle.Graph.from_bytes(loop(BODIES["mixed"]).encode())
    session = treadle.Session(graph, tier="jit")
    reference = treadle.Session(graph, tier="interpret")
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            shape = tuple(rng.integers(1, 4, size=rng.integers(0, 3)))
            feeds = {"n:0": np.int32(3), "x:0": rng.normal(size=shape).astype(np.float32)}
            if not np.allclose(session.run("w:2", feeds), reference.run("w:2", feeds)):
                wrong.append(shape)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Counts to 3, and adds to `total` what is dead where `no` is false: the count lives on without it.
DEAD_IN_PART = [
    ("no:1", "Placeholder", "", "dtype = i1"),
    ("zero:1", "Const", "", "dtype = i32, value = dense<0> : tensor<i32>"),
    ("one:1", "Const", "", "dtype = i32, value = dense<1> : tensor<i32>"),
    ("three:1", "Const", "", "dtype = i32, value = dense<3> : tensor<i32>"),
    ("dead:2", "Switch", "three no", "T = i32"),
    ("i0:1", "Enter", "zero", 'T = i32, frame_name = "f"'),
    ("t0:1", "Enter", "zero", 'T = i32, frame_name = "f"'),
    ("bound:1", "Enter", "dead#1", 'T = i32, frame_name = "f", is_constant = true'),
    ("limit:1", "Enter", "three", 'T = i32, frame_name = "f", is_constant = true'),
    ("step:1", "Enter", "one", 'T = i32, frame_name = "f", is_constant = true'),
    ("i:2", "Merge", "i0 inext", "T = i32, N = 2 : i64"),
    ("t:2", "Merge", "t0 tnext", "T = i32, N = 2 : i64"),
    ("less:1", "Less", "i#0 limit", "T = i32"),
    ("more:1", "LoopCond", "less", ""),
    ("is:2", "Switch", "i#0 more", "T = i32"),
    ("ts:2", "Switch", "t#0 more", "T = i32"),
    ("add:1", "AddV2", "is#1 step", "T = i32"),
    ("sum:1", "AddV2", "ts#1 bound", "T = i32"),
    ("inext:1", "NextIteration", "add", "T = i32"),
    ("tnext:1", "NextIteration", "sum", "T = i32"),
    ("count:1", "Exit", "is#0", "T = i32"),
    ("total:1", "Exit", "ts#0", "T = i32"),
    ("other:2", "Switch", "one no", "T = i32"),
    ("joined:2", "Merge", "total other#0", "T = i32, N = 2 : i64"),
]


@pytest.mark.parametrize("tier", ["interpret", "jit"])
def test_a_loop_that_is_dead_in_part_gives_the_rest(tmp_path, tier):
    def tensor(value):
        return "tensor<i1>" if value.split("#")[0] in ("no", "less", "more") else "tensor<i32>"

    lines = []
    for result, kind, inputs, attrs in DEAD_IN_PART:
        name, count = result.split(":")
        operands = ", ".join("%" + value for value in inputs.split())
        types = ", ".join(tensor(value) for value in inputs.split())
        results = ", ".join([tensor(name)] * int(count))
        lines.append(
            f'%{result}, %{name}.c = {kind}({operands}) name("{name}") {{{attrs}}} '
            f": ({types}) -> ({results})\n"
        )
    path = tmp_path / "graph.mlir"
    version = "#tf_type.version<producer = 1482, min_consumer = 0>"
    path.write_text(f"tfg.graph {version} {{\n{''.join(lines)}}}\n")
    session = treadle.Session(str(path), tier=tier)
    assert session.run(["count", "joined"], {"no": np.array(False)}) == [3, 1]


def long_body(kind, count):
    """`count` operations: each reads the one before, and x or any other."""
    rng = np.random.default_rng(count)
    body, names = "", ["x"]
    for i in range(count):
        name = f"v{i}" if i + 1 < count else "z"
        other = "x" if kind == "chain" else names[rng.integers(len(names))]
        body += op(
            name, rng.choice(["Mul", "Sub", "Maximum"]), f"%{names[-1]}, %{other}", "T = f32", FF
        )
        names.append(name)
    return body


@pytest.mark.parametrize("kind, shape", [("chain", ()), ("any", ()), ("chain", (100,))])
def test_compile_time_grows_as_the_body_does(kind, shape):
    feeds = {"n:0": np.int32(2), "x:0": np.full(shape, 0.5, np.float32)}

    def seconds(count):
        interpreted, compiled = sessions(loop(long_body(kind, count)), statistics=True)
        expected = interpreted.run("w:2", feeds)
        np.testing.assert_allclose(compiled.run("w:2", feeds), expected, rtol=1e-5)
        assert compiled.statistics().compiled_calls == 1
        return compiled.statistics().compile_seconds

    seconds(10)  # the additional time of the first compilation of a process
    # A busy machine may be slow once.
    assert any(seconds(1200) < 10 * seconds(300) + 0.2 for _ in range(3))
