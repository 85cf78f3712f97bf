"""List scheduling: orders a step's nodes in one pass over time, by priorities.

At each moment the ready node with the highest priority runs. An exchange starts when its link would
otherwise be idle, while memory is below a ceiling. Computation waits for an exchange only when
nothing else is ready, except for `patient` nodes; views and waits are issued right before the first
node that needs them.
"""

from __future__ import annotations

import heapq

from ._problem import Problem
from ._step import COMPUTE, FREE, INPUT, START, WAIT


class Scheduler:
    def __init__(self, problem: Problem):
        self.problem = problem
        # Nodes that are computed, start an exchange or free memory; others are issued with these.
        self.real = [kind in (COMPUTE, START, FREE) for kind in problem.kind]
        self.kept = problem.results | set(problem.freed)

    def order(
        self,
        priority: list[int],
        *,
        ahead: int | None = None,
        ceiling: int | None = None,
        release: list[int] | None = None,
        patient: frozenset[int] = frozenset(),
    ) -> list[int]:
        """Returns the nodes by number, in the order in which they are issued.

        Args:
            priority: the lowest number runs first.
            ahead: nanoseconds of exchanges that may be queued at a link; None: all that are ready.
            ceiling: bytes in memory beyond which no exchange starts while another node is ready;
                None: none.
            release: for each node, how much must be computed before it may start, unless nothing
                else is ready; None: nothing.
            patient: nodes for which computation waits, if an exchange that they need ends before
                another node would: nodes that feed a further exchange.
        """
        return _Pass(self, priority, ahead, ceiling, release, patient).run()


class _Pass:
    def __init__(
        self,
        scheduler: Scheduler,
        priority: list[int],
        ahead: int | None,
        ceiling: int | None,
        release: list[int] | None,
        patient: frozenset[int],
    ):
        self.problem, self.real, self.kept = scheduler.problem, scheduler.real, scheduler.kept
        self.priority, self.ahead, self.ceiling, self.release = priority, ahead, ceiling, release
        self.patient = patient
        self.coming: list[tuple[int, int]] = []  # patient nodes that wait for an exchange
        self.computed = 0
        self.early: list[tuple[int, int]] = []  # exchanges that aren't released yet
        n = len(self.problem)
        self.missing = [len(before) for before in self.problem.before]
        self.since = [0] * n  # when all inputs of a node are available
        self.done = [0] * n  # when an exchange ends
        self.issued = bytearray(n)
        self.out: list[int] = []
        self.now = 0
        self.free = [0] * len(self.problem.links)
        self.ready: list[tuple[int, int]] = []  # nodes to compute
        self.later: list[tuple[int, int, int]] = []  # that wait for an exchange
        self.queues: list[list[tuple[int, int]]] = [[] for _ in self.free]  # starts
        self.users = list(self.problem.users)
        self.memory = self.problem.arguments

    def run(self) -> list[int]:
        first = [i for i, missing in enumerate(self.missing) if not missing]
        for i in first:
            if self.problem.kind[i] == INPUT:
                self.issue(i)
        for i in first:
            self.available(i, 0)
        while True:
            self.wake()
            if self.ready and not self.exceeds_ceiling(self.ready[0][1]):
                until = self.now + self.problem.cost[self.ready[0][1]]
                self.begin_exchanges(until)
                if self.wait_for_patient(until):
                    continue
                self.issue(heapq.heappop(self.ready)[1])
            elif self.begin_exchanges(None):
                continue
            elif self.later:
                self.now = self.later[0][0]
            elif self.early:
                self.computed = self.early[0][0]
            elif not self.begin_exchanges(None, whatever_it_takes=True):
                break
        for i in range(len(self.problem)):
            if not self.issued[i]:
                self.issue(i)
        return self.out

    def wait_for_patient(self, until: int) -> bool:
        """Waits for the next patient node, if it can run before that."""
        while self.coming and self.coming[0][0] <= self.now:
            heapq.heappop(self.coming)
        if not self.coming or self.coming[0][0] >= until:
            return False
        self.now = self.coming[0][0]
        return True

    def wake(self) -> None:
        while self.early and self.early[0][0] <= self.computed:
            i = heapq.heappop(self.early)[1]
            heapq.heappush(self.queues[self.problem.link[i]], (self.priority[i], i))
        while self.later and self.later[0][0] <= self.now:
            _, _, i = heapq.heappop(self.later)
            self.enqueue(i)

    def exceeds_ceiling(self, i: int) -> bool:
        """Whether a node would exceed the memory ceiling before one with a higher priority that
        waits for an exchange."""
        if self.ceiling is None or self.memory + self.problem.taken[i] <= self.ceiling:
            return False
        return bool(self.later) and self.priority[self.later[0][2]] < self.priority[i]

    def enqueue(self, i: int) -> None:
        link = self.problem.link[i]
        if link >= 0 and self.release and self.release[i] > self.computed:
            heapq.heappush(self.early, (self.release[i], i))
        else:
            heapq.heappush(self.queues[link] if link >= 0 else self.ready, (self.priority[i], i))

    def available(self, first: int, at: int) -> None:
        """Marks a node as ready from `at` on, with all nodes that need nothing else."""
        stack = [(first, at)]
        while stack:
            i, at = stack.pop()
            if self.real[i]:
                if at <= self.now:
                    self.enqueue(i)
                else:
                    heapq.heappush(self.later, (at, self.priority[i], i))
                    if i in self.patient:
                        heapq.heappush(self.coming, (at, i))
                continue
            stack += self.passed(i, at)

    def passed(self, i: int, at: int) -> list[tuple[int, int]]:
        """Returns the nodes for which `i`, done at `at`, was the last missing input."""
        found = []
        for start in self.problem.starts[i]:
            at = max(at, self.done[start])
        for j in self.problem.after[i]:
            self.since[j] = max(self.since[j], at)
            self.missing[j] -= 1
            if not self.missing[j]:
                found.append((j, self.since[j]))
        return found

    def begin_exchanges(self, until: int | None, whatever_it_takes: bool = False) -> bool:
        """Starts exchanges whose links would be idle before `until`: one for each link, if nothing
        can be computed."""
        begun = False
        for link, queue in enumerate(self.queues):
            while queue:
                if until is not None and self.ahead is not None:
                    if self.free[link] >= until + self.ahead:
                        break
                i = queue[0][1]
                taken = self.memory + self.problem.taken[i]
                if self.ceiling is not None and taken > self.ceiling and not whatever_it_takes:
                    break
                heapq.heappop(queue)
                self.issue(i)
                begun = True
                if until is None:
                    break
            if begun and whatever_it_takes:
                break
        return begun

    def issue(self, last: int) -> None:
        """Appends a node, after nodes that are issued with it."""
        stack = [last]
        before, issued = self.problem.before, self.issued
        while stack:
            i = stack[-1]
            if not issued[i]:
                missing = [j for j in before[i] if not issued[j]]
                if missing:
                    stack += reversed(missing)
                    continue
                issued[i] = 1
                self.out.append(i)
                self.account(i)
            stack.pop()
        if self.real[last]:
            self.finish(last)

    def account(self, i: int) -> None:
        problem = self.problem
        for start in problem.starts[i]:
            self.now = max(self.now, self.done[start])
        if self.ceiling is None:
            return
        self.memory += problem.taken[i]
        freeing = problem.kind[i] == FREE
        for piece in problem.held[i]:
            self.users[piece] -= 1
            if freeing or (not self.users[piece] and piece not in self.kept):
                self.memory -= problem.taken[piece]

    def finish(self, i: int) -> None:
        problem, link = self.problem, self.problem.link[i]
        if link >= 0:
            self.done[i] = self.free[link] = max(self.now, self.free[link]) + problem.cost[i]
        else:
            self.now += problem.cost[i]
            self.computed += problem.cost[i]
        for j, at in self.passed(i, self.now):
            self.available(j, at)


