"""Nodes of a Graph as objects, and edits of whole parts of it."""

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

# The names of nodes that are added while a replacement is being made.
_added: ContextVar[list[str] | None] = ContextVar("_added", default=None)


class Node:
    """A node of a graph, by its name: reading it reads the graph as it is now.

    NotFoundError from everything here once the node is gone.
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

        They follow the node: `copy()` gives a list that stays. InvalidArgumentError for a number or
        dtype that the op doesn't take, and for a cycle; NotFoundError for a value that isn't there.
        """
        return Inputs(self)

    @inputs.setter
    def inputs(self, inputs: Iterable[str | Node]) -> None:
        self._graph._set_inputs(self._name, _names(inputs, "inputs"))

    def set_input(self, index: int, value: str | Node) -> None:
        """Rewires one input: `index` counts data and control inputs alike."""
        inputs = self.inputs.copy()
        if not -len(inputs) <= index < len(inputs):
            raise NotFoundError(
                f"node '{self._name}' has {len(inputs)} inputs, and none is {index}"
            )
        inputs[index] = _value(value)
        self.inputs = inputs

    def add_control(self, node: str | Node) -> None:
        """Makes this node wait for another."""
        self.inputs = [*self.inputs, "^" + _name(node)]

    def remove_control(self, node: str | Node) -> None:
        """Takes a control input away; NotFoundError if there is none from that node."""
        token = "^" + _name(node)
        if token not in self.inputs:
            raise NotFoundError(f"node '{self._name}' has no control input '{token}'")
        self.inputs = [i for i in self.inputs if i != token]

    @property
    def attrs(self) -> Attrs:
        """The attributes, as a dict: dtypes by name, shapes as tuples (None: unknown).

        Setting one is set_attr, deleting one remove_attr. They follow the node: `copy()` gives a
        dict that stays. Values, such as lists and arrays, can't be changed in part.
        """
        return Attrs(self)

    def set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute to what the op's definition calls for.

        TypeError for a value of another kind, InvalidArgumentError where the dtype or number of
        inputs or outputs would no longer be that of the node.
        """
        self._graph._set_attr(self._name, name, value)

    def remove_attr(self, name: str) -> None:
        self._graph._remove_attr(self._name, name)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """What the node gives: Value(name, dtype, shape)."""
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
    """Names of nodes or values: one, or several."""
    return [_value(value) for value in arguments.several(values, what, (str, Node))]


def _node(graph: Graph, name: str) -> Node:
    """The node of this name; NotFoundError if there is none."""
    if name not in graph:
        near = _did_you_mean(name, graph._node_names())
        raise NotFoundError(f"there is no node '{name}' in the graph{near}")
    return Node(graph, name)


def _nodes(graph: Graph, op: str = "") -> list[Node]:
    """The graph's nodes in order, or those of one op."""
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
        name: made from the op if empty.
        attrs: as Node.attrs; types and numbers that the inputs tell may be left out.
        outputs: dtypes by name, for an op that nobody knows.

    AlreadyExistsError for a name that is taken, NotFoundError for inputs that aren't there,
    InvalidArgumentError for inputs of another number or dtype than the op takes, and for
    attributes that are missing.
    """
    values, types = _names(inputs, "inputs"), arguments.names(outputs, "outputs")
    added = graph._add(op, values, name, arguments.mapping(attrs, "attrs"), device, types)
    if (record := _added.get()) is not None:
        record.append(added)
    return Node(graph, added)


def _remove(graph: Graph, node: str | Node, *, keep_order: bool = False) -> None:
    """Removes a node.

    FailedPreconditionError if another uses it. With keep_order, what only waits for it waits for
    what it waited for instead.
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

    A pattern is an op and its data inputs: `Op(...)`; a word without parentheses matches any value
    and keeps it (a word that comes twice has to be the same value), `_` any without keeping it.
    `A|B(...)` is either op, `Op(...):1` another output than the first, `Op` followed by `(...)` is
    an op with any inputs, `mm=MatMul(x, w)` keeps the node, and `MatMul(x, w){transpose_a: False}`
    asks for attributes.

    The function gets the match and returns the value that takes the place of the root's first
    output (a node's name stands for its first), or one value for each output, or None to leave the
    match alone. Nodes of the match that nobody uses any more are removed; control dependencies
    stay: what came before a removed node comes before what replaces it, and what waited for it
    waits for that. A new node takes the root's name. If the function raises, the graph is as it
    was before.
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
        raise ValueError(
            f"'{name}' has {used} outputs, and {len(values)} values were given for them"
        )
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
    """A new graph of what fetches need, with a Placeholder in the place of each fed value.

    A fed node of one output gives its name to the Placeholder; of more, `x:1` becomes `x/1`. Of a
    SavedModel it is a plain graph. NotFoundError for names that aren't there.
    """
    return graph._extract_part(_names(fetches, "fetches"), _names(feeds, "feeds"))


def _freeze(
    graph: Graph, session: Session, fetches: Iterable[str], feeds: Iterable[str] = ()
) -> Graph:
    """A new graph of what fetches need, with the session's variables as constants.

    Those that functions, loops and conditionals read as well; calls are inlined where that can be.
    Of a SavedModel it is a plain graph: `graph.freeze(model.session, fetches)`. Tables stay, and so
    do variables that a fetch writes; then the graph has a node `init` (`init_1` where that name is
    taken) that gives them what they hold in the session: run it first, as a target.
    FailedPreconditionError for a variable without a value in the session, and for an empty table.
    """
    if not isinstance(session, Session):
        raise TypeError(
            f"session is a {type(session).__name__}, expected a treadle.Session; "
            "a model's is model.session"
        )
    return session._freeze(graph, _names(fetches, "fetches"), _names(feeds, "feeds"))


def _check(graph: Graph, asked: Iterable[str] = ()) -> list[Problem]:
    """What is wrong with the graph: a list of Problem(kind, nodes, message).

    Kinds are "error" for a node that isn't what its op's definition says, "race" for conflicting
    effects on one resource that no path orders, "unfinished" where there are so many of these
    that not all were looked for, "note" for the rest. Nodes that no run has together don't race.
    With names asked for there is one run, of what these need; a SavedModel's runs are its
    signatures, its initializer and its saver; of another graph each node that no other uses counts
    as a run of its own, and a note says so where that leaves races out.
    InvalidArgumentError for names that aren't there.
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
    """Says what orders the iterations of each loop, which ops may overlap, and what would free it.

    print() shows it in words; treadle.explanation describes its parts. With fetches or targets it
    covers the loops that such a run reaches, with a signature those that its calls reach. Of a
    SavedModel it covers what any signature needs; `all` adds what saves, restores and initializes.
    It knows the effects that register_op was given.
    InvalidArgumentError for names that aren't there, NotFoundError for a signature that isn't.
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
    """Runs all schedules of one run of a small graph, and says whether their results differ.

    The run asks for all of the fetches and targets; InvalidArgumentError if there are none.
    Schedules that keep the order of conflicting nodes count as one. The nodes of `setup` run before
    each: initializers of variables. At most `limit` schedules are run. Calls, conditionals and
    loops are taken apart first. Errors are those of a Session's run.
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
    """A page that shows the graph in a browser, or below a cell of a notebook.

    With fetches or targets it has a run to step through, as `explore` runs it. `other` is compared
    and shown beside it; `trace` is a file that `treadle run --trace` or Session.trace wrote. Of a
    SavedModel it shows what any signature needs, or the one that is named; with `all` everything.
    InvalidArgumentError for names that aren't there and for a file that is no trace.
    """
    wanted = [_names(fetches, "fetches"), arguments.mapping(feeds, "feeds")]
    run = (*wanted, _names(targets, "targets"), _names(setup, "setup"))
    text = "" if trace is None else pathlib.Path(trace).read_text()
    steps = run if run[0] or run[2] else None
    name = arguments.name(signature, "signature")
    return Page(graph._view("graph", name, bool(all), other, text, steps))


def _draw(graph: Graph, *, function: str = "", loop: str = "", dot: bool = False) -> str:
    """The graph, or one of its functions or loops of version 1, as SVG, or as DOT for Graphviz.

    NotFoundError for what isn't there; InvalidArgumentError for SVG of more than 400 nodes.
    """
    return graph._draw(
        arguments.name(function, "function"), arguments.name(loop, "loop"), bool(dot)
    )


def _show_in_notebook(graph: Graph) -> str | None:
    most_kept = 50_000  # nodes: a notebook's file keeps the page
    return _view(graph)._repr_html_() if len(graph.nodes()) <= most_kept else None


def _replace_uses(graph: Graph, old: str | Node, new: str | Node) -> None:
    """Makes all users of a value use another: `y:0` instead of `x:0`, or `^y` instead of `^x`.

    Nodes that the new value is computed from keep the old one. InvalidArgumentError for a
    value of another dtype.
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

    They go through calls, conditionals and loops, nested ones too. The name is None if no y depends
    on the x, or if the x's dtype has no gradients. An x that is the handle of a variable stands for
    all reads of the variable.

    Args:
        ys: values (`y:0`, `y` or a Node).
        xs: values as well.
        grad_ys: the gradient of each y, of its shape; None for ones.
        stop_gradients: values that count as constants.

    Nodes that run functions get more results; v1 control flow and regions on the way become
    functional. UnimplementedError if an op on the way has no gradient; the graph doesn't change
    then.
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
    """Makes each node wait for the nodes that are listed for it: `{"mm": ["add"], "mul": ["mm"]}`.

    Nodes keep their names and all their edges. With `soft` the edges are wishes for the schedule:
    they keep no node alive, and stop no fusion. Wishes that other edges contradict are left out,
    and returned as pairs.

    NotFoundError for a node that isn't there; InvalidArgumentError if a node would follow itself,
    or nodes would wait in a circle. The graph doesn't change then.
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
    """Lets computing hide exchanges with other ranks: adds soft edges, and tells what they gain.

    Args:
        costs: a file of costs, or a trace; docs/scheduling.md says how they look.
        ranks: how many ranks a collective has whose group's size is no constant.
        memory: bytes that exchanges under way may hold; 0 for any number.
        bucket: all-reduces of fewer bytes become one of up to so many; 0 leaves them alone.
        jitter: how much longer tasks may take, as a share of 1, for the prediction.

    InvalidArgumentError for costs that can't be read, NotFoundError for a file that isn't there.
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
