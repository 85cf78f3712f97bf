"""Tensors as arrays of numpy and back, without copies. Every call does this for each value."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from .._errors import InvalidArgumentError

# PyTorch's dtypes that numpy hasn't, and integers of their sizes that it has.
_VIEWS = {
    torch.bfloat16: torch.int16,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e4m3fn: torch.uint8,
}
_EXTENSIONS = {str(dtype).removeprefix("torch."): dtype for dtype in _VIEWS}


def as_array(tensor: torch.Tensor) -> Any:
    """A tensor as an array: its own memory. InvalidArgumentError unless it is on the CPU."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dtype in _VIEWS:
        import ml_dtypes

        name = str(tensor.dtype).removeprefix("torch.")
        return _shared(tensor.view(_VIEWS[tensor.dtype])).view(getattr(ml_dtypes, name))
    try:
        return _shared(tensor)
    except (RuntimeError, TypeError) as error:
        if tensor.device.type != "cpu":
            raise InvalidArgumentError(
                f"a tensor is on {tensor.device}; expected the CPU: call .cpu()"
            ) from error
        return tensor.numpy(force=True)  # one that is conjugated when it is looked at


def _shared(tensor: torch.Tensor) -> Any:
    # A tensor can't be resized any more after numpy(). FSDP resizes its parameters to free them.
    if dist.is_available() and dist.is_initialized() and tensor.untyped_storage().resizable():
        return np.from_dlpack(tensor)
    return tensor.numpy()


def as_tensor(array: Any) -> torch.Tensor:
    """An array as a tensor: its own memory."""
    if not array.size:  # numpy's strides are 0
        return torch.empty(array.shape, dtype=_dtype(array))
    try:
        return torch.from_numpy(array)
    except TypeError:  # of ml_dtypes
        pass
    dtype = _dtype(array)
    return torch.from_numpy(array.view(str(_VIEWS[dtype]).removeprefix("torch."))).view(dtype)


def _dtype(array: Any) -> torch.dtype:
    extension = _EXTENSIONS.get(array.dtype.name)
    return extension or torch.from_numpy(np.empty(0, array.dtype)).dtype


def memory_of(value: torch.Tensor) -> int | None:
    """What is the same for all tensors that share memory, for as long as one of them is there."""
    return value.untyped_storage()._cdata if value.layout == torch.strided else None
