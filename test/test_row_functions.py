"""Functions that are called with rows: MapDefun with each, BatchFunction with batches of them."""

import numpy as np
import pytest

import treadle


def types(*names):
    return "list { " + " ".join(f"type: {name}" for name in names) + " }"


def node(name, op, *inputs, word="node", **attrs):
    lines = [f'input: "{value}"' for value in inputs]
    lines += [f'attr {{ key: "{k}" value {{ {value} }} }}' for k, value in attrs.items()]
    return f'{word} {{ name: "{name}" op: "{op}" ' + " ".join(lines) + " }"


FLOAT = "type: DT_FLOAT"

# f(x, c) = x + sum(x) + c
FUNCTION = f"""
library {{ function {{
  signature {{ name: "f" input_arg {{ name: "x" {FLOAT} }} input_arg {{ name: "c" {FLOAT} }}
              output_arg {{ name: "y" {FLOAT} }} }}
  {
    node(
        "axes",
        "Const",
        word="node_def",
        dtype="type: DT_INT32",
        value="tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 }",
    )
}
  {node("sum", "Sum", "x", "axes:output:0", word="node_def", T=FLOAT, Tidx="type: DT_INT32")}
  {node("more", "AddV2", "x", "sum:output:0", word="node_def", T=FLOAT)}
  {node("all", "AddV2", "more:z:0", "c", word="node_def", T=FLOAT)}
  ret {{ key: "y" value: "all:z:0" }}
}} }}
versions {{ producer: 2474 }}
"""


def session(**attrs):
    lines = [
        node("x", "Placeholder", dtype=FLOAT),
        node("c", "Placeholder", dtype=FLOAT),
        node("y", attrs.pop("op"), "x", "c", f='func { name: "f" }', **attrs),
        FUNCTION,
    ]
    return treadle.Session("\n".join(lines).encode())


def mapping(shape="unknown_rank: true"):
    return session(
        op="MapDefun",
        Targuments=types("DT_FLOAT"),
        Tcaptured=types("DT_FLOAT"),
        output_types=types("DT_FLOAT"),
        output_shapes=f"list {{ shape {{ {shape} }} }}",
    )


def batching(*allowed, largest=8):
    return session(
        op="BatchFunction",
        Tin=types("DT_FLOAT"),
        Tcaptured=types("DT_FLOAT"),
        Tout=types("DT_FLOAT"),
        num_batch_threads="i: 1",
        max_batch_size=f"i: {largest}",
        batch_timeout_micros="i: 0",
        allowed_batch_sizes="list { " + " ".join(f"i: {size}" for size in allowed) + " }",
    )


def test_map_defun_calls_for_each_row():
    y = mapping().run("y", {"x": [[1, 2], [3, 4], [0, 0]], "c": 0.5})
    assert y.tolist() == [[4.5, 5.5], [10.5, 11.5], [0.5, 0.5]]


def test_map_defun_checks_its_shapes():
    with pytest.raises(treadle.InvalidArgumentError, match=r"has shape \[2\] for row 0.*\[3\]"):
        mapping("dim { size: 3 }").run("y", {"x": [[1, 2]], "c": 0})
    empty = {"x": np.zeros([0, 3], np.float32), "c": 0}
    assert mapping("dim { size: 3 }").run("y", empty).shape == (0, 3)
    with pytest.raises(treadle.InvalidArgumentError, match="have no rows"):
        mapping().run("y", empty)
    with pytest.raises(treadle.InvalidArgumentError, match="expected the same number of rows"):
        mapping().run("y", {"x": 1.0, "c": 0})


@pytest.mark.parametrize("allowed, total", [((), 7), ((4, 8), 8), ((3, 8), 7), ((8,), 12)])
def test_batches_are_filled_up_with_their_first_row(allowed, total):
    y = batching(*allowed).run("y", {"x": [1, 2, 4], "c": 0})
    assert y.tolist() == [1 + total, 2 + total, 4 + total]


def test_batches_of_too_many_rows_and_of_none():
    with pytest.raises(treadle.InvalidArgumentError, match="9 rows, expected at most 8"):
        batching().run("y", {"x": np.zeros(9, np.float32), "c": 0})
    assert batching(4).run("y", {"x": np.zeros(0, np.float32), "c": 0}).shape == (0,)
    with pytest.raises(treadle.FailedPreconditionError, match="expected the same number of rows"):
        batching().run("y", {"x": [1], "c": [1, 2]})
