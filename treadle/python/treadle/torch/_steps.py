"""Converts a graph of PyTorch to a step, which treadle.steps plans, checks and simulates."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry

from .._errors import InvalidArgumentError, UnimplementedError
from ..steps import Exchange, Node, Step
from ..steps._buckets import JOINED
from ..steps._step import COMPUTE, FREE, INPUT, OUTPUT, START, VIEW, WAIT
from ._ordered import body_of

Ranks = int | Mapping[str, Sequence[int]] | None
Sizes = Mapping[str, tuple[int, int]]

_EXCHANGES = {
    "all_reduce": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "isend": "send",
    "irecv": "receive",
    "batch_p2p_ops": "messages",
}
_WAITS = "wait_tensor", "wait_tensors"
# Ops whose results share memory, regardless of their schemas. Other ops copy tensors that are not
# contiguous.
_SHARE = {"aten._unsafe_view", "aten.alias"}
_MAY_COPY = {"aten.reshape", "aten.contiguous", "aten.flatten", "aten.to"}


def step_of(
    graph_module: torch.fx.GraphModule, *, ranks: Ranks = None, sizes: Sizes | None = None
) -> Step:
    """Returns the step of a graph: the record for planning and for files.

    Args:
        graph_module: a graph of torch.ops, as made by make_fx, torch.compile and inductor.
        ranks: the number of ranks, if all are in one group; or the ranks of each group by its name.
            Without, torch.distributed must be initialized.
        sizes: for symbols of the graph's shapes, by name, the smallest and the largest size. The
            largest is used for memory, and one in between for time.
    """
    return _Reader(graph_module, ranks, sizes or {}).step()


class _Call(NamedTuple):
    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    after: tuple[torch.fx.Node, ...] = ()


class _Reader:
    def __init__(self, module: torch.fx.GraphModule, ranks: Ranks, sizes: Sizes):
        self.module, self.ranks = module, ranks
        self.numbers = _Numbers(sizes)
        self.groups: dict[str, tuple[int, ...]] = {}

    def step(self) -> Step:
        return Step([self.node(node) for node in self.module.graph.nodes], self.groups)

    def node(self, node: torch.fx.Node) -> Node:
        if node.op in ("placeholder", "get_attr"):
            return Node(node.name, kind=INPUT, bytes=self.bytes(self.value(node)))
        if node.op == "output":
            return Node(node.name, kind=OUTPUT, inputs=_names(node.args))
        if node.op != "call_function":
            raise UnimplementedError(
                f"node '{node.name}' is a {node.op}; expected a graph of torch.ops, as make_fx, "
                "torch.compile and inductor's passes use",
                node=node.name,
            )
        call = self.unwrapped(node)
        name = op_name(call.target)
        if name.startswith("c10d."):
            raise UnimplementedError(
                f"node '{node.name}' ({name}) isn't a functional collective; expected "
                "torch.ops._c10d_functional",
                node=node.name,
            )
        return self.described(node, call, name)

    def value(self, node: torch.fx.Node) -> Any:
        if "val" in node.meta:
            return node.meta["val"]
        if node.op == "get_attr":
            found = self.module
            for part in str(node.target).split("."):
                found = getattr(found, part)
            return found
        return node.meta.get("example_value")

    def unwrapped(self, node: torch.fx.Node) -> _Call:
        """Returns the callee of a node. For control_deps it is the op in its graph."""
        if str(node.target) != "control_deps":
            return _Call(node.target, node.args, node.kwargs)
        body, operands = body_of(self.module, node)
        places = dict(zip(body.graph.find_nodes(op="placeholder"), operands, strict=True))
        inner, *more = (n for n in body.graph.nodes if n.op == "call_function")
        if more:
            raise UnimplementedError(
                f"node '{node.name}': control_deps of {1 + len(more)} ops; expected one",
                node=node.name,
            )
        args, kwargs = tree_map_only(
            torch.fx.Node, lambda n: places[n], (inner.args, dict(inner.kwargs))
        )
        return _Call(inner.target, args, kwargs, tuple(node.args[0]))

    def described(self, node: torch.fx.Node, call: _Call, name: str) -> Node:
        inputs = _names((call.args, call.kwargs))
        writes, aliases = self.shared(call, name)
        after = tuple(n for n in _names(call.after) if n not in inputs)
        made = Node(node.name, name, COMPUTE, inputs, after, aliases, writes)
        namespace, _, short = name.partition(".")
        if namespace == "_c10d_functional":
            return self.exchange(node, call, made, short)
        values = [self.value(n) for n in _nodes((call.args, call.kwargs))]
        result = self.value(node)
        copies = name in _MAY_COPY and not (name != "aten.to" and _in_order(values[0]))
        if aliases and not writes and not copies:
            return dataclasses.replace(made, kind=VIEW)
        if short == "resize_storage_bytes_":
            changes = {"kind": FREE} if call.args[1] == 0 else {"op": "resize"}
            return dataclasses.replace(made, **changes)
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        return dataclasses.replace(
            made,
            effects=_effects(node, call, writes),
            bytes=0 if aliases else self.bytes(result),
            moved=self.bytes([*tensors, *tree_leaves(result)], typical=True),
            flops=self.flops(call, result),
            sizes=", ".join(self.shape(t) for t in tensors if t.dim()),
        )

    def shared(self, call: _Call, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the nodes whose memory a call changes, and the nodes whose memory its result
        shares."""
        if call.target is operator.getitem or name in _SHARE:
            return (), _names(call.args[:1])
        short = name.removeprefix("_c10d_functional.")
        if short in _WAITS or short == "isend":
            return (), _names(call.args[:1])
        if short == "fsdp.all_gather_copy_in":  # copies into a part of its second argument
            return _names(call.args[1:2]), _names(call.args[1:2])
        if short == "inductor.resize_storage_bytes_":
            return _names(call.args[:1]), ()
        if short == "irecv":
            return _names(call.args[:1]), _names(call.args[:1])
        if short == "batch_p2p_ops":
            received = [t for op, t in zip(call.args[0], call.args[3], strict=True)
                        if op == "irecv"]  # fmt: skip
            return _names(received), _names(call.args[3])
        schema = getattr(call.target, "_schema", None)
        writes: list[torch.fx.Node] = []
        aliases: list[torch.fx.Node] = []
        returned = {a for r in schema.returns if r.alias_info
                    for a in r.alias_info.before_set} if schema else set()  # fmt: skip
        for argument, value in _bound(schema, call) if schema else ():
            if argument.alias_info is None:
                continue
            if argument.alias_info.is_write:
                writes += _nodes(value)
            if returned & set(argument.alias_info.before_set):
                aliases += _nodes(value)
        return _names(writes), _names(aliases)

    def exchange(self, node: torch.fx.Node, call: _Call, made: Node, short: str) -> Node:
        if short in _WAITS:
            return dataclasses.replace(made, kind=WAIT)
        plain = short.removesuffix("_").removesuffix("_out").removesuffix("_coalesced")
        if plain not in _EXCHANGES:
            raise UnimplementedError(f"node '{node.name}': unknown exchange {short}",
                                     node=node.name)  # fmt: skip
        said = {a.name: v for a, v in _bound(call.target._schema, call)}
        group = str(said["group_name"])
        members = self.members(group, said.get("group_size"), node)
        sent = said.get("inputs", said.get("tensors", said.get("input", said.get("tensor"))))
        tensors = [self.value(n) for n in _nodes(sent)]
        peers, tags = _messages(plain, said)
        result = self.value(node)
        reduction = str(said.get("reduce_op", said.get("src", "") if not peers else ""))
        shapes = [f"{_dtype(t)} {self.shape(t)}" for t in tensors]
        details = shapes if plain != "all_to_all_single" else [_dtype(t) for t in tensors]
        kind = _EXCHANGES[plain]
        wrapped = node.target is not call.target
        alone = kind not in JOINED or short != plain or wrapped or self.symbolic(tensors)
        exchange = Exchange(
            kind,
            group,
            len(members),
            self.bytes(tensors, typical=True),
            " ".join([*details, reduction]).strip(),
            peers,
            tags,
            "" if alone else f"{_dtype(tensors[0])} {reduction}".strip(),
        )
        size = 0 if made.aliases else self.bytes(result)
        return dataclasses.replace(made, kind=START, bytes=size, exchange=exchange)

    def members(self, group: str, size: Any, node: torch.fx.Node) -> tuple[int, ...]:
        if group not in self.groups:
            self.groups[group] = self._members(group, node)
        found = self.groups[group]
        if size is not None and size != len(found):
            raise InvalidArgumentError(
                f"node '{node.name}': group '{group}' has {size} ranks in the graph, but 'ranks' "
                f"lists {list(found)}; 'ranks' must list each group's ranks",
                node=node.name,
            )
        return found

    def _members(self, group: str, node: torch.fx.Node) -> tuple[int, ...]:
        if isinstance(self.ranks, int):
            return tuple(range(self.ranks))
        if self.ranks is not None:
            if group not in self.ranks:
                raise InvalidArgumentError(f"node '{node.name}': 'ranks' has no group '{group}'",
                                           node=node.name)  # fmt: skip
            return tuple(self.ranks[group])
        try:
            found = dist.distributed_c10d._resolve_process_group(group)
        except (LookupError, RuntimeError, ValueError):
            raise InvalidArgumentError(
                f"node '{node.name}': there is no process group '{group}'; initialize "
                "torch.distributed, or list its ranks in 'ranks'",
                node=node.name,
            ) from None
        return tuple(dist.get_process_group_ranks(found))

    def bytes(self, values: Any, typical: bool = False) -> int:
        tensors = [v for v in tree_leaves(values) if isinstance(v, torch.Tensor)]
        return sum(self.numbers.of(t.numel(), typical) * t.element_size() for t in tensors)

    def shape(self, tensor: torch.Tensor) -> str:
        return "x".join(str(self.numbers.of(size, typical=True)) for size in tensor.shape)

    def symbolic(self, tensors: Iterable[torch.Tensor]) -> bool:
        return any(not isinstance(s, int) for t in tensors for s in t.shape)

    def flops(self, call: _Call, result: Any) -> int:
        counted = flop_registry.get(getattr(call.target, "overloadpacket", None))
        if counted is None:
            return 0
        args, kwargs = tree_map_only(torch.fx.Node, self.value, (call.args, dict(call.kwargs)))
        return self.numbers.of(counted(*args, **kwargs, out_val=result), typical=True)


