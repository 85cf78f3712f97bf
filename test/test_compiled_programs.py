"""The memory of compiled programs: how often they allocate and copy, and that all is freed.

Programs in StableHLO, in MHLO, and as graphs. Those that others run too lie in programs/ of
TREADLE_SHARED, or ../shared.
"""

import os
import pathlib
import threading
import time

import numpy as np
import pytest

import treadle

ROOT = pathlib.Path(__file__).parents[1]
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
LARGE = 1 << 19  # floats: what a process's live bytes count


class Compiled:
    """A program with a loop, always run as machine code; `counts` are of the last call."""

    def __init__(self, text, form):
        if form == "mhlo":
            text = text.replace("stablehlo.", "mhlo.")
        graph = treadle.Graph.from_bytes(text.encode())
        if form == "graph":
            graph = treadle.Graph.from_bytes(graph.text().encode())
        self.session = treadle.Session(graph, tier="jit", statistics=True)
        self.inputs = [value.name for value in graph.inputs()]
        self.fetches = [value.name for value in graph.outputs()]
        self.counts = {}

    NAMES = ("compiled_calls", "bails", "interpreted_calls", "allocations", "copies", "reuses")

    def statistics(self):
        statistics = self.session.statistics()
        return {name: getattr(statistics, name) for name in self.NAMES}

    def __call__(self, *values):
        before = self.statistics()
        try:
            return self.session.run(self.fetches, dict(zip(self.inputs, values, strict=True)))
        finally:
            after = self.statistics()
            self.counts = {name: after[name] - before[name] for name in self.NAMES}

    def check_compiled(self):
        assert self.counts["compiled_calls"] == 1
        assert self.counts["bails"] == self.counts["interpreted_calls"] == 0


@pytest.fixture(params=["stablehlo", "mhlo", "graph"])
def compiled(request):
    return lambda text: Compiled(text, request.param)


@pytest.fixture
def shared(compiled):
    def shared(name):
        path = SHARED / "programs" / f"{name}.mlir"
        if not path.exists():
            pytest.skip(f"there is no {path}")
        return compiled(path.read_text())

    return shared


LESS = "{comparison_direction = #stablehlo<comparison_direction LT>}"


def counted(body, types=("?xf32",), before=""):
    """for i in range(n): %r0, %r1, ... = body(%a0, %a1, ...), beginning with `before`'s %b0, ..."""
    tensors = [f"tensor<{t}>" for t in types]
    all_types = ", ".join(["tensor<i32>", *tensors])
    block = ", ".join(["%i: tensor<i32>", *(f"%a{k}: {t}" for k, t in enumerate(tensors))])
    head = ", ".join(["%n: tensor<i32>", *(f"%in{k}: {t}" for k, t in enumerate(tensors))])
    begin = ", ".join(["%zero", *(f"%b{k}" if before else f"%in{k}" for k in range(len(types)))])
    results = ", ".join(["%next", *(f"%r{k}" for k in range(len(types)))])
    out = ", ".join(f"%w#{k + 1}" for k in range(len(types)))
    return f"""
func.func @main({head}) -> ({", ".join(tensors)}) {{
  %zero = "stablehlo.constant"() {{value = dense<0> : tensor<i32>}} : () -> tensor<i32>
  %one = "stablehlo.constant"() {{value = dense<1> : tensor<i32>}} : () -> tensor<i32>
  {before}
  %w:{len(types) + 1} = "stablehlo.while"({begin}) ({{
  ^bb0({block}):
    %p = "stablehlo.compare"(%i, %n) {LESS} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }}, {{
  ^bb0({block}):
    {body}
    %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"({results}) : ({all_types}) -> ()
  }}) : ({all_types}) -> ({all_types})
  return {out} : {", ".join(tensors)}
}}
"""


def add(result, a, b, type="?xf32"):
    t = f"tensor<{type}>"
    return f'{result} = "stablehlo.add"({a}, {b}) : ({t}, {t}) -> {t}\n'


GROWING = counted(
    '%r0 = "stablehlo.concatenate"(%a0, %row) {dimension = 0 : i64}'
    " : (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>",
    ("?x2xf32",),
    add("%b0", "%in0", "%in0", "?x2xf32")
    + '%row = "stablehlo.constant"() {value = dense<7.0> : tensor<1x2xf32>}'
    " : () -> tensor<1x2xf32>",
)
IN_PLACE = counted(add("%r0", "%a0", "%a0"))
SWAP = counted("", ("?xf32", "?xf32")).replace("%r0, %r1)", "%a1, %a0)")
VARIABLES = [
    ("i", "tensor<i32>"),
    ("n", "tensor<i32>"),
    ("x", "tensor<?xf32>"),
    ("y", "tensor<?xf32>"),
]


