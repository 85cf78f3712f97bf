"""Programs in StableHLO and MHLO text: what they give, and what is said of those that can't run.

Programs that JAX exports are tried where TREADLE_JAX_PYTHON names a Python that has it; the small
ones that others must run too lie in programs/ of TREADLE_SHARED, or ../shared.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from mlir_programs import function, runner, same

import treadle

ROOT = pathlib.Path(__file__).parents[1]
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
PROGRAM = ROOT / "build" / "release" / "bin" / "treadle"
JAX = os.environ.get("TREADLE_JAX_PYTHON") or sys.executable


@pytest.fixture
def run(tmp_path):
    return runner(tmp_path)


def expect(got, *wanted):
    same(got, *wanted, rtol=2e-6, atol=0)


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


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_powers_of_integers_wrap(run, kind, bits):
    dtype = np.dtype(f"{kind}{bits}")
    info = np.iinfo(dtype)
    some = {0, 1, 2, 3, 7, 64, 100, info.max, info.max - 1, info.max // 2 + 1, info.max // 3}
    exponents = [n for n in some if n <= info.max]
    bases = [*exponents, *([-1, -3, info.min] if info.min else [])]
    pairs = np.array([(a, b) for a in bases for b in exponents], dtype)
    t = f"{len(pairs)}x{'u' if kind == 'uint' else ''}i{bits}"
    text = function(f"%r = stablehlo.power %a, %b : tensor<{t}>", [t, t], [t])
    wanted = [pow(int(a), int(b), 2**bits) for a, b in pairs]
    wanted = np.array(wanted, np.uint64).astype(f"uint{bits}").view(dtype)
    expect(run(text, *pairs.T.copy()), wanted)


def test_large_floats_overflow_in_small_ones(run):
    text = function(
        """
        %s = stablehlo.convert %a : (tensor<4xf64>) -> tensor<4xf8E5M2>
        %r = stablehlo.convert %s : (tensor<4xf8E5M2>) -> tensor<4xf64>""",
        ["4xf64"],
        ["4xf64"],
    )
    most = np.finfo(np.float64).max
    expect(run(text, np.array([most, -most, 2.0**1000, 3])), [np.inf, -np.inf, np.inf, 3])


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


@pytest.mark.parametrize("size", [1, 2, 7, 64, 100, 300])
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
    """The gradient of a strided convolution, in one dimension, computed by hand."""
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


# --- calls of LAPACK -----------------------------------------------------------------------------


def lapack(run, target, options, operands, results):
    """Returns the result of `custom_call @lapack_target_ffi`."""
    return called(run, f"lapack_{target}_ffi", options, operands, results)


def called(run, target, options, operands, results):
    """Returns the result of `custom_call @target`."""
    letters = {"float32": "f32", "float64": "f64", "int32": "i32"}
    letters |= {"complex64": "complex<f32>", "complex128": "complex<f64>"}

    def tensor(shape, dtype):
        return "x".join([*map(str, shape), letters[np.dtype(dtype).name]])

    config = ", ".join(f"{key} = {ord(letter)} : ui8" for key, letter in options.items())
    arguments = [tensor(x.shape, x.dtype) for x in operands]
    types = [tensor(shape, dtype) for shape, dtype in results]
    names = ", ".join(f"%{chr(97 + i)}" for i in range(len(operands)))
    outputs = ", ".join("%r" if len(types) == 1 else f"%r{i}" for i in range(len(types)))
    body = (
        f"{outputs} = stablehlo.custom_call @{target}({names}) "
        f"{{mhlo.backend_config = {{{config}}}, api_version = 4 : i32}} : "
        f"({', '.join(f'tensor<{t}>' for t in arguments)}) -> "
        f"({', '.join(f'tensor<{t}>' for t in types)})"
    )
    return run(function(body, arguments, types), *operands)


SINGLE, DOUBLE, COUNT = np.float32, np.float64, np.int32


def positive(n, dtype=DOUBLE):
    a = np.random.default_rng(5).standard_normal((n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("n", [4, 60])
def test_cholesky_factor(run, uplo, n):
    a = np.stack([positive(n), 2 * positive(n)])
    results = [((2, n, n), DOUBLE), ((2,), COUNT)]
    factor, info = lapack(run, "dpotrf", {"uplo": uplo}, [a], results)
    lower = np.linalg.cholesky(a)
    if uplo == "L":
        np.testing.assert_allclose(np.tril(factor), lower, rtol=1e-12, atol=1e-13)
    else:
        upper = lower.transpose(0, 2, 1)
        np.testing.assert_allclose(np.triu(factor), upper, rtol=1e-12, atol=1e-13)
    assert info.tolist() == [0, 0]


def test_cholesky_factor_of_what_has_none(run):
    a = -positive(3)
    _, info = lapack(run, "dpotrf", {"uplo": "L"}, [a], [((3, 3), DOUBLE), ((), COUNT)])
    assert info > 0


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (5, 3), (3, 5), (80, 50), (50, 80)])
def test_lu_factors(run, rows, columns):
    a = np.random.default_rng(1).standard_normal((rows, columns))
    least = min(rows, columns)
    results = [((rows, columns), DOUBLE), ((least,), COUNT), ((), COUNT)]
    lu, pivots, info = lapack(run, "dgetrf", {}, [a], results)
    swapped = a.copy()
    for i, pivot in enumerate(pivots):
        swapped[[i, pivot - 1]] = swapped[[pivot - 1, i]]
    lower = np.tril(lu, -1)[:, :least] + np.eye(rows, least)
    np.testing.assert_allclose(lower @ np.triu(lu)[:least], swapped, rtol=1e-10, atol=1e-12)
    assert info == 0


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (90, 60)])
def test_qr_by_reflections(run, dtype, rows, columns):
    a = np.random.default_rng(1).standard_normal((rows, columns)).astype(dtype)
    letter, product = ("d", "dorgqr") if dtype == "float64" else ("c", "cungqr")
    if dtype == "complex64":
        a += 1j * a[::-1]
    results = [((rows, columns), dtype), ((columns,), dtype)]
    packed, sizes = lapack(run, f"{letter}geqrf", {}, [a], results)
    [q] = lapack(run, product, {}, [packed, sizes], [((rows, columns), dtype)])
    np.testing.assert_allclose(q @ np.triu(packed[:columns]), a, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(columns), atol=1e-5)


def random_matrix(rows, columns, dtype):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((rows, columns))
    return (a + 1j * rng.standard_normal(a.shape)).astype(dtype) if dtype[0] == "c" else a


def reflections(packed, sizes):
    """The product of the reflections below a packed matrix's diagonal."""
    q = np.eye(packed.shape[0], dtype=packed.dtype)
    for k, size in enumerate(sizes):
        v = packed[:, k] * (np.arange(len(q)) > k)
        v[k] = 1
        q = q @ (np.eye(len(q)) - size * np.outer(v, v.conj()))
    return q


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("left", [1, 0])
@pytest.mark.parametrize("transpose", [1, 0])
def test_products_with_reflections(run, dtype, left, transpose):
    letter, product = ("d", "dormqr") if dtype == "float64" else ("z", "zunmqr")
    results = [((5, 3), dtype), ((3,), dtype)]
    packed, sizes = lapack(run, f"{letter}geqrf", {}, [random_matrix(5, 3, dtype)], results)
    c = random_matrix(*((5, 2) if left else (2, 5)), dtype)
    options = {"left": chr(left), "transpose": chr(transpose)}
    [y] = lapack(run, product, options, [packed, sizes, c], [(c.shape, dtype)])
    q = reflections(packed, sizes)
    q = q.conj().T if transpose else q
    np.testing.assert_allclose(y, q @ c if left else c @ q, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (3, 5), (4, 4)])
