"""Converts graphs that change tensors in place to functional graphs.

Exported programs without decompositions have ops such as `add_`. Each becomes the op without the
underscore, and later reads of the same memory read its result: if the changed tensor is a view, its
base is updated, and other views are recomputed from the base. Changes of the program's own tensors
and of its arguments are assigned at the end. A body of a conditional or of a loop returns its
changes as additional results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from .._errors import UnimplementedError
from ._graph import Graph, Node, connect, mapped, nodes_in
from ._values import Meta, is_in_order


def functional(graph: Graph) -> Graph:
    """Returns a graph that changes only its attributes and arguments, by `aten.copy_` at its end.
    UnimplementedError if the graph can't be expressed in this form."""
    return _Rewriter(graph).assigning()


class _Rewriter:
    """Rewrites a graph. Old nodes are those of the input graph, new nodes those of the output."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.out: list[Node] = []
        # For old nodes: the first new node, and the current one.
        self.first: dict[Node, Node] = {}
        self.now: dict[Node, Node] = {}
        # The node that an old node is a view of, or may be.
        self.base: dict[Node, Node] = {}
        self.unsure: dict[Node, Node] = {}
        # The number of changes of memory, by the old node that it began with; and that number when
        # the value of a node was taken.
        self.changes: dict[Node, int] = {}
        self.seen: dict[Node, int] = {}
        self.here = 0
        self.last_use: dict[Node, int] = {}
        # The rewriters of attributes that are graphs.
        self.bodies: dict[Node, _Rewriter] = {}
        for place, node in enumerate(graph.nodes):
            mapped((node.args, node.kwargs), lambda n, at=place: self.last_use.update({n: at}))
        for place, node in enumerate(graph.nodes):
            self.here = place
            self._add(node)

    def assigning(self) -> Graph:
        """Returns the graph, which assigns changed values at its end."""
        self.out[-1:-1] = map(self._assignment, self._changed())
        return connect(Graph(self.out))

    def returning(self, numbers: Sequence[int], order: Sequence[int]) -> Graph:
        """Returns the graph with its placeholders in another order. After its results, it returns
        the new values of some placeholders."""
        places = self.graph.placeholders
        results = self.out[-1].args[0]
        results = list(results) if isinstance(results, list | tuple) else [results]
        results += [self._value(places[number]) for number in numbers]
        self.out[-1] = dataclasses.replace(self.out[-1], args=(results,))
        rest = [node for node in self.out if node.op != "placeholder"]
        return connect(Graph([*(self.first[places[number]] for number in order), *rest]))

    def changed_positions(self) -> set[int]:
        """Returns the numbers of the placeholders that the graph changes."""
        changed = self._changed()
        if inner := [node for node in changed if node.op == "attribute"]:
            raise _cannot(inner[0], "a body changes a tensor of its own")
        return {self.graph.placeholders.index(node) for node in changed}

    def _changed(self) -> list[Node]:
        return [n for n, count in self.changes.items() if count and n.op != "call"]

    def _add(self, node: Node) -> None:
        bodies = [n for n in nodes_in((node.args, node.kwargs)) if n in self.bodies]
        if isinstance(node.value, Graph):
            self.bodies[node] = _Rewriter(node.value)
        elif bodies and (changed := _changed_by(node, [self.bodies[b] for b in bodies])):
            self._call_changing(node, bodies, changed)
        elif _is_change(node):
            self._change(node)
        elif _writes_out(node):
            self._write_out(node)
        elif node.target == "aten.batch_norm.default" and node.args[5] is True:
            self._train(node)
        else:
            self._define_bodies(bodies)
            args, kwargs = self._given(node.args, node.kwargs)
            new = dataclasses.replace(node, args=args, kwargs=kwargs, users=[])
            self._define(node, new, _base_of(node, self.base))
            if _may_be_view(node):
                self.unsure[node] = node.args[0]

    def _given(self, args: Any, kwargs: Any) -> Any:
        return mapped((args, kwargs), self._value)

    def _define(self, node: Node, new: Node, base: Node | None) -> None:
        self.out.append(new)
        self.first[node] = self.now[node] = new
        if base is not None:
            self.base[node] = base
        root = self._root(node)
        self.seen[node] = self.changes.setdefault(root, 0)

    def _emit(self, name: str, target: str, args: tuple[Any, ...], value: Any) -> Node:
        node = Node(f"{name}_again_{len(self.out)}", "call", target, args, value=value)
        self.out.append(node)
        return node

    def _root(self, node: Node) -> Node:
        while node in self.base:
            node = self.base[node]
        return node

    def _value(self, node: Node) -> Node:
        """Returns the current new value of an old node."""
        changes = self.changes[self._root(node)]
        if node in self.base and self.seen[node] != changes:
            self.now[node], self.seen[node] = self._retaken_view(node), changes
        return self.now[node]

    def _retaken_view(self, node: Node) -> Node:
        base = self._value(self.base[node])
        if _is_same(node):
            return base
        args, kwargs = self._given(node.args[1:], node.kwargs)
        again = self._emit(node.name, node.target, (base, *args), node.value)
        again.kwargs = kwargs
        return again

    # ---- bodies

    def _define_bodies(self, nodes: Sequence[Node], graphs: Sequence[Graph] = ()) -> None:
        """Writes the graphs that are arguments of a node before it; they are functional already."""
        graphs = graphs or [self.bodies[node].assigning() for node in nodes]
        for node, graph in zip(nodes, graphs, strict=True):
            self._define(node, dataclasses.replace(node, value=graph, users=[]), None)

    def _call_changing(self, node: Node, bodies: list[Node], changed: list[int]) -> None:
        """Adds results for the operands that bodies change."""
        operands = [*node.args[2], *node.args[3]] if node.target == "while_loop" else node.args[3]
        self._require_own_memory(node, operands, changed)
        order = list(range(len(operands)))
        args = list(node.args)
        if node.target == "while_loop":  # they become variables, and are no longer loop invariants
            first = list(range(len(node.args[2])))
            order = [*first, *changed, *(i for i in order if i not in {*first, *changed})]
            args[2] = [operands[i] for i in order[: len(first) + len(changed)]]
            args[3] = [operands[i] for i in order[len(args[2]) :]]
        writers = [self.bodies[body] for body in bodies]
        is_silent = [node.target == "while_loop" and not writers[0].changed_positions(), False]
        graphs = [
            writer.returning([] if silent else changed, order)
            for writer, silent in zip(writers, is_silent, strict=True)
        ]
        self._define_bodies(bodies, graphs)
        new_args, kwargs = self._given(tuple(args), node.kwargs)
        metas = [operands[i].known for i in changed]
        own = node.value if isinstance(node.value, list | tuple) else [node.value]
        whole = Node(node.name, "call", node.target, new_args, kwargs, value=[*own, *metas])
        self._define(node, whole, None)
        for place, (number, meta) in enumerate(zip(changed, metas, strict=True), len(own)):
            self._write(operands[number], self._emit(node.name, "getitem", (whole, place), meta))
        if own is not node.value:
            self.now[node] = self._emit(node.name, "getitem", (whole, 0), node.value)

    def _require_own_memory(
        self, node: Node, operands: Sequence[Any], changed: Sequence[int]
    ) -> None:
        """Raises an error if operands share memory, since a body can't see a change of one operand
        in another."""
        roots = [self._root(o) if isinstance(o, Node) else None for o in operands]
        if any(roots.count(roots[number]) > 1 for number in changed):
            raise _cannot(node, "a body changes an operand that shares memory with another one")

    # ---- changes

    def _change(self, node: Node) -> None:
        """Rewrites `x.op_(...)`: both x and the result become the result of `op`."""
        changed = node.args[0] if node.args else None
        if not isinstance(changed, Node) or not isinstance(changed.known, Meta):
            raise _cannot(node, "it changes no tensor")
        if node.packet in _SHAPE_CHANGING_OPS:
            raise _cannot(node, "it changes the shape of a tensor in place")
        args, kwargs = self._given(node.args, node.kwargs)
        packet, overload = node.target.rsplit(".", 1)
        new = Node(node.name, "call", f"{packet[:-1]}.{overload}", args, kwargs, changed.known)
        new.draws = node.draws
        self._define(node, new, changed)
        self._write(changed, new)
        self.now[node], self.seen[node] = new, self.changes[self._root(node)]

    def _write_out(self, node: Node) -> None:
        """Rewrites `op(..., out=x)`: both x and the result become the result of the op."""
        out = node.kwargs["out"]
        if (out.known.shape, out.known.dtype) != (node.value.shape, node.value.dtype):
            raise _cannot(node, "its result is resized")
        rest = {name: value for name, value in node.kwargs.items() if name != "out"}
        args, kwargs = self._given(node.args, rest)
        new = Node(node.name, "call", f"{node.packet}.default", args, kwargs, out.known)
        self._define(node, new, out)
        self._write(out, new)
        self.now[node], self.seen[node] = new, self.changes[self._root(node)]

    def _train(self, node: Node) -> None:
        """Writes a batch norm that changes its running statistics, if it has any."""
        (x, weight, bias, mean, var, *_), _ = self._given(node.args, {})
        momentum, eps = node.args[6:8]
        if mean is None or var is None:
            target = "aten._native_batch_norm_legit.no_stats"
            whole = self._emit(
                node.name, target, (x, weight, bias, True, momentum, eps), [node.value] * 3
            )
        else:
            metas = [n.known for n in node.args[3:5]]
            target = "aten._native_batch_norm_legit_functional.default"
            args = (x, weight, bias, mean, var, True, momentum, eps)
            whole = self._emit(node.name, target, args, [node.value, *metas, *metas])
            for number, old in enumerate(node.args[3:5]):
                place = 3 + number
                self._write(old, self._emit(old.name, "getitem", (whole, place), metas[number]))
        self._define(node, Node(node.name, "call", "getitem", (whole, 0), value=node.value), None)

    def _write(self, node: Node, new: Node) -> None:
        """Records a new value for a node's memory."""
        root = self._root(node)
        self._require_sure(root)
        self._put(node, new)
        self.changes[root] += 1
        self.now[node], self.seen[node] = new, self.changes[root]

    def _put(self, node: Node, new: Node) -> None:
        """Updates the base of a view with a new value for the part that the view shows."""
        while node in self.base:
            base = self.base[node]
            if not _is_same(node):
                put = _PUTS.get(node.packet)
                if put is None or node.target in _UNINVERTIBLE_VIEWS:
                    raise _cannot(node, "the part of a tensor that it reads is changed in place")
                rest, _ = self._given(node.args[1:], {})
                given = dataclasses.replace(node, args=(None, *rest))
                target, args = put(given, base.known, self._value(base), new)
                new = self._emit(base.name, target, args, base.known)
            node = base
        self.now[node] = new

    def _require_sure(self, root: Node) -> None:
        for view, base in self.unsure.items():
            roots = [self._root(view), self._root(base)]
            if root not in roots:
                continue
            other = roots[1 - roots.index(root)]
            if any(
                self.last_use.get(n, -1) > self.here for n in self.now if self._root(n) is other
            ):
                raise _cannot(
                    view, "it may or may not be a view of a tensor that is changed in place"
                )

    def _assignment(self, node: Node) -> Node:
        name, first = f"{node.name}_assigned", self.first[node]
        return Node(name, "call", "aten.copy_.default", (first, self.now[node]), value=node.known)


