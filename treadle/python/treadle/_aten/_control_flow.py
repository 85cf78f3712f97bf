"""Conditionals and loops of PyTorch's graphs, which become If and While."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import UnimplementedError
from .._native import Output
from . import _dtypes as dtypes
from ._graph import Graph, Node
from ._values import Expr, Meta
from ._writer import Tensor

if TYPE_CHECKING:
    from ._importer import _Importer


def write_cond(
    importer: _Importer,
    node: Node,
    predicate: Any,
    true: Graph,
    false: Graph,
    operands: Sequence[Any] = (),
) -> list[Any]:
    """Writes torch.cond, which returns the results of one of two graphs."""
    _draw_outside(importer, true, false)
    results: list[list[Any]] = []
    with importer.writer.builder.cond(_output(node, predicate)) as branches:
        for branch, module in ((branches.true, true), (branches.false, false)):
            with branch(), _scoped_dims(importer):
                results.append(_results(importer, module, operands))
                for i, result in enumerate(results[-1]):
                    if result is not None:
                        branches[f"r{i}"] = _output(node, result)
    return [None if r is None else branches[f"r{i}"] for i, r in enumerate(results[0])]


def write_while(
    importer: _Importer,
    node: Node,
    condition: Graph,
    body: Graph,
    carried: Sequence[Any],
    others: Sequence[Any] = (),
) -> list[Any]:
    """Writes while_loop: a condition and a body, both functions of the variables and the loop
    invariants. A condition that changes variables (the last ones) also returns these."""
    metas = [_meta(n) for n in (*node.args[2], *node.args[3])]
    _draw_outside(importer, condition, body)
    names = [f"v{i}" for i in range(len(carried))]
    first = dict(zip(names, (_output(node, c) for c in carried), strict=True))

    def given(graph: Graph, values: Sequence[Any]) -> list[Any]:
        starts = zip(values, metas, graph.placeholders, strict=False)
        return [*(_variable(importer, value, m, p) for value, m, p in starts), *others]

    def tested(values: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Returns the value of the condition, and the variables after it."""
        with _scoped_dims(importer):
            truth, *changed = _results(importer, condition, given(condition, values))
            changed = [_output(node, c) for c in changed]
            return _output(node, truth), [*values[: len(values) - len(changed)], *changed]

    out = condition.nodes[-1].args[0]
    changes = isinstance(out, list | tuple) and len(out) > 1
    if changes:
        first["truth"], values = tested(list(first.values()))
        first |= dict(zip(names, values, strict=True))
    with importer.writer.builder.while_loop(variables=first) as loop:
        loop.condition(loop.truth if changes else tested([loop[n] for n in names])[0])
        with _scoped_dims(importer):
            results = _results(importer, body, given(body, [loop[n] for n in names]))
            values = [_output(node, result) for result in results]
        if changes:
            loop.truth, values = tested(values)
        for name, value in zip(names, values, strict=True):
            loop[name] = value
    return [loop[name] for name in names]


def _variable(importer: _Importer, out: Any, meta: Any, placeholder: Node) -> Any:
    """Returns a value of a loop's state: a tensor, or a number, which a symbol of the body
    represents."""
    if isinstance(meta, Meta):
        return Tensor(importer.writer, out, meta)
    if isinstance(placeholder.value, Expr):
        importer.writer.bind(placeholder.value, lambda: out)
    return out


def write_map(
    importer: _Importer, node: Node, step: Graph, rows: Sequence[Any], others: Sequence[Any] = ()
) -> list[Any]:
    """Writes map: a scan without carried values."""
    scan = dataclasses.replace(node, args=(node.args[0], [], *node.args[1:]))
    return write_scan(importer, scan, step, [], rows, others)


def write_scan(
    importer: _Importer,
    node: Node,
    step: Graph,
    carried: Sequence[Any],
    rows: Sequence[Any],
    others: Sequence[Any] = (),
) -> list[Any]:
    """Writes scan: a step from the variables and a row of each input to new variables and output
    rows."""
    if not rows:
        raise UnimplementedError("'scan' without inputs; expected one or more")
    w = importer.writer
    metas = [_meta(n) for n in (*node.args[1], *node.args[2], *node.args[3])]
    inputs = metas[len(carried) : len(carried) + len(rows)]
    metas[len(carried) : len(carried) + len(rows)] = [x.row() for x in inputs]
    _draw_outside(importer, step)
    count = w.cast(w.integers([w.dim(inputs[0].shape[0])])[0], dtypes.int32)
    made = node.value[len(carried) :]  # all rows of each input
    lists = [
        w.op("TensorListReserve", np.int32(-1), count, element_dtype=dtypes.name_of(meta.dtype))
        for meta in made
    ]
    names = [f"v{i}" for i in range(len(carried) + len(lists))]
    first = dict(zip(names, [*(_output(node, c) for c in carried), *lists], strict=True))
    first["i"] = np.int32(0)
    with w.builder.while_loop(variables=first) as loop:
        loop.condition(loop.i < count)
        with _scoped_dims(importer):
            now = [loop[name] for name in names[: len(carried)]]
            now += [w.op("GatherV2", x, loop.i, w.indices(0)) for x in rows]
            values = [Tensor(w, x, meta) for x, meta in zip(now, metas, strict=False)]
            results = _results(importer, step, [*values, *others])
            for number, (name, result) in enumerate(zip(names, results, strict=True)):
                out = _output(node, result)
                if number >= len(carried):
                    out = w.op("TensorListSetItem", loop[name], loop.i, out)
                loop[name] = out
        loop.i += 1
    stacked = []
    for name, meta in zip(names[len(carried) :], made, strict=True):
        shape = w.cast(w.integers(w.dims(meta.shape[1:])), dtypes.int32)
        dtype = dtypes.name_of(meta.dtype)
        out = w.op("TensorListStack", loop[name], shape, element_dtype=dtype)
        stacked.append(w.reshape(out, w.dims(meta.shape)))
    return [*(loop[name] for name in names[: len(carried)]), *stacked]


# : The writers by the name of the op, called with the importer, the node, and its arguments.
CONTROL_FLOW: dict[str, Callable[..., list[Any]]] = {
    "cond": write_cond,
    "while_loop": write_while,
    "scan": write_scan,
    "map_impl": write_map,
}


def _meta(node: Any) -> Any:
    return node.known if isinstance(node, Node) else node


def _output(node: Node, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.out
    if isinstance(value, bool | Output):
        return value
    if isinstance(value, int):
        return np.int64(value)
    raise UnimplementedError(f"'{node.target}' of a {type(value).__name__}; expected a tensor")


def _results(importer: _Importer, graph: Graph, values: Sequence[Any]) -> list[Any]:
    with importer.in_body(values):
        out = importer.inside(graph, dict(zip(graph.placeholders, values, strict=True)))
    return list(out) if isinstance(out, list | tuple) else [out]


@contextmanager
def _scoped_dims(importer: _Importer) -> Iterator[None]:
    """Limits facts about symbolic dimensions that are found in a body to that body."""
    with importer.writer.scoped_dims():
        yield


def _draw_outside(importer: _Importer, *graphs: Graph) -> None:
    """Creates the seed placeholder outside of the bodies, since fed nodes can't be in a body."""
    if any(node.draws for graph in graphs for node in graph.nodes):
        importer.writer.seed()
