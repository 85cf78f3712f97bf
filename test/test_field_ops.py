"""Ops that few models have: each alone in a graph, against values of TensorFlow or of its
definition."""

import pathlib
import sys

import numpy as np
import pytest

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from single_op_graphs import TYPES, fails, i32, run  # noqa: E402

# --- XLA's products ------------------------------------------------------------------------------


def varints(numbers):
    return "".join(f"\\{n:03o}" for n in numbers)


def dot_numbers(contracting, batch=((), ())):
    fields = [*contracting, *batch]
    return "".join(varints([i << 3 | 2, len(f), *f]) for i, f in enumerate(fields, 1) if f)


def dot(a, b, numbers, out="DT_FLOAT"):
    attrs = {
        "LhsT": f"type: {TYPES[str(a.dtype)]}",
        "RhsT": f"type: {TYPES[str(b.dtype)]}",
        "preferred_element_type": f"type: {out}",
        "dimension_numbers": f's: "{numbers}"',
        "precision_config": 's: ""',
    }
    return run("XlaDotV2", [a, b], attrs)


def test_a_product_of_any_dimensions():
    rng = np.random.default_rng(1)
    a = rng.standard_normal((2, 5, 3, 4)).astype(np.float32)
    b = rng.standard_normal((4, 6, 2, 3)).astype(np.float32)
    got = dot(a, b, dot_numbers([(3, 2), (0, 3)], [(0,), (2,)]))
    np.testing.assert_allclose(got, np.einsum("bmjk,knbj->bmn", a, b), rtol=1e-5, atol=1e-5)
    assert dot(a, b, dot_numbers([(), ()])).shape == (2, 5, 3, 4, 4, 6, 2, 3)


def test_a_product_of_bytes_is_summed_in_more_bits():
    a, b = np.full((2, 9), 127, np.int8), np.full((9,), 127, np.int8)
    got = dot(a, b, dot_numbers([(1,), (0,)]), "DT_INT32")
    np.testing.assert_array_equal(got, i32([127 * 127 * 9] * 2))


def test_dimensions_that_an_operand_has_not():
    a = np.zeros((2, 3), np.float32)
    for numbers in (dot_numbers([(2,), (0,)]), dot_numbers([(0, 0), (0, 1)]), "\\010"):
        with pytest.raises(treadle.InvalidArgumentError, match="dimension_numbers"):
            dot(a, a, numbers)
    with pytest.raises(treadle.InvalidArgumentError, match="should be 3"):
        dot(a, a, dot_numbers([(1,), (0,)]))


def convolution_numbers(lhs, rhs, out):
    """Each as (first, last, spatial): batch and feature, or input and output feature."""
    single = [(7, lhs[0]), (8, lhs[1]), (3, rhs[0]), (4, rhs[1]), (9, out[0]), (10, out[1])]
    text = "".join(varints([number << 3, value]) for number, value in single)
    for number, dims in ((11, lhs[2]), (6, rhs[2]), (12, out[2])):
        text += varints([number << 3 | 2, len(dims), *dims])
    return text


NCHW = convolution_numbers((0, 1, (2, 3)), (1, 0, (2, 3)), (0, 1, (2, 3)))


def convolve(x, w, numbers=NCHW, groups=1, batch_groups=1, out="DT_FLOAT", **given):
    rank = x.ndim - 2
    place = {
        "strides": [1] * rank,
        "padding": [[0, 0]] * rank,
        "lhs": [1] * rank,
        "rhs": [1] * rank,
    }
    place.update(given)
    values = [x, w, *(i32(place[k]) for k in ("strides", "padding", "lhs", "rhs")), i32(groups)]
    attrs = {
        "LhsT": f"type: {TYPES[str(x.dtype)]}",
        "RhsT": f"type: {TYPES[str(w.dtype)]}",
        "Tindices": "type: DT_INT32",
        "preferred_element_type": f"type: {out}",
        "dimension_numbers": f's: "{numbers}"',
        "precision_config": 's: ""',
        "batch_group_count": f"i: {batch_groups}",
    }
    return run("XlaConvV2", values, attrs)


