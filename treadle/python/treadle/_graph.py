"""Nodes of a Graph as objects, and edits of larger parts of it."""

from __future__ import annotations

import copy
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from . import _arguments as arguments
from ._errors import NotFoundError
from ._native import Graph, Session, _did_you_mean
from ._page import Page
from ._patterns import Match, Pattern
from ._views import Attrs, Inputs

if TYPE_CHECKING:
    from . import Exploration, Problem, Value
    from ._native import CommunicationSchedule
    from .explanation import Explanation

# The names of nodes that the function of the current replacement adds.
_added: ContextVar[list[str] | None] = ContextVar("_added", default=None)


class Node:
    """A node of a graph, identified by its name; properties are read from the current graph.

    All members raise NotFoundError once the node is removed.
    """

    __slots__ = ("_graph", "_name")

    def __init__(self, graph: Graph, name: str) -> None:
        self._graph, self._name = graph, name

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def name(self) -> str:
        """The name; setting it renames the node. AlreadyExistsError if it is taken."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._graph._rename(self._name, name)
        self._name = name

    @property
    def op(self) -> str:
        return self._graph._op(self._name)

    @property
    def device(self) -> str:
        """The requested device; empty for none."""
        return self._graph._device(self._name)

    @device.setter
    def device(self, device: str) -> None:
        self._graph._set_device(self._name, device)

    @property
    def inputs(self) -> Inputs:
        """Data inputs (`x:0`), then control inputs (`^x`), as a list. Setting one rewires the node.

        The list reflects the current node; `copy()` returns an independent list.
        InvalidArgumentError for a wrong number or dtype, and for a cycle; NotFoundError for an
        unknown value.
        """
        return Inputs(self)

    @inputs.setter
    def inputs(self, inputs: Iterable[str | Node]) -> None:
        self._graph._set_inputs(self._name, _names(inputs, "inputs"))

    def set_input(self, index: int, value: str | Node) -> None:
        """Rewires one input: `index` counts data and control inputs."""
        inputs = self.inputs.copy()
        if not -len(inputs) <= index < len(inputs):
            raise NotFoundError(
                f"node '{self._name}' has {len(inputs)} inputs, but no input {index}"
            )
        inputs[index] = _value(value)
        self.inputs = inputs

    def add_control(self, node: str | Node) -> None:
        """Adds a control dependency on another node."""
        self._graph._add_control(self._name, _name(node))

    def remove_control(self, node: str | Node) -> None:
        """Removes a control input; NotFoundError if there is none from that node."""
        token = "^" + _name(node)
        if token not in self.inputs:
            raise NotFoundError(f"node '{self._name}' has no control input '{token}'")
        self.inputs = [i for i in self.inputs if i != token]

    @property
    def attrs(self) -> Attrs:
        """The attributes, as a dict: dtypes by name, shapes as tuples (None: unknown).

        Setting one is set_attr, deleting one remove_attr. The dict reflects the current node;
        `copy()` returns an independent dict. Values, such as lists and arrays, can't be changed
        element by element.
        """
        return Attrs(self)

    def set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute to a value of the kind in the op's definition.

        TypeError for a value of another kind, InvalidArgumentError if the dtype or number of inputs
        or outputs would no longer match the node.
        """
        self._graph._set_attr(self._name, name, value)

    def remove_attr(self, name: str) -> None:
        self._graph._remove_attr(self._name, name)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The outputs of the node: Value(name, dtype, shape)."""
        return tuple(self._graph._outputs(self._name))

    @property
    def users(self) -> tuple[Node, ...]:
        """The nodes that use a value of this one, or wait for it."""
        return tuple(Node(self._graph, name) for name in self._graph._users(self._name))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Node) and other._graph is self._graph
        return same and other._name == self._name

    def __hash__(self) -> int:
        return hash((id(self._graph), self._name))

    def __repr__(self) -> str:
        return f"<treadle.Node '{self._name}' ({self.op})>"


def _name(node: str | Node) -> str:
    if isinstance(node, Node):
        return node.name
    return arguments.name(node, "a node")


def _value(value: str | Node) -> str:
    if isinstance(value, Node):
        return value.name
    if not isinstance(value, str):
        raise TypeError(f"an input is a {type(value).__name__}, expected 'x:0', '^x' or a Node")
    return value


def _names(values: str | Node | Iterable[str | Node], what: str) -> list[str]:
    """Returns names of nodes or values: one, or several."""
    return [_value(value) for value in arguments.several(values, what, (str, Node))]


def _node(graph: Graph, name: str) -> Node:
    """Returns the node with this name; NotFoundError if there is none."""
    if name not in graph:
        near = _did_you_mean(name, graph._node_names())
        raise NotFoundError(f"there is no node '{name}' in the graph{near}")
    return Node(graph, name)


def _nodes(graph: Graph, op: str = "") -> list[Node]:
    """Returns the graph's nodes in order, or those with one op."""
    return [Node(graph, name) for name in graph._node_names(op)]


