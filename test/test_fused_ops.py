"""Graphs give the same before and after tfg-remap, and fused nodes have TensorFlow's attributes."""

import numpy as np
import pytest

import treadle

RANDOM = np.random.default_rng(3)


def attr(key, value):
    return f"attr {{ key: '{key}' value {{ {value} }} }} "


def node(name, op, inputs=(), attrs=""):
    edges = "".join(f"input: '{i}' " for i in inputs)
    return f"node {{ name: '{name}' op: '{op}' {edges}{attrs}}}\n"


def const(name, value):
    value = np.asarray(value)
    kind, field = ("DT_INT32", "int_val") if value.dtype.kind == "i" else ("DT_FLOAT", "float_val")
    dims = "".join(f"dim {{ size: {d} }} " for d in value.shape)
    numbers = ", ".join(str(v) for v in value.ravel())
    tensor = f"tensor {{ dtype: {kind} tensor_shape {{ {dims}}} {field}: [{numbers}] }}"
    return node(name, "Const", attrs=attr("dtype", f"type: {kind}") + attr("value", tensor))


def op(name, kind, *inputs, more=""):
    return node(name, kind, inputs, attr("T", "type: DT_FLOAT") + more)


def placeholder(name, *dims):
    shape = "".join(f"dim {{ size: {d} }} " for d in dims)
    return node(
        name,
        "Placeholder",
        attrs=attr("dtype", "type: DT_FLOAT") + attr("shape", f"shape {{ {shape}}}"),
    )


def vector(n):
    return RANDOM.normal(size=n).astype(np.float32)


IMAGE = attr("strides", "list { i: [1, 1, 1, 1] }") + attr("padding", "s: 'SAME'")
KEEP = attr("keep_dims", "b: true") + attr("Tidx", "type: DT_INT32")

MATMUL = (
    placeholder("x", -1, 4)
    + const("w", RANDOM.normal(size=(4, 6)).astype(np.float32))
    + const("b", vector(6))
    + op("p", "MatMul", "x", "w")
)
GELU = (
    MATMUL
    + op("s", "BiasAdd", "p", "b")
    + const("half", np.float32(0.5))
    + const("one", np.float32(1))
    + const("root", np.float32(2**0.5))
    + op("q", "RealDiv", "s", "root")
    + op("e", "Erf", "q")
    + op("f", "AddV2", "one", "e")
    + op("h", "Mul", "half", "f")
    + op("y", "Mul", "s", "h")
)
CONVOLUTION = (
    placeholder("x", -1, 5, 5, 4)
    + const("w", RANDOM.normal(size=(3, 3, 4, 6)).astype(np.float32))
    + const("g", vector(6))
    + const("b", vector(6))
    + const("m", vector(6))
    + const("v", np.abs(vector(6)))
    + op("p", "Conv2D", "x", "w", more=IMAGE)
    + op("s", "BiasAdd", "p", "b")
)
NORM = attr("is_training", "b: false") + attr("U", "type: DT_FLOAT")
DEPTHWISE = (
    placeholder("x", -1, 5, 5, 3)
    + const("w", RANDOM.normal(size=(3, 3, 3, 2)).astype(np.float32))
    + const("g", vector(6))
    + op("p", "DepthwiseConv2dNative", "x", "w", more=IMAGE)
    + op("q", "Mul", "p", "g")
    + op("y", "Relu6", "q")
)
LAYER_NORM = (
    placeholder("x", -1, 3, 6)
    + const("axis", np.int32([-1]))
    + const("g", vector(6))
    + const("b", vector(6))
    + const("tiny", np.float32(1e-3))
    + op("m", "Mean", "x", "axis", more=KEEP)
    + op("d", "SquaredDifference", "x", "m")
    + op("v", "Mean", "d", "axis", more=KEEP)
    + op("a", "AddV2", "v", "tiny")
    + op("r", "Rsqrt", "a")
    + op("f", "Mul", "r", "g")
    + op("t", "Mul", "x", "f")
    + op("u", "Mul", "m", "f")
    + op("w", "Sub", "b", "u")
    + op("y", "AddV2", "t", "w")
)

