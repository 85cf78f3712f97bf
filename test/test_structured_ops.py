"""Programs of linalg, of loops that divide their work, and more of tensor, shape and arith."""

import numpy as np
import pytest
from mlir_programs import runner, same

import treadle


@pytest.fixture(params=["interpret", "jit"])
def run(request, tmp_path):
    return runner(tmp_path, tier=request.param, timeout=60)


def floats(*shape):
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def function(lines, arguments, result):
    head = ", ".join(f"%{name}: {t}" for name, t in arguments.items())
    return f"func.func @main({head}) -> {result} {{\n{lines}\n  return %r : {result}\n}}\n"


def generic(maps, kinds, ins, outs, block):
    maps = ", ".join(f"affine_map<{m}>" for m in maps)
    kinds = ", ".join(f'"{kind}"' for kind in kinds)
    return (
        f"%r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}\n"
        f"  ins({ins}) outs({outs}) {{\n{block}\n}} -> {outs.split(' : ')[1]}"
    )


# --- linalg --------------------------------------------------------------------------------------


def test_elements_with_broadcast_and_transposed_inputs(run):
    text = function(
        "%e = tensor.empty() : tensor<3x2xf32>\n"
        + generic(
            ["(i, j) -> (j, i)", "(i, j) -> (i)", "(i, j) -> (i, j)"],
            ["parallel", "parallel"],
            "%a, %b : tensor<2x3xf32>, tensor<3xf32>",
            "%e : tensor<3x2xf32>",
            """^bb0(%x: f32, %y: f32, %o: f32):
            %k = linalg.index 1 : index
            %n = arith.index_cast %k : index to i32
            %f = arith.sitofp %n : i32 to f32
            %z = arith.mulf %x, %s : f32
            %w = arith.addf %z, %y : f32
            %v = arith.addf %w, %f : f32
            linalg.yield %v : f32""",
        ),
        {"a": "tensor<2x3xf32>", "b": "tensor<3xf32>", "s": "f32"},
        "tensor<3x2xf32>",
    )
    a, b = floats(2, 3), floats(3)
    same(run(text, a, b, np.float32(3)), a.T * 3 + b[:, None] + np.arange(2, dtype=np.float32))


def test_sum_over_a_loop_adds_to_what_is_there(run):
    text = function(
        generic(
            ["(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (j, i)"],
            ["parallel", "parallel", "reduction"],
            "%a, %b : tensor<?x3xf32>, tensor<3x4xf32>",
            "%c : tensor<4x?xf32>",
            """^bb0(%x: f32, %y: f32, %o: f32):
            %p = arith.mulf %x, %y : f32
            %s = arith.addf %p, %o : f32
            linalg.yield %s : f32""",
        ),
        {"a": "tensor<?x3xf32>", "b": "tensor<3x4xf32>", "c": "tensor<4x?xf32>"},
        "tensor<4x?xf32>",
    )
    a, b, c = floats(2, 3), floats(3, 4), floats(4, 2)
    same(run(text, a, b, c), (a @ b).T + c)


@pytest.mark.parametrize(
    ("op", "reduce", "initial"),
    [("maximumf", np.max, -9), ("minimumf", np.min, 9), ("mulf", np.prod, 2), ("addf", np.sum, 1)],
)
def test_reductions_of_a_function(run, op, reduce, initial):
    text = function(
        generic(
            ["(i, j) -> (i, j)", "(i, j) -> (j)"],
            ["reduction", "parallel"],
            "%a : tensor<5x3xf32>",
            "%b : tensor<3xf32>",
            f"""^bb0(%x: f32, %o: f32):
            %y = arith.addf %x, %x : f32
            %z = arith.{op} %o, %y : f32
            linalg.yield %z : f32""",
        ),
        {"a": "tensor<5x3xf32>", "b": "tensor<3xf32>"},
        "tensor<3xf32>",
    )
    a, b = floats(5, 3), np.full(3, initial, np.float32)
    same(run(text, a, b), reduce(np.concatenate([2 * a, b[None]]), axis=0))


