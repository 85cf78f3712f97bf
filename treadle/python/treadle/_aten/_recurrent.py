"""Recurrent layers: a loop over the steps of each layer and direction, or one step of a cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._native import Output
from . import _dtypes as dtypes
from ._rules import rule
from ._values import Meta
from ._writer import Tensor, Writer


def _lstm_step(w: Writer, x: Output, state: list[Output], product: Output) -> list[Output]:
    """Gates in PyTorch's order: input, forget, cell, output."""
    i, f, g, o = w.op("Split", w.constant(1, dtypes.int32), x + product, num_split=4)
    keep, take = state[1] * w.op("Sigmoid", f), w.op("Sigmoid", i) * w.op("Tanh", g)
    cell = keep + take
    return [w.op("Sigmoid", o) * w.op("Tanh", cell), cell]


def _gru_step(w: Writer, x: Output, state: list[Output], product: Output) -> list[Output]:
    """Gates in PyTorch's order: reset, update, new."""
    axis = w.constant(1, dtypes.int32)
    xr, xz, xn = w.op("Split", axis, x, num_split=3)
    hr, hz, hn = w.op("Split", axis, product, num_split=3)
    update = w.op("Sigmoid", xz + hz)
    new = w.op("Tanh", xn + w.op("Sigmoid", xr + hr) * hn)
    return [new + update * (state[0] - new)]


def _plain_step(op: str) -> Callable[..., list[Output]]:
    return lambda w, x, state, product: [w.op(op, x + product)]


def _direction(
    w: Writer, x: Tensor, state: list[Output], weights: Sequence[Tensor], step: Any, back: bool
) -> tuple[Output, list[Output]]:
    """Runs one layer in one direction over [time, batch, width]; returns its results and its last
    state."""
    of_x, of_h, *biases = weights
    time, batch, width = x.shape
    sums = w.op("MatMul", w.reshape(x, [-1, width]), of_x, transpose_b=True)
    sums = w.op("BiasAdd", sums, biases[0]) if biases else sums
    sums = w.reshape(sums, [time, batch, of_x.meta.shape[0]])
    count = w.cast(time, dtypes.int32)
    dtype = dtypes.name_of(x.dtype)
    rows = w.op("TensorListReserve", np.int32(-1), count, element_dtype=dtype)
    first = {f"s{i}": s for i, s in enumerate(state)} | {"rows": rows, "i": np.int32(0)}
    with w.builder.while_loop(variables=first) as loop:
        loop.condition(loop.i < count)
        at = count - 1 - loop.i if back else loop.i
        before = [loop[f"s{i}"] for i in range(len(state))]
        product = w.op("MatMul", before[0], of_h, transpose_b=True)
        product = w.op("BiasAdd", product, biases[1]) if biases else product
        after = step(w, w.op("GatherV2", sums, at, w.indices(0)), before, product)
        for i, value in enumerate(after):
            loop[f"s{i}"] = value
        loop.rows = w.op("TensorListSetItem", loop.rows, at, after[0])
        loop.i += 1
    hidden = of_h.meta.shape[1]
    shape = w.cast(w.integers([batch, hidden]), dtypes.int32)
    out = w.op("TensorListStack", loop.rows, shape, element_dtype=dtype)
    out = w.reshape(out, [time, batch, hidden])
    return out, [loop[f"s{i}"] for i in range(len(state))]