# The node that y becomes: the op and its fused_ops.
PROGRAMS = {
    "bias": (MATMUL + op("y", "AddV2", "p", "b"), "_FusedMatMul", ["BiasAdd"]),
    "tanh": (
        MATMUL + op("s", "BiasAdd", "p", "b") + op("y", "Tanh", "s"),
        "_FusedMatMul",
        ["BiasAdd", "Tanh"],
    ),
    "gelu": (GELU, "_FusedMatMul", ["BiasAdd", "GeluExact"]),
    "norm": (
        CONVOLUTION
        + op("n", "FusedBatchNormV3", "s", "g", "b", "m", "v", more=NORM)
        + op("y", "Relu", "n"),
        "_FusedConv2D",
        ["BiasAdd", "Relu"],
    ),
    "summand": (
        CONVOLUTION
        + op("w2", "Conv2D", "x", "w", more=IMAGE)
        + op("t", "AddV2", "s", "w2")
        + op("y", "Relu", "t"),
        "_FusedConv2D",
        ["BiasAdd", "Add", "Relu"],
    ),
    "scaled": (
        CONVOLUTION + op("t", "Mul", "s", "g") + op("y", "Elu", "t"),
        "_FusedConv2D",
        ["BiasAdd", "Elu"],
    ),
    "depthwise": (DEPTHWISE, "_FusedDepthwiseConv2dNative", ["BiasAdd", "Relu6"]),
    "layer norm": (LAYER_NORM, "_MklLayerNorm", None),
}


def shape_of(text):
    first = text.split("\n")[0]
    dims = [int(part.split("}")[0]) for part in first.split("size:")[1:]]
    return [2 if d < 0 else d for d in dims]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("fetched", [["y"], ["y", "p"]], ids=["all", "product"])
def test_values_stay(name, fetched):
    text, kind, fused_ops = PROGRAMS[name]
    if name == "layer norm":
        fetched = ["y"]
    graph = treadle.Graph.from_bytes(text.encode())
    keep = ",".join(fetched)
    passes = f"tfg-shape-inference,tfg-remap{{keep={keep}}},tfg-verify,tfg-prune{{fetches={keep}}}"
    fused = graph.run_passes(passes)
    x = RANDOM.normal(size=shape_of(text)).astype(np.float32)
    for want, value in zip(
        treadle.Session(graph).run([f"{f}:0" for f in fetched], {"x:0": x}),
        treadle.Session(fused).run([f"{f}:0" for f in fetched], {"x:0": x}),
        strict=True,
    ):
        np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-5)
    ops = {n.op for n in fused.nodes()}
    if fetched == ["y"]:
        assert fused["y"].op == kind
        assert not ops & {"MatMul", "BiasAdd", "Erf", "FusedBatchNormV3", "Rsqrt"}
    else:
        assert "p" in [n.name for n in fused.nodes()]
        assert fused["y"].op != kind or name in ("summand",)
    if fused_ops and fused["y"].op == kind:
        assert [str(o) for o in fused["y"].attrs["fused_ops"]] == fused_ops


def test_survives_export():
    text, kind, _ = PROGRAMS["summand"]
    fused = treadle.Graph.from_bytes(text.encode()).run_passes("tfg-shape-inference,tfg-remap")
    back = treadle.Graph.from_bytes(fused.to_bytes())
    attrs = back["y"].attrs
    assert back["y"].op == kind
    assert attrs["num_args"] == 2
    assert len(attrs["TArgs"]) == 2
    assert attrs["leakyrelu_alpha"] == pytest.approx(0.2)


@pytest.mark.parametrize("threads", [1, 2])
def test_convolutions_with_kept_filters_stay_what_they_are(threads):
    """From the second run on fewer products are computed, except where an element is infinite."""
    random = np.random.default_rng(1)
    graph = treadle.Graph.from_bytes(
        b'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
    )
    filters = random.normal(size=(3, 3, 32, 48)).astype(np.float32)
    graph.add("Const", name="w", attrs={"dtype": "float32", "value": filters})
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    graph.add("Conv2D", ["x", "w"], name="y", attrs=attrs)
    session = treadle.Session(graph, threads=threads)
    x = random.normal(size=(2, 17, 30, 32)).astype(np.float32)
    first = session.run("y", {"x": x})
    for _ in range(3):
        np.testing.assert_allclose(session.run("y", {"x": x}), first, rtol=1e-4, atol=1e-4)
    x[1, 5, 5, 5] = np.inf
    y = session.run("y", {"x": x})
    assert np.isinf(y[1, 4:7, 4:7]).all() and np.isfinite(y).sum() == y.size - 9 * 48
