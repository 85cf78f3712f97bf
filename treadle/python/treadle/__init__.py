"""Treadle runs, reshapes and explains dataflow graphs.

>>> import treadle
>>> session = treadle.Session("model.pb")
>>> session.run("y:0", {"x:0": [1.0, 2.0]})
array([2., 3.], dtype=float32)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from . import _deepbind as _deepbind  # before all that imports the native module
from ._builder import Builder
from ._composites import RaggedTensor, SparseTensor
from ._errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)
from ._graph import Node
from ._model import Function, Model, SandboxStatus, Signature, Variant, load
from ._native import (
    CommunicationSchedule,
    Communicator,
    Graph,
    Operation,
    Output,
    Session,
    Statistics,
    Variable,
    __version__,
    _forget_function,
    _register_function,
    diff,
    trim,
)
from ._page import Page
from ._patterns import Match


class Problem(NamedTuple):
    """Something that Graph.check finds: kind, nodes, and a message.

    kind: "error", "race", "note", or "unfinished" where not all races were looked for.
    """

    kind: str
    nodes: tuple[str, ...]
    message: str


class Difference(NamedTuple):
    """What treadle.diff finds; str() is a line of `treadle diff`.

    kind: "added", "removed", "renamed" or "changed". node: in the second graph if it is there, ""
    for the graph or function itself. function: that it is in, or "".
    """

    kind: str
    function: str
    node: str
    message: str
    text: str

    def __str__(self) -> str:
        return self.text


class Schedule(NamedTuple):
    """An order of nodes with effects (`x@2` in a loop's iteration 2), and what it gave, as text."""

    firings: tuple[str, ...]
    outcome: str


class Exploration(NamedTuple):
    """What Graph.explore finds.

    `difference` has two schedules that give different things, or none. `is_ambiguous`: two live
    values met at a Merge, or left a loop; `is_random`: one schedule gave two things. `notes` say
    where the run does its setup's work again.
    """

    schedules: int
    is_complete: bool
    is_ambiguous: bool
    is_random: bool
    difference: tuple[Schedule, ...]
    notes: tuple[str, ...] = ()


class ProfileRow(NamedTuple):
    """What a node took in all runs, or all nodes of an op (name "" then). Times are in seconds.

    own: computing, without what it ran (iterations, functions). all: with that, and with waiting.
    wait: for a queue, another process or Python. bytes: of its results. compiled_calls: of a part
    that may be compiled, how many calls machine code ran; else None. contents: of such parts, loops
    and calls, in words.
    """

    name: str
    op: str
    calls: int
    own: float
    all: float
    wait: float
    bytes: int
    compiled_calls: int | None
    contents: str


class Profile(NamedTuple):
    """What Session.profile gives: how long the runs took together, and what each op took of it.

    measuring: what measuring took of `seconds`; the rows leave it out. left_out: calls that were
    too many to be counted. str() is the table.
    """

    runs: int
    seconds: float
    measuring: float
    left_out: int
    nodes: tuple[ProfileRow, ...]
    ops: tuple[ProfileRow, ...]
    text: str

    def __str__(self) -> str:
        return self.text


class Value(NamedTuple):
    """A value that a graph wants or gives: its name, dtype by name, and shape (or None)."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None


def register_op(
    name: str,
    fn: Callable[..., Any],
    effects: Literal["none", "world"] | Mapping[str, Literal["read", "write"]] = "world",
    outputs: Sequence[str] = (),
) -> None:
    """Makes a Python function the kernel of an op, in the sessions that are made from now on.

    The op may be one that Treadle doesn't know. A SavedModel has its definition; elsewhere its
    outputs are those that are used, of the dtypes that their users want.

    Args:
        name: the op, as a node's `op` field gives it, or the token of a PyFunc node.
        fn: called as fn(*arrays, **attributes) for each execution, with read-only numpy arrays;
            returns an array, a tuple of one array per output, or None where there is no output.
            The node's dtypes and number of outputs are checked. What it raises fails the run:
            a treadle.Error as it is, anything else as UnknownError.
        effects: what the op sees and changes besides its inputs: "none", "world" (anything), or a
            dict of resource names, each "read" or "write": {"counter": "write"}. In a function,
            nodes that access one resource run in order if one of them writes it, those of a loop's
            iterations too; in a graph, nodes run in the order that its edges ask for.
        outputs: the names of the op's outputs in their order. Needed only where a function of a
            GraphDef uses several outputs of an op that Treadle doesn't know: it calls them by
            name. An output that is a list of values is then a list in the tuple that fn returns.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"name is {name!r}, expected the name of an op")
    if not callable(fn):
        raise TypeError(f"fn is a {type(fn).__name__}, expected a function")
    if isinstance(outputs, str) or not all(isinstance(output, str) for output in outputs):
        raise TypeError(f"outputs is {outputs!r}, expected the names of the op's outputs")
    _register_function(name, fn, _writes_of(effects), effects == "world", list(outputs))


def unregister_op(name: str) -> None:
    """Takes back what register_op made of a name: sessions made from now on run the op's own
    kernel, if it has one.

    Raises:
        NotFoundError: no Python function has that name.
    """
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}, expected the name of an op")
    if not _forget_function(name):
        raise NotFoundError(f"no Python function is registered as {name!r}")


def _writes_of(effects: Any) -> dict[str, bool]:
    """The resources that effects name, and whether each is written."""
    if isinstance(effects, str) and effects in ("none", "world"):
        return {}
    if isinstance(effects, Mapping) and all(
        isinstance(resource, str) and isinstance(access, str) and access in ("read", "write")
        for resource, access in effects.items()
    ):
        return {resource: access == "write" for resource, access in effects.items()}
    raise ValueError(
        f"effects is {effects!r}, expected 'none', 'world' or a dict of resource names, each "
        "'read' or 'write': {'counter': 'write'}"
    )


def from_fx(graph_module: Any, example_inputs: Any = None, **options: Any) -> Any:
    """Imports a module, an exported program or a function of PyTorch, which has to be installed;
    see treadle.torch.from_fx.

    >>> program = treadle.from_fx(model, [x])
    >>> y = program(x)
    """
    from .torch import from_fx

    return from_fx(graph_module, example_inputs, **options)


__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "Builder",
    "CancelledError",
    "CommunicationSchedule",
    "Communicator",
    "DataLossError",
    "DeadlineExceededError",
    "Difference",
    "Error",
    "Exploration",
    "FailedPreconditionError",
    "Function",
    "Graph",
    "InternalError",
    "InvalidArgumentError",
    "Match",
    "Model",
    "Node",
    "NotFoundError",
    "Operation",
    "OutOfRangeError",
    "Output",
    "Page",
    "PermissionDeniedError",
    "Problem",
    "Profile",
    "ProfileRow",
    "RaggedTensor",
    "SandboxStatus",
    "Schedule",
    "ResourceExhaustedError",
    "Session",
    "Signature",
    "SparseTensor",
    "Statistics",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "Value",
    "Variant",
    "Variable",
    "__version__",
    "diff",
    "from_fx",
    "load",
    "register_op",
    "trim",
    "unregister_op",
]
