"""Programs in StableHLO and MHLO text: what they give, and what is said of those that can't run.

Programs that JAX exports are tried where TREADLE_JAX_PYTHON names a Python that has it; the small
ones that others must run too lie in programs/ of TREADLE_SHARED, or ../shared.
"""

import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import treadle

ROOT = pathlib.Path(__file__).parents[1]
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
PROGRAM = ROOT / "build" / "release" / "bin" / "treadle"
JAX = os.environ.get("TREADLE_JAX_PYTHON") or sys.executable


def function(body, arguments, results):
    """@main of a body that returns %r, or %r0, %r1, ... of several results."""
    names = ["%r"] if len(results) == 1 else [f"%r{i}" for i in range(len(results))]
    head = ", ".join(f"%{chr(97 + i)}: tensor<{t}>" for i, t in enumerate(arguments))
    types = ", ".join(f"tensor<{t}>" for t in results)
    return (
        f"func.func @main({head}) -> ({types}) {{\n{textwrap.indent(textwrap.dedent(body), '  ')}\n"
        f"  return {', '.join(names)} : {types}\n}}\n"
    )


@pytest.fixture
def run(tmp_path):
    def run(text, *values):
        path = tmp_path / "program.mlir"
        path.write_text(text)
        return list(treadle.load(path).signatures["main"](*values).values())

    return run


def expect(got, *wanted):
    assert len(got) == len(wanted)
    for value, expected in zip(got, wanted, strict=True):
        expected = np.asarray(expected)
        assert value.dtype == expected.dtype and value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=2e-6)


