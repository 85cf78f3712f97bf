"""What Graph.explain gives: why iterations of loops take turns or overlap, and what is compiled."""

from typing import NamedTuple


class Op(NamedTuple):
    """A node: its name, its op, its function ("": the graph), and where it is from, if known."""

    name: str
    op: str
    where: str
    line: str


class Access(NamedTuple):
    """An op on the way of an order; of a resource, whether the op writes it."""

    op: Op
    writes: bool
    in_condition: bool


class Order(NamedTuple):
    """What the iterations of a loop might run one after the other for.

    `kind` is "condition" for the condition's result and what goes into it, "values" for what one
    iteration computes for the next, "resource" for what ops of both access. A resource that is only
    read doesn't order anything, and where the edges of a v1 loop leave open who is first, it is a
    race. `would_be_free` has the ops that would overlap if nothing wrote the resource.
    """

    kind: str
    subject: str
    by: tuple[Access, ...]
    orders: bool
    race: bool
    would_be_free: tuple[Op, ...]


class Loop(NamedTuple):
    """A loop, as `treadle show` counts them.

    `overlaps_in_auto` and `overlaps_when_on` tell whether something of two of its iterations may
    run at the same time with that loop_overlap, `in_auto` and `when_on` why. Ops that do something
    are in `in_turns` if they run in the order of the iterations, else in `overlapping`.
    """

    name: str
    kind: str
    line: str
    parallel_iterations: int
    functions: tuple[str, ...]
    overlaps_in_auto: bool
    overlaps_when_on: bool
    in_auto: str
    when_on: str
    orders: tuple[Order, ...]
    in_turns: tuple[Op, ...]
    overlapping: tuple[Op, ...]
    advice: tuple[str, ...]


class Body(NamedTuple):
    """The loops of the graph ("") or of a function, in its order, and what uses the function."""

    function: str
    users: tuple[str, ...]
    loops: tuple[Loop, ...]


class Cluster(NamedTuple):
    """A part of a body that becomes machine code, once for each class of shapes.

    A class is the ranks of its inputs, and which dimensions are 1. `nodes` are those of the body,
    `ops` also counts those of the functions that they call (but constants), and `inputs` are types
    as far as the graph tells them: "float32[?,16]".
    """

    where: str
    nodes: tuple[Op, ...]
    ops: int
    inputs: tuple[str, ...]


class Interpreted(NamedTuple):
    """Ops that stay with the interpreter, and why."""

    why: str
    nodes: tuple[Op, ...]


class Explanation(NamedTuple):
    """All loops of a graph, by the bodies that they are in, and what of the graph is compiled.

    What runs fetch and feed may divide `clusters`: they are what a run would compile that fetches
    nothing from inside them.
    """

    bodies: tuple[Body, ...]
    clusters: tuple[Cluster, ...]
    interpreted: tuple[Interpreted, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Those of all bodies."""
        return tuple(loop for body in self.bodies for loop in body.loops)