def graph_that_fails():
    """for i in range(n): x, y = x + y + n // (3 - i), x"""
    types = ", ".join(type for _, type in VARIABLES)
    arguments = ", ".join(f'%{name}: {type} {{tfg.name = "{name}"}}' for name, type in VARIABLES)
    results = ", ".join(f'{type} {{tfg.name = "{name}_out"}}' for name, type in VARIABLES)
    i32, f32 = "tensor<i32>", "tensor<?xf32>"

    def node(name, op, inputs, attrs, type):
        return f'%{name}, %{name}_c = {op}{inputs} name("{name}") {{{attrs}}} : {type}\n  '

    def constant(name, value):
        return node(
            name, "Const", "", f"dtype = i32, value = dense<{value}> : {i32}", f"() -> ({i32})"
        )

    def integers(name, op, a, b):
        return node(name, op, f"(%{a}, %{b})", "T = i32", f"({i32}, {i32}) -> ({i32})")

    def placeholder(name, dtype, shape, type):
        attrs = f"dtype = {dtype}, shape = #tf_type.shape<{shape}>"
        return node(name, "Placeholder", "", attrs, f"() -> ({type})")

    body = (
        constant("one", 1)
        + constant("three", 3)
        + integers("next", "AddV2", "i", "one")
        + integers("left", "Sub", "three", "i")
        + node("sum", "AddV2", "(%x, %y)", "T = f32", f"({f32}, {f32}) -> ({f32})")
        + integers("q", "FloorDiv", "n", "left")
        + node("f", "Cast", "(%q)", "SrcT = i32, DstT = f32", f"({i32}) -> (tensor<f32>)")
        + node("z", "AddV2", "(%sum, %f)", "T = f32", f"({f32}, tensor<f32>) -> ({f32})")
    )
    return f"""
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {{
  {placeholder("n", "i32", "", i32)}
  {placeholder("x", "f32", "?", f32)}
  {placeholder("y", "f32", "?", f32)}
  {constant("zero", 0)}
  %w:4, %wc = While(%zero, %n, %x, %y) name("w") {{T = [i32, i32, f32, f32],
      cond = #tf_type.func<@cond, {{}}>, body = #tf_type.func<@body, {{}}>, output_shapes = [],
      parallel_iterations = 10 : i64}} : ({types}) -> ({types})
}}
tfg.func @cond({arguments}) -> (tensor<i1> {{tfg.name = "p"}}) {{
  %p, %c = Less(%i, %n) name("p") {{T = i32}} : ({i32}, {i32}) -> (tensor<i1>)
  return(%p) : tensor<i1>
}}
tfg.func @body({arguments}) -> ({results}) {{
  {body}
  return(%next, %n, %z, %x) : {types}
}}
"""


@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_growing_by_one_allocates_and_copies_once_an_iteration(compiled, n):
    program = compiled(GROWING)
    x = np.ones((3, 2), np.float32)
    for _ in range(2):
        (got,) = program(np.int32(n), x)
        np.testing.assert_array_equal(got, np.concatenate([x + x, np.full((n, 2), 7, np.float32)]))
        program.check_compiled()
        assert (program.counts["allocations"], program.counts["copies"]) == (n + 1, n)


def test_elementwise_in_place_allocates_once(compiled):
    program = compiled(IN_PLACE)
    x = np.ones(5, np.float32)
    (got,) = program(np.int32(9), x)
    np.testing.assert_array_equal(got, x * 512)
    program.check_compiled()
    assert (program.counts["allocations"], program.counts["copies"]) == (1, 0)
    assert program.counts["reuses"] == 8
    assert (x == 1).all()


def test_a_swap_copies_nothing(compiled):
    program = compiled(SWAP)
    x, y = np.ones(3, np.float32), np.zeros(4, np.float32)
    for n in (0, 1, 6, 7):
        got = program(np.int32(n), x, y)
        for a, b in zip(got, (x, y) if n % 2 == 0 else (y, x), strict=True):
            np.testing.assert_array_equal(a, b)
        program.check_compiled()
        assert (program.counts["allocations"], program.counts["copies"]) == (0, 0)


def test_a_while_that_never_runs_copies_nothing(shared):
    program = shared("dynamic_shape_while")
    x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    (got,) = program(x)
    np.testing.assert_array_equal(got, x)
    program.check_compiled()
    assert program.counts["copies"] == 0


def test_a_while_that_doubles_copies_once_an_iteration(shared):
    program = shared("dynamic_shape_while_gt")
    (got,) = program(np.full((2, 3), 0.5, np.float32))
    np.testing.assert_array_equal(got, np.full((64, 3), 2.0**-32, np.float32))
    program.check_compiled()
    assert program.counts["copies"] == 5


def test_an_alias_copies_nothing(shared):
    program = shared("dynamic_if_alias")
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((2, k)).astype(np.float32) for k in (3, 5))
    for p in (True, False):
        (got,) = program(p, a, b)
        np.testing.assert_array_equal(got, abs(a if p else b))
        assert program.counts["copies"] == 0


def live_bytes(program):
    return program.session.statistics().live_bytes