def releases(problem: Problem, order: list[int], slack: float) -> list[int]:
    """Returns when exchanges that allocate memory should start, so that they end `slack` times
    their duration before an order reaches their waits: how much is computed before that."""
    due, computed = [-1] * len(problem), 0
    for i in order:
        for start in problem.starts[i]:
            due[start] = computed
        if problem.kind[i] == COMPUTE:
            computed += problem.cost[i]
    released = [0] * len(problem)
    latest = [computed] * len(problem.links)
    starts = [i for i in order if problem.link[i] >= 0]
    for i in sorted(reversed(starts), key=lambda i: -due[i]):
        link = problem.link[i]
        margin = int(slack * problem.cost[i])
        latest[link] = min(latest[link], due[i] - margin) - problem.cost[i]
        if problem.taken[i] > problem.step.nodes[i].exchange.bytes:
            released[i] = max(0, latest[link])
    return released


def nearest_exchange(problem: Problem) -> list[int]:
    """Returns for each node how much computation is left before an exchange that needs it can
    start."""
    far = problem.computing() + 1
    distance = [far] * len(problem)
    for i in reversed(problem.in_order()):
        if problem.link[i] >= 0:
            distance[i] = 0
            continue
        distance[i] = min(
            (distance[j] + (0 if problem.link[j] >= 0 else problem.cost[j])
             for j in problem.after[i]), default=far)  # fmt: skip
    return distance


def after_waits(problem: Problem) -> list[int]:
    """Returns nodes that are computed, or start an exchange, after another exchange has ended."""
    late = [False] * len(problem)
    found = []
    for i in problem.in_order():
        waits = problem.kind[i] == WAIT or any(late[j] for j in problem.before[i])
        if waits and problem.kind[i] in (COMPUTE, START):
            found.append(i)
        else:
            late[i] = waits
    return found


def ranked(*keys: list[int]) -> list[int]:
    """Returns priorities: the rank of each node by the first key, the next, and its number."""
    order = sorted(range(len(keys[0])), key=lambda i: (*(key[i] for key in keys), i))
    places = [0] * len(order)
    for place, i in enumerate(order):
        places[i] = place
    return places
