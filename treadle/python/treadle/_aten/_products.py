"""Products, norms and powers of matrices that are composed of other ops."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

from . import _dtypes as dtypes
from ._operands import Operand, call, cat, composed, constant, counted, stack, where
from ._values import Meta, broadcast
from ._writer import Dim, is_static, product

# ---- products


@composed("tensordot")
def _tensordot(
    x: Operand, y: Operand, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Operand:
    left, right = ([t.axis(d) for d in dims] for t, dims in ((x, dims_self), (y, dims_other)))
    for i, j in zip(left, right, strict=True):  # a dimension of size one is broadcast
        if _is_one(x.shape[i]) and not _is_one(y.shape[j]):
            y = y.sum([j], True)
        elif _is_one(y.shape[j]) and not _is_one(x.shape[i]):
            x = x.sum([i], True)
    rows = [a for a in range(x.rank) if a not in left]
    columns = [a for a in range(y.rank) if a not in right]
    inner = product(x.shape[a] for a in left)
    shape = [*(x.shape[a] for a in rows), *(y.shape[a] for a in columns)]
    a = x.permute([*rows, *left]).reshape([product(x.shape[a] for a in rows), inner])
    b = y.permute([*right, *columns]).reshape([inner, product(y.shape[a] for a in columns)])
    return (a @ b).reshape(shape)


def _is_one(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 1


@composed("kron")
def _kronecker(x: Operand, y: Operand) -> Operand:
    rank = max(x.rank, y.rank)
    left, right = ([1] * (rank - t.rank) + t.shape for t in (x, y))
    wide = x.reshape([d for n in left for d in (n, 1)]) * y.reshape(
        [d for n in right for d in (1, n)]
    )
    return wide.reshape([a * b for a, b in zip(left, right, strict=True)])


@composed("linalg_vecdot")
def _inner_products(x: Operand, y: Operand, *, dim: int = -1) -> Operand:
    return (x.conj() * y).sum(dim)


@composed("cross", "linalg_cross")
def _cross(x: Operand, y: Operand, dim: int | None = None, **named: Any) -> Operand:
    dim = named.get("dim", dim)
    if dim is None:
        dim = next(a for a, n in enumerate(x.shape) if isinstance(n, int) and n == 3)
    axis = x.axis(dim) - x.rank
    orders = [constant(x, order, dtypes.int64) for order in ([1, 2, 0], [2, 0, 1])]
    (x1, x2), (y1, y2) = ([call("index_select", t, axis, o) for o in orders] for t in (x, y))
    return x1 * y2 - x2 * y1


@composed("linalg_multi_dot", "chain_matmul")
def _chain(tensors: Sequence[Operand]) -> Operand:
    return functools.reduce(operator.matmul, tensors)


@composed("bilinear")
def _bilinear(x: Operand, y: Operand, weight: Operand, bias: Operand | None = None) -> Operand:
    """Rows x W_k y for each k."""
    out, left, right = weight.shape
    lead = x.shape[:-1]
    rows, others = x.reshape([-1, left]), y.reshape([-1, right])
    flat = weight.permute([1, 0, 2]).reshape([left, out * right])
    total = ((rows @ flat).reshape([-1, out, right]) * others.unsqueeze(1)).sum([2])
    total = total.reshape([*lead, out])
    return total if bias is None else total + bias


@composed("cov")
def _covariance(
    x: Operand,
    *,
    correction: int = 1,
    fweights: Operand | None = None,
    aweights: Operand | None = None,
) -> Operand:
    rows = (x if x.rank == 2 else x.reshape([1, -1])).floating()
    weights = (
        fweights if aweights is None else aweights if fweights is None else fweights * aweights
    )
    if weights is None:
        count: Any = rows.size(1)
        mean, total = rows.mean([1], True), count
        scaled = rows - mean
    else:
        total = weights.sum()
        mean = (rows * weights).sum([1], True) / total
        scaled = (rows - mean) * weights
    rest = total - correction
    if aweights is not None:
        square = aweights * aweights * (1 if fweights is None else fweights)
        rest = total - square.sum() / total * correction
    rest = max(rest, 0) if isinstance(rest, int) else rest
    rest = rest.clamp_min(0) if isinstance(rest, Operand) else rest
    out = scaled @ (rows - mean).mH / rest
    return out if x.rank == 2 else out.reshape([])


@composed("corrcoef")
def _correlation(x: Operand) -> Operand:
    found = _covariance(x)
    if not found.rank:
        return found / found
    size = found.diagonal().sqrt()
    size = size.real() if size.dtype.is_complex else size
    out = found / size.unsqueeze(1) / size
    return out if out.dtype.is_complex else out.clamp(-1, 1)


# ---- norms


@composed("norm_except_dim")
def _norm_of_others(v: Operand, pow: int = 2, dim: int = 0) -> Operand:
    """Returns the norm of all elements except those along a dimension."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, [a for a in range(v.rank) if a != v.axis(dim)], True)


