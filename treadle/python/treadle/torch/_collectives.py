"""Functional collectives of torch.distributed as TensorFlow's collective ops.

A node acts as its own start: it blocks no thread while values are in transit, and only its users
wait. So wait_tensor is the value itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch.distributed as dist

from .._aten import _dtypes as dtypes
from .._aten._rules import rule
from .._aten._writer import Tensor, Writer
from .._errors import InvalidArgumentError, UnimplementedError
from .._native import Output

# The reductions of values of several ranks: merge_op and final_op.
_REDUCTIONS = {
    "sum": ("Add", "Id"),
    "avg": ("Add", "Div"),
    "product": ("Mul", "Id"),
    "min": ("Min", "Id"),
    "max": ("Max", "Id"),
}


def _group(name: Any) -> Any:
    try:
        return dist.distributed_c10d._resolve_process_group(name)
    except (LookupError, RuntimeError, ValueError):
        raise InvalidArgumentError(
            f"there is no process group '{name}'; initialize torch.distributed as it was when the "
            "graph was traced"
        ) from None


def _group_key(name: Any) -> int:
    """Returns a number that identifies the group on all ranks: PyTorch's number for it."""
    text = str(name)
    return int(text) if text.isdigit() else zlib.crc32(text.encode()) & 0x7FFFFFFF


def _keys(w: Writer, name: Any, size: int) -> list[Output]:
    """Returns group_size, group_key and instance_key. Instances are numbered in the order of the
    graph."""
    numbers = size, _group_key(name), w.next_instance()
    return [w.constant(n, dtypes.int32) for n in numbers]


def _reduction(name: str) -> dict[str, Any]:
    if name not in _REDUCTIONS:
        raise UnimplementedError(f"the reduction '{name}'; expected one of {[*_REDUCTIONS]}")
    merge, final = _REDUCTIONS[name]
    return {"merge_op": merge, "final_op": final}


@rule("_c10d_functional.all_reduce")
def _all_reduce(w: Writer, x: Tensor, reduce_op: str, group_name: Any) -> Output:
    keys = _keys(w, group_name, _group(group_name).size())
    return w.op("CollectiveReduceV2", x, *keys, [], **_reduction(reduce_op))


@rule("_c10d_functional.all_gather_into_tensor")
def _all_gather(w: Writer, x: Tensor, group_size: int, group_name: Any) -> Output:
    return w.op("CollectiveGatherV2", x, *_keys(w, group_name, group_size), [])


@rule("_c10d_functional.reduce_scatter_tensor")
def _reduce_scatter(
    w: Writer, x: Tensor, reduce_op: str, group_size: int, group_name: Any
) -> Output:
    keys = _keys(w, group_name, group_size)
    return w.op("CollectiveReduceScatterV2", x, *keys, [], **_reduction(reduce_op))


@rule("_c10d_functional.broadcast")
def _broadcast(w: Writer, x: Tensor, src: int, group_name: Any) -> Output:
    """Writes a broadcast; `src` is a rank of the group."""
    group = _group(group_name)
    keys = _keys(w, group_name, group.size())
    if group.rank() == src:
        return w.op("CollectiveBcastSendV2", x, *keys)
    return w.op("CollectiveBcastRecvV2", *keys, w.integers(x.shape), T=x.out.dtype)


@rule("_c10d_functional.all_to_all_single")
def _all_to_all(
    w: Writer,
    x: Tensor,
    output_split_sizes: Sequence[int],
    input_split_sizes: Sequence[int],
    group_name: Any,
) -> Output:
    sizes = {*output_split_sizes, *input_split_sizes}
    if len(sizes) > 1:
        raise UnimplementedError(f"parts of different sizes: {sorted(map(str, sizes))}")
    keys = _keys(w, group_name, _group(group_name).size())
    return w.op("CollectiveAllToAllV2", x, *keys, [])


@rule("_c10d_functional.wait_tensor")
def _wait(w: Writer, x: Tensor) -> Tensor:
    return x
