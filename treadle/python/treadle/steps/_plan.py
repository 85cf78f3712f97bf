"""Planning: the order of a step, the exchanges to combine, and the reasons.

The planner tries orders of several kinds, and selects the fastest by the cost model within the
memory limit; the given order if none is faster. It uses no randomness and whole numbers only, so
all ranks compute the same plan.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from .._errors import InvalidArgumentError, ResourceExhaustedError
from ._buckets import Bucket, buckets_of, with_buckets
from ._costs import Costs
from ._problem import Problem, Timeline, memory_of
from ._scheduler import Scheduler, after_waits, nearest_exchange, ranked, releases
from ._step import COMPUTE, INPUT, OUTPUT, START, Step

# Limits the planner's time: the number of nodes that all attempts of one plan may place.
_WORK = 240_000

# The factor by which exchanges may turn out to be slower than expected.
_SLOWER = 1.5

# The maximum number of single-node moves that one plan tries.
_SHIFTS = 4000

# The number of unsuccessful attempts before the search stops.
_VAIN = 60

# The slack of an exchange before it is needed, in multiples of its duration.
_SLACKS = 8.0, 4.0, 2.0, 1.0
_SMALL_SLACKS = 0.5, 0.2, 0.0


@dataclasses.dataclass(frozen=True)
class Decision:
    """One change of a plan.

    Attributes:
        kind: "bucket", "early" (an exchange starts earlier), "late" (its wait comes later).
        node: the exchange; the name of a bucket.
        reason: a description.
        gain: seconds of waiting that the change saves, or that the bucket saves; negative if this
            exchange is delayed in favor of another.
    """

    kind: str
    node: str
    reason: str
    gain: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """An order of a step's nodes.

    Attributes:
        order: names of nodes. A bucket is its `pack`, its start, its `wait`, and the waits of its
            members, which are the parts of its result.
        buckets: the exchanges that are combined.
        decisions: the changes, their reasons, and their gains.
        edges: pairs of nodes, the second of which must follow the first, that keep the exchanges at
            their positions if other nodes are reordered.
        seconds, given_seconds: time of the step by the cost model; and in its given order.
        bound: a lower bound for all orders.
        serial: time of the step if every exchange is waited for immediately.
        peak, given_peak: peak memory in bytes, including the step's arguments.
        exchanges: number of exchanges in the step, before they are combined.
        digest: the digest of the step that it was created for.
    """

    order: tuple[str, ...]
    buckets: tuple[Bucket, ...]
    decisions: tuple[Decision, ...]
    edges: tuple[tuple[str, str], ...]
    seconds: float
    given_seconds: float
    bound: float
    serial: float
    peak: int
    given_peak: int
    exchanges: int
    digest: str

    @property
    def hidden(self) -> float:
        """The fraction of the communication that can be hidden and is hidden."""
        could = self.serial - self.bound
        return (self.serial - self.seconds) / could if could > 0 else 1.0

    def text(self) -> str:
        """Returns JSON, the same on all ranks."""
        own = [field.name for field in dataclasses.fields(Plan)]
        made = {k: v for k, v in dataclasses.asdict(self).items() if k in own}
        return json.dumps({"treadle_plan": 1, **made}, indent=1) + "\n"

    def __str__(self) -> str:
        nothing = "" if self.exchanges else "0 exchanges, nothing to hide: "
        lines = [
            f"{nothing}a step takes {1e3 * self.seconds:.3f} ms by the cost model, "
            f"{1e3 * self.given_seconds:.3f} ms as given; "
            f"{100 * self.hidden:.0f}% is hidden of what could be; "
            f"{self.peak} bytes at most, {self.given_peak} as given"
        ]
        for d in self.decisions:
            lines.append(f"{d.kind:>6} {d.node}: {d.reason} ({1e3 * d.gain:+.3f} ms)")
        return "\n".join(lines)

    def step(self, step: Step) -> Step:
        """Returns the step in the plan's order, with its buckets."""
        if step.digest() != self.digest:
            raise InvalidArgumentError("the plan belongs to another step; create it from this one")
        return with_buckets(step, self.buckets).reordered(self.order)


