"""Programs in scf, arith, math and tensor, and ops of StableHLO that JAX itself doesn't write."""

import numpy as np
import pytest
from mlir_programs import function, runner, same

import treadle


@pytest.fixture(params=["interpret", "jit"])
def run(request, tmp_path):
    return runner(tmp_path, tier=request.param, timeout=60)


def floats(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


# --- scf -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5])
def test_for_carries_tensors(run, n):
    text = """
    func.func @main(%n: index, %a: tensor<2x3xf32>) -> (tensor<2x3xf32>, index) {
      %zero = arith.constant 0 : index
      %two = arith.constant 2 : index
      %r:2 = scf.for %i = %zero to %n step %two iter_args(%x = %a, %last = %zero)
          -> (tensor<2x3xf32>, index) {
        %y = arith.addf %x, %a : tensor<2x3xf32>
        scf.yield %y, %i : tensor<2x3xf32>, index
      }
      return %r#0, %r#1 : tensor<2x3xf32>, index
    }"""
    a = floats(2, 3)
    steps = (n + 1) // 2
    same(run(text, np.int64(n), a), (steps + 1) * a, np.int64(max(0, 2 * steps - 2)))


def test_while_hands_on_other_values_than_it_carries(run):
    text = """
    func.func @main(%start: i32) -> (i32, f32) {
      %zero = arith.constant 0.5 : f32
      %hundred = arith.constant 100 : i32
      %r:2 = scf.while (%i = %start) : (i32) -> (i32, f32) {
        %twice = arith.addi %i, %i : i32
        %more = arith.cmpi slt, %twice, %hundred : i32
        %f = arith.sitofp %twice : i32 to f32
        scf.condition(%more) %twice, %f : i32, f32
      } do {
      ^bb0(%i: i32, %f: f32):
        %one = arith.constant 1 : i32
        %next = arith.addi %i, %one : i32
        scf.yield %next : i32
      }
      %f = arith.addf %r#1, %zero : f32
      return %r#0, %f : i32, f32
    }"""
    i = 3
    while 2 * i < 100:
        i = 2 * i + 1
    same(run(text, np.int32(3)), np.int32(2 * i), np.float32(2 * i + 0.5))


@pytest.mark.parametrize("flag", [False, True])
def test_if_within_for_hands_back_one_of_two(run, flag):
    text = """
    func.func @main(%p: i1, %a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> (tensor<?xf32>) {
        %y = scf.if %p -> (tensor<?xf32>) {
          %z = arith.addf %x, %x : tensor<?xf32>
          scf.yield %z : tensor<?xf32>
        } else {
          scf.yield %b : tensor<?xf32>
        }
        scf.yield %y : tensor<?xf32>
      }
      return %r : tensor<?xf32>
    }"""
    a, b = floats(4), floats(5)
    same(run(text, np.bool_(flag), a, b), 8 * a if flag else b)


@pytest.mark.parametrize("i", [0, 1, 7])
def test_switch_has_a_default(run, i):
    text = """
    func.func @main(%i: index) -> i32 {
      %r = scf.index_switch %i -> i32
      case 0 { %c = arith.constant 10 : i32 scf.yield %c : i32 }
      case 1 { %c = arith.constant 20 : i32 scf.yield %c : i32 }
      default { %c = arith.constant 30 : i32 scf.yield %c : i32 }
      return %r : i32
    }"""
    same(run(text, np.int64(i)), np.int32({0: 10, 1: 20}.get(i, 30)))


def test_buffers_are_named(run):
    text = """
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %m = memref.alloc() : memref<4xf32>
      return %a : tensor<4xf32>
    }"""
    with pytest.raises(treadle.UnimplementedError, match="line 3.*memref.alloc is not supported"):
        run(text, floats(4))


# --- arith and math ------------------------------------------------------------------------------


def test_integers_of_arith(run):
    ops = "addi subi muli divsi divui remsi remui floordivsi ceildivsi maxsi maxui minsi minui"
    ops = ops.split() + "andi ori xori shli shrsi shrui".split()
    lines = [f"%{op} = arith.{op} %a, %b : tensor<4xi32>" for op in ops]
    text = (
        "func.func @main(%a: tensor<4xi32>, %b: tensor<4xi32>) -> ("
        + ", ".join(["tensor<4xi32>"] * len(ops))
        + ") {\n"
        + "\n".join(lines)
        + f"\nreturn {', '.join('%' + op for op in ops)} : "
        + ", ".join(["tensor<4xi32>"] * len(ops))
        + "\n}"
    )
    a, b = np.array([7, -7, -8, 100], np.int32), np.array([2, 2, 3, 1], np.int32)
    ua, ub = a.view(np.uint32), b.view(np.uint32)
    quotient = np.trunc(a / b).astype(np.int32)
    expected = [a + b, a - b, a * b, quotient, ua // ub, a - quotient * b, ua % ub, a // b]
    expected += [-(-a // b), np.maximum(a, b), np.maximum(ua, ub), np.minimum(a, b)]
    expected += [np.minimum(ua, ub), a & b, a | b, a ^ b, a << b, a >> b, ua >> ub]
    same(run(text, a, b), *[np.asarray(x).view(np.int32) for x in expected])


def test_comparisons_and_casts_of_arith(run):
    text = """
    func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>, %x: tensor<3xf32>, %y: tensor<3xf32>)
        -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi64>, tensor<3xi64>,
            tensor<3xi8>, tensor<3xi32>, tensor<3xf64>, tensor<3xf32>) {
      %p = arith.cmpi slt, %a, %b : tensor<3xi32>
      %q = arith.cmpi ult, %a, %b : tensor<3xi32>
      %r = arith.cmpf olt, %x, %y : tensor<3xf32>
      %s = arith.cmpf une, %x, %y : tensor<3xf32>
      %t = arith.extsi %a : tensor<3xi32> to tensor<3xi64>
      %u = arith.extui %a : tensor<3xi32> to tensor<3xi64>
      %v = arith.trunci %a : tensor<3xi32> to tensor<3xi8>
      %w = arith.extsi %p : tensor<3xi1> to tensor<3xi32>
      %d = arith.extf %x : tensor<3xf32> to tensor<3xf64>
      %e = arith.select %p, %x, %y : tensor<3xi1>, tensor<3xf32>
      return %p, %q, %r, %s, %t, %u, %v, %w, %d, %e : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>,
          tensor<3xi1>, tensor<3xi64>, tensor<3xi64>, tensor<3xi8>, tensor<3xi32>, tensor<3xf64>,
          tensor<3xf32>
    }"""
    a, b = np.array([-1, 5, 300], np.int32), np.array([1, 5, 2], np.int32)
    x, y = np.array([1, np.nan, 2], np.float32), np.array([2, 1, 2], np.float32)
    unsigned = a.view(np.uint32)
    same(
        run(text, a, b, x, y),
        a < b,
        unsigned < b.view(np.uint32),
        x < y,
        x != y,
        a.astype(np.int64),
        unsigned.astype(np.int64),
        a.astype(np.int8),
        -(a < b).astype(np.int32),
        x.astype(np.float64),
        np.where(a < b, x, y),
    )


def test_functions_of_math(run):
    names = "exp log sqrt sin cos tanh floor ceil absf erf log1p expm1 atan rsqrt".split()
    lines = "\n".join(f"%{n} = math.{n} %x : tensor<5xf32>" for n in names)
    types = ", ".join(["tensor<5xf32>"] * len(names))
    text = (
        f"func.func @main(%x: tensor<5xf32>) -> ({types}) {{\n{lines}\n"
        f"return {', '.join('%' + n for n in names)} : {types}\n}}"
    )
    x = np.array([0.1, 0.5, 1, 2.5, 4], np.float32)
    erf = np.array([0.1124629, 0.5204999, 0.8427008, 0.9995930, 1.0], np.float32)
    others = {"absf": np.abs, "erf": lambda x: erf, "atan": np.arctan, "rsqrt": lambda x: x**-0.5}
    wanted = [others[n](x) if n in others else getattr(np, n)(x) for n in names]
    same(run(text, x), *[np.asarray(w, np.float32) for w in wanted])


# --- tensor --------------------------------------------------------------------------------------


def test_elements_are_taken_out_and_put_in(run):
    text = """
    func.func @main(%a: tensor<3x4xf32>, %n: index) -> (tensor<3x4xf32>, f32, index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<3x4xf32>) {
        %v = tensor.extract %t[%c0, %i] : tensor<3x4xf32>
        %w = arith.addf %v, %v : f32
        %u = tensor.insert %w into %t[%c1, %i] : tensor<3x4xf32>
        scf.yield %u : tensor<3x4xf32>
      }
      %e = tensor.extract %r[%c1, %c0] : tensor<3x4xf32>
      %d = tensor.dim %a, %c1 : tensor<3x4xf32>
      return %r, %e, %d : tensor<3x4xf32>, f32, index
    }"""
    a = floats(3, 4)
    expected = a.copy()
    expected[1, :3] = 2 * a[0, :3]
    same(run(text, a, np.int64(3)), expected, 2 * a[0, 0], np.int64(4))


def test_slices_are_taken_out_and_put_in(run):
    text = """
    func.func @main(%a: tensor<5x4xf32>, %i: index, %b: tensor<2x3xf32>)
        -> (tensor<2x3xf32>, tensor<3xf32>, tensor<5x4xf32>, tensor<4x3xf32>, tensor<6xf32>) {
      %s = tensor.extract_slice %a[%i, 1] [2, 3] [1, 1] : tensor<5x4xf32> to tensor<2x3xf32>
      %row = tensor.extract_slice %a[%i, 0] [1, 3] [1, 1] : tensor<5x4xf32> to tensor<3xf32>
      %t = tensor.insert_slice %b into %a[%i, 1] [2, 3] [1, 1]
          : tensor<2x3xf32> into tensor<5x4xf32>
      %c = tensor.concat dim(0) %s, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
      %flat = tensor.collapse_shape %b [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
      return %s, %row, %t, %c, %flat : tensor<2x3xf32>, tensor<3xf32>, tensor<5x4xf32>,
          tensor<4x3xf32>, tensor<6xf32>
    }"""
    a, b = floats(5, 4), -floats(2, 3)
    put = a.copy()
    put[2:4, 1:] = b
    same(
        run(text, a, np.int64(2), b),
        a[2:4, 1:],
        a[2, :3],
        put,
        np.concatenate([a[2:4, 1:], b]),
        b.reshape(-1),
    )


def test_tensors_are_made(run):
    text = """
    func.func @main(%x: f32, %n: index) -> (tensor<2xf32>, tensor<?x2xf32>) {
      %a = tensor.from_elements %x, %x : tensor<2xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %e = tensor.empty(%n) : tensor<?x2xf32>
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %e) -> (tensor<?x2xf32>) {
        %u = tensor.insert_slice %a into %t[%i, 0] [1, 2] [1, 1]
            : tensor<2xf32> into tensor<?x2xf32>
        scf.yield %u : tensor<?x2xf32>
      }
      return %a, %r : tensor<2xf32>, tensor<?x2xf32>
    }"""
    same(run(text, np.float32(1.5), np.int64(3)), [np.float32(1.5)] * 2, np.full((3, 2), 1.5, "f4"))


# --- StableHLO -----------------------------------------------------------------------------------


WHOLE, FEATURE = "4x2x3xf32", "3xf32"
EPSILON = "{epsilon = 0.01 : f32, feature_index = 2 : i64}"


def test_batch_norm(run):
    x, scale, offset = floats(4, 2, 3), floats(3), floats(3) + 1
    mean, variance = 2 * floats(3), abs(floats(3)) + 0.5
    text = function(
        f'%r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) {EPSILON} : '
        f"(tensor<{WHOLE}>{f', tensor<{FEATURE}>' * 4}) -> tensor<{WHOLE}>",
        [WHOLE] + [FEATURE] * 4,
        [WHOLE],
    )
    expected = (x - mean) / np.sqrt(variance + 0.01) * scale + offset
    same(run(text, x, scale, offset, mean, variance), expected.astype(np.float32))
    text = function(
        f'%r0, %r1, %r2 = "stablehlo.batch_norm_training"(%a, %b, %c) {EPSILON} : '
        f"(tensor<{WHOLE}>{f', tensor<{FEATURE}>' * 2}) -> "
        f"(tensor<{WHOLE}>{f', tensor<{FEATURE}>' * 2})",
        [WHOLE] + [FEATURE] * 2,
        [WHOLE] + [FEATURE] * 2,
    )
    m, v = x.mean((0, 1)), x.var((0, 1))
    same(
        run(text, x, scale, offset), (x - m) / np.sqrt(v + np.float32(0.01)) * scale + offset, m, v
    )


def test_gradient_of_batch_norm(run):
    x, scale, g = floats(4, 2, 3), floats(3), floats(4, 2, 3)[::-1].copy()
    mean, variance = x.mean((0, 1)), x.var((0, 1))
    text = function(
        f'%r0, %r1, %r2 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) {EPSILON} : '
        f"(tensor<{WHOLE}>{f', tensor<{FEATURE}>' * 3}, tensor<{WHOLE}>) -> "
        f"(tensor<{WHOLE}>{f', tensor<{FEATURE}>' * 2})",
        [WHOLE] + [FEATURE] * 3 + [WHOLE],
        [WHOLE] + [FEATURE] * 2,
    )
    got = run(text, x, scale, mean, variance, g)

    def loss(x, scale):
        x, m = x.astype(np.float64), x.astype(np.float64).mean((0, 1))
        return np.sum(g * (x - m) / np.sqrt(x.var((0, 1)) + 0.01) * scale)

    step = 1e-6
    for place in [(0, 0, 0), (3, 1, 2), (2, 0, 1)]:
        moved = x.astype(np.float64)
        moved[place] += step
        slope = (loss(moved, scale) - loss(x, scale)) / step
        np.testing.assert_allclose(got[0][place], slope, rtol=1e-3, atol=1e-4)
    normalized = (x - mean) / np.sqrt(variance + 0.01)
    np.testing.assert_allclose(got[1], (g * normalized).sum((0, 1)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got[2], g.sum((0, 1)), rtol=1e-4, atol=1e-5)


def test_one_device_is_a_group_of_its_own(run):
    text = function(
        """
        %r0 = stablehlo.partition_id : tensor<ui32>
        %s = "stablehlo.all_reduce"(%a) ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %z = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %z : tensor<f32>
        }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
        %r1 = "stablehlo.all_gather"(%s) {all_gather_dim = 0 : i64,
            replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>""",
        ["2xf32"],
        ["ui32", "2xf32"],
    )
    same(run(text, floats(2)), np.uint32(0), floats(2))
    several = text.replace("dense<0> : tensor<1x1xi64>", "dense<[[0, 1]]> : tensor<1x2xi64>", 1)
    with pytest.raises(treadle.UnimplementedError, match="all_reduce among several devices"):
        run(several, floats(2))


def test_ops_that_broadcast(run):
    text = function(
        """
        %s = chlo.broadcast_add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
        %r0 = "chlo.broadcast_maximum"(%s, %c) :
            (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
        %r1 = "chlo.broadcast_compare"(%a, %c)
            {comparison_direction = #chlo<comparison_direction LT>} :
            (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
        %r2 = "chlo.constant_like"(%a) {value = 3.0 : f32} :
            (tensor<2x3xf32>) -> tensor<2x3xf32>""",
        ["2x3xf32", "3xf32", "f32"],
        ["2x3xf32", "2x3xi1", "2x3xf32"],
    )
    a, b, c = floats(2, 3), floats(3), np.float32(0.1)
    same(run(text, a, b, c), np.maximum(a + b, c), a < c, np.full((2, 3), 3, np.float32))


def test_older_ops(run):
    text = function(
        """
        %r0 = "mhlo.torch_index_select"(%a, %b) {dim = 0 : i64, batch_dims = 0 : i64} :
            (tensor<4x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
        %r1 = "mhlo.unary_einsum"(%a) {einsum_config = "ij->ji"} :
            (tensor<4x2xf32>) -> tensor<2x4xf32>""",
        ["4x2xf32", "3xi32"],
        ["3x2xf32", "2x4xf32"],
    )
    a, i = floats(4, 2), np.array([3, 0, 3], np.int32)
    same(run(text, a, i), a[i], a.T)


def test_random_integers_stay_between_their_bounds(run):
    text = function(
        """
        %low = stablehlo.constant dense<-3> : tensor<i32>
        %high = stablehlo.constant dense<5> : tensor<i32>
        %shape = stablehlo.constant dense<[20, 30]> : tensor<2xi64>
        %r = stablehlo.rng %low, %high, %shape, distribution = UNIFORM :
            (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<20x30xi32>""",
        [],
        ["20x30xi32"],
    )
    [drawn] = run(text)
    assert drawn.dtype == np.int32 and set(drawn.flat) == set(range(-3, 5))
