"""Ops under the names that TensorFlow's optimizer gives them where it has oneDNN."""

import pathlib
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from single_op_graphs import i32, run  # noqa: E402

RANDOM = np.random.default_rng(5)
BYTES = np.zeros(0, np.uint8)
FLOATS = {"T": "type: DT_FLOAT"}
IMAGE = {**FLOATS, "strides": "list { i: [1, 1, 1, 1] }", "padding": 's: "SAME"'}
PADDED = {**IMAGE, "padding": 's: "VALID"', "Tpaddings": "type: DT_INT32"}
POOL = {**IMAGE, "ksize": "list { i: [1, 2, 2, 1] }"}


def normal(*dims):
    return RANDOM.normal(size=dims).astype(np.float32)


def fused(*ops, arguments=1):
    names = ", ".join(f'"{op}"' for op in ops)
    return {"fused_ops": f"list {{ s: [{names}] }}", "num_args": f"i: {arguments}"}


X, W, B = normal(2, 6, 7, 3), normal(3, 3, 3, 4), normal(4)
PADDINGS = i32([[0, 0], [1, 1], [2, 0], [0, 0]])
ONE_FLOAT = {**fused("BiasAdd", "Relu"), "TArgs": "list { type: DT_FLOAT }"}


@pytest.mark.parametrize(
    ("name", "op", "inputs", "attrs"),
    [
        ("_MklNativeConv2D", "Conv2D", [X, W], IMAGE),
        ("_MklNativeFusedConv2D", "_FusedConv2D", [X, W, B], {**IMAGE, **ONE_FLOAT}),
        ("_MklNativeDepthwiseConv2dNative", "DepthwiseConv2dNative", [X, W], IMAGE),
        ("_MklNativeAvgPool", "AvgPool", [X], POOL),
        ("_MklMatMul", "MatMul", [normal(3, 4), normal(4, 5)], FLOATS),
        ("_MklSoftmax", "Softmax", [normal(3, 4)], FLOATS),
        ("_MklSwish", "_Swish", [normal(9)], FLOATS),
    ],
)
def test_other_names(name, op, inputs, attrs):
    np.testing.assert_array_equal(run(name, inputs, attrs), run(op, inputs, attrs))


def test_bytes_that_say_how_tensors_lie_in_memory():
    got = run("_MklConv2D", [X, W, BYTES, BYTES], IMAGE, outputs=4)
    np.testing.assert_array_equal(got[0], run("Conv2D", [X, W], IMAGE))
    assert got[2].dtype == np.uint8 and got[2].size == 0
    axis, attrs = i32(3), {**FLOATS, "N": "i: 2"}
    got = run("_MklConcatV2", [X, X[..., :1], axis, *[BYTES] * 3], attrs, outputs=2)
    np.testing.assert_array_equal(got[0], np.concatenate([X, X[..., :1]], 3))
    np.testing.assert_array_equal(
        run("_MklNativeMaxPool", [X], POOL, outputs=2)[0], run("MaxPool", [X], POOL)
    )


@pytest.mark.parametrize("op", ["_MklNativeConv2D", "_MklConv2D"])
def test_compiled_parts_around_them(op):
    attrs = " ".join(f'attr {{ key: "{k}" value {{ {v} }} }}' for k, v in IMAGE.items())
    kinds = {"x": "FLOAT", "w": "FLOAT", "m": "UINT8"}
    nodes = [
        f'node {{ name: "{n}" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_{t} }} }} }}'
        for n, t in kinds.items()
    ]
    inputs = '"x", "w"' if op == "_MklNativeConv2D" else '"x", "w", "m", "m"'
    nodes.append(f'node {{ name: "c" op: "{op}" input: [{inputs}] {attrs} }}')
    for name, kind, of in [("r", "Relu", "c"), ("e", "Exp", "r"), ("y", "Tanh", "e")]:
        attr = 'attr { key: "T" value { type: DT_FLOAT } }'
        nodes.append(f'node {{ name: "{name}" op: "{kind}" input: "{of}" {attr} }}')
    graph = treadle.Graph.from_bytes("\n".join(nodes).encode())
    expected = np.tanh(np.exp(np.maximum(run("Conv2D", [X, W], IMAGE), 0)))
    for tier in ("interpret", "jit"):
        got = treadle.Session(graph, tier=tier).run("y:0", {"x:0": X, "w:0": W, "m:0": BYTES})
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_convolutions_with_paddings_and_a_bias():
    plain = run("Conv2D", [np.pad(X, PADDINGS), W], PADDED)
    got = run("_MklNativePadWithConv2D", [X, W, PADDINGS], PADDED)
    np.testing.assert_allclose(got, plain, rtol=1e-5, atol=1e-5)
    attrs = {**PADDED, **fused("BiasAdd", "Relu")}
    got = run("_MklNativePadWithFusedConv2D", [X, W, B, PADDINGS], attrs)
    np.testing.assert_allclose(got, np.maximum(plain + B, 0), rtol=1e-5, atol=1e-5)
    got = run("_MklNativeConv2DWithBias", [X, W, B], IMAGE)
    np.testing.assert_allclose(got, run("Conv2D", [X, W], IMAGE) + B, rtol=1e-5, atol=1e-5)
    gradient, sizes = normal(2, 6, 7, 4), i32([3, 3, 3, 4])
    inputs = [X, sizes, gradient]
    got = run("_MklNativeConv2DBackpropFilterWithBias", inputs, IMAGE, outputs=2)
    np.testing.assert_array_equal(got[0], run("Conv2DBackpropFilter", inputs, IMAGE))
    np.testing.assert_allclose(got[1], gradient.sum((0, 1, 2)), rtol=1e-5)


