"""torch.compile(model, backend="treadle")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd

from .._native import Communicator
from ._importer import import_graph
from ._program import Program


def _compiled(module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """One graph of PyTorch's, forward or backward, as something that is called with a list."""
    imported = import_graph(module, views=True)
    communicator = Communicator.world() if imported.has_collectives else None
    threads = torch.get_num_threads()
    program = Program(imported, threads=threads, communicator=communicator)

    def call(args: list[Any]) -> list[Any]:
        out = program.call_flat(args)
        # The caller gave the list away: activations can go as soon as they were used.
        args.clear()
        return out

    call._boxed_call = True  # type: ignore[attr-defined]
    call.program = program  # type: ignore[attr-defined]
    return call


#: The backend: torch.compile finds it by the name "treadle".
backend = aot_autograd(fw_compiler=_compiled)