def floats(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


# --- programs that others run too ----------------------------------------------------------------


def shared_program(name):
    path = SHARED / "programs" / f"{name}.mlir"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return treadle.load(path).signatures


def test_while_whose_body_never_runs_gives_its_input():
    signatures = shared_program("dynamic_shape_while")
    x = floats(3, 2)
    expect(signatures["dynamic_shape_while"](x).values(), x)


def test_while_doubles_its_rows():
    signatures = shared_program("dynamic_shape_while_gt")
    x = expected = np.full((2, 3), 0.5, np.float32)
    while np.all(expected > expected - expected * expected):
        expected = np.concatenate([expected * expected] * 2)
    expect(signatures["dynamic_shape_while_gt"](x).values(), expected)


@pytest.mark.parametrize("chosen", [True, False])
def test_if_hands_back_an_input(chosen):
    signatures = shared_program("dynamic_if_alias")
    a, b = floats(2, 3), -floats(4, 1)
    expect(signatures["dynamic_if_alias"](np.bool_(chosen), a, b).values(), abs(a if chosen else b))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_while_carries_an_alias(n):
    signatures = shared_program("while_if_alias")
    a, b = floats(4), floats(4) + 1
    x, y = a, b
    for i in range(n):
        x, y = x + y, x if i % 2 == 0 else y
    expect(signatures["while_if_alias"](np.int32(n), a, b).values(), x, y)


# --- ops -----------------------------------------------------------------------------------------

LEAST = np.iinfo(np.int32).min
MOST = np.iinfo(np.int32).max


def test_integer_division_has_no_errors(run):
    text = function(
        """
        %r0 = stablehlo.divide %a, %b : tensor<5xi32>
        %r1 = stablehlo.remainder %a, %b : tensor<5xi32>""",
        ["5xi32", "5xi32"],
        ["5xi32", "5xi32"],
    )
    a = np.array([7, -7, 5, LEAST, -8], np.int32)
    b = np.array([2, 2, 0, -1, -3], np.int32)
    expect(
        run(text, a, b),
        np.array([3, -3, -1, LEAST, 2], np.int32),
        np.array([1, -1, 5, 0, -2], np.int32),
    )


def test_shifts_by_too_much(run):
    text = function(
        """
        %r0 = stablehlo.shift_left %a, %b : tensor<4xi32>
        %r1 = stablehlo.shift_right_logical %a, %b : tensor<4xi32>
        %r2 = stablehlo.shift_right_arithmetic %a, %b : tensor<4xi32>""",
        ["4xi32", "4xi32"],
        ["4xi32", "4xi32", "4xi32"],
    )
    a, b = np.array([-1, -16, 5, -1], np.int32), np.array([31, 2, 32, -1], np.int32)
    expect(
        run(text, a, b),
        np.array([LEAST, -64, 0, 0], np.int32),
        np.array([1, (2**32 - 16) >> 2, 0, 0], np.int32),
        np.array([-1, -4, 0, -1], np.int32),
    )


def test_floats_that_do_not_fit_an_integer(run):
    text = function(
        """
        %r0 = stablehlo.convert %a : (tensor<5xf32>) -> tensor<5xi32>
        %r1 = stablehlo.convert %a : (tensor<5xf32>) -> tensor<5xui8>""",
        ["5xf32"],
        ["5xi32", "5xui8"],
    )
    a = np.array([1.9, -2.9, 1e10, -1e10, np.nan], np.float32)
    expect(
        run(text, a),
        np.array([1, -2, MOST, LEAST, 0], np.int32),
        np.array([1, 0, 255, 0, 0], np.uint8),
    )


def test_comparison_in_total_order(run):
    text = function(
        "%r = stablehlo.compare LT, %a, %b, TOTALORDER : "
        "(tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
        ["4xf32", "4xf32"],
        ["4xi1"],
    )
    a = np.array([-0.0, 0.0, np.inf, -1], np.float32)
    b = np.array([0.0, -0.0, np.nan, -2], np.float32)
    expect(run(text, a, b), [True, False, True, False])


def test_padding_between_elements_and_cut_off(run):
    text = function(
        "%r = stablehlo.pad %a, %b, low = [1, -1], high = [0, 2], interior = [1, 0] : "
        "(tensor<2x3xf32>, tensor<f32>) -> tensor<4x4xf32>",
        ["2x3xf32", "f32"],
        ["4x4xf32"],
    )
    a = floats(2, 3)
    expected = np.full((4, 4), 9, np.float32)
    expected[1::2, :2] = a[:, 1:]
    expect(run(text, a, np.float32(9)), expected)


def test_slices_at_computed_places_are_moved_inside(run):
    text = function(
        """
        %r0 = stablehlo.dynamic_slice %a, %b, %b, sizes = [2, 1] :
            (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x1xf32>
        %r1 = stablehlo.dynamic_update_slice %a, %r0, %b, %b :
            (tensor<4x3xf32>, tensor<2x1xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>""",
        ["4x3xf32", "i32"],
        ["2x1xf32", "4x3xf32"],
    )
    a = floats(4, 3)
    expect(run(text, a, np.int32(7)), a[2:, 2:], a)
    moved = a.copy()
    moved[:2, :1] = a[:2, :1]
    expect(run(text, a, np.int32(-7)), a[:2, :1], moved)


GATHER = """
%r = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
        start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>"""


def test_gather_of_rows(run):
    a, b = floats(5, 3), np.array([[4], [0], [9], [-2]], np.int32)
    expect(run(function(GATHER, ["5x3xf32", "4x1xi32"], ["4x3xf32"]), a, b), a[[4, 0, 4, 0]])


SCATTER = """
%r = "stablehlo.scatter"(%a, %b, %c) <{{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    {}
    stablehlo.return %z : tensor<f32>
}}) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>"""

COMBINERS = {
    "%z = stablehlo.add %x, %y : tensor<f32>": lambda x, y: x + y,
    "%z = stablehlo.maximum %y, %x : tensor<f32>": np.maximum,
    """%w = stablehlo.multiply %x, %x : tensor<f32>
       %z = stablehlo.subtract %w, %y : tensor<f32>""": lambda x, y: x * x - y,
}


@pytest.mark.parametrize("combiner", COMBINERS)
def test_scatter_leaves_out_what_is_outside(run, combiner):
    a, c = floats(5, 3), floats(4, 3) + 1
    expected = a.copy()
    rows = [3, 1, 3, 7]
    for row, update in zip(rows, c, strict=True):
        if row < 5:
            expected[row] = COMBINERS[combiner](expected[row], update)
    text = function(SCATTER.format(combiner), ["5x3xf32", "4x1xi32", "4x3xf32"], ["5x3xf32"])
    expect(run(text, a, np.array(rows, np.int32)[:, None], c), expected)


def test_reduction_by_a_function_of_two_values(run):
    """The greatest value, and where it stands."""
    text = function(
        """
        %i = stablehlo.iota dim = 1 : tensor<3x7xi32>
        %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %none = stablehlo.constant dense<-1> : tensor<i32>
        %r0, %r1 = stablehlo.reduce(%a init: %least), (%i init: %none) across dimensions = [1] :
            (tensor<3x7xf32>, tensor<3x7xi32>, tensor<f32>, tensor<i32>)
            -> (tensor<3xf32>, tensor<3xi32>)
          reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
            %t = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %v = stablehlo.select %t, %x, %y : tensor<i1>, tensor<f32>
            %w = stablehlo.select %t, %p, %q : tensor<i1>, tensor<i32>
            stablehlo.return %v, %w : tensor<f32>, tensor<i32>
          }""",
        ["3x7xf32"],
        ["3xf32", "3xi32"],
    )
    a = floats(3, 7)
    expect(run(text, a), a.max(1), a.argmax(1).astype(np.int32))


@pytest.mark.parametrize(
    ("op", "reduce", "initial"),
    [("add", np.sum, 0), ("maximum", np.max, -np.inf), ("multiply", np.prod, 2)],
)
def test_reduction_by_one_op(run, op, reduce, initial):
    text = function(
        f"""
        %r = stablehlo.reduce(%a init: %b) applies stablehlo.{op} across dimensions = [0, 2] :
            (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>""",
        ["2x3x4xf32", "f32"],
        ["3xf32"],
    )
    a = floats(2, 3, 4)
    expected = reduce(a.astype(np.float64), axis=(0, 2))
    got = run(text, a, np.float32(initial))
    expect(got, (expected * initial if op == "multiply" else expected).astype(np.float32))


def test_windows_with_strides_and_padding(run):
    text = function(
        """
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %r = "stablehlo.reduce_window"(%a, %zero) <{
            window_dimensions = array<i64: 3>, window_strides = array<i64: 2>,
            padding = dense<[[2, 1]]> : tensor<1x2xi64>}> ({
          ^bb0(%x: tensor<f32>, %y: tensor<f32>):
            %z = stablehlo.add %x, %y : tensor<f32>
            stablehlo.return %z : tensor<f32>
        }) : (tensor<6xf32>, tensor<f32>) -> tensor<4xf32>""",
        ["6xf32"],
        ["4xf32"],
    )
    a = np.arange(1, 7, dtype=np.float32)
    expect(run(text, a), np.array([1, 6, 12, 11], np.float32))


@pytest.mark.parametrize("size", [1, 2, 7, 64, 100])
def test_sort_of_pairs_is_stable(run, size):
    text = function(
        f"""
        %r0, %r1 = "stablehlo.sort"(%a, %b) <{{dimension = 0 : i64, is_stable = true}}> ({{
          ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<f32>, %q: tensor<f32>):
            %t = stablehlo.compare GT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %t : tensor<i1>
        }}) : (tensor<{size}x2xi32>, tensor<{size}x2xf32>)
            -> (tensor<{size}x2xi32>, tensor<{size}x2xf32>)""",
        [f"{size}x2xi32", f"{size}x2xf32"],
        [f"{size}x2xi32", f"{size}x2xf32"],
    )
    a = np.random.default_rng(size).integers(0, 5, (size, 2)).astype(np.int32)
    b = floats(size, 2)
    order = np.argsort(-a, axis=0, kind="stable")
    expect(run(text, a, b), np.take_along_axis(a, order, 0), np.take_along_axis(b, order, 0))


def test_product_over_batches(run):
    text = function(
        """
        %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [2],
            precision = [DEFAULT, DEFAULT] :
            (tensor<2x3x4xf32>, tensor<5x2x4xf32>) -> tensor<2x3x5xf32>""",
        ["2x3x4xf32", "5x2x4xf32"],
        ["2x3x5xf32"],
    )
    a, b = floats(2, 3, 4), floats(5, 2, 4)
    got = run(text, a, b)
    np.testing.assert_allclose(got[0], np.einsum("bij,kbj->bik", a, b), rtol=1e-5)


def test_convolution_with_holes_in_its_input(run):
    """What the gradient of a strided convolution is: here, of one dimension, by hand."""
    text = function(
        """
        %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0],
            window = {stride = [1], pad = [[1, 2]], lhs_dilate = [2], rhs_dilate = [1],
            reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} :
            (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x7xf32>""",
        ["1x1x3xf32", "1x1x2xf32"],
        ["1x1x7xf32"],
    )
    a, b = floats(1, 1, 3), floats(1, 1, 2)
    spread = np.zeros(8, np.float32)
    spread[1:6:2] = a[0, 0]
    expect(run(text, a, b), np.convolve(spread, b[0, 0], "valid")[None, None])


def test_case_takes_the_last_branch_for_numbers_outside(run):
    text = function(
        """
        %r = "stablehlo.case"(%a) ({
            stablehlo.return %b : tensor<2xf32>
        }, {
            %n = stablehlo.negate %b : tensor<2xf32>
            stablehlo.return %n : tensor<2xf32>
        }) : (tensor<i32>) -> tensor<2xf32>""",
        ["i32", "2xf32"],
        ["2xf32"],
    )
    b = floats(2)
    expect(run(text, np.int32(0), b), b)
    expect(run(text, np.int32(-5), b), -b)


def test_sizes_that_only_a_run_tells(run):
    text = function(
        """
        %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
        %v = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %two = stablehlo.constant dense<2> : tensor<1xi32>
        %s = stablehlo.concatenate %v, %two, dim = 0 :
            (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<?x2xf32>
        %b0 = stablehlo.dynamic_broadcast_in_dim %b, %s, dims = [] :
            (tensor<f32>, tensor<2xi32>) -> tensor<?x2xf32>
        %t = stablehlo.add %i, %b0 : tensor<?x2xf32>
        %r = stablehlo.multiply %t, %a : tensor<?x2xf32>""",
        ["?x2xf32", "f32"],
        ["?x2xf32"],
    )
    for rows in (0, 1, 5):
        a = floats(rows, 2)
        expected = (np.arange(rows, dtype=np.float32)[:, None] + np.float32(0.5)) * a
        expect(run(text, a, np.float32(0.5)), expected)


def test_old_spelling_is_the_same(run):
    new = """
        %r = stablehlo.compare GE, %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>"""
    old = """
        %r = "mhlo.compare"(%a, %b) {comparison_direction = "GE"} :
            (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>"""
    a, b = np.array([1, 2], np.float32), np.array([2, 1], np.float32)
    for body in (new, old):
        expect(run(function(body, ["2xf32", "2xf32"], ["2xi1"]), a, b), [False, True])


# --- from the command line -----------------------------------------------------------------------

SCALED = function(
    """
    %two = stablehlo.constant dense<2.0> : tensor<2xf32>
    %s = stablehlo.multiply %a, %two : tensor<2xf32>
    %r = stablehlo.add %s, %b : tensor<2xf32>""",
    ["2xf32", "2xf32"],
    ["2xf32"],
)


def command(*args):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=60)