def while_if_alias(n, x, y):
    for i in range(n):
        x, y = x + y, x if i % 2 == 0 else y
    return x, y


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_while_if_alias(shared, n):
    program = shared("while_if_alias")
    a, b = (np.arange(k, k + LARGE, dtype=np.float32) % 7 for k in (0, 3))
    for _ in range(2):
        live = live_bytes(program)
        got = program(np.int32(n), a, b)
        for value, expected in zip(got, while_if_alias(n, a, b), strict=True):
            np.testing.assert_array_equal(value, expected)
        program.check_compiled()
        assert program.counts["copies"] == 0
        assert program.counts["allocations"] + program.counts["reuses"] == n
        del got, value
        assert live_bytes(program) == live


def test_all_is_freed_where_an_error_stops_the_loop():
    program = Compiled(graph_that_fails(), "as it is")
    x, y = np.ones(LARGE, np.float32), np.zeros(LARGE, np.float32)
    program(np.int32(3), x, y)
    program.check_compiled()
    live = live_bytes(program)
    for _ in range(3):
        with pytest.raises(treadle.InvalidArgumentError, match="'q'"):
            program(np.int32(9), x, y)
        assert program.counts["bails"] == 1
        assert live_bytes(program) == live


def test_all_is_freed_where_the_run_is_cancelled(compiled):
    text = counted(add("%r0", "%a0", "%a1"), ("?xf32", "?xf32"))
    program = compiled(text.replace("%r0, %r1)", "%r0, %a0)"))
    x, y = np.ones(LARGE, np.float32), np.zeros(LARGE, np.float32)
    program(np.int32(1), x, y)
    live = live_bytes(program)
    errors = []

    def run():
        try:
            program(np.int32(2**31 - 1), x, y)
        except treadle.Error as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        time.sleep(0.05)
        program.session.cancel()
    thread.join()
    assert [type(error) for error in errors] == [treadle.CancelledError]
    assert live_bytes(program) == live


def test_a_session_that_does_not_count_says_so():
    session = treadle.Session(treadle.Graph.from_bytes(IN_PLACE.encode()), tier="jit")
    with pytest.raises(treadle.FailedPreconditionError, match="statistics"):
        session.statistics()


def test_compilations_are_counted(compiled):
    program = compiled(IN_PLACE)
    for size in (2, 3, 50, 1, 1):
        program(np.int32(2), np.ones(size, np.float32))
    statistics = program.session.statistics()
    made = statistics.compilations + statistics.memory_hits
    assert (statistics.runs, made) == (5, 2)  # one dimension that is 1 or not
    assert (statistics.compile_seconds > 0) == (statistics.compilations > 0)
    assert f"compilations={statistics.compilations}" in repr(statistics)


def reduced(result, x, start, op):
    """A matrix without its rows."""
    return (
        f'{result} = "stablehlo.reduce"({x}, {start}) ({{\n'
        "  ^bb0(%so_far: tensor<f32>, %one_more: tensor<f32>):\n"
        f'    %both = "stablehlo.{op}"(%so_far, %one_more)'
        " : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
        '    "stablehlo.return"(%both) : (tensor<f32>) -> ()\n'
        "}) {dimensions = array<i64: 0>} : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>\n"
    )


def over_rows(result, x, dim):
    return (
        f'{result} = "stablehlo.broadcast_in_dim"({x}) {{broadcast_dimensions = array<i64: {dim}>}}'
        " : (tensor<3xf32>) -> tensor<3x3xf32>\n"
    )


def test_a_logarithm_of_sums_of_exponentials(compiled):
    """Each step subtracts its maximum from a value as large as the loop-invariant one."""
    unary = '{} = "stablehlo.{}"({}) : (tensor<{}>) -> tensor<{}>\n'.format
    body = over_rows("%c", "%a0", 0) + add("%t", "%c", "%a1", "3x3xf32")
    body += reduced("%most", "%t", "%least", "maximum") + over_rows("%back", "%most", 1)
    body += '%d = "stablehlo.subtract"(%t, %back) : (tensor<3x3xf32>, tensor<3x3xf32>)'
    body += " -> tensor<3x3xf32>\n" + unary("%e", "exponential", "%d", "3x3xf32", "3x3xf32")
    body += reduced("%sum", "%e", "%none", "add") + unary("%l", "log", "%sum", "3xf32", "3xf32")
    body += add("%r0", "%l", "%most", "3xf32")
    scalar = '{} = "stablehlo.constant"() {{value = dense<{}> : tensor<f32>}} : () -> tensor<f32>\n'
    before = scalar.format("%least", "0xFF800000") + scalar.format("%none", "0.0")
    before += add("%b1", "%in1", "%in1", "3x3xf32") + add("%b0", "%in0", "%in0", "3xf32")
    text = counted(body, ("3xf32", "3x3xf32"), before).replace("%r1", "%a1")
    program = compiled(text)
    x, rows = np.float32([1, -2, 0.5]), np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
    found = program(np.int32(4), x, rows)[0]
    program.check_compiled()
    expected = 2 * x.astype(np.float64)
    for _ in range(4):
        expected = np.log(np.exp(expected[:, None] + 2 * rows).sum(0))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
