"""Converts graph modules of any kind to functional graphs of OpOverloads."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.utils import _pytree as pytree

from .._aten._graph import SCALAR_OPS, Graph
from .._aten._rules import RULES
from .._errors import UnimplementedError
from ._captured import Captured, called_with
from ._sizes import Sizes, is_open, open_sizes

# : Python functions on dimensions, by their names in graph records.
SCALAR_FUNCTIONS = {function: name for name, function in SCALAR_OPS.items()}


def function_name(target: Any) -> str | None:
    """Returns the name of a function on dimensions in graph records: `add`, `torch.sym_max`; None
    for an unknown one."""
    name = f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', '')}"
    return SCALAR_FUNCTIONS.get(target) or (name if name in RULES else None)


def is_functional(module: fx.GraphModule) -> bool:
    """Whether all nodes are ops without side effects, except assignments to arguments."""
    return all(_is_functional(n) for n in module.graph.nodes)


# Updates its running statistics, which its schema doesn't state.
_SECRETIVE = {"aten.native_batch_norm.default"}


# Ops with graphs as arguments.
_LOOPS = {"while_loop", "scan", "map_impl"}
_WITH_BODIES = {"control_deps", "cond", "with_effects"} | _LOOPS


def _is_functional(node: fx.Node) -> bool:
    if node.op in ("placeholder", "output", "get_attr"):
        return True
    if node.op != "call_function":
        return False
    target = node.target
    if target is operator.getitem or str(target) in _WITH_BODIES:
        return True
    if not isinstance(target, torch._ops.OpOverload):
        is_tuple = isinstance(target, type) and issubclass(target, tuple)
        return is_tuple or function_name(target) is not None
    if str(target) == "aten.copy_.default":
        return node.args[0].op in ("placeholder", "get_attr")
    return not target._schema.is_mutable


@dataclasses.dataclass
class Traced:
    """A functional graph.

    Attributes:
        module: the graph module, or the records in a file.
        state: tensors that are its first arguments, but not arguments of a call.
        takes: the structure of the arguments of a call, positional and named; None: flat.
        gives: the structure of its results; None: that of the graph.
        constants: arguments with fixed values, by number.
        sizes: the dynamic sizes, if it was traced with any.
        again: traces again for other arguments.
        check: raises InvalidArgumentError for arguments of unsupported sizes.
    """

    module: fx.GraphModule | Graph
    state: list[torch.Tensor]
    takes: pytree.TreeSpec | None
    gives: pytree.TreeSpec | None
    constants: dict[int, Any]
    signature: inspect.Signature | None
    sizes: Sizes | None = None
    again: Callable[[Sequence[Any]], Traced] | None = None
    check: Callable[[Sequence[Any]], None] = lambda args: None

    def flat(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """Flattens the arguments of a call in the structure of `takes`; named arguments may be
        passed by position and vice versa."""
        leaves, layout = pytree.tree_flatten((tuple(args), kwargs))
        if layout != self.takes and self.signature and (kwargs or self.takes):
            try:
                bound = self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{error}; expected {_layout_text(self.takes)}") from None
            args, kwargs = self._by_name(len(args), bound)
            leaves, layout = pytree.tree_flatten((args, kwargs))
        if self.takes is None and not kwargs:
            return args
        if layout != self.takes:
            raise TypeError(
                f"the arguments are {_layout_text(layout)}, expected {_layout_text(self.takes)}"
            )
        return leaves

    def _by_name(
        self, given: int, bound: inspect.BoundArguments
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns arguments by position, or by name if the graph takes them by name; the first
        `given` must not be named again."""
        args, kwargs = bound.args, dict(bound.kwargs)
        if self.takes is None or self.takes.is_leaf():
            return args, kwargs
        places, named = self.takes.children()
        count = places.num_children
        if given <= count < len(args):
            kwargs |= dict(zip(list(bound.arguments)[count:], args[count:], strict=False))
            args = args[:count]
        order = named.context or []
        return args, {name: kwargs[name] for name in sorted(kwargs, key=_place_in(order))}