def test_command_line_runs_a_program(tmp_path):
    path = tmp_path / "scaled.mlir"
    path.write_text(SCALED)
    for first, second in (("0", "1"), ("arg0", "arg1")):
        done = command("run", path, "--input", f"{first}=[1,2]", "--input", f"{second}=[10,20]")
        assert done.stdout == "result: float32[2] = [12.0 24.0]\n", done.stderr
    shown = command("show", path).stdout
    assert "main" in shown and "<- arg0: float32[2]" in shown and "-> result" in shown


def test_check_of_a_program(tmp_path):
    path, values = tmp_path / "scaled.mlir", tmp_path / "io.npz"
    path.write_text(SCALED)
    ones = np.ones(2, np.float32)
    np.savez(values, **{"in/0": ones, "in/1": ones, "out/0": 3 * ones})
    assert command("run", path, "--check", values).returncode == 0
    np.savez(values, **{"in/0": ones, "in/1": ones, "out/0": 4 * ones})
    assert command("run", path, "--check", values).returncode == 1


@pytest.mark.parametrize("extension", ["mlir", "pb"])
def test_program_as_a_graph(tmp_path, extension):
    path, graph = tmp_path / "scaled.mlir", tmp_path / f"graph.{extension}"
    path.write_text(SCALED)
    assert command("convert", path, graph).returncode == 0
    a, b = floats(2), floats(2) + 1
    [got] = treadle.Session(graph).run(["result:0"], {"arg0:0": a, "arg1:0": b})
    np.testing.assert_allclose(got, 2 * a + b, rtol=1e-6)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (
            "%r = stablehlo.custom_call @solve(%a) : (tensor<2xf32>) -> tensor<2xf32>",
            treadle.UnimplementedError,
            ["line 2", "stablehlo.custom_call @solve is not known"],
        ),
        (
            '%r = "stablehlo.frobnicate"(%a) : (tensor<2xf32>) -> tensor<2xf32>',
            treadle.UnimplementedError,
            ["line 2", "stablehlo.frobnicate is not supported"],
        ),
        (
            '%r = "stablehlo.compare"(%a, %a) {comparison_direction = "XX"} : '
            "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
            treadle.InvalidArgumentError,
            ["comparison_direction 'XX'", "expected EQ, NE"],
        ),
        (
            "%r = stablehlo.add %a %a tensor<2xf32>",
            treadle.InvalidArgumentError,
            ["line 2"],
        ),
        (
            "%r = func.call @g(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
            "%s = stablehlo.abs %a : tensor<2xf32>",
            treadle.InvalidArgumentError,
            ["'g'"],
        ),
    ],
)
def test_errors_name_the_op(run, body, kind, words):
    with pytest.raises(kind) as error:
        run(function(body, ["2xf32"], ["2xf32"]), floats(2))
    for word in words:
        assert word in str(error.value)


