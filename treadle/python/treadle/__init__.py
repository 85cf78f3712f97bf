"""Treadle runs, reshapes and explains dataflow graphs.

>>> import treadle
>>> session = treadle.Session("model.pb")
>>> session.run("y:0", {"x:0": [1.0, 2.0]})
array([2., 3.], dtype=float32)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from . import _deepbind as _deepbind  # before any import of the native module
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
    """A problem that Graph.check found: kind, nodes, and a message.

    kind: "error", "race", "note", or "unfinished" if the search for races was incomplete.
    """

    kind: str
    nodes: tuple[str, ...]
    message: str


class Difference(NamedTuple):
    """A difference that treadle.diff found; str() is a line of `treadle diff`.

    kind: "added", "removed", "renamed" or "changed". node: its name in the second graph if it is
    there; "" for the graph or function itself. function: the function that contains it, or "".
    """

    kind: str
    function: str
    node: str
    message: str
    text: str

    def __str__(self) -> str:
        return self.text


class Schedule(NamedTuple):
    """An order of nodes with side effects (`x@2` in iteration 2 of a loop), and its outcome as
    text."""

    firings: tuple[str, ...]
    outcome: str


class Exploration(NamedTuple):
    """The result of Graph.explore.

    `difference` has two schedules with different results, or none. `is_ambiguous`: two live values
    reached a Merge, or left a loop; `is_random`: one schedule had two results. `notes` tell if the
    run repeats work of its setup.
    """

    schedules: int
    is_complete: bool
    is_ambiguous: bool
    is_random: bool
    difference: tuple[Schedule, ...]
    notes: tuple[str, ...] = ()


class ProfileRow(NamedTuple):
    """The time of a node in all runs, or of all nodes with an op (then name is ""), in seconds.

    own: in the op itself, excluding the iterations and functions that it ran. all: including these,
    and waiting. wait: waiting for a queue, another process or Python. bytes: size of its results.
    compiled_calls: for a part that may be compiled, the number of calls that ran compiled code;
    otherwise None. contents: for such parts, loops and calls, their nodes as text.
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
    """The result of Session.profile: the time of all runs, and of each op.

    measuring: the overhead of measuring in `seconds`, which the rows exclude. left_out: number of
    calls that were not recorded. str() is the table.
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
    """An input or output of a graph: its name, the name of its dtype, and its shape (or None)."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None


def register_op(
    name: str,
    fn: Callable[..., Any],
    effects: Literal["none", "world"] | Mapping[str, Literal["read", "write"]] = "world",
    outputs: Sequence[str] = (),
) -> None:
    """Registers a Python function as the kernel of an op, for sessions that are created later.

    The op may be unknown to Treadle. A SavedModel contains its definition; otherwise the node has
    the outputs that are used, with the dtypes that their users require.

    Args:
        name: the op, as in a node's `op` field, or the token of a PyFunc node.
        fn: called as fn(*arrays, **attributes) for each execution, with read-only numpy arrays;
            returns an array, a tuple of one array per output, or None if there is no output. The
            dtypes and the number of outputs are checked. An exception fails the run: a
            treadle.Error unchanged, others as UnknownError.
        effects: the side effects of the op: "none", "world" (anything), or a dict of resource
            names, each "read" or "write": {"counter": "write"}. In a function, nodes that access
            one resource run in order if one of them writes it, also in different iterations of a
            loop; in a graph, edges determine the order.
        outputs: the names of the op's outputs in order. Required only if a function of a GraphDef
            uses several outputs of an unknown op, since it refers to them by name. An output that
            is a list of values is a list in the tuple that fn returns.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"name is {name!r}, expected the name of an op")
    if not callable(fn):
        raise TypeError(f"fn is a {type(fn).__name__}, expected a function")
    if isinstance(outputs, str) or not all(isinstance(output, str) for output in outputs):
        raise TypeError(f"outputs is {outputs!r}, expected the names of the op's outputs")
    _register_function(name, fn, _writes_of(effects), effects == "world", list(outputs))


def unregister_op(name: str) -> None:
    """Removes a function that register_op registered: sessions that are created later use the op's
    own kernel, if it has one.

    Raises:
        NotFoundError: no Python function is registered by that name.
    """
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}, expected the name of an op")
    if not _forget_function(name):
        raise NotFoundError(f"no Python function is registered as {name!r}")


def _writes_of(effects: Any) -> dict[str, bool]:
    """Returns the resources in `effects`, and whether each is written."""
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
    """Imports a module, an exported program or a function of PyTorch, which must be installed; see
    treadle.torch.from_fx.

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
