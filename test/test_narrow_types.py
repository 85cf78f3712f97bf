"""Programs of StableHLO with numbers of a few bits, and with quantized ones."""

import ml_dtypes
import numpy as np
import pytest
from mlir_programs import function, runner, same

import treadle


@pytest.fixture
def run(tmp_path):
    return runner(tmp_path)


# --- integers ------------------------------------------------------------------------------------

NIBBLES = np.arange(-8, 8, dtype=np.int8)


def wrapped(values, bits=4):
    low = np.asarray(values, np.int64) & ((1 << bits) - 1)
    return np.where(low >= 1 << (bits - 1), low - (1 << bits), low).astype(np.int8)


@pytest.mark.parametrize(
    ("op", "computed"),
    [("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply)],
)
def test_arithmetic_of_four_bits_wraps(run, op, computed):
    a, b = (x.ravel() for x in np.meshgrid(NIBBLES, NIBBLES))
    text = function(f"%r = stablehlo.{op} %a, %b : tensor<256xi4>", ["256xi4"] * 2, ["256xi4"])
    (got,) = run(text, a.astype(ml_dtypes.int4), b.astype(ml_dtypes.int4))
    assert got.dtype == ml_dtypes.int4
    np.testing.assert_array_equal(got.astype(np.int8), wrapped(computed(a.astype(int), b)))


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("popcnt", [bin(x & 15).count("1") for x in NIBBLES]),
        ("count_leading_zeros", [4 - int(x & 15).bit_length() for x in NIBBLES]),
        ("not", ~NIBBLES),
        ("negate", wrapped(-NIBBLES.astype(int))),
        ("abs", wrapped(abs(NIBBLES.astype(int)))),
    ],
)
def test_functions_of_four_bits(run, op, expected):
    text = function(f"%r = stablehlo.{op} %a : tensor<16xi4>", ["16xi4"], ["16xi4"])
    (got,) = run(text, NIBBLES.astype(ml_dtypes.int4))
    np.testing.assert_array_equal(got.astype(np.int8), np.asarray(expected, np.int8))


def test_a_logical_shift_of_four_bits_brings_zeros(run):
    body = """
    %by = stablehlo.constant dense<1> : tensor<16xi4>
    %r = stablehlo.shift_right_logical %a, %by : tensor<16xi4>"""
    (got,) = run(function(body, ["16xi4"], ["16xi4"]), NIBBLES.astype(ml_dtypes.int4))
    np.testing.assert_array_equal(got.astype(np.int8), (NIBBLES & 15) >> 1)


def test_integers_of_two_bits_wrap(run):
    body = """
    %n = stablehlo.convert %a : (tensor<8xi32>) -> tensor<8xi2>
    %u = stablehlo.convert %a : (tensor<8xi32>) -> tensor<8xui2>
    %r0 = stablehlo.convert %n : (tensor<8xi2>) -> tensor<8xi32>
    %r1 = stablehlo.convert %u : (tensor<8xui2>) -> tensor<8xi32>"""
    x = np.arange(-4, 4, dtype=np.int32)
    same(run(function(body, ["8xi32"], ["8xi32"] * 2), x), wrapped(x, 2).astype(np.int32), x & 3)


def test_arguments_of_two_bits(run):
    text = function("%r = stablehlo.add %a, %a : tensor<4xi2>", ["4xi2"], ["4xi2"])
    x = np.int8([-2, -1, 0, 1])
    (got,) = run(text, x.astype(ml_dtypes.int2))
    assert got.dtype == ml_dtypes.int2
    np.testing.assert_array_equal(got.astype(np.int8), wrapped(x + x, 2))


def test_floats_that_do_not_fit_four_bits_become_the_nearest(run):
    body = """
    %n = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi4>
    %r = stablehlo.convert %n : (tensor<4xi4>) -> tensor<4xi32>"""
    x = np.float32([-100, 100, np.nan, -2.7])
    same(run(function(body, ["4xf32"], ["4xi32"]), x), np.int32([-8, 7, 0, -2]))


def test_sums_and_loops_of_four_bits(run):
    body = """
    %zero = stablehlo.constant dense<0> : tensor<i4>
    %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<2x4xi4>, tensor<i4>) -> tensor<2xi4>"""
    x = np.int8([[7, 1, 0, 0], [-8, -1, -1, 3]])
    (got,) = run(function(body, ["2x4xi4"], ["2xi4"]), x.astype(ml_dtypes.int4))
    np.testing.assert_array_equal(got.astype(np.int8), wrapped(x.astype(int).sum(1)))


