"""A step as arrays of numbers, for the planner and the simulation.

Times are whole nanoseconds, so that all machines compute the same.
"""

from __future__ import annotations

import heapq

from .._errors import InvalidArgumentError
from ._costs import Costs
from ._edges import Memory, edges
from ._step import COMPUTE, FREE, INPUT, OUTPUT, START, WAIT, Step


class Problem:
    """A step as arrays of numbers.

    Attributes:
        kind: the kind of each node: one of KINDS.
        cost: for nodes that compute, their time; for starts, that of the exchange.
        before, after: the edges in both directions.
        link: for starts, the number of the link, otherwise -1.
        keeps: whether exchanges keep the order of the step.
        memory: which nodes share memory.
        starts: for waits, the starts that end there.
        taken: the memory that each node allocates.
        held: for each node, the pieces of memory that it uses; an exchange's inputs are in use
            until its wait.
    """

    def __init__(self, step: Step, costs: Costs, *, keep_exchanges: bool = False):
        self.step, self.keeps = step, keep_exchanges
        nodes = step.nodes
        self.memory = memory = Memory(step)
        self.kind = [node.kind for node in nodes]
        self.before = edges(step, memory, keep_exchanges)
        self.after: list[list[int]] = [[] for _ in nodes]
        for i, before in enumerate(self.before):
            for j in before:
                self.after[j].append(i)
        self.cost = [0] * len(nodes)
        self.link = [-1] * len(nodes)
        links: dict[str, int] = {}
        for i, node in enumerate(nodes):
            if node.kind == COMPUTE:
                self.cost[i] = costs.node(node)
            elif node.kind == START:
                self.cost[i] = costs.exchange(node)
                self.link[i] = links.setdefault(costs.link_of(node.exchange).name, len(links))
        self.links = list(links)
        self.starts = memory.starts
        self._read_memory()

    def _read_memory(self) -> None:
        nodes, memory = self.step.nodes, self.memory
        kept = {p for i, n in enumerate(nodes) if n.kind == INPUT for p in memory.pieces[i]}
        self.taken = [0 if n.kind == INPUT or n.aliases else n.bytes for n in nodes]
        self.arguments = sum(n.bytes for n in nodes if n.kind == INPUT and not n.aliases)
        self.held: list[list[int]] = []
        for i in range(len(nodes)):
            used = memory.reads[i] | memory.writes[i] | set(memory.pieces[i])
            for start in self.starts[i]:
                used |= memory.reads[start] | memory.writes[start] | set(memory.pieces[start])
            self.held.append(sorted(used - kept))
        self.users = [0] * len(nodes)
        for held in self.held:
            for piece in held:
                self.users[piece] += 1
        self.freed = [p for i, n in enumerate(nodes) if n.kind == FREE for p in memory.writes[i]]
        self.results = {p for i, n in enumerate(nodes) if n.kind == OUTPUT for p in self.held[i]}

    def __len__(self) -> int:
        return len(self.kind)

    def computing(self) -> int:
        return sum(c for c, kind in zip(self.cost, self.kind, strict=True) if kind == COMPUTE)

    def communication(self) -> int:
        return sum(c for c, link in zip(self.cost, self.link, strict=True) if link >= 0)

    def tails(self) -> list[int]:
        """Returns for each node the longest path from its start to the end."""
        tail = [0] * len(self)
        for i in reversed(self.in_order()):
            tail[i] = self.cost[i] + max((tail[j] for j in self.after[i]), default=0)
        return tail

    def in_order(self) -> list[int]:
        """Returns all nodes, each after its predecessors, otherwise in the order of the step."""
        missing = [len(b) for b in self.before]
        ready = [i for i, m in enumerate(missing) if not m]
        order = []
        while ready:
            i = heapq.heappop(ready)
            order.append(i)
            for j in self.after[i]:
                missing[j] -= 1
                if not missing[j]:
                    heapq.heappush(ready, j)
        if len(order) < len(missing):
            name = next(n.name for n, m in zip(self.step.nodes, missing, strict=True) if m)
            raise InvalidArgumentError(f"the nodes form a cycle: '{name}' is in it")
        return order

    def bound(self) -> int:
        """Returns a lower bound for all orders: the optimum for computation only, or for one link
        only, if everything else ran at the same time and nodes could be preempted; or an exchange
        with the nodes before and after it."""
        heads, tails = self.heads(), self.tails()
        computing = [i for i, kind in enumerate(self.kind) if kind == COMPUTE]
        least = _interrupted(computing, self.cost, heads, tails)
        for link in range(len(self.links)):
            exchanges = [i for i, on in enumerate(self.link) if on == link]
            least = max(least, _interrupted(exchanges, self.cost, heads, tails))
            if len(exchanges) * len(self) < 1_000_000:
                least = max(least, *map(self._around, exchanges), 0)
        return least

    def _around(self, exchange: int) -> int:
        both = self.reached(exchange, self.before) | self.reached(exchange, self.after)
        computed = sum(self.cost[i] for i in both if self.kind[i] == COMPUTE)
        return computed + self.cost[exchange]

    def heads(self) -> list[int]:
        """Returns for each node the longest path before it."""
        head = [0] * len(self)
        for i in self.in_order():
            head[i] = max((head[j] + self.cost[j] for j in self.before[i]), default=0)
        return head

    def reached(self, first: int, edges: list[list[int]]) -> set[int]:
        """Returns all nodes reachable by edges."""
        found: set[int] = set()
        stack = list(edges[first])
        while stack:
            i = stack.pop()
            if i not in found:
                found.add(i)
                stack += edges[i]
        return found