def _place_in(order: Sequence[str]) -> Callable[[str], int]:
    return lambda name: order.index(name) if name in order else len(order)


class _Any:
    def __repr__(self) -> str:
        return "*"


def _layout_text(layout: pytree.TreeSpec | None) -> str:
    """Describes a structure of arguments: `(*, {'a': *}, scale=*)`."""
    if layout is None:
        return "tensors in their places"
    args, kwargs = pytree.tree_unflatten([_Any()] * layout.num_leaves, layout)
    texts = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return f"({', '.join(texts)})"


def functional(
    module: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, dynamic: bool
) -> Traced:
    """Converts a graph module, a module or a function to a functional graph, for arguments with the
    shapes of `args` and `kwargs`."""
    if isinstance(module, fx.GraphModule):
        module = _without_guards(module)
        if is_functional(module) and not any(str(n.target) in _SECRETIVE for n in _nodes(module)):
            return _as_it_is(module, args, kwargs)
        if any(str(n.target) == "control_deps" for n in _nodes(module)):
            raise UnimplementedError(
                "control_deps together with modules, methods or functions that change tensors; "
                "expected a graph of ops only"
            )
    return _with_state(module, args, kwargs, dynamic)


def _nodes(module: fx.GraphModule, op: str = "") -> list[fx.Node]:
    return [n for n in module.graph.nodes if op in ("", n.op)]


def _without_guards(module: fx.GraphModule) -> fx.GraphModule:
    """Removes the calls of guard modules, which check shapes, from a module of torch.export; runs
    check shapes too."""
    guards = [n for n in _nodes(module, "call_module") if n.target == "_guards_fn"]
    if not guards:
        return module
    graph = copy.deepcopy(module.graph)
    for node in [n for n in graph.nodes if n.op == "call_module" and n.target == "_guards_fn"]:
        graph.erase_node(node)
    return fx.GraphModule(module, graph)


def _as_it_is(module: fx.GraphModule, args: Sequence[Any], kwargs: dict[str, Any]) -> Traced:
    require_values(
        module, _metadata_of_inputs(module) or _fake(pytree.tree_leaves((tuple(args), kwargs)))
    )
    values = [n.meta.get("val") for n in _nodes(module, "placeholder")]
    constants = {i: v for i, v in enumerate(values) if isinstance(v, int | float | str)}
    layout = getattr(module.graph._codegen, "pytree_info", None)
    takes, gives = (layout.in_spec, layout.out_spec) if layout else (None, None)
    return Traced(module, [], takes, gives, constants, signature_of(module))


def _metadata_of_inputs(module: Callable[..., Any]) -> list[Any]:
    """Returns the metadata in a graph for its arguments, if it has that of all of them and one is a
    tensor."""
    nodes = _nodes(module, "placeholder") if isinstance(module, fx.GraphModule) else []
    found = [n.meta["val"] for n in nodes if "val" in n.meta]
    is_known = len(found) == len(nodes) and any(isinstance(v, FakeTensor) for v in found)
    return found if is_known else []


def _fake(inputs: Sequence[Any]) -> list[Any]:
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    return [
        mode.from_tensor(i, static_shapes=True) if isinstance(i, torch.Tensor) else i
        for i in inputs
    ]


