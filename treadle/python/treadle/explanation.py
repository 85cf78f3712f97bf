"""Results of Graph.explain: why iterations of loops overlap or don't, and what is compiled."""

from typing import NamedTuple


class Op(NamedTuple):
    """A node: its name, its op, its function ("": the graph), and its source location, if known."""

    name: str
    op: str
    where: str
    line: str


class Access(NamedTuple):
    """An op on a dependency path; for a resource, whether the op writes it."""

    op: Op
    writes: bool
    in_condition: bool


class Order(NamedTuple):
    """A reason that may order the iterations of a loop.

    `kind` is "condition" for the condition and the ops that compute it, "values" for values carried
    from one iteration to the next, and "resource" for a resource that several ops access. A
    resource that is only read orders nothing. If the edges of a v1 loop don't order the accesses,
    it is a race. `would_be_free` has the ops that would overlap if the resource weren't written.
    """

    kind: str
    subject: str
    by: tuple[Access, ...]
    orders: bool
    race: bool
    would_be_free: tuple[Op, ...]


class Loop(NamedTuple):
    """A loop, as `treadle show` lists them.

    `overlaps_in_auto` and `overlaps_when_on` tell whether parts of two iterations may run at the
    same time with that loop_overlap, and `in_auto` and `when_on` the reasons. `in_turns` has the
    ops that run in the order of the iterations, `overlapping` the other ops with side effects.
    `starved` lists nodes in a v1 loop that run in iteration 0 only, because they depend on an
    `Enter` that isn't constant.
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
    starved: tuple[str, ...] = ()


class Body(NamedTuple):
    """The loops of the graph ("") or of a function, in its order, and the users of the function."""

    function: str
    users: tuple[str, ...]
    loops: tuple[Loop, ...]


class Cluster(NamedTuple):
    """A cluster: a part of a body that is compiled, once for each class of input shapes.

    A class is the rank of each input and which dimensions are 1. `nodes` are those of the body.
    `ops` also counts the ops of called functions, except constants. `inputs` are types, as far as
    known: "float32[?,16]".
    """

    where: str
    nodes: tuple[Op, ...]
    ops: int
    inputs: tuple[str, ...]


class Interpreted(NamedTuple):
    """Ops that are interpreted, with the reason."""

    why: str
    nodes: tuple[Op, ...]


class Explanation(NamedTuple):
    """All loops of a graph, by the bodies that contain them, and the clusters that are compiled.

    A run that fetches or feeds a value inside one of the `clusters` splits it.
    """

    bodies: tuple[Body, ...]
    clusters: tuple[Cluster, ...]
    interpreted: tuple[Interpreted, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of all bodies."""
        return tuple(loop for body in self.bodies for loop in body.loops)