def _interrupted(nodes: list[int], cost: list[int], heads: list[int], tails: list[int]) -> int:
    """Returns a lower bound for the end of nodes that share one machine, where each starts after
    its head and is followed by the rest of its tail, and is preempted by one with a longer tail."""
    coming = sorted(nodes, key=heads.__getitem__, reverse=True)
    left = {i: cost[i] for i in nodes}
    ready: list[tuple[int, int]] = []
    now = least = 0
    while coming or ready:
        if not ready:
            now = max(now, heads[coming[-1]])
        while coming and heads[coming[-1]] <= now:
            i = coming.pop()
            heapq.heappush(ready, (cost[i] - tails[i], i))
        rest, i = ready[0]
        until = now + left[i]
        if coming:
            until = min(until, heads[coming[-1]])
        left[i] -= until - now
        now = until
        if not left[i]:
            heapq.heappop(ready)
            least = max(least, now - rest)
    return least


class Timeline:
    """A rank that issues the nodes in an order, while other ranks do the same.

    A start begins its exchange when the link is free, while computation continues. A wait blocks
    computation until the exchange has ended. Exchanges take `stretch` times their cost.

    Attributes:
        begin, end: of each node, by number; for starts, those of the exchange.
        exposed: for each start, how long computation waited for it.
        seconds: the end of the last node, in nanoseconds.
    """

    def __init__(self, problem: Problem, order: list[int], stretch: float = 1):
        kind, cost, link, starts = problem.kind, problem.cost, problem.link, problem.starts
        n = len(problem)
        self.begin, self.end, self.exposed = [0] * n, [0] * n, [0] * n
        begin, end = self.begin, self.end
        free = [0] * len(problem.links)
        now = 0
        for i in order:
            begin[i] = now
            if link[i] >= 0:
                begin[i] = max(now, free[link[i]])
                end[i] = free[link[i]] = begin[i] + int(stretch * cost[i])
                continue
            if kind[i] == WAIT:
                for start in sorted(starts[i], key=end.__getitem__):
                    if end[start] > now:
                        self.exposed[start] += end[start] - now
                        now = end[start]
            now += cost[i]
            end[i] = now
        self.nanoseconds = max([now, *free])


def memory_of(problem: Problem, order: list[int]) -> list[int]:
    """Returns the memory in use after each node of an order, and while it runs: the arguments, and
    each result from its node to its last use."""
    users = list(problem.users)
    taken, results = problem.taken, problem.results
    freed = set(problem.freed)
    held = problem.arguments
    found = []
    for i in order:
        held += taken[i]
        found.append(held)
        if problem.kind[i] == FREE:
            for piece in problem.held[i]:
                held -= taken[piece] if piece in freed else 0
        for piece in problem.held[i]:
            users[piece] -= 1
            if not users[piece] and piece not in results and piece not in freed:
                held -= taken[piece]
    return found
