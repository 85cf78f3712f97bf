"""A graph with a signature as the message of a SavedModel, in protobuf's wire format.

A file of it alone is a whole model where the graph holds all weights: `.tfg` files are that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from .._errors import ResourceExhaustedError

# : TensorFlow's method name for signatures.
SIGNATURE = "serving_default"


@dataclasses.dataclass
class Value:
    """A tensor of the graph: its name, dtype name and shape."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


def message(
    graph: bytes, inputs: Mapping[str, Value], outputs: Mapping[str, Value], has_init: bool = False
) -> bytes:
    """Returns a SavedModel with one meta graph. A collection keeps the order of inputs and outputs,
    which protobuf maps don't.

    Args:
        graph: a GraphDef.
        has_init: whether its node `init` initializes variables.
    """
    values = [*inputs.values(), *outputs.values()]
    signature = [_map(1, k, _tensor(v)) for k, v in inputs.items()]
    signature += [_map(2, k, _tensor(v)) for k, v in outputs.items()]
    signature.append(_bytes(3, b"tensorflow/serving/predict"))
    meta = [_bytes(1, _bytes(4, b"serve")), _bytes(2, graph)]
    if has_init:
        meta.append(_collection("saved_model_main_op", ["init"]))
    meta.append(_collection("signature_order", [v.name for v in values]))
    meta.append(_map(5, SIGNATURE, b"".join(signature)))
    whole = _number(1, 1) + _bytes(2, b"".join(meta))
    if len(whole) > _LARGEST:
        raise ResourceExhaustedError(
            f"the model takes {len(whole)} bytes, but protobuf files are limited to 2 GiB; use "
            "fewer or smaller weights, such as bfloat16"
        )
    return whole


_LARGEST = (1 << 31) - 1

# The numbers of dtypes in TensorFlow's DataType.
_DTYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8,
    "int64": 9, "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19,
    "uint32": 22, "uint64": 23, "float8_e5m2": 24, "float8_e4m3fn": 25,
}  # fmt: skip


def _collection(key: str, names: Sequence[str]) -> bytes:
    """Returns a list of nodes or tensors."""
    return _map(4, key, _bytes(1, b"".join(_bytes(1, name.encode()) for name in names)))


def _tensor(value: Value) -> bytes:
    dims = [_bytes(2, _number(1, -1 if d is None else d)) for d in value.shape]
    return b"".join(
        [
            _bytes(1, value.name.encode()),
            _number(2, _DTYPES[value.dtype]),
            _bytes(3, b"".join(dims)),
        ]
    )


def _map(field: int, key: str, value: bytes) -> bytes:
    return _bytes(field, _bytes(1, key.encode()) + _bytes(2, value))


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (2**64 - 1))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