def test_pivoted_qr_factors(run, dtype, rows, columns):
    letter = "d" if dtype == "float64" else "z"
    a, least = random_matrix(rows, columns, dtype), min(rows, columns)
    results = [((rows, columns), dtype), ((columns,), COUNT), ((least,), dtype)]
    free = np.zeros(columns, COUNT)
    packed, order, sizes = lapack(run, f"{letter}geqp3", {}, [a, free], results)
    q = reflections(packed, sizes)[:, :least]
    np.testing.assert_allclose(q @ np.triu(packed[:least]), a[:, order - 1], atol=1e-12)
    assert np.all(np.diff(np.abs(np.diag(packed))) <= 1e-12)
    with pytest.raises(treadle.UnimplementedError, match="geqp3: operand 1 must be 0"):
        lapack(run, f"{letter}geqp3", {}, [a, free + 1], results)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("uplo", "LU")
def test_matrices_of_three_diagonals(run, dtype, uplo):
    target = "dsytrd" if dtype == "float64" else "zhetrd"
    a = random_matrix(5, 5, dtype)
    a = a + a.conj().T
    results = [((5, 5), dtype), ((5,), DOUBLE), ((4,), DOUBLE), ((4,), dtype), ((), COUNT)]
    packed, middle, beside, sizes, info = lapack(run, target, {"uplo": uplo}, [a], results)
    q = np.eye(5, dtype=dtype)
    if uplo == "L":
        q[1:, 1:] = reflections(packed[1:, :4], sizes)
    else:
        q[:4, :4] = reflections(packed[:4, 1:][::-1, ::-1], sizes[::-1])[::-1, ::-1]
    form = np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1)
    np.testing.assert_allclose(q @ form @ q.conj().T, a, atol=1e-12)
    assert info == 0


