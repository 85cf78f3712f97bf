"""The arguments of from_fx: modules of all kinds, and example inputs in all forms."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import fx
from torch._export.verifier import SpecViolationError
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree

from .._errors import Error, InvalidArgumentError, UnimplementedError
from ._exported import sizes_checker, traced_as_file
from ._ordered import has_order
from ._trace import Traced, functional, signature_of


def traced(given: Any, example_inputs: Any, *, dynamic: bool) -> Traced:
    """Returns the argument of from_fx as a functional graph."""
    args, kwargs = _arguments(given, example_inputs)
    if isinstance(given, torch.export.ExportedProgram):
        if example_inputs is not None:
            _in_places(given.module(check_guards=False), args, kwargs, is_partial=True)
        made = _traced_program(given)
        made.check = sizes_checker(given)
        return made
    module = _module(given)
    args, kwargs = _in_places(module, args, kwargs)
    return _traced(given, module, args, kwargs, dynamic)


def _traced_program(given: torch.export.ExportedProgram) -> Traced:
    """Returns the graph in the file of a program that PyTorch can't decompose, or only without
    preserving its order."""
    if has_order(given.graph_module):
        return traced_as_file(given)
    try:
        module = given.run_decompositions({}).module(check_guards=False)
        return _traced(given, module, *_arguments(given, None), dynamic=False)
    except (RuntimeError, AssertionError, Error, SpecViolationError) as error:
        try:
            return traced_as_file(given)
        except UnimplementedError:
            raise
        except Exception:
            raise error from None


def _traced(
    given: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: bool
) -> Traced:
    try:
        made = functional(module, args, kwargs, dynamic=dynamic)
    except Error:
        raise
    except _BY_VALUE as error:
        raise UnimplementedError(
            f"{_name(given)} branches on the elements of a tensor: {_line(error)}; use "
            "torch.where, torch.cond or torch.while_loop, or torch.compile with "
            'backend="treadle", which takes the function apart'
        ) from error
    except Exception as error:
        raise InvalidArgumentError(
            f"{_name(given)} can't be traced with these example inputs:"
            f" {type(error).__name__}: {_line(error)}"
        ) from error
    made.again = lambda leaves: _traced(
        given, module, *pytree.tree_unflatten(leaves, made.takes), dynamic
    )
    return made


_BY_VALUE = (
    GuardOnDataDependentSymNode,
    DataDependentOutputException,
    DynamicOutputShapeException,
)


def _line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "no reason is given").rstrip(".")


def _name(given: Any) -> str:
    return f"'{getattr(given, '__name__', type(given).__name__)}'"


def _module(given: Any) -> Any:
    """Returns the module to trace."""
    if isinstance(given, torch.nn.Module):
        return getattr(given, "_orig_mod", given)  # a result of torch.compile
    if isinstance(given, type) or not callable(given):
        raise TypeError(
            f"graph_module is {_kind(given)}, expected a module, a graph module, an"
            f" ExportedProgram or a function{_advice(given)}"
        )
    return given


def _kind(given: Any) -> str:
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return f"of type {type(given).__name__}"


def _advice(given: Any) -> str:
    if isinstance(given, str | os.PathLike):
        return "; load it first: torch.export.load(path), or torch.load(path)"
    if isinstance(given, type):
        return f"; an object of it, such as {given.__name__}()"
    if isinstance(given, Mapping):
        return "; load it into its module: module.load_state_dict(...)"
    if isinstance(given, fx.Graph):
        return "; with its module: torch.fx.GraphModule(module, graph)"
    return ""


def _arguments(given: Any, examples: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the example inputs as positional and named arguments: a mapping contains named
    ones."""
    if examples is None:
        stated = getattr(given, "example_inputs", None) or ((), {})
        return tuple(stated[0]), dict(stated[1])
    if isinstance(examples, torch.Tensor | np.ndarray):
        examples = (examples,)
    if isinstance(examples, Mapping):
        return (), {name: _as_tensors(value) for name, value in examples.items()}
    if isinstance(examples, str) or not hasattr(examples, "__iter__"):
        raise TypeError(
            f"example_inputs is {_kind(examples)}, expected a list of tensors, or a dict of them by"
            " name"
        )
    return tuple(_as_tensors(value) for value in examples), {}


def _as_tensors(value: Any) -> Any:
    return pytree.tree_map_only(np.ndarray, torch.as_tensor, value)


def _in_places(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, is_partial: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Converts named arguments to positional ones if possible; TypeError for invalid arguments.
    is_partial: whether some may be missing."""
    signature = signature_of(module)
    if signature is None:
        return args, kwargs
    try:
        bind = signature.bind_partial if is_partial else signature.bind
        bound = bind(*args, **kwargs)
        return bound.args, bound.kwargs
    except TypeError as error:
        plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        takes = signature.replace(parameters=plain, return_annotation=signature.empty)
        raise TypeError(f"example_inputs: {error}; {_name(module)} takes {takes}") from None