def test_a_product_of_batches_with_a_factor_and_a_summand():
    x, y, mask = normal(2, 3, 4, 5), normal(2, 3, 5, 6), normal(2, 1, 1, 6)
    attrs = {**FLOATS, **fused("Mul", "Add", arguments=2)}
    got = run("_MklFusedBatchMatMulV2", [x, y, np.array(0.3, np.float32), mask], attrs)
    np.testing.assert_allclose(got, x @ y * 0.3 + mask, rtol=1e-5, atol=1e-5)
    with pytest.raises(treadle.InvalidArgumentError, match="fused_ops need 4"):
        run("_MklFusedBatchMatMulV2", [x, y, mask], {**attrs, "num_args": "i: 1"})
    with pytest.raises(treadle.UnimplementedError, match="supported are Mul and Add"):
        run("_MklFusedBatchMatMulV2", [x, y, mask], {**FLOATS, **fused("Sub")})


@pytest.mark.parametrize("is_last", [True, False])
def test_normalisation_of_each_image(is_last):
    factor, offset = normal(3), normal(3)
    mean, variance = X.mean((1, 2), keepdims=True), X.var((1, 2), keepdims=True)
    expected = (X - mean) / np.sqrt(variance + 0.01) * factor + offset
    expected = np.where(expected < 0, expected * np.float32(0.2), expected)
    axes = "1, 2" if is_last else "2, 3"
    attrs = {
        **FLOATS,
        **fused("LeakyRelu"),
        "epsilon": "f: 0.01",
        "reduction_axes": f"list {{ i: [{axes}] }}",
    }
    del attrs["num_args"]
    order = (0, 1, 2, 3) if is_last else (0, 3, 1, 2)
    got = run("_MklFusedInstanceNorm", [X.transpose(order).copy(), factor, offset], attrs)
    np.testing.assert_allclose(got, expected.transpose(order), rtol=1e-4, atol=1e-5)


def test_mish():
    x = normal(9)
    expected = x * np.tanh(np.log1p(np.exp(x)))
    np.testing.assert_allclose(run("_MklFusedMish", [x], FLOATS), expected, rtol=1e-5)


CAST = """node {{ name: "{name}" op: "Cast" input: "{of}"
  attr {{ key: "SrcT" value {{ type: {source} }} }}
  attr {{ key: "DstT" value {{ type: {to} }} }} }}"""
HALVES = """node {{ name: "h" op: "_FusedMatMul" input: ["x", "w", "b"]
  attr {{ key: "T" value {{ type: {half} }} }}
  attr {{ key: "num_args" value {{ i: 1 }} }}
  attr {{ key: "fused_ops" value {{ list {{ s: ["BiasAdd", "Relu"] }} }} }} }}"""


def constant(name, value):
    dims = " ".join(f"dim {{ size: {n} }}" for n in value.shape)
    values = ", ".join(map(str, value.ravel()))
    return f"""node {{ name: "{name}_" op: "Const"
      attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
      attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ {dims} }}
      float_val: [{values}] }} }} }} }}"""


@pytest.mark.parametrize(("half", "step"), [("DT_BFLOAT16", 4), ("DT_HALF", 0.5)])
def test_halves_are_rounded_once(half, step):
    x, w, b = np.float32([[1, 2], [3, -4]]), np.float32([[0.5, 1], [-1, 2]]), np.float32([520, 1])
    nodes = [HALVES.format(half=half), CAST.format(name="y", of="h", source=half, to="DT_FLOAT")]
    for name, value in {"x": x, "w": w, "b": b}.items():
        nodes.append(constant(name, value))
        nodes.append(CAST.format(name=name, of=f"{name}_", source="DT_FLOAT", to=half))
    (got,) = treadle.Session(treadle.Graph.from_bytes("\n".join(nodes).encode())).run(["y:0"])
    expected = np.maximum(x @ w + b, 0)
    expected[:, 0] = np.round(expected[:, 0] / step) * step
    np.testing.assert_array_equal(got, expected)
