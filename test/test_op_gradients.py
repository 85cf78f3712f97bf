"""Graph.gradients, op by op: values are the slopes that central differences give."""

import pathlib

import numpy as np
import pytest

import treadle


def graph_of(tmp_path, shapes):
    """A graph of float64 placeholders x0, x1, ..."""
    lines = ["tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {"]
    for i in range(len(shapes)):
        lines.append(
            f'  %x{i}, %c{i} = Placeholder name("x{i}") {{dtype = f64, '
            "shape = #tf_type.shape<*>} : () -> (tensor<*xf64>)"
        )
    path = pathlib.Path(tmp_path) / "graph.mlir"
    path.write_text("\n".join([*lines, "}", ""]))
    return treadle.Graph.from_file(path)


def const(g, value, dtype="int32"):
    return g.add("Const", attrs={"value": np.array(value, dtype), "dtype": dtype})


def op(name, *constants, inputs=("x0",), output=0, dtype="int32", **attrs):
    """The op on the inputs and constants after them."""

    def build(g):
        values = [*inputs, *(const(g, c, dtype) for c in constants)]
        return f"{g.add(name, values, attrs=attrs).name}:{output}"

    return build


def two(name, *constants, **rest):
    return op(name, *constants, inputs=("x0", "x1"), **rest)


def square(g, value):
    return g.add("Mul", [value, value])


def squared(build):
    return lambda g: square(g, build(g))


def well_behaved(g):
    """x0 + 2: a matrix that has an inverse."""
    size = const(g, 2.0 * np.eye(3), "float64")
    return g.add("AddV2", ["x0", size])


def on_matrix(name, *inputs, output=0, **attrs):
    return lambda g: f"{g.add(name, [well_behaved(g), *inputs], attrs=attrs).name}:{output}"


def cholesky(g):
    product = g.add("BatchMatMulV2", ["x0", "x0"], attrs={"adj_y": True})
    return g.add("Cholesky", [g.add("AddV2", [product, const(g, np.eye(3), "float64")])])


def gather(indices, axis, batch_dims=0):
    return squared(
        lambda g: g.add(
            "GatherV2",
            ["x0", const(g, indices), const(g, axis)],
            attrs={"batch_dims": batch_dims},
        )
    )


def scatter_nd(g):
    return square(g, g.add("ScatterNd", [const(g, [[1], [3]]), "x0", const(g, [5, 2])]))


def tensor_scatter(name):
    return squared(lambda g: g.add(name, ["x0", const(g, [[1], [3]]), "x1"]))


def stitch(name):
    return squared(
        lambda g: g.add(name, [const(g, [0, 2]), const(g, [1, 3]), "x0", "x1"], attrs={"N": 2})
    )


def partition(g):
    parts = g.add("DynamicPartition", ["x0", const(g, [0, 1, 0, 1])], attrs={"num_partitions": 2})
    return g.add("Mul", [f"{parts.name}:0", f"{parts.name}:1"])


def einsum(equation, *inputs):
    return squared(lambda g: g.add("Einsum", list(inputs), attrs={"equation": equation}))


def lists(g):
    """Every op on lists that has a gradient."""
    of = {"element_dtype": "float64"}
    shape = const(g, [2])
    whole = g.add("TensorListFromTensor", ["x0", shape], attrs=of)
    item = g.add("TensorListGetItem", [whole, const(g, 1), shape], attrs=of)
    whole = g.add("TensorListSetItem", [whole, const(g, 0), square(g, item)], attrs=of)
    popped = g.add("TensorListPopBack", [whole, shape], attrs=of)
    sine = g.add("Sin", [f"{popped.name}:1"])
    whole = g.add("TensorListPushBack", [f"{popped.name}:0", sine], attrs=of)
    whole = g.add("TensorListResize", [whole, const(g, 4)])
    some = g.add(
        "TensorListScatterV2", [square(g, "x1"), const(g, [2, 0]), shape, const(g, 3)], attrs=of
    )
    some = g.add("TensorListScatterIntoExistingList", [some, "x1", const(g, [1, 2])], attrs=of)
    rows = g.add("TensorListGather", [some, const(g, [2, 0]), shape], attrs=of)
    parts = g.add("TensorListSplit", ["x1", const(g, [-1, 2]), const(g, [1, 1], "int64")], attrs=of)
    joined = g.add(
        "TensorListConcatV2", [parts, const(g, [-1, 2]), const(g, [1, 1], "int64")], attrs=of
    )
    stacked = g.add("TensorListStack", [whole, shape], attrs=of | {"num_elements": 4})
    total = [square(g, g.add("Mul", [rows, f"{joined.name}:0"])), square(g, stacked)]
    return g.add("ConcatV2", [*total, const(g, 0)], attrs={"N": 2})


