"""Activations and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .._native import Output
from . import _dtypes as dtypes
from ._elementwise import _clamp, _is_floating, _like, _scaled
from ._rules import rule
from ._values import broadcast
from ._writer import KEEP, Scalar, Tensor, Value, Writer, axis_of


def _gelu_tanh(w: Writer, x: Output) -> tuple[Output, Output]:
    """Returns the tanh in GELU's approximation (Hendrycks and Gimpel, arXiv 1606.08415), and the
    part of its argument's derivative that depends on x."""
    factor = math.sqrt(2 / math.pi)
    inner = (x + x * w.op("Square", x) * 0.044715) * factor
    slope = (w.op("Square", x) * (3 * 0.044715) + 1.0) * factor
    return w.op("Tanh", inner), slope


@rule("gelu")
def _gelu(w: Writer, x: Tensor, *, approximate: str = "none") -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    if approximate == "tanh":
        tanh, _ = _gelu_tanh(w, value)
        return w.cast(value * 0.5 * (tanh + 1.0), dtype)
    erf = w.op("Erf", value * math.sqrt(0.5))
    return w.cast(value * 0.5 * (erf + 1.0), dtype)


def _is_one_op(grad: Tensor, x: Tensor) -> bool:
    """Whether one Treadle op computes an activation's gradient: if no dtype or shape changes."""
    is_same = grad.dtype == x.dtype and grad.meta.shape == x.meta.shape
    return is_same and x.dtype in (dtypes.float32, dtypes.float64)


def _of_one_shape(w: Writer, tensors: Sequence[Tensor], values: Sequence[Value]) -> list[Value]:
    """Returns the values of tensors, broadcast to one shape as TensorFlow's gradient ops require;
    in vmap and Jacobians, gradients have more dimensions than their inputs."""
    shapes = [t.meta.shape for t in tensors]
    if shapes[0] == shapes[1]:
        return list(values)
    dims = w.dims(broadcast(shapes))
    return [w.broadcast(v, dims) for v in values]


@rule("gelu_backward")
def _gelu_backward(w: Writer, grad: Tensor, x: Tensor, *, approximate: str = "none") -> Output:
    if _is_one_op(grad, x):
        form = "Approximate" if approximate == "tanh" else "Exact"
        return w.op(f"_Gelu{form}Grad", grad, x)
    (grad, value), dtype = w.promoted(KEEP, grad, x)
    if approximate == "tanh":
        tanh, slope = _gelu_tanh(w, value)
        left = (tanh + 1.0) * 0.5
        right = value * 0.5 * (1.0 - w.op("Square", tanh)) * slope
    else:
        left = (w.op("Erf", value * math.sqrt(0.5)) + 1.0) * 0.5
        density = w.op("Exp", w.op("Square", value) * -0.5) * (1 / math.sqrt(2 * math.pi))
        right = value * density
    return w.cast(grad * (left + right), dtype)


@rule("silu_backward")
def _silu_backward(w: Writer, grad: Tensor, x: Tensor) -> Output:
    if _is_one_op(grad, x):
        return w.op("_SwishGrad", grad, x)
    (grad, value), dtype = w.promoted(KEEP, grad, x)
    sigmoid = w.op("Sigmoid", value)
    return w.cast(grad * sigmoid * (value * (1.0 - sigmoid) + 1.0), dtype)


@rule("sigmoid_backward")
def _sigmoid_backward(w: Writer, grad: Tensor, out: Tensor) -> Output:
    return w.op("SigmoidGrad", *_of_one_shape(w, [out, grad], [out, grad]))


@rule("tanh_backward")
def _tanh_backward(w: Writer, grad: Tensor, out: Tensor) -> Output:
    return w.op("TanhGrad", *_of_one_shape(w, [out, grad], [out, grad]))


