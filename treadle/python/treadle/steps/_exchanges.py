"""The exchanges of all ranks, matched with each other."""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._errors import InvalidArgumentError
from ._edges import Memory
from ._step import START, Node, Step


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a schedule.

    Attributes:
        kind: "order", "not waited for", "changed in flight", "freed", "memory", "effects",
            "exchanges differ", "nobody comes", "circle".
        ranks: the ranks with the fault.
        message: a description.
        trace: the shortest part of the schedules that shows the fault, one line for each node.
    """

    kind: str
    ranks: tuple[int, ...]
    message: str
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        ranks = ", ".join(map(str, self.ranks))
        lines = [f"{self.kind} (rank {ranks}): {self.message}", *(f"    {t}" for t in self.trace)]
        return "\n".join(lines)


def line_of(step: Step, i: int) -> str:
    node = step.nodes[i]
    group = f", group {node.exchange.group}" if node.exchange else ""
    return f"{i}: {node.name} ({node.op or node.kind}{group})"


class Key(NamedTuple):
    """The identity of an exchange: the n-th collective of some ranks, or the n-th message of a pair
    of ranks."""

    what: str  # "collective" or "message", the group, a tag; or "issued": a rank's own
    ranks: tuple[int, ...]
    number: int


class Event(NamedTuple):
    posts: bool  # reaches the exchanges; otherwise waits for their end
    keys: tuple[Key, ...]
    node: int


class Exchanges:
    """The exchanges of each rank, in its order."""

    def __init__(self, steps: Mapping[int, Step]):
        self.steps = dict(sorted(steps.items()))
        self.events: dict[int, list[Event]] = {}
        self.nodes: dict[tuple[Key, int], int] = {}
        for rank, step in self.steps.items():
            self.events[rank] = list(self._read(rank, step))

    def _read(self, rank: int, step: Step) -> Iterator[Event]:
        counts: Counter[tuple[str, tuple[int, ...]]] = Counter()
        starts = Memory(step).starts
        keys: dict[int, tuple[Key, ...]] = {}
        for i, node in enumerate(step.nodes):
            if node.kind == START:
                keys[i] = tuple(self._keys(rank, step, node, counts))
                self.nodes.update({(key, rank): i for key in keys[i]})
                yield Event(True, keys[i], i)
            elif starts[i]:
                yield Event(False, tuple(k for s in starts[i] for k in keys.get(s, ())), i)

    def _keys(self, rank: int, step: Step, node: Node, counts: Counter[Any]) -> Iterator[Key]:
        ranks = self._members(rank, step, node)
        group = node.exchange.group
        pairs = [(f"collective {group}", ranks)] if not node.exchange.peers else []
        for peer, tag in zip(node.exchange.peers, node.exchange.tags, strict=True):
            if not 0 <= peer < len(ranks):
                raise InvalidArgumentError(
                    f"node '{node.name}': peer {peer} isn't in a group of {len(ranks)}"
                )
            way, _, number = tag.partition(" ")
            ends = (rank, ranks[peer]) if way == "send" else (ranks[peer], rank)
            pairs.append((f"message {group} {number}", ends))
        for pair in pairs:
            yield Key(*pair, counts[pair])
            counts[pair] += 1

    def _members(self, rank: int, step: Step, node: Node) -> tuple[int, ...]:
        """Returns the ranks of the node's group: those in the step, or all if the sizes match."""
        exchange = node.exchange
        ranks = step.groups.get(exchange.group)
        if ranks is None and exchange.ranks == len(self.steps):
            ranks = tuple(self.steps)
        if ranks is None or len(ranks) != exchange.ranks:
            raise InvalidArgumentError(
                f"node '{node.name}': the {exchange.ranks} ranks of group '{exchange.group}' are "
                "unknown; list them in 'groups' of the step"
            )
        if rank not in ranks:
            raise InvalidArgumentError(
                f"node '{node.name}': rank {rank} isn't in group '{exchange.group}', which has "
                f"ranks {list(ranks)}"
            )
        return ranks

    def present(self, key: Key) -> list[int]:
        """Returns the ranks of an exchange whose steps are known."""
        return [rank for rank in dict.fromkeys(key.ranks) if rank in self.steps]

    def differences(self) -> list[Fault]:
        """Returns the first collective of each group that differs between ranks."""
        faults: list[Fault] = []
        seen: set[tuple[str, tuple[int, ...]]] = set()
        for key in dict.fromkeys(key for key, _ in self.nodes):
            if not key.what.startswith("collective") or key[:2] in seen:
                continue
            said = {rank: self._said(key, rank) for rank in self.present(key)}
            if len(set(said.values())) > 1:
                seen.add(key[:2])
                faults.append(self._difference(key, said))
        return faults

    def _said(self, key: Key, rank: int) -> str:
        if (key, rank) not in self.nodes:
            return "nothing more"
        e = self.steps[rank].nodes[self.nodes[key, rank]].exchange
        return f"{e.collective} of {e.signature or f'{e.bytes} bytes'}"

    def _difference(self, key: Key, said: Mapping[int, str]) -> Fault:
        first = min(said)
        other = min(rank for rank in said if said[rank] != said[first])
        message = (
            f"exchange {key.number + 1} of ranks {list(key.ranks)} is {said[first]} on rank "
            f"{first}, but {said[other]} on rank {other}"
        )
        trace = tuple(f"rank {rank}: {self._line(key, rank)}" for rank in (first, other))
        return Fault("exchanges differ", (first, other), message, trace)

    def _line(self, key: Key, rank: int) -> str:
        i = self.nodes.get((key, rank))
        return "nothing more" if i is None else line_of(self.steps[rank], i)

    def circles(self, one_stream: bool) -> list[Fault]:
        """Runs all ranks without time. Agents that don't finish are deadlocked."""
        agents = {(rank, ""): events for rank, events in self.events.items()}
        if one_stream:
            agents = {}
            for rank, events in self.events.items():
                agents[rank, ""], agents[rank, "'s stream"] = _host_and_stream(rank, events)
        return _Run(self, agents).faults()