def test_bits_of_bools_and_nibbles(run):
    body = """
    %n = stablehlo.bitcast_convert %a : (tensor<2xi16>) -> tensor<2x4xui4>
    %back = stablehlo.bitcast_convert %n : (tensor<2x4xui4>) -> tensor<2xi16>
    %bits = stablehlo.bitcast_convert %a : (tensor<2xi16>) -> tensor<2x16xi1>
    %r0 = stablehlo.convert %n : (tensor<2x4xui4>) -> tensor<2x4xi32>
    %r1 = stablehlo.bitcast_convert %bits : (tensor<2x16xi1>) -> tensor<2xi16>
    %r2 = stablehlo.add %back, %r1 : tensor<2xi16>"""
    x = np.int16([0x1234, -2])
    nibbles = (x.astype(int)[:, None] >> np.arange(0, 16, 4)) & 15
    same(
        run(function(body, ["2xi16"], ["2x4xi32", "2xi16", "2xi16"]), x),
        nibbles.astype(np.int32),
        x,
        x + x,
    )


def test_bits_of_nibbles_as_pairs_of_bits(run):
    body = """
    %two = stablehlo.bitcast_convert %a : (tensor<3xi4>) -> tensor<3x2xi2>
    %r0 = stablehlo.convert %two : (tensor<3x2xi2>) -> tensor<3x2xi32>
    %back = stablehlo.bitcast_convert %two : (tensor<3x2xi2>) -> tensor<3xi4>
    %r1 = stablehlo.convert %back : (tensor<3xi4>) -> tensor<3xi32>"""
    x = np.int8([-8, 7, -3])
    same(
        run(function(body, ["3xi4"], ["3x2xi32", "3xi32"]), x.astype(ml_dtypes.int4)),
        wrapped(x[:, None] >> np.array([0, 2]), 2).astype(np.int32),
        x.astype(np.int32),
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '%r = "stablehlo.popcnt"(%a, %b) : (tensor<2xi4>, tensor<2xf32>) -> tensor<2xi4>',
            "requires a single operand",
        ),
        ('%r = "stablehlo.popcnt"() : () -> tensor<2xi4>', "requires a single operand"),
        ("%r = arith.addi %a, %a : tensor<2xi4>", "arith.addi of numbers with fewer than 8 bits"),
    ],
)
def test_bits_of_what_has_none_are_an_error(run, body, message):
    with pytest.raises((treadle.InvalidArgumentError, treadle.UnimplementedError), match=message):
        run(function(body, ["2xi4", "2xf32"], ["2xi4"]), np.int8([1, 2]), np.float32([1, 2]))


def test_bits_that_do_not_fit_are_an_error(run):
    body = "%r = stablehlo.bitcast_convert %a : (tensor<2xi16>) -> tensor<2x3xi1>"
    with pytest.raises(treadle.InvalidArgumentError, match="can't be bitcast to"):
        run(function(body, ["2xi16"], ["2x3xi1"]), np.int16([1, 2]))


# --- small floats --------------------------------------------------------------------------------

SMALL = {
    "f4E2M1FN": "float4_e2m1fn",
    "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn",
    "f8E3M4": "float8_e3m4",
    "f8E4M3": "float8_e4m3",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
}


@pytest.mark.parametrize("name", SMALL)
def test_conversion_to_a_small_float_rounds_as_ml_dtypes_does(run, name):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(2000) * np.exp2(rng.integers(-24, 20, 2000))
    ties = np.arange(-1024, 1024) / 64
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -3e38]
    x = np.concatenate([values, ties, special]).astype(np.float32)
    body = f"""
    %n = stablehlo.convert %a : (tensor<{x.size}xf32>) -> tensor<{x.size}x{name}>
    %r = stablehlo.convert %n : (tensor<{x.size}x{name}>) -> tensor<{x.size}xf32>"""
    with np.errstate(all="ignore"):
        expected = x.astype(getattr(ml_dtypes, SMALL[name])).astype(np.float32)
    (got,) = run(function(body, [f"{x.size}xf32"], [f"{x.size}xf32"]), x)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(
        np.signbit(got)[~np.isnan(got)], np.signbit(expected)[~np.isnan(got)]
    )