def convolved(x, w, strides=(1, 1), padding=((0, 0), (0, 0)), lhs=(1, 1), rhs=(1, 1), groups=1):
    """The definition, of NCHW and OIHW."""
    holes = np.zeros(
        (*x.shape[:2], *((n - 1) * d + 1 for n, d in zip(x.shape[2:], lhs, strict=True)))
    )
    holes[:, :, :: lhs[0], :: lhs[1]] = x
    x = np.pad(holes, [(0, 0), (0, 0), *((max(a, 0), max(b, 0)) for a, b in padding)])
    cut = [
        slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape[2:], padding, strict=True)
    ]
    x = x[:, :, cut[0], cut[1]]
    size = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], rhs, strict=True)]
    shape = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], size, strides, strict=True)]
    out = np.zeros((len(x), len(w), *shape))
    for o in range(len(w)):
        first = o // (len(w) // groups) * w.shape[1]
        for i, j in np.ndindex(*shape):
            top, left = i * strides[0], j * strides[1]
            part = x[
                :,
                first : first + w.shape[1],
                top : top + size[0] : rhs[0],
                left : left + size[1] : rhs[1],
            ]
            out[:, o, i, j] = (part * w[o]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"strides": [2, 1], "padding": [[1, 2], [0, 1]]},
        {"padding": [[-1, 0], [1, -2]], "rhs": [2, 1]},
        {"lhs": [2, 3], "padding": [[1, 1], [2, 0]]},
    ],
)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions(given, groups):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((2, 4, 6, 7)).astype(np.float32)
    w = rng.standard_normal((4, 4 // groups, 3, 2)).astype(np.float32)
    got = convolve(x, w, groups=groups, **given)
    np.testing.assert_allclose(got, convolved(x, w, groups=groups, **given), rtol=1e-4, atol=1e-4)


def test_dimensions_of_a_convolution_in_another_order():
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((2, 3, 6, 7)), rng.standard_normal((5, 3, 2, 2))
    numbers = convolution_numbers((2, 0, (1, 3)), (2, 3, (1, 0)), (3, 0, (2, 1)))
    got = convolve(x.transpose(1, 2, 0, 3), w.transpose(3, 2, 1, 0), numbers, out="DT_DOUBLE")
    np.testing.assert_allclose(got, convolved(x, w).transpose(1, 3, 2, 0), rtol=1e-10)


def test_groups_of_the_batch():
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((4, 3, 5, 5)), rng.standard_normal((6, 3, 2, 2))
    got = convolve(x, w, batch_groups=2, out="DT_DOUBLE")
    parts = [convolved(x[2 * g : 2 * g + 2], w[3 * g : 3 * g + 3]) for g in range(2)]
    np.testing.assert_allclose(got, np.concatenate(parts, 1), rtol=1e-10)


def test_convolutions_of_integers_and_complex_numbers():
    rng = np.random.default_rng(5)
    x = rng.integers(-128, 128, (1, 2, 5, 5)).astype(np.int8)
    w = rng.integers(-128, 128, (2, 2, 3, 3)).astype(np.int8)
    np.testing.assert_array_equal(convolve(x, w, out="DT_INT32"), convolved(x, w))
    z = (x + 1j * x[..., ::-1]).astype(np.complex64)
    got = convolve(z, z[:, :, :2, :2], out="DT_COMPLEX64")
    real, imag = convolved(z.real, z.real[:, :, :2, :2]), convolved(z.imag, z.imag[:, :, :2, :2])
    np.testing.assert_allclose(got.real, real - imag, rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strides": [0, 1]}, "window_strides has 0"),
        ({"strides": [1]}, "window_strides has 1 numbers"),
        ({"padding": [[0, 0]]}, "padding has shape"),
        ({"rhs": [-1, 1]}, "rhs_dilation has -1"),
        ({"groups": 3}, "in 3 groups"),
        ({"groups": 0}, "feature_group_count"),
        ({"batch_groups": 3}, "cannot be split into 3"),
        ({"numbers": "\\010"}, "dimension_numbers"),
    ],
)
def test_convolutions_that_do_not_fit(given, words):
    x = np.zeros((2, 4, 6, 6), np.float32)
    with pytest.raises(treadle.InvalidArgumentError, match=words):
        convolve(x, x[:, :, :2, :2], **given)


# --- searches and losses -------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["GatherTree", "Addons>GatherTree"])
def test_sequences_of_a_beam_search(op):
    # From the tests of TensorFlow Addons.
    ids = i32([[[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -1, -1]]]).transpose(1, 0, 2)
    parents = i32([[[0, 0, 0], [0, 1, 1], [2, 1, 2], [-1, -1, -1]]]).transpose(1, 0, 2)
    attrs = {"T": "type: DT_INT32"}
    got = run(op, [ids, parents, i32([3]), i32(10)], attrs)
    expected = i32([[[2, 2, 2], [6, 5, 6], [7, 8, 9], [10, 10, 10]]]).transpose(1, 0, 2)
    np.testing.assert_array_equal(got, expected)
    ended = run(op, [ids, parents, i32([3]), i32(5)], attrs)
    np.testing.assert_array_equal(ended[:, 0, 1], [2, 5, 5, 5])
    parents[2, 0, 0] = 3
    fails(op, [ids, parents, i32([3]), i32(10)], attrs, "parent_ids.2,0. has 3")


def test_a_loss_whose_first_class_is_the_blank():
    rng = np.random.default_rng(6)
    logits = rng.standard_normal((6, 2, 5)).astype(np.float32)
    labels = [np.int64([[0, 0], [0, 1], [0, 2], [1, 0]]), i32(1, 1, 3, 4), i32(6, 4)]
    loss, slope = run("CTCLossV2", [logits, *labels], {}, 2)
    last = np.concatenate([logits[..., 1:], logits[..., :1]], -1)
    shifted = [labels[0], labels[1] - 1, labels[2]]
    wanted, slopes = run("CTCLoss", [last, *shifted], {"T": "type: DT_FLOAT"}, 2)
    np.testing.assert_allclose(loss, wanted, rtol=1e-6)
    np.testing.assert_allclose(
        slope, np.concatenate([slopes[..., -1:], slopes[..., :-1]], -1), atol=1e-6
    )


# --- Sobol's sequence ----------------------------------------------------------------------------


def test_points_of_the_sobol_sequence():
    attrs = {"dtype": "type: DT_DOUBLE"}
    got = run("SobolSample", [i32(3), i32(4), i32(10)], attrs)  # as TensorFlow gives them
    wanted = [
        [0.4375, 0.5625, 0.1875],
        [0.3125, 0.1875, 0.3125],
        [0.8125, 0.6875, 0.8125],
        [0.5625, 0.4375, 0.0625],
    ]
    np.testing.assert_array_equal(got, wanted)
    many = run("SobolSample", [i32(1111), i32(1023), i32(0)], attrs)
    # Each dimension has each part of the interval once, but for the first.
    np.testing.assert_array_equal(
        np.sort(many, 0), np.tile(np.arange(1, 1024)[:, None] / 1024, (1, 1111))
    )
    for dim, count, skip in ((0, 1, 0), (1, 0, 0), (1, 1, -1), (1, 2, 2**31 - 2)):
        fails("SobolSample", [i32(dim), i32(count), i32(skip)], attrs, f"skip {skip}")
    with pytest.raises(treadle.UnimplementedError, match="at most 1111"):
        run("SobolSample", [i32(1112), i32(1), i32(0)], attrs)


# --- Fourier transforms of named axes ------------------------------------------------------------


@pytest.mark.parametrize("axes", [[0], [2, 0], [1, -1], [0, 1, 2]])
def test_transforms_of_named_axes(axes):
    rng = np.random.default_rng(7)
    z = rng.standard_normal((4, 5, 6)) + 1j * rng.standard_normal((4, 5, 6))
    lengths = [z.shape[a] - (a == 0) for a in axes]
    attrs = {"Tcomplex": "type: DT_COMPLEX128"}
    real = {**attrs, "Treal": "type: DT_DOUBLE"}
    more = [i32(lengths), i32(axes)]
    np.testing.assert_allclose(run("FFTND", [z, *more], attrs), np.fft.fftn(z, lengths, axes))
    np.testing.assert_allclose(run("IFFTND", [z, *more], attrs), np.fft.ifftn(z, lengths, axes))
    half = np.fft.rfftn(z.real, lengths, axes)
    np.testing.assert_allclose(run("RFFTND", [z.real.copy(), *more], real), half, atol=1e-12)
    np.testing.assert_allclose(
        run("IRFFTND", [half, *more], real), np.fft.irfftn(half, lengths, axes), atol=1e-12
    )


def test_axes_that_are_none():
    z, attrs = np.zeros((2, 3), np.complex64), {"Tcomplex": "type: DT_COMPLEX64"}
    fails("FFTND", [z, i32([2, 2]), i32([0, 0])], attrs, "axes must be")
    fails("FFTND", [z, i32([2]), i32([2])], attrs, "axes must be")
    fails("FFTND", [z, i32([2]), i32([0, 1])], attrs, "fft_length must be")
    fails("FFTND", [z, i32([3]), i32([0])], attrs, "fft_length is 3 for dimension 0")


# --- integers with a scale and a zero point ------------------------------------------------------


def uniform(nodes, fetch, feeds):
    """Nodes as (name, op, inputs, attrs)."""
    text = [
        f'node {{ name: "{name}" op: "{op}" {" ".join(f"input: {i!r}" for i in inputs)} '
        + " ".join(f'attr {{ key: "{k}" value {{ {v} }} }}' for k, v in attrs.items())
        + " }"
        for name, op, inputs, attrs in nodes
    ]
    text += [
        f'node {{ name: "{name}" op: "Placeholder" '
        f'attr {{ key: "dtype" value {{ type: {TYPES[str(v.dtype)]} }} }} }}'
        for name, v in feeds.items()
    ]
    graph = treadle.Graph.from_bytes("\n".join(text).encode())
    return treadle.Session(graph).run(f"{fetch}:0", {f"{k}:0": v for k, v in feeds.items()})


def bounds(prefix, bits, axis=-1):
    return {
        f"{prefix}quantization_axis": f"i: {axis}",
        f"{prefix}quantization_min_val": f"i: {-(2 ** (bits - 1))}",
        f"{prefix}quantization_max_val": f"i: {2 ** (bits - 1) - 1}",
    }


def as_quantized(name, source, bits):
    kinds = {"T": f"type: DT_INT{bits}", "type": f"type: DT_QINT{bits}"}
    return (name, "Bitcast", [source], kinds)


def as_plain(name, source, bits):
    kinds = {"T": f"type: DT_QINT{bits}", "type": f"type: DT_INT{bits}"}
    return (name, "Bitcast", [source], kinds)


f32 = np.float32


def test_quantization_by_a_scale():
    x = f32([[-1.3, 0.5, 0.75, 1e9], [np.nan, 2.5, -np.inf, 3.49]])
    kinds = {"Tin": "type: DT_FLOAT", "Tout": "type: DT_QINT8"}
    nodes = [
        ("q", "UniformQuantize", ["x", "s", "z"], {**kinds, **bounds("", 8)}),
        as_plain("y", "q", 8),
    ]
    got = uniform(nodes, "y", {"x": x, "s": f32(0.5), "z": i32(3)})
    np.testing.assert_array_equal(got, [[0, 4, 5, 127], [-128, 8, -128, 10]])  # TensorFlow's
    got = uniform(nodes, "y", {"x": x, "s": f32(0.5), "z": i32(-128)})
    np.testing.assert_array_equal(got, [[-128, -127, -126, 127], [127, -123, 127, -121]])
    nodes[0][3].update(bounds("", 8, 0))
    got = uniform(nodes, "y", {"x": x, "s": f32([0.5, 0.25]), "z": i32([0, 1])})
    np.testing.assert_array_equal(got, [[-3, 1, 2, 127], [-128, 11, -128, 15]])
    with pytest.raises(treadle.InvalidArgumentError, match="scales and zero_points are"):
        uniform(nodes, "y", {"x": x, "s": f32([0.5]), "z": i32([0])})
    got = uniform(nodes, "y", {"x": f32([[1, -2]]).T, "s": f32([-0.5, 0.5]), "z": i32([0, 1])})
    np.testing.assert_array_equal(got, [[-2], [-3]])


def test_from_one_scale_to_another():
    kinds = {"Tin": "type: DT_QINT32", "Tout": "type: DT_QINT8"}
    a = i32([-1000, 0, 7, 2**31 - 1])
    nodes = [
        as_quantized("q", "x", 32),
        (
            "r",
            "UniformRequantize",
            ["q", "s", "z", "t", "w"],
            {**kinds, **bounds("input_", 32), **bounds("output_", 8)},
        ),
        as_plain("y", "r", 8),
        (
            "d",
            "UniformDequantize",
            ["q", "s", "z"],
            {"Tin": "type: DT_QINT32", "Tout": "type: DT_FLOAT", **bounds("", 32)},
        ),
    ]
    feeds = {"x": a, "s": f32(0.1), "z": i32(3), "t": f32(0.37), "w": i32(-4)}
    np.testing.assert_array_equal(uniform(nodes, "y", feeds), [-128, -5, -3, 127])
    np.testing.assert_array_equal(
        uniform(nodes, "d", feeds),
        f32([-1.0030000e02, -3.0000001e-01, 4.0000001e-01, 2.1474837e08]),
    )


def test_quantized_sums_and_bounds():
    kinds = {"T": "type: DT_QINT32"}
    ranges = {**bounds("lhs_", 32), **bounds("rhs_", 32), **bounds("output_", 32)}
    scales = ["ls", "lz", "rs", "rz", "os", "oz"]
    nodes = [
        as_quantized("a", "x", 32),
        as_quantized("b", "w", 32),
        ("r", "UniformQuantizedAdd", ["a", "b", *scales], {**kinds, **ranges}),
        as_plain("y", "r", 32),
        (
            "c",
            "UniformQuantizedClipByValue",
            ["a", "lo", "hi", "ls", "lz"],
            {**kinds, **bounds("", 32)},
        ),
        as_quantized("lo", "low", 32),
        as_quantized("hi", "high", 32),
        as_plain("clipped", "c", 32),
    ]
    feeds = {
        "x": i32([[5, 6, 7], [-5, -6, 100000]]),
        "w": i32([-1000, 0, 7]),
        "ls": f32(0.1),
        "lz": i32(2),
        "rs": f32(0.3),
        "rz": i32(-7),
        "os": f32(0.7),
        "oz": i32(11),
        "low": i32(-5),
        "high": i32(7),
    }
    np.testing.assert_array_equal(
        uniform(nodes, "y", feeds), [[-415, 15, 18], [-416, 13, 14302]]
    )  # TensorFlow's
    np.testing.assert_array_equal(uniform(nodes, "clipped", feeds), [[5, 6, 7], [-5, -5, 7]])
    crossed = feeds | {"low": i32(9), "high": i32(7), "ls": f32(-1)}
    np.testing.assert_array_equal(uniform(nodes, "clipped", crossed), [[7, 7, 7], [7, 7, 7]])
    # Large integers, which TensorFlow hands through floats.
    large = {"x": i32([10**9]), "w": i32([0]), "lz": i32(0), "rz": i32(0), "oz": i32(0)}
    large |= {"ls": f32(0.0022008814848959446), "os": f32(0.008856089785695076)}
    np.testing.assert_array_equal(uniform(nodes, "y", feeds | large), [248516160])


def multiplied(x, factor):
    """A product with a factor of scales, in whole numbers."""
    mantissa, exponent = np.frexp(np.float64(factor))
    number, shift = int(np.floor(mantissa * 2.0**31 + 0.5)), 31 - int(exponent)
    if exponent > 30:
        number, shift = 2**31 - 1, 1
    x = [(int(v) * number + (1 << (shift - 1))) >> shift for v in x.ravel()]
    return np.clip(x, -(2**31), 2**31 - 1)


def product(op, values, attrs):
    """Multiplies operands of which the first may be floats; the scales and zero points follow."""
    hybrid = op.endswith("Hybrid")
    rest = ["rs", "rz"] if hybrid else ["ls", "lz", "rs", "rz", "os", "oz"]
    feeds = dict(zip(["x", "w", *rest], values, strict=True))
    out = "DT_FLOAT" if hybrid else "DT_QINT32"
    kinds = {"Tlhs": "type: DT_FLOAT", "Trhs": "type: DT_QINT8"}
    kinds = kinds if hybrid else {"Tin": "type: DT_QINT8"}
    nodes = [
        as_quantized("b", "w", 8),
        ("r", op, ["x" if hybrid else "a", "b", *rest], {**kinds, "Tout": f"type: {out}", **attrs}),
    ]
    if hybrid:
        return uniform(nodes, "r", feeds)
    nodes += [as_quantized("a", "x", 8), as_plain("y", "r", 32)]
    return uniform(nodes, "y", feeds)


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("scale", [0.37, 1e-30])
def test_quantized_products(axis, scale):
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((3, 5), (5, 4)))
    scales, zeros = (
        (f32([0.1, 0.02, 3, 0.5]), i32([1, -2, 0, 7])) if axis == 1 else (f32(0.2), i32(5))
    )
    attrs = {**bounds("lhs_", 8), **bounds("rhs_", 8, axis), **bounds("output_", 32)}
    got = product(
        "UniformQuantizedDot", [a, b, f32(0.3), i32(4), scales, zeros, f32(scale), i32(-3)], attrs
    )
    sums = (a.astype(np.int64) - 4) @ (b.astype(np.int64) - zeros)
    factors = np.broadcast_to(np.float64(f32(0.3)) * scales / f32(scale), (4,))
    columns = [multiplied(sums[:, i], factors[i]) - 3 for i in range(4)]
    wanted = np.stack(columns, 1)
    wanted = (wanted + 2**31) % 2**32 - 2**31  # as TensorFlow, without a bound before the sum
    np.testing.assert_array_equal(got, wanted)
    with pytest.raises(treadle.InvalidArgumentError, match="must be positive"):
        product("UniformQuantizedDot", [a, b, f32(0), i32(4), scales, zeros, f32(1), i32(0)], attrs)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("numbers", ["", "\\010\\003\\020\\002\\032\\002\\000\\001"])
