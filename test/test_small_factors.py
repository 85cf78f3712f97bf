# ruff: noqa: E501 (programs in text)
"""Factors of small matrices in loops: machine code writes them out, kernels do the larger ones."""

import numpy as np
import pytest

import treadle

# LU, both triangular systems and Cholesky's factor, twice.
PROGRAM = """
func.func @main(%a: tensor<BNxNxT>, %b: tensor<BNx2xT>, %p: tensor<BNxNxT>) -> (tensor<BNxNxT>, tensor<BNxi32>, tensor<BIi32>, tensor<BNx2xT>, tensor<BNx2xT>, tensor<BNxNxT>, tensor<BIi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %rows = stablehlo.constant dense<0> : tensor<BNxi32>
  %none = stablehlo.constant dense<0> : tensor<BIi32>
  %l:8 = stablehlo.while(%i = %zero, %f = %a, %v = %rows, %n = %none, %x = %b, %y = %b, %c = %p, %m = %none) : tensor<i32>, tensor<BNxNxT>, tensor<BNxi32>, tensor<BIi32>, tensor<BNx2xT>, tensor<BNx2xT>, tensor<BNxNxT>, tensor<BIi32>
  cond {
    %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %lu, %pivots, %info = stablehlo.custom_call @lapack_Kgetrf_ffi(%a) {api_version = 4 : i32} : (tensor<BNxNxT>) -> (tensor<BNxNxT>, tensor<BNxi32>, tensor<BIi32>)
    %d = stablehlo.custom_call @lapack_Ktrsm_ffi(%lu, %x) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, api_version = 4 : i32} : (tensor<BNxNxT>, tensor<BNx2xT>) -> tensor<BNx2xT>
    %e = stablehlo.custom_call @lapack_Ktrsm_ffi(%lu, %y) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, api_version = 4 : i32} : (tensor<BNxNxT>, tensor<BNx2xT>) -> tensor<BNx2xT>
    %g, %h = stablehlo.custom_call @lapack_Kpotrf_ffi(%p) {mhlo.backend_config = {uplo = 76 : ui8}, api_version = 4 : i32} : (tensor<BNxNxT>) -> (tensor<BNxNxT>, tensor<BIi32>)
    stablehlo.return %next, %lu, %pivots, %info, %d, %e, %g, %h : tensor<i32>, tensor<BNxNxT>, tensor<BNxi32>, tensor<BIi32>, tensor<BNx2xT>, tensor<BNx2xT>, tensor<BNxNxT>, tensor<BIi32>
  }
  return %l#1, %l#2, %l#3, %l#4, %l#5, %l#6, %l#7 : tensor<BNxNxT>, tensor<BNxi32>, tensor<BIi32>, tensor<BNx2xT>, tensor<BNx2xT>, tensor<BNxNxT>, tensor<BIi32>
}
"""


TYPES = {
    np.float32: ("f32", "s"),
    np.float64: ("f64", "d"),
    np.complex64: ("complex<f32>", "c"),
    np.complex128: ("complex<f64>", "z"),
}


def program(n, batch, dtype):
    before = "".join(f"{size}x" for size in batch)
    text = PROGRAM.replace("BNxNx", f"{before}{n}x{n}x").replace("BNx", f"{before}{n}x")
    name, letter = TYPES[dtype]
    text = text.replace("BI", before).replace("T>", f"{name}>")
    if name.startswith("complex"):
        text = text.replace("trans_x = 84", "trans_x = 67")  # the conjugate
    return text.replace("lapack_K", f"lapack_{letter}").encode()


def both(text, values):
    """Returns the result of each tier, and the number of compiled calls."""
    results = []
    for tier in ("interpret", "jit"):
        session = treadle.Session(text, tier=tier, statistics=True)
        names = [f"while:{i}" for i in range(1, 8)]
        with np.errstate(all="ignore"):
            results.append(session.run(names, {f"arg{i}": x for i, x in enumerate(values)}))
    return *results, session.statistics()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
@pytest.mark.parametrize("n", range(1, 7))
def test_factors_in_loops_are_those_of_the_kernels(n, batch, dtype):
    rng = np.random.default_rng(n)

    def numbers(*shape):
        made = rng.normal(size=shape)
        if np.dtype(dtype).kind == "c":
            made = made + 1j * rng.normal(size=shape)
        return made.astype(dtype)

    a, b = numbers(*batch, n, n), numbers(*batch, n, 2)
    positive = (a @ np.swapaxes(a, -1, -2).conj() + np.eye(n)).astype(dtype)
    wanted, got, statistics = both(program(n, batch, dtype), (a, b, positive))
    assert (statistics.compiled_calls, statistics.bails) == (1, 0), statistics.last_failure
    for x, y in zip(wanted, got, strict=True):
        is_single = np.dtype(dtype) in (np.float32, np.complex64)
        np.testing.assert_allclose(y, x, rtol=1e-5 if is_single else 1e-12)


def test_matrices_without_an_inverse_or_a_root_say_so():
    a = np.array([[0, 0, 1], [0, 0, 2], [3, 4, 5]], np.float64)
    for matrix in (a, np.zeros((3, 3)), -np.eye(3)):
        b = np.ones((3, 2))
        wanted, got, _ = both(program(3, (), np.float64), (matrix, b, matrix))
        assert wanted[2] == got[2]  # the first step without a pivot
        assert wanted[6] == got[6] == 1
        np.testing.assert_array_equal(got[0], wanted[0])
        np.testing.assert_array_equal(got[1], wanted[1])


SYSTEMS = """
func.func @main(%a: tensor<BNxNxT>, %b: tensor<BRxT>) -> tensor<BRxT> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %x = %b) : tensor<i32>, tensor<BRxT>
  cond {
    %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %d = stablehlo.custom_call @lapack_Ktrsm_ffi(%a, %x) {mhlo.backend_config = {CONFIG}, api_version = 4 : i32} : (tensor<BNxNxT>, tensor<BRxT>) -> tensor<BRxT>
    stablehlo.return %next, %d : tensor<i32>, tensor<BRxT>
  }
  return %l#1 : tensor<BRxT>
}
"""


@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("turned", "NT")
@pytest.mark.parametrize(("n", "batch"), [(1, ()), (3, ()), (5, (2,)), (2, (2, 3))])
def test_systems_with_many_right_hand_sides(n, batch, side, uplo, turned):
    options = {"side": side, "uplo": uplo, "trans_x": turned, "diag": "N"}
    config = ", ".join(f"{name} = {ord(value)} : ui8" for name, value in options.items())
    before = "".join(f"{size}x" for size in batch)
    shape = (*batch, n, 37) if side == "L" else (*batch, 37, n)
    text = SYSTEMS.replace("BNxNx", f"{before}{n}x{n}x").replace("CONFIG", config)
    text = text.replace("BRx", "x".join(map(str, shape)) + "x").replace("T>", "f64>")
    rng = np.random.default_rng(n)
    a = rng.normal(size=(*batch, n, n)) + 3 * np.eye(n)
    b = rng.normal(size=shape)
    session = treadle.Session(
        text.replace("lapack_K", "lapack_d").encode(), tier="jit", statistics=True
    )
    got = session.run("while:1", {"arg0": a, "arg1": b})
    matrix = np.tril(a) if uplo == "L" else np.triu(a)
    matrix = np.swapaxes(matrix, -1, -2) if turned == "T" else matrix
    product = matrix @ got if side == "L" else got @ matrix
    np.testing.assert_allclose(product, b, rtol=1e-9, atol=1e-12)
    assert (session.statistics().compiled_calls, session.statistics().bails) == (1, 0)
