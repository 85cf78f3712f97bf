"""Costs of nodes and exchanges: from tables, from measurements, or from hardware parameters."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from .._errors import InvalidArgumentError
from ._step import COMPUTE, Exchange, Node

NANOSECONDS = 1e9


@dataclasses.dataclass(frozen=True)
class Link:
    """The speed of exchanges: a latency in seconds, and a bandwidth in bytes per second.

    Exchanges on links with the same `name` run one after the other.
    """

    latency: float = 1e-5
    bytes_per_second: float = 1e10
    name: str = ""

    def seconds(self, exchange: Exchange) -> float:
        rounds, share = wire(exchange.collective, exchange.ranks)
        return rounds * self.latency + share * exchange.bytes / self.bytes_per_second


def wire(collective: str, ranks: int) -> tuple[int, float]:
    """Returns the number of latencies of a collective with ring algorithms, and how often its bytes
    cross a link."""
    if ranks < 2:
        return 0, 0.0
    if collective == "all_reduce":
        return 2, 2 * (ranks - 1) / ranks
    if collective in ("reduce_scatter", "all_to_all"):
        return 1, (ranks - 1) / ranks
    if collective in ("all_gather", "broadcast"):
        return 1, float(ranks - 1)
    return 1, 1.0


@dataclasses.dataclass(frozen=True)
class Costs:
    """The costs of a step's nodes, in seconds. The first that is known is used: `nodes` by name,
    `sizes` by op and the sizes of its inputs ("aten.mm(8x8 f32, 8x8 f32)"), `ops` by op
    ("aten.mm"); otherwise the time of a machine with `flops` operations per second and a memory
    `bandwidth` in bytes per second, plus `launch` seconds for each node.

    `link` is the link of all groups except those in `groups`. `exchanges` has measured times of
    exchanges by node.
    """

    nodes: Mapping[str, float] = dataclasses.field(default_factory=dict)
    sizes: Mapping[str, float] = dataclasses.field(default_factory=dict)
    ops: Mapping[str, float] = dataclasses.field(default_factory=dict)
    link: Link = Link()
    groups: Mapping[str, Link] = dataclasses.field(default_factory=dict)
    exchanges: Mapping[str, float] = dataclasses.field(default_factory=dict)
    flops: float = 1e14
    bandwidth: float = 1e12
    launch: float = 0.0

    def node(self, node: Node) -> int:
        """Returns the compute time of a node in nanoseconds. Views, waits and starts take none."""
        if node.kind != COMPUTE:
            return 0
        for table, key in ((self.nodes, node.name), (self.sizes, f"{node.op}({node.sizes})"),
                           (self.ops, node.op)):  # fmt: skip
            if key in table:
                return _nanoseconds(table[key])
        work = max(node.moved / self.bandwidth, node.flops / self.flops)
        return _nanoseconds(work + self.launch if work else 0)

    def exchange(self, node: Node) -> int:
        """Returns the time of an exchange on its link in nanoseconds."""
        if node.name in self.exchanges:
            return _nanoseconds(self.exchanges[node.name])
        return _nanoseconds(self.link_of(node.exchange).seconds(node.exchange))

    def link_of(self, exchange: Exchange) -> Link:
        return self.groups.get(exchange.group, self.link)

    def copies(self, size: int) -> int:
        """Returns the nanoseconds for reading and writing `size` bytes."""
        return _nanoseconds(2 * size / self.bandwidth + self.launch)

    def text(self) -> str:
        return json.dumps(dataclasses.asdict(self), sort_keys=True, indent=1) + "\n"

    def to_file(self, path: str | pathlib.Path) -> None:
        pathlib.Path(path).write_text(self.text())

    @classmethod
    def from_file(cls, path: str | pathlib.Path) -> Costs:
        try:
            made = json.loads(pathlib.Path(path).read_text())
        except ValueError as error:
            raise InvalidArgumentError(f"{path} is not JSON: {error}") from None
        return cls.from_dict(made, str(path))

    @classmethod
    def from_dict(cls, made: Any, name: str = "the costs") -> Costs:
        """Reads costs from JSON: the attributes by name; `link` and `groups` have latency,
        bytes_per_second."""
        fields = {f.name: f for f in dataclasses.fields(cls)}
        if not isinstance(made, dict) or (unknown := sorted(set(made) - set(fields))):
            found = unknown if isinstance(made, dict) else type(made).__name__
            raise InvalidArgumentError(f"{name}: found {found}; expected {sorted(fields)}")
        read: dict[str, Any] = {}
        for key, value in made.items():
            where = f"{name}: '{key}'"
            if key == "link":
                read[key] = _link(value, where)
            elif key == "groups":
                read[key] = {g: _link(v, where) for g, v in _table(value, where).items()}
            elif key in ("flops", "bandwidth", "launch"):
                read[key] = _number(value, where, positive=key != "launch")
            else:
                table = _table(value, where)
                read[key] = {k: _number(v, f"{where} '{k}'") for k, v in table.items()}
        return cls(**read)

    @classmethod
    def merged(cls, parts: Iterable[Costs]) -> Costs:
        """Combines the costs of several ranks: the median of their measurements, independent of
        their order. Links are those of the slowest rank; for exchanges the shortest time is used,
        which includes no waiting."""
        parts = list(parts)
        if not parts:
            raise InvalidArgumentError("no costs to merge")
        latest: dict[str, Link] = {}
        for group in sorted({g for p in parts for g in p.groups}):
            latest[group] = _slowest([p.groups[group] for p in parts if group in p.groups])
        return cls(
            nodes=merged((item for p in parts for item in p.nodes.items()), statistics.median),
            sizes=merged((item for p in parts for item in p.sizes.items()), statistics.median),
            ops=merged((item for p in parts for item in p.ops.items()), statistics.median),
            exchanges=merged((item for p in parts for item in p.exchanges.items()), min),
            link=_slowest([p.link for p in parts]),
            groups=latest,
            flops=min(p.flops for p in parts),
            bandwidth=min(p.bandwidth for p in parts),
            launch=max(p.launch for p in parts),
        )


def _nanoseconds(seconds: float) -> int:
    return max(0, round(NANOSECONDS * seconds))


def merged(values: Iterable[tuple[str, float]], choose: Any) -> dict[str, float]:
    """Returns one value for each name: `choose` selects it from all its values in order of size."""
    found: dict[str, list[float]] = {}
    for key, value in values:
        found.setdefault(key, []).append(value)
    return {key: choose(sorted(values)) for key, values in sorted(found.items())}


def _slowest(links: list[Link]) -> Link:
    return Link(max(link.latency for link in links), min(link.bytes_per_second for link in links),
                min(link.name for link in links))  # fmt: skip


def _number(value: Any, what: str, positive: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidArgumentError(f"{what} is {value!r}; expected a number")
    if value < 0 or (positive and value == 0):
        raise InvalidArgumentError(f"{what} is {value}; expected a positive number")
    return float(value)


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{what} is {type(value).__name__}; expected a table")
    return value


def _link(value: Any, what: str) -> Link:
    table = _table(value, what)
    if unknown := sorted(set(table) - {"latency", "bytes_per_second", "name"}):
        raise InvalidArgumentError(f"{what} has {unknown}; expected latency, bytes_per_second")
    return Link(
        _number(table.get("latency", Link.latency), f"{what}, latency"),
        _number(table.get("bytes_per_second", Link.bytes_per_second), f"{what}, bytes_per_second",
                positive=True),
        str(table.get("name", "")),
    )  # fmt: skip
