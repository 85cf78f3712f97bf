"""torch.compile(model, backend="treadle")."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from .._native import Communicator
from ._importer import import_graph
from ._program import Program

# Where a forward graph tells its backward graph which of the values that it keeps are images with
# their channels last: names, which both graphs have for them.
_TURNED = "_treadle_turned"


def _compiled(
    module: fx.GraphModule, turned: Collection[str] = (), own_results: int | None = None
) -> Callable[..., Any]:
    """One graph of PyTorch's as something that is called with a list."""
    imported = import_graph(module, views=True, turned=turned)
    communicator = Communicator.world() if imported.has_collectives else None
    threads = torch.get_num_threads()
    program = Program(imported, threads=threads, communicator=communicator, own_results=own_results)

    def call(args: list[Any]) -> list[Any]:
        out = program.call_flat(args)
        # The caller gave the list away: activations can go as soon as they were used.
        args.clear()
        return out

    call._boxed_call = True  # type: ignore[attr-defined]
    call.program = program  # type: ignore[attr-defined]
    return call


def _forward(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    call = _compiled(module, own_results=metadata.num_forward_returns if metadata else None)
    if context:
        (values,) = next(n for n in module.graph.nodes if n.op == "output").args
        results = call.program._imported.results  # type: ignore[attr-defined]
        turned = {v.name for v, r in zip(values, results, strict=True) if r.is_turned}
        setattr(context, _TURNED, turned)
    return call


def _backward(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    return _compiled(module, turned=getattr(TracingContext.try_get(), _TURNED, ()))


#: The backend: torch.compile finds it by the name "treadle".
backend = aot_autograd(fw_compiler=_forward, bw_compiler=_backward)
