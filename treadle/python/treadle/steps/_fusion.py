"""Determines which nodes a compiler can fuse without delaying an exchange."""

from __future__ import annotations

from collections.abc import Iterable

from ._costs import Costs
from ._problem import Problem
from ._step import COMPUTE, START, WAIT, Step


class Fusion:
    """Answers queries about pairs of nodes of a step, in the order of the step.

    Fused nodes run at the position of the last of them, and have the dependencies of all of them.
    That delays an exchange that needs the first and starts before the last; it also moves the first
    behind a wait that only the last needs, so that the first hides nothing any more.
    """

    def __init__(self, step: Step, costs: Costs):
        self.step = step
        problem = Problem(step, costs)
        self.cost, self.kind = problem.cost, problem.kind
        never = len(step)
        # The next exchange that needs a node, and the last wait that a node needs.
        self.begins = [never] * len(step)
        self.waits = [-1] * len(step)
        for i in reversed(range(len(step))):
            for j in problem.after[i]:
                begins = j if step.nodes[j].kind == START else self.begins[j]
                self.begins[i] = min(self.begins[i], begins)
        for i in range(len(step)):
            for j in problem.before[i]:
                waits = j if step.nodes[j].kind == WAIT else self.waits[j]
                self.waits[i] = max(self.waits[i], waits)
        self.starts = problem.starts

    def delayed(self, nodes: Iterable[str]) -> str | None:
        """Returns the exchange that fusing the nodes would delay, or None. Ignores nodes that are
        not in the step."""
        places = sorted(self.step.index[n] for n in set(nodes) if n in self.step.index)
        places = [i for i in places if self.kind[i] == COMPUTE]
        if len(places) < 2:
            return None
        last = places[-1]
        begins = min(self.begins[i] for i in places)
        if begins < last:
            return self.step.nodes[begins].name
        waits = max(self.waits[i] for i in places)
        hiding = sum(self.cost[i] for i in places if i < waits and self.waits[i] < waits)
        if hiding and waits >= 0:
            return self._hidden(waits, hiding)
        return None

    def _hidden(self, wait: int, hiding: int) -> str | None:
        """Returns the exchange of a wait, if the computation is a relevant fraction of its time."""
        for start in self.starts[wait]:
            if hiding > self.cost[start] // 50:
                return self.step.nodes[start].name
        return None