class _Numbers:
    """Numeric sizes. Symbols get a size from their ranges, so that all ranks use the same one."""

    def __init__(self, sizes: Sizes):
        self.sizes = sizes
        self.found: dict[tuple[str, bool], int] = {}

    def of(self, size: Any, typical: bool = False) -> int:
        if isinstance(size, int):
            return size
        expression = size.node.expr
        key = str(expression), typical
        if key not in self.found:
            ranges = size.node.shape_env.var_to_range
            values = {s: self._value(s, ranges, typical) for s in expression.free_symbols}
            self.found[key] = int(expression.subs(values))
        return self.found[key]

    def _value(self, symbol: Any, ranges: Any, typical: bool) -> int:
        name = str(symbol)
        if name in self.sizes:
            low, high = self.sizes[name]
        else:
            known = ranges.get(symbol)
            low, high = (known.lower, known.upper) if known else (0, None)
        try:
            low, high = int(low), int(high)
        except (TypeError, ValueError, OverflowError, AttributeError):
            high = 1 << 62
        if high >= 1 << 40:
            raise InvalidArgumentError(
                f"size {name} has no upper bound; pass sizes={{'{name}': (low, high)}}"
            )
        if not 0 <= low <= high:
            raise InvalidArgumentError(f"size {name} is from {low} to {high}")
        return round((max(low, 1) * high) ** 0.5) if typical else high