def _add(
    graph: Graph,
    op: str,
    inputs: Iterable[str | Node] = (),
    *,
    name: str = "",
    attrs: Mapping[str, Any] | None = None,
    device: str = "",
    outputs: Iterable[str] = (),
) -> Node:
    """Adds a node.

    Args:
        op: the op, or the name of a function of the graph.
        inputs: data inputs (`x:0`, `x` or a Node), then control inputs (`^x`).
        name: derived from the op if empty.
        attrs: as Node.attrs; types and counts that the inputs determine may be omitted.
        outputs: names of dtypes, for an unknown op.

    AlreadyExistsError for a name that is taken, NotFoundError for unknown inputs,
    InvalidArgumentError for a wrong number or dtype of inputs, and for missing attributes.
    """
    values, types = _names(inputs, "inputs"), arguments.names(outputs, "outputs")
    added = graph._add(op, values, name, arguments.mapping(attrs, "attrs"), device, types)
    if (record := _added.get()) is not None:
        record.append(added)
    return Node(graph, added)


def _remove(graph: Graph, node: str | Node, *, keep_order: bool = False) -> None:
    """Removes a node.

    FailedPreconditionError if another node uses it. With keep_order, nodes with control
    dependencies on it then depend on its inputs instead.
    """
    name = _name(node)
    users = graph._users(name)
    if keep_order and users:
        graph_inputs = {user: graph._inputs(user) for user in users}
        if all(_uses_data(inputs, name) is False for inputs in graph_inputs.values()):
            before = ["^" + i.lstrip("^").split(":")[0] for i in graph._inputs(name)]
            for user, inputs in graph_inputs.items():
                kept = [i for i in inputs if i != "^" + name]
                graph._set_inputs(user, kept + [i for i in before if i not in kept])
    graph._remove(name)


def _uses_data(inputs: list[str], name: str) -> bool:
    return any(i.split(":")[0] == name for i in inputs if not i.startswith("^"))


def _replace(
    graph: Graph,
    pattern: str,
    fn: Callable[[Match], str | Node | Iterable[str | Node] | None],
) -> int:
    """Replaces each match of a pattern by the result of a function; returns the number of matches.

    >>> def fuse(match):
    ...     return graph.add("_FusedMatMul", [match["x"], match["w"], match["b"]], attrs=...)
    >>> graph.replace("Relu(BiasAdd(MatMul(x, w), b))", fuse)

    A pattern is an op and its data inputs: `Op(...)`. A word without parentheses matches any value
    and captures it (a word that is used twice must match the same value); `_` matches any value
    without capturing it. `A|B(...)` matches either op, `Op(...):1` an output other than the first,
    `Op` followed by `(...)` an op with any inputs; `mm=MatMul(x, w)` captures the node, and
    `MatMul(x, w){transpose_a: False}` also matches attributes.

    The function is called with the match and returns the replacement of the root's first output
    (the name of a node means its first output), or one value for each output, or None to skip the
    match. Nodes of the match without other uses are removed. Control dependencies are preserved:
    predecessors of a removed node precede its replacement, and its successors follow the
    replacement. A new node takes the root's name. If the function raises an exception, the graph is
    unchanged.
    """
    parsed = Pattern(arguments.name(pattern, "the pattern"))
    backup = copy.copy(graph)
    record: list[str] = []
    token = _added.set(record)
    count = 0
    try:
        for op in parsed.root_ops:
            for name in graph._node_names(op):
                count += _replace_at(graph, parsed, name, fn, record)
    except BaseException:
        graph._assign(backup)
        raise
    finally:
        _added.reset(token)
    return count