@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("diag", "NU")
def test_triangular_systems(run, side, uplo, trans, diag):
    a = (positive(3) + 1j * positive(3) ** 2).astype(np.complex64)
    b = np.arange(6).reshape((3, 2) if side == "L" else (2, 3)).astype(np.complex64)
    options = {"side": side, "uplo": uplo, "trans_x": trans, "diag": diag}
    [x] = lapack(run, "ctrsm", options, [a, b], [(b.shape, "complex64")])
    m = np.tril(a) if uplo == "L" else np.triu(a)
    if diag == "U":
        np.fill_diagonal(m, 1)
    m = {"N": m, "T": m.T, "C": m.conj().T}[trans]
    np.testing.assert_allclose(m @ x if side == "L" else x @ m, b, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("n", [4, 130])
@pytest.mark.parametrize("uplo", "LU")
def test_eigenvalues(run, uplo, n):
    a = positive(n)
    results = [((n, n), DOUBLE), ((n,), DOUBLE), ((), COUNT)]
    one_half = np.tril(a) if uplo == "L" else np.triu(a)
    v, w, info = lapack(run, "dsyevd", {"mode": "V", "uplo": uplo}, [one_half], results)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=1e-10)
    np.testing.assert_allclose(v * w @ v.T, a, rtol=1e-10, atol=1e-10)
    assert info == 0
    a[0, 0] = np.nan
    assert lapack(run, "dsyevd", {"mode": "V", "uplo": "L"}, [a], results)[2] != 0


@pytest.mark.parametrize("mode", "ASN")
@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (70, 40), (40, 70)])
def test_singular_values(run, mode, rows, columns):
    a = np.random.default_rng(1).standard_normal((rows, columns)).astype(SINGLE)
    least = min(rows, columns)
    left, right = (rows, columns) if mode == "A" else (least, least)
    shapes = [(rows, columns), (least,), (rows, left), (right, columns)]
    results = [(shape, SINGLE) for shape in shapes] + [((), COUNT)]
    _, s, u, vt, info = lapack(run, "sgesdd", {"mode": mode}, [a], results)
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-4)
    if mode != "N":
        np.testing.assert_allclose(u[:, :least] * s @ vt[:least], a, rtol=1e-4, atol=2e-5)
    assert info == 0


@pytest.mark.parametrize("n", [4, 140])
def test_eigenvalues_of_any_matrix(run, n):
    a = np.random.default_rng(1).standard_normal((n, n))
    both = {"compute_left": "V", "compute_right": "V"}
    a32 = a.astype(SINGLE)
    results = [((n,), SINGLE)] * 2 + [((n, n), "complex64")] * 2 + [((), COUNT)]
    real, imaginary, left, right, info = lapack(run, "sgeev", both, [a32], results)
    w = real + 1j * imaginary
    atol = 1e-5 if n == 4 else 2e-4
    np.testing.assert_allclose(a32 @ right, right * w, atol=atol)
    np.testing.assert_allclose(left.conj().T @ a32, w[:, None] * left.conj().T, atol=atol)
    assert info == 0


def test_lu_factors_of_a_singular_matrix(run):
    a = np.diag([2.0, 0, 0, 3])
    lu, _, info = lapack(run, "dgetrf", {}, [a], [((4, 4), DOUBLE), ((4,), COUNT), ((), COUNT)])
    np.testing.assert_array_equal(lu, a)
    assert info == 2  # the first pivot that is 0


@pytest.mark.parametrize("target", ["dgeev", "zgeev"])
def test_calls_of_many_matrices_on_threads(target, tmp_path):
    """Includes OpenBLAS, which processes one call at a time."""
    a = np.random.default_rng(3).standard_normal((24, 140, 140))
    right = {"compute_left": "N", "compute_right": "V"}
    values = [((24, 140), DOUBLE)] * 2
    if target == "zgeev":
        a, values = a + 1j * a[::-1], [((24, 140), "complex128")]
    results = [*values, *[((24, 140, 140), "complex128")] * 2, ((24,), COUNT)]
    outputs = [
        lapack(runner(tmp_path, threads=threads), target, right, [a], results) for threads in (1, 4)
    ]
    for one, several in zip(*outputs, strict=True):
        np.testing.assert_allclose(one, several, rtol=1e-7, atol=1e-9)


def test_schur_and_hessenberg_forms(run):
    a = np.random.default_rng(1).standard_normal((4, 4))
    square, vector, number = ((4, 4), DOUBLE), ((4,), DOUBLE), ((), COUNT)
    results = [square, square, vector, vector, number, number]
    t, z, *_ = lapack(run, "dgees", {"mode": "V", "sort": "N"}, [a], results)
    np.testing.assert_allclose(z @ t @ z.T, a, atol=1e-10)
    h, sizes, info = lapack(run, "dgehrd", {}, [a], [square, ((3,), DOUBLE), number])
    form = np.triu(h, -1)
    np.testing.assert_allclose(np.linalg.eigvals(form).prod(), np.linalg.det(a), rtol=1e-8)
    assert info == 0 and sizes.shape == (3,)


