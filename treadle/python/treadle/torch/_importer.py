"""A graph of PyTorch's, node by node, as a treadle.Graph."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from .._builder import Builder
from .._errors import Error, InvalidArgumentError, UnimplementedError
from .._native import Graph, Output
from . import (  # noqa: F401
    _collectives,
    _complex,
    _compositions,
    _elementwise,
    _images,
    _indexing,
    _layers,
    _linalg,
    _matrices,
    _reductions,
    _shapes,
)
from ._arrays import as_array
from ._control_flow import CONTROL_FLOW
from ._parts import PARTS
from ._rules import find
from ._trace import SCALAR_OPS, require_values, trace
from ._writer import Tensor, Writer, dtype_name

SymbolicNumber = torch.SymInt | torch.SymFloat | torch.SymBool


@dataclasses.dataclass
class Source:
    """Where a value that runs are fed with comes from: an argument by its number, or a tensor.

    is_swapped: it is fed with the last two dimensions swapped, as they are in memory.
    is_turned: it is fed with dimension 1, the channels, as the last one, as it is in memory.
    """

    name: str
    argument: int | None = None
    captured: torch.Tensor | None = None
    is_swapped: bool = False
    is_turned: bool = False


@dataclasses.dataclass
class Result:
    """What a call returns in one place: a fetch by its number, an argument, or a constant.

    is_swapped: a view of that with the last two dimensions swapped.
    is_turned: a view of that with the last dimension, the channels, as dimension 1.
    """

    fetch: int | None = None
    argument: int | None = None
    constant: Any = None
    is_number: bool = False
    is_swapped: bool = False
    is_turned: bool = False


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

    graph: Graph
    sources: list[Source]
    fetches: list[str]
    results: list[Result]
    structure: pytree.TreeSpec
    mutations: list[tuple[int | torch.Tensor, int]]
    names: dict[str, str]
    seed: str | None
    has_collectives: bool


def import_graph(
    module: fx.GraphModule,
    *,
    state: Sequence[torch.Tensor] = (),
    freeze: bool = False,
    views: bool = False,
    turned: Collection[str] = (),
) -> Imported:
    """Imports a functional graph of OpOverloads whose nodes have `meta["val"]`.

    Args:
        state: tensors that are the first arguments of the graph, and none of a call.
        freeze: whether they, and the tensors of the module, become constants; else runs are fed
            with them.
        views: whether results may be views of arguments or of each other, as PyTorch's are.
        turned: arguments that are images whose channels are last in memory.
    """
    # What traces for torch.compile makes tensors without data, of constants too.
    with _disable_current_modes():
        return _Importer(module, list(state), freeze, views, turned).run()


def graph_name(name: str) -> str:
    """A node's name as graphs allow it: no underscore comes first."""
    return name if name[0].isalnum() else f"x{name}"


# What only tells PyTorch's compiler something about shapes that it has checked already.
_HINTS = {
    "aten._linalg_check_errors",
    "aten._assert_async",
    "aten._assert_tensor_metadata",
    "aten.sym_constrain_range",
    "aten.sym_constrain_range_for_size",
}


def _is_open(dim: Any) -> bool:
    """Whether a dimension may change."""
    return isinstance(dim, torch.SymInt) and dim.node.maybe_as_int() is None


def _is_number(value: Any) -> bool:
    return isinstance(value, SymbolicNumber)


@contextlib.contextmanager
def _errors_of(node: fx.Node, target: str) -> Iterator[None]:
    """Says which node of PyTorch's an error is about."""
    try:
        yield
    except Error as error:
        if error.node == node.name:
            raise
        message = f"node '{node.name}' ({target}): {error.message}"
        raise type(error)(message, node=node.name) from error