def test_ops_with_names(run):
    text = function(
        """
        %zero = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<2x2xf32>
        %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
        %p = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x2xf32>)
            outs(%f : tensor<2x2xf32>) -> tensor<2x2xf32>
        %t = linalg.transpose ins(%p : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>)
            permutation = [1, 0]
        %x = linalg.exp ins(%t : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
        %r = linalg.add ins(%x, %p : tensor<2x2xf32>, tensor<2x2xf32>)
            outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>""",
        {"a": "tensor<2x3xf32>", "b": "tensor<3x2xf32>"},
        "tensor<2x2xf32>",
    )
    a, b = floats(2, 3), floats(3, 2)
    same(run(text, a, b), np.exp((a @ b).T) + a @ b)


def test_structured_ops_within_a_loop(run):
    text = function(
        """
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<4xf32>) {
          %e = bufferization.alloc_tensor() copy(%x) : tensor<4xf32>
          %y = linalg.map { arith.mulf } ins(%x, %x : tensor<4xf32>, tensor<4xf32>)
              outs(%e : tensor<4xf32>)
          scf.yield %y : tensor<4xf32>
        }""",
        {"a": "tensor<4xf32>", "n": "index"},
        "tensor<4xf32>",
    )
    a = floats(4)
    same(run(text, a, np.int64(3)), a**8)


def test_windows_are_named(run):
    text = function(
        generic(
            ["(i, j) -> (i + j)", "(i, j) -> (j)", "(i, j) -> (i)"],
            ["parallel", "reduction"],
            "%a, %w : tensor<6xf32>, tensor<3xf32>",
            "%b : tensor<4xf32>",
            """^bb0(%x: f32, %y: f32, %o: f32):
            %p = arith.mulf %x, %y : f32
            %s = arith.addf %p, %o : f32
            linalg.yield %s : f32""",
        ),
        {"a": "tensor<6xf32>", "w": "tensor<3xf32>", "b": "tensor<4xf32>"},
        "tensor<4xf32>",
    )
    words = "line 2.*linalg.generic with indices other than its loop indices"
    with pytest.raises(treadle.UnimplementedError, match=words):
        run(text, floats(6), floats(3), floats(4))


def test_reductions_by_other_functions_are_named(run):
    text = function(
        generic(
            ["(i, j) -> (i, j)", "(i, j) -> (i)"],
            ["parallel", "reduction"],
            "%a : tensor<4x3xf32>",
            "%b : tensor<4xf32>",
            """^bb0(%x: f32, %o: f32):
            %z = arith.subf %x, %o : f32
            linalg.yield %z : f32""",
        ),
        {"a": "tensor<4x3xf32>", "b": "tensor<4xf32>"},
        "tensor<4xf32>",
    )
    words = "line 2.*linalg.generic that reduces by a function other than"
    with pytest.raises(treadle.UnimplementedError, match=words):
        run(text, floats(4, 3), floats(4))


# --- loops that divide their work ----------------------------------------------------------------


def test_parallel_loop_that_reduces(run):
    text = function(
        """
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %r = scf.parallel (%i, %j) = (%c0, %c1) to (%c3, %n) step (%c1, %c2) init (%s) -> f32 {
          %x = tensor.extract %a[%i, %j] : tensor<3x?xf32>
          scf.reduce(%x : f32) {
          ^bb0(%p: f32, %q: f32):
            %t = arith.addf %p, %q : f32
            scf.reduce.return %t : f32
          }
        }""",
        {"a": "tensor<3x?xf32>", "n": "index", "s": "f32"},
        "f32",
    )
    a = floats(3, 6)
    same(run(text, a, np.int64(6), np.float32(2)), np.float32(2 + a[:, 1::2].sum()))


