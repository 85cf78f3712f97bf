"""Converts graphs of torch.fx to records for rules, and provides PyTorch's decompositions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from .._aten import _dtypes as dtypes
from .._aten import _importer as aten
from .._aten._graph import Graph, Node, connect
from .._aten._importer import Imported
from .._aten._rules import refusal
from .._aten._values import Expr, Meta, OtherNumber
from .._aten._writer import Tensor
from .._errors import InvalidArgumentError, UnimplementedError
from .._native import Output
from . import _collectives, _compositions  # noqa: F401
from ._arrays import as_array, memory_of
from ._exported import Shared
from ._ordered import body_of
from ._parts import PARTS, for_each
from ._sizes import is_open
from ._trace import function_name, needs_value, require_values, trace

SymbolicNumber = torch.SymInt | torch.SymFloat | torch.SymBool


def import_graph(
    module: fx.GraphModule | Graph,
    *,
    state: Sequence[torch.Tensor] = (),
    freeze: bool = False,
    views: bool = False,
    turned: Collection[str] = (),
    own_results: int | None = None,
) -> Imported:
    """Imports like treadle._aten, for a graph module of OpOverloads whose nodes have `meta["val"]`,
    or for the records of an exported program's file."""
    is_file = isinstance(module, Graph)
    # Disable torch.compile's modes, in which even constants become fake tensors.
    with _disable_current_modes():
        home = Shared() if is_file else PyTorch()
        return aten.import_graph(
            module if is_file else home.graph(module),
            home,
            state=state,
            freeze=freeze,
            views=views,
            turned=turned,
            own_results=own_results,
            default_dtype=dtype_of(torch.get_default_dtype()),
        )


class PyTorch:
    """The origin of graphs that exist in PyTorch."""

    is_file = False

    def __init__(self) -> None:
        self._twins: dict[fx.Node, Node] = {}

    def array(self, tensor: torch.Tensor) -> Any:
        return as_array(tensor)

    def flat(self, out: Any) -> tuple[list[Any], pytree.TreeSpec]:
        return pytree.tree_flatten(out)

    def graph(self, module: fx.GraphModule) -> Graph:
        """Returns the records of a graph module."""
        return connect(Graph([self._node(module, n) for n in module.graph.nodes]))

    def _node(self, module: fx.GraphModule, node: fx.Node) -> Node:
        if node.op not in _OPS:
            raise UnimplementedError(f"node '{node.name}': {node.op} of '{node.target}'")
        made = self._twins[node] = Node(
            node.name, _OPS[node.op], args=self._args(node.args), kwargs=self._args(node.kwargs)
        )
        made.source = node
        if node.op == "get_attr":
            self._set_attribute(made, operator.attrgetter(str(node.target))(module))
        elif node.op == "call_function":
            made.target = _target(node)
            made.draws = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
            made.value = _value_of(node)
            self._add_bodies(node)
            if made.target == "control_deps":
                made.args, made.kwargs = self._ordered(module, made), {}
            elif made.target == "with_effects":
                made.args = (made.args[0], str(node.args[1]), *made.args[2:])
        elif node.op == "placeholder":
            made.value = _value_of(node)
        return made

    def _ordered(self, module: fx.GraphModule, made: Node) -> tuple[Any, ...]:
        """Returns the arguments of control_deps: its dependencies, a graph, and an operand for each
        argument of the graph."""
        node = made.source
        body, operands = body_of(module, node)
        for inner in body.graph.nodes:
            if getattr(getattr(inner.target, "_schema", None), "is_mutable", False):
                raise UnimplementedError(
                    f"node '{node.name}': control_deps of '{inner.target}', which changes its"
                    " argument; expected ops that change nothing",
                    node=node.name,
                )
        require_values(body, [_fake(n) for n in operands])
        return (made.args[0], self.graph(body), *self._args(operands))

    def _args(self, args: Any) -> Any:
        if isinstance(args, fx.Node):
            return self._twins[args]
        if isinstance(args, list | tuple):
            plain = [self._args(a) for a in args]
            return plain if isinstance(args, list) else tuple(plain)
        if isinstance(args, dict):
            return {k: self._args(v) for k, v in args.items()}
        if isinstance(args, torch._ops.OpOverload):
            return str(args.overloadpacket)
        return dtype_of(args) if isinstance(args, torch.dtype) else args

    def _set_attribute(self, made: Node, value: Any) -> None:
        node = made.source
        made.target, made.value = str(node.target), value
        if not isinstance(value, torch.Tensor):
            return
        if isinstance(value, FakeTensor):
            if value.constant is None:
                raise InvalidArgumentError(f"node '{node.name}': '{node.target}' has no elements")
            made.value = value.constant
        made.meta = value_of(node.meta.get("val", value))

    def _add_bodies(self, node: fx.Node) -> None:
        """Adds the graphs that are arguments of an op, once the metadata of their inputs
        is known."""
        operands = _OPERANDS.get(str(node.target))
        if operands is None:
            return
        for argument in node.args:
            if isinstance(argument, fx.Node) and argument.op == "get_attr":
                twin = self._twins[argument]
                if isinstance(twin.value, fx.GraphModule):
                    require_values(twin.value, [_fake(n) for n in operands(node.args)])
                    twin.value = self.graph(twin.value)

    def parts(self, node: Node, values: dict[Node, Any]) -> tuple[Graph, list[Tensor]]:
        """Returns PyTorch's decomposition of an op."""
        whole = _decomposition(node.source.target)
        if whole is None:
            arguments = node.source.args, node.source.kwargs
            why = refusal(node.target, *arguments)
            raise UnimplementedError(f"{why}, and PyTorch has no decomposition for it")
        given, structure = pytree.tree_flatten((node.source.args, node.source.kwargs))
        leaves = [values[self._twins[g]] if isinstance(g, fx.Node) else g for g in given]
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]

        def call(*fakes: Any) -> Any:
            rest = iter(fakes)
            filled = [
                next(rest) if isinstance(leaf, Tensor)
                else g.meta["val"] if isinstance(leaf, Output)
                else leaf
                for leaf, g in zip(leaves, given, strict=True)
            ]  # fmt: skip
            args, kwargs = _mutable(pytree.tree_unflatten(filled, structure))
            return whole(*args, **kwargs)

        fakes = [t.meta.source for t in tensors]
        symbols = [d for f in fakes for d in f.shape if is_open(d)]
        module = trace(call, fakes, "fake")
        if any(not is_open(d) for d in symbols):
            raise UnimplementedError(
                "PyTorch decomposes this op for one size of a dynamic dimension; make the "
                "dimension static: no dynamic=True, and no Dim for it"
            )
        return self.graph(module), tensors