@pytest.mark.parametrize("name", ["f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2FNUZ"])
def test_arguments_of_small_floats(run, name):
    text = function(
        f"%r = stablehlo.multiply %a, %a : tensor<6x{name}>", [f"6x{name}"], [f"6x{name}"]
    )
    dtype = getattr(ml_dtypes, SMALL[name])
    x = np.float32([0, -1.3, 2.7, 1e-3, 100, np.nan]).astype(dtype)
    (got,) = run(text, x)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.view(np.uint8), (x * x).view(np.uint8))


def test_small_floats_are_rounded_after_each_op(run):
    body = """
    %n = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xf8E4M3>
    %s = stablehlo.add %n, %n : tensor<3xf8E4M3>
    %p = stablehlo.multiply %s, %n : tensor<3xf8E4M3>
    %r = stablehlo.convert %p : (tensor<3xf8E4M3>) -> tensor<3xf32>"""
    x = np.float32([1.3, 7.1, 100])
    n = x.astype(ml_dtypes.float8_e4m3)
    same(run(function(body, ["3xf32"], ["3xf32"]), x), ((n + n) * n).astype(np.float32))


def test_an_argument_of_a_small_float_is_unimplemented(run):
    text = function("%r = stablehlo.abs %a : tensor<2xf4E2M1FN>", ["2xf4E2M1FN"], ["2xf4E2M1FN"])
    with pytest.raises(
        treadle.UnimplementedError, match="with values of type 'tensor<2xf4E2M1FN>'"
    ):
        run(text, np.float32([1, 2]))


# --- quantized values ----------------------------------------------------------------------------


def test_a_product_of_quantized_values(run):
    q, wide = "!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8<-100:100>:f32, 1.0>"
    body = f"""
    %q = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x{q}>
    %p = stablehlo.multiply %q, %q : (tensor<4x{q}>, tensor<4x{q}>) -> tensor<4x{wide}>
    %r = stablehlo.uniform_dequantize %p : (tensor<4x{wide}>) -> tensor<4xf32>"""
    x = np.float32([0.3, -1.2, 40, -200])
    stored = np.clip(np.rint(x / 0.5 + 3), -128, 127)
    real = ((stored - 3) * 0.5) ** 2
    same(
        run(function(body, ["4xf32"], ["4xf32"]), x),
        np.clip(np.rint(real), -100, 100, dtype=np.float32),
    )


def test_scales_along_an_axis_and_moves(run):
    q = "!quant.uniform<i8:f32:1, {0.5, 0.25:10, 2.0}>"
    back = "!quant.uniform<i8:f32:0, {0.5, 0.25:10, 2.0}>"
    body = f"""
    %q = stablehlo.uniform_quantize %a : (tensor<2x3xf32>) -> tensor<2x3x{q}>
    %t = stablehlo.transpose %q, dims = [1, 0] : (tensor<2x3x{q}>) -> tensor<3x2x{back}>
    %r0 = stablehlo.uniform_dequantize %t : (tensor<3x2x{back}>) -> tensor<3x2xf32>
    %r1 = stablehlo.bitcast_convert %q : (tensor<2x3x{q}>) -> tensor<2x3xi8>"""
    x = np.float32([[1.1, 2.2, 3.3], [-4, -5, -6]])
    stored = np.rint(x / np.float32([0.5, 0.25, 2]) + np.float32([0, 10, 0]))
    real = (stored - [0, 10, 0]) * np.float32([0.5, 0.25, 2])
    same(
        run(function(body, ["2x3xf32"], ["3x2xf32", "2x3xi8"]), x),
        real.T.astype(np.float32),
        stored.astype(np.int8),
    )


@pytest.mark.parametrize(
    ("quantized", "error", "message"),
    [
        ("!quant.uniform<i8:f32:7, {0.5, 0.5}>", treadle.InvalidArgumentError, "scales"),
        ("!quant.uniform<i8:f32:0, {0.5}>", treadle.InvalidArgumentError, "has 1 scales"),
        ("!quant.uniform<i8:f32, -0.5>", treadle.UnimplementedError, "with values of type"),
        ("!quant.any<i8:f32>", treadle.UnimplementedError, "with values of type"),
        ("!quant.uniform<i8:f64, 0.5>", treadle.InvalidArgumentError, "of 'f32', expected 'f64'"),
    ],
)
def test_quantized_types_that_do_not_fit(run, quantized, error, message):
    body = f"""
    %q = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x{quantized}>
    %r = stablehlo.uniform_dequantize %q : (tensor<2x{quantized}>) -> tensor<2xf32>"""
    with pytest.raises(error, match=message):
        run(function(body, ["2xf32"], ["2xf32"]), np.float32([1, 2]))