def test_forall_that_fills_its_result(run):
    text = function(
        """
        %e = tensor.empty() : tensor<4x6xf32>
        %r = scf.forall (%i, %j) = (0, 0) to (4, 6) step (2, 3) shared_outs(%o = %e)
            -> (tensor<4x6xf32>) {
          %s = tensor.extract_slice %a[%i, %j] [2, 3] [1, 1] : tensor<4x6xf32> to tensor<2x3xf32>
          %t = arith.mulf %s, %s : tensor<2x3xf32>
          scf.forall.in_parallel {
            tensor.parallel_insert_slice %t into %o[%i, %j] [2, 3] [1, 1]
                : tensor<2x3xf32> into tensor<4x6xf32>
          }
        }""",
        {"a": "tensor<4x6xf32>"},
        "tensor<4x6xf32>",
    )
    a = floats(4, 6)
    same(run(text, a), a * a)


@pytest.mark.parametrize("i", [-1, 2, 7, 8])
def test_cases_of_any_numbers(run, i):
    text = function(
        """
        %s = scf.index_switch %i -> i32
        case 2 { %c = arith.constant 10 : i32 scf.yield %c : i32 }
        case 7 { %c = arith.constant 20 : i32 scf.yield %c : i32 }
        default { %c = arith.constant 30 : i32 scf.yield %c : i32 }
        %one = arith.constant 1 : i32
        %r = scf.execute_region -> i32 {
          %t = arith.addi %s, %one : i32
          scf.yield %t : i32
        }""",
        {"i": "index"},
        "i32",
    )
    same(run(text, np.int64(i)), np.int32({2: 11, 7: 21}.get(i, 31)))


@pytest.mark.parametrize("i", [-9, 5, 6])
def test_branches_to_any_numbers(run, i):
    text = """
    func.func @main(%i: i32) -> i32 {
      %a = arith.constant 10 : i32
      %b = arith.constant 20 : i32
      %c = arith.constant 30 : i32
      cf.switch %i : i32, [default: ^end(%c : i32), 5: ^end(%a : i32), -9: ^end(%b : i32)]
    ^end(%r: i32):
      return %r : i32
    }"""
    same(run(text, np.int32(i)), np.int32({5: 10, -9: 20}.get(i, 30)))


def test_loops_that_nothing_leaves_are_named(run):
    text = """
    func.func @main(%i: i32) -> i32 {
      cf.br ^again(%i : i32)
    ^again(%j: i32):
      %k = arith.addi %j, %i : i32
      cf.br ^again(%k : i32)
    }"""
    with pytest.raises(treadle.UnimplementedError, match="a loop without an exit"):
        run(text, np.int32(1))


# --- tensor, shape, affine, arith ----------------------------------------------------------------


def test_tensors_from_functions_of_their_indices(run):
    text = function(
        """
        %r = tensor.generate %n {
        ^bb0(%i: index, %j: index):
          %k = affine.apply affine_map<(d0, d1) -> ((d0 * 2 + d1) mod 4)>(%i, %j)
          %x = tensor.extract %a[%k] : tensor<4xf32>
          %y = arith.mulf %x, %s : f32
          tensor.yield %y : f32
        } : tensor<?x3xf32>""",
        {"a": "tensor<4xf32>", "n": "index", "s": "f32"},
        "tensor<?x3xf32>",
    )
    a = floats(4)
    places = (2 * np.arange(5)[:, None] + np.arange(3)) % 4
    same(run(text, a, np.int64(5), np.float32(2)), 2 * a[places])


