"""Combining small exchanges into one, so that their latencies are paid once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ._costs import Costs
from ._problem import Problem
from ._step import COMPUTE, START, VIEW, WAIT, Exchange, Node, Step

JOINED = ("all_reduce", "all_gather", "reduce_scatter")


@dataclasses.dataclass(frozen=True)
class Bucket:
    """Exchanges that are combined. `members` are their starts, `waits` their waits, whose names the
    parts of the result get."""

    members: tuple[str, ...]
    waits: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.members[0]}_bucket"

    @property
    def pack(self) -> str:
        return f"{self.name}_pack"

    @property
    def wait(self) -> str:
        return f"{self.name}_wait"


def buckets_of(problem: Problem, costs: Costs, order: Sequence[int], limit: int) -> list[Bucket]:
    """Returns groups of adjacent exchanges on a link, of at most `limit` bytes in total, for which
    combining saves time."""
    step = problem.step
    waits = joinable(problem)
    level = levels(problem)
    families: dict[tuple[object, ...], list[int]] = {}
    for i in order:
        if i in waits:
            e = step.nodes[i].exchange
            families.setdefault((e.collective, e.group, e.joins, level[i]), []).append(i)
    found = []
    for members in families.values():
        for part in _parts(step, members, limit):
            if len(part) > 1 and gain(step, costs, part) > 0:
                names = tuple(step.nodes[i].name for i in part)
                found.append(Bucket(names, tuple(step.nodes[waits[i]].name for i in part)))
    return found


def _parts(step: Step, members: Sequence[int], limit: int) -> list[list[int]]:
    parts: list[list[int]] = []
    size = limit
    for i in members:
        more = step.nodes[i].exchange.bytes
        if size + more > limit or not parts:
            parts.append([])
            size = 0
        parts[-1].append(i)
        size += more
    return parts


def joinable(problem: Problem) -> dict[int, int]:
    """Returns the starts that can be in a bucket, with their waits: each has one input, whose
    memory no node changes, and its only use is its wait, which has no other dependency."""
    step, memory = problem.step, problem.memory
    changed = set().union(*memory.writes) if len(step) else set()
    found = {}
    for i, node in enumerate(step.nodes):
        if node.kind != START or not node.exchange.joins or node.aliases or node.effects:
            continue
        users = problem.after[i]
        if node.exchange.collective not in JOINED or len(node.inputs) != 1 or len(users) != 1:
            continue
        wait = step.nodes[users[0]]
        touched = memory.reads[i] | set(memory.pieces[i])
        alone = wait.inputs == (node.name,) and not wait.after and not touched & changed
        if wait.kind == WAIT and alone:
            found[i] = users[0]
    return found


def levels(problem: Problem) -> list[int]:
    """Returns the maximum number of exchanges on a path to each node. No path connects two on the
    same level, so buckets within levels form no cycle."""
    level = [0] * len(problem)
    for i in problem.in_order():
        own = 1 if problem.link[i] >= 0 else 0
        level[i] = own + max((level[j] for j in problem.before[i]), default=0)
    return level


def joined(nodes: Sequence[Node]) -> Exchange:
    """Returns the exchange that combines those of several starts."""
    first = nodes[0].exchange
    size = sum(n.exchange.bytes for n in nodes)
    signature = " + ".join(n.exchange.signature for n in nodes)
    return dataclasses.replace(first, bytes=size, signature=signature)


def gain(step: Step, costs: Costs, members: Sequence[int]) -> int:
    """Returns the nanoseconds that a bucket saves: latencies, less the time of copies."""
    nodes = [step.nodes[i] for i in members]
    whole = Node("bucket", kind=START, exchange=joined(nodes))
    saved = sum(costs.exchange(n) for n in nodes) - costs.exchange(whole)
    copied = costs.copies(whole.exchange.bytes)
    if whole.exchange.collective == "all_gather":
        copied += costs.copies(sum(n.bytes for n in nodes))
    return saved - copied


def with_buckets(step: Step, buckets: Sequence[Bucket]) -> Step:
    """Returns the step with buckets instead of their members, in an order that the edges allow."""
    if not buckets:
        return step
    gone = {name for b in buckets for name in (*b.members, *b.waits)}
    at = {b.members[-1]: b for b in buckets}
    names = {member: b.name for b in buckets for member in b.members}
    nodes = []
    for node in step.nodes:
        if node.name in at:
            nodes += _nodes_of(step, at[node.name])
        elif node.name not in gone:
            nodes.append(_renamed(node, names))
    made = Step(nodes, step.groups)
    order = Problem(made, Costs()).in_order()
    return made.reordered(made.nodes[i].name for i in order)


def _nodes_of(step: Step, bucket: Bucket) -> list[Node]:
    members = [step[name] for name in bucket.members]
    exchange = joined(members)
    inputs = tuple(dict.fromkeys(name for m in members for name in m.inputs))
    after = tuple(dict.fromkeys(name for m in members for name in m.after))
    size = sum(m.bytes for m in members)
    nodes = [
        Node(bucket.pack, op="bucket.pack", inputs=inputs, after=after, bytes=exchange.bytes,
             moved=2 * exchange.bytes),
        dataclasses.replace(members[0], name=bucket.name, inputs=(bucket.pack,), after=(),
                            bytes=size, exchange=exchange),
        Node(bucket.wait, op="bucket.wait", kind=WAIT, inputs=(bucket.name,),
             aliases=(bucket.name,)),
    ]  # fmt: skip
    for member, name in zip(members, bucket.waits, strict=True):
        part = Node(name, op="bucket.part", kind=VIEW, inputs=(bucket.wait,),
                    aliases=(bucket.wait,))  # fmt: skip
        if exchange.collective == "all_gather":
            part = Node(name, op="bucket.part", kind=COMPUTE, inputs=(bucket.wait,),
                        bytes=member.bytes, moved=2 * member.bytes)  # fmt: skip
        nodes.append(part)
    return nodes


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    """Renames dependencies: nodes that follow a member for a reason other than its result follow
    the bucket."""
    if not any(name in names for name in node.after):
        return node
    after = dict.fromkeys(names.get(name, name) for name in node.after)
    return dataclasses.replace(node, after=tuple(after))
