"""Simulates a step with other numbers of ranks, links or buckets, or a slow rank."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .._errors import InvalidArgumentError, UnimplementedError
from ._costs import Costs, Link
from ._plan import plan
from ._problem import Problem
from ._step import COMPUTE, START, WAIT, Exchange, Step


@dataclasses.dataclass(frozen=True)
class Topology:
    """Ranks in machines that are connected by a switch.

    Attributes:
        per_machine: number of ranks in a machine.
        inside: the link between ranks of a machine.
        between: the link between machines; its bandwidth is that of a whole machine.
    """

    per_machine: int
    inside: Link
    between: Link

    def __post_init__(self) -> None:
        if self.per_machine < 1:
            raise InvalidArgumentError(f"{self.per_machine} ranks per machine; expected 1 or more")

    def seconds(self, exchange: Exchange, members: Sequence[int]) -> float:
        """Returns the time of an exchange: first inside of each machine, then between machines."""
        machines: dict[int, int] = {}
        for rank in members:
            at = rank // self.per_machine
            machines[at] = machines.get(at, 0) + 1
        here, there = max(machines.values()), len(machines)
        size, kind = exchange.bytes, exchange.collective
        inner, outer = size, size
        if kind == "all_gather":  # a machine sends the data of all its ranks
            outer, inner = size * here, size * there
        elif kind == "all_to_all":
            outer = size * here
        near = dataclasses.replace(exchange, ranks=here, bytes=inner)
        far = dataclasses.replace(exchange, ranks=there, bytes=outer)
        return self.inside.seconds(near) + self.between.seconds(far)


@dataclasses.dataclass(frozen=True)
class Bar:
    """An interval on the first rank. `lane` is "computing" or the name of a link."""

    lane: str
    name: str
    begin: float
    end: float


@dataclasses.dataclass(frozen=True)
class Case:
    """The result of one simulation.

    Attributes:
        ranks, bucket: the parameters of the case.
        seconds: the time until the last rank has completed its step.
        computing, communication: means over ranks; exposed: the communication that computation
            waits for.
        bars: the intervals of the first rank.
    """

    ranks: int
    bucket: int
    seconds: float
    computing: float
    communication: float
    exposed: float
    bars: tuple[Bar, ...] = dataclasses.field(repr=False)

    @property
    def hidden(self) -> float:
        """The fraction of the communication that computation hides."""
        shown = min(self.exposed, self.communication)
        return 1 - shown / self.communication if self.communication else 1.0


@dataclasses.dataclass(frozen=True)
class Simulation:
    """The cases, in the order in which they were requested."""

    cases: tuple[Case, ...]

    def table(self) -> str:
        """Returns a Markdown table: one row for each case, times in ms."""
        lines = [
            "| ranks | bucket, MB | step | computing | communication | hidden |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for c in self.cases:
            bucket = f"{c.bucket / 1e6:g}" if c.bucket else "as given"
            times = " | ".join(f"{1e3 * t:.3f}" for t in (c.seconds, c.computing, c.communication))
            lines.append(f"| {c.ranks} | {bucket} | {times} | {100 * c.hidden:.0f}% |")
        return "\n".join(lines) + "\n"

    def picture(self, *titles: str) -> str:
        """Draws the cases as timelines of their first ranks, one below the other: an SVG image."""
        from ._picture import picture

        names = titles or [f"{c.ranks} ranks: {1e3 * c.seconds:.3f} ms" for c in self.cases]
        return picture(list(zip(names, self.cases, strict=True)))

    def __add__(self, other: Simulation) -> Simulation:
        return Simulation(self.cases + other.cases)


def simulate(
    step: Step,
    costs: Costs,
    *,
    ranks: int | Iterable[int] | None = None,
    buckets: Iterable[int] = (0,),
    memory: int | None = None,
    topology: Topology | None = None,
    jitter: float = 0.0,
    slow: Mapping[int, float] | None = None,
) -> Simulation:
    """Simulates a step, in its order, on ranks that all run it.

    Args:
        ranks: one case for each number of ranks. Groups with all of the step's ranks grow with it,
            and the result of an all-gather keeps its size; smaller groups keep their size, and
            their number grows.
        buckets: 0 is the step as it is; for other numbers it is planned again, with buckets of that
            many bytes, and within `memory`.
        topology: machines, instead of the costs' links.
        jitter: each node takes up to that fraction longer, by random numbers with a fixed seed.
        slow: ranks whose computation is slower, with the factor.
    """
    if any(node.exchange and node.exchange.peers for node in step.nodes):
        raise UnimplementedError(
            "the step sends to single ranks, which run different graphs; simulate requires one "
            "graph for all ranks"
        )
    if not 0 <= jitter < math.inf or any(not 0 < f < math.inf for f in (slow or {}).values()):
        raise InvalidArgumentError(
            "jitter must be 0 or more, and the factor of a slow rank above 0"
        )
    known = _world(step)
    numbers = [known] if ranks is None else [ranks] if isinstance(ranks, int) else list(ranks)
    cases = []
    for bucket in buckets:
        taken = step
        if bucket:
            taken = plan(step, costs, bucket=bucket, memory=memory).step(step)
        cases += [_Run(taken, costs, n, known, topology, jitter, slow or {}).case(bucket)
                  for n in numbers]  # fmt: skip
    return Simulation(tuple(cases))


def _world(step: Step) -> int:
    return max((node.exchange.ranks for node in step.exchanges()), default=1)


class _Run:
    """All ranks at once: a time is an array with one number for each rank."""

    def __init__(
        self,
        step: Step,
        costs: Costs,
        ranks: int,
        known: int,
        topology: Topology | None,
        jitter: float,
        slow: Mapping[int, float],
    ):
        if ranks < 1 or any(not 0 <= r < ranks for r in slow):
            raise InvalidArgumentError(f"{ranks} ranks, slow ones {sorted(slow)}: no such rank")
        self.step, self.costs, self.ranks, self.known = step, costs, ranks, known
        self.topology, self.jitter = topology, jitter
        self.problem = Problem(step, costs)
        self.factor = np.ones(ranks)
        for rank, factor in slow.items():
            self.factor[rank] = factor
        self.random = np.random.default_rng(0)
        self.members = {e.group: self._members(e) for e in (n.exchange for n in step.exchanges())}

    def _members(self, exchange: Exchange) -> np.ndarray:
        """Returns the groups of this kind: a row of ranks for each."""
        named = self.step.groups.get(exchange.group, ())
        stride = named[1] - named[0] if len(named) > 1 else 1
        if exchange.ranks == self.known:
            return np.arange(self.ranks)[None, :]
        size = exchange.ranks
        if self.ranks % (size * stride):
            raise InvalidArgumentError(
                f"{self.ranks} ranks can't be divided into groups of {size} with stride {stride} "
                f"(group '{exchange.group}')"
            )
        blocks = np.arange(self.ranks).reshape(-1, size, stride)
        return blocks.swapaxes(1, 2).reshape(-1, size)

    def _duration(self, i: int, members: np.ndarray) -> float:
        node = self.step.nodes[i]
        exchange = dataclasses.replace(node.exchange, ranks=members.shape[1])
        if exchange.collective == "all_gather":
            # Shards get smaller with more ranks: the gathered result keeps its size.
            size = exchange.bytes * node.exchange.ranks // exchange.ranks
            exchange = dataclasses.replace(exchange, bytes=size)
        if self.topology:
            return self.topology.seconds(exchange, members[0].tolist())
        if exchange.ranks == node.exchange.ranks:
            return self.costs.exchange(node) / 1e9
        return self.costs.link_of(exchange).seconds(exchange)

    def case(self, bucket: int) -> Case:
        problem, n = self.problem, self.ranks
        now = np.zeros(n)
        free = [np.zeros(n) for _ in problem.links]
        done: dict[int, np.ndarray] = {}
        computing, communication, exposed = np.zeros(n), np.zeros(n), np.zeros(n)
        bars = []
        for i, node in enumerate(self.step.nodes):
            if node.kind == START:
                members = self.members[node.exchange.group]
                link = problem.link[i]
                seconds = self._duration(i, members) * (1 + self.jitter * self.random.random())
                begin = np.maximum(now, free[link])[members].max(axis=1, keepdims=True)
                end = np.empty(n)
                end[members] = begin + seconds
                done[i] = free[link] = end
                communication += seconds
                bars.append(Bar(problem.links[link] or "link", node.name, begin[0, 0], end[0]))
            elif node.kind == WAIT:
                until = np.max([now, *(done[s] for s in problem.starts[i])], axis=0)
                exposed += until - now
                now = until
            elif node.kind == COMPUTE and problem.cost[i]:
                spent = problem.cost[i] / 1e9 * self.factor
                spent = spent * (1 + self.jitter * self.random.random(n))
                bars.append(Bar("computing", node.name, now[0], now[0] + spent[0]))
                computing += spent
                now = now + spent
        seconds = float(max(now.max(), *(f.max() for f in free), 0.0))
        means = (float(x.mean()) for x in (computing, communication, exposed))
        return Case(n, bucket, seconds, *means, tuple(bars))