@rule("threshold_backward")
def _threshold_backward(w: Writer, grad: Tensor, x: Tensor, threshold: Scalar) -> Output:
    tensors = [grad, x]
    (grad, value), dtype = w.promoted(KEEP, grad, x)
    if isinstance(threshold, int | float) and threshold == 0 and _is_floating(value):
        return w.cast(w.op("ReluGrad", *_of_one_shape(w, tensors, [grad, value])), dtype)
    below = value <= _like(w, threshold, value)
    return w.cast(w.op("SelectV2", below, _like(w, 0, grad), grad), dtype)


@rule("threshold")
def _threshold(w: Writer, x: Tensor, threshold: Scalar, value: Scalar) -> Output:
    below = x.out <= w.cast(threshold, x.dtype)
    return w.op("SelectV2", below, w.cast(value, x.dtype), x)


@rule("hardtanh")
def _hardtanh(w: Writer, x: Tensor, min_val: Scalar = -1, max_val: Scalar = 1) -> Output:
    return w.cast(_clamp(w, x, min_val, max_val), x.dtype)


@rule("leaky_relu")
def _leaky_relu(w: Writer, x: Tensor, negative_slope: Scalar = 0.01) -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    slope = _like(w, negative_slope, value)
    return w.cast(w.op("SelectV2", value > 0.0, value, value * slope), dtype)


@rule("elu")
def _elu(
    w: Writer, x: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1
) -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    negative = _scaled(w, w.op("Expm1", _scaled(w, value, input_scale)), alpha)
    return w.cast(_scaled(w, w.op("SelectV2", value > 0.0, value, negative), scale), dtype)


@rule("softplus")
def _softplus(w: Writer, x: Tensor, beta: Scalar = 1, threshold: Scalar = 20) -> Output:
    (value,), dtype = w.promoted(KEEP, x)
    scaled = _scaled(w, value, beta)
    soft = w.op("RealDiv", w.op("Log1p", w.op("Exp", scaled)), _like(w, beta, value))
    return w.cast(w.op("SelectV2", scaled > _like(w, threshold, value), value, soft), dtype)


@rule("prelu", "_prelu_kernel")
def _prelu(w: Writer, x: Tensor, weight: Tensor) -> Output:
    slope = weight.out
    if weight.rank == 1 and x.rank > 2:
        slope = w.reshape(slope, [-1, *[1] * (x.rank - 2)])
    zero = w.cast(0, x.dtype)
    return w.op("SelectV2", w.op("Greater", x, zero), x, slope * x.out)


def _gate(w: Writer, x: Output) -> Output:
    """Computes min(max(x + 3, 0), 6) / 6."""
    return w.op("Minimum", w.op("Relu", x + 3.0), w.cast(6.0, dtypes.named(x.dtype))) * (1 / 6)


_ACTIVATIONS: dict[str, Callable[[Writer, Output], Output]] = {
    "hardsigmoid": _gate,
    "hardswish": lambda w, x: x * _gate(w, x),
    "log_sigmoid": lambda w, x: -w.op("Softplus", -x),
    "mish": lambda w, x: x * w.op("Tanh", w.op("Softplus", x)),
    "relu6": lambda w, x: w.op("Minimum", w.op("Relu", x), w.cast(6, dtypes.named(x.dtype))),
    "selu": lambda w, x: w.op("Selu", x),
}


def _register_activation(name: str, write: Callable[[Writer, Output], Output]) -> None:
    @rule(name)
    def apply(w: Writer, x: Tensor) -> Output:
        (value,), dtype = w.promoted(KEEP, x)
        return w.cast(write(w, value), dtype)


for _name, _write in _ACTIVATIONS.items():
    _register_activation(_name, _write)


@rule("celu")
def _celu(w: Writer, x: Tensor, alpha: float = 1.0) -> Output:
    return _elu(w, x, alpha, 1, 1 / alpha)


@rule("glu")
def _glu(w: Writer, x: Tensor, dim: int = -1) -> Output:
    axis = w.constant(axis_of(dim, x.rank), dtypes.int32)
    left, right = w.op("Split", axis, x, num_split=2)
    return left * w.op("Sigmoid", right)