class _Importer:
    def __init__(
        self,
        module: fx.GraphModule,
        state: list[torch.Tensor],
        freeze: bool,
        views: bool,
        turned: Collection[str],
    ) -> None:
        self.module, self.state, self.freeze, self.views = module, state, freeze, views
        self.turned = turned
        self.writer = Writer(Builder())
        self.sources: list[Source] = []
        self.attributes: dict[str, Any] = {}
        self.mutations: list[tuple[fx.Node, Any]] = []
        # For each node of the graph itself: its scope, and its value.
        self.made: dict[str, tuple[str, Any]] = {}
        # Scopes, and the values that all in them waits for.
        self.waits: list[tuple[str, list[Any]]] = []
        self.depth = 0

    # ---- the whole

    def run(self) -> Imported:
        values: dict[fx.Node, Any] = {}
        self._add_placeholders(values)
        out = self._inline(self.module, values)
        leaves, structure = pytree.tree_flatten(out)
        return self._finish(leaves, structure)

    def _add_placeholders(self, values: dict[fx.Node, Any]) -> None:
        nodes = [n for n in self.module.graph.nodes if n.op == "placeholder"]
        # Numbers first: a dimension that is an argument needn't be read off a tensor.
        for number, node in sorted(enumerate(nodes), key=lambda n: not _is_number(_value_of(n[1]))):
            fake = _value_of(node)
            if _is_number(fake):
                values[node] = self._number_argument(node, number, fake)
            elif isinstance(fake, torch.Tensor):
                values[node] = self._tensor_argument(node, number, fake)
            else:
                values[node] = fake

    def _number_argument(self, node: fx.Node, number: int, fake: Any) -> Any:
        if not isinstance(fake, torch.SymInt):
            raise UnimplementedError(f"node '{node.name}': a symbolic {type(fake).__name__}")
        known = fake.node.maybe_as_int()
        if known is not None:
            return known
        out: list[Output] = []

        def make() -> Output:
            if not out:
                argument = number - len(self.state)
                out.append(self._placeholder(node.name, "int64", [], argument))
            return out[0]

        self.writer.bind(fake, make)
        return make() if node.users else None

    def _tensor_argument(self, node: fx.Node, number: int, fake: Any) -> Tensor | None:
        made: list[Tensor] = []

        def make() -> Tensor:
            if not made:
                is_state = number < len(self.state)
                made.append(
                    self._captured(node.name, fake, self.state[number])
                    if is_state
                    else self._fed_tensor(node.name, fake, number - len(self.state))
                )
            return made[0]

        for axis, dim in enumerate(fake.shape):
            self.writer.bind(dim, lambda axis=axis: self._dim_of(make(), axis))
        return make() if node.users else None

    def _dim_of(self, tensor: Tensor, axis: int) -> Output:
        return self.writer.op("Shape", tensor, out_type="int64")[axis]

    def _fed_tensor(
        self, name: str, fake: Any, argument: int | None, captured: torch.Tensor | None = None
    ) -> Tensor:
        if fake.device.type not in ("cpu", "meta"):
            raise UnimplementedError(f"node '{name}': a tensor on {fake.device}; expected the CPU")
        shape = [d if isinstance(d, int) else d.node.maybe_as_int() for d in fake.shape]
        if self.views and captured is None and _is_swapped(fake):
            # What a forward graph kept of a transposition: products take it as it is.
            shape[-2:] = shape[:-3:-1]
            whole = self._placeholder(name, dtype_name(fake.dtype), shape, argument)
            self.sources[-1].is_swapped = True
            order = [*range(fake.dim() - 2), fake.dim() - 1, fake.dim() - 2]
            return Tensor(self.writer, self.writer.transpose(whole, order), fake, whole)
        if name in self.turned and captured is None:
            last = [shape[0], *shape[2:], shape[1]]
            image = self._placeholder(name, dtype_name(fake.dtype), last, argument)
            self.sources[-1].is_turned = True
            order = [0, fake.dim() - 1, *range(1, fake.dim() - 1)]
            return Tensor(self.writer, self.writer.transpose(image, order), fake)
        out = self._placeholder(name, dtype_name(fake.dtype), shape, argument, captured)
        return Tensor(self.writer, out, fake)

    def _placeholder(
        self,
        name: str,
        dtype: str,
        shape: list[int | None],
        argument: int | None,
        captured: torch.Tensor | None = None,
    ) -> Output:
        out = self.writer.builder.placeholder(graph_name(name), dtype, shape)
        self.sources.append(Source(out.name, argument, captured))
        return out

    # ---- nodes

    def _inline(self, module: fx.GraphModule, values: dict[fx.Node, Any]) -> Any:
        """Writes the nodes of a graph whose placeholders have values; gives what it returns."""
        for node in module.graph.nodes:
            if node.op == "output":
                return self._arguments(node.args[0], values)
            if node.op == "get_attr":
                values[node] = self._attribute(module, node)
            elif node.op == "call_function":
                values[node] = self._call(node, values)
            elif node.op != "placeholder":
                raise UnimplementedError(f"node '{node.name}': {node.op} of '{node.target}'")
        return None

    def _arguments(self, args: Any, values: dict[fx.Node, Any]) -> Any:
        return fx.node.map_arg(args, lambda n: values[n])

    def _attribute(self, module: fx.GraphModule, node: fx.Node) -> Any:
        value = operator.attrgetter(str(node.target))(module)
        if not isinstance(value, torch.Tensor):
            return value
        if isinstance(value, FakeTensor):
            value = self._constant_of(node, value)
        key = f"{id(module)}.{node.target}"
        if key not in self.attributes:
            name = _path_name(str(node.target))
            # What a decomposition is made of has no life of its own.
            self.attributes[key] = self._captured(
                name, node.meta.get("val", value), value, freeze=bool(self.depth)
            )
        return self.attributes[key]

    def _constant_of(self, node: fx.Node, fake: FakeTensor) -> torch.Tensor:
        if fake.constant is None:
            raise InvalidArgumentError(f"node '{node.name}': '{node.target}' has no elements")
        return fake.constant

    def _captured(
        self, name: str, fake: Any, value: torch.Tensor, *, freeze: bool = False
    ) -> Tensor:
        if self.freeze or freeze:
            return Tensor(self.writer, self.writer.builder.constant(as_array(value)), fake)
        return self._fed_tensor(name, fake, None, value)

    def _call(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        args, kwargs = self._arguments((node.args, node.kwargs), values)
        if node.target is operator.getitem:
            return args[0][args[1]]
        if node.target in SCALAR_OPS:
            return SCALAR_OPS[node.target](*args, **kwargs)
        if isinstance(node.target, torch._ops.OpOverload):
            return self._call_op(node, args, kwargs)
        if isinstance(node.target, type) and issubclass(node.target, tuple):
            return list(args[0]) if len(args) == 1 else list(args)  # a tuple with names
        if str(node.target) == "control_deps":
            return self._call_after(node, *args)
        if str(node.target) == "with_effects" and str(args[1].overloadpacket) in _HINTS:
            return [args[0], None]  # a token, which orders what we have no need to
        if str(node.target) in CONTROL_FLOW:
            return self._call_body(node, args)
        raise UnimplementedError(f"node '{node.name}': there is no op '{node.target}'")

    def _call_body(self, node: fx.Node, args: Any) -> Any:
        with _errors_of(node, str(node.target)), self._writing(node):
            out = CONTROL_FLOW[str(node.target)](self, node, *args)
        wrapped = self._wrapped(out, _value_of(node))
        if not self.depth:
            self.made[node.name] = (self._scope(node), wrapped)
        return wrapped

    def _scope(self, node: fx.Node) -> str:
        return graph_name(node.name)

    def _call_op(self, node: fx.Node, args: Any, kwargs: Any) -> Any:
        target = node.target
        name = str(target)
        if str(target.overloadpacket) in _HINTS:
            return None
        if str(target.overloadpacket) == "aten.copy_":
            return self._copy_into(node, args)
        if str(target.overloadpacket) == "aten.native_batch_norm" and args[5]:
            return self._batch_norm(node, args)
        with _errors_of(node, name):
            with self._writing(node):
                out = self._write(node, target, args, kwargs)
            wrapped = self._wrapped(out, _value_of(node))
        if not self.depth:
            self.made[node.name] = (self._scope(node), wrapped)
        return wrapped

    @contextlib.contextmanager
    def _writing(self, node: fx.Node) -> Iterator[None]:
        """Nodes that are made in it are the node's own."""
        writer = self.writer
        saved = writer.result, writer.is_used
        writer.result, writer.is_used = _value_of(node), _usage_of(node)
        try:
            with writer.builder.scope(self._scope(node)):
                yield
        finally:
            writer.result, writer.is_used = saved

    def _write(self, node: fx.Node, target: Any, args: Any, kwargs: Any) -> Any:
        rule = find(target)
        out = rule(self.writer, *args, **kwargs) if rule else NotImplemented
        if out is not NotImplemented:
            return out
        whole = _decomposition(target)
        if whole is None:
            raise UnimplementedError("this op has no rule, and PyTorch doesn't take it apart")
        return self._write_parts(node, whole, args, kwargs)

    def _write_parts(self, node: fx.Node, whole: Any, args: Any, kwargs: Any) -> Any:
        """Writes what PyTorch says that an op is made of."""
        leaves, structure = pytree.tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        given, _ = pytree.tree_flatten((node.args, node.kwargs))

        def call(*fakes: Any) -> Any:
            rest = iter(fakes)
            filled = [
                next(rest) if isinstance(leaf, Tensor)
                else _value_of(g) if isinstance(leaf, Output) and isinstance(g, fx.Node)
                else leaf
                for leaf, g in zip(leaves, given, strict=True)
            ]  # fmt: skip
            inner_args, inner_kwargs = pytree.tree_unflatten(filled, structure)
            return whole(*inner_args, **inner_kwargs)

        symbols = [d for t in tensors for d in t.fake.shape if _is_open(d)]
        parts = trace(call, [t.fake for t in tensors], "fake")
        if any(not _is_open(d) for d in symbols):
            raise UnimplementedError(
                "PyTorch takes this op apart for one size of a dimension that is to change;"
                " expected a fixed one: no dynamic=True, and no Dim there"
            )
        placeholders = [n for n in parts.graph.nodes if n.op == "placeholder"]
        return self.inside(parts, dict(zip(placeholders, tensors, strict=True)))

    def inside(self, module: fx.GraphModule, values: dict[fx.Node, Any]) -> Any:
        """Writes a graph that is part of a node; gives what it returns."""
        self.depth += 1
        try:
            return self._inline(module, values)
        finally:
            self.depth -= 1

    def _wrapped(self, out: Any, fake: Any) -> Any:
        """What a rule gave, as the values of the node's results."""
        if isinstance(out, tuple | list):
            return [
                self._wrapped(o, f) if o is not None else None
                for o, f in zip(out, fake, strict=True)
            ]
        if isinstance(out, Tensor) and isinstance(fake, torch.Tensor):
            swapped = out.swapped if out.dtype == fake.dtype else None
            return Tensor(self.writer, self.writer.cast(out.out, fake.dtype), fake, swapped)
        if isinstance(out, Output) and isinstance(fake, torch.Tensor):
            return Tensor(self.writer, self.writer.cast(out, fake.dtype), fake)
        return out

    def _batch_norm(self, node: fx.Node, args: Any) -> Any:
        """In training it changes its running statistics, where it is given any."""
        with _errors_of(node, str(node.target)), self._writing(node):
            x, weight, bias, mean, variance, _, momentum, eps = args
            out = _layers.batch_norm_train(self.writer, x, weight, bias, eps)
            for index, new in ((3, out[1]), (4, _layers.unbiased(self.writer, x, out[3]))):
                if args[index] is not None and node.args[index].op in ("placeholder", "get_attr"):
                    value = _layers.running(self.writer, args[index], new, momentum)
                    self.mutations.append((node.args[index], value))
        wrapped = self._wrapped(out[:3], _value_of(node))
        if not self.depth:
            self.made[node.name] = (self._scope(node), wrapped)
        return wrapped

    def _copy_into(self, node: fx.Node, args: Any) -> Any:
        """An assignment to an argument or a captured tensor, at the end of a graph."""
        target = node.args[0]
        if self.depth or target.op not in ("placeholder", "get_attr"):
            raise UnimplementedError(
                f"node '{node.name}' ({node.target}): '{target.name}' is no argument; expected a "
                "graph without assignments to what it computes",
                node=node.name,
            )
        with self._writing(node):
            value = self.writer.cast(args[1], args[0].dtype)
        self.mutations.append((target, value))
        return args[1]

    # ---- order

    def _call_after(self, node: fx.Node, before: Sequence[Any], module: Any, *args: Any) -> Any:
        """control_deps: what a graph computes, once other values are there."""
        inner = [n for n in module.graph.nodes if n.op == "placeholder"]
        require_values(module, [_value_of(n) for n in node.args[2:]])
        calls = [n for n in module.graph.nodes if n.op == "call_function"]
        values: dict[fx.Node, Any] = dict(zip(inner, args, strict=True))
        with self._writing(node):
            out = self.inside(module, values)
            # What hands its argument on, as a wait does, has no node that could come later.
            result = values[calls[-1]] if calls else out
            if isinstance(out, Tensor) and any(out.out is a.out for a in _tensors(args)):
                out = result = Tensor(self.writer, self.writer.op("Identity", out), out.fake)
        scope = self._scope(node)
        pairs = zip(before, node.args[0], strict=True)
        starts = {name for v, n in pairs if _is_start(n) for name in _names_of([v])}
        self.waits.append((scope, list(before), starts))
        if not self.depth:
            self.made[node.name] = (scope, result)
        return out

    # ---- the end

    def _finish(self, leaves: list[Any], structure: pytree.TreeSpec) -> Imported:
        fetches: list[str] = []
        results = [self._result(leaf, fetches) for leaf in leaves]
        mutations = [self._mutation(*m, fetches) for m in self.mutations]
        graph = self.writer.builder.build()
        after = [(scope, _names_of(values), starts) for scope, values, starts in self.waits]
        if self.writer.has_collectives:
            _free_collectives(graph)
        self._add_order(graph, after)
        renamed = self._rename(graph)
        names = {
            node: _renamed(_first_output(value).name, renamed)
            for node, (_, value) in self.made.items()
            if _first_output(value) is not None
        }
        return Imported(
            graph,
            self.sources,
            [_renamed(f, renamed) for f in fetches],
            results,
            structure,
            mutations,
            names,
            self.writer.seed_name,
            self.writer.has_collectives,
        )

    def _result(self, leaf: Any, fetches: list[str]) -> Result:
        if not isinstance(leaf, Tensor | Output):
            return Result(constant=leaf)
        out = leaf.out if isinstance(leaf, Tensor) else leaf
        is_number = isinstance(leaf, Output)
        is_swapped = (
            self.views and not is_number and leaf.swapped is not None and _is_swapped(leaf.fake)
        )
        if is_swapped:
            out = leaf.swapped
        source = next((s for s in self.sources if s.name == out.name), None)
        if source is None or source.is_swapped or source.is_turned:
            fetch = _number_of(out.name, fetches)
            return Result(fetch=fetch, is_number=is_number, is_swapped=is_swapped)
        if source.captured is not None:
            return Result(constant=source.captured)
        return Result(argument=source.argument, is_swapped=is_swapped)

    def _mutation(
        self, target: fx.Node, value: Output, fetches: list[str]
    ) -> tuple[int | torch.Tensor, int]:
        fetch = _number_of(value.name, fetches)
        if target.op == "get_attr":
            return operator.attrgetter(str(target.target))(self.module), fetch
        nodes = [n for n in self.module.graph.nodes if n.op == "placeholder"]
        number = nodes.index(target)
        count = len(self.state)
        return (self.state[number] if number < count else number - count), fetch

    def _add_order(self, graph: Graph, after: list[tuple[str, list[str], set[str]]]) -> None:
        """Adds control inputs to what a scope begins with; the rest of it comes after that.

        What follows the start of a collective doesn't wait for its result: it waits for what the
        collective waits for, and so has begun when it has.
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

    def _rename(self, graph: Graph) -> dict[str, str]:
        """Gives each node of PyTorch's graph its name; what else was written for it keeps it as
        the first part of its own."""
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


def _value_of(node: Any) -> Any:
    """What PyTorch knows of a node's value; of an argument that is none, the argument."""
    if not isinstance(node, fx.Node):
        return node
    if "val" not in node.meta:
        raise InvalidArgumentError(
            f"node '{node.name}' has no meta['val']; expected a graph that was traced with shapes"
        )
    return node.meta["val"]


def _is_swapped(fake: Any) -> bool:
    """Whether the last two dimensions lie in memory in the other order, and all is contiguous."""
    dims = [*fake.shape, *fake.stride()]
    is_static = all(isinstance(d, int) for d in dims)
    return is_static and fake.dim() >= 2 and not fake.is_contiguous() and fake.mT.is_contiguous()


def _usage_of(node: fx.Node) -> Callable[[int], bool]:
    """Whether a result of a node is used: a user that isn't `[i]` may use all."""
    used: set[int] = set()
    for user in node.users:
        if user.target is not operator.getitem:
            return lambda index: True
        if user.users:
            used.add(user.args[1])
    return lambda index: index in used


def _decomposition(target: Any) -> Callable[..., Any] | None:
    """What an op is made of, as PyTorch's own table has it, or the op itself where PyTorch
    computes it by others."""
    found = PARTS.get(target) or torch._decomp.core_aten_decompositions().get(target)
    found = found or torch._decomp.decomposition_table.get(target)
    if found is not None:
        return found
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), composite)
    return target.decompose if has_kernel else None


