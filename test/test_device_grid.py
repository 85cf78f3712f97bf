"""Programs of StableHLO for several devices: a session for each, in one process."""

import numpy as np
import pytest
from mlir_programs import function, run_grid, same

import treadle


def values_of(count, *shape, dtype=np.int32):
    rng = np.random.default_rng(11)
    return [[rng.integers(0, 100, shape).astype(dtype)] for _ in range(count)]


def test_each_device_knows_its_place(tmp_path):
    body = """
    %p = stablehlo.partition_id : tensor<ui32>
    %q = stablehlo.replica_id : tensor<ui32>
    %ten = stablehlo.constant dense<10> : tensor<ui32>
    %t = stablehlo.multiply %q, %ten : tensor<ui32>
    %r = stablehlo.add %t, %p : tensor<ui32>"""
    got = run_grid(tmp_path, function(body, [], ["ui32"]), [[]] * 6, replicas=2, partitions=3)
    assert [int(x) for x in got] == [0, 1, 2, 10, 11, 12]


ADD = """({
    ^bb0(%x: tensor<TYPE>, %y: tensor<TYPE>):
      %s = stablehlo.OP %x, %y : tensor<TYPE>
      stablehlo.return %s : tensor<TYPE>
    })"""


def reducer(op, element):
    return ADD.replace("OP", op).replace("TYPE", element)


@pytest.mark.parametrize(
    ("attributes", "groups"),
    [
        ("replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", [[0, 2], [1, 3]]),
        (
            "replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, "
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>",
            [[2, 0, 3, 1]],
        ),
        (
            "replica_groups = dense<[[0, 3], [2, 1]]> : tensor<2x2xi64>, "
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, "
            "use_global_device_ids",
            [[0, 3], [2, 1]],
        ),
    ],
)
def test_groups_by_replicas_and_by_devices(tmp_path, attributes, groups):
    """Groups in a grid of two replicas by two partitions."""
    values = values_of(4, 2, 3)
    size = len(groups[0])
    row_of = {rank: group for group in groups for rank in group}
    gather = f"""
    %r = "stablehlo.all_gather"(%a) {{all_gather_dim = 1 : i64, {attributes}}}
      : (tensor<2x3xi32>) -> tensor<2x{3 * size}xi32>"""
    got = run_grid(tmp_path, function(gather, ["2x3xi32"], [f"2x{3 * size}xi32"]), values, 2, 2)
    same(got, *(np.concatenate([values[i][0] for i in row_of[r]], 1) for r in range(4)))
    reduce = f"""
    %r = "stablehlo.all_reduce"(%a) {reducer("add", "i32")} {{{attributes}}}
      : (tensor<2x3xi32>) -> tensor<2x3xi32>"""
    got = run_grid(tmp_path, function(reduce, ["2x3xi32"], ["2x3xi32"]), values, 2, 2)
    same(got, *(sum(values[i][0] for i in row_of[r]) for r in range(4)))


def test_any_function_reduces(tmp_path):
    """One that the communicator doesn't know, of bools."""
    values = values_of(3, 8, dtype=np.bool_)
    body = f"""
    %r = "stablehlo.all_reduce"(%a) {reducer("xor", "i1")} {{
      replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}} : (tensor<8xi1>) -> tensor<8xi1>"""
    got = run_grid(tmp_path, function(body, ["8xi1"], ["8xi1"]), values, replicas=3)
    same(got, *[values[0][0] ^ values[1][0] ^ values[2][0]] * 3)


def test_each_gets_its_part_of_a_sum(tmp_path):
    values = values_of(2, 3, 4)
    body = f"""
    %r = "stablehlo.reduce_scatter"(%a) {reducer("add", "i32")} {{scatter_dimension = 1 : i64,
      replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}} : (tensor<3x4xi32>) -> tensor<3x2xi32>"""
    got = run_grid(tmp_path, function(body, ["3x4xi32"], ["3x2xi32"]), values, replicas=2)
    total = values[0][0] + values[1][0]
    same(got, total[:, 2:], total[:, :2])


def test_pieces_change_places(tmp_path):
    values = values_of(3, 6, 2)
    body = """
    %r = "stablehlo.all_to_all"(%a) {split_dimension = 0 : i64, concat_dimension = 1 : i64,
      split_count = 3 : i64, replica_groups = dense<[[2, 0, 1]]> : tensor<1x3xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}
      : (tensor<6x2xi32>) -> tensor<2x6xi32>"""
    got = run_grid(tmp_path, function(body, ["6x2xi32"], ["2x6xi32"]), values, partitions=3)
    order = [2, 0, 1]
    pieces = [np.split(value, 3) for (value,) in values]
    same(got, *(np.concatenate([pieces[i][order.index(r)] for i in order], 1) for r in range(3)))


def test_values_go_round_in_a_loop(tmp_path):
    values = [[np.float32([rank])] for rank in range(3)]
    body = """
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %n, %r = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<1xf32>
    cond {
      %c = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %y = "stablehlo.collective_permute"(%x) {
        source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>
      } : (tensor<1xf32>) -> tensor<1xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %y : tensor<i32>, tensor<1xf32>
    }"""
    got = run_grid(tmp_path, function(body, ["1xf32"], ["1xf32"]), values, replicas=3)
    same(got, np.float32([1]), np.float32([2]), np.float32([0]))


