"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._rules import rule
from ._values import Meta
from ._writer import Dim, Scalar, Tensor, Value, Writer


def _operand(x: Tensor) -> tuple[Output, bool]:
    """Returns an operand of a product, and whether its dimensions must be swapped."""
    return (x.out, False) if x.swapped is None else (x.swapped, True)


def _product(w: Writer, op: str, left: Value, right: Value, **attrs: bool) -> Output:
    """Multiplies matrices; narrow integers in int32, which gives the same result modulo 2^n."""
    dtype = dtypes.named(left.dtype) if isinstance(left, Output) else left.dtype
    if dtype.itemsize > 2 or dtype.is_floating_point:
        return w.op(op, left, right, **attrs)
    wide = [w.cast(value, dtypes.int32) for value in (left, right)]
    return w.cast(w.op(op, *wide, **attrs), dtype)


def multiply(w: Writer, x: Tensor, y: Tensor) -> Output:
    """Computes x @ y of matrices, or of two batches of matrices of equal size."""
    (left, adj_x), (right, adj_y) = _operand(x), _operand(y)
    if x.rank == 2 and y.rank == 2:
        return _product(w, "MatMul", left, right, transpose_a=adj_x, transpose_b=adj_y)
    adj_x, adj_y = adj_x and not x.dtype.is_complex, adj_y and not y.dtype.is_complex
    left, right = left if adj_x else x.out, right if adj_y else y.out
    return _product(w, "BatchMatMulV2", left, right, adj_x=adj_x, adj_y=adj_y)


def _scaled(w: Writer, x: Output, factor: Scalar) -> Output:
    is_whole = isinstance(factor, int | float) and factor == 1
    return x if is_whole else x * w.cast(factor, dtypes.named(x.dtype))


def _sum(w: Writer, x: Tensor, out: Output, beta: Scalar, alpha: Scalar) -> Output:
    """Computes beta * x + alpha * out; x isn't used if beta is zero."""
    out = _scaled(w, out, alpha)
    if isinstance(beta, int | float) and beta == 0:
        return out
    is_bias = x.rank == 1 and len(out.shape) == 2 and isinstance(beta, int | float) and beta == 1
    if is_bias and _is_as_wide(x, out):
        return w.op("BiasAdd", out, x)
    return w.op("AddV2", out, _scaled(w, x.out, beta))


def _is_as_wide(x: Tensor, out: Output) -> bool:
    """Whether a bias has the width of the result; only an addition broadcasts a bias of one
    element."""
    return isinstance(x.shape[0], int) and x.shape[0] == out.shape[-1]


@rule("mm", "bmm")
def _mm(w: Writer, x: Tensor, y: Tensor) -> Output:
    return multiply(w, x, y)


