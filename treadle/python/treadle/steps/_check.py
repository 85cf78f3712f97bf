"""Checks schedules. For one rank: results are available, unchanged, in order, and within the memory
limit. For all ranks: they issue the same exchanges, without deadlock."""

from __future__ import annotations

from collections.abc import Mapping

from .._errors import InvalidArgumentError
from ._costs import Costs
from ._edges import Memory
from ._exchanges import Exchanges, Fault, line_of
from ._problem import Problem, memory_of
from ._step import FREE, INPUT, OUTPUT, START, VIEW, WAIT, Step


def check(
    steps: Mapping[int, Step],
    *,
    before: Mapping[int, Step] | None = None,
    memory: int | None = None,
    one_stream: bool = False,
) -> list[Fault]:
    """Checks the orders of all ranks' steps; returns the faults.

    Args:
        steps: each rank's step, in the order in which it issues its nodes.
        before: the same steps before reordering. Side effects, and accesses to memory that changes,
            must keep that order.
        memory: memory limit of a rank in bytes.
        one_stream: whether exchanges of all groups run one after the other on each rank, in the
            order in which it issues them. Otherwise exchanges of different groups may overlap.
    """
    if not steps:
        raise InvalidArgumentError("no steps to check")
    faults = []
    for rank, step in sorted(steps.items()):
        own = _Rank(rank, step).faults()
        if memory is not None and not own:
            own = _check_memory(rank, step, memory)
        faults += own
        if before is not None:
            if rank not in before:
                raise InvalidArgumentError(f"'before' has no step of rank {rank}")
            faults += _check_effects(rank, step, before[rank])
    exchanges = Exchanges(steps)
    return faults + (exchanges.differences() or exchanges.circles(one_stream))


# Freed memory may be allocated again.
_TAKEN_AGAIN = "resize"


class _Rank:
    """Walks through one rank's nodes, and tracks exchanges in flight and freed memory."""

    def __init__(self, rank: int, step: Step):
        self.rank, self.step = rank, step
        self.memory = Memory(step)
        self.starts = self.memory.starts
        # Pieces of memory, each with the node that accesses it in flight, or that freed it.
        self.reading: dict[int, int] = {}
        self.writing: dict[int, int] = {}
        self.freed: dict[int, int] = {}
        self.found: dict[tuple[str, int], Fault] = {}

    def faults(self) -> list[Fault]:
        for i, node in enumerate(self.step.nodes):
            for name in dict.fromkeys((*node.inputs, *node.after)):
                if self.step.index[name] > i:
                    message = f"'{node.name}' comes before '{name}'"
                    self.fault("order", message, i, self.step.index[name])
            self.end(self.starts[i])
            if node.kind not in (VIEW, WAIT, INPUT):
                self.use(i)
            if node.kind != VIEW:
                self.use_memory(i)
            if node.kind == START:
                self.begin(i)
        for start in sorted(set(self.writing.values())):
            self.fault("not waited for", f"nothing waits for '{self.name(start)}'", start)
        return list(self.found.values())

    def name(self, i: int) -> str:
        return self.step.nodes[i].name

    def fault(self, kind: str, message: str, i: int, *others: int) -> None:
        """Adds a fault, at most one of each kind for a node: others would be consequences."""
        trace = tuple(line_of(self.step, j) for j in sorted((i, *others)))
        self.found.setdefault((kind, i), Fault(kind, (self.rank,), message, trace))

    def begin(self, i: int) -> None:
        in_place = self.step.nodes[i].aliases
        written = self.memory.writes[i] if in_place else set(self.memory.pieces[i])
        self.writing.update(dict.fromkeys(written, i))
        self.reading.update(dict.fromkeys(self.memory.reads[i] - written, i))

    def end(self, starts: list[int]) -> None:
        if starts:
            self.reading = {p: s for p, s in self.reading.items() if s not in starts}
            self.writing = {p: s for p, s in self.writing.items() if s not in starts}

    def use(self, i: int) -> None:
        for piece in sorted(self.memory.reads[i] | self.memory.writes[i]):
            if piece in self.writing:
                start = self.writing[piece]
                message = (
                    f"'{self.name(i)}' uses what '{self.name(start)}' exchanges, before its wait"
                )
                self.fault("not waited for", message, i, start)
        for piece in sorted(self.memory.writes[i] & set(self.reading)):
            start = self.reading[piece]
            message = f"'{self.name(i)}' changes what '{self.name(start)}' still sends"
            self.fault("changed in flight", message, i, start)

    def use_memory(self, i: int) -> None:
        writes = self.memory.writes[i]
        if self.step.nodes[i].kind == FREE:
            self.freed.update(dict.fromkeys(writes, i))
            return
        if self.step.nodes[i].op == _TAKEN_AGAIN:
            self.freed = {p: by for p, by in self.freed.items() if p not in writes}
        for piece in sorted((self.memory.reads[i] | writes) & set(self.freed)):
            by = self.freed[piece]
            message = (
                f"'{self.name(i)}' uses '{self.name(piece)}', which '{self.name(by)}' gave back"
            )
            self.fault("freed", message, i, by)


