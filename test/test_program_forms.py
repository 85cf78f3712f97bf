"""Forms of StableHLO that JAX doesn't write: tuples, old conditionals, programs that check
themselves, bytecode; and what is said of programs whose types don't fit."""

import numpy as np
import pytest
from mlir_programs import runner

import treadle


@pytest.fixture(params=["interpret", "jit"])
def run(request, tmp_path):
    return runner(tmp_path, tier=request.param, timeout=60)


def floats(*shape):
    return np.random.default_rng(9).standard_normal(shape).astype(np.float32)


# --- tuples --------------------------------------------------------------------------------------

PAIR = "tuple<tensor<i32>, tensor<2xf32>>"

LOOP_OF_A_TUPLE = f"""
func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> {PAIR} {{
  %t = "mhlo.tuple"(%n, %x) : (tensor<i32>, tensor<2xf32>) -> {PAIR}
  %w = "mhlo.while"(%t) ({{
  ^bb0(%s: {PAIR}):
    %i = "mhlo.get_tuple_element"(%s) {{index = 0 : i32}} : ({PAIR}) -> tensor<i32>
    %z = mhlo.constant dense<0> : tensor<i32>
    %p = "mhlo.compare"(%i, %z) {{comparison_direction = "GT"}} :
        (tensor<i32>, tensor<i32>) -> tensor<i1>
    "mhlo.return"(%p) : (tensor<i1>) -> ()
  }}, {{
  ^bb0(%s: {PAIR}):
    %next = func.call @step(%s) : ({PAIR}) -> {PAIR}
    "mhlo.return"(%next) : ({PAIR}) -> ()
  }}) : ({PAIR}) -> {PAIR}
  return %w : {PAIR}
}}
func.func private @step(%s: {PAIR}) -> {PAIR} {{
  %i = mhlo.get_tuple_element %s[0] : ({PAIR}) -> tensor<i32>
  %x = mhlo.get_tuple_element %s[1] : ({PAIR}) -> tensor<2xf32>
  %one = mhlo.constant dense<1> : tensor<i32>
  %j = mhlo.subtract %i, %one : tensor<i32>
  %y = mhlo.add %x, %x : tensor<2xf32>
  %r = mhlo.tuple %j, %y : {PAIR}
  return %r : {PAIR}
}}
"""


@pytest.mark.parametrize("n", [0, 3])
def test_loop_of_a_tuple(run, n):
    x = floats(2)
    i, y = run(LOOP_OF_A_TUPLE, np.int32(n), x)
    assert i == 0
    np.testing.assert_array_equal(y, x * 2**n)


def test_tuple_of_tuples(run):
    inner, outer = (
        "tuple<tensor<f32>, tensor<i32>>",
        "tuple<tuple<tensor<f32>, tensor<i32>>, tensor<f32>>",
    )
    text = f"""
    func.func @main(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>) -> (tensor<f32>, {inner}) {{
      %t = stablehlo.tuple %a, %b : {inner}
      %u = stablehlo.tuple %t, %c : {outer}
      %x = stablehlo.get_tuple_element %u[1] : ({outer}) -> tensor<f32>
      %y = stablehlo.get_tuple_element %u[0] : ({outer}) -> {inner}
      return %x, %y : tensor<f32>, {inner}
    }}"""  # fmt: skip
    got = run(text, np.float32(1.5), np.int32(7), np.float32(2.5))
    assert [value.item() for value in got] == [2.5, 1.5, 7]


def test_element_that_a_tuple_has_not(run):
    text = LOOP_OF_A_TUPLE.replace("%s[1]", "%s[2]")
    with pytest.raises(treadle.InvalidArgumentError, match="line 20, column 8: .*index is 2, but"):
        run(text, np.int32(1), floats(2))


# --- old conditionals ----------------------------------------------------------------------------


