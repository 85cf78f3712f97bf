"""Inverses, factors and spectra of matrices."""

from __future__ import annotations

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._rules import rule
from ._writer import Tensor, Value, Writer


def _success_status(w: Writer, x: Tensor) -> Output:
    """Returns the status of a factorization, always success: a run fails otherwise."""
    return w.full(x.shape[:-2], 0, dtypes.int32)


@rule("linalg_inv_ex")
def _inverse(w: Writer, x: Tensor, *, check_errors: bool = False) -> tuple[Output, Output]:
    return w.op("MatrixInverse", x), _success_status(w, x)


@rule("linalg_cholesky_ex")
def _cholesky(
    w: Writer, x: Tensor, *, upper: bool = False, check_errors: bool = False
) -> tuple[Output, Output]:
    lower = w.op("Cholesky", x)
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    turned = w.op("Conj", lower) if upper and x.dtype.is_complex else lower
    return (w.transpose(turned, order) if upper else lower), _success_status(w, x)


@rule("linalg_solve_triangular")
def _solve_triangular(
    w: Writer,
    x: Tensor,
    b: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Output:
    factor = _with_ones(w, x) if unitriangular else x.out
    if left:
        return w.op("MatrixTriangularSolve", factor, b, lower=not upper)
    # y x = b: solve with the adjoint of x for the adjoint of y.
    out = w.op(
        "MatrixTriangularSolve", factor, adjoint(w, b, b.rank), lower=not upper, adjoint=True
    )
    return adjoint(w, out, b.rank)


def adjoint(w: Writer, x: Tensor | Output, rank: int) -> Output:
    """Matrices turned, of conjugate numbers."""
    turned = w.transpose(x, [*range(rank - 2), rank - 1, rank - 2])
    return w.op("Conj", turned) if turned.dtype.startswith("complex") else turned


def _with_ones(w: Writer, x: Tensor) -> Output:
    """Returns square matrices with ones on their diagonals."""
    return w.op("MatrixSetDiag", x, w.full(x.shape[:-1], 1, x.dtype))


@rule("triangular_solve")
def _triangular_solve(
    w: Writer,
    b: Tensor,
    x: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Output, Value]:
    factor = _with_ones(w, x) if unitriangular else x.out
    if transpose and x.dtype.is_complex:
        factor = w.op("Conj", factor)
    return w.op("MatrixTriangularSolve", factor, b, lower=not upper, adjoint=transpose), x


def _solved(w: Writer, factor: Tensor, b: Value, upper: bool) -> Output:
    """Solves a a^H x = b, or a^H a x = b if the factor is an upper one."""
    first = w.op("MatrixTriangularSolve", factor, b, lower=not upper, adjoint=upper)
    return w.op("MatrixTriangularSolve", factor, first, lower=not upper, adjoint=not upper)


@rule("cholesky_solve")
def _cholesky_solve(w: Writer, b: Tensor, factor: Tensor, upper: bool = False) -> Output:
    batch = w.dims(w.result.shape[:-2])
    parts = [
        Tensor(w, w.broadcast(t, [*batch, *t.shape[-2:]]), t.meta) for t in (factor, b)
    ]  # fmt: skip
    return _solved(w, *parts, upper)


@rule("cholesky_inverse")
def _cholesky_inverse(w: Writer, factor: Tensor, upper: bool = False) -> Output:
    one = w.op("MatrixDiag", w.full(factor.shape[:-1], 1, factor.dtype))
    return _solved(w, factor, one, upper)


@rule("cholesky")
def _plain_cholesky(w: Writer, x: Tensor, upper: bool = False) -> Output:
    return _cholesky(w, x, upper=upper)[0]


# ---- spectra and factors


@rule("_linalg_eigh")
def _eigh(
    w: Writer,
    x: Tensor,
    UPLO: str = "L",
    compute_v: bool = True,  # noqa: N803
) -> tuple[Output, Output]:
    """Computes eigenvalues from the lower or the upper triangle."""
    half = adjoint(w, x, x.rank) if UPLO.upper() == "U" else x.out
    values, vectors = w.op("SelfAdjointEigV2", half, compute_v=compute_v)
    return w.cast(values, w.result[0].dtype), vectors


@rule("linalg_eig")
def _eig(w: Writer, x: Tensor) -> tuple[Output, Output]:
    return w.op("Eig", x, compute_v=True, Tout=dtypes.name_of(w.result[0].dtype))


@rule("_linalg_eigvals", "linalg_eigvals")
def _eigenvalues(w: Writer, x: Tensor) -> Output:
    return w.op("Eig", x, compute_v=False, Tout=dtypes.name_of(w.result.dtype))[0]


@rule("_linalg_svd")
def _svd(
    w: Writer,
    x: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> tuple[Output, Output, Output]:
    s, u, v = w.op("Svd", x, full_matrices=full_matrices, compute_uv=compute_uv)
    return u, w.cast(s, w.result[1].dtype), adjoint(w, v, x.rank) if compute_uv else v


@rule("linalg_qr")
def _qr(w: Writer, x: Tensor, mode: str = "reduced") -> tuple[Output, Output]:
    q, r = w.op("Qr", x, full_matrices=mode == "complete")
    return (w.constant([], x.dtype) if mode == "r" else q), r


@rule("_linalg_slogdet")
def _slogdet(w: Writer, x: Tensor) -> tuple[Output, Output, None, None]:
    _only_first(w, 2)
    sign, size = w.op("LogMatrixDeterminant", x)
    return sign, w.cast(size, w.result[1].dtype), None, None


@rule("linalg_lu")
def _lu(w: Writer, x: Tensor, *, pivot: bool = True) -> tuple[Output, Output, Output]:
    """Returns the transposed permutation, and both factors, of square matrices."""
    extent = x.shape[-1]
    if not pivot or x.shape[-2] != extent:
        raise UnimplementedError("factors without pivots, or of a matrix that isn't square")
    both, order = w.op("Lu", x, output_idx_type="int64")
    rows = w.op("ExpandDims", order, w.indices(-2))
    column = w.op("ExpandDims", w.range(extent), w.indices(1))
    lower = w.op("MatrixBandPart", both, w.indices(-1), w.indices(0))
    lower = w.op("MatrixSetDiag", lower, w.full(x.shape[:-1], 1, x.dtype))
    upper = w.op("MatrixBandPart", both, w.indices(0), w.indices(-1))
    return w.cast(w.op("Equal", rows, column), x.dtype), lower, upper


def _only_first(w: Writer, count: int = 1) -> None:
    """Factors with pivots aren't there, which gradients use."""
    rest = range(count, len(w.result))
    if any(w.is_used(i) for i in rest if w.result[i].dtype != dtypes.int32):
        raise UnimplementedError("the factors of a matrix, as its gradient uses them")


@rule("_linalg_det")
def _det(w: Writer, x: Tensor) -> tuple[Output, None, None]:
    _only_first(w)
    return w.op("MatrixDeterminant", x), None, None


@rule("_linalg_solve_ex")
def _solve(
    w: Writer, x: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Output, None, None, Output]:
    if not left:
        raise UnimplementedError("left=False")
    _only_first(w)
    is_vector = b.rank == x.rank - 1
    columns = w.op("ExpandDims", b, w.indices(-1)) if is_vector else b.out
    out = w.op("MatrixSolve", x, columns)
    out = w.op("Squeeze", out, squeeze_dims=[b.rank]) if is_vector else out
    return out, None, None, _success_status(w, x)