def test_complex_eigenvectors_are_turned_as_lapack_does(run):
    """The largest element of each is real."""
    for dtype, letter in (("float64", "d"), ("complex128", "z")):
        a = random_matrix(6, 6, dtype)
        values = [((6,), dtype)] * (2 if letter == "d" else 1)
        vectors = [((6, 6), "complex128")] * 2
        options = {"compute_left": "V", "compute_right": "V"}
        results = [*values, *vectors, ((), COUNT)]
        *found, left, right, _ = lapack(run, f"{letter}geev", options, [a], results)
        eigenvalues = found[0] + 1j * found[1] if letter == "d" else found[0]
        np.testing.assert_allclose(a @ right, right * eigenvalues, atol=1e-10)
        for side in (left, right):
            largest = side[np.abs(side).argmax(axis=0), range(6)]
            assert np.all(largest.imag == 0)
            np.testing.assert_allclose(np.linalg.norm(side, axis=0), 1)


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues_come_in_lapacks_order(run, dtype, size):
    if not list(pathlib.Path("/usr/lib").glob("*/openblas-serial/libopenblas.so.0")):
        pytest.skip("there is no OpenBLAS, and so the order is another one")
    parts = np.random.default_rng(1).standard_normal((2, 20, size, size))
    matrices = (parts[0] + (parts[1] * 1j if dtype[0] == "c" else 0)).astype(dtype)
    letter = dict(float32="s", float64="d", complex64="c", complex128="z")[dtype]
    values = [((20, size), dtype)] * (2 if letter in "sd" else 1)
    vectors = [((20, size, size), np.result_type(dtype, np.complex64))] * 2
    options = {"compute_left": "N", "compute_right": "N"}
    *found, _, _, _ = lapack(
        run, f"{letter}geev", options, [matrices], [*values, *vectors, ((20,), COUNT)]
    )
    found = found[0] + 1j * found[1] if letter in "sd" else found[0]
    np.testing.assert_allclose(found, np.linalg.eigvals(matrices), rtol=1e-3, atol=1e-4)


