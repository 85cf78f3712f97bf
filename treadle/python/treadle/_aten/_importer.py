"""Converts a graph of PyTorch to a treadle.Graph, node by node."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol

from .. import _native
from .._builder import Builder
from .._errors import Error, InvalidArgumentError, UnimplementedError
from .._native import Output
from . import (  # noqa: F401
    _activations,
    _arrangements,
    _complex,
    _composites,
    _elementwise,
    _fourier,
    _functions,
    _images,
    _indexing,
    _layers,
    _linalg,
    _losses,
    _matrices,
    _products,
    _recurrent,
    _reductions,
    _resizing,
    _sampling,
    _selection,
    _shapes,
    _windows,
)
from . import _dtypes as dtypes
from ._border import Border, Result, Source, graph_name
from ._control_flow import CONTROL_FLOW
from ._graph import SCALAR_OPS, Graph, Node, mapped, nodes_in
from ._rules import find, refusal
from ._values import Expr, Meta, OtherNumber
from ._writer import Tensor, Writer


class GraphOrigin(Protocol):
    """The origin of a graph: information that only PyTorch has, if available.

    is_file: whether the graph comes from an untrusted file, so that arguments may not match their
    op.
    """

    is_file: bool

    def array(self, tensor: Any) -> Any:
        """Returns the elements of an attribute or of a tensor of the state."""

    def parts(self, node: Node, values: dict[Node, Any]) -> tuple[Graph, list[Tensor]]:
        """Returns the decomposition of an op without a rule, and the tensors of its placeholders.
        UnimplementedError if none is known."""

    def flat(self, out: Any) -> tuple[list[Any], Any]:
        """Returns the flat results of a graph, and their structure."""


class FileOrigin:
    """The origin of a graph from a file, whose tensors are arrays; without decompositions."""

    is_file = True

    def array(self, tensor: Any) -> Any:
        return tensor

    def parts(self, node: Node, values: dict[Node, Any]) -> tuple[Graph, list[Tensor]]:
        given = mapped((node.args, node.kwargs), lambda n: values[n])
        raise UnimplementedError(
            f"{refusal(node.target, *given)}; try ExportedProgram.run_decompositions() before the "
            "program is saved"
        )

    def flat(self, out: Any) -> tuple[list[Any], Any]:
        return list(_leaves(out)), None


@dataclasses.dataclass
class Imported:
    """A graph, and how a call uses it.

    Attributes:
        sources: what is fed, by name.
        fetches: names of values.
        results: what is returned, in the order of `structure`.
        mutations: arguments (by number) or tensors that take the value of a fetch after a call.
        names: the graph's value for each of PyTorch's nodes that has one.
        seed: what is fed with two random integers, if anything is.
        has_collectives: whether other processes take part.
    """

    graph: _native.Graph
    sources: list[Source]
    fetches: list[str]
    results: list[Result]
    structure: Any
    mutations: list[tuple[Any, int]]
    names: dict[str, str]
    seed: str | None
    has_collectives: bool


def import_graph(
    graph: Graph,
    home: GraphOrigin,
    *,
    state: Sequence[Any] = (),
    freeze: bool = False,
    views: bool = False,
    turned: Collection[str] = (),
    own_results: int | None = None,
    default_dtype: dtypes.DType = dtypes.DEFAULT,
) -> Imported:
    """Imports a functional graph.

    Args:
        state: tensors that are the first arguments of the graph, but not arguments of a call.
        freeze: whether these, and the tensors of the module, become constants; otherwise they are
            fed to runs.
        views: whether results may be views of arguments or of each other, as in PyTorch.
        turned: arguments that are images in channels-last memory format.
        own_results: the number of leading results that must have PyTorch's memory layout; None:
            all.
        default_dtype: the dtype of Python floats among integers.
    """
    importer = _Importer(graph, home, list(state), freeze, views, turned, own_results)
    importer.writer.default_dtype = default_dtype
    return importer.run()


# Ops that only inform PyTorch's compiler about shapes that were checked already.
_HINTS = {
    "aten._linalg_check_errors",
    "aten._assert_async",
    "aten._assert_scalar",
    "aten._assert_tensor_metadata",
    "aten.sym_constrain_range",
    "aten.sym_constrain_range_for_size",
    "prims._sink_tokens",
}


def _is_number(value: Any) -> bool:
    return isinstance(value, Expr | OtherNumber)


def _leaves(value: Any) -> Iterator[Any]:
    """Returns the leaves of nested lists and dicts in order."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