def _replace_at(graph: Graph, pattern: Pattern, name: str, fn: Any, record: list[str]) -> int:
    try:
        match = pattern.match(graph, name)
    except NotFoundError:  # an earlier replacement removed it
        return 0
    if match is None:
        return 0
    record.clear()
    made = fn(match)
    if made is None:
        return 0
    values = _names(made, "the replacement")
    values = [v if ":" in v else v + ":0" for v in values]
    used = len(graph._outputs(name))
    if len(values) > used:
        raise ValueError(f"'{name}' has {used} outputs, but {len(values)} values were passed")
    matched = match._names
    before = [i for n in matched for i in graph._inputs(n) if i.startswith("^")]
    before = [i for i in dict.fromkeys(before) if i[1:] not in matched]
    target = values[0].split(":")[0]
    is_new = target in record
    waiting = [target] if is_new else graph._users(name)
    for index, value in enumerate(values):
        graph._replace_uses(f"{name}:{index}", value)
    if target not in matched:
        graph._replace_uses("^" + name, "^" + target)
    for user in waiting:
        inputs = graph._inputs(user)
        added = [i for i in before if i not in inputs and i[1:] != user]
        if added:
            graph._set_inputs(user, inputs + added)
    for node in matched:
        users = graph._users(node)
        if not any(_uses_data(graph._inputs(u), node) for u in users) and node != target:
            _remove(graph, node, keep_order=True)
            if node == name and is_new:
                graph._rename(target, name)
                target = name
    return 1


def _extract(graph: Graph, fetches: Iterable[str], feeds: Iterable[str] = ()) -> Graph:
    """Returns a new graph with the nodes that fetches need, and a Placeholder for each fed value.

    The Placeholder has the name of a fed node with one output; otherwise `x:1` becomes `x/1`. For a
    SavedModel it is a plain graph. NotFoundError for unknown names.
    """
    return graph._extract_part(_names(fetches, "fetches"), _names(feeds, "feeds"))


def _freeze(
    graph: Graph, session: Session, fetches: Iterable[str], feeds: Iterable[str] = ()
) -> Graph:
    """Returns a new graph with the nodes that fetches need, and the session's variables as
    constants.

    This includes variables in functions, loops and conditionals; calls are inlined if possible. For
    a SavedModel it is a plain graph: `graph.freeze(model.session, fetches)`. Tables are kept, as
    are variables that a fetch writes; then the graph has a node `init` (`init_1` if that name is
    taken) that assigns their contents in the session: run it first, as a target.
    FailedPreconditionError for a variable without a value in the session, and for an empty table.
    """
    if not isinstance(session, Session):
        raise TypeError(
            f"session is a {type(session).__name__}, expected a treadle.Session; "
            "a model's is model.session"
        )
    return session._freeze(graph, _names(fetches, "fetches"), _names(feeds, "feeds"))


def _check(graph: Graph, asked: Iterable[str] = ()) -> list[Problem]:
    """Returns the problems of the graph: a list of Problem(kind, nodes, message).

    Kinds are "error" for a node that doesn't match its op's definition, "race" for conflicting side
    effects on one resource that no path orders, "unfinished" if the search for races was
    incomplete, and "note" for others. Nodes that no run has together don't race. With names there
    is one run with these as fetches and targets; a SavedModel's runs are its signatures, its
    initializer and its saver; in another graph each node without uses counts as a separate run, and
    a note tells if that excludes races. InvalidArgumentError for unknown names.
    """
    return graph._check(_names(asked, "asked"))


