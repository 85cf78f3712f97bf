"""Programs in MLIR's own printed form, and what their modules and @main may be."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from mlir_programs import function, runner, same

import treadle

BINARY = os.environ.get("TREADLE_BIN") or Path(treadle.__file__).parents[2] / "bin" / "treadle"


@pytest.fixture(params=["interpret", "jit"])
def run(request, tmp_path):
    return runner(tmp_path, tier=request.param, timeout=60)


# --- shifts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("is_signed", [True, False])
def test_an_arithmetic_shift_repeats_the_highest_bit(run, bits, is_signed):
    dtype = np.dtype(f"{'int' if is_signed else 'uint'}{bits}")
    signed = np.dtype(f"int{bits}")
    high = 1 << (bits - 1)
    x = np.array([2 * high - 2, high, 5, high - 1, high, 3], np.uint64).astype(dtype)
    counts = np.array([1, bits - 1, 1, bits, bits + 1, 2 * high - 1], np.uint64).astype(dtype)
    name = ("i" if is_signed else "ui") + str(bits)
    body = f"%r = stablehlo.shift_right_arithmetic %a, %b : tensor<6x{name}>"
    amounts = np.minimum(counts.view(f"uint{bits}"), bits - 1).astype(signed)
    same(
        run(function(body, [f"6x{name}"] * 2, [f"6x{name}"]), x, counts),
        (x.view(signed) >> amounts).view(dtype),
    )


def test_an_arithmetic_shift_of_unsigned_nibbles(run):
    body = """
    %x = stablehlo.convert %a : (tensor<4xui8>) -> tensor<4xui4>
    %n = stablehlo.convert %b : (tensor<4xui8>) -> tensor<4xui4>
    %s = stablehlo.shift_right_arithmetic %x, %n : tensor<4xui4>
    %r = stablehlo.convert %s : (tensor<4xui4>) -> tensor<4xui8>"""
    got = run(
        function(body, ["4xui8"] * 2, ["4xui8"]), np.uint8([14, 8, 5, 9]), np.uint8([1, 4, 1, 15])
    )
    same(got, np.uint8([15, 15, 2, 15]))


def test_an_arithmetic_shift_by_a_constant(run):
    body = """
    %n = stablehlo.constant dense<2> : tensor<3xui8>
    %r = stablehlo.shift_right_arithmetic %a, %n : tensor<3xui8>"""
    same(
        run(function(body, ["3xui8"], ["3xui8"]), np.uint8([255, 128, 7])), np.uint8([255, 224, 1])
    )


# --- printed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_as_mlir_prints_it(run, lower):
    body = f"%r = stablehlo.cholesky %a, lower = {str(lower).lower()} : tensor<2x2xf32>"
    factor = np.float32([[2, 0], [1, 2]])
    got = run(function(body, ["2x2xf32"], ["2x2xf32"]), np.float32([[4, 2], [2, 5]]))[0]
    triangle = np.tril(got) if lower else np.triu(got)
    np.testing.assert_allclose(triangle, factor if lower else factor.T, rtol=1e-6)


def test_slices_of_scalars_as_mlir_prints_them(run):
    body = """
    %s = stablehlo.dynamic_slice %a, , sizes = [] : (tensor<f32>) -> tensor<f32>
    %t = stablehlo.dynamic_update_slice %a, %s,  : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %r = stablehlo.add %s, %t : tensor<f32>"""
    same(run(function(body, ["f32"], ["f32"]), np.float32(3)), np.float32(6))


PRINTED = [
    ("%r = stablehlo.broadcast %a, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>", "2x3xf32"),
    (
        '%r = stablehlo.unary_einsum %b, config = "ij->ji" : (tensor<2x3xf32>) -> tensor<3x2xf32>',
        "3x2xf32",
    ),
    (
        '%r = stablehlo.einsum %b, %a, config = "ij,j->i" : '
        "(tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>",
        "2xf32",
    ),
]


@pytest.mark.parametrize(("line", "result"), PRINTED)
def test_keys_that_mlir_prints(run, line, result):
    a, b = np.float32([1, 2, 3]), np.float32([[1, 2, 3], [4, 5, 6]])
    wanted = {"2x3xf32": np.broadcast_to(a, (2, 3)), "3x2xf32": b.T, "2xf32": b @ a}[result]
    same(run(function(line, ["3xf32", "2x3xf32"], [result]), a, b), wanted)


# --- convolutions of complex numbers -------------------------------------------------------------


def convolved(x, w, groups=1):
    """[batch, length, channels] with [window, channels / groups, features]."""
    batch, length, channels = x.shape
    window, each, features = w.shape
    out = np.zeros((batch, length - window + 1, features), x.dtype)
    for f in range(features):
        first = f // (features // groups) * each
        for t in range(out.shape[1]):
            part = x[:, t : t + window, first : first + each]
            out[:, t, f] = (part * w[None, :, :, f]).sum((1, 2))
    return out


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_of_complex_numbers(run, element, groups):
    dtype = {"f32": np.complex64, "f64": np.complex128}[element]
    rng = np.random.default_rng(3)

    def numbers(*shape):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)

    x, w = numbers(2, 6, 4), numbers(3, 4 // groups, 2)
    types = [f"2x6x4xcomplex<{element}>", f"3x{4 // groups}x2xcomplex<{element}>"]
    result = f"2x4x2xcomplex<{element}>"
    body = f"""
    %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}}
      {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}
      : (tensor<{types[0]}>, tensor<{types[1]}>) -> tensor<{result}>"""
    got = run(function(body, types, [result]), x, w)
    same(got, convolved(x, w, groups), rtol=1e-4, atol=1e-5)


# --- modules -------------------------------------------------------------------------------------

NEGATE = """
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }"""
DOUBLE = NEGATE.replace("negate %x", "add %x, %x")


def test_the_outer_modules_main_runs(run):
    text = f"module @outer {{ module @inner {{ {NEGATE} }} {DOUBLE} }}"
    same(run(text, np.float32([1, 2])), np.float32([2, 4]))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_module_that_holds_nothing_but_another(run, depth):
    same(run("module {" * depth + NEGATE + "}" * depth, np.float32([1, 2])), np.float32([-1, -2]))


def test_of_two_modules_none_is_chosen(run):
    with pytest.raises(treadle.InvalidArgumentError, match="the file has 2 modules, expected one"):
        run(f"module @a {{ {NEGATE} }}\nmodule @b {{ {DOUBLE} }}", np.float32([1, 2]))


# --- arguments -----------------------------------------------------------------------------------

BOUNDED = """
func.func @main(%x: tensor<?x?xf32, #stablehlo.bounds<2, ?>>) -> tensor<i32> {
  %k = stablehlo.get_dimension_size %x, dim = 0
    : (tensor<?x?xf32, #stablehlo.bounds<2, ?>>) -> tensor<i32>
  return %k : tensor<i32>
}"""


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_an_argument_within_its_bound(run, rows):
    assert run(BOUNDED, np.zeros((rows, 5), np.float32)) == [rows]


def test_an_argument_beyond_its_bound(run):
    message = "argument arg0 has more elements along dimension 0 than its bound, 2:.*3"
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        run(BOUNDED, np.zeros((3, 1), np.float32))


def test_a_bound_of_an_argument_that_nothing_uses(run):
    text = """
    func.func @main(%x: tensor<?xf32, #stablehlo.bounds<2>>, %y: tensor<f32>) -> tensor<f32> {
      return %y : tensor<f32>
    }"""
    assert run(text, np.zeros(2, np.float32), np.float32(7)) == [7]
    with pytest.raises(treadle.InvalidArgumentError, match="argument arg0 has more"):
        run(text, np.zeros(3, np.float32), np.float32(7))


def test_tokens_are_not_fed(tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text("""
    func.func @main(%t: !stablehlo.token, %x: tensor<f32>) -> tensor<f32> {
      %u = stablehlo.after_all %t, %t : !stablehlo.token
      %r = stablehlo.add %x, %x : tensor<f32>
      return %r : tensor<f32>
    }""")
    main = treadle.load(path).signatures["main"]
    assert list(main(arg1=np.float32(3)).values()) == [6]


# --- artifacts -----------------------------------------------------------------------------------

OF_MODULES = [
    "affine_map<(d0, d1)[s0] -> (d1 floordiv 4, d0 + s0)>",
    "[affine_map<() -> ()>, affine_set<(d0) : (d0 >= 0)>]",
    "2.5 : f32",
    "tensor<2xf32>",
    "@some::@symbol",
    "dense<[1, 2]> : tensor<2xi32>",
    "array<i32: 1, 2>",
    "strided<[2, 1], offset: 3>",
    "3 : index",
]


@pytest.mark.parametrize("value", OF_MODULES)
def test_attributes_of_modules_in_artifacts(tmp_path, value):
    path, artifact = tmp_path / "program.mlir", tmp_path / "program.mlirbc"
    path.write_text(f"module attributes {{my.value = {value}}} {{ {NEGATE} }}")
    subprocess.run([BINARY, "convert", path, artifact], check=True)
    main = treadle.load(artifact).signatures["main"]
    same(list(main(np.float32([1, 2])).values()), np.float32([-1, -2]))


# --- names of operations until 2022 --------------------------------------------------------------

STD = """
func @main(%n: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  // func @other and "br" stay in comments and strings.
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  br ^cond(%zero, %x : tensor<i32>, tensor<?xf32>)
^cond(%i: tensor<i32>, %a: tensor<?xf32>):
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %b = tensor.extract %p[] : tensor<i1>
  cond_br %b, ^body(%i, %a : tensor<i32>, tensor<?xf32>), ^exit(%a : tensor<?xf32>)
^body(%j: tensor<i32>, %c: tensor<?xf32>):
  %cc = stablehlo.concatenate %c, %c, dim = 0 :
    (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %k = stablehlo.add %j, %one : tensor<i32>
  br ^cond(%k, %cc : tensor<i32>, tensor<?xf32>)
^exit(%r: tensor<?xf32>):
  return %r : tensor<?xf32>
}
"""


@pytest.mark.parametrize(
    "old, new",
    [("", ""), ("func @", "builtin.func @"), ("  br ", "  std.br "), ("  return", "  std.return")],
)
def test_the_std_dialect_is_read(run, old, new):
    x = np.float32([1, 2])
    same(run(STD.replace(old, new) if old else STD, np.int32(2), x), np.tile(x, 4))


def test_a_symbol_may_be_called_as_an_operation_was(run):
    text = (
        STD.replace("@main", "@br").replace("func @br", "func private @br")
        + """
func @main(%br: tensor<i32>, %select: tensor<?xf32>) -> tensor<?xf32> {
  %and = call @br(%br, %select) : (tensor<i32>, tensor<?xf32>) -> tensor<?xf32>
  return %and : tensor<?xf32>
}
"""
    )
    x = np.float32([3])
    same(run(text, np.int32(1), x), np.tile(x, 2))