def op_name(target: Any) -> str:
    """Returns the name of an op without its overload: "aten.mm"."""
    if isinstance(target, torch._ops.OpOverload):
        return str(target.overloadpacket)
    return getattr(target, "__name__", str(target))


def _in_order(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_contiguous()


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _nodes(values: Any) -> list[torch.fx.Node]:
    found: dict[torch.fx.Node, None] = {}
    torch.fx.node.map_arg(values, lambda n: found.setdefault(n))
    return list(found)


def _names(values: Any) -> tuple[str, ...]:
    return tuple(node.name for node in _nodes(values))


def _bound(schema: Any, call: _Call) -> Iterable[tuple[Any, Any]]:
    """Returns the arguments of an op by name."""
    for place, argument in enumerate(schema.arguments):
        if not argument.kwarg_only and place < len(call.args):
            yield argument, call.args[place]
        elif argument.name in call.kwargs:
            yield argument, call.kwargs[argument.name]
        elif argument.has_default_value():
            yield argument, argument.default_value


def _messages(plain: str, said: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    if plain == "isend":
        return (said["dst"],), (f"send {said['tag']}",)
    if plain == "irecv":
        return (said["src"],), (f"receive {said['tag']}",)
    if plain != "batch_p2p_ops":
        return (), ()
    ways = ["send" if op == "isend" else "receive" for op in said["op_list"]]
    tags = tuple(f"{way} {tag}" for way, tag in zip(ways, said["tag_list"], strict=True))
    return tuple(said["peer_list"]), tags


def _effects(node: torch.fx.Node, call: _Call, writes: Sequence[str]) -> tuple[str, ...]:
    if torch.Tag.nondeterministic_seeded in getattr(call.target, "tags", ()):
        return ("random numbers",)
    wrapped = str(node.target) == "control_deps"
    schema = getattr(call.target, "_schema", None)
    for_effect = schema is not None and not schema.returns
    if not writes and (for_effect or (not wrapped and node.is_impure())):
        return ("world",)
    return ()