def _explain(
    graph: Graph,
    fetches: str | Iterable[str] = (),
    targets: str | Iterable[str] = (),
    *,
    signature: str = "",
    all: bool = False,
) -> Explanation:
    """Explains what orders the iterations of each loop, which ops may overlap, and how to free the
    others.

    print() shows it as text; treadle.explanation describes its parts. With fetches or targets it
    covers the loops that such a run reaches, with a signature those that its calls reach. For a
    SavedModel it covers all signatures; `all` adds savers and initializers. It uses the effects
    that were passed to register_op. InvalidArgumentError for unknown names, NotFoundError for an
    unknown signature.
    """
    wanted = [_names(fetches, "fetches"), _names(targets, "targets")]
    return graph._explain(*wanted, arguments.name(signature, "signature"), bool(all))


def _explore(
    graph: Graph,
    fetches: str | Iterable[str] = (),
    feeds: Mapping[str, Any] | None = None,
    targets: str | Iterable[str] = (),
    *,
    setup: str | Iterable[str] = (),
    limit: int = 10000,
) -> Exploration:
    """Runs all schedules of one run of a small graph, and compares their results.

    The run has all of the fetches and targets; InvalidArgumentError if there are none. Schedules
    that keep the order of conflicting nodes count as one. The nodes of `setup`, such as
    initializers, run before each. At most `limit` schedules are run. Calls, conditionals and loops
    are lowered to frames first. Errors are those of a Session's run.
    """
    fed = arguments.mapping(feeds, "feeds")
    wanted = [_names(fetches, "fetches"), fed, _names(targets, "targets")]
    return graph._explore(*wanted, _names(setup, "setup"), limit)


def _view(
    graph: Graph,
    fetches: str | Iterable[str] = (),
    feeds: Mapping[str, Any] | None = None,
    targets: str | Iterable[str] = (),
    *,
    setup: str | Iterable[str] = (),
    other: Graph | None = None,
    trace: str | os.PathLike[str] | None = None,
    signature: str = "",
    all: bool = False,
) -> Page:
    """Returns a page that shows the graph in a browser, or below a cell of a notebook.

    With fetches or targets it has a run to step through, as `explore` runs it. `other` is a graph
    to compare with, shown side by side; `trace` is a file written by `treadle run --trace` or
    Session.trace. For a SavedModel it shows all signatures, or the named one; with `all` the whole
    graph. InvalidArgumentError for unknown names and for a malformed trace.
    """
    wanted = [_names(fetches, "fetches"), arguments.mapping(feeds, "feeds")]
    run = (*wanted, _names(targets, "targets"), _names(setup, "setup"))
    text = "" if trace is None else pathlib.Path(trace).read_text()
    steps = run if run[0] or run[2] else None
    name = arguments.name(signature, "signature")
    return Page(graph._view("graph", name, bool(all), other, text, steps))


def _draw(graph: Graph, *, function: str = "", loop: str = "", dot: bool = False) -> str:
    """Draws the graph, a function or a v1 loop as SVG, or as DOT for Graphviz.

    NotFoundError for unknown names; InvalidArgumentError for SVG of more than 400 nodes.
    """
    return graph._draw(
        arguments.name(function, "function"), arguments.name(loop, "loop"), bool(dot)
    )


def _show_in_notebook(graph: Graph) -> str | None:
    most_kept = 50_000  # nodes; larger pages would bloat the notebook's file
    return _view(graph)._repr_html_() if len(graph.nodes()) <= most_kept else None