@contextlib.contextmanager
def _errors_of(node: Node, home: GraphOrigin) -> Iterator[None]:
    """Says which node of PyTorch's an error is about."""
    start = f"node '{node.name}' ({node.target})"
    try:
        yield
    except Error as error:
        if error.node == node.name:
            raise
        raise type(error)(f"{start}: {error.message}", node=node.name) from error
    except Exception as error:
        if not home.is_file or isinstance(error, RecursionError):
            raise
        message = f"{start}: its arguments don't fit the op: {type(error).__name__}: {error}"
        raise InvalidArgumentError(message, node=node.name) from error


class _Importer:
    def __init__(
        self,
        graph: Graph,
        home: GraphOrigin,
        state: list[Any],
        freeze: bool,
        views: bool,
        turned: Collection[str],
        own_results: int | None = None,
    ) -> None:
        self.graph, self.home, self.state = graph, home, state
        self.freeze, self.own_results = freeze, own_results
        # Whether there are unused arguments.
        self.keeps_arguments = False
        self.writer = Writer(Builder())
        self.border = Border(self.writer, views=views, turned=turned)
        self.attributes: dict[str, Any] = {}
        self.mutations: list[tuple[Node, Any]] = []
        # For each node of the top-level graph: its scope, and its value.
        self.made: dict[str, tuple[str, Any]] = {}
        # Scopes, and the values that all of their nodes wait for.
        self.waits: list[tuple[str, list[Any]]] = []
        self.depth = 0
        # The arguments of the current body of a branch or a loop.
        self.arguments: set[Output] = set()
        # Effect tokens by identity, and the node with the last effect of each.
        self.tokens: dict[int, tuple[Any, list[Output]]] = {}

    # ---- the whole graph

    def run(self) -> Imported:
        values: dict[Node, Any] = {}
        self._add_placeholders(values)
        return self._finish(*self.home.flat(self._inline(self.graph, values)))

    def _add_placeholders(self, values: dict[Node, Any]) -> None:
        nodes = self.graph.placeholders
        # Numbers first, so that a dimension that is an argument isn't read from a tensor.
        for number, node in sorted(enumerate(nodes), key=lambda n: not _is_number(n[1].value)):
            meta = node.value
            if _is_number(meta):
                values[node] = self._number_argument(node, number, meta)
            elif isinstance(meta, Meta):
                values[node] = self._tensor_argument(node, number, meta)
            else:
                values[node] = meta

    def _number_argument(self, node: Node, number: int, symbol: Expr | OtherNumber) -> Any:
        if isinstance(symbol, OtherNumber):
            raise UnimplementedError(
                f"node '{node.name}': a symbolic {symbol.kind} isn't supported"
            )
        out: list[Output] = []

        def make() -> Output:
            if not out:
                argument = number - len(self.state)
                out.append(self.border.placeholder(node.name, "int64", [], argument))
            return out[0]

        self.writer.bind(symbol, make)
        return make() if node.users or self.keeps_arguments else None

    def _tensor_argument(self, node: Node, number: int, meta: Meta) -> Tensor | None:
        made: list[Tensor] = []

        def make() -> Tensor:
            if not made:
                is_state = number < len(self.state)
                made.append(
                    self._captured(node.name, meta, self.state[number])
                    if is_state
                    else self.border.feed(node.name, meta, number - len(self.state))
                )
            return made[0]

        for axis, dim in enumerate(meta.shape):
            self.writer.bind(dim, lambda axis=axis: self._dim_of(make(), axis))
        return make() if node.users or self.keeps_arguments else None

    def _dim_of(self, tensor: Tensor, axis: int) -> Output:
        return self.writer.op("Shape", tensor, out_type="int64")[axis]

    # ---- nodes

    def _inline(self, graph: Graph, values: dict[Node, Any]) -> Any:
        """Writes the nodes of a graph whose placeholders have values; returns its results."""
        for node in graph.nodes:
            if node.op == "output":
                return self._arguments(node.args[0], values)
            if node.op == "attribute":
                values[node] = self._attribute(graph, node)
            elif node.op == "call":
                with _errors_of(node, self.home):
                    values[node] = self._call(node, values)
        return None

    def _arguments(self, args: Any, values: dict[Node, Any]) -> Any:
        return mapped(args, lambda n: values[n])

    def _attribute(self, graph: Graph, node: Node) -> Any:
        if node.meta is None:
            return node.value
        if not node.users:
            return None
        key = f"{id(graph)}.{node.target}"
        if key not in self.attributes:
            name = _path_name(node.target)
            # The tensors of a decomposition are temporary, so they become constants.
            self.attributes[key] = self._captured(
                name, node.meta, node.value, freeze=bool(self.depth)
            )
        return self.attributes[key]

    def _captured(self, name: str, meta: Meta, value: Any, *, freeze: bool = False) -> Tensor:
        if self.freeze or freeze:
            constant = self.writer.builder.constant(self.home.array(value))
            return Tensor(self.writer, constant, meta)
        return self.border.feed(name, meta, None, value)

    def _call(self, node: Node, values: dict[Node, Any]) -> Any:
        args, kwargs = self._arguments((node.args, node.kwargs), values)
        target = node.target
        if target == "getitem":
            return args[0][args[1]]
        if target in SCALAR_OPS:
            return SCALAR_OPS[target](*args, **kwargs)
        if target == "tuple":
            return list(args[0]) if len(args) == 1 else list(args)  # a tuple with names
        if target == "control_deps":
            return self._call_after(node, args, values)
        if target == "with_effects":
            return self._call_with_effects(node, args, kwargs, values)
        if target in CONTROL_FLOW:
            return self._call_body(node, args)
        if "." not in target:
            message = f"node '{node.name}': there is no op '{target}'"
            raise UnimplementedError(message, node=node.name)
        return self._call_op(node, args, kwargs, values)

    def _call_body(self, node: Node, args: Any) -> Any:
        with self._writing(node):
            out = CONTROL_FLOW[node.target](self, node, *args)
        return self._note(node, self._wrapped(out, node.value))

    def _note(self, node: Node, value: Any) -> Any:
        if not self.depth:
            self.made[node.name] = (self._scope(node), value)
        return value

    def _scope(self, node: Node) -> str:
        return graph_name(node.name)

    def _call_op(self, node: Node, args: Any, kwargs: Any, values: dict[Node, Any]) -> Any:
        if node.packet in _HINTS:
            return None
        if node.packet == "prims._make_token":
            return []
        if node.packet == "aten.copy_":
            return self._copy_into(node, args)
        if node.packet == "aten.native_batch_norm" and args[5]:
            return self._batch_norm(node, args)
        with self._writing(node):
            out = self._write(node, args, kwargs, values)
        return self._note(node, self._wrapped(out, node.value))

    @contextlib.contextmanager
    def _writing(self, node: Node) -> Iterator[None]:
        """Nodes that are made in it are the node's own."""
        scope = self.writer.builder.scope(self._scope(node))
        with self.writer.giving(node.value, _usage_of(node)), scope:
            yield

    def _write(self, node: Node, args: Any, kwargs: Any, values: dict[Node, Any]) -> Any:
        rule = find(node.target)
        out = rule(self.writer, *args, **kwargs) if rule else NotImplemented
        if out is not NotImplemented:
            return out
        parts, tensors = self.home.parts(node, values)
        return self.inside(parts, dict(zip(parts.placeholders, tensors, strict=True)))

    def inside(self, graph: Graph, values: dict[Node, Any]) -> Any:
        """Writes a graph that is part of a node; returns its results."""
        self.depth += 1
        try:
            return self._inline(graph, values)
        finally:
            self.depth -= 1

    def _wrapped(self, out: Any, meta: Any) -> Any:
        """Converts the result of a rule to the values of the node's results."""
        if isinstance(out, tuple | list):
            return [
                self._wrapped(o, m) if o is not None else None
                for o, m in zip(out, meta, strict=True)
            ]
        if isinstance(out, Output) and isinstance(meta, Expr):
            self.writer.bind(meta, lambda: out)
        if not isinstance(out, Tensor | Output) or not isinstance(meta, Meta):
            return out
        known = out if isinstance(out, Tensor) else None
        swapped = known.swapped if known and known.dtype == meta.dtype else None
        made = Tensor(self.writer, self.writer.cast(out, meta.dtype), meta, swapped)
        for axis, dim in enumerate(meta.shape):
            if isinstance(dim, Expr) and dim.kind == "Symbol":  # a number that depends on elements
                self.writer.bind(dim, lambda axis=axis: self._dim_of(made, axis))
        return made

    def _batch_norm(self, node: Node, args: Any) -> Any:
        """Imports batch normalization; in training it updates its running statistics, if it has
        any."""
        with self._writing(node):
            x, weight, bias, mean, variance, _, momentum, eps = args
            out = _layers.batch_norm_train(self.writer, x, weight, bias, eps)
            for index, new in ((3, out[1]), (4, _layers.unbiased(self.writer, x, out[3]))):
                if args[index] is not None and node.args[index].op in ("placeholder", "attribute"):
                    value = _layers.running(self.writer, args[index], new, momentum)
                    self.mutations.append((node.args[index], value))
        return self._note(node, self._wrapped(out[:3], node.value))

    def _copy_into(self, node: Node, args: Any) -> Any:
        """Returns an assignment to an argument or a captured tensor, at the end of a graph."""
        target = node.args[0]
        if self.depth or target.op not in ("placeholder", "attribute"):
            raise UnimplementedError(
                f"node '{node.name}' ({node.target}): '{target.name}' is not an argument; "
                "expected a graph that doesn't assign to computed values",
                node=node.name,
            )
        with self._writing(node):
            value = self.writer.cast(args[1], args[0].dtype)
        self.mutations.append((target, value))
        return args[1]

    # ---- order

    def _call_after(self, node: Node, args: Any, values: dict[Node, Any]) -> Any:
        """Writes control_deps: the results of a graph, which runs after given values are
        computed."""
        before, body, *operands = args
        inside = dict(zip(body.placeholders, operands, strict=True))
        given = set(_outputs(operands))
        # Nodes in nested graphs can't be found by name afterwards.
        waits = (
            self._waiting(self._awaited(node.args[0], values))
            if self.depth
            else contextlib.nullcontext()
        )
        with self._writing(node), waits:
            out = self.inside(body, inside)
            result = inside[body.calls[-1]] if body.calls else out
            computed = [o for c in body.calls for o in _outputs(inside[c]) if o not in given]
            with self._waiting(computed):
                # An op that forwards its argument, such as a wait, has no node that could be
                # delayed.
                later = self._forwarded(out, given)
        if isinstance(out, Tensor) and later is not out:
            result = later
        scope = self._scope(node)
        pairs = zip(before, node.args[0], strict=True)
        starts = {name for v, n in pairs if _is_start(n) for name in _names_of([v])}
        if not self.depth:
            self.waits.append((scope, list(before), starts))
        self._note(node, result)
        return later

    def _forwarded(self, out: Any, given: set[Output]) -> Any:
        if isinstance(out, list | tuple):
            return type(out)(self._forwarded(o, given) for o in out)
        if isinstance(out, Tensor) and out.out in given:
            return Tensor(self.writer, self.writer.op("Identity", out), out.meta)
        return out

    def _awaited(self, nodes: Iterable[Any], values: dict[Node, Any]) -> list[Output]:
        """Returns the nodes to wait for so that nodes have run; for one that starts a collective,
        its inputs."""
        found: list[Output] = []
        for node in nodes:
            if _is_start(node):
                operands = nodes_in(node.args if node.target != "control_deps" else node.args[2:])
                after = node.args[0] if node.target == "control_deps" else ()
                found += _outputs([values[n] for n in operands])
                found += self._awaited(after, values)
            else:
                found += _outputs(values[node])
        return found

    @contextlib.contextmanager
    def in_body(self, arguments: Iterable[Any]) -> Iterator[None]:
        """Adds nodes to a body with these arguments."""
        outer, self.arguments = self.arguments, set(_outputs(list(arguments)))
        try:
            yield
        finally:
            self.arguments = outer

    def _waiting(self, outs: Iterable[Output]) -> contextlib.AbstractContextManager[None]:
        """Nodes that are made in it wait for values; the arguments of a body are there anyway."""
        awaited = [out.op for out in dict.fromkeys(outs) if out not in self.arguments]
        return self.writer.builder.control_dependencies(awaited)

    def _call_with_effects(
        self, node: Node, args: Any, kwargs: dict[str, Any], values: dict[Node, Any]
    ) -> Any:
        """Imports with_effects: an op that runs after the ops of its token, and a new token."""
        token, op, *rest = args
        packet = op.rsplit(".", 1)[0]
        if packet in _HINTS:
            return [token, None]  # a token, whose order is not needed here
        if find(op) is None:
            raise UnimplementedError(
                f"node '{node.name}': with_effects of '{op}', which has side effects outside of "
                "the graph; expected an op that Treadle supports",
                node=node.name,
            )
        known = node.value[1:]
        inner = dataclasses.replace(
            node, target=op, args=node.args[2:], value=known[0] if len(known) == 1 else known
        )
        _, before = self.tokens.get(id(token), (token, []))
        with self._waiting(before):
            out = self._call_op(inner, rest, kwargs, values)
        results = out if isinstance(out, list | tuple) else [out]
        self.tokens[id(token)] = token, _outputs(results)
        return [token, *results]

    # ---- the end

    def _finish(self, leaves: list[Any], structure: Any) -> Imported:
        own = len(leaves) if self.own_results is None else self.own_results
        results = [self.border.result(leaf, is_own=i < own) for i, leaf in enumerate(leaves)]
        mutations = [self._mutation(*m) for m in self.mutations]
        graph = self._built()
        renamed = self._rename(graph)
        for result in results:
            result.name = result.name and _renamed(result.name, renamed)
        names = {
            node: _renamed(_first_output(value).name, renamed)
            for node, (_, value) in self.made.items()
            if _first_output(value) is not None
        }
        return Imported(
            graph,
            self.border.sources,
            [_renamed(name, renamed) for name in self.border.fetches],
            results,
            structure,
            mutations,
            names,
            self.writer.seed_name,
            self.writer.has_collectives,
        )

    def _built(self) -> _native.Graph:
        graph = self.writer.builder.build()
        after = [(scope, _names_of(values), starts) for scope, values, starts in self.waits]
        if self.writer.has_collectives:
            _free_collectives(graph)
        self._add_order(graph, after)
        return graph

    def _mutation(self, target: Node, value: Output) -> tuple[Any, int]:
        fetch = self.border.fetch(value.name)
        if target.op == "attribute":
            return target.value, fetch
        number = self.graph.placeholders.index(target)
        count = len(self.state)
        return (self.state[number] if number < count else number - count), fetch

    def _add_order(
        self, graph: _native.Graph, after: list[tuple[str, list[str], set[str]]]
    ) -> None:
        """Adds control inputs to the first nodes of a scope; the other nodes depend on these.

        Nodes that follow the start of a collective don't wait for its result: they wait for its
        inputs, and so start when it starts.
        """
        if not after:
            return
        inside: dict[str, list[str]] = {scope: [] for scope, *_ in after}
        for name in graph._node_names(""):
            scope = name.split("/")[0]
            if scope in inside and graph._op(name) != "Const":
                inside[scope].append(name)
        for scope, values, starts in after:
            own = set(inside[scope])
            names = [n for v in values for n in (_needed(graph, v) if v in starts else [v])]
            for name in inside[scope]:
                inputs = graph._inputs(name)
                if not any(i.lstrip("^").split(":")[0] in own for i in inputs):
                    tokens = [f"^{n}" for n in dict.fromkeys(names) if n not in own]
                    graph._set_inputs(name, [*inputs, *(t for t in tokens if t not in inputs)])

    def _rename(self, graph: _native.Graph) -> dict[str, str]:
        """Gives each imported node the name of its node in PyTorch's graph; auxiliary nodes get it
        as a prefix."""
        renamed: dict[str, str] = {}
        for scope, value in self.made.values():
            out = _first_output(value)
            if out is None:
                continue
            node = out.op.name
            if node.startswith(f"{scope}/") and scope not in graph and node not in renamed:
                graph._rename(node, scope)
                renamed[node] = scope
        return renamed