def plan(
    step: Step,
    costs: Costs,
    *,
    memory: int | None = None,
    bucket: int = 0,
    exchanges: str = "free",
) -> Plan:
    """Finds an order of a step's nodes in which computation hides communication.

    Args:
        memory: memory limit of the step in bytes, including its arguments.
        bucket: maximum bytes of a bucket, in which exchanges of one group are combined if that
            saves time; 0: none.
        exchanges: "given" keeps the order of all exchanges, for ranks that run different graphs (a
            pipeline); "free" doesn't.

    Raises ResourceExhaustedError with the lowest peak that was found, if no order fits in `memory`.
    """
    if exchanges not in ("free", "given"):
        raise InvalidArgumentError(f"exchanges is '{exchanges}'; expected 'free' or 'given'")
    given = Problem(step, costs, keep_exchanges=exchanges == "given")
    first = Timeline(given, given.in_order()).nanoseconds
    search = _Search(given, memory, first)
    best = search.quick()
    for limit in _limits(step, bucket):
        found = tuple(buckets_of(given, costs, search.first_order, limit))
        if found and found != best.buckets:
            bucketed = Problem(with_buckets(step, found), costs, keep_exchanges=given.keeps)
            best = min(best, _Search(bucketed, memory, first, found).quick(), key=_Candidate.key)
    best = _Search(best.problem, memory, first, best.buckets).thorough()
    if best.excess:
        raise ResourceExhaustedError(
            f"no order was found with a peak of at most {memory} bytes: the lowest is "
            f"{best.peak}; allow more memory, or recompute more"
        )
    return _written(step, given, best, costs)


@dataclasses.dataclass
class _Candidate:
    """An order, rated by its time, and slightly by its time if exchanges were slower than expected:
    among equal orders, the one whose exchanges have slack is better."""

    problem: Problem
    order: list[int]
    memory: int | None
    given: int | None = None  # the time of the step in its given order
    buckets: tuple[Bucket, ...] = ()

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.problem, self.order)
        self.time = self.timeline.nanoseconds
        self.slow = Timeline(self.problem, self.order, _SLOWER).nanoseconds
        self.peak = max(memory_of(self.problem, self.order), default=0)
        self.excess = max(0, self.peak - self.memory) if self.memory is not None else 0

    def key(self) -> tuple[int, bool, int, int, int]:
        worse = self.given is not None and self.time > self.given
        return self.excess, worse, self.time, self.slow, self.peak


def _limits(step: Step, bucket: int) -> list[int]:
    """Returns the bucket sizes to try."""
    if not bucket:
        return []
    most = sum(n.exchange.bytes for n in step.exchanges())
    least = min((n.exchange.bytes for n in step.exchanges()), default=0)
    limits = []
    limit = min(bucket, most)
    while limit > least and len(limits) < 5:
        limits.append(limit)
        limit //= 4
    return limits


