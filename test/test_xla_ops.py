"""Ops that tf2xla and jax2tf write: each alone in a graph, against values of TensorFlow under
jit_compile."""

import pathlib
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from single_op_graphs import fails, graph_of, i32, run  # noqa: E402


def f32(values):
    return np.array(values, np.float32)


def test_xla_sorts_by_the_total_order():
    x = f32([[3, np.nan, -0.0, 0.0], [1, -np.inf, 1, -np.nan]])
    attrs = {"T": "type: DT_FLOAT"}
    wanted = f32([[-0.0, 0, 3, np.nan], [-np.nan, -np.inf, 1, 1]])
    got = run("XlaSort", [x], attrs)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
    attrs = {"K": "type: DT_FLOAT", "V": "type: DT_INT32"}
    keys, values = run("XlaKeyValueSort", [x, np.arange(8, dtype=np.int32).reshape(2, 4)], attrs, 2)
    np.testing.assert_array_equal(keys, wanted)
    np.testing.assert_array_equal(values, [[2, 3, 0, 1], [7, 5, 4, 6]])
    fails("XlaKeyValueSort", [x, i32(1, 2)], attrs, "expected the same shape", 2)


def test_xla_einsum():
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32)
    attrs = {"T": "type: DT_FLOAT", "equation": 's: "ij,jk->ki"'}
    got = run("XlaEinsum", [a, b.reshape(3, 4)], attrs)
    np.testing.assert_array_equal(got, (a @ b.reshape(3, 4)).T)


@pytest.mark.parametrize("lower", ["true", "false"])
def test_xla_eigenvalues_of_one_triangle(lower):
    x = np.random.default_rng(3).standard_normal((2, 4, 4)).astype(np.float32)
    attrs = {"T": "type: DT_FLOAT", "lower": f"b: {lower}", "max_iter": "i: 9", "epsilon": "f: 0"}
    values, vectors = run("XlaSelfAdjointEig", [x], attrs, 2)
    half = np.tril(x) if lower == "true" else np.swapaxes(np.triu(x), 1, 2)
    whole = half + np.swapaxes(np.tril(half, -1), 1, 2)
    found = np.einsum("bij,bj,bkj->bik", vectors, values, vectors)
    np.testing.assert_allclose(found, whole, atol=1e-5)


def test_xla_svd_gives_square_matrices():
    x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)
    attrs = {
        "T": "type: DT_FLOAT",
        "max_iter": "i: 9",
        "epsilon": "f: 0",
        "precision_config": "s: ''",
    }
    s, u, v = run("XlaSvd", [x], attrs, 3)
    assert (s.shape, u.shape, v.shape) == ((3,), (3, 3), (5, 5))
    np.testing.assert_allclose(u @ np.diag(s) @ v[:, :3].T, x, atol=1e-5)


BROADCASTS = [
    ((2, 3), (2,), [0], (2, 3), (2, 1)),
    ((3,), (2, 3), [1], (1, 3), (2, 3)),
    ((2, 3), (), [], (2, 3), ()),
    ((2, 3), (1, 3), [], (2, 3), (1, 3)),
]


@pytest.mark.parametrize(("left", "right", "at", "new_left", "new_right"), BROADCASTS)
def test_xla_broadcast_helper(left, right, at, new_left, new_right):
    attrs = {"T": "type: DT_FLOAT", "Tindices": "type: DT_INT32"}
    inputs = [np.ones(left, np.float32), np.ones(right, np.float32), np.array(at, np.int32)]
    got = run("XlaBroadcastHelper", inputs, attrs, 2)
    assert [x.shape for x in got] == [new_left, new_right]


def test_xla_broadcast_helper_refuses():
    attrs = {"T": "type: DT_FLOAT", "Tindices": "type: DT_INT32"}
    x, y = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    fails("XlaBroadcastHelper", [x, y, i32([])], attrs, "different ranks", 2)
    fails("XlaBroadcastHelper", [x, y, i32([2])], attrs, "ascending numbers in", 2)
    fails("XlaBroadcastHelper", [x, y, i32([0, 1])], attrs, "2 numbers for", 2)


def numbers(values):
    return f"list {{ {' '.join(f'i: {v}' for v in values)} }}"


def grid(counts, paddings, n, key):
    return {
        "T": "type: DT_INT32",
        "N": f"i: {n}",
        key: numbers(counts),
        "paddings": numbers(paddings),
    }