def test_hybrid_convolutions_quantize_each_image(groups, numbers):
    rng = np.random.default_rng(10)
    x = rng.standard_normal((4, 3, 5, 5)).astype(np.float32) * f32([1, 10, 0, 0.01]).reshape(
        4, 1, 1, 1
    )
    w = rng.integers(-128, 128, (6, 3, 2, 2)).astype(np.int8)
    order = [0, 1, 2, 3]
    if numbers:  # input [space, features, batch]; filter and result in the usual order
        numbers += "\\040\\001\\050\\000\\062\\002\\002\\003"
        numbers += "\\070\\000\\100\\001\\112\\002\\002\\003"
        order = [2, 3, 1, 0]
    attrs = {
        **bounds("rhs_", 8),
        "padding": 's: "VALID"',
        "batch_group_count": f"i: {groups}",
        "dimension_numbers": f's: "{numbers}"',
    }
    got = product(
        "UniformQuantizedConvolutionHybrid", [x.transpose(order).copy(), w, f32(0.5), i32(3)], attrs
    )
    parts, size = 4 // groups, 6 // groups
    exact = [
        convolved(x[g * parts : (g + 1) * parts], (w[g * size : (g + 1) * size] - 3.0) * 0.5)
        for g in range(groups)
    ]
    wanted = np.concatenate(exact, 1)
    for i in range(parts):
        error = np.abs(got[i] - wanted[i]).max(axis=(1, 2))
        for f in range(6):
            most = np.abs(x[f // size * parts + i]).max()
            assert error[f] <= most / 127 * 0.5 * 131 * 12


# --- clusters ------------------------------------------------------------------------------------

POINTS = f32(
    [[3, 6], [-9, -6], [-6, -2], [0, 9], [-5, -3], [3, -8], [-3, -2], [5, 8], [-4, 4], [-1, 0]]
    + [[7, -4], [6, 6]]
)


@pytest.mark.parametrize(
    ("count", "seed", "retries", "wanted"),
    [
        (3, 7, 0, [[-9, -6], [5, 8], [7, -4]]),
        (4, 1, 2, [[-5, -3], [6, 6], [7, -4], [-4, 4]]),
        (5, 99, 5, [[-1, 0], [3, 6], [3, -8], [-5, -3], [7, -4]]),
    ],
)
def test_first_centers_are_drawn_as_tensorflow_draws_them(count, seed, retries, wanted):
    scalars = [np.array(n, np.int64) for n in (count, seed, retries)]
    np.testing.assert_array_equal(
        run("KmeansPlusPlusInitialization", [POINTS, *scalars], {}), wanted
    )


def test_first_centers_are_different_points():
    """Points that are taken are drawn again; a negative number of retries means the default."""
    points = f32([[0, 0], [0, 1], [5, 5], [5, 6], [9, 0], [9, 1], [0, 0], [5, 5]])
    scalars = [np.array(n, np.int64) for n in (6, 3, -1)]
    got = run("KmeansPlusPlusInitialization", [points, *scalars], {})
    np.testing.assert_array_equal(got, [[5, 5], [0, 0], [9, 1], [5, 6], [9, 0], [0, 1]])
    scalars[0] = np.array(8, np.int64)
    got = run("KmeansPlusPlusInitialization", [points, *scalars], {})
    assert sorted(map(tuple, got)) == sorted(map(tuple, points))


def test_chains_of_distances():
    distances = f32([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    seeds = [np.array(seed, np.int64) for seed in range(12)]
    got = [int(run("KMC2ChainInitialization", [distances, seed], {})) for seed in seeds]
    assert got == [7, 7, 9, 9, 8, 9, 9, 9, 8, 9, 9, 9]  # TensorFlow's


def test_centers_that_there_are_not():
    scalars = [np.array(n, np.int64) for n in (13, 0, 0)]
    fails("KmeansPlusPlusInitialization", [POINTS, *scalars], {}, "num_to_sample is 13")
    fails("KmeansPlusPlusInitialization", [POINTS[:, 0].copy(), *scalars], {}, "points must be")
    fails("KMC2ChainInitialization", [f32([]), scalars[0]], {}, "distances must be")


# --- texts in JSON -------------------------------------------------------------------------------

FEATURE = '{"features": {"feature": {"b": %s}}}'


def test_examples_in_json():
    text = (
        '{"features": {"feature": {"b": {"int64List": {"value": ["1", 2, -3]}}, '
        '"a": {"floatList": {"value": [1.5, "NaN", 2e3]}}, '
        '"c": {"bytesList": {"value": ["aGVsbG8="]}}}}}'
    )
    wanted = (
        b"\n@\n\x16\n\x01b\x12\x11\x1a\x0f\x08\x01\x08\x02\x08\xfd\xff\xff\xff\xff\xff\xff\xff\xff"
        b"\x01\n\x16\n\x01a\x12\x11\x12\x0f\r\x00\x00\xc0?\r\x00\x00\xc0\x7f\r\x00\x00\xfaD"
        b"\n\x0e\n\x01c\x12\t\n\x07\n\x05hello"
    )
    got = run("DecodeJSONExample", [np.array([text, "{}", "{'features':{}}"], object)], {})
    assert list(got) == [wanted, b"", b"\n\x00"]
    escaped = FEATURE.replace('"b"', '"\\u00e9\\n"') % '{"int64List": {"value": [1]}}'
    got = run("DecodeJSONExample", [np.array(escaped, object)], {})
    assert np.asarray(got).item() == b"\n\x0d\n\x0b\n\x03\xc3\xa9\n\x12\x04\x1a\x02\x08\x01"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"x": 1}',
        "{} {}",
        FEATURE % '{"int64List": {"value": [1.5]}}',
        FEATURE % '{"int64List": {"value": [9223372036854775808]}}',
        FEATURE % '{"floatList": {"value": [1e39]}}',
        FEATURE % '{"bytesList": {"value": ["*"]}}',
        FEATURE % '{"int64List": {"value": [1]}, "floatList": {"value": [1]}}',
        "[" * 200,
    ],
)
def test_what_is_no_example_in_json(text):
    fails("DecodeJSONExample", [np.array(text, object)], {}, "JSON")


# --- cuDNN's recurrent nets ----------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def cell(mode, x, h, state, memory):
    """Computes a cell from [batch, gates, units] sums."""
    if mode == "lstm":
        i, f, g, o = np.moveaxis(x + h, 1, 0)
        memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(memory), memory
    if mode == "gru":
        r, z = (sigmoid(x[:, k] + h[:, k]) for k in range(2))
        return (1 - z) * np.tanh(x[:, 2] + r * h[:, 2]) + z * state, memory
    total = (x + h)[:, 0]
    return (np.maximum(total, 0) if mode == "rnn_relu" else np.tanh(total)), memory


def recurrent(mode, x, state, memory, weights, biases, directions, lengths):
    """The definition: weights and biases in cuDNN's order, as lists of parts."""
    gates, states, memories = GATES[mode], [], []
    for layer in range(len(state) // directions):
        outs = []
        for d in range(directions):
            p = layer * directions + d
            w, r = weights[p]
            h, c, out = state[p].copy(), memory[p].copy(), np.zeros((*x.shape[:2], state.shape[2]))
            for t in range(len(x))[:: -1 if d else 1]:
                sums = [
                    (v @ m.T + b).reshape(len(v), gates, -1)
                    for v, m, b in ((x[t], w, biases[p][0]), (h, r, biases[p][1]))
                ]
                h2, c2 = cell(mode, *sums, h, c)
                on = (t < lengths)[:, None]
                h, c = np.where(on, h2, h), np.where(on, c2, c)
                out[t] = np.where(on, h2, 0)
            outs.append(out)
            states.append(h)
            memories.append(c)
        x = np.concatenate(outs, 2)
    return x, np.array(states), np.array(memories)


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("directions", [1, 2])
def test_recurrent_nets(mode, directions):
    rng = np.random.default_rng(8)
    layers, units, size, batch, time = 2, 3, 4, 2, 5
    gates, parts = GATES[mode], layers * directions
    weights, biases = [], []
    for p in range(parts):
        width = size if p < directions else units * directions
        weights.append([rng.standard_normal((gates * units, n)) for n in (width, units)])
        biases.append([rng.standard_normal(gates * units) for _ in range(2)])
    flat = [m.ravel() for pair in weights for m in pair] + [b for pair in biases for b in pair]
    x = rng.standard_normal((time, batch, size))
    h, c = rng.standard_normal((2, parts, batch, units))
    lengths = i32([5, 3])
    attrs = {
        "T": "type: DT_DOUBLE",
        "rnn_mode": f's: "{mode}"',
        "direction": f's: "{"bidirectional" if directions == 2 else "unidirectional"}"',
        "is_training": "b: false",
    }
    params = np.concatenate(flat)
    got = run("CudnnRNNV3", [x, h, c, params, lengths], attrs, 5)
    wanted = recurrent(mode, x, h, c, weights, biases, directions, lengths)
    for mine, other in zip(got, wanted[: 3 if mode == "lstm" else 2], strict=False):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)
    swapped = [v.transpose(1, 0, 2).copy() for v in (x, h, c)]
    outer = run("CudnnRNNV3", [*swapped, params, lengths], {**attrs, "time_major": "b: false"}, 5)
    np.testing.assert_allclose(outer[0], wanted[0].transpose(1, 0, 2), rtol=1e-9, atol=1e-12)
    whole = run("CudnnRNN", [x, h, c, params], attrs, 4)[0]
    all_steps = i32([time] * batch)
    np.testing.assert_allclose(
        whole, recurrent(mode, x, h, c, weights, biases, directions, all_steps)[0], rtol=1e-9
    )
    fails("CudnnRNN", [x, h, c, params[:-1]], attrs, f"expected {params.size} elements", 4)
    fails("CudnnRNNV3", [x, h, c, params, i32([6, 0])], attrs, "sequence_lengths.0. is 6", 5)
    check_canonical(params, attrs, [layers, units, size], 2 * gates * parts)


def check_canonical(params, attrs, sizes, count):
    numbers = [i32(n) for n in sizes]
    attrs = {k: attrs[k] for k in ("T", "rnn_mode", "direction")}
    size = run("CudnnRNNParamsSize", numbers, {**attrs, "S": "type: DT_INT64"})
    np.testing.assert_array_equal(size, [params.size])
    attrs["num_params"] = f"i: {count}"
    pieces = run("CudnnRNNParamsToCanonical", [*numbers, params], attrs, 2 * count)
    np.testing.assert_array_equal(np.concatenate([p.ravel() for p in pieces]), params)
    assert pieces[0].shape == (sizes[1], sizes[2])
    np.testing.assert_array_equal(
        run("CudnnRNNCanonicalToParams", [*numbers, *pieces], attrs), params
    )
