"""Fourier transforms; they transform the last dimensions, so other dimensions are moved there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._dtypes import DType
from ._operands import Operand, call, composed
from ._rules import rule
from ._values import Meta
from ._writer import Dim, Tensor, Writer, axis_of, product, require_small


def _factor(kind: int, count: Dim) -> Any:
    """Returns the normalization of a transform: 0 none, 1 the square root of the count, 2 the
    count."""
    if kind == 0:
        return None
    if not isinstance(count, int):
        raise UnimplementedError("a transform that is normalized by a symbolic size")
    return float(count) ** (-0.5 if kind == 1 else -1.0)


def _scaled(w: Writer, value: Output, factor: float | None, dtype: DType) -> Output:
    return value if factor in (None, 1.0) else value * w.cast(factor, dtype)


def _along(
    w: Writer, op: str, value: Output, rank: int, axis: int, *more: Any, **attrs: Any
) -> Output:
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return w.transpose(w.op(op, w.transpose(value, order), *more, **attrs), order)


def _transformed(w: Writer, value: Output, x: Tensor, axes: Sequence[int], forward: bool) -> Output:
    """Transforms along axes. The inverse transform divides by the count; callers account for
    this."""
    for axis in axes:
        value = _along(w, "FFT" if forward else "IFFT", value, x.rank, axis)
    return value


@rule("_fft_c2c")
def _complex_to_complex(
    w: Writer, x: Tensor, dim: Sequence[int], normalization: int, forward: bool
) -> Output:
    axes = [axis_of(d, x.rank) for d in dim]
    count = product(x.shape[a] for a in axes)
    factor = _factor(normalization, count)
    if not forward:
        if not isinstance(count, int):
            raise UnimplementedError("an inverse transform of symbolic size")
        factor = (1.0 if factor is None else factor) * count
    return _scaled(w, _transformed(w, x.out, x, axes, forward), factor, x.dtype)


@rule("_fft_r2c")
def _real_to_complex(
    w: Writer, x: Tensor, dim: Sequence[int], normalization: int, onesided: bool
) -> Output:
    axes = [axis_of(d, x.rank) for d in dim]
    dtype = w.result.dtype
    factor = _factor(normalization, product(x.shape[a] for a in axes))
    if not onesided:
        out = _transformed(w, w.cast(x, dtype), x, axes, True)
        return _scaled(w, out, factor, dtype)
    length = w.cast(w.integers([x.shape[axes[-1]]]), dtypes.int32)
    half = _along(w, "RFFT", x.out, x.rank, axes[-1], length, Tcomplex=dtypes.name_of(dtype))
    return _scaled(w, _transformed(w, half, x, axes[:-1], True), factor, dtype)


@rule("_fft_c2r")
def _complex_to_real(
    w: Writer, x: Tensor, dim: Sequence[int], normalization: int, last_dim_size: Dim
) -> Output:
    axes = [axis_of(d, x.rank) for d in dim]
    dtype = w.result.dtype
    size = w.dim(last_dim_size)
    count = product([size, *(x.shape[a] for a in axes[:-1])])
    if not isinstance(count, int):
        raise UnimplementedError("an inverse transform of symbolic size")
    factor = _factor(normalization, count)
    whole = _transformed(w, x.out, x, axes[:-1], False)
    length = w.cast(w.integers([size]), dtypes.int32)
    out = _along(w, "IRFFT", whole, x.rank, axes[-1], length, Treal=dtypes.name_of(dtype))
    return _scaled(w, out, (1.0 if factor is None else factor) * count, dtype)


@rule("prims.fft_c2c")
def _plain_complex(w: Writer, x: Tensor, *, dim: Sequence[int], forward: bool) -> Output:
    return _complex_to_complex(w, x, dim, 0, forward)


@rule("prims.fft_r2c")
def _plain_real(w: Writer, x: Tensor, *, dim: Sequence[int], onesided: bool) -> Output:
    return _real_to_complex(w, x, dim, 0, onesided)


@rule("prims.fft_c2r")
def _plain_back(w: Writer, x: Tensor, *, dim: Sequence[int], last_dim_size: Dim) -> Output:
    return _complex_to_real(w, x, dim, 0, last_dim_size)


# ---- transforms of dimensions that are truncated or zero-padded


def _norm(name: str | None, forward: bool) -> int:
    """Returns the normalization mode, as PyTorch's internal ops number it."""
    if name == "ortho":
        return 1
    return 2 if (name == "forward") == forward else 0


def _sized(x: Operand, dims: Sequence[int], sizes: Sequence[Dim]) -> Operand:
    for dim, size in zip(dims, sizes, strict=True):
        extent = x.size(dim)
        if not isinstance(size, int) or not isinstance(extent, int):
            raise UnimplementedError("a transform of a slice of symbolic size")
        if size < extent:
            x = x.first(dim, size)
        elif size > extent:
            amounts = [0] * (2 * (x.rank - x.axis(dim)))
            amounts[-1] = size - extent
            x = call("constant_pad_nd", x, amounts)
    return x