@composed("_weight_norm")
def _weight_norm(v: Operand, g: Operand, dim: int = 0) -> Operand:
    return v * (g / _norm_of_others(v, 2, dim))


@composed("renorm")
def _renormed(x: Operand, p: Any, dim: int, maxnorm: Any) -> Operand:
    size = x.norm(p, [a for a in range(x.rank) if a != x.axis(dim)], True)
    return x * where(size > maxnorm, maxnorm / (size + 1e-7), 1)


def _svd(x: Operand, full: bool, has_vectors: bool = True) -> list[Operand]:
    values = x._like((), dtypes.real_of(x.dtype))
    return call("_linalg_svd", x, full, has_vectors, result=[x.meta, values, x.meta])


def _spread(x: Operand) -> Operand:
    """Returns the singular values, largest first."""
    return _svd(x, False, False)[1]


def _matrix_norm(x: Operand, order: Any, dims: Sequence[int], keepdim: bool) -> Operand:
    rows, columns = (x.axis(d) for d in dims)
    if order in ("fro", None):
        return x.norm(2, [rows, columns], keepdim)
    if order in ("nuc", 2, -2):
        matrix = x.permute([*(a for a in range(x.rank) if a not in (rows, columns)), rows, columns])
        values = _spread(matrix)
        out = values.sum([-1]) if order == "nuc" else _largest(values, -1, order > 0, False)
        for axis in sorted((rows, columns)) if keepdim else ():
            out = out.unsqueeze(axis)
        return out
    if abs(order) == math.inf:
        rows, columns = columns, rows
    sums = x.abs().sum([rows], True)
    out = _largest(sums, columns, order > 0, True)
    for axis in () if keepdim else sorted((rows, columns), reverse=True):
        out = out.squeeze(axis)
    return out


def _largest(x: Operand, dim: int, is_largest: bool, keepdim: bool) -> Operand:
    return call("amax" if is_largest else "amin", x, [dim], keepdim)


def _to(x: Operand, dtype: Any) -> Operand:
    return x if dtype is None else x.to(dtype)


