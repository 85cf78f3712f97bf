"""The tensors that functions and modules use, or change, in addition to their arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from .._errors import InvalidArgumentError

# A function that captures more tensors creates them itself, a new one in each call.
_MAX_CAPTURED = 1000
# Each attempt to trace a function may find more of them; torch.func creates new ones each time.
_MAX_ATTEMPTS = 8


class Captured(TorchFunctionMode):
    """The captured tensors of a function. They are used in place, unless the function changes them
    or views of them: then they become arguments of its graph.

    Attributes:
        lifted: those that are arguments, in order.
    """

    def __init__(self, is_functional: Callable[[fx.GraphModule], bool]) -> None:
        super().__init__()
        self._is_functional = is_functional
        self.lifted: list[torch.Tensor] = []
        self._attempts = 0
        self._seen: dict[int, torch.Tensor] = {}
        self._stand_ins: dict[int, torch.Tensor] = {}

    def traced(self, run: Callable[[Any], fx.GraphModule]) -> fx.GraphModule:
        """Returns the result of `run` for the function (None), or for a graph of it."""
        made = self._attempt(run)
        while made is None or (self._has_more() and not self._is_functional(made)):
            self.lifted = list(self._seen.values())
            made = self._attempt(run)
        return made if self._is_functional(made) else run(made)

    def _has_more(self) -> bool:
        found_more = len(self.lifted) < len(self._seen) <= _MAX_CAPTURED
        return found_more and self._attempts < _MAX_ATTEMPTS

    def _attempt(self, run: Callable[[Any], fx.GraphModule]) -> fx.GraphModule | None:
        """Returns None if captured tensors are changed."""
        self._attempts += 1
        try:
            return run(None)
        except RuntimeError:
            if not self._has_more():
                raise
            return None

    @contextlib.contextmanager
    def replaced_by(self, values: Sequence[torch.Tensor]) -> Iterator[None]:
        self._stand_ins = dict(zip(map(id, self.lifted), values, strict=True))
        with self:
            yield

    def replacement_of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Returns the tensor to change if a function binds another tensor instead of this one;
        None if it isn't read. RuntimeError if it must become an argument first."""
        if id(tensor) in self._seen and id(tensor) not in self._stand_ins:
            raise RuntimeError("a captured tensor is changed")
        return self._stand_ins.get(id(tensor))

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, self._replaced, (args, kwargs or {}))
        if self._has_more() and _changes(func, args, kwargs):
            raise RuntimeError("a captured tensor is changed")
        return func(*args, **kwargs)

    def _replaced(self, tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) in self._stand_ins:
            return self._stand_ins[id(tensor)]
        is_real = type(tensor) in (torch.Tensor, torch.nn.Parameter)
        if is_real and not torch._is_functional_tensor(tensor):
            self._seen.setdefault(id(tensor), tensor)
        return tensor


def _changes(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a call changes a tensor that isn't derived from arguments only."""
    name = getattr(func, "__name__", "")
    in_place = name == "__setitem__" or name.startswith("__i") or kwargs.get("inplace")
    in_place = in_place or (name.endswith("_") and not name.endswith("__"))
    goals = [args[0] if args and in_place else None, *pytree.tree_leaves(kwargs.get("out"))]
    return any(torch.is_tensor(g) and not torch._is_functional_tensor(g) for g in goals)


# ---- modules


def called_with(
    module: torch.nn.Module,
    stand_ins: Mapping[int, torch.Tensor],
    captured: Captured,
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """Calls a module with other tensors instead of its own, by identity, and restores them after
    the call. If the module binds new tensors, the replaced ones are changed at the end."""
    state = [t for m in module.modules() for t in (m._parameters, m._buffers)]
    others = [vars(m) for m in module.modules()]
    before = [(table, _tensors(table)) for table in (*state, *others)]
    for table in state:
        table.update({n: stand_ins.get(id(t), t) for n, t in table.items()})
    try:
        out = module(*args, **kwargs)
        bound = list(_bound(before, stand_ins, captured))
    finally:
        for table, tensors in before:
            for name in _tensors(table).keys() - tensors.keys():
                table[name] = None
            table.update(tensors)
    if bound:
        out = pytree.tree_map_only(torch.Tensor, torch.clone, out)
    for old, new in bound:
        old.copy_(new)
    return out


def _tensors(table: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in table.items() if isinstance(value, torch.Tensor)}


def _bound(
    before: Sequence[tuple[dict[str, Any], dict[str, torch.Tensor]]],
    stand_ins: Mapping[int, torch.Tensor],
    captured: Captured,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields each replaced tensor with its replacement."""
    for table, tensors in before:
        for name, tensor in tensors.items():
            new = table.get(name)
            old = stand_ins.get(id(tensor))
            if new is tensor or new is old:
                continue
            old = captured.replacement_of(tensor) if old is None else old
            if old is None:
                continue  # it was never read
            if new is None or (new.shape, new.dtype) != (old.shape, old.dtype):
                raise InvalidArgumentError(
                    f"the module binds its tensor '{name}' to a tensor of another shape or dtype; "
                    f"expected {str(old.dtype).removeprefix('torch.')}{list(old.shape)}"
                )
            yield old, new
