"""The record of a step: its nodes, their dependencies, their costs and their memory.

It is independent of PyTorch: treadle.torch makes it from a graph, and files store it as JSON. The
order of the nodes is the schedule.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from .._errors import InvalidArgumentError

INPUT, COMPUTE, VIEW, START, WAIT, FREE, OUTPUT = KINDS = (
    "input",  # an argument or a parameter, available before the step
    "compute",
    "view",  # takes no time: the result is (a part of) its inputs
    "start",  # starts an exchange
    "wait",  # waits until it has ended
    "free",  # frees the memory of its input
    "output",
)

COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "send",
    "receive",
    "messages",  # several sends and receives
)


@dataclasses.dataclass(frozen=True)
class Exchange:
    """The exchange of a start with other ranks.

    Attributes:
        collective: one of COLLECTIVES.
        group: the name of the group of ranks.
        ranks: number of ranks in the group.
        bytes: the contribution of one rank.
        signature: anything else that must be the same on all ranks: dtype, elements, reduction,
            root.
        peers: for sends and receives, the other rank (an index in the group), once for each.
        tags: for sends and receives, with the peers: "send 0", "receive 0".
        joins: exchanges of one collective and group with the same text here can be combined (dtype
            and reduction: "float32 sum"); empty: it can't.
    """

    collective: str
    group: str
    ranks: int
    bytes: int
    signature: str = ""
    peers: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    joins: str = ""


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of a step.

    Attributes:
        inputs: nodes whose results it uses.
        after: nodes that it must follow for another reason.
        aliases: nodes whose memory its result shares.
        writes: nodes whose memory it changes.
        effects: its other side effects, by name. Nodes with the same effect keep their order.
        bytes: the memory of its result, unless it is shared.
        moved, flops: bytes that it reads and writes, and operations: its costs, if none are known.
        sizes: the shapes and dtypes of its inputs, by which traces identify its cost.
    """

    name: str
    op: str = ""
    kind: str = COMPUTE
    inputs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    bytes: int = 0
    moved: int = 0
    flops: int = 0
    sizes: str = ""
    exchange: Exchange | None = None


_DEFAULTS = {f.name: f.default for f in dataclasses.fields(Node)}
_LISTS = ("inputs", "after", "aliases", "writes", "effects")
_NUMBERS = ("bytes", "moved", "flops")


class Step:
    """Nodes in the order in which they are issued, and the ranks of each group."""

    def __init__(self, nodes: Iterable[Node], groups: Mapping[str, Iterable[int]] | None = None):
        self.nodes = list(nodes)
        self.groups = {name: tuple(ranks) for name, ranks in (groups or {}).items()}
        self.index = {node.name: i for i, node in enumerate(self.nodes)}
        if len(self.index) < len(self.nodes):
            twice = next(n.name for i, n in enumerate(self.nodes) if self.index[n.name] != i)
            raise InvalidArgumentError(f"two nodes of the step are named '{twice}'")
        for node in self.nodes:
            _check_node(node, self.index)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, name: str) -> Node:
        if name not in self.index:
            raise InvalidArgumentError(f"the step has no node '{name}'")
        return self.nodes[self.index[name]]

    def exchanges(self) -> list[Node]:
        return [node for node in self.nodes if node.kind == START]

    def reordered(self, order: Iterable[str]) -> Step:
        """Returns a step with the same nodes in another order."""
        names = list(order)
        if sorted(names) != sorted(self.index):
            raise InvalidArgumentError("the order doesn't have each node of the step once")
        return Step([self[name] for name in names], self.groups)

    def text(self) -> str:
        """Returns JSON with one node a line."""
        head = json.dumps({"treadle_step": 1, "groups": self.groups}, sort_keys=True)
        lines = ",\n".join(json.dumps(_written(n), sort_keys=True) for n in self.nodes)
        return f'{head[:-1]}, "nodes": [\n{lines}\n]}}\n'

    def to_file(self, path: str | pathlib.Path) -> None:
        pathlib.Path(path).write_text(self.text())

    @classmethod
    def from_file(cls, path: str | pathlib.Path) -> Step:
        return cls.from_text(pathlib.Path(path).read_text(), str(path))

    @classmethod
    def from_text(cls, text: str, name: str = "the step") -> Step:
        try:
            made = json.loads(text)
        except ValueError as error:
            raise InvalidArgumentError(f"{name} is not JSON: {error}") from None
        if not isinstance(made, dict) or made.get("treadle_step") != 1:
            raise InvalidArgumentError(f'{name} is not a step: expected "treadle_step": 1')
        nodes = made.get("nodes")
        if not isinstance(nodes, list):
            raise InvalidArgumentError(f"{name} has no list of nodes")
        return cls([_read(node, name) for node in nodes], _read_groups(made.get("groups"), name))

    def digest(self) -> str:
        """Returns a hash of the step that is the same on all ranks: it excludes names of groups and
        indices of peers, which differ."""
        numbers: dict[str, int] = {}
        lines = []
        for node in self.nodes:
            written = _written(node)
            if node.exchange:
                group = numbers.setdefault(node.exchange.group, len(numbers))
                written["exchange"].update(group=group, peers=(), signature="")
            lines.append(json.dumps(written, sort_keys=True))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _check_node(node: Node, index: Mapping[str, int]) -> None:
    if node.kind not in KINDS:
        raise InvalidArgumentError(f"node '{node.name}' has kind '{node.kind}', not one of {KINDS}")
    for used in (*node.inputs, *node.after, *node.aliases, *node.writes):
        if used not in index:
            raise InvalidArgumentError(f"node '{node.name}' uses '{used}', which isn't in the step")
    if min(node.bytes, node.moved, node.flops) < 0:
        raise InvalidArgumentError(f"node '{node.name}' has a negative size")
    exchange = node.exchange
    if (node.kind == START) != (exchange is not None):
        raise InvalidArgumentError(
            f"node '{node.name}': a start node must have an exchange, and other nodes must not"
        )
    if not exchange:
        return
    if exchange.collective not in COLLECTIVES:
        raise InvalidArgumentError(
            f"node '{node.name}': unknown collective '{exchange.collective}'"
        )
    if exchange.ranks < 1 or exchange.bytes < 0:
        raise InvalidArgumentError(f"node '{node.name}' has a group or a size below zero")
    if len(exchange.peers) != len(exchange.tags):
        raise InvalidArgumentError(f"node '{node.name}' has different numbers of peers and tags")