def test_xla_pieces_for_a_grid_of_devices():
    x = i32([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    parts = run("XlaSplitND", [x], grid([2, 2], [1, 1], 4, "num_splits"), 4)
    wanted = [[[0, 1], [3, 4]], [[2, 0], [5, 0]], [[6, 7], [0, 0]], [[8, 0], [0, 0]]]
    np.testing.assert_array_equal(parts, wanted)
    whole = run("XlaConcatND", parts, grid([2, 2], [1, 1], 4, "num_concats"))
    np.testing.assert_array_equal(whole, x)
    far = run("XlaSplitND", [i32(1, 2, 3)], grid([4], [5], 4, "num_splits"), 4)
    np.testing.assert_array_equal(far, [[1, 2], [3, 0], [0, 0], [0, 0]])


def test_xla_pieces_that_do_not_fit():
    x = i32(1, 2, 3)
    fails("XlaSplitND", [x], grid([2], [0], 2, "num_splits"), "isn't a multiple of 2", 2)
    fails("XlaSplitND", [x], grid([3], [0], 2, "num_splits"), "the op has 2 pieces", 2)
    fails("XlaSplitND", [x], grid([2, 1], [0, 0], 2, "num_splits"), "expected 1", 2)
    fails("XlaConcatND", [x, x], grid([2], [7], 2, "num_concats"), "is more than 2 pieces")
    fails(
        "XlaConcatND", [x, i32(1, 2)], grid([2], [0], 2, "num_concats"), "expected the same shape"
    )


def test_xla_annotations_for_one_device():
    x, attrs = f32([1, 2]), {"T": "type: DT_FLOAT"}
    np.testing.assert_array_equal(run("XlaSharding", [x], attrs), x)
    one = attrs | {"manual_sharding": 's: ""'}
    np.testing.assert_array_equal(run("XlaSpmdFullToShardShape", [x], one), x)
    two = attrs | {"manual_sharding": 's: "\\010\\003\\032\\001\\002\\042\\002\\000\\001"'}
    with pytest.raises(treadle.UnimplementedError, match="partitions tensors for several devices"):
        run("XlaSpmdFullToShardShape", [x], two)
    assert run("XlaReplicaId", [], {}) == 0
    assert run("XlaSetBound", [i32(3).reshape(()), i32(7).reshape(())], {}) == 3
    with pytest.raises(treadle.UnimplementedError, match="custom call 'foo' is not supported"):
        call = {
            "target_name": 's: "foo"',
            "T": "list { type: DT_FLOAT }",
            "dtype": "type: DT_FLOAT",
        }
        run("XlaCustomCall", [x], call | {"backend_config": 's: ""', "shape": "shape { }"})


def test_gradients_pass_annotations_of_sharding():
    nodes = [
        'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }',
        'node { name: "s" op: "XlaSharding" input: "x"'
        ' attr { key: "T" value { type: DT_FLOAT } } }',
        'node { name: "y" op: "Square" input: "s" attr { key: "T" value { type: DT_FLOAT } } }',
    ]
    graph = treadle.Graph.from_bytes("\n".join(nodes).encode())
    [slope] = graph.gradients(["y:0"], ["x:0"])
    got = treadle.Session(graph).run(str(slope), {"x:0": f32([1, 2])})
    np.testing.assert_array_equal(got, [2, 4])


def test_xla_dimension_sizes():
    x, attrs = f32([[1, 2, 3], [4, 5, 6]]), {"T": "type: DT_FLOAT"}

    def sized(axis, size):
        return [x, np.array(axis, np.int32), np.array(size, np.int32)]

    got = run("XlaSetDynamicDimensionSize", sized(1, 2), attrs)
    np.testing.assert_array_equal(got, [[1, 2], [4, 5]])
    fails("XlaSetDynamicDimensionSize", sized(2, 1), attrs, "dim_index 2 is not in")
    fails("XlaSetDynamicDimensionSize", sized(0, 3), attrs, "size 3 of dimension 0 is not in")


def test_xla_dequantize_takes_the_highest_byte_first():
    attrs = {
        "min_range": "f: -1",
        "max_range": "f: 3",
        "mode": 's: "MIN_COMBINED"',
        "transpose_output": "b: true",
    }
    nodes = graph_of("XlaDequantize", ["DT_UINT32"], attrs)
    got = treadle.Session(nodes).run("y:0", {"x0:0": np.array([[0x01020304]], np.uint32)})
    wanted = [[-0.984375], [-0.96875], [-0.953125], [-0.9375]]
    np.testing.assert_array_equal(got.astype(np.float32), wanted)


REDUCER = """
library { function {
  signature { name: "f" input_arg { name: "a" type: DT_FLOAT }
    input_arg { name: "b" type: DT_FLOAT } output_arg { name: "c" type: DT_FLOAT } }
  node_def { name: "m" op: "Maximum" input: "a" input: "b"
    attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "c" value: "m:z:0" } } }
"""


@pytest.mark.parametrize(("op", "n"), [("XlaReduce", None), ("XlaVariadicReduce", 1)])
def test_xla_reduces_by_a_function(op, n):
    attrs = {
        "T": "type: DT_FLOAT",
        "dimensions_to_reduce": numbers([0, 2]),
        "reducer": 'func { name: "f" }',
    }
    graph = graph_of(op, ["DT_FLOAT", "DT_FLOAT"], attrs | ({"N": f"i: {n}"} if n else {}), REDUCER)
    x = np.random.default_rng(5).standard_normal((2, 3, 4)).astype(np.float32)
    for value in (x, x[:0]):
        got = treadle.Session(graph).run("y:0", {"x0:0": value, "x1:0": np.float32(0.5)})
        np.testing.assert_array_equal(got, value.max((0, 2), initial=0.5))


def test_xla_reduces_alike_as_machine_code():
    start = """node { name: "start" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0.5 } } } }
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "shape" value { shape { dim { size: 64 } dim { size: 300 } } } } }
    node { name: "y" op: "XlaReduce" input: ["x", "start"]
      attr { key: "T" value { type: DT_FLOAT } }
      attr { key: "dimensions_to_reduce" value { list { i: [1] } } }
      attr { key: "reducer" value { func { name: "f" } } } }"""
    graph = treadle.Graph.from_bytes((start + REDUCER).encode())
    x = np.random.default_rng(5).standard_normal((64, 300)).astype(np.float32)
    for tier in ("interpret", "jit"):
        got = treadle.Session(graph, tier=tier).run("y:0", {"x:0": x})
        np.testing.assert_array_equal(got, x.max(1, initial=0.5))