class _Search:
    """Searches for the best order of a problem."""

    def __init__(
        self,
        problem: Problem,
        memory: int | None,
        given_time: int,
        buckets: tuple[Bucket, ...] = (),
    ):
        self.problem, self.memory, self.buckets = problem, memory, buckets
        self.given_time = given_time
        self.scheduler = Scheduler(problem)
        self.passes = max(8, min(_WORK // max(1, len(problem)), 1000))
        self.given = list(range(len(problem)))
        self.late = after_waits(problem)
        self.first_order = problem.in_order()
        self.options: dict[str, Any] = {"priority": self.given, "ceiling": memory}
        self.best = self.made(self.first_order)

    def attempt(self, **options: Any) -> _Candidate:
        self.passes -= 1
        return self.made(self.scheduler.order(**options))

    def made(self, order: list[int]) -> _Candidate:
        return _Candidate(self.problem, order, self.memory, self.given_time, self.buckets)

    def take(self, **options: Any) -> None:
        made = self.attempt(**options)
        if made.key() < self.best.key():
            self.best, self.options = made, options

    def quick(self) -> _Candidate:
        first = self.attempt(**self.options)
        self.first_order = first.order
        self.best = min(self.best, first, key=_Candidate.key)
        return self.best

    def thorough(self) -> _Candidate:
        problem = self.problem
        tails = [-tail for tail in problem.tails()]
        urgent = [t if link >= 0 else 0 for t, link in zip(tails, problem.link, strict=True)]
        nearest = nearest_exchange(problem)
        chained = self.chained(nearest)
        for priority in (self.given, ranked(urgent), ranked(nearest, urgent), ranked(tails)):
            for patient in (frozenset(), chained) if chained else (chained,):
                self.take(**{**self.options, "priority": priority, "patient": patient})
        self.take(**{**self.options, "ahead": 0})
        if self.memory is None:
            self.local_search()
            self.shift()
        self.delay_starts()
        if self.memory is not None:
            self.local_search()
            self.shift()
        return self.best

    def chained(self, nearest: list[int]) -> frozenset[int]:
        """Returns nodes that wait for an exchange, and after which another can start soon."""
        longest = max(
            (c for c, link in zip(self.problem.cost, self.problem.link, strict=True) if link >= 0),
            default=0,
        )
        return frozenset(i for i in self.late if 2 * nearest[i] <= longest)

    def delay_starts(self) -> None:
        """Delays the start of exchanges as far as this costs no time, so that they hold less
        memory; further if the memory limit requires it."""
        first = self.best
        allowed, slow = first.time, first.slow + first.slow // 10
        for slack in _SLACKS if self.memory is None else (*_SLACKS, *_SMALL_SLACKS):
            for order in (first.order, self.given)[: 2 if self.passes > 4 else 1]:
                release = releases(self.problem, order, slack)
                options = {**self.options, "release": release}
                made = self.attempt(**options)
                better = made.key() < self.best.key()
                as_fast = made.time <= allowed and made.slow <= slow
                saves = as_fast and made.peak < self.best.peak
                if better or (saves and not self.best.excess and not made.excess):
                    self.best, self.options = made, options
        if self.memory is not None:
            self.repair(first.order)
            self.repair(self.given)

    def repair(self, order: list[int]) -> None:
        """Delays exchanges that are in flight while memory exceeds the limit."""
        release = releases(self.problem, order, 0.0)
        for _ in range(16):
            options = {"priority": self.given, "ceiling": self.memory, "release": list(release)}
            made = self.attempt(**options)
            if made.key() < self.best.key():
                self.best, self.options = made, options
            if not made.excess or not self.postpone(made.order, release):
                return

    def postpone(self, order: list[int], release: list[int]) -> bool:
        problem, changed, computed = self.problem, False, 0
        under_way: set[int] = set()
        for i, held in zip(order, memory_of(problem, order), strict=True):
            computed += problem.cost[i] if problem.kind[i] == COMPUTE else 0
            if held > self.memory:
                for start in under_way:
                    changed |= release[start] <= computed
                    release[start] = max(release[start], computed + 1)
            under_way.difference_update(problem.starts[i])
            if problem.kind[i] == START and problem.taken[i]:
                under_way.add(i)
        return changed

    def local_search(self) -> None:
        """Makes small pseudorandom changes, always the same, while an improvement is possible."""
        bound = self.problem.bound()
        chance, vain = _PseudoRandom(), 0
        while self.passes > 8 and vain < _VAIN and (self.best.slow > bound or self.best.excess):
            priority, best = self.changed(chance), self.best
            if priority is None:
                return
            self.take(**{**self.options, "priority": priority})
            vain = vain + 1 if self.best is best else 0

    def changed(self, chance: _PseudoRandom) -> list[int] | None:
        """Returns priorities that change the best order for one exchange that computation waits
        for: nodes that it needs come earlier, or a node that it doesn't need comes later."""
        problem, order = self.problem, self.best.order
        exposed = self.best.timeline.exposed
        if not any(exposed):
            exposed = Timeline(problem, order, _SLOWER).exposed
        waited = [i for i in order if exposed[i]]
        movable = [i for i in order if problem.kind[i] == COMPUTE and problem.cost[i]]
        if not waited or not movable:
            return None
        place = [0] * len(order)
        for at, i in enumerate(order):
            place[i] = 2 * at
        exchange = waited[chance.below(len(waited))]
        needed = problem.reached(exchange, problem.before)
        if chance.below(2):
            start = chance.below(place[exchange] + 1)
            for i in needed:
                place[i] = min(place[i], start)
            place[exchange] = min(place[exchange], start + 1)
        else:
            others = [i for i in movable if i not in needed and place[i] < place[exchange]]
            for _ in range(1 + chance.below(3)):
                if others:
                    place[others[chance.below(len(others))]] = place[exchange] + 1
        return ranked(place)

    def shift(self) -> None:
        """Moves single nodes, with their predecessors or successors, while that saves time, to
        reach orders that no priorities produce."""
        bound = self.problem.bound()
        chance, vain = _PseudoRandom(), 0
        most = 8 * _VAIN
        for _ in range(min(_SHIFTS, _WORK // max(1, len(self.problem)))):
            if vain == most or (self.best.slow <= bound and not self.best.excess):
                return
            made = self.made(self.shifted(chance))
            vain = 0 if made.key() < self.best.key() else vain + 1
            if made.key() <= self.best.key():
                self.best = made

    def shifted(self, chance: _PseudoRandom) -> list[int]:
        order, problem = self.best.order, self.problem
        at, to = chance.below(len(order)), chance.below(len(order))
        low, high = min(at, to), max(at, to)
        between, node = order[low : high + 1], order[at]
        with_it = problem.reached(node, problem.before if to < at else problem.after) | {node}
        moved = [i for i in between if i in with_it]
        rest = [i for i in between if i not in with_it]
        between = moved + rest if to < at else rest + moved
        changed = [*order[:low], *between, *order[high + 1 :]]
        # Arguments stay first, in their order, and results last.
        ends = {i: problem.kind[i] for i in self.given if problem.kind[i] in (INPUT, OUTPUT)}
        first, last = ([i for i, kind in ends.items() if kind == end] for end in (INPUT, OUTPUT))
        return [*first, *(i for i in changed if i not in ends), *last]


class _PseudoRandom:
    """Pseudorandom numbers that are the same on all machines and in all releases of Python."""

    def __init__(self) -> None:
        self.state = 1

    def below(self, limit: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


def _written(step: Step, given: Problem, best: _Candidate, costs: Costs) -> Plan:
    problem = best.problem
    names = [node.name for node in problem.step.nodes]
    before = Timeline(given, given.in_order())
    serial = given.computing() + given.communication()
    return Plan(
        order=tuple(names[i] for i in best.order),
        buckets=best.buckets,
        decisions=tuple(_decisions(step, given, best, costs)),
        edges=tuple((names[a], names[b]) for a, b in _held(problem, best.order)),
        seconds=best.time / 1e9,
        given_seconds=before.nanoseconds / 1e9,
        bound=min(given.bound(), best.time) / 1e9,
        serial=serial / 1e9,
        peak=best.peak,
        given_peak=max(memory_of(given, given.in_order()), default=0),
        exchanges=len(step.exchanges()),
        digest=step.digest(),
    )


def _held(problem: Problem, order: Sequence[int]) -> list[tuple[int, int]]:
    """Returns edges that keep exchanges at their positions: each start before the next one and
    before a node that is computed meanwhile, each wait after such a node. Prefers matrix products
    for that, since a compiler fuses nodes with such edges less."""
    found: list[tuple[int, int]] = []
    computed: list[int] = []
    products: list[int] = []
    begun: dict[int, tuple[int, int]] = {}
    last = None
    for i in order:
        if problem.kind[i] == START:
            if last is not None:
                found.append((last, i))
            last, begun[i] = i, (len(computed), len(products))
        elif problem.kind[i] == COMPUTE and problem.cost[i]:
            computed.append(i)
            if problem.step.nodes[i].flops:
                products.append(i)
        for start in problem.starts[i]:
            of_all, of_products = begun[start]
            if of_products < len(products):
                found += [(start, products[of_products]), (products[-1], i)]
            elif of_all < len(computed):
                found += [(start, computed[of_all]), (computed[-1], i)]
    return [(a, b) for a, b in dict.fromkeys(found) if a not in problem.before[b]]


def _decisions(step: Step, given: Problem, best: _Candidate, costs: Costs) -> list[Decision]:
    before, after = Timeline(given, given.in_order()), best.timeline
    made = best.problem.step
    members = {b.name: b for b in best.buckets}
    places = _places(given, given.in_order()), _places(best.problem, best.order)
    found = []
    for i in best.order:
        node = made.nodes[i]
        if node.kind != START:
            continue
        parts = [step.index[m] for m in members[node.name].members] if node.name in members else [
            step.index[node.name]]  # fmt: skip
        gain = (sum(before.exposed[p] for p in parts) - after.exposed[i]) / 1e9
        if node.name in members:
            alone = sum(given.cost[p] for p in parts)
            saved = (alone - best.problem.cost[i]) / 1e9
            reason = f"one exchange of {node.exchange.bytes} bytes instead of {len(parts)}"
            found.append(Decision("bucket", node.name, reason, saved))
        old = [places[0][p] for p in parts]
        new = places[1][i]
        if new[0] < min(o[0] for o in old):
            reason = f"begins after {new[0]} computed nodes instead of {min(o[0] for o in old)}"
            found.append(Decision("early", node.name, reason, gain))
        elif new[1] - new[0] > max(o[1] - o[0] for o in old):
            hides = new[1] - new[0]
            reason = f"{hides} nodes are computed before it is waited for, instead of " + str(
                max(o[1] - o[0] for o in old))  # fmt: skip
            found.append(Decision("late", node.name, reason, gain))
    return found


def _places(problem: Problem, order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Returns for each start how many nodes are computed before it, and before its wait."""
    count, begun = 0, {}
    found: dict[int, tuple[int, int]] = {}
    for i in order:
        if problem.kind[i] == START:
            begun[i] = count
            found[i] = count, count
        elif problem.kind[i] == COMPUTE and problem.cost[i]:
            count += 1
        for start in problem.starts[i]:
            found[start] = begun[start], count
    return found