def test_tridiagonal_systems(run):
    low, middle, up = np.array([0, 3, 4, 1.0]), np.array([1, 2, 0.5, 3]), np.array([1, 2, 1, 0.0])
    b = np.arange(8.0).reshape(4, 2)
    column = ((4,), DOUBLE)
    results = [column, column, column, ((4, 2), DOUBLE), ((), COUNT)]
    x = lapack(run, "dgtsv", {}, [low, middle, up, b], results)[3]
    matrix = np.diag(middle) + np.diag(low[1:], -1) + np.diag(up[:-1], 1)
    np.testing.assert_allclose(matrix @ x, b, atol=1e-12)
    name = "tridiagonal_solve_perturbed_ffi"
    np.testing.assert_allclose(
        called(run, name, {}, [low, middle, up, b], [((4, 2), DOUBLE)])[0], x
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_singular_tridiagonal_systems(run, dtype):
    low, middle, up, b = (
        np.array(x, dtype) for x in ([0, 1, 0, 5], [1, 3, 0, 0], [3, 0, 0, 0], [1, 4, 1, 10])
    )
    b, letter = b[:, None], dict(float32="s", float64="d", complex64="c", complex128="z")[dtype]
    column, results = ((4,), dtype), [((4, 1), dtype)]
    *_, info = lapack(
        run, f"{letter}gtsv", {}, [low, middle, up, b], [column] * 3 + [*results, ((), COUNT)]
    )
    assert info == 2
    [x] = called(run, "tridiagonal_solve_perturbed_ffi", {}, [low, middle, up, b], results)
    large = 1 / np.finfo(dtype).eps / 5
    np.testing.assert_allclose(x[:, 0], [-9 * large, 3 * large, 2, large], rtol=1e-6)


def test_no_matrices(run):
    a = np.zeros((0, 3, 3))
    factor, info = lapack(run, "dpotrf", {}, [a], [((0, 3, 3), DOUBLE), ((0,), COUNT)])
    assert factor.shape == (0, 3, 3) and info.shape == (0,)


def test_lapack_call_with_other_operands(run):
    with pytest.raises(
        treadle.InvalidArgumentError, match="lapack_dpotrf_ffi.*expected 1 of float64"
    ):
        lapack(run, "dpotrf", {}, [positive(2, SINGLE)], [((2, 2), SINGLE), ((), COUNT)])


def test_upper_cholesky_and_triangular_solve(run):
    text = function(
        """
        %r0 = "stablehlo.cholesky"(%a) {lower = false} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %r1 = "stablehlo.triangular_solve"(%b, %c) {left_side = false, lower = true,
            unit_diagonal = true, transpose_a = #stablehlo<transpose TRANSPOSE>} :
            (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>""",
        ["2x2xf32", "2x2xf32", "1x2xf32"],
        ["2x2xf32", "1x2xf32"],
    )
    a = np.array([[4, 2], [99, 5]], np.float32)  # the lower half isn't read
    b, c = np.array([[7, 7], [2, 7]], np.float32), np.array([[3, 4]], np.float32)
    expect(run(text, a, b, c), np.array([[2, 1], [0, 2]], SINGLE), np.array([[3, -2]], SINGLE))


# --- more of what JAX leaves in programs ---------------------------------------------------------


def test_program_that_gives_back_its_argument(run):
    a = floats(3)
    expect(
        run("func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> { return %a : tensor<3xf32> }", a),
        a,
    )


def test_shardings_are_read_over(run):
    text = """
    module attributes {mhlo.num_partitions = 2 : i32} {
      sdy.mesh @mesh = <["x"=2, "y"=1]>
      func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>})
          -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"y"}>}) {
        %0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)2}]> : tensor<4xf32>
        %1 = stablehlo.add %0, %0 : tensor<4xf32>
        return %1 : tensor<4xf32>
      }
    }"""
    a = floats(4)
    expect(run(text, a), 2 * a)


def test_accuracy_that_is_asked_for_is_read_over(run):
    text = function(
        """
        %r = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<ulps = 10,
            mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<3xf32>""",
        ["3xf32"],
        ["3xf32"],
    )
    expect(run(text, floats(3)), np.exp(floats(3)))


def test_manual_shardings_are_named(run):
    text = function(
        """
        %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>]
            out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<1xf32>) {
          sdy.return %b : tensor<1xf32>
        } : (tensor<2xf32>) -> tensor<2xf32>""",
        ["2xf32"],
        ["2xf32"],
    )
    with pytest.raises(treadle.UnimplementedError, match="sdy.manual_computation among several"):
        run(text, floats(2))


def test_errors_tell_where_the_program_was_written(run):
    text = function(
        "%r = stablehlo.custom_call @solve(%a) : (tensor<2xf32>) -> tensor<2xf32> "
        'loc("solve"("model.py":12:5))',
        ["2xf32"],
        ["2xf32"],
    )
    with pytest.raises(treadle.UnimplementedError, match="model.py, line 12, column 5: .*@solve"):
        run(text, floats(2))


def test_window_of_several_inputs(run):
    text = function(
        """
        %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %none = stablehlo.constant dense<-1> : tensor<i32>
        %places = stablehlo.iota dim = 0 : tensor<6xi32>
        %r0, %r1 = "stablehlo.reduce_window"(%a, %places, %least, %none) ({
        ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
          %first = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %value = stablehlo.select %first, %x, %y : tensor<i1>, tensor<f32>
          %place = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>
          stablehlo.return %value, %place : tensor<f32>, tensor<i32>
        }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>,
            padding = dense<[[1, 0]]> : tensor<1x2xi64>} :
            (tensor<6xf32>, tensor<6xi32>, tensor<f32>, tensor<i32>)
            -> (tensor<3xf32>, tensor<3xi32>)""",
        ["6xf32"],
        ["3xf32", "3xi32"],
    )
    a = np.array([3, 1, 4, 1, 5, 9], np.float32)
    expect(run(text, a), np.array([3, 4, 9], SINGLE), np.array([0, 2, 5], COUNT))


SORT = """
%r0, %r1 = "stablehlo.sort"(%a, %b) <{{dimension = 0 : i64, is_stable = true}}> ({{
^bb0(%x: tensor<{0}>, %y: tensor<{0}>, %i: tensor<i32>, %j: tensor<i32>):
  {1}
  stablehlo.return %p : tensor<i1>
}}) : (tensor<{2}x{0}>, tensor<{2}xi32>) -> (tensor<{2}x{0}>, tensor<{2}xi32>)"""


def sort(run, comparator, a, b, element):
    n = len(a)
    text = function(SORT.format(element, comparator, n), [f"{n}x{element}", f"{n}xi32"],
                    [f"{n}x{element}", f"{n}xi32"])  # fmt: skip
    return run(text, a, b)


def test_sort_of_floats(run):
    a = np.array([1, np.nan, -0.0, np.inf, 0, -1, -np.inf, 0.0], np.float32)
    order = np.arange(len(a), dtype=np.int32)
    types = "(tensor<f32>, tensor<f32>) -> tensor<i1>"
    up = sort(run, f"%p = stablehlo.compare LT, %x, %y, FLOAT : {types}", a, order, "f32")
    assert up[1].tolist() == [6, 5, 2, 4, 7, 0, 3, 1]  # zeros are equal, and stay in order
    down = sort(run, f"%p = stablehlo.compare GT, %x, %y, TOTALORDER : {types}", a, order, "f32")
    assert down[1].tolist() == [1, 3, 0, 4, 7, 2, 5, 6]
    swapped = sort(run, f"%p = stablehlo.compare GT, %y, %x, TOTALORDER : {types}", a, order, "f32")
    assert swapped[1].tolist() == [6, 5, 2, 4, 7, 0, 3, 1]


@pytest.mark.parametrize("times", [1, 50])
@pytest.mark.parametrize("element", ["i8", "ui8", "i32", "ui32", "i64", "ui64", "i16", "ui16"])
def test_sort_of_integers(run, element, times):
    dtype = np.dtype(element.replace("ui", "uint") if "u" in element else "int" + element[1:])
    limits = np.iinfo(dtype)
    a = np.tile(np.array([3, limits.max, limits.min, 0, 3, 1], dtype), times)
    types = f"(tensor<{element}>, tensor<{element}>) -> tensor<i1>"
    order = np.arange(len(a), dtype=np.int32)
    got = sort(run, f"%p = stablehlo.compare LT, %x, %y : {types}", a, order, element)
    expect(got, np.sort(a), np.argsort(a, kind="stable").astype(np.int32))


@pytest.mark.parametrize("times", [1, 50])
def test_sort_by_several_keys_and_by_a_function(run, times):
    a = np.tile(np.array([2, -2, 1, -1, 2, 1], np.float32), times)
    b = np.tile(np.array([5, 6, 7, 8, 4, 3], np.int32), times)
    comparator = """
      %ax = stablehlo.abs %x : tensor<f32>
      %ay = stablehlo.abs %y : tensor<f32>
      %first = stablehlo.compare LT, %ax, %ay : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %same = stablehlo.compare EQ, %ax, %ay : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %second = stablehlo.compare GT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %both = stablehlo.and %same, %second : tensor<i1>
      %p = stablehlo.or %first, %both : tensor<i1>"""
    order = np.lexsort((-b, abs(a)))
    expect(sort(run, comparator, a, b, "f32"), a[order], b[order])


def test_sort_by_a_comparator_that_is_no_key(run):
    a = np.array([2, -2, 1, -1], np.float32)
    comparator = """
      %sum = stablehlo.add %x, %y : tensor<f32>
      %zero = stablehlo.subtract %sum, %sum : tensor<f32>
      %moved = stablehlo.add %x, %zero : tensor<f32>
      %p = stablehlo.compare LT, %moved, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>"""
    b = np.arange(4, dtype=np.int32)
    expect(sort(run, comparator, a, b, "f32"), np.sort(a), np.argsort(a).astype(np.int32))


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


# As JAX writes a function of (params, batch, scale) that gives a dict.
STEP = """
func.func public @main(
    %a: tensor<2xf32> loc("params['w']"), %b: tensor<2xf32> loc("batch[0]['odd key/\u00e9']"),
    %c: tensor<f32> loc("scale"), %d: tensor<f32> loc("scale"),
    %e: tensor<f32> loc("step.py":3:4), %f: tensor<f32>)
    -> (tensor<2xf32> {jax.result_info = "result['params']['w']"},
        tensor<2xf32> {jax.result_info = "result['loss'].mean"},
        tensor<f32> {jax.result_info = "result[2]"}, tensor<f32> {jax.result_info = "result"},
        tensor<f32> {jax.result_info = ""}, tensor<f32>) {
  %s = stablehlo.add %a, %b : tensor<2xf32>
  return %s, %b, %c, %d, %e, %f : tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>,
      tensor<f32>, tensor<f32>
}
"""


def test_names_of_jax_are_the_names_here(tmp_path):
    path = tmp_path / "step.mlir"
    path.write_text(STEP)
    call = treadle.load(path).signatures["main"]
    assert list(call.inputs) == ["params_w", "batch_0_odd_key", "scale", "scale1", "arg4", "arg5"]
    outputs = ["result_params_w", "loss_mean"] + [f"result_{i}" for i in range(2, 6)]
    assert list(call.outputs) == outputs
    two = np.float32([1, 2])
    rest = {"scale": 3, "scale1": 4, "arg4": 5, "arg5": 6}
    got = call(params_w=two, batch_0_odd_key=two, **rest)
    assert [v.tolist() for v in got.values()] == [[2, 4], [1, 2], 3, 4, 5, 6]
    given = ["--input", "0=[1,2]", "--input", "arg1=[5,5]"]
    given += [f"--input={i}=0" for i in ("scale", "3", "arg4", "5")]
    assert "result_params_w: float32[2] = [6.0 7.0]\n" in command("run", path, *given).stdout


def test_names_where_sizes_are_unknown(tmp_path):
    """Then jax.export's @main has none, and calls the function that has."""
    path = tmp_path / "add.mlir"
    path.write_text("""
func.func public @main(%a: tensor<?xf32> loc(unknown), %b: tensor<?xf32> loc(unknown))
    -> (tensor<?xf32> {jax.result_info = "result"}) {
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %r = call @inner(%n, %a, %b) : (tensor<i32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func private @inner(%n: tensor<i32>, %a: tensor<?xf32> loc("x"), %b: tensor<?xf32> loc("y"))
    -> tensor<?xf32> {
  %r = stablehlo.add %a, %b : tensor<?xf32>
  return %r : tensor<?xf32>
}
""")
    call = treadle.load(path).signatures["main"]
    assert list(call.inputs) == ["x", "y"] and list(call.outputs) == ["result"]
    np.testing.assert_array_equal(call(x=[1, 2], y=[3, 4])["result"], [4, 6])


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
            '%s = "stablehlo.compare"(%a, %a) {comparison_direction = "XX"} : '
            "(tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>\n"
            "%r = stablehlo.abs %a : tensor<2xf32>",
            treadle.InvalidArgumentError,
            ["line 2", "'comparison_direction'", "one of EQ, NE"],
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


def exported(script, folder):
    """The folder with what a script exports: NAME.mlir in several forms, .mlirbc, .jax, .npz."""
    has = subprocess.run([JAX, "-c", "import jax"], capture_output=True, check=False)
    if has.returncode:
        pytest.skip(f"{JAX} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    subprocess.run([JAX, ROOT / "test" / script, folder], check=True, timeout=1800)
    return folder


def close(value, expected):
    """Whether a value is what JAX computes, within rounding of its type."""
    assert value.dtype == expected.dtype and value.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(value, expected)
        return
    tolerance = {2: 2e-3, 4: 2e-5, 8: 2e-5}.get(expected.real.dtype.itemsize, 2e-5)
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1e-3)
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance * float(scale))


