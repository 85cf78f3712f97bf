"""Composite tensors: ragged and sparse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class RaggedTensor(NamedTuple):
    """Rows of different lengths: row i is values[row_splits[i]:row_splits[i + 1]].

    If rows are themselves ragged, `values` is a RaggedTensor.
    """

    values: ArrayLike | RaggedTensor
    row_splits: ArrayLike

    @property
    def flat_values(self) -> ArrayLike:
        """The values below all ragged dimensions."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def nested_row_splits(self) -> tuple[ArrayLike, ...]:
        """The splits of each ragged dimension, the outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    def to_list(self) -> list[Any]:
        """Returns the rows as nested lists."""
        values = self.values
        items = (
            values.to_list() if isinstance(values, RaggedTensor) else np.asarray(values).tolist()
        )
        ends = [int(end) for end in np.asarray(self.row_splits)]
        return [items[begin:end] for begin, end in zip(ends, ends[1:], strict=False)]


class SparseTensor(NamedTuple):
    """A tensor with few nonzero elements: values[i] is at indices[i]; all others are zero."""

    indices: ArrayLike
    values: ArrayLike
    dense_shape: ArrayLike

    def to_dense(self) -> np.ndarray:
        """Returns an array with zeros (b"" for strings) for the missing elements."""
        values = np.asarray(self.values)
        zero = b"" if values.dtype == object else 0
        dense = np.full(tuple(np.asarray(self.dense_shape)), zero, values.dtype)
        dense[tuple(np.asarray(self.indices).T)] = values
        return dense


def take_apart(value: Any, name: str, parts: Sequence[str]) -> list[Any]:
    """Returns the components `parts` of an argument.

    They are items of a dict, or attributes of the classes above or of TensorFlow's. A ragged tensor
    may also be passed as nested lists.
    """
    if isinstance(value, Mapping):
        found = {part: value[part] for part in parts if part in value}
    elif _is_ragged(parts):
        found = dict(zip(parts, _ragged_parts(value, len(parts) - 1), strict=False))
    else:
        found = {part: getattr(value, part) for part in parts if hasattr(value, part)}
    if len(found) == len(parts):
        return list(found.values())
    raise TypeError(
        f"argument '{name}' has type {type(value).__name__}, expected a dict or an object with "
        f"{', '.join(parts)}"
    )


def put_together(arrays: Sequence[np.ndarray], parts: Sequence[str]) -> Any:
    """Combines components into a result: one of the classes above, or a dict for other kinds."""
    if tuple(parts) == SparseTensor._fields:
        return SparseTensor(*arrays)
    if not _is_ragged(parts):
        return dict(zip(parts, arrays, strict=True))
    values, *splits = arrays
    ragged: Any = values
    for row_splits in reversed(splits):
        ragged = RaggedTensor(ragged, row_splits)
    return ragged


def spread(results: Mapping[str, Any]) -> dict[str, Any]:
    """Splits composite results into their components, by keys such as `x.values`."""
    flat: dict[str, Any] = {}
    for key, value in results.items():
        parts = {"": value}
        if isinstance(value, RaggedTensor):
            splits = value.nested_row_splits
            names = (
                [f".row_splits_{i}" for i in range(len(splits))] if splits[1:] else [".row_splits"]
            )
            parts = {".values": value.flat_values, **dict(zip(names, splits, strict=True))}
        elif isinstance(value, SparseTensor | Mapping):
            items = value._asdict() if isinstance(value, SparseTensor) else value
            parts = {f".{name}": part for name, part in items.items()}
        flat |= {key + name: part for name, part in parts.items()}
    return flat


def flat_parts(value: Any) -> list[Any] | None:
    """Returns the components of a ragged or sparse value, in TensorFlow's order."""
    if hasattr(value, "nested_row_splits"):
        return [value.flat_values, *value.nested_row_splits]
    if all(hasattr(value, field) for field in SparseTensor._fields):
        return [value.indices, value.values, value.dense_shape]
    return None


def _is_ragged(parts: Sequence[str]) -> bool:
    return len(parts) > 1 and parts[1].startswith("row_splits")


def _ragged_parts(value: Any, rank: int) -> list[Any]:
    if hasattr(value, "nested_row_splits"):
        return [value.flat_values, *value.nested_row_splits]
    splits: list[list[int]] = []
    for _ in range(rank):
        if not isinstance(value, list | tuple | np.ndarray):
            return []
        splits.append([0, *accumulate(len(row) for row in value)])
        value = [item for row in value for item in row]
    return [value, *splits]