def optional(g):
    types = {"output_types": ["float64", "float64"], "output_shapes": [None, None]}
    whole = g.add("OptionalFromValue", ["x0", square(g, "x1")])
    parts = g.add("OptionalGetValue", [whole], attrs=types)
    return g.add("Mul", [f"{parts.name}:0", f"{parts.name}:1"])


def tensor_array(g):
    """Written, read and gathered."""
    array = g.add("TensorArrayV3", [const(g, 3)], attrs={"dtype": "float64"})
    handle, flow = f"{array.name}:0", f"{array.name}:1"
    flow = g.add("TensorArrayScatterV3", [handle, const(g, [0, 1]), "x0", flow])
    at = {"dtype": "float64"}
    row = g.add("TensorArrayReadV3", [handle, const(g, 1), flow], attrs=at)
    flow = g.add("TensorArrayWriteV3", [handle, const(g, 2), square(g, row), flow])
    rows = g.add("TensorArrayGatherV3", [handle, const(g, [2, 0]), flow], attrs=at)
    return g.add("Mul", [rows, "x1"])


TALL, CUBE, IMAGE = (2, 3), (2, 3, 3), (1, 4, 4, 2)
STRIDES = {"strides": [1, 1, 1, 1], "padding": "SAME"}
POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
CASES = {
    **{
        name: (op(name), [TALL])
        for name in (
            "Erf Erfc Erfinv Ndtri Lgamma Digamma BesselI0e BesselI0 BesselJ0 BesselY0 BesselK0 "
            "BesselK0e Dawsn Expint FresnelCos FresnelSin Spence L2Loss LeakyRelu MatrixDiag"
        ).split()
    },
    **{name: (two(name), [TALL, (3,)]) for name in ("Atan2", "FloorMod", "TruncateMod")},
    **{
        name: (two(name), [TALL, TALL])
        for name in (
            "Cross ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad SoftsignGrad TanhGrad "
            "SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad LeakyReluGrad"
        ).split()
    },
    **{
        f"{name} {attrs}": (squared(op(name, 1, **attrs)), [TALL])
        for name in ("Cumsum", "Cumprod")
        for attrs in ({}, {"exclusive": True}, {"reverse": True})
    },
    "Prod": (op("Prod", [0, -1]), [CUBE]),
    "Prod keep_dims": (op("Prod", [1], keep_dims=True), [CUBE]),
    "EuclideanNorm": (op("EuclideanNorm", [1]), [CUBE]),
    "GatherV2 0": (gather([0, 2, 0], 0), [(3, 2)]),
    "GatherV2 1": (gather([[0, 2], [1, 1]], 1), [(2, 3, 2)]),
    "GatherV2 -1": (gather([0, 0, 1], -1), [(2, 2, 3)]),
    "GatherV2 batch": (gather([[0, 2], [1, 1]], 1, 1), [(2, 3, 2)]),
    "GatherV2 batch, later": (gather([[0, 2], [1, 1]], 2, 1), [(2, 2, 3)]),
    "GatherNd": (squared(op("GatherNd", [[0, 1], [1, 1], [0, 1]])), [(2, 3, 2)]),
    "ScatterNd": (scatter_nd, [(2, 2)]),
    **{
        name: (tensor_scatter(name), [(4, 2), (2, 2)])
        for name in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub")
    },
    **{name: (squared(op(name, [0, 0, 1, 3])), [(4, 2)]) for name in ("SegmentSum", "SegmentMean")},
    **{name: (squared(op(name, [0, 0, 1, 1])), [(4, 2)]) for name in ("SegmentMax", "SegmentMin")},
    "UnsortedSegmentSum": (squared(op("UnsortedSegmentSum", [1, -1, 1, 0], 3)), [(4, 2)]),
    "UnsortedSegmentMax": (squared(op("UnsortedSegmentMax", [1, 0, 1, 0], 2)), [(4, 2)]),
    "UnsortedSegmentMin": (squared(op("UnsortedSegmentMin", [1, 0, 1, 0], 2)), [(4, 2)]),
    **{
        name: (squared(op(name, [0, 3, 3, 1], [0, 0, 1, 1])), [(4, 2)])
        for name in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")
    },
    "DynamicStitch": (stitch("DynamicStitch"), [(2, 2), (2, 2)]),
    "ParallelDynamicStitch": (stitch("ParallelDynamicStitch"), [(2, 2), (2, 2)]),
    "DynamicPartition": (partition, [(4, 2)]),
    "TopKV2": (squared(op("TopKV2", 2)), [TALL]),
    "MatrixInverse": (on_matrix("MatrixInverse"), [CUBE]),
    "MatrixInverse adjoint": (on_matrix("MatrixInverse", adjoint=True), [CUBE]),
    "MatrixDeterminant": (on_matrix("MatrixDeterminant"), [CUBE]),
    "LogMatrixDeterminant": (on_matrix("LogMatrixDeterminant", output=1), [CUBE]),
    **{
        f"{name} {adjoint}": (on_matrix(name, "x1", adjoint=adjoint), [CUBE, (2, 3, 2)])
        for name in ("MatrixSolve", "MatrixTriangularSolve")
        for adjoint in (False, True)
    },
    "MatrixTriangularSolve upper": (
        on_matrix("MatrixTriangularSolve", "x1", lower=False),
        [(3, 3), (2, 3, 2)],
    ),
    "Cholesky": (cholesky, [CUBE]),
    "MatrixBandPart": (squared(op("MatrixBandPart", 1, 0)), [CUBE]),
    "MatrixDiagPart": (squared(op("MatrixDiagPart")), [CUBE]),
    "MatrixSetDiag": (squared(two("MatrixSetDiag")), [CUBE, TALL]),
    "Diag": (squared(op("Diag")), [(3,)]),
    "DiagPart": (squared(op("DiagPart")), [(3, 3)]),
    "Einsum": (einsum("abc,cd->adb", "x0", "x1"), [CUBE, (3, 2)]),
    "Einsum reduces": (einsum("ij,k->jk", "x0", "x1"), [TALL, (2,)]),
    "Einsum of one": (einsum("ij->j", "x0"), [TALL]),
    "Conv2DBackpropInput": (
        lambda g: g.add("Conv2DBackpropInput", [const(g, [1, 4, 4, 2]), "x0", "x1"], attrs=STRIDES),
        [(3, 3, 2, 1), (1, 4, 4, 1)],
    ),
    "DepthwiseConv2dNative": (
        two("DepthwiseConv2dNative", **STRIDES),
        [IMAGE, (3, 3, 2, 2)],
    ),
    "Conv3D": (
        two("Conv3D", strides=[1] * 5, padding="VALID"),
        [(1, 3, 3, 3, 1), (2, 2, 2, 1, 2)],
    ),
    "MaxPool": (squared(op("MaxPool", **POOL)), [IMAGE]),
    "AvgPool": (squared(op("AvgPool", **POOL)), [IMAGE]),
    "ResizeNearestNeighbor": (squared(op("ResizeNearestNeighbor", [5, 7])), [IMAGE]),
    "MirrorPad": (squared(op("MirrorPad", [[1, 1], [1, 0]], mode="REFLECT")), [(3, 3)]),
    "ReverseSequence": (op("ReverseSequence", [1, 2], seq_dim=1), [TALL]),
    "Roll": (squared(op("Roll", [1, -2], [0, 1])), [TALL]),
    "SpaceToDepth": (squared(op("SpaceToDepth", block_size=2)), [IMAGE]),
    "DepthToSpace": (squared(op("DepthToSpace", block_size=2)), [(1, 2, 2, 4)]),
    "SpaceToBatchND": (squared(op("SpaceToBatchND", [2, 2], [[0, 0], [1, 1]])), [IMAGE]),
    "BatchToSpaceND": (squared(op("BatchToSpaceND", [2, 2], [[0, 1], [1, 0]])), [(4, 2, 2, 1)]),
    "optionals": (optional, [TALL, TALL]),
    "lists": (lists, [(4, 2), (2, 2)]),
    "tensor arrays": (tensor_array, [(2, 3), (2, 3)]),
}