def differences(folder, tier="auto", loose=()):
    """Returns differences between JAX and Treadle for the programs of a folder, one line each. XLA
    keeps values in 32 bits between the ops of a program in `loose`, so the last bits of other
    dtypes differ."""
    wrong = []
    for text in sorted(p for kind in ("mlir", "mlirbc", "jax") for p in folder.glob(f"*.{kind}")):
        name = text.name.split(".")[0]
        with np.load(folder / f"{name}.npz") as file:
            values = dict(file)
        inputs = [values[f"in{i}"] for i in range(sum(k.startswith("in") for k in values))]
        outputs = [values[f"out{i}"] for i in range(sum(k.startswith("out") for k in values))]
        try:
            model = treadle.load(text, timeout=60, tier=tier)
            got = list(model.signatures["main"](*inputs).values())
            for value, expected in zip(got, outputs, strict=True):
                if name.endswith(loose or (" ",)):
                    np.testing.assert_allclose(value, expected, rtol=0.02, atol=0.02)
                else:
                    close(value, expected)
        except (treadle.Error, AssertionError) as error:
            wrong.append(f"{text.name}: {error}")
    return wrong


def test_programs_of_jax(tmp_path):
    wrong = differences(exported("jax_programs.py", tmp_path))
    assert not wrong, "\n".join(wrong)