def test_padding_and_strides_of_tensors(run):
    text = """
    func.func @main(%a: tensor<3xf32>, %v: f32, %n: index, %u: tensor<2xf32>)
        -> (tensor<?xf32>, tensor<2xf32>, tensor<3xf32>, index) {
      %p = tensor.pad %a low[1] high[%n] {
      ^bb0(%i: index):
        tensor.yield %v : f32
      } : tensor<3xf32> to tensor<?xf32>
      %s = tensor.extract_slice %a[0] [2] [2] : tensor<3xf32> to tensor<2xf32>
      %t = tensor.insert_slice %u into %a[0] [2] [2] : tensor<2xf32> into tensor<3xf32>
      %k = tensor.rank %a : tensor<3xf32>
      return %p, %s, %t, %k : tensor<?xf32>, tensor<2xf32>, tensor<3xf32>, index
    }"""
    a, u = floats(3), -floats(2)
    put = a.copy()
    put[::2] = u
    padded = np.pad(a, (1, 2), constant_values=7)
    same(run(text, a, np.float32(7), np.int64(2), u), padded, a[::2], put, np.int64(1))


def test_shapes_are_counted(run):
    text = """
    func.func @main(%a: tensor<?x3xf32>) -> (index, index, index) {
      %s = shape.shape_of %a : tensor<?x3xf32> -> tensor<2xindex>
      %c0 = arith.constant 0 : index
      %n = shape.get_extent %s, %c0 : tensor<2xindex>, index -> index
      %all = shape.num_elements %s : tensor<2xindex> -> index
      %least = affine.min affine_map<(d0)[s0] -> (d0 - 1, s0 floordiv 2, 100)>(%n)[%all]
      return %n, %all, %least : index, index, index
    }"""
    same(run(text, floats(4, 3)), np.int64(4), np.int64(12), np.int64(3))


def test_every_comparison_of_floats(run):
    names = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
    lines = [f"%{i} = arith.cmpf {name}, %a, %b : tensor<5xf32>" for i, name in enumerate(names)]
    types = ", ".join(["tensor<5xi1>"] * len(names))
    text = (
        f"func.func @main(%a: tensor<5xf32>, %b: tensor<5xf32>) -> ({types}) {{\n"
        + "\n".join(lines)
        + f"\nreturn {', '.join(f'%{i}' for i in range(len(names)))} : {types}\n}}"
    )
    a, b = np.array([1, 2, 2, np.nan, 1], "f4"), np.array([2, 1, 2, 1, np.nan], "f4")
    none = np.isnan(a) | np.isnan(b)
    plain = [a == b, a > b, a >= b, a < b, a <= b, (a != b) & ~none, ~none]
    others = [one | none for one in plain[:6]]
    same(run(text, a, b), none & ~none, *plain, *others, none, none | ~none)


def test_more_arithmetic(run):
    text = """
    func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>, %x: tensor<3xf32>, %y: tensor<3xf32>)
        -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi1>, tensor<3xf32>, tensor<3xf32>,
            tensor<3xi32>) {
      %low, %high = arith.mului_extended %a, %b : tensor<3xi32>
      %sum, %over = arith.addui_extended %a, %b : tensor<3xi32>, tensor<3xi1>
      %m = arith.maxnumf %x, %y : tensor<3xf32>
      %t = math.trunc %x : tensor<3xf32>
      %u = arith.fptoui %y : tensor<3xf32> to tensor<3xi32>
      return %low, %high, %over, %m, %t, %u : tensor<3xi32>, tensor<3xi32>, tensor<3xi1>,
          tensor<3xf32>, tensor<3xf32>, tensor<3xi32>
    }"""
    a, b = np.array([-1, 5, 1 << 30], np.int32), np.array([-1, 7, 8], np.int32)
    x, y = np.array([-1.5, np.nan, 2.75], np.float32), np.array([1, 2, 3e9], np.float32)
    product = a.view(np.uint32).astype(np.uint64) * b.view(np.uint32).astype(np.uint64)
    total = a.view(np.uint32).astype(np.uint64) + b.view(np.uint32)
    same(
        run(text, a, b, x, y),
        product.astype(np.uint32).view(np.int32),
        (product >> np.uint64(32)).astype(np.uint32).view(np.int32),
        total >= 2**32,
        np.fmax(x, y),
        np.trunc(x),
        y.astype(np.uint32).view(np.int32),
    )