def _written(node: Node) -> dict[str, Any]:
    """Returns the fields that differ from their defaults."""
    made: dict[str, Any] = {}
    for key, default in _DEFAULTS.items():
        value = getattr(node, key)
        if value != default:
            made[key] = dict(vars(value)) if key == "exchange" else value
    return made


def _checked(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidArgumentError(f"{what} is {value!r}; expected {kind.__name__}")
    return value


def _read_list(value: Any, kind: type, what: str) -> tuple[Any, ...]:
    return tuple(_checked(item, kind, what) for item in _checked(value, list, what))


def _read(made: Any, file: str) -> Node:
    fields = dict(_checked(made, dict, f"{file}: a node"))
    what = f"{file}: node {fields.get('name')!r}"
    if "name" not in fields or (unknown := set(fields) - set(_DEFAULTS)):
        raise InvalidArgumentError(f"{what} has no name, or unknown fields: {unknown}"
                                   if "name" in fields else f"{what} has no name")  # fmt: skip
    for key, value in fields.items():
        where = f"{what}, '{key}'"
        if key in _LISTS:
            fields[key] = _read_list(value, str, where)
        elif key in _NUMBERS:
            fields[key] = _checked(value, int, where)
        elif key == "exchange":
            fields[key] = _read_exchange(value, where)
        else:
            fields[key] = _checked(value, str, where)
    return Node(**fields)


def _read_exchange(made: Any, what: str) -> Exchange:
    fields = dict(_checked(made, dict, what))
    kinds = {"collective": str, "group": str, "ranks": int, "bytes": int, "signature": str,
             "joins": str}  # fmt: skip
    lists = {"peers": int, "tags": str}
    if not {"collective", "group", "ranks", "bytes"} <= set(fields) <= {*kinds, *lists}:
        raise InvalidArgumentError(f"{what} has {sorted(fields)}; expected {sorted(kinds)}")
    for key, value in fields.items():
        where = f"{what}, '{key}'"
        kind = kinds.get(key)
        fields[key] = _checked(value, kind, where) if kind else _read_list(value, lists[key], where)
    return Exchange(**fields)


def _read_groups(made: Any, file: str) -> dict[str, tuple[int, ...]]:
    groups = _checked(made or {}, dict, f"{file}: groups")
    return {name: _read_list(ranks, int, f"{file}: group '{name}'")
            for name, ranks in groups.items()}  # fmt: skip