# Types that there are no kernels for, and convolutions over four dimensions.
BEYOND = ("small_floats", "small_ints", "conv_4d")


def test_programs_of_jax_by_family(tmp_path):
    folder = exported("jax_families.py", tmp_path)
    assert len(list(folder.glob("*.npz"))) > 400
    loose = ("bfloat16", "bf16", "float16", "random_normals")
    wrong = differences(folder, loose=loose)
    wrong = [line for line in wrong if not line.startswith(BEYOND)]
    assert not wrong, "\n".join(wrong)


# --- top-k, and custom calls that are ops --------------------------------------------------------


def test_nan_is_the_largest_of_top_k(run):
    body = "%r0, %r1 = chlo.top_k(%a, k = 4) : tensor<6xf32> -> (tensor<4xf32>, tensor<4xi32>)"
    x = np.float32([1, np.nan, -np.inf, np.inf, -0.0, 0.0])
    same(
        run(function(body, ["6xf32"], ["4xf32", "4xi32"]), x),
        np.float32([np.nan, np.inf, 1, 0.0]),
        np.int32([1, 3, 0, 5]),
    )


def test_the_smallest_by_a_custom_call(run):
    body = """
    %r0, %r1 = stablehlo.custom_call @mhlo.topk(%a) {
      mhlo.attributes = {k = 2 : i64, largest = false}, mhlo.version = 1 : i64}
      : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)"""
    x = np.float32([3, -2, 7, -2])
    same(
        run(function(body, ["4xf32"], ["2xf32", "2xi32"]), x),
        np.float32([-2, -2]),
        np.int32([1, 3]),
    )


def test_a_function_by_a_custom_call(run):
    body = "%r = stablehlo.custom_call @mhlo.sinh(%a) : (tensor<3xf32>) -> tensor<3xf32>"
    x = floats(3)
    expect(run(function(body, ["3xf32"], ["3xf32"]), x), np.sinh(x))


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ('"stablehlo.gather"(%a)', "expected 2 operands, but found 1"),
        ('"stablehlo.complex"(%a)', "expected 2 operands, but found 1"),
        ('"stablehlo.reduce_window"(%a, %a)', "requires one region"),
        ('"stablehlo.select_and_scatter"(%a, %a, %a)', "expected 2 regions"),
        ('"chlo.zeta"(%a)', "expected 2 operands, but found 1"),
        ('"chlo.erf"()', "requires a single operand"),
        ('"chlo.scan"(%a)', "requires one region"),
        ('"chlo.ragged_dot"(%a)', "expected 3 operands, but found 1"),
    ],
)
def test_ops_without_all_their_parts_are_errors(run, op, message):
    operands = ", ".join(["tensor<2xf32>"] * op.count("%a"))
    body = f"%r = {op} : ({operands}) -> tensor<2xf32>"
    with pytest.raises((treadle.InvalidArgumentError, treadle.UnimplementedError), match=message):
        run(function(body, ["2xf32"], ["2xf32"]), floats(2))