@pytest.mark.parametrize("flag", [False, True])
def test_conditional_that_hands_its_operands_to_its_branches(run, flag):
    text = """
    func.func @main(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %r = "mhlo.if"(%p, %a, %b) ({
      ^bb0(%x: tensor<2xf32>):
        "mhlo.return"(%x) : (tensor<2xf32>) -> ()
      }, {
      ^bb0(%x: tensor<2xf32>):
        %n = mhlo.negate %x : tensor<2xf32>
        "mhlo.return"(%n) : (tensor<2xf32>) -> ()
      }) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    a, b = floats(2), floats(2) + 3
    [got] = run(text, np.bool_(flag), a, b)
    np.testing.assert_array_equal(got, a if flag else -b)


# --- functions of scalars ------------------------------------------------------------------------

SCATTER = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xi32>, %u: tensor<3xf32>, %v: tensor<3xi32>)
    -> (tensor<4xf32>, tensor<4xi32>) {{
  %i = stablehlo.constant dense<[[0], [2], [0]]> : tensor<3x1xi32>
  %r:2 = "stablehlo.scatter"(%a, %b, %i, %u, %v) <{{scatter_dimension_numbers =
      #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
          index_vector_dim = 1>}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<i32>, %p: tensor<f32>, %q: tensor<i32>):
    %s = stablehlo.add %x, %p : tensor<f32>
    {}
    stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }}) : (tensor<4xf32>, tensor<4xi32>, tensor<3x1xi32>, tensor<3xf32>, tensor<3xi32>)
      -> (tensor<4xf32>, tensor<4xi32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
}}
"""


def test_scatter_of_several_inputs(run):
    a, b = floats(4), np.array([4, 3, 2, 1], np.int32)
    u, v = floats(3) + 1, np.array([9, 1, 5], np.int32)
    added, most = a.copy(), b.copy()
    np.add.at(added, [0, 2, 0], u)
    np.maximum.at(most, [0, 2, 0], v)
    got = run(SCATTER.format("%t = stablehlo.maximum %y, %q : tensor<i32>"), a, b, u, v)
    np.testing.assert_allclose(got[0], added, rtol=1e-6)
    np.testing.assert_array_equal(got[1], most)


def test_scatter_that_joins_its_inputs(run):
    a, u = floats(4), floats(3) + 1
    added, before = a.copy(), np.zeros(4, np.int32)
    for place, update in zip([0, 2, 0], u, strict=True):
        before[place] = np.int32(added[place])
        added[place] += update
    line = "%t = stablehlo.convert %x : (tensor<f32>) -> tensor<i32>"
    got = run(SCATTER.format(line), a, np.zeros(4, "i4"), u, np.zeros(3, "i4"))
    np.testing.assert_allclose(got[0], added, rtol=1e-6)
    np.testing.assert_array_equal(got[1], before)


def test_map_by_a_function_that_uses_a_value_from_outside(run):
    text = """
    func.func @main(%a: tensor<3xf32>, %s: tensor<f32>) -> tensor<3xf32> {
      %r = "stablehlo.map"(%a) ({
      ^bb0(%x: tensor<f32>):
        %y = stablehlo.multiply %x, %s : tensor<f32>
        stablehlo.return %y : tensor<f32>
      }) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3xf32>
      return %r : tensor<3xf32>
    }"""
    a = floats(3)
    np.testing.assert_array_equal(run(text, a, np.float32(3))[0], a * np.float32(3))


def test_reduction_by_a_function_that_uses_a_value_from_outside(run):
    text = """
    func.func @main(%a: tensor<2x5xf32>, %s: tensor<f32>) -> (tensor<2xf32>, tensor<2x3xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %twice = stablehlo.add %s, %s : tensor<f32>
      %r = stablehlo.reduce(%a init: %zero) across dimensions = [1] :
          (tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>
        reducer(%x: tensor<f32>, %y: tensor<f32>) {
          %m = stablehlo.maximum %x, %y : tensor<f32>
          %c = stablehlo.minimum %m, %twice : tensor<f32>
          stablehlo.return %c : tensor<f32>
        }
      %w = "stablehlo.reduce_window"(%a, %zero) ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %m = stablehlo.maximum %x, %y : tensor<f32>
          %c = stablehlo.minimum %m, %s : tensor<f32>
          stablehlo.return %c : tensor<f32>
      }) {window_dimensions = array<i64: 1, 3>} :
          (tensor<2x5xf32>, tensor<f32>) -> tensor<2x3xf32>
      return %r, %w : tensor<2xf32>, tensor<2x3xf32>
    }"""
    a, s = 2 * floats(2, 5), np.float32(0.5)
    windows = np.stack([a[:, i : i + 3].max(1) for i in range(3)], 1)
    got = run(text, a, s)
    np.testing.assert_array_equal(got[0], np.clip(a.max(1), 0, 2 * s))
    np.testing.assert_array_equal(got[1], np.clip(windows, 0, s))