def _cannot(node: Node, why: str) -> UnimplementedError:
    return UnimplementedError(
        f"node '{node.name}' ({node.target}): {why}; ExportedProgram.run_decompositions() before"
        " the program is saved may help",
        node=node.name,
    )


def _changed_by(node: Node, bodies: Sequence[_Rewriter]) -> list[int]:
    """Returns the numbers of the operands that the bodies of a node change."""
    changed = sorted({number for body in bodies for number in body.changed_positions()})
    if changed and node.target not in ("cond", "while_loop"):
        raise _cannot(node, "its body changes its operands")
    if node.target == "while_loop" and changed and changed[0] < len(node.args[2]):
        raise _cannot(node, "a body changes a variable of the loop in place")
    return changed


def _is_change(node: Node) -> bool:
    packet = node.packet
    is_named_so = packet.endswith("_") and not packet.endswith("__") and packet not in _SAME
    return node.op == "call" and "." in packet and is_named_so


def _writes_out(node: Node) -> bool:
    return isinstance(node.kwargs.get("out"), Node)


# ---- views

# Ops that return the tensor itself.
_SAME = {f"aten.{n}" for n in "alias detach detach_ lift_fresh positive".split()}

_VIEWS = {
    f"aten.{n}"
    for n in (
        "as_strided broadcast_to chunk diagonal expand expand_as imag narrow numpy_T permute real "
        "select slice split split_with_sizes squeeze swapaxes t tensor_split transpose unbind "
        "unflatten unfold unsqueeze view view_as view_as_complex view_as_real movedim"
    ).split()
}