def _mutable(value: Any) -> Any:
    """Copies the lists in arguments, which a function may change."""
    if isinstance(value, dict):
        return {key: _mutable(v) for key, v in value.items()}
    if isinstance(value, list):
        return [*map(_mutable, value)]
    return tuple(map(_mutable, value)) if type(value) is tuple else value


_OPS = {
    "placeholder": "placeholder",
    "get_attr": "attribute",
    "call_function": "call",
    "output": "output",
}

# The inputs of graphs that are arguments of an op, as fake tensors.
_OPERANDS: dict[str, Callable[[Any], list[Any]]] = {
    "cond": lambda args: [*args[3]],
    "while_loop": lambda args: [*args[2], *args[3]],
    "scan": lambda args: [*args[1], *map(_Row, args[2]), *args[3]],
    "map_impl": lambda args: [*map(_Row, args[1]), *args[2]],
}


class _Row:
    """x[0]."""

    def __init__(self, node: Any) -> None:
        self.node = node


def _fake(value: Any) -> Any:
    if isinstance(value, _Row):
        return _fake(value.node)[0]
    return value.meta["val"] if isinstance(value, fx.Node) else value


def _target(node: fx.Node) -> str:
    target = node.target
    if target is operator.getitem:
        return "getitem"
    if isinstance(target, type) and issubclass(target, tuple):
        return "tuple"
    if isinstance(target, torch._ops.OpOverload | torch._ops.HigherOrderOperator):
        return str(target)
    if name := function_name(target):
        return name
    raise UnimplementedError(f"node '{node.name}': there is no op '{target}'")


def _value_of(node: fx.Node) -> Any:
    """Returns PyTorch's metadata of a node's value."""
    is_op = isinstance(node.target, torch._ops.OpOverload)
    has_value = node.op == "placeholder" or is_op and needs_value(node)
    if "val" not in node.meta and has_value:
        raise InvalidArgumentError(
            f"node '{node.name}' has no meta['val']; expected a graph that was traced with shapes"
        )
    return value_of(node.meta.get("val"))


def value_of(value: Any) -> Any:
    """Returns PyTorch's metadata of a value in the form for rules."""
    if isinstance(value, torch.Tensor):
        is_strided = value.layout == torch.strided
        return Meta(
            dtype_of(value.dtype),
            tuple(map(_dim, value.shape)),
            tuple(map(_dim, value.stride())) if is_strided else None,
            _dim(value.storage_offset()) if is_strided else 0,
            value.device.type,
            memory_of(value),
            value,
        )
    if isinstance(value, torch.SymInt):
        return _dim(value)
    if isinstance(value, SymbolicNumber):
        return OtherNumber(type(value).__name__)
    return [value_of(v) for v in value] if isinstance(value, list | tuple) else value


def dtype_of(dtype: torch.dtype) -> dtypes.DType:
    return dtypes.named(str(dtype).removeprefix("torch."))


def _dim(dim: Any) -> int | Expr:
    if not isinstance(dim, torch.SymInt):
        return int(dim)
    known = dim.node.maybe_as_int()
    return known if known is not None else _expression(dim.node.expr)


def _expression(expr: Any) -> int | Expr:
    if expr.is_Integer:
        return int(expr)
    if expr.is_Symbol:
        return Expr("Symbol", (expr.name,))
    return Expr(type(expr).__name__, tuple(map(_expression, expr.args)) or (str(expr),))


def _decomposition(target: Any) -> Callable[..., Any] | None:
    """Returns the decomposition of an op in PyTorch's table, or the op itself if PyTorch implements
    it with other ops."""
    found = PARTS.get(target) or torch._decomp.core_aten_decompositions().get(target)
    found = found or torch._decomp.decomposition_table.get(target)
    if found is not None:
        return found
    if target.name().startswith("aten::_foreach_"):
        return functools.partial(for_each, target)
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), composite)
    return target.decompose if has_kernel else None