def _usage_of(node: Node) -> Callable[[int], bool]:
    """Whether a result of a node is used: a user that isn't `[i]` may use all."""
    used: set[int] = set()
    for user in node.users:
        if user.target != "getitem":
            return lambda index: True
        if user.users:
            used.add(user.args[1])
    return lambda index: index in used


def _free_collectives(graph: _native.Graph) -> None:
    """Removes the order that the builder gives to collectives as side effects: they are matched by
    number, so a rank may reach them in any order, and a scheduler may choose one."""
    for name in graph._node_names(""):
        if graph._op(name).startswith("Collective"):
            graph._set_inputs(name, [i for i in graph._inputs(name) if not i.startswith("^")])


def _is_start(node: Node) -> bool:
    """Whether a node starts a collective whose result is not yet waited for at that point."""
    if node.target == "control_deps":
        body = node.args[1]
        calls = (body.value if isinstance(body, Node) else body).calls
        return bool(calls) and _is_start(calls[-1])
    return node.target.startswith("_c10d_functional.") and "wait_tensor" not in node.target


def _needed(graph: _native.Graph, name: str) -> list[str]:
    """Returns the nodes that a node waits for; constants are always there."""
    inputs = [i.lstrip("^").split(":")[0] for i in graph._inputs(name)]
    return [i for i in inputs if graph._op(i) != "Const"]


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    return [v for v in values if isinstance(v, Tensor)]


def _path_name(path: str) -> str:
    return path.replace(".", "/").strip("/") or "tensor"


def _first_output(value: Any) -> Output | None:
    if isinstance(value, list | tuple):
        return next((o for o in map(_first_output, value) if o is not None), None)
    if isinstance(value, Tensor):
        return value.out
    return value if isinstance(value, Output) else None


def _outputs(value: Any) -> list[Output]:
    outs = [v.out if isinstance(v, Tensor) else v for v in _leaves(value)]
    return [o for o in outs if isinstance(o, Output)]


def _names_of(values: Iterable[Any]) -> list[str]:
    """Returns the nodes that produce values."""
    outs = [_first_output(v) for v in values]
    return [o.op.name for o in outs if o is not None]


def _renamed(value: str, renamed: dict[str, str]) -> str:
    node, _, index = value.partition(":")
    return f"{renamed.get(node, node)}:{index or 0}"