def _layers(
    w: Writer, x: Tensor, states: list[Tensor], params: Sequence[Tensor], step: Any, config: Any
) -> Any:
    """Writes all layers; returns None if the weights of a layer are of another kind."""
    has_biases, num_layers, dropout, train, bidirectional, batch_first = config
    each, directions = 4 if has_biases else 2, 1 + bidirectional
    if len(params) != each * directions * num_layers or x.rank != 3 or train and dropout:
        return None
    if batch_first:
        time, batch = x.meta.shape[1], x.meta.shape[0]
        value = w.transpose(x, [1, 0, 2])
    else:
        time, batch = x.meta.shape[:2]
        value = x.out
    width = x.meta.shape[2]
    ends: list[list[Output]] = [[] for _ in states]
    for layer in range(num_layers):
        meta = Meta(x.dtype, (time, batch, width))
        parts = []
        for direction in range(directions):
            number = layer * directions + direction
            own = [s.out[number] for s in states]
            weights = params[number * each : (number + 1) * each]
            out, last = _direction(w, Tensor(w, value, meta), own, weights, step, direction == 1)
            parts.append(out)
            for end, new in zip(ends, last, strict=True):
                end.append(new)
        value = w.op("ConcatV2", parts, w.indices(2)) if directions == 2 else parts[0]
        width = params[1].meta.shape[1] * directions
    out = w.transpose(value, [1, 0, 2]) if batch_first else value
    return (out, *(w.op("Pack", end, axis=0) for end in ends))


@rule("lstm.input")
def _lstm(w: Writer, x: Tensor, hx: list[Tensor], params: list[Tensor], *config: Any) -> Any:
    return _layers(w, x, hx, params, _lstm_step, config) or NotImplemented


def _register_recurrent(name: str, step: Any) -> None:
    @rule(f"{name}.input")
    def run(w: Writer, x: Tensor, hx: Tensor, params: list[Tensor], *config: Any) -> Any:
        return _layers(w, x, [hx], params, step, config) or NotImplemented


_register_recurrent("gru", _gru_step)
_register_recurrent("rnn_tanh", _plain_step("Tanh"))
_register_recurrent("rnn_relu", _plain_step("Relu"))


# By the number of oneDNN's mode.
_MODES = {0: _plain_step("Relu"), 1: _plain_step("Tanh"), 2: _lstm_step, 3: _gru_step}


@rule("mkldnn_rnn_layer")
def _one_direction(
    w: Writer,
    x: Tensor,
    of_x: Tensor,
    of_h: Tensor,
    bias_x: Tensor,
    bias_h: Tensor,
    hx: Tensor,
    cx: Tensor,
    reverse: bool,
    batch_sizes: Sequence[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> Any:
    """Writes one layer in one direction, in time-major order regardless of `batch_first`. Values
    that only training uses are omitted."""
    if num_layers != 1 or bidirectional or batch_sizes or train or x.rank != 3:
        return NotImplemented
    weights = [of_x, of_h, *([bias_x, bias_h] if has_biases else [])]
    rows = [w.reshape(s, [x.shape[1], hidden_size]) for s in (hx, cx)]
    step = _MODES[mode]
    out, last = _direction(w, x, rows[: 1 + (mode == 2)], weights, step, reverse)
    shape = hx.shape
    ends = [w.reshape(end, shape) for end in (*last, *rows[len(last) :])]
    return out, *ends, w.constant(np.zeros(0), dtypes.named("uint8"))


# ---- cells


def _sums(w: Writer, x: Tensor, weight: Tensor, bias: Tensor | None) -> Output:
    out = w.op("MatMul", x, weight, transpose_b=True)
    return out if bias is None else w.op("BiasAdd", out, bias)


def _register_cell(name: str, step: Any) -> None:
    @rule(f"{name}_cell")
    def cell(
        w: Writer, x: Tensor, hx: Any, of_x: Tensor, of_h: Tensor, bias_x: Any = None,
        bias_h: Any = None,
    ) -> Any:  # fmt: skip
        states = list(hx) if isinstance(hx, list | tuple) else [hx]
        sums, product = _sums(w, x, of_x, bias_x), _sums(w, states[0], of_h, bias_h)
        after = step(w, sums, [s.out for s in states], product)
        return after if isinstance(hx, list | tuple) else after[0]


_register_cell("lstm", _lstm_step)
_register_cell("gru", _gru_step)
_register_cell("rnn_tanh", _plain_step("Tanh"))
_register_cell("rnn_relu", _plain_step("Relu"))