def _complex(x: Operand) -> Operand:
    return x if x.dtype.is_complex else x.to(dtypes.complex_of(x.floating().dtype))


def _whole(x: Operand, dims: Sequence[int], norm: int, forward: bool) -> Operand:
    x = _complex(x)
    return call("_fft_c2c", x, list(dims), norm, forward) if dims else x


def _half(x: Operand, dims: Sequence[int], norm: int) -> Operand:
    x = x.floating()
    result = Meta(dtypes.complex_of(x.dtype), ())
    return call("_fft_r2c", x, list(dims), norm, True, result=result)


def _real(x: Operand, dims: Sequence[int], norm: int, size: Dim) -> Operand:
    x = _complex(x)
    return call("_fft_c2r", x, list(dims), norm, size, result=Meta(dtypes.real_of(x.dtype), ()))


def _axes(x: Operand, s: Any, dim: Any) -> tuple[list[int], list[Dim | None]]:
    """Returns the dimensions, and the size of each if it is given."""
    if dim is None:
        dim = range(x.rank) if s is None else range(x.rank - len(s), x.rank)
    dims = [x.axis(d) for d in dim]
    sizes = [None] * len(dims) if s is None else s
    return dims, [None if isinstance(n, int) and n == -1 else n for n in sizes]


Transform = Any  # operand, dimensions, sizes, normalization


def _forward(x: Operand, dims: list[int], sizes: list[Any], norm: str | None) -> Operand:
    return _whole(_cut(x, dims, sizes), dims, _norm(norm, True), True)


def _backward(x: Operand, dims: list[int], sizes: list[Any], norm: str | None) -> Operand:
    return _whole(_cut(x, dims, sizes), dims, _norm(norm, False), False)


def _cut(x: Operand, dims: list[int], sizes: list[Any]) -> Operand:
    wanted = [(d, n) for d, n in zip(dims, sizes, strict=True) if n is not None]
    return _sized(x, [d for d, _ in wanted], [n for _, n in wanted])


def _forward_of_real(x: Operand, dims: list[int], sizes: list[Any], norm: str | None) -> Operand:
    return _half(_cut(x, dims, sizes), dims, _norm(norm, True))


def _last_size(x: Operand, dims: list[int], sizes: list[Any]) -> Any:
    return (x.size(dims[-1]) - 1) * 2 if sizes[-1] is None else sizes[-1]


