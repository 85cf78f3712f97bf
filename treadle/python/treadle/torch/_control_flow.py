"""Conditionals and loops of PyTorch's graphs, which become If and While."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import fx

from .._errors import UnimplementedError
from ._trace import require_values
from ._writer import Tensor, dtype_name

if TYPE_CHECKING:
    from ._importer import _Importer


def write_cond(
    importer: _Importer,
    node: fx.Node,
    predicate: Any,
    true: fx.GraphModule,
    false: fx.GraphModule,
    operands: Sequence[Any] = (),
) -> list[Any]:
    """torch.cond: the results of one of two graphs."""
    fakes = [_fake(n) for n in node.args[3]]
    _draw_outside(importer, true, false)
    results: list[list[Any]] = []
    with importer.writer.builder.cond(_output(node, predicate)) as branches:
        for branch, module in ((branches.true, true), (branches.false, false)):
            with branch(), _own_dims(importer):
                results.append(_results(importer, module, fakes, operands))
                for i, result in enumerate(results[-1]):
                    if result is not None:
                        branches[f"r{i}"] = _output(node, result)
    return [None if r is None else branches[f"r{i}"] for i, r in enumerate(results[0])]


def write_while(
    importer: _Importer,
    node: fx.Node,
    condition: fx.GraphModule,
    body: fx.GraphModule,
    carried: Sequence[Any],
    others: Sequence[Any] = (),
) -> list[Any]:
    """while_loop: a condition and a body, both of the variables and of what stays."""
    fakes = [_fake(n) for n in (*node.args[2], *node.args[3])]
    _draw_outside(importer, condition, body)
    names = [f"v{i}" for i in range(len(carried))]
    first = dict(zip(names, (_output(node, c) for c in carried), strict=True))

    def variables() -> list[Tensor]:
        now = [Tensor(importer.writer, loop[n], f) for n, f in zip(names, fakes, strict=False)]
        return [*now, *others]

    with importer.writer.builder.while_loop(variables=first) as loop:
        with _own_dims(importer):
            loop.condition(_output(node, _results(importer, condition, fakes, variables())[0]))
        with _own_dims(importer):
            results = _results(importer, body, fakes, variables())
            for name, result in zip(names, results, strict=True):
                loop[name] = _output(node, result)
    return [loop[name] for name in names]


def write_scan(
    importer: _Importer,
    node: fx.Node,
    step: fx.GraphModule,
    carried: Sequence[Any],
    rows: Sequence[Any],
    others: Sequence[Any] = (),
) -> list[Any]:
    """scan: a step of the variables and of a row of each input, which gives rows of its own."""
    if not rows:
        raise UnimplementedError("'scan' of no inputs; expected one or more")
    w = importer.writer
    fakes = [_fake(n) for n in (*node.args[1], *node.args[2], *node.args[3])]
    inputs = fakes[len(carried) : len(carried) + len(rows)]
    fakes[len(carried) : len(carried) + len(rows)] = [x[0] for x in inputs]
    _draw_outside(importer, step)
    count = w.cast(w.integers([w.dim(inputs[0].shape[0])])[0], torch.int32)
    made = node.meta["val"][len(carried) :]  # all rows of each
    lists = [
        w.op("TensorListReserve", np.int32(-1), count, element_dtype=dtype_name(fake.dtype))
        for fake in made
    ]
    names = [f"v{i}" for i in range(len(carried) + len(lists))]
    first = dict(zip(names, [*(_output(node, c) for c in carried), *lists], strict=True))
    first["i"] = np.int32(0)
    with w.builder.while_loop(variables=first) as loop:
        loop.condition(loop.i < count)
        with _own_dims(importer):
            now = [loop[name] for name in names[: len(carried)]]
            now += [w.op("GatherV2", x, loop.i, w.indices(0)) for x in rows]
            values = [Tensor(w, x, fake) for x, fake in zip(now, fakes, strict=False)]
            results = _results(importer, step, fakes, [*values, *others])
            for number, (name, result) in enumerate(zip(names, results, strict=True)):
                out = _output(node, result)
                if number >= len(carried):
                    out = w.op("TensorListSetItem", loop[name], loop.i, out)
                loop[name] = out
        loop.i += 1
    stacked = []
    for name, fake in zip(names[len(carried) :], made, strict=True):
        shape = w.cast(w.integers(w.dims(fake.shape[1:])), torch.int32)
        dtype = dtype_name(fake.dtype)
        out = w.op("TensorListStack", loop[name], shape, element_dtype=dtype)
        stacked.append(w.reshape(out, w.dims(fake.shape)))
    return [*(loop[name] for name in names[: len(carried)]), *stacked]


#: By the name of the op: what writes it, told the importer, the node, and the node's arguments.
CONTROL_FLOW: dict[str, Callable[..., list[Any]]] = {
    "cond": write_cond,
    "while_loop": write_while,
    "scan": write_scan,
}


def _fake(node: Any) -> Any:
    return node.meta["val"] if isinstance(node, fx.Node) else node


def _output(node: fx.Node, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.out
    if isinstance(value, bool):
        return value
    raise UnimplementedError(f"'{node.target}' of a {type(value).__name__}; expected a tensor")


def _results(
    importer: _Importer, module: fx.GraphModule, fakes: Sequence[Any], values: Sequence[Any]
) -> list[Any]:
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    require_values(module, fakes)
    out = importer.inside(module, dict(zip(placeholders, values, strict=True)))
    return list(out) if isinstance(out, list | tuple) else [out]


@contextmanager
def _own_dims(importer: _Importer) -> Iterator[None]:
    """What a body finds out of symbolic dimensions is there in that body alone."""
    with importer.writer.own_dims():
        yield


def _draw_outside(importer: _Importer, *modules: fx.GraphModule) -> None:
    """The seed that runs feed is none of a body's nodes."""
    for module in modules:
        for node in module.graph.nodes:
            tags = getattr(node.target, "tags", ())
            if torch.Tag.nondeterministic_seeded in tags:
                importer.writer.seed()
