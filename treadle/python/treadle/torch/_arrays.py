"""Tensors as arrays of numpy and back, without copies. Every call does this for each value."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from .._errors import InvalidArgumentError

# PyTorch's dtypes that numpy lacks, with integer dtypes of the same size.
_VIEWS = {
    torch.bfloat16: torch.int16,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e4m3fn: torch.uint8,
}
_EXTENSIONS = {str(dtype).removeprefix("torch."): dtype for dtype in _VIEWS}


def as_array(tensor: torch.Tensor) -> Any:
    """Returns the tensor's memory as an array. InvalidArgumentError unless it is on the CPU."""
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
        return tensor.numpy(force=True)  # a tensor with lazy conjugation


def _shared(tensor: torch.Tensor) -> Any:
    # A tensor can't be resized any more after numpy(). FSDP resizes its parameters to free them.
    if dist.is_available() and dist.is_initialized() and tensor.untyped_storage().resizable():
        return np.from_dlpack(tensor)
    return tensor.numpy()


def as_tensor(array: Any) -> torch.Tensor:
    """Returns the array's memory as a tensor."""
    if not array.size:  # numpy's strides are 0
        return torch.empty(array.shape, dtype=_dtype(array))
    try:
        return torch.from_numpy(array)
    except TypeError:  # a dtype of ml_dtypes
        pass
    dtype = _dtype(array)
    return torch.from_numpy(array.view(str(_VIEWS[dtype]).removeprefix("torch."))).view(dtype)


def _dtype(array: Any) -> torch.dtype:
    extension = _EXTENSIONS.get(array.dtype.name)
    return extension or torch.from_numpy(np.empty(0, array.dtype)).dtype


def memory_of(value: torch.Tensor) -> int | None:
    """Returns an identity that is the same for all tensors that share memory, while one of them
    exists."""
    return value.untyped_storage()._cdata if value.layout == torch.strided else None