def _host_and_stream(rank: int, events: list[Event]) -> tuple[list[Event], list[Event]]:
    """Returns agents for the host and the stream of a rank: the stream reaches an exchange when the
    host has issued it and the previous one has ended."""
    host, stream = [], []
    for event in events:
        if not event.posts:
            host.append(event)
            continue
        issued = (Key("issued", (rank,), event.node),)
        host.append(Event(True, issued, event.node))
        stream += [
            Event(False, issued, event.node),
            event,
            Event(False, event.keys, event.node),
        ]
    return host, stream


class _Run:
    """A run of agents that reach exchanges, and wait for their end, each in its order."""

    def __init__(self, exchanges: Exchanges, agents: Mapping[tuple[int, str], list[Event]]):
        self.exchanges, self.agents = exchanges, agents
        self.at = dict.fromkeys(agents, 0)
        self.posts: dict[Key, dict[tuple[int, str], int]] = {}
        for agent, events in agents.items():
            for place, event in enumerate(events):
                for key in event.keys if event.posts else ():
                    self.posts.setdefault(key, {})[agent] = place
        self.missing = {key: len(exchanges.present(key)) for key in self.posts}
        self._run()

    def _run(self) -> None:
        waiting: dict[Key, list[tuple[int, str]]] = {}
        work = deque(self.agents)
        while work:
            agent = work.popleft()
            events = self.agents[agent]
            while self.at[agent] < len(events):
                event = events[self.at[agent]]
                open_ = next((k for k in event.keys if not event.posts and self.missing[k]), None)
                if open_:
                    waiting.setdefault(open_, []).append(agent)
                    break
                for key in event.keys if event.posts else ():
                    self.missing[key] -= 1
                    if not self.missing[key]:
                        work.extend(waiting.pop(key, ()))
                self.at[agent] += 1

    def faults(self) -> list[Fault]:
        stuck = [agent for agent, place in self.at.items() if place < len(self.agents[agent])]
        path: list[tuple[int, str]] = []
        agent = next(iter(stuck), None)
        while agent is not None and agent not in path:
            path.append(agent)
            event = self.agents[agent][self.at[agent]]
            key = next(k for k in event.keys if self.missing[k])
            agent = self._awaited(key)
            if agent is None:
                return [self._unmatched_fault(key)]
        if path:
            return [self._circle(path[path.index(agent) :])]
        left = next((key for key, missing in self.missing.items() if missing), None)
        return [self._unmatched_fault(left)] if left else []

    def _awaited(self, key: Key) -> tuple[int, str] | None:
        """Returns the agents that reach an exchange later."""
        posts = self.posts[key]
        return next((agent for agent, place in posts.items() if self.at[agent] <= place), None)

    def _unmatched_fault(self, key: Key) -> Fault:
        comes = [rank for rank, _ in self.posts[key]]
        absent = next(rank for rank in self.exchanges.present(key) if rank not in comes)
        line = f"rank {comes[0]}: {self.exchanges._line(key, comes[0])}"
        message = f"rank {absent} never issues what rank {comes[0]} exchanges with it"
        return Fault("nobody comes", (comes[0], absent), message, (line,))

    def _circle(self, path: list[tuple[int, str]]) -> Fault:
        lines = []
        for agent, following in zip(path, [*path[1:], path[0]], strict=True):
            rank, part = agent
            event = self.agents[agent][self.at[agent]]
            line = line_of(self.exchanges.steps[rank], event.node)
            lines.append(f"rank {rank}{part} waits at {line} for rank {following[0]}{following[1]}")
        ranks = tuple(dict.fromkeys(rank for rank, _ in path))
        return Fault("circle", ranks, "ranks wait for each other in a cycle", tuple(lines))
