# ruff: noqa: E501
"""Loops that a value enters after another one has left them, as where tf.gradients is called under
tf.control_dependencies of what a loop computed."""

import pytest

import treadle

# Sums n, n - 1, ..., 1. The sum begins once the counter has left the loop.
GRAPH = """
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %%n, %%0 = Placeholder name("n") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
  %%start, %%1 = Enter(%%n) name("start") {T = i32, frame_name = "f", parallel_iterations = %d : i64} : (tensor<i32>) -> (tensor<i32>)
  %%i:2, %%2 = Merge(%%start, %%inext) name("i") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %%none, %%a = Const [%%2] name("none") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %%more, %%3 = Greater(%%i#0, %%none) name("more") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %%cond, %%4 = LoopCond(%%more) name("cond") : (tensor<i1>) -> (tensor<i1>)
  %%is:2, %%5 = Switch(%%i#0, %%cond) name("is") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %%id, %%b = Identity(%%is#1) name("id") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %%one, %%c = Const [%%b] name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %%less, %%d = Sub(%%id, %%one) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %%inext, %%6 = NextIteration(%%less) name("inext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %%count, %%7 = Exit(%%is#0) name("count") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %%left, %%e = Identity(%%count) name("left") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %%zero, %%8 = Const [%%e] name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %%total, %%9 = Enter(%%zero) name("total") {T = i32, frame_name = "f", parallel_iterations = %d : i64} : (tensor<i32>) -> (tensor<i32>)
  %%t:2, %%10 = Merge(%%total, %%tnext) name("t") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %%ts:2, %%11 = Switch(%%t#0, %%cond) name("ts") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %%sum, %%12 = AddV2(%%ts#1, %%id) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %%tnext, %%13 = NextIteration(%%sum) name("tnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %%sums, %%14 = Exit(%%ts#0) name("sums") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
"""


@pytest.mark.parametrize("overlap", ["auto", "on", "off"])
@pytest.mark.parametrize("tier", ["auto", "interpret", "jit"])
@pytest.mark.parametrize("parallel", [1, 2, 10])
def test_they_run_whatever_their_window_is(parallel, tier, overlap):
    graph = treadle.Graph.from_bytes((GRAPH % (parallel, parallel)).encode())
    session = treadle.Session(graph, tier=tier, loop_overlap=overlap)
    for n in (0, 1, 3, 25):
        sums, left = session.run(["sums", "left"], {"n": n})
        assert (sums, left) == (n * (n + 1) // 2, 0)


@pytest.mark.parametrize(
    "passes", ["tfg-structured", "tfg-structure-loops", "tfg-v1-to-functional"]
)
def test_passes_leave_them(passes):
    graph = treadle.Graph.from_bytes((GRAPH % (10, 10)).encode()).run_passes(passes)
    assert treadle.Session(graph).run("sums", {"n": 4}) == 10
