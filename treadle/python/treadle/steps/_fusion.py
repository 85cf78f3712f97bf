"""Which nodes a compiler can fuse without delaying an exchange."""

from __future__ import annotations

from collections.abc import Iterable

from ._costs import Costs
from ._problem import Problem
from ._step import COMPUTE, START, WAIT, Step


class Fusion:
    """Asked about pairs of nodes of a step, in the order of the step.

    Nodes that become one run where the last of them can, and follow all that one of them follows.
    That delays an exchange that needs the first and begins before the last; and it delays the
    first behind a wait that only the last needs, so that it hides nothing any more.
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
        """The exchange that is delayed if the nodes become one, or None. Nodes that aren't the
        step's count for nothing."""
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
        """The exchange of a wait, if the computing is a share of its time worth mentioning."""
        for start in self.starts[wait]:
            if hiding > self.cost[start] // 50:
                return self.step.nodes[start].name
        return None