def slopes(session, y, feeds, x, step=1e-6):
    slope = np.zeros_like(feeds[x])
    for at in np.ndindex(slope.shape):
        sums = []
        for sign in (1, -1):
            moved = feeds[x].copy()
            moved[at] += sign * step
            sums.append(session.run([y], {**feeds, x: moved})[0].sum())
        slope[at] = (sums[0] - sums[1]) / (2 * step)
    return slope


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_slope(tmp_path, case):
    build, shapes = CASES[case]
    graph = graph_of(tmp_path, shapes)
    made = build(graph)
    y = made if isinstance(made, str) else f"{made.name}:0"
    xs = [f"x{i}:0" for i in range(len(shapes))]
    names = graph.gradients(y, xs)
    session = treadle.Session(graph)
    random = np.random.default_rng(7)
    feeds = {x: random.uniform(0.1, 0.9, shape) for x, shape in zip(xs, shapes, strict=True)}
    for x, name in zip(xs, names, strict=True):
        expected = slopes(session, y, feeds, x)
        gradient = session.run([name], feeds)[0] if name else np.zeros_like(expected)
        assert gradient.shape == expected.shape
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6, err_msg=x)


def test_arrays_of_several_requests_do_not_meet(tmp_path):
    graph = graph_of(tmp_path, [(2, 3), (2, 3)])
    y = tensor_array(graph).name
    names = graph.gradients(y, ["x0", "x1"]) + graph.gradients(y, ["x0", "x1"])
    feeds = {"x0:0": np.full((2, 3), 2.0), "x1:0": np.full((2, 3), 3.0)}
    first, second, *again = treadle.Session(graph).run(names, feeds)
    np.testing.assert_array_equal(first, again[0])
    np.testing.assert_array_equal(second, again[1])
