"""Passes that compute keep every value: a program gives the same before and after them."""

import pathlib

import numpy as np
import pytest

import treadle

PIPELINES = [
    "tfg-constant-folding",
    "tfg-shape-inference,tfg-constant-folding",
    "tfg-shape-inference,tfg-hoist-loop-invariants,tfg-constant-folding",
    "tfg-shape-inference,tfg-constant-folding,tfg-prune{fetches=w:0,s:0,z:0}",
]

# z is x + 0.0, which isn't x where that is -0.0; the loop runs as often as it is told to.
PROGRAM = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %n, %nc = Placeholder name("n") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)
  %o, %oc = Const name("o") {dtype = f32, value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %z, %zc = AddV2(%x, %o) name("z") {T = f32} : (tensor<2xf32>, tensor<f32>) -> (tensor<*xf32>)
  %h, %hc = Shape(%z) name("h") {T = f32, out_type = i32} : (tensor<*xf32>) -> (tensor<*xi32>)
  %s, %sc = Mul(%h, %h) name("s") {T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
  %a, %ac = ZerosLike(%x) name("a") {T = f32} : (tensor<2xf32>) -> (tensor<*xf32>)
  %w:3, %wc = While(%a, %n, %x) name("w") {T = [f32, i32, f32], body = #tf_type.func<@body, {}>,
      cond = #tf_type.func<@cond, {}>, output_shapes = [], parallel_iterations = 10 : i64}
      : (tensor<*xf32>, tensor<i32>, tensor<2xf32>)
      -> (tensor<*xf32>, tensor<*xi32>, tensor<*xf32>)
}
tfg.func @cond(%a: tensor<*xf32> {tfg.name = "a"}, %n: tensor<*xi32> {tfg.name = "n"},
               %x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xi1> {tfg.name = "p"}) {
  %k, %kc = Const name("k") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %p, %pc = Greater(%n, %k) name("p") {T = i32} : (tensor<*xi32>, tensor<i32>) -> (tensor<*xi1>)
  return(%p) : tensor<*xi1>
}
tfg.func @body(%a: tensor<*xf32> {tfg.name = "a"}, %n: tensor<*xi32> {tfg.name = "n"},
               %x: tensor<*xf32> {tfg.name = "x"})
    -> (tensor<*xf32> {tfg.name = "b"}, tensor<*xi32> {tfg.name = "m"},
        tensor<*xf32> {tfg.name = "y"}) {
  %e, %ec = Exp(%x) name("e") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = AddV2(%a, %e) name("b") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %k, %kc = Const name("k") {dtype = i32, value = dense<-1> : tensor<i32>} : () -> (tensor<i32>)
  %m, %mc = AddV2(%n, %k) name("m") {T = i32} : (tensor<*xi32>, tensor<i32>) -> (tensor<*xi32>)
  return(%b, %m, %x) : tensor<*xf32>, tensor<*xi32>, tensor<*xf32>
}
"""


@pytest.fixture
def graph(tmp_path: pathlib.Path) -> treadle.Graph:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return treadle.Graph.from_file(str(path))


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("count", [0, 3])
def test_values_stay(graph, pipeline, count):
    feeds = {"n:0": np.int32(count), "x:0": np.float32([-0.0, 1.5])}
    fetches = ["w:0", "s:0", "z:0"]
    expected = treadle.Session(graph).run(fetches, feeds)
    got = treadle.Session(graph.run_passes(pipeline)).run(fetches, feeds)
    for want, value in zip(expected, got, strict=True):
        assert want.dtype == value.dtype
        assert want.tobytes() == value.tobytes()
