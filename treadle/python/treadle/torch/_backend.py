"""torch.compile(model, backend="treadle")."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from .._aten._values import channels_last
from .._errors import UnimplementedError
from .._native import Communicator
from ._importer import import_graph
from ._memory import Views, split_views
from ._pieces import in_pieces
from ._program import Program

# Metadata key by which a forward graph tells its backward graph which of the saved values are
# channels-last images: their names, which are the same in both graphs.
_TURNED = "_treadle_turned"


def _compiled(
    views: Views, turned: Collection[str] = (), *, turns: bool = False
) -> Callable[..., Any]:
    """Compiles one graph of PyTorch to a callable that takes a list."""
    try:
        imported = import_graph(views.core, views=True, turned=turned, own_results=views.own)
        communicator = _world() if imported.has_collectives else None
    except UnimplementedError as error:
        return _with_pytorch(views, turned, error)
    threads = torch.get_num_threads()
    own = views.own if turns else None
    program = Program(imported, threads=threads, communicator=communicator, own_results=own)

    call = _boxed(views, program.call_flat)
    call.program = program  # type: ignore[attr-defined]
    return call


def _with_pytorch(
    views: Views, turned: Collection[str], error: UnimplementedError
) -> Callable[..., Any]:
    """Compiles a graph in which PyTorch runs the nodes that Treadle doesn't support."""

    def imported(piece: fx.GraphModule) -> Program:
        made = import_graph(piece, turned=turned)
        if made.has_collectives:
            raise error  # they are numbered within one graph
        return Program(made, threads=torch.get_num_threads())

    found = in_pieces(views.core, error, imported)
    nodes = f"'s {', '.join(repr(e.node) for e in found[1])}" if found else ""
    why = "; ".join(map(str, found[1] if found else [error]))
    warnings.warn(f"PyTorch runs this graph{nodes}, since Treadle can't: {why}", stacklevel=3)
    run = found[0] if found else views.core
    return _boxed(views, lambda args: list(run(*args)))


def _world() -> Communicator:
    """Returns the communicator of all processes of torch.distributed. UnimplementedError if mpirun
    didn't start all of them: only PyTorch connects the others."""
    world = Communicator.world()
    if world.size < dist.get_world_size():
        raise UnimplementedError(
            f"it communicates between {dist.get_world_size()} processes, but mpirun started "
            f"{world.size}"
        )
    return world


def _boxed(views: Views, run: Callable[[list[Any]], list[Any]]) -> Callable[..., Any]:
    def call(args: list[Any]) -> list[Any]:
        out = run(args)
        if views.make:
            out = views.make(args, out)
        # The caller gave up ownership of the list: free activations as soon as they were used.
        args.clear()
        return out

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _forward(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    views = split_views(module, metadata.num_forward_returns if metadata else None)
    call = _compiled(views, turns=metadata is not None)
    if context and hasattr(call, "program"):
        (values,) = next(n for n in views.core.graph.nodes if n.op == "output").args
        results = call.program._imported.results  # type: ignore[attr-defined]
        orders = {v.name: r.order for v, r in zip(values, results, strict=True) if r.order}
        turned = {name for name, order in orders.items() if order == channels_last(len(order))}
        setattr(context, _TURNED, turned)
    return call


def _backward(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    turned = getattr(TracingContext.try_get(), _TURNED, ())
    # Gradients are returned as they are computed.
    return _compiled(Views(module, 0), turned)


#: The backend: torch.compile finds it by the name "treadle".
backend = aot_autograd(fw_compiler=_forward, bw_compiler=_backward)