def _check_memory(rank: int, step: Step, bound: int) -> list[Fault]:
    problem = Problem(step, Costs())
    held = memory_of(problem, list(range(len(step))))
    over = next((i for i, size in enumerate(held) if size > bound), None)
    if over is None:
        return []
    last: dict[int, int] = {}
    for i, pieces in enumerate(problem.held):
        last.update(dict.fromkeys(pieces, i))
    alive = [p for p in range(over) if problem.taken[p] and last.get(p, p) >= over]
    largest = sorted(alive, key=lambda p: (-problem.taken[p], p))[:5]
    trace = [f"{line_of(step, p)}: {problem.taken[p]} bytes" for p in sorted(largest)]
    return [
        Fault("memory", (rank,),
              f"at '{step.nodes[over].name}' {held[over]} bytes are held, of at most {bound}",
              (*trace, line_of(step, over)))
    ]  # fmt: skip


def _check_effects(rank: int, step: Step, before: Step) -> list[Fault]:
    """Checks that side effects and changes of memory keep their order."""
    faults = []
    was = _sequences(before)
    now = _sequences(step)
    for key in was:
        old = [n for n in was[key] if n in step.index]
        new = [n for n in now.get(key, ()) if n in before.index]
        for a, b in zip(old, new, strict=False):
            if a != b:
                trace = tuple(line_of(step, i) for i in sorted((step.index[a], step.index[b])))
                faults.append(Fault("effects", (rank,),
                                    f"'{b}' comes before '{a}'; both {key[1]}", trace))  # fmt: skip
                break
    return faults


def _sequences(step: Step) -> dict[tuple[str, str], list[str]]:
    """Returns nodes by effect, and by the memory that they change, with the reads in between."""
    memory = Memory(step)
    changed = {p for w in memory.writes for p in w}
    found: dict[tuple[str, str], list[str]] = {}
    readers: dict[int, list[str]] = {}
    for i, node in enumerate(step.nodes):
        for effect in node.effects:
            found.setdefault(("effect", f"have the effect '{effect}'"), []).append(node.name)
        if node.kind in (VIEW, INPUT, WAIT, OUTPUT):
            continue
        for piece in sorted(memory.reads[i] & changed - memory.writes[i]):
            readers.setdefault(piece, []).append(node.name)
        for piece in sorted(memory.writes[i]):
            key = "memory", f"use '{step.nodes[piece].name}'"
            # Nodes that only read can be swapped.
            found.setdefault(key, []).extend([*sorted(readers.pop(piece, ())), node.name])
    for piece, names in readers.items():
        found.setdefault(("memory", f"use '{step.nodes[piece].name}'"), []).extend(sorted(names))
    return found