# Views of contiguous tensors, otherwise copies, or still views.
_RESHAPES = {"aten.reshape", "aten.flatten", "aten.contiguous", "aten.ravel"}

_SHAPE_CHANGING_OPS = {
    f"aten.{n}_"
    for n in "as_strided resize set squeeze swapaxes swapdims t transpose unsqueeze".split()
}


def _is_same(node: Node) -> bool:
    """Whether a node returns its argument itself."""
    if _is_change(node) or _writes_out(node):
        return True
    if node.packet in _SAME or node.packet == "aten.contiguous":
        return True
    if node.packet == "aten.to":
        return node.value.dtype == node.args[0].known.dtype and not _may_copy(node)
    return node.packet in ("aten.dropout", "aten.feature_dropout") and node.args[2] is False


def _may_copy(node: Node) -> bool:
    """Whether a conversion has the flag non_blocking or copy."""
    return any(value is True for value in (*node.args, *node.kwargs.values()))


def _base_of(node: Node, bases: dict[Node, Node]) -> Node | None:
    """Returns the node of which this node is a view."""
    first = node.args[0] if node.op == "call" and node.args else None
    if not isinstance(first, Node):
        return None
    if node.target == "getitem":
        return first if first in bases else None
    if node.packet in _RESHAPES:
        return first if is_in_order(first.known) else None
    return first if node.packet in _VIEWS or _is_same(node) else None