@composed("linalg_matrix_norm")
def _norm_of_matrices(
    x: Operand,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Operand:
    return _matrix_norm(_to(x, dtype), ord, dim, keepdim)


@composed("linalg_norm")
def _any_norm(
    x: Operand, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Operand:
    x = _to(x, dtype)
    dims = [dim] if isinstance(dim, int) else dim
    if ord is None:
        return x.norm(2, dims, keepdim)
    dims = list(range(x.rank)) if dims is None else dims
    return _matrix_norm(x, ord, dims, keepdim) if len(dims) == 2 else x.norm(ord, dims, keepdim)


@composed("frobenius_norm.dim")
def _frobenius(x: Operand, dim: Sequence[int], keepdim: bool = False) -> Operand:
    return x.norm(2, dim, keepdim)


@composed("nuclear_norm")
def _nuclear(x: Operand, *rest: Any) -> Operand:
    dims, keepdim = ((-2, -1), *rest)[-2:] if len(rest) < 2 else rest
    dims, keepdim = (dims, keepdim) if isinstance(keepdim, bool) else (keepdim, False)
    return _matrix_norm(x, "nuc", dims, keepdim)


# ---- factors and spectra


@composed("linalg_cholesky")
def _cholesky(x: Operand, *, upper: bool = False) -> Operand:
    return call("linalg_cholesky_ex", x, upper=upper)[0]


@composed("linalg_svd")
def _singular(x: Operand, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    return _svd(x, full_matrices)


@composed("linalg_svdvals")
def _singular_values(x: Operand, *, driver: str | None = None) -> Operand:
    return _spread(x)


@composed("svd")
def _old_svd(x: Operand, some: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return NotImplemented
    u, s, vh = _svd(x, not some)
    return [u, s, vh.mH]


def _eigh(x: Operand, half: str, has_vectors: bool) -> Any:
    values = x._like((), dtypes.real_of(x.dtype))
    return call("_linalg_eigh", x, half, has_vectors, result=[values, x.meta])


@composed("linalg_eigh")
def _spectrum(x: Operand, UPLO: str = "L") -> Any:  # noqa: N803
    return _eigh(x, UPLO, True)


@composed("linalg_eigvalsh")
def _spectral_values(x: Operand, UPLO: str = "L") -> Operand:  # noqa: N803
    return _eigh(x, UPLO, False)[0]


# ---- inverses, determinants and solutions


@composed("linalg_inv", "inverse")
def _inverse(x: Operand) -> Operand:
    return call("linalg_inv_ex", x)[0]


@composed("linalg_det", "det")
def _determinant(x: Operand) -> Operand:
    return call("_linalg_det", x, result=[x.meta])[0]


@composed("linalg_slogdet", "slogdet")
def _log_determinant(x: Operand) -> Any:
    real = x._like((), dtypes.real_of(x.dtype))
    return call("_linalg_slogdet", x, result=[x.meta, real])[:2]


@composed("logdet")
def _logdet(x: Operand) -> Operand:
    sign, size = _log_determinant(x)
    return sign.log() + size


@composed("linalg_solve")
def _solve(x: Operand, b: Operand, *, left: bool = True) -> Operand:
    is_vector = b.rank == 1 or b.rank == x.rank - 1 and _same(b.shape, x.shape[:-1])
    columns = b.unsqueeze(-1) if is_vector else b
    if not left:
        x, columns = x.mT, columns.mT
    out = call("_linalg_solve_ex", *_with_batches(x, columns), result=[x.meta])[0]
    out = out if left else out.mT
    return out.squeeze(-1) if is_vector else out


@composed("linalg_solve_ex")
def _solve_told(
    x: Operand, b: Operand, *, left: bool = True, check_errors: bool = False
) -> list[Operand]:
    """Solves a system and returns a status, always success: a run fails otherwise."""
    return [_solve(x, b, left=left), call("zeros", x, result=Meta(dtypes.int32, x.meta.shape[:-2]))]


def _same(x: Sequence[Dim], y: Sequence[Dim]) -> bool:
    return is_static([*x, *y]) and list(x) == list(y)


def _with_batches(x: Operand, y: Operand) -> list[Operand]:
    """Matrices with the same dimensions in front."""
    lead = x.writer.dims(broadcast([x.meta.shape[:-2], y.meta.shape[:-2]]))
    return [t.expand([*lead, *t.shape[-2:]]) for t in (x, y)]


@composed("linalg_tensorinv")
def _tensor_inverse(x: Operand, ind: int = 2) -> Operand:
    first, last = x.shape[:ind], x.shape[ind:]
    return _inverse(x.reshape([product(first), product(last)])).reshape([*last, *first])


@composed("linalg_tensorsolve")
def _tensor_solution(x: Operand, b: Operand, dims: Any = None) -> Operand:
    if dims is not None:
        moved = [x.axis(d) for d in dims]
        x = x.permute([*(a for a in range(x.rank) if a not in moved), *moved])
    rest = x.shape[b.rank :]
    matrix = x.reshape([product(b.shape), product(rest)])
    return _solve(matrix, b.reshape([-1])).reshape(rest)


def _cutoff(x: Operand, largest: Operand, atol: Any, rtol: Any) -> Operand:
    """Returns the value below which singular values count as zero."""
    if rtol is None:
        sizes = [x.static_size(d, "a matrix") for d in (-2, -1)]
        least = float(dtypes.limits(dtypes.real_of(x.dtype)).eps) * max(sizes)
        rtol = least if atol is None else _require_positive(atol, least)
    rtol, atol = (
        t.unsqueeze(-1) if isinstance(t, Operand) and t.rank else t for t in (rtol, atol or 0.0)
    )
    return (largest * rtol).maximum(largest * 0 + atol)


def _require_positive(atol: Any, least: float) -> Any:
    return where(atol > 0, 0.0, least) if isinstance(atol, Operand) else 0.0 if atol > 0 else least


@composed("linalg_pinv")
def _pseudo_inverse(
    x: Operand, rcond: Any = None, hermitian: bool = False, **named: Any
) -> Operand:
    atol, rtol = named.get("atol"), named.get("rtol", rcond)
    if hermitian:
        values, u = _eigh(x, "L", True)
        size, vh = values.abs(), u.mH
    else:
        u, values, vh = _svd(x, False)
        size = values
    kept = size > _cutoff(x, _largest(size, -1, True, True), atol, rtol)
    inverse = where(kept, 1 / values, 0).to(x.dtype)
    return (vh.mH * inverse.unsqueeze(-2)) @ u.mH


@composed("pinverse")
def _old_pseudo_inverse(x: Operand, rcond: float = 1e-15) -> Operand:
    return _pseudo_inverse(x, rcond)


@composed("linalg_matrix_rank")
def _rank(x: Operand, tol: Any = None, hermitian: bool = False, **named: Any) -> Operand:
    """Returns the rank. With an absolute tolerance only, the relative one is zero."""
    atol, rtol = named.get("atol"), named.get("rtol")
    if tol is not None:
        atol, rtol = tol, 0.0
    size = _eigh(x, "L", False)[0].abs() if hermitian else _spread(x)
    return (size > _cutoff(x, _largest(size, -1, True, True), atol, rtol)).sum([-1])


@composed("linalg_cond")
def _condition(x: Operand, p: Any = None) -> Operand:
    if p in (None, 2, -2):
        values = _spread(x)
        high, low = (_largest(values, -1, which, False) for which in (True, False))
        return low / high if p == -2 else high / low
    return _matrix_norm(x, p, (-2, -1), False) * _matrix_norm(_inverse(x), p, (-2, -1), False)


# ---- powers


def _identity(x: Operand) -> Operand:
    rows = counted(x, x.size(-1))
    one = rows.unsqueeze(1).eq(rows).to(x.dtype)
    return one.expand(x.shape)


@composed("linalg_matrix_power", "matrix_power")
def _power(x: Operand, n: int) -> Operand:
    if n < 0:
        return _power(_inverse(x), -n)
    found, base = None, x
    while n:
        if n % 2:
            found = base if found is None else found @ base
        n //= 2
        base = base @ base if n else base
    return _identity(x) if found is None else found


@composed("linalg_vander", "vander")
def _powers(
    x: Operand,
    N: int | None = None,
    increasing: bool = True,
    **named: Any,  # noqa: N803
) -> Operand:
    count = named.get("N", N)
    x = x if x.rank else x.unsqueeze(0)
    count = x.static_size(-1, "powers") if count is None else count
    column = x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(dtypes.int64)
    columns = [column.filled(1)]
    while len(columns) < count:
        columns.append(columns[-1] * column)
    return stack(columns if increasing else columns[::-1], -1)


# Terms of exp(x) = sum(x^n / n!): for matrices of norm 1 the remainder is below the dtype's
# precision.
_TERMS = {4: 12, 8: 18}


@composed("linalg_matrix_exp", "matrix_exp")
def _exponential(x: Operand) -> Operand:
    """Computes the exponential of x / 2^s, squared s times (C. Moler and C. Van Loan, Nineteen
    Dubious Ways to Compute the Exponential of a Matrix, Twenty-Five Years Later, 2003, method 3).
    """
    w, real = x.writer, dtypes.real_of(x.dtype)
    size = _largest(x.abs().sum([-2]), -1, True, False)
    exponent = (size.maximum(size * 0 + 1)).log2().ceil()
    scale = (-exponent).exp2().to(real).unsqueeze(-1).unsqueeze(-1)
    small = x * scale
    total = term = _identity(x)
    for number in range(1, _TERMS.get(real.itemsize, 12) + 1):
        term = term @ small / number
        total = total + term
    times = exponent.unsqueeze(-1).unsqueeze(-1)
    most = cat([times.flat(), constant(x, [0], times.dtype)]).amax([0])
    with w.builder.while_loop(variables={"y": total.out, "i": w.cast(0, exponent.dtype)}) as loop:
        loop.condition(w.op("Less", loop.i, most.out))
        y = Operand(w, loop.y, total.meta)
        square, still = y @ y, w.op("Less", loop.i, times)
        loop.y = w.op("SelectV2", still, square, y)
        loop.i += 1
    return Operand(w, loop.y, total.meta)