def _replace_uses(graph: Graph, old: str | Node, new: str | Node) -> None:
    """Replaces all uses of a value with another: `y:0` instead of `x:0`, or `^y` instead of `^x`.

    Nodes that compute the new value keep the old one. InvalidArgumentError for a value of another
    dtype.
    """
    graph._replace_uses(_value(old), _value(new))


def _gradients(
    graph: Graph,
    ys: str | Node | Iterable[str | Node],
    xs: str | Node | Iterable[str | Node],
    grad_ys: Iterable[str | Node | None] | None = None,
    *,
    stop_gradients: Iterable[str | Node] = (),
) -> list[str | None]:
    """Adds the gradients of the sum of all ys with respect to each x, and returns their names.

    They go through calls, conditionals and loops, including nested ones. The name is None if no y
    depends on the x, or if the x's dtype has no gradients. The handle of a variable as x means all
    reads of it.

    Args:
        ys: values (`y:0`, `y` or a Node).
        xs: values (`x:0`, `x` or a Node).
        grad_ys: the gradient of each y, with its shape; None for ones.
        stop_gradients: values to treat as constants.

    Nodes that call functions may get more results; v1 control flow and regions on the path become
    functional. UnimplementedError if an op on the path has no gradient; the graph is then
    unchanged.
    """
    given = () if grad_ys is None else arguments.several(grad_ys, "grad_ys", (str, Node))
    starts = ["" if g is None else _value(g) for g in given]
    stops = _names(stop_gradients, "stop_gradients")
    return graph._gradients(_names(ys, "ys"), _names(xs, "xs"), starts, stops)


def _preserve_order(
    graph: Graph,
    order: Mapping[str | Node, str | Node | Iterable[str | Node]],
    *,
    soft: bool = False,
) -> list[tuple[str, str]]:
    """Adds an edge to each node from each of the nodes listed for it: `{"mm": ["add"], "mul":
    ["mm"]}`.

    Nodes keep their names and all their edges. With `soft` these are soft edges: they order the
    schedule, keep no node alive, and prevent no fusion. Soft edges that contradict others are not
    added, and are returned as pairs.

    NotFoundError for an unknown node; InvalidArgumentError if a node would follow itself, or nodes
    would form a cycle. The graph is then unchanged.
    """
    pairs = []
    for node, after in arguments.mapping(order, "order", (str, Node)).items():
        pairs += [(_name(node), other) for other in _names(after, f"order[{node!r}]")]
    return graph._preserve_order(pairs, soft)


def _schedule_communication(
    graph: Graph,
    *,
    costs: str | os.PathLike[str] = "",
    ranks: int = 2,
    memory: int = 0,
    bucket: int = 0,
    jitter: float = 0.0,
) -> CommunicationSchedule:
    """Adds soft edges so that computation hides communication with other ranks, and returns the
    predicted effect.

    Args:
        costs: a file of costs, or a trace; docs/scheduling.md describes the formats.
        ranks: number of ranks of collectives whose group size is not a constant.
        memory: memory limit of exchanges in flight in bytes; 0 for none.
        bucket: combine all-reduces of fewer bytes up to this size; 0 leaves them unchanged.
        jitter: the fraction by which tasks may take longer, for the prediction.

    InvalidArgumentError for malformed costs, NotFoundError for a missing file.
    """
    return graph._schedule_communication(os.fspath(costs), ranks, memory, bucket, jitter)


for _method, _function in {
    "node": _node,
    "nodes": _nodes,
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "replace_uses": _replace_uses,
    "extract": _extract,
    "freeze": _freeze,
    "check": _check,
    "explain": _explain,
    "explore": _explore,
    "view": _view,
    "draw": _draw,
    "gradients": _gradients,
    "preserve_order": _preserve_order,
    "schedule_communication": _schedule_communication,
}.items():
    _function.__name__ = _method
    _function.__qualname__ = f"Graph.{_method}"
    setattr(Graph, _method, _function)
Graph.__getitem__ = _node
Graph._repr_html_ = _show_in_notebook
Graph.functions = property(Graph._functions, doc="The names of the graph's functions.")
