"""Arithmetic on constants is folded when a request is planned, so compiled code contains none."""

import numpy as np
import pytest

import treadle

MASKED = """
module {
  func.func @main(%x: tensor<5x13xf32>) -> tensor<5x13xf32> {
    %i = stablehlo.iota dim = 0 : tensor<13xi32>
    %c = stablehlo.constant dense<3> : tensor<13xi32>
    %r = stablehlo.remainder %i, %c : tensor<13xi32>
    %one = stablehlo.constant dense<1> : tensor<13xi32>
    %m = stablehlo.compare EQ, %r, %one, SIGNED : (tensor<13xi32>, tensor<13xi32>) -> tensor<13xi1>
    %a = stablehlo.constant dense<2.0> : tensor<13xf32>
    %b = stablehlo.constant dense<0.5> : tensor<13xf32>
    %s = stablehlo.select %m, %a, %b : tensor<13xi1>, tensor<13xf32>
    %f = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<13xf32>) -> tensor<5x13xf32>
    %0 = stablehlo.multiply %x, %f : tensor<5x13xf32>
    %1 = stablehlo.add %0, %x : tensor<5x13xf32>
    %2 = stablehlo.tanh %1 : tensor<5x13xf32>
    %3 = stablehlo.multiply %2, %f : tensor<5x13xf32>
    %4 = stablehlo.subtract %3, %x : tensor<5x13xf32>
    return %4 : tensor<5x13xf32>
  }
}
"""


def graph(text):
    return treadle.Graph.from_bytes(text.encode())


def ops_of_first_run(text, feeds, fetch="result:0"):
    """The ops that the first run interprets, also those in clusters."""
    session = treadle.Session(graph(text), trace=True, threads=1, tier="auto")
    session.run(fetch, feeds)
    return {row.op for row in session.profile().nodes if row.calls}


def test_arithmetic_on_constants_is_folded_before_the_first_run():
    x = np.linspace(-1, 1, 65, dtype=np.float32).reshape(5, 13)
    found = ops_of_first_run(MASKED, {"arg0:0": x})
    assert {"Tanh", "Mul", "Sub"} <= found
    assert not found & {"Range", "TruncateDiv", "Equal", "SelectV2", "Reshape"}

    values = [
        treadle.Session(graph(MASKED), tier=tier).run("result:0", {"arg0:0": x})
        for tier in ("jit", "interpret")
    ]
    factor = np.where(np.arange(13) % 3 == 1, np.float32(2), np.float32(0.5))
    np.testing.assert_allclose(values[0], np.tanh(x * factor + x) * factor - x, rtol=1e-5)
    np.testing.assert_allclose(*values, rtol=1e-5)


def test_explanations_show_the_folded_graph():
    (cluster,) = graph(MASKED).explain().clusters
    assert {node.op for node in cluster.nodes} == {"Mul", "AddV2", "Tanh", "Sub"}


def test_large_results_are_left_to_the_runs():
    text = """
module {
  func.func @main(%x: tensor<f32>, %y: tensor<i32>) -> (tensor<SIZExf32>, tensor<SIZExi32>) {
    %i = stablehlo.iota dim = 0 : tensor<SIZExf32>
    %e = stablehlo.sine %i : tensor<SIZExf32>
    %s = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<SIZExf32>
    %p = stablehlo.multiply %e, %s : tensor<SIZExf32>
    %j = stablehlo.iota dim = 0 : tensor<SIZExi32>
    %t = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<i32>) -> tensor<SIZExi32>
    %q = stablehlo.add %j, %t : tensor<SIZExi32>
    return %p, %q : tensor<SIZExf32>, tensor<SIZExi32>
  }
}
"""
    feeds = {"arg0:0": np.float32(2), "arg1:0": np.int32(3)}
    small, medium, large = (
        ops_of_first_run(text.replace("SIZE", size), feeds, ["result_0:0", "result_1:0"])
        for size in ("16", "1000", "100000")
    )
    assert not small & {"Range", "Sin"}
    assert not medium & {"Range", "Sin"}
    assert {"Range", "Sin"} <= large


def test_a_node_that_fails_reports_its_error_in_the_run():
    bad = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %0 = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)
  %a, %1 = Const name("a") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %z, %2 = Const name("z") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %d, %3 = FloorDiv(%a, %z) name("d") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
}
"""
    session = treadle.Session(graph(bad))
    with pytest.raises(treadle.InvalidArgumentError, match="'d'"):
        session.run("d:0")