def test_inputs_are_checked(run):
    with pytest.raises(treadle.InvalidArgumentError, match=r"input 'arg1'.*expected float32\[2\]"):
        run(SCALED, floats(2), floats(3))
    with pytest.raises(treadle.InvalidArgumentError, match="input 'arg1'.*has no value"):
        run(SCALED, floats(2))
    with pytest.raises(TypeError, match="3 values for 2 inputs"):
        run(SCALED, floats(2), floats(2), floats(2))


# --- JAX -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def jax_programs(tmp_path_factory):
    """What jax_programs.py exports: NAME.mlir, NAME.generic.mlir and NAME.npz each."""
    folder = tmp_path_factory.mktemp("jax")
    has = subprocess.run([JAX, "-c", "import jax"], capture_output=True, check=False)
    if has.returncode:
        pytest.skip(f"{JAX} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    script = ROOT / "test" / "jax_programs.py"
    subprocess.run([JAX, script, folder], check=True, timeout=600)
    return folder


def test_programs_of_jax(jax_programs):
    wrong = []
    texts = sorted(jax_programs.glob("*.mlir"))
    assert len(texts) > 100
    for text in texts:
        with np.load(jax_programs / f"{text.name.split('.')[0]}.npz") as file:
            values = dict(file)
        inputs = [values[f"in{i}"] for i in range(sum(k.startswith("in") for k in values))]
        outputs = [values[f"out{i}"] for i in range(sum(k.startswith("out") for k in values))]
        try:
            got = list(treadle.load(text, timeout=60).signatures["main"](*inputs).values())
            for value, expected in zip(got, outputs, strict=True):
                assert value.dtype == expected.dtype and value.shape == expected.shape
                scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1e-3)
                np.testing.assert_allclose(value, expected, rtol=2e-5, atol=2e-5 * float(scale))
        except (treadle.Error, AssertionError) as error:
            wrong.append(f"{text.name}: {error}")
    assert not wrong, "\n".join(wrong)