def _with_state(
    module: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], dynamic: bool
) -> Traced:
    # The tensors of a script module stay in it: it can't be called with others.
    is_script = isinstance(module, torch.jit.ScriptModule)
    is_module = isinstance(module, torch.nn.Module) and not is_script
    state = dict(module.named_parameters()) | dict(module.named_buffers()) if is_module else {}
    leaves, takes = pytree.tree_flatten((tuple(args), kwargs))
    # One tensor in two places would become one argument.
    leaves = [
        t.clone() if torch.is_tensor(t) and any(t is u for u in leaves[:i]) else t
        for i, t in enumerate(leaves)
    ]
    gives: list[pytree.TreeSpec] = []
    captured = Captured(is_functional)

    def call(*values: Any) -> Any:
        own, given = values[: -len(leaves) or None], values[len(values) - len(leaves) :]
        args, kwargs = pytree.tree_unflatten(given, takes)
        with captured.replaced_by(own[len(state) :]):
            if is_module:
                own = dict(zip(map(id, state.values()), own, strict=False))
                out = called_with(module, own, captured, args, kwargs)
            else:
                out = module(*args, **kwargs)
        results, structure = pytree.tree_flatten(out)
        gives.append(structure)
        return results

    sizes = Sizes() if dynamic else None

    def inputs() -> tuple[list[Any], str]:
        tensors = [t.detach() for t in (*state.values(), *captured.lifted)]
        if sizes is not None:
            return [*map(sizes.fixed, tensors), *map(sizes.argument, count(), leaves)], "real"
        stated = _stated_inputs(module, tensors, leaves)
        return (stated, "real") if stated else ([*tensors, *leaves], "fake")

    made = captured.traced(lambda fn: traced_once(fn or call, *inputs()))
    state |= {f"captured.{i}": t for i, t in enumerate(captured.lifted)}
    names = [*map(_plain, state), *_argument_names(module, args, kwargs)]
    for node, name in zip(_nodes(made, "placeholder"), names, strict=False):
        node._rename(name)
    if sizes is not None:
        sizes.names = names[len(state) :]
        sizes.require(made)
    constants = {i: v for i, v in enumerate(leaves) if not isinstance(v, torch.Tensor)}
    return Traced(
        made, list(state.values()), takes, gives[-1], constants, signature_of(module), sizes
    )


def _stated_inputs(
    module: Callable[..., Any], tensors: list[torch.Tensor], leaves: list[Any]
) -> list[Any] | None:
    """Returns inputs with the shapes in a graph, including symbols; None if it has none."""
    stated = _metadata_of_inputs(module)
    if len(stated) != len(leaves):
        return None
    mode = next((v.fake_mode for v in stated if isinstance(v, FakeTensor)), None)
    if mode is None or mode.shape_env is None:
        return None
    return [*(mode.from_tensor(t, static_shapes=True) for t in tensors), *stated]