def test_sort_by_a_function_that_uses_a_value_from_outside(run):
    text = """
    func.func @main(%a: tensor<6xf32>, %s: tensor<f32>) -> tensor<6xf32> {
      %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %0 = stablehlo.multiply %x, %s : tensor<f32>
        %1 = stablehlo.multiply %y, %s : tensor<f32>
        %2 = stablehlo.compare LT, %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      }) : (tensor<6xf32>) -> tensor<6xf32>
      return %r : tensor<6xf32>
    }"""
    a = floats(6)
    np.testing.assert_array_equal(run(text, a, np.float32(2))[0], np.sort(a))
    np.testing.assert_array_equal(run(text, a, np.float32(-2))[0], np.sort(a)[::-1])


def test_first_rows_by_a_computed_size(run):
    text = """
    func.func @main(%a: tensor<4x2xf32>, %n: tensor<i32>)
        -> tensor<?x2xf32, #stablehlo.bounds<4, ?>> {
      %r = stablehlo.set_dimension_size %a, %n, dim = 0 :
          (tensor<4x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<4, ?>>
      return %r : tensor<?x2xf32, #stablehlo.bounds<4, ?>>
    }"""
    a = floats(4, 2)
    np.testing.assert_array_equal(run(text, a, np.int32(3))[0], a[:3])


def test_integers_of_four_bits(run):
    text = """
    func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi4>
      %1 = stablehlo.convert %0 : (tensor<4xi4>) -> tensor<4xf32>
      %2 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xui4>
      %3 = stablehlo.convert %2 : (tensor<4xui4>) -> tensor<4xf32>
      return %1, %3 : tensor<4xf32>, tensor<4xf32>
    }"""
    signed, unsigned = run(text, np.array([-3, 0, 5.5, 7], np.float32))
    assert signed.tolist() == [-3, 0, 5, 7] and unsigned.tolist()[1:] == [0, 5, 7]


def test_constants_of_four_bits(run):
    text = """
    func.func @main() -> (tensor<3xf32>, tensor<3xf32>, tensor<2xi32>) {
      %0 = stablehlo.constant dense<[-3, 7, -8]> : tensor<3xi4>
      %1 = stablehlo.convert %0 : (tensor<3xi4>) -> tensor<3xf32>
      %2 = stablehlo.constant dense<[15, 7, 0]> : tensor<3xui4>
      %3 = stablehlo.convert %2 : (tensor<3xui4>) -> tensor<3xf32>
      %4 = stablehlo.constant dense<-1> : tensor<2xi4>
      %5 = stablehlo.convert %4 : (tensor<2xi4>) -> tensor<2xi32>
      return %1, %3, %5 : tensor<3xf32>, tensor<3xf32>, tensor<2xi32>
    }"""
    assert [value.tolist() for value in run(text)] == [[-3, 7, -8], [15, 7, 0], [-1, -1]]


# --- programs that check themselves --------------------------------------------------------------

CHECKED = """
func.func @main() {{
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.add %a, %a : tensor<2xf32>
  {}
  func.return
}}
"""

HOLD = [
    "check.expect_eq_const %b, dense<[2.0, 4.0]> : tensor<2xf32>",
    "check.expect_eq %b, %b : tensor<2xf32>",
    "check.expect_almost_eq_const %b, dense<[2.00001, 4.0]> : tensor<2xf32>",
    "check.expect_almost_eq %a, %b, tolerance = 2.5 : tensor<2xf32>",
    "check.expect_close %b, %b, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>",
    '"check.expect_eq"(%b, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()',
    "stablehlo.custom_call @check.expect_close(%b, %b) {has_side_effect = true} : "
    "(tensor<2xf32>, tensor<2xf32>) -> ()",
]
FAIL = [
    "check.expect_eq_const %b, dense<[2.0, 5.0]> : tensor<2xf32>",
    "check.expect_eq %a, %b : tensor<2xf32>",
    "check.expect_almost_eq_const %b, dense<[2.001, 4.0]> : tensor<2xf32>",
    "check.expect_almost_eq %a, %b, tolerance = 1.5 : tensor<2xf32>",
    "check.expect_close %a, %b : tensor<2xf32>, tensor<2xf32>",
    "stablehlo.custom_call @check.expect_eq(%a, %b) {has_side_effect = true} : "
    "(tensor<2xf32>, tensor<2xf32>) -> ()",
]


@pytest.mark.parametrize("check", HOLD)
def test_check_that_holds(run, check):
    assert run(CHECKED.format(check)) == [True]