def _backward_to_real(x: Operand, dims: list[int], sizes: list[Any], norm: str | None) -> Operand:
    size = _last_size(x, dims, sizes)
    x = _cut(x, dims, [*sizes[:-1], size // 2 + 1])
    return _real(x, dims, _norm(norm, False), size)


def _forward_to_real(x: Operand, dims: list[int], sizes: list[Any], norm: str | None) -> Operand:
    """Transforms values with Hermitian symmetry to real ones."""
    size = _last_size(x, dims, sizes)
    x = _cut(x, dims, [*sizes[:-1], size // 2 + 1])
    x = _whole(x, dims[:-1], _norm(norm, True), True)
    return _real(x.conj(), dims[-1:], _norm(norm, True), size)


def _backward_of_real(x: Operand, dims: list[int], sizes: list[Any], norm: str | None) -> Operand:
    half = _half(_cut(x, dims, sizes), dims[-1:], _norm(norm, False)).conj()
    return _whole(half, dims[:-1], _norm(norm, False), False)


def _register_transform(name: str, write: Transform) -> None:
    @composed(f"fft_{name}")
    def along(x: Operand, n: Any = None, dim: int = -1, norm: str | None = None) -> Operand:
        return write(x, *_axes(x, None if n is None else [n], [dim]), norm)

    @composed(f"fft_{name}2")
    def in_planes(
        x: Operand, s: Any = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Operand:
        return write(x, *_axes(x, s, dim), norm)

    @composed(f"fft_{name}n")
    def everywhere(x: Operand, s: Any = None, dim: Any = None, norm: str | None = None) -> Operand:
        return write(x, *_axes(x, s, dim), norm)


for _name, _write in {
    "fft": _forward, "ifft": _backward, "rfft": _forward_of_real, "irfft": _backward_to_real,
    "hfft": _forward_to_real, "ihfft": _backward_of_real,
}.items():  # fmt: skip
    _register_transform(_name, _write)


def _register_shift(name: str, is_back: bool) -> None:
    @composed(name)
    def shift(x: Operand, dim: Any = None) -> Operand:
        dims = range(x.rank) if dim is None else [dim] if isinstance(dim, int) else dim
        sizes = [x.size(d) for d in dims]
        return x.roll([(n + 1) // 2 if is_back else n // 2 for n in sizes], list(dims))


_register_shift("fft_fftshift", False)
_register_shift("fft_ifftshift", True)


# ---- frames of a signal


def _window(x: Operand, window: Operand | None, n_fft: int, length: int) -> Operand:
    """Returns a window, centered in the transformed frame."""
    if window is None:
        window = call("ones", x, result=Meta(dtypes.real_of(x.dtype), (length,)))
    before = (n_fft - length) // 2
    return call("constant_pad_nd", window, [before, n_fft - length - before])


@composed("stft.default")
def _pieces(
    x: Operand,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Operand | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    if align_to_window:
        return NotImplemented
    rows = x if x.rank == 2 else x.unsqueeze(0)
    hop = n_fft // 4 if hop_length is None else hop_length
    shape = (*rows.meta.shape[:-1], (rows.size(-1) - n_fft) // hop + 1, n_fft)
    pieces = call("unfold", rows, -1, n_fft, hop, result=Meta(x.dtype, shape))
    pieces = pieces * _window(x, window, n_fft, n_fft if win_length is None else win_length)
    is_half = not pieces.dtype.is_complex if onesided is None else onesided
    norm = int(normalized)
    out = _half(pieces, [2], norm) if is_half else _whole(pieces, [2], norm, True)
    out = out.transpose(1, 2)
    out = out if x.rank == 2 else out.squeeze(0)
    return out if return_complex else out.view_as_real()


@composed("stft.center")
def _centred_pieces(
    x: Operand,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Operand | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    *rest: Any,
    **more: Any,
) -> Any:
    if center:
        rows = x.reshape([1, *([1] if x.rank == 1 else []), *x.shape])
        rows = call("pad", rows, [n_fft // 2] * 2, pad_mode)
        x = rows.reshape([*x.shape[:-1], -1])
    return _pieces(x, n_fft, hop_length, win_length, window, *rest, **more)


@composed("istft")
def _signal(
    x: Operand,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Operand | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Operand:
    """Transforms frames back, overlaps and adds them, and divides by the sum of the windows."""
    spectra = x if x.rank == 3 else x.unsqueeze(0)
    count, hop = spectra.static_size(2, "pieces of a signal"), hop_length or n_fft // 4
    norm = 1 if normalized else 2
    is_half = not return_complex if onesided is None else onesided
    turned = spectra.transpose(1, 2)
    if return_complex:
        pieces = _whole(turned, [2], norm, False)
    else:
        turned = turned if is_half else turned.first(2, n_fft // 2 + 1)
        pieces = _real(turned, [2], norm, n_fft)
    shape = _window(x, window, n_fft, win_length or n_fft)
    total, weight = (_laid(p, count, n_fft, hop) for p in (pieces * shape, shape * shape))
    first = n_fft // 2 if center else 0
    whole = n_fft + hop * (count - 1)
    last = first + length if length is not None else whole - first if center else whole
    out = (total / weight).narrow(1, first, min(last, whole) - first)
    if last > whole:
        out = call("constant_pad_nd", out, [0, last - whole])
    return out if x.rank == 3 else out.squeeze(0)


def _laid(pieces: Operand, count: int, size: int, hop: int) -> Operand:
    """Adds up the frames of [..., count, size], each shifted by one hop from the previous one."""
    parts = []
    for number in range(count):
        piece = pieces.narrow(1, number, 1).squeeze(1) if pieces.rank == 3 else pieces.unsqueeze(0)
        parts.append(call("constant_pad_nd", piece, [number * hop, (count - 1 - number) * hop]))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# ---- windows

_WINDOWS: dict[str, Callable[..., np.ndarray]] = {
    "bartlett": lambda t: 1 - np.abs(2 * t - 1),
    "blackman": lambda t: 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t),
    "hamming": lambda t, a=0.54, b=0.46: a - b * np.cos(2 * np.pi * t),
    "hann": lambda t: 0.5 - 0.5 * np.cos(2 * np.pi * t),
    "kaiser": lambda t, beta=12.0: np.i0(beta * np.sqrt(1 - (2 * t - 1) ** 2)) / np.i0(beta),
}


def _register_window(name: str, form: Callable[..., np.ndarray]) -> None:
    @rule(f"{name}_window")
    def window(w: Writer, length: int, periodic: bool = True, *form_of: float, **_: Any) -> Output:
        """Evaluates a window at positions from 0 to 1; a periodic window omits the last
        position."""
        require_small(length)
        if length == 1:
            return w.constant([1], w.result.dtype)
        places = np.linspace(0, 1, length + periodic)[:length]
        return w.constant(form(places, *form_of), w.result.dtype)


for _name, _form in _WINDOWS.items():
    _register_window(_name, _form)