def _free_collectives(graph: Graph) -> None:
    """Takes the order away that the builder gives to what has effects: collectives are told apart
    by number, so that a rank may come to them in any order, and a scheduler choose one."""
    for name in graph._node_names(""):
        if graph._op(name).startswith("Collective"):
            graph._set_inputs(name, [i for i in graph._inputs(name) if not i.startswith("^")])


def _is_start(node: fx.Node) -> bool:
    """Whether a node starts a collective whose result nobody has waited for by then."""
    target = node.target
    if str(target) == "control_deps":
        module = operator.attrgetter(str(node.args[1].target))(node.graph.owning_module)
        calls = [n for n in module.graph.nodes if n.op == "call_function"]
        return bool(calls) and _is_start(calls[-1])
    return str(target).startswith("_c10d_functional.") and "wait_tensor" not in str(target)


def _needed(graph: Graph, name: str) -> list[str]:
    """The nodes that a node waits for; constants are always there."""
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


def _names_of(values: Iterable[Any]) -> list[str]:
    """The nodes that give values."""
    outs = [_first_output(v) for v in values]
    return [o.op.name for o in outs if o is not None]


def _renamed(value: str, renamed: dict[str, str]) -> str:
    node, _, index = value.partition(":")
    return f"{renamed.get(node, node)}:{index or 0}"


def _number_of(name: str, names: list[str]) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)
