"""Models of PyTorch programs: one file, called by a signature."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import InvalidArgumentError, UnimplementedError
from .._native import Operation, Output, Variable
from . import _dtypes as dtypes
from ._conditions import Condition
from ._graph import Graph, Node
from ._importer import GraphOrigin, _Importer
from ._saved_model import Value, message
from ._values import Meta
from ._writer import Tensor


def model_of(
    graph: Graph,
    home: GraphOrigin,
    outputs: Sequence[str],
    default_dtype: dtypes.DType = dtypes.DEFAULT,
    conditions: Sequence[Condition] = (),
) -> bytes:
    """Returns the model of a functional graph: the contents of a `.tfg` file.

    Its inputs are called as the graph's placeholders are, its results `outputs`. Its tensors become
    constants, and variables where the graph assigns to them. A call is an error if a condition
    doesn't hold.
    """
    writer = _ModelWriter(graph, home)
    writer.writer.default_dtype = default_dtype
    return writer.model(outputs, conditions)


class _ModelWriter(_Importer):
    def __init__(self, graph: Graph, home: GraphOrigin) -> None:
        super().__init__(graph, home, [], freeze=True, views=False, turned=())
        self.keeps_arguments = True
        self.writer.seed_is_fed = False
        assigned = [n.args[0] for n in graph.calls if n.packet == "aten.copy_"]
        self.assigned = {n.target for n in assigned if n.op == "attribute"}
        self.variables: dict[str, Variable] = {}
        self._require_own_memory()

    def model(self, names: Sequence[str], conditions: Sequence[Condition]) -> bytes:
        values: dict[Node, Any] = {}
        self._add_placeholders(values)
        checks = self._require(conditions, {n.name: v for n, v in values.items()})
        leaves, _ = self.home.flat(self._inline(self.graph, values))
        if len(leaves) != len(names):
            raise InvalidArgumentError(f"the program has {len(leaves)} results, not {len(names)}")
        results = self._named(leaves, names, [*checks, *self._assign()])
        graph = self._built()
        self._rename(graph)
        outputs = {name: _output_value(out, leaf) for name, out, leaf in results}
        return message(graph.to_bytes(), self._inputs(), outputs, bool(self.variables))

    def _require_own_memory(self) -> None:
        """Raises an error if a variable shares memory with another tensor, which would have to see
        its changes."""
        tensors = [n for n in self.graph.nodes if n.op == "attribute" and n.meta is not None]
        arrays = {n.target: self.home.array(n.value) for n in tensors if self.assigned}
        for name, array in arrays.items():
            for other, second in arrays.items():
                is_other = name != other and name in self.assigned
                if is_other and np.shares_memory(array, second):
                    raise UnimplementedError(
                        f"'{name}' and '{other}' share memory, but the program changes '{name}'; "
                        "expected separate tensors: clone one of them"
                    )

    def _require(self, conditions: Sequence[Condition], given: dict[str, Any]) -> list[Operation]:
        """Returns an assertion of all conditions."""
        if not conditions:
            return []
        with self.writer.builder.scope("sizes"):
            holds = [
                c.holds(lambda name, axis: self._dim_of(given[name], axis)) for c in conditions
            ]
            whole = functools.reduce(lambda x, y: self.writer.op("LogicalAnd", x, y), holds)
            text = f"the program holds for {' and '.join(map(str, conditions))} alone"
            data = [self.writer.builder.constant(np.asarray(text.encode(), object))]
            return [self.writer.builder.op("Assert", [whole, data])]

    def _inputs(self) -> dict[str, Value]:
        nodes = self.graph.placeholders
        given = sorted((s.argument, s.name) for s in self.border.sources if s.argument is not None)
        return {nodes[at].name: _input_value(name, nodes[at].value) for at, name in given}

    def _attribute(self, graph: Graph, node: Node) -> Any:
        if graph is not self.graph or node.target not in self.assigned:
            return super()._attribute(graph, node)
        if node.target not in self.variables:
            name = node.target.replace(".", "/")
            first = self.home.array(node.value)
            self.variables[node.target] = self.writer.builder.variable(name, first)
        return Tensor(self.writer, self.variables[node.target].read(), node.meta)

    def _assign(self) -> list[Operation]:
        done = []
        for target, value in self.mutations:
            if target.op != "attribute":
                raise UnimplementedError(
                    f"the program changes its argument '{target.name}', which a model can't do; "
                    "expected a program that returns the new value"
                )
            done.append(self.variables[target.target].assign(value))
        return done

    def _named(
        self, leaves: list[Any], names: Sequence[str], after: list[Operation]
    ) -> list[tuple[str, Output, Any]]:
        """Adds separate nodes for results, which run after all assignments."""
        builder, results = self.writer.builder, []
        with builder.scope("outputs"), builder.control_dependencies(after):
            for name, leaf in zip(names, leaves, strict=True):
                value = leaf.out if isinstance(leaf, Tensor) else _constant(leaf)
                if value is not None:
                    results.append((name, builder.op("Identity", [value]), leaf))
        return results


def _constant(leaf: Any) -> Any:
    """Returns a result that is not a tensor as a constant; None stays None."""
    if leaf is None or isinstance(leaf, Output):
        return leaf
    if isinstance(leaf, bool | int | float):
        return np.asarray(leaf, np.float32 if isinstance(leaf, float) else None)
    raise UnimplementedError(f"a result of the program is a {type(leaf).__name__}")


def _input_value(name: str, meta: Any) -> Value:
    """Returns the type of an argument; a symbolic number is a scalar."""
    if not isinstance(meta, Meta):
        return Value(name, "int64", ())
    return Value(name, dtypes.name_of(meta.dtype), _shape(meta))


def _output_value(out: Output, leaf: Any) -> Value:
    shape = _shape(leaf.meta) if isinstance(leaf, Tensor) else ()
    return Value(out.name, out.dtype, shape)


def _shape(meta: Meta) -> tuple[int | None, ...]:
    return tuple(d if isinstance(d, int) else None for d in meta.shape)