@pytest.mark.parametrize("check", FAIL)
def test_check_that_does_not_hold(run, check):
    with pytest.raises(treadle.InvalidArgumentError, match="check.expect_.* does not hold"):
        run(CHECKED.format(check))


def test_distance_of_floats_is_counted_in_floats(run):
    text = """
    func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      check.expect_close %a, %b, max_ulp_difference = 2 : tensor<2xf32>, tensor<2xf32>
      return %a : tensor<2xf32>
    }"""
    step = np.nextafter(np.float32(0), np.float32(1))
    a = np.array([-step, np.nan], np.float32)  # two floats below the smallest one above 0
    run(text, a, np.array([step, np.nan], np.float32))
    with pytest.raises(treadle.InvalidArgumentError, match="expect_close does not hold"):
        run(text, a, np.array([2 * step, np.nan], np.float32))


def test_denormal_numbers_differ_from_zero(run):
    text = """
    func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      check.expect_eq %a, %b : tensor<2xf32>
      return %a : tensor<2xf32>
    }"""
    a = np.array([1e-40, np.nan], np.float32)
    run(text, a, a)
    run(text, np.float32([0, 1]), np.float32([-0.0, 1]))
    with pytest.raises(treadle.InvalidArgumentError, match="expect_eq does not hold"):
        run(text, a, np.array([0, np.nan], np.float32))


def test_call_that_checks_whether_two_are_equal(run):
    text = """
    func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<i1> {
      %r = stablehlo.custom_call @check.eq(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
      return %r : tensor<i1>
    }"""
    a = np.array([1, 2], np.int32)
    assert run(text, a, a) == [True]
    with pytest.raises(treadle.InvalidArgumentError, match="check.eq does not hold"):
        run(text, a, a[::-1].copy())


def test_assertions_between_branches(run):
    text = """
    func.func @main(%p: i1, %a: tensor<f32>) -> tensor<f32> {
      cf.assert %p, "sizes must agree"
      return %a : tensor<f32>
    }"""
    assert run(text, np.bool_(True), np.float32(2)) == [2]
    with pytest.raises(treadle.InvalidArgumentError, match="sizes must agree"):
        run(text, np.bool_(False), np.float32(2))


# --- errors of invalid programs --------------------------------------------------


def program(line, arguments, result):
    head = ", ".join(f"%{chr(97 + i)}: tensor<{t}>" for i, t in enumerate(arguments))
    return (
        f"func.func @main({head}) -> tensor<{result}> {{\n  {line}\n"
        f"  return %r : tensor<{result}>\n}}\n"
    )


