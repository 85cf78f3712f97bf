"""Dependencies between the nodes of a step, and the memory that they share."""

from __future__ import annotations

from .._errors import InvalidArgumentError
from ._step import INPUT, START, VIEW, WAIT, Step


class Memory:
    """The pieces of memory that each node's result is in. A piece has the number of the node that
    allocates it. `starts` has, for each wait, the starts whose results are its inputs."""

    def __init__(self, step: Step):
        nodes, index = step.nodes, step.index
        self.pieces: list[tuple[int, ...]] = [()] * len(nodes)
        self.starts: list[list[int]] = [[] for _ in nodes]
        origin: dict[int, frozenset[int]] = {}
        for i in in_order_of_use(step):
            node = nodes[i]
            shared = {p for name in node.aliases for p in self.pieces[index[name]]}
            self.pieces[i] = tuple(sorted(shared)) if node.aliases else (i,)
            if node.kind == START:
                origin[i] = frozenset([i])
            elif node.kind == WAIT or node.aliases:
                used = node.inputs if node.kind == WAIT else node.aliases
                origin[i] = frozenset().union(*(origin.get(index[u], ()) for u in used))
            if node.kind == WAIT:
                self.starts[i] = sorted(origin.pop(i))
        self.reads: list[set[int]] = []
        self.writes: list[set[int]] = []
        for node in nodes:
            self.reads.append({p for name in node.inputs for p in self.pieces[index[name]]})
            self.writes.append({p for name in node.writes for p in self.pieces[index[name]]})

    def ends_of_reads(self) -> dict[int, list[int]]:
        """Returns the waits that end each start; a start keeps its inputs alive until then."""
        ends: dict[int, list[int]] = {}
        for wait, starts in enumerate(self.starts):
            for start in starts:
                ends.setdefault(start, []).append(wait)
        return ends


def in_order_of_use(step: Step) -> list[int]:
    """Returns all nodes, each after the nodes it uses, independent of the order of the step."""
    order: list[int] = []
    state = bytearray(len(step.nodes))
    for first in range(len(step.nodes)):
        stack = [first]
        while stack:
            i = stack[-1]
            if state[i] == 2:
                stack.pop()
                continue
            if state[i] == 0:
                state[i] = 1
                node = step.nodes[i]
                for name in (*node.inputs, *node.aliases):
                    j = step.index[name]
                    if state[j] == 1:
                        raise InvalidArgumentError(
                            f"node '{node.name}' uses '{name}', and '{name}' uses it"
                        )
                    if state[j] == 0:
                        stack.append(j)
            else:
                state[i] = 2
                order.append(i)
                stack.pop()
    return order


def edges(step: Step, memory: Memory, keep_exchanges: bool = False) -> list[list[int]]:
    """Returns the predecessors of each node: those that it uses, those that change what it reads or
    read what it changes, and those with the same effects.

    The order of the step decides between two accesses to the same memory.
    """
    nodes, index = step.nodes, step.index
    before = [{index[name] for name in (*n.inputs, *n.after, *n.aliases)} for n in nodes]
    _order_accesses(step, memory, before)
    last: dict[str, int] = {}
    for i, node in enumerate(nodes):
        effects = node.effects
        if node.exchange and (keep_exchanges or node.exchange.peers):
            effects = (*effects, "exchanges" if keep_exchanges else node.exchange.group)
        for effect in effects:
            if effect in last:
                before[i].add(last[effect])
            last[effect] = i
    return [sorted(b - {i}) for i, b in enumerate(before)]


def _order_accesses(step: Step, memory: Memory, before: list[set[int]]) -> None:
    changed = set().union(*memory.writes) if memory.writes else set()
    if not changed:
        return
    ends = memory.ends_of_reads()
    ended = {wait: start for start, waits in ends.items() for wait in waits}
    written: dict[int, int] = {}
    read: dict[int, list[int]] = {}
    for i, node in enumerate(step.nodes):
        if node.kind in (INPUT, VIEW):
            continue
        # The results of an exchange are available after its wait.
        writes = memory.writes[ended.get(i, i)]
        reads = memory.reads[i] & changed
        for piece in sorted(reads - writes):
            if piece in written:
                before[i].add(written[piece])
            read.setdefault(piece, []).append(i)
        for piece in sorted(writes):
            before[i].update(read.pop(piece, ()))
            for reader in list(before[i]):
                # The inputs of an exchange are free after its end.
                before[i].update(w for w in ends.get(reader, ()) if w < i)
            if piece in written:
                before[i].add(written[piece])
            written[piece] = i
