"""Graphs of one op, made of text and run."""

import numpy as np
import pytest

import treadle

TYPES = {
    "float32": "DT_FLOAT",
    "float64": "DT_DOUBLE",
    "int8": "DT_INT8",
    "uint8": "DT_UINT8",
    "int32": "DT_INT32",
    "int64": "DT_INT64",
    "complex64": "DT_COMPLEX64",
    "complex128": "DT_COMPLEX128",
    "object": "DT_STRING",
}


def graph_of(op, dtypes, attrs, library=""):
    nodes = [
        f'node {{ name: "x{i}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {t} }} }} }}'
        for i, t in enumerate(dtypes)
    ]
    inputs = " ".join(f'input: "x{i}"' for i in range(len(dtypes)))
    fields = " ".join(
        f'attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attrs.items()
    )
    nodes.append(f'node {{ name: "y" op: "{op}" {inputs} {fields} }}')
    return treadle.Graph.from_bytes("\n".join([*nodes, library]).encode())


def run(op, values, attrs, outputs=1):
    values = [v if isinstance(v, np.ndarray) else np.array(v, object) for v in values]
    graph = graph_of(op, [TYPES[str(v.dtype)] for v in values], attrs)
    feeds = {f"x{i}:0": value for i, value in enumerate(values)}
    got = treadle.Session(graph).run([f"y:{i}" for i in range(outputs)], feeds)
    return got[0] if outputs == 1 else got


def fails(op, values, attrs, match, outputs=1):
    with pytest.raises(treadle.InvalidArgumentError, match=match):
        run(op, values, attrs, outputs)


def i32(*values):
    return np.array(values[0] if len(values) == 1 else values, np.int32)