def _argument_names(
    module: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> list[str]:
    """Returns a name for each leaf: the name of its argument, and the path in the argument."""
    if isinstance(module, fx.GraphModule):
        nodes = _nodes(module, "placeholder")
        if len(nodes) == len(pytree.tree_leaves((tuple(args), kwargs))):
            return [n.name for n in nodes]
    signature = signature_of(module)
    given = signature.bind(*args, **kwargs).arguments if signature else {"x": args} | kwargs
    paths = [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(given)[0]]
    return [re.sub(r"\W+", "_", path, flags=re.ASCII).strip("_") for path in paths]


def signature_of(module: Callable[..., Any]) -> inspect.Signature | None:
    """Returns the signature of a callable; None if unknown, as for functions in C."""
    try:
        return inspect.signature(module.forward if isinstance(module, torch.nn.Module) else module)
    except ValueError:
        return None


def _plain(path: str) -> str:
    """Converts `0.weight` to the name `p_0_weight`."""
    return "p_" + path.replace(".", "_")


def trace(fn: Callable[..., Any], inputs: Sequence[Any], mode: str) -> fx.GraphModule:
    """Traces a function with inputs to a functional graph, without gradients.

    Traces a second time if necessary: ops that are decomposed may show assignments only then.
    """
    made = traced_once(fn, inputs, mode)
    return made if is_functional(made) else traced_once(made, inputs, mode)


def traced_once(fn: Callable[..., Any], inputs: Sequence[Any], mode: str) -> fx.GraphModule:
    """Traces layers as common ops instead of whole oneDNN layers."""
    inputs = _in_one_mode(inputs)
    whole = _functionalized(fn)
    with torch.no_grad(), _without_mkldnn(), _allowing_real_constants(inputs), open_sizes(inputs):
        made = make_fx(whole, tracing_mode=mode, _allow_non_fake_inputs=True)(*inputs)
    made.graph.eliminate_dead_code()
    return made


def _functionalized(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that changes only its arguments, and these at its end.

    torch.func.functionalize treats composed ops as a whole, and loses their changes, and that a
    result may be an argument.
    """

    def call(*inputs: Any) -> Any:
        with FunctionalTensorMode():
            own = [_functional_tensor(i) for i in inputs]
            results = pytree.tree_map_only(FunctionalTensor, _plain_tensor, fn(*own))
        for given, now in zip(inputs, own, strict=True):
            if isinstance(now, FunctionalTensor):
                value = _plain_tensor(now)
                if value is not given:
                    given.copy_(value)
        return results

    return call


def _functional_tensor(value: Any) -> Any:
    return FunctionalTensor.to_functional(value) if isinstance(value, torch.Tensor) else value


def _plain_tensor(value: FunctionalTensor) -> torch.Tensor:
    torch._sync(value)
    return torch._from_functional_tensor(value.elem)


def _in_one_mode(inputs: Sequence[Any]) -> list[Any]:
    """Returns inputs whose fake tensors belong to one mode: the mode of the first one with symbolic
    sizes, or of the first one. Constants of a traced graph come from another mode than its
    arguments."""
    fakes = [i for i in inputs if isinstance(i, FakeTensor)]
    mode = next((f.fake_mode for f in fakes if any(map(is_open, f.shape))), None)
    mode = mode or next((f.fake_mode for f in fakes), None)

    def moved(value: Any) -> Any:
        if not isinstance(value, FakeTensor) or value.fake_mode is mode:
            return value
        with mode:
            return torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device=value.device
            )

    return [moved(i) for i in inputs]


@contextlib.contextmanager
def _allowing_real_constants(inputs: Sequence[Any]) -> Iterator[None]:
    """Allows a graph to contain real tensors besides fake inputs."""
    modes = {id(i.fake_mode): i.fake_mode for i in inputs if isinstance(i, FakeTensor)}
    before = [(mode, mode.allow_non_fake_inputs) for mode in modes.values()]
    for mode, _ in before:
        mode.allow_non_fake_inputs = True
    try:
        yield
    finally:
        for mode, allowed in before:
            mode.allow_non_fake_inputs = allowed


def _has_loop(module: fx.GraphModule) -> bool:
    return any(str(n.target) in _LOOPS for n in module.graph.nodes)


@contextlib.contextmanager
def _without_mkldnn() -> Iterator[None]:
    """Like torch.backends.mkldnn.flags, without its warnings about other devices."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


def needs_value(node: fx.Node) -> bool:
    """Whether the metadata of a node's value is used: not for assertions, and not for the
    assignments at the end of an exported program."""
    is_op = isinstance(node.target, torch._ops.OpOverload)
    if node.op != "call_function" or str(node.target) == "aten.copy_.default":
        return False
    return bool(node.target._schema.returns) if is_op else True


def require_values(module: fx.GraphModule, given: Iterable[Any]) -> None:
    """Finds dtypes and shapes in a graph that has none."""
    if all("val" in n.meta or not needs_value(n) for n in module.graph.nodes):
        return
    fakes = list(given)
    modes = [f.fake_mode for f in fakes if isinstance(f, FakeTensor)]
    mode = modes[0] if modes else FakeTensorMode()
    if mode.shape_env is None and _has_loop(module):
        mode.shape_env = ShapeEnv()  # loops run for unknown values
    FakeTensorProp(module, mode).propagate_dont_convert_inputs(*fakes)
