"""Costs from traces of PyTorch's profiler (Kineto's JSON) and of `treadle run --trace`."""

from __future__ import annotations

import json
import pathlib
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .._errors import InvalidArgumentError
from ._costs import Costs, Link, merged, wire

# The names of collectives in c10d and its backends. NCCL's kernels have them in their arguments.
_COLLECTIVES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgatherbase": "all_gather",
    "reducescatter": "reduce_scatter",
    "reducescatterbase": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoallbase": "all_to_all",
    "broadcast": "broadcast",
    "send": "send",
    "recv": "receive",
}
_BYTES = {"double": 8, "long": 8, "int64": 8, "float64": 8, "half": 2, "bfloat16": 2, "float16": 2,
          "short": 2, "char": 1, "byte": 1, "bool": 1, "int8": 1, "uint8": 1}  # fmt: skip


class Measured(NamedTuple):
    """A rank's measurement of one exchange."""

    collective: str
    ranks: int
    bytes: int
    seconds: float


def costs_of_traces(
    paths: Iterable[str | pathlib.Path], *, ranks: int | None = None, **others: Any
) -> Costs:
    """Returns costs from traces of one or several ranks, independent of their order.

    An op costs the median of all executions with the same input sizes, on the device if available.
    The time of an exchange is the shortest of all ranks, that of the rank that came last and didn't
    wait. Latency and bandwidth are fitted to exchanges of different sizes.

    Args:
        ranks: number of ranks of a group, if the traces don't contain it.
        others: attributes of Costs.
    """
    read = [_Trace(_load(path), ranks) for path in paths]
    if not read:
        raise InvalidArgumentError("no traces to read costs from")
    found = {
        "nodes": merged((item for t in read for item in t.nodes), statistics.median),
        "exchanges": merged((item for t in read for item in t.exchanges), min),
        "sizes": merged((item for t in read for item in t.sizes), statistics.median),
        "ops": merged((item for t in read for item in t.ops), statistics.median),
    }
    link = fit_link(_shortest([t.collectives for t in read]))
    return Costs(**{**found, **({"link": link} if link else {}), **others})


def _load(path: str | pathlib.Path) -> dict[str, Any]:
    try:
        made = json.loads(pathlib.Path(path).read_text())
    except ValueError as error:
        raise InvalidArgumentError(f"{path} is not JSON: {error}") from None
    made = {"traceEvents": made} if isinstance(made, list) else made
    if not isinstance(made, dict) or not isinstance(made.get("traceEvents"), list):
        raise InvalidArgumentError(
            f"{path} has no traceEvents; expected a trace in Chrome's format"
        )
    return made


class _Trace:
    """The contents of one trace: seconds by node, by op and sizes, by op; and its collectives."""

    def __init__(self, made: dict[str, Any], ranks: int | None):
        self.nodes: list[tuple[str, float]] = []
        self.exchanges: list[tuple[str, float]] = []
        self.sizes: list[tuple[str, float]] = []
        self.ops: list[tuple[str, float]] = []
        self.collectives: list[Measured] = []
        about = made.get("distributedInfo")
        world = about.get("world_size") if isinstance(about, dict) else None
        self.ranks = world if isinstance(world, int) and world > 0 else ranks
        events = [e for e in made["traceEvents"] if isinstance(e, dict) and e.get("ph") == "X"]
        self.kernels: dict[Any, float] = defaultdict(float)
        for event in events:
            if event.get("cat") == "kernel":
                self.kernels[_arguments(event).get("External id")] += _seconds(event)
        for event in sorted(events, key=lambda e: _number(e.get("ts"))):
            self._read(event)

    def _read(self, event: dict[str, Any]) -> None:
        name, arguments = str(event.get("name")), _arguments(event)
        if "cat" not in event and isinstance(arguments.get("op"), str):
            table = self.exchanges if arguments.get("exchange") else self.nodes
            table.append((name, _seconds(event)))
        elif event.get("cat") == "cpu_op" and "::" in name:
            self._read_op(event, name.replace("::", "."), arguments)
        elif event.get("cat") == "kernel" and "Collective name" in arguments:
            size = _number(arguments.get("In msg nelems")) * _size(arguments.get("dtype"))
            ranks = arguments.get("Group size")
            self._read_exchange(str(arguments["Collective name"]), ranks, int(size), event)
        elif name.startswith("gloo:"):
            dims, types = arguments.get("Input Dims"), arguments.get("Input type")
            size = sum(
                _elements(d) * _size(t) for d, t in zip(dims or (), types or (), strict=False)
            )
            self._read_exchange(name, self.ranks, size, event)

    def _read_op(self, event: dict[str, Any], op: str, arguments: dict[str, Any]) -> None:
        seconds = self.kernels.get(arguments.get("External id"), 0.0) or _seconds(event)
        if self.kernels and seconds == _seconds(event):
            return  # it did nothing on the device
        self.ops.append((op, seconds))
        dims = arguments.get("Input Dims")
        if isinstance(dims, list):
            shapes = [d for d in dims if isinstance(d, list) and d]
            text = ", ".join("x".join(map(str, d)) for d in shapes)
            self.sizes.append((f"{op}({text})", seconds))

    def _read_exchange(self, name: str, ranks: Any, size: int, event: dict[str, Any]) -> None:
        plain = name.rpartition(":")[2].lower().replace("_", "").strip()
        collective = _COLLECTIVES.get(plain)
        if collective and isinstance(ranks, int) and ranks > 1:
            self.collectives.append(Measured(collective, ranks, size, _seconds(event)))


def _arguments(event: dict[str, Any]) -> dict[str, Any]:
    found = event.get("args")
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value >= 0 else 0.0


def _seconds(event: dict[str, Any]) -> float:
    return _number(event.get("dur")) / 1e6


def _size(dtype: Any) -> int:
    return _BYTES.get(str(dtype).lower().removeprefix("c10::"), 4)


def _elements(dims: Any) -> int:
    count = 1
    for size in dims if isinstance(dims, list) else [0]:
        count *= size if isinstance(size, int) and size >= 0 else 0
    return count


def _shortest(ranks: Sequence[list[Measured]]) -> list[Measured]:
    """Returns the n-th exchange by the rank that waited least. Traces of other lengths, which can't
    be matched, are used as they are."""
    if len({tuple((e.collective, e.bytes) for e in rank) for rank in ranks}) > 1:
        return [e for rank in ranks for e in rank]
    return [min(same, key=lambda e: e.seconds) for same in zip(*ranks, strict=True)]


def fit_link(exchanges: Sequence[Measured]) -> Link | None:
    """Fits rounds * latency + share * bytes / bandwidth to the exchanges by least squares."""
    by_size: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for e in exchanges:
        by_size[e.collective, e.ranks, e.bytes].append(e.seconds)
    rows = []
    for (collective, ranks, size), seconds in sorted(by_size.items()):
        rounds, share = wire(collective, ranks)
        rows.append((float(rounds), share * size, statistics.median(sorted(seconds))))
    aa, ab = sum(a * a for a, _, _ in rows), sum(a * b for a, b, _ in rows)
    bb = sum(b * b for _, b, _ in rows)
    at, bt = sum(a * t for a, _, t in rows), sum(b * t for _, b, t in rows)
    determinant = aa * bb - ab * ab
    if not rows or determinant <= 1e-9 * aa * bb:
        return None
    latency = (at * bb - bt * ab) / determinant
    per_byte = (aa * bt - ab * at) / determinant
    if latency < 0:
        latency, per_byte = 0.0, bt / bb
    if per_byte <= 0:
        latency, per_byte = at / aa, 1e-15
    return Link(latency, 1 / per_byte)