def test_who_is_in_no_group_gets_zeros(tmp_path):
    values = values_of(3, 2)
    body = """
    %r = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>}
      : (tensor<2xi32>) -> tensor<2xi32>"""
    got = run_grid(tmp_path, function(body, ["2xi32"], ["2xi32"]), values, replicas=3)
    same(got, values[2][0], np.zeros(2, np.int32), values[2][0])


GATHER = """
%r = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<GROUPS>}
  : (tensor<2xi32>) -> tensor<4xi32>"""


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("[[0, 2]]> : tensor<1x2xi64", "don't contain all devices from 0 on"),
        ("[[0, 0]]> : tensor<1x2xi64", "have 0 twice"),
        ("[[0]]> : tensor<1x1xi64", "hold 1 of the program's 2 devices"),
        ("[0, 1]> : tensor<2xi64", "expected a matrix"),
    ],
)
def test_groups_that_do_not_fit(tmp_path, groups, message):
    text = function(GATHER.replace("GROUPS", groups), ["2xi32"], ["4xi32"])
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        run_grid(tmp_path, text, values_of(2, 2), replicas=2)


def test_a_program_for_two_devices_needs_two(tmp_path):
    text = function(GATHER.replace("GROUPS", "[[0, 1]]> : tensor<1x2xi64"), ["2xi32"], ["4xi32"])
    path = tmp_path / "alone.mlir"
    path.write_text(f"module attributes {{mhlo.num_partitions = 2 : i32}} {{\n{text}}}\n")
    with pytest.raises(treadle.InvalidArgumentError, match="name 1, expected numbers"):
        treadle.load(path)  # the groups are of replicas
    path.write_text(f"module attributes {{mhlo.num_replicas = 2 : i32}} {{\n{text}}}\n")
    with pytest.raises(treadle.InvalidArgumentError, match="run it on as many processes"):
        treadle.load(path).signatures["main"](np.int32([1, 2]))


def test_own_parts_are_wholes_on_one_device(tmp_path):
    path = tmp_path / "manual.mlir"
    path.write_text("""
module {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>]
        out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
      %c = stablehlo.add %b, %a : tensor<2xf32>
      sdy.return %c : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    %n = sdy.named_computation<"half">(%r) (%d: tensor<2xf32>) {
      %e = stablehlo.negate %d : tensor<2xf32>
      sdy.return %e : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    return %n : tensor<2xf32>
  }
}
""")
    (got,) = treadle.load(path).signatures["main"](np.float32([1, 2])).values()
    np.testing.assert_array_equal(got, [-2, -4])


def test_devices_compute_with_their_own_parts(tmp_path):
    whole = np.arange(6, dtype=np.float32).reshape(3, 2)
    text = """
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<3x2xf32>) -> tensor<3x2xf32> {
    %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {"x"}]>]
        out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%b: tensor<3x1xf32>) {
      %p = stablehlo.partition_id : tensor<ui32>
      %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
      %c = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
      %d = stablehlo.multiply %b, %c : tensor<3x1xf32>
      sdy.return %d : tensor<3x1xf32>
    } : (tensor<3x2xf32>) -> tensor<3x2xf32>
    return %r : tensor<3x2xf32>
  }
"""
    for got in run_grid(tmp_path, text, [[whole], [whole]], partitions=2):
        np.testing.assert_array_equal(got, whole * np.float32([0, 1]))


@pytest.mark.parametrize(
    ("sharding", "message"),
    [
        ('<@mesh, [{"x":(1)2}]>', "a sharding along a part of the axis 'x'"),
        ('<@mesh, [{}], unreduced={"x"}>', "unreduced axes"),
        ('<@mesh, [{"y"}]>', "names an axis that its mesh doesn't have"),
        ('<@other, [{"x"}]>', "refers to an undefined mesh"),
    ],
)
def test_shardings_that_are_not_known(tmp_path, sharding, message):
    text = f"""
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{
    %r = sdy.manual_computation(%a) in_shardings=[{sharding}]
        out_shardings=[<@mesh, [{{"x"}}]>] manual_axes={{"x"}} (%b: tensor<1xf32>) {{
      sdy.return %b : tensor<1xf32>
    }} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }}
"""
    with pytest.raises(treadle.Error, match=message):
        run_grid(tmp_path, text, [[np.float32([1, 2])]] * 2, partitions=2)


def test_what_is_started_is_waited_for(tmp_path):
    body = """
    %f = "stablehlo.async_start"(%a) ({
    ^bb0(%b: tensor<2xi32>):
      %s = "stablehlo.all_reduce"(%b) ({
      ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %z = stablehlo.add %x, %y : tensor<i32>
        stablehlo.return %z : tensor<i32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
      stablehlo.return %s : tensor<2xi32>
    }) : (tensor<2xi32>) -> !stablehlo.future<tensor<2xi32>>
    %m = stablehlo.multiply %a, %a : tensor<2xi32>
    %d = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xi32>>) -> tensor<2xi32>
    %r = stablehlo.add %d, %m : tensor<2xi32>"""
    values = values_of(2, 2)
    got = run_grid(tmp_path, function(body, ["2xi32"], ["2xi32"]), values, replicas=2)
    whole = values[0][0] + values[1][0]
    same(got, whole + values[0][0] ** 2, whole + values[1][0] ** 2)