@pytest.mark.parametrize("op", ["iota dim = 0 :", "reshape %a : (tensor<2xf32>) ->"])
def test_unknown_ranks_are_unimplemented(run, op):
    body = f"%u = stablehlo.{op} tensor<*xf32>\n%r = stablehlo.abs %a : tensor<2xf32>"
    with pytest.raises(treadle.UnimplementedError, match="of values of unknown rank"):
        run(function(body, ["2xf32"], ["2xf32"]), floats(2))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '%r = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, '
            "transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false} "
            ": (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>",
            "dimension 0 of 'tensor<1x3xf32>' doesn't have the size",
        ),
        (
            '%c = "stablehlo.cholesky"(%b) {lower = true} : (tensor<1x3xf32>) -> tensor<1x3xf32>\n'
            "%r = stablehlo.abs %c : tensor<1x3xf32>",
            "expected a square matrix",
        ),
    ],
)
def test_matrices_that_do_not_fit(run, body, message):
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        run(function(body, ["3x3xf32", "1x3xf32"], ["1x3xf32"]), floats(3, 3), floats(1, 3))


def test_a_fourier_transform_names_its_kind(run):
    body = (
        "%r = stablehlo.fft %a, length = [2] : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>"
    )
    with pytest.raises(treadle.InvalidArgumentError, match="requires attribute 'fft_type'"):
        run(function(body, ["2xcomplex<f32>"], ["2xcomplex<f32>"]), np.complex64([1, 2]))


def test_batches_of_unknown_size_are_normalized(tmp_path):
    path = tmp_path / "normalize.mlir"
    path.write_text("""
func.func @main(%x: tensor<?x3x2xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>)
    -> tensor<?x3x2xf32> {
  %y, %mean, %variance = "stablehlo.batch_norm_training"(%x, %scale, %offset) {
    epsilon = 0.001 : f32, feature_index = 1 : i64}
    : (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
    -> (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<?x3x2xf32>
}
""")
    model = treadle.load(path).signatures["main"]
    scale, offset = np.float32([1, 2, 3]), np.float32([0, -1, 1])
    for size in (4, 7):
        x = floats(size, 3, 2)
        mean, variance = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
        expected = (x - mean) / np.sqrt(variance + 0.001) * scale[:, None] + offset[:, None]
        (got,) = model(x, scale, offset).values()
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_lists_that_state_nothing_are_like_none(run):
    body = """
    %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {stride = [], pad = [], lhs_dilate = [], rhs_dilate = [], reverse = []}
      {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
      : (tensor<1x4x1xf32>, tensor<2x1x1xf32>) -> tensor<1x3x1xf32>"""
    x = np.float32([1, 2, 3, 4]).reshape(1, 4, 1)
    w = np.float32([1, 10]).reshape(2, 1, 1)
    got = run(function(body, ["1x4x1xf32", "2x1x1xf32"], ["1x3x1xf32"]), x, w)
    same(got, np.float32([21, 32, 43]).reshape(1, 3, 1))


OF_ANY_SIZE = """
func.func @less(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>)
    -> tensor<i1> {
  %g = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %g : tensor<i1>
}
func.func @main(%x: tensor<2x?xf32>, %k: tensor<i32>, %state: tensor<2xui64>)
    -> (tensor<2x?xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<2x?xi32>, tensor<?xui32>) {
  %v, %i = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k)
    : (tensor<2x?xf32>, tensor<i32>) -> (tensor<2x?xf32>, tensor<2x?xi32>)
  %size = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x?xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %sizes = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %two, %sizes, dim = 0
    : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %places = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi32>) -> tensor<2x?xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %av, %ai = stablehlo.custom_call @stablehlo.dynamic_approx_top_k(%x, %places, %least, %none, %k) {
      called_computations = [@less], mhlo.backend_config = {
        aggregate_to_topk = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64}}
    : (tensor<2x?xf32>, tensor<2x?xi32>, tensor<f32>, tensor<i32>, tensor<i32>)
    -> (tensor<2x?xf32>, tensor<2x?xi32>)
  %count = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
  %next, %bits = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%state, %count) {
      rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}
    : (tensor<2xui64>, tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)
  return %v, %i, %av, %ai, %bits
    : tensor<2x?xf32>, tensor<2x?xi32>, tensor<2x?xf32>, tensor<2x?xi32>, tensor<?xui32>
}
"""


def test_sizes_may_be_operands(run):
    """Custom calls by which jax.export spells ops of symbolic sizes."""
    bits = []
    for size, k in ((4, 3), (6, 2)):
        x = floats(2, size)
        values, places, near, near_places, random = run(
            OF_ANY_SIZE, x, np.int32(k), np.uint64([1, 2])
        )
        order = np.argsort(-x, axis=1, kind="stable")[:, :k].astype(np.int32)
        same([places, near_places], order, order)
        sorted_x = np.take_along_axis(x, order, axis=1)
        same([values, near], sorted_x, sorted_x)
        assert random.shape == (k,)
        bits.append(random)
    same([bits[0][:2]], bits[1])
