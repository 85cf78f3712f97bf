"""Graph modules of any kind as functional graphs of OpOverloads."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from .._errors import UnimplementedError

# What Python computes with dimensions; values of a graph know the operators.
SCALAR_OPS: dict[Any, Callable[..., Any]] = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mul: operator.mul,
    operator.floordiv: operator.floordiv,
    operator.mod: operator.mod,
    operator.neg: operator.neg,
    operator.truediv: operator.truediv,
    operator.pow: operator.pow,
    operator.ge: operator.ge,
    operator.gt: operator.gt,
    operator.le: operator.le,
    operator.lt: operator.lt,
    operator.eq: operator.eq,
    operator.ne: operator.ne,
}


def is_functional(module: fx.GraphModule) -> bool:
    """Whether all nodes are ops that change nothing, but for assignments to arguments."""
    return all(_is_functional(n) for n in module.graph.nodes)


# Changes the running statistics that it is given, and its schema doesn't say so.
_SECRETIVE = {"aten.native_batch_norm.default"}


# Ops that graphs are arguments of.
_WITH_BODIES = {"control_deps", "cond", "while_loop"}


def _is_functional(node: fx.Node) -> bool:
    if node.op in ("placeholder", "output", "get_attr"):
        return True
    if node.op != "call_function":
        return False
    target = node.target
    if target is operator.getitem or target in SCALAR_OPS or str(target) in _WITH_BODIES:
        return True
    if not isinstance(target, torch._ops.OpOverload):
        return isinstance(target, type) and issubclass(target, tuple)
    if str(target) == "aten.copy_.default":
        return node.args[0].op in ("placeholder", "get_attr")
    return not target._schema.is_mutable


def functional(
    module: fx.GraphModule, example_inputs: Sequence[Any], *, dynamic: bool
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """The module as a functional graph, and the tensors of the module that are its first
    arguments."""
    if is_functional(module) and not any(str(n.target) in _SECRETIVE for n in module.graph.nodes):
        require_values(module, _fake(example_inputs))
        return module, []
    if any(str(n.target) == "control_deps" for n in module.graph.nodes):
        raise UnimplementedError(
            "control_deps beside modules, methods or functions that change tensors; expected a "
            "graph of ops alone"
        )
    return _with_state(module, example_inputs, dynamic)


def _fake(inputs: Sequence[Any]) -> list[Any]:
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    return [
        mode.from_tensor(i, static_shapes=True) if isinstance(i, torch.Tensor) else i
        for i in inputs
    ]


def _with_state(
    module: fx.GraphModule, example_inputs: Sequence[Any], dynamic: bool
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    tensors = [t.detach() for t in state.values()]

    def call(*args: Any) -> Any:
        named = dict(zip(state, args, strict=False))
        return torch.func.functional_call(module, named, args[len(state) :])

    made = trace(call, [*tensors, *example_inputs], "symbolic" if dynamic else "fake")
    arguments = [n.name for n in module.graph.nodes if n.op == "placeholder"]
    placeholders = [n for n in made.graph.nodes if n.op == "placeholder"]
    for node, name in zip(placeholders, [*map(_plain, state), *arguments], strict=False):
        node._rename(name)
    return made, list(state.values())


def _plain(path: str) -> str:
    """`0.weight` as a name: `p_0_weight`."""
    return "p_" + path.replace(".", "_")


def trace(fn: Callable[..., Any], inputs: Sequence[Any], mode: str) -> fx.GraphModule:
    """What a function does with inputs, as a functional graph, without gradients.

    A second time where it has to be: ops that are made of others may show assignments only then.
    Layers are traced as ops that everybody knows, in place of whole ones of oneDNN's.
    """
    made = None
    for _ in range(2):
        whole = torch.func.functionalize(made or fn, remove="mutations")
        with torch.no_grad(), _without_mkldnn():
            made = make_fx(whole, tracing_mode=mode, _allow_non_fake_inputs=True)(*inputs)
        made.graph.eliminate_dead_code()
        if is_functional(made):
            break
    return made


@contextlib.contextmanager
def _without_mkldnn() -> Iterator[None]:
    """torch.backends.mkldnn.flags says the same, and warns of what other devices lack."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


def require_values(module: fx.GraphModule, given: Iterable[Any]) -> None:
    """Finds dtypes and shapes in a graph that has none."""
    calls = [n for n in module.graph.nodes if n.op == "call_function"]
    if all("val" in n.meta for n in calls):
        return
    fakes = list(given)
    modes = [f.fake_mode for f in fakes if isinstance(f, FakeTensor)]
    FakeTensorProp(module, modes[0] if modes else FakeTensorMode()).propagate_dont_convert_inputs(
        *fakes
    )