def _may_be_view(node: Node) -> bool:
    """Whether it is unknown if a node returns a view of its argument, since sizes or flags
    decide."""
    if node.op != "call":
        return False
    if node.packet == "aten.to":
        return _may_copy(node)
    return node.packet in _RESHAPES and not is_in_order(node.args[0].known)


# ---- updates of a base by a new view: arguments are the view's node, the base's metadata, the base
# and the new part

# View ops that can't be updated in this way.
_UNINVERTIBLE_VIEWS = {"aten.view.dtype"}

Put = Callable[[Node, Meta, Node, Node], tuple[str, tuple[Any, ...]]]


def _scattered(op: str) -> Put:
    def put(node: Node, meta: Meta, base: Node, new: Node) -> tuple[str, tuple[Any, ...]]:
        return f"aten.{op}.default", (base, new, *node.args[1:])

    return put


def _reshaped(node: Node, meta: Meta, base: Node, new: Node) -> tuple[str, tuple[Any, ...]]:
    return "aten.view.default", (new, list(meta.shape))


def _swapped(node: Node, meta: Meta, base: Node, new: Node) -> tuple[str, tuple[Any, ...]]:
    return node.target, (new, *node.args[1:])


def _permuted(node: Node, meta: Meta, base: Node, new: Node) -> tuple[str, tuple[Any, ...]]:
    order = [d % max(meta.dim(), 1) for d in node.args[1]]
    return "aten.permute.default", (new, [order.index(i) for i in range(len(order))])


_PUTS: dict[str, Put] = {
    "aten.slice": _scattered("slice_scatter"),
    "aten.select": _scattered("select_scatter"),
    "aten.diagonal": _scattered("diagonal_scatter"),
    "aten.permute": _permuted,
    **{f"aten.{n}": _swapped for n in ("t", "transpose", "swapaxes", "numpy_T")},
    **{
        f"aten.{n}": _reshaped
        for n in "view reshape flatten ravel unsqueeze squeeze unflatten view_as".split()
    },
}