@rule("addmm", "baddbmm")
def _addmm(
    w: Writer, x: Tensor, a: Tensor, b: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Output:
    return _sum(w, x, multiply(w, a, b), beta, alpha)


@rule("addbmm")
def _addbmm(
    w: Writer, x: Tensor, a: Tensor, b: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Output:
    return _sum(w, x, w.op("Sum", multiply(w, a, b), w.indices([0])), beta, alpha)


# ---- grouped rows with a matrix for each group, as in mixtures of experts


def _groups(w: Writer, offs: Tensor, *rows: Tensor) -> Iterator[list[Output]]:
    """Returns the rows of each group; offs has the end of each group."""
    count = offs.shape[0]
    if not isinstance(count, int):
        raise UnimplementedError("products with a number of groups that is known only at run time")
    ends = w.cast(offs, dtypes.int64)
    for group in range(count):
        start = w.op("Pack", [ends[group - 1] if group else w.indices(0), w.indices(0)])
        size = w.op("Pack", [ends[group] - start[0], w.indices(-1)])
        yield [w.op("Slice", x, start, size) for x in rows]


def _with_rest(w: Writer, parts: list[Output], offs: Tensor, rows: Dim) -> Output:
    """Returns the rows of all groups, followed by zeros."""
    whole = w.op("ConcatV2", parts, w.indices(0))
    left = rows - w.cast(offs, dtypes.int64)[-1]
    amounts = w.op("Pack", [w.op("Pack", [w.indices(0), left]), w.indices([0, 0])])
    return w.op("Pad", whole, amounts)


@rule("transformers.grouped_mm_fallback")
def _grouped_mm(w: Writer, x: Tensor, weight: Tensor, offs: Tensor) -> Output:
    """Multiplies rows [n, in] by matrices [groups, in, out]."""
    groups = enumerate(_groups(w, offs, x))
    parts = [w.op("MatMul", rows, weight.out[group]) for group, (rows,) in groups]
    return _with_rest(w, parts, offs, x.shape[0])


@rule("transformers.grouped_mm_fallback_backward")
def _grouped_mm_backward(
    w: Writer, x: Tensor, weight: Tensor, offs: Tensor, grad: Tensor
) -> tuple[Output, Output]:
    dx, dw = [], []
    for group, (rows, flow) in enumerate(_groups(w, offs, x, grad)):
        dx.append(w.op("MatMul", flow, weight.out[group], transpose_b=True))
        dw.append(w.op("MatMul", rows, flow, transpose_a=True))
    return _with_rest(w, dx, offs, x.shape[0]), w.op("Pack", dw)


@rule("_grouped_mm")
def _grouped_mm_of_aten(
    w: Writer, x: Tensor, weight: Tensor, offs: Tensor | None = None, *rest: Any, **named: Any
) -> Any:
    if offs is None or (x.rank, weight.rank) != (2, 3) or rest or any(named.values()):
        return NotImplemented
    return _grouped_mm(w, x, weight, offs)


@rule("_int_mm")
def _whole_mm(w: Writer, x: Tensor, y: Tensor) -> Output:
    return w.op("MatMul", w.cast(x, dtypes.int32), w.cast(y, dtypes.int32))


@rule("_trilinear")
def _trilinear(
    w: Writer,
    x: Tensor,
    y: Tensor,
    z: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Output:
    """Multiplies three tensors after inserting dimensions that one of them lacks, and sums over
    some."""
    wide = []
    for value, missing in ((x, expand1), (y, expand2), (z, expand3)):
        dims = value.shape
        for axis in sorted(missing):
            dims.insert(axis, 1)
        wide.append(w.reshape(value, dims))
    return w.op("Sum", wide[0] * wide[1] * wide[2], w.indices(list(sumdim)))


def _column(w: Writer, x: Tensor) -> Output:
    return w.op("ExpandDims", x, w.indices(-1))


def _times_vector(w: Writer, x: Tensor, v: Tensor) -> Output:
    value, is_swapped = _operand(x)
    out = _product(w, "MatMul", value, _column(w, v), transpose_a=is_swapped)
    return w.op("Squeeze", out, squeeze_dims=[1])


@rule("mv")
def _mv(w: Writer, x: Tensor, v: Tensor) -> Output:
    return _times_vector(w, x, v)


@rule("addmv")
def _addmv(
    w: Writer, x: Tensor, a: Tensor, v: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Output:
    return _sum(w, x, _times_vector(w, a, v), beta, alpha)


@rule("dot", "inner")
def _dot(w: Writer, x: Tensor, y: Tensor) -> Output:
    return w.op("Sum", x.out * y.out, w.indices([0]))


@rule("vdot")
def _conjugate_dot(w: Writer, x: Tensor, y: Tensor) -> Output:
    first = w.op("Conj", x) if x.dtype.is_complex else x.out
    return w.op("Sum", first * y.out, w.indices([0]))


@rule("linear")
def _linear(w: Writer, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Output:
    """Rows times a matrix that is stored a row for each result."""
    dims = x.shape
    rows = x.out if x.rank == 2 else w.reshape(x, [-1, dims[-1]])
    out = _product(w, "MatMul", rows, weight, transpose_b=True)
    out = out if bias is None else w.op("BiasAdd", out, bias)
    return out if x.rank == 2 else w.reshape(out, w.dims(w.result.shape))


@rule("matmul")
def _matmul(w: Writer, x: Tensor, y: Tensor) -> Output:
    if x.rank == 1 and y.rank == 1:
        return _dot(w, x, y)
    if x.rank >= 2 and y.rank >= 2:
        return multiply(w, x, y)
    if y.rank == 1:
        out = _product(w, "BatchMatMulV2", x, _column(w, y))
        return w.op("Squeeze", out, squeeze_dims=[x.rank - 1])
    row = w.op("ExpandDims", x, w.indices(0))
    out = _product(w, "BatchMatMulV2", row, y)
    return w.op("Squeeze", out, squeeze_dims=[y.rank - 2])


# ---- attention


def _scores(
    w: Writer,
    q: Tensor,
    k: Value,
    length: Dim,
    scale: Any,
    is_causal: bool,
    mask: Tensor | None,
) -> Output:
    """Returns the scores of attention before the softmax, for keys of a length."""
    scores = _scaled(w, w.op("BatchMatMulV2", q, k, adj_y=True), scale)
    if mask is not None:
        low = w.cast(float("-inf"), q.dtype)
        if mask.dtype == dtypes.bool_:
            scores = w.op("SelectV2", mask, scores, low)
        else:
            scores = scores + w.cast(mask, q.dtype)
    if is_causal:
        rows, columns = w.range(q.shape[-2]), w.range(length)
        ahead = columns > w.op("ExpandDims", rows, w.indices(1))
        scores = w.op("SelectV2", ahead, w.cast(float("-inf"), q.dtype), scores)
    return scores


def _probabilities(w: Writer, scores: Output) -> Output:
    """Returns the softmax; zeros if all keys of a query are masked."""
    masked = w.op("Equal", scores, w.cast(float("-inf"), dtypes.named(scores.dtype)))
    sees_none = w.op("All", masked, w.indices([-1]), keep_dims=True)
    zero = w.cast(0, dtypes.named(scores.dtype))
    return w.op("SelectV2", sees_none, zero, w.op("Softmax", scores))


def _finite(w: Writer, largest: Output) -> Output:
    """Replaces -infinity by zero: subtracting it from a score of -infinity gives -infinity instead
    of NaN."""
    return w.op("SelectV2", w.op("IsInf", largest), w.op("ZerosLike", largest), largest)


# : The dtypes whose attention is computed in float32, by one op.
_IN_FLOATS = (dtypes.float32, dtypes.bfloat16, dtypes.float16)


def _floats(w: Writer, *values: Value) -> list[Output]:
    return [w.cast(v, dtypes.float32) for v in values]


def _options(q: Tensor, scale: float | None, is_causal: bool) -> dict[str, Any]:
    return {"scale": _scale_of(q, scale), "causal": is_causal, "zero_if_masked": True}


def _summands(w: Writer, mask: Tensor | None) -> list[Output]:
    """Returns the mask as numbers that are added to the scores; None without a mask."""
    if mask is None:
        return []
    if mask.dtype != dtypes.bool_:
        return _floats(w, mask)
    zero, low = (w.cast(value, dtypes.float32) for value in (0.0, float("-inf")))
    return [w.op("SelectV2", mask, zero, low)]


def _scale_of(q: Tensor, scale: float | None) -> float:
    width = q.meta.shape[-1]
    if scale is None and not isinstance(width, int):
        raise UnimplementedError("the gradient of attention with heads of symbolic size")
    return width**-0.5 if scale is None else scale


def _scaled_queries(w: Writer, q: Tensor, scale: float | None) -> tuple[Tensor, float]:
    """Returns the queries and the factor of the scores; a symbolic size scales the queries
    instead."""
    width = q.shape[-1]
    if scale is not None or isinstance(width, int):
        return q, _scale_of(q, scale)
    return Tensor(w, q.out * w.op("Rsqrt", w.cast(width, q.dtype)), q.meta), 1.0


def _shared(w: Writer, part: Tensor, q: Tensor) -> Tensor | Output:
    """Repeats the heads of keys or values, since several query heads may share one."""
    heads, queries = part.shape[1], q.shape[1]
    if isinstance(heads, int) and isinstance(queries, int) and heads != queries:
        batch, _, length, width = part.shape
        wide = w.op("ExpandDims", part, w.indices(2))
        wide = w.broadcast(wide, [batch, heads, queries // heads, length, width])
        return w.reshape(wide, [batch, queries, length, width])
    return part


def _summed_over_query_heads(w: Writer, flow: Output, part: Tensor, q: Tensor) -> Output:
    """Adds up the gradients of keys or values that several query heads share."""
    batch, heads, length, width = part.shape
    queries = q.shape[1]
    if isinstance(heads, int) and isinstance(queries, int) and heads != queries:
        apart = w.reshape(flow, [batch, heads, queries // heads, length, width])
        return w.op("Sum", apart, w.indices([2]))
    return flow


@rule("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    w: Writer,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Output, Output | None]:
    """Computes softmax(q k^T * scale + mask) v, and the logarithm of the softmax's denominators."""
    keys, values = _shared(w, k, q), _shared(w, v, q)
    q, scale = _scaled_queries(w, q, scale)
    if q.dtype in _IN_FLOATS:
        given = (*_floats(w, q, keys, values), _summands(w, attn_mask))
        out, sums = w.op("_Attention", *given, **_options(q, scale, is_causal))
        return w.cast(out, q.dtype), w.cast(sums, w.result[1].dtype)
    scores = _scores(w, q, keys, k.shape[-2], scale, is_causal, attn_mask)
    out = w.op("BatchMatMulV2", _probabilities(w, scores), values)
    if not w.is_used(1):
        return out, None
    largest = w.op("Max", scores, w.indices([-1]), keep_dims=True)
    largest = _finite(w, largest)
    total = w.op("Sum", w.op("Exp", scores - largest), w.indices([-1]))
    logsumexp = w.op("Log", total) + w.op("Squeeze", largest, squeeze_dims=[3])
    return out, w.cast(logsumexp, w.result[1].dtype)


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def _attention_backward(
    w: Writer,
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Output, Output, Output]:
    """Computes, for the probabilities p: dv = p^T g, ds = p * (g v^T - sum(g * out)), and dq = ds k
    * scale (Dao and others, FlashAttention, arXiv 2205.14135, appendix B)."""
    factor = _scale_of(q, scale)
    keys, values = _shared(w, k, q), _shared(w, v, q)
    if q.dtype in _IN_FLOATS:
        given = (*_floats(w, q, keys, values, out, logsumexp, grad), _summands(w, attn_mask))
        dq, dk, dv = w.op("_AttentionGrad", *given, **_options(q, scale, is_causal))
        flows = dq, _summed_over_query_heads(w, dk, k, q), _summed_over_query_heads(w, dv, v, q)
        return tuple(w.cast(flow, q.dtype) for flow in flows)
    scores = _scores(w, q, keys, k.shape[-2], factor, is_causal, attn_mask)
    below = w.op("ExpandDims", w.cast(logsumexp, q.dtype), w.indices(3))
    p = w.op("Exp", scores - _finite(w, below))
    dv = w.op("BatchMatMulV2", p, grad, adj_x=True)
    inner = w.op("Sum", grad.out * out.out, w.indices([-1]), keep_dims=True)
    ds = p * (w.op("BatchMatMulV2", grad, values, adj_y=True) - inner)
    ds = _scaled(w, ds, factor)
    dk = w.op("BatchMatMulV2", ds, q, adj_x=True)
    return (
        w.op("BatchMatMulV2", ds, keys),
        _summed_over_query_heads(w, dk, k, q),
        _summed_over_query_heads(w, dv, v, q),
    )


def _with_heads(w: Writer, part: Tensor, q: Tensor) -> Tensor:
    """Repeats each head of keys or values for the query heads that share it."""
    heads, queries = part.meta.shape[-3], q.meta.shape[-3]
    if not isinstance(heads, int) or not isinstance(queries, int):
        raise UnimplementedError("enable_gqa=True with a symbolic number of heads")
    places = w.indices(np.arange(queries) // max(queries // heads, 1))
    wide = w.op("GatherV2", part, places, w.indices(part.rank - 3))
    shape = (*part.meta.shape[:-3], queries, *part.meta.shape[-2:])
    return Tensor(w, wide, Meta(part.dtype, shape))


@rule("scaled_dot_product_attention")
def _whole_attention(
    w: Writer,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Output:
    if dropout_p or is_causal and attn_mask is not None:
        return NotImplemented  # as in PyTorch's decomposition
    if enable_gqa:
        k, v = (_with_heads(w, part, q) for part in (k, v))
    q, scale = _scaled_queries(w, q, scale)
    if q.dtype in _IN_FLOATS and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        given = (*_floats(w, q, k, v), _summands(w, attn_mask))
        return w.cast(w.op("_Attention", *given, **_options(q, scale, is_causal))[0], q.dtype)
    scores = _scores(w, q, k, k.shape[-2], scale, is_causal, attn_mask)
    return w.op("BatchMatMulV2", _probabilities(w, scores), v)