GROUPED = (
    "%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
    "window = {{}} "
    "{{batch_group_count = {} : i64, feature_group_count = {} : i64}} "
    ": (tensor<2x4x4x2xf32>, tensor<1x1x2x4xf32>) -> tensor<2x4x4x4xf32>"
)
WRONG = {
    "groups_that_do_not_divide": (
        GROUPED.format(99999999, 1),
        ["2x4x4x2xf32", "1x1x2x4xf32"],
        "2x4x4x4xf32",
        "2 inputs of a batch can't be divided evenly into 99999999 groups",
    ),
    "groups_of_both_kinds": (
        GROUPED.format(2, 2),
        ["2x4x4x2xf32", "1x1x2x4xf32"],
        "2x4x4x4xf32",
        "feature_group_count is 2 and batch_group_count 2, expected one of them to be 1",
    ),
    "convolution_whose_dimensions_are_named_twice": (
        GROUPED.format(1, 1).replace("[0, 1, i, o]", "[0, 0, i, o]"),
        ["2x4x4x2xf32", "1x1x2x4xf32"],
        "2x4x4x4xf32",
        "its dimension_numbers of the filter don't name each dimension of 'tensor<1x1x2x4xf32>'",
    ),
    "convolution_of_another_rank": (
        GROUPED.format(1, 1).replace("(tensor<2x4x4x2xf32>", "(tensor<2x4x8xf32>"),
        ["2x4x8xf32", "1x1x2x4xf32"],
        "2x4x4x4xf32",
        "ranks of input, filter and result differ: 'tensor<2x4x8xf32>'",
    ),
    "window_of_too_few_strides": (
        GROUPED.format(1, 1).replace("{}", "{stride = [1]}"),
        ["2x4x4x2xf32", "1x1x2x4xf32"],
        "2x4x4x4xf32",
        "window_strides has 1 numbers, expected 2",
    ),
    "broadcast_to_a_dimension_that_is_not_there": (
        "%r = stablehlo.dynamic_broadcast_in_dim %a, %b, dims = [2] "
        ": (tensor<2xf32>, tensor<2xi32>) -> tensor<?x2xf32>",
        ["2xf32", "2xi32"],
        "?x2xf32",
        "an element of broadcast_dimensions is 2, expected one of 2 dimensions",
    ),
    "broadcast_without_dimensions": (
        "%r = stablehlo.dynamic_broadcast_in_dim %a, %b, dims = [] "
        ": (tensor<2xf32>, tensor<2xi32>) -> tensor<?x2xf32>",
        ["2xf32", "2xi32"],
        "?x2xf32",
        "broadcast_dimensions has 0 numbers, expected 1",
    ),
    "operands_of_two_types": (
        '%r = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>',
        ["2xf32", "2xi32"],
        "2xf32",
        "'stablehlo.add' op operand 1 is 'tensor<2xi32>', but operand 0 is 'tensor<2xf32>'",
    ),
    "operands_of_two_shapes": (
        '%r = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>',
        ["2xf32", "3xf32"],
        "2xf32",
        "operand 1 is 'tensor<3xf32>', but operand 0 is 'tensor<2xf32>'",
    ),
    "too_few_operands": (
        '%r = "stablehlo.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>',
        ["2xf32"],
        "2xf32",
        "expected 2 operands, but found 1",
    ),
    "result_of_another_shape": (
        "%r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        ["2x3xf32"],
        "2x3xf32",
        "its result is 'tensor<2x3xf32>', expected 'tensor<3x2xf32>'",
    ),
    "attribute_that_is_missing": (
        '%r = "stablehlo.transpose"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>',
        ["2x3xf32"],
        "3x2xf32",
        "requires attribute 'permutation'",
    ),
    "elements_that_are_lost": (
        "%r = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<7xf32>",
        ["2x3xf32"],
        "7xf32",
        "'tensor<2x3xf32>' has 6 elements, but its result 'tensor<7xf32>' 7",
    ),
    "slice_outside": (
        "%r = stablehlo.slice %a [1:9] : (tensor<3xf32>) -> tensor<8xf32>",
        ["3xf32"],
        "8xf32",
        r"\[1:9:1\] is out of bounds of dimension 0 of 'tensor<3xf32>'",
    ),
    "broadcast_to_another_size": (
        "%r = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2xf32>) -> tensor<2x3xf32>",
        ["2xf32"],
        "2x3xf32",
        "dimension 0 of 'tensor<2xf32>' must be 1 or",
    ),
    "pieces_that_differ": (
        "%r = stablehlo.concatenate %a, %b, dim = 0 : "
        "(tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>",
        ["2x3xf32", "2x4xf32"],
        "4x3xf32",
        "differ in more than dimension 0",
    ),
    "matrices_that_do_not_fit": (
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
        "(tensor<2x3xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>",
        ["2x3xf32", "4x2xf32"],
        "2x2xf32",
        "dimension 1 of 'tensor<2x3xf32>' and dimension 0 of 'tensor<4x2xf32>' have "
        "different sizes",
    ),
    "loop_that_changes_types": (
        '%r = "stablehlo.while"(%a) ({\n^bb0(%x: tensor<f32>):\n'
        "%p = stablehlo.constant dense<false> : tensor<i1>\n"
        "stablehlo.return %p : tensor<i1>\n}, {\n^bb0(%x: tensor<f32>):\n"
        "%y = stablehlo.convert %x : (tensor<f32>) -> tensor<i32>\n"
        "stablehlo.return %y : tensor<i32>\n}) : (tensor<f32>) -> tensor<f32>",
        ["f32"],
        "f32",
        "its body returns .*tensor<i32>.*expected .*tensor<f32>",
    ),
    "branch_that_gives_another_type": (
        '%r = "stablehlo.if"(%b) ({\nstablehlo.return %a : tensor<f32>\n}, {\n'
        "stablehlo.return %b : tensor<i1>\n}) : (tensor<i1>) -> tensor<f32>",
        ["f32", "i1"],
        "f32",
        "a branch returns .*tensor<i1>.*expected .*tensor<f32>",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_types_are_checked_where_the_program_is_wrong(run, name):
    line, arguments, result, words = WRONG[name]
    with pytest.raises(treadle.InvalidArgumentError, match=f"line 2, column 8: .*{words}"):
        run(program(line, arguments, result))


UNKNOWN = ["%r = foo.bar %a : tensor<f32>", '%r = "foo.bar"(%a) : (tensor<f32>) -> tensor<f32>']


@pytest.mark.parametrize("line", UNKNOWN)
def test_ops_of_unknown_dialects_are_named(run, line):
    with pytest.raises(treadle.UnimplementedError, match="line 2.*foo.bar is not supported"):
        run(program(line, ["f32"], "f32"))


# Ops without a definition, whose attributes can't be read by name.
@pytest.mark.parametrize(
    "name",
    [
        "check.bitcast_convert",
        "chlo.reduce",
        "foo.infeed",
        "foo.uniform_quantize",
        "stablehlo.erf",
        "stablehlo.scan",
    ],
)
def test_ops_of_no_dialect_that_has_them_are_named(run, name):
    line = f"""%q = "{name}"() : () -> tensor<!quant.uniform<i8:f32, 1.0>>
      %r = stablehlo.abs %a : tensor<f8E4M3FN>"""
    with pytest.raises(treadle.UnimplementedError, match=f"line 2.*{name} is not supported"):
        run(program(line, ["f8E4M3FN"], "f8E4M3FN"))


@pytest.mark.parametrize("target", ["Sharding", "shape_assertion"])
def test_custom_calls_of_nothing_are_named(run, target):
    line = f"%r = stablehlo.custom_call @{target}() : () -> tensor<2xf32>"
    with pytest.raises(
        treadle.UnimplementedError, match=f"line 2.*custom_call @{target} (of|without)"
    ):
        run(program(line, ["2xf32"], "2xf32"))


def test_functions_give_what_their_types_say(run):
    text = """func.func @main(%a: tensor<f32>) -> tensor<f32> {
      %r:2 = call @f(%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
      return %r#1 : tensor<f32>
    }
    func.func private @f(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
      stablehlo.return %a : tensor<f32>
    }"""
    words = (
        r"line 6.*it returns \('tensor<f32>'\), but its function \('tensor<f32>', 'tensor<f32>'\)"
    )
    with pytest.raises(treadle.InvalidArgumentError, match=words):
        run(text)


# chlo ops are composed of ops that are checked too.
def test_dimensions_of_broadcasts_are_those_of_the_result(run):
    line = """%r = "chlo.broadcast_add"(%a, %b) {broadcast_dimensions = array<i64: -1000>}
      : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>"""
    words = "line 2.*an element of broadcast_dimensions is -1000, expected one of 2 dimensions"
    with pytest.raises(treadle.InvalidArgumentError, match=words):
        run(program(line, ["2x3xf32", "2xf32"], "2x3xf32"))


def test_values_are_used_after_they_are_defined(run):
    line = """%r = "stablehlo.map"(%a) ({
    ^bb0(%x: tensor<f32>):
      %y = stablehlo.add %x, %z : tensor<f32>
      %z = stablehlo.abs %x : tensor<f32>
      stablehlo.return %y : tensor<f32>
    }) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3xf32>"""
    words = "line 4.*operand #1 does not dominate this use"
    with pytest.raises(treadle.InvalidArgumentError, match=words):
        run(program(line, ["3xf32"], "3xf32"))


def test_types_without_values_are_named(run):
    line = "%r = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xf8E3M4>"
    with pytest.raises(treadle.UnimplementedError, match="line 2.*tensor<2xf8E3M4>"):
        run(program(line, ["2xf32"], "2xf8E3M4"))


@pytest.mark.parametrize("name", ["program.mlir", "program.mlirbc", "program.pb", "saved_model.pb"])
def test_bytecode_is_told_by_its_content(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"ML\xefR\x0dStableHLO_v1.15.0\0\x01\x1f")
    words = f"{name}: the bytecode is corrupted at byte 25: expected 15 bytes, but 0 are left"
    with pytest.raises(treadle.InvalidArgumentError, match=words):
        treadle.load(path)


def test_bytecode_within_another_file_is_told(tmp_path):
    path = tmp_path / "program.jax"
    path.write_bytes(b"\x18\0\0\0ML\xefR\x0dStableHLO_v1.15.0\0\x01\x1f")
    words = "it contains MLIR bytecode of StableHLO_v1.15.0, but doesn't begin with it"
    with pytest.raises(treadle.UnimplementedError, match=words):
        treadle.load(path)
