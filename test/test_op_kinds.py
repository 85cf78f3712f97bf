"""Loops and conditionals run by all the names that TensorFlow has for them."""

import pytest

import treadle

PROGRAM = """
tfg.func @few(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i1> {tfg.name = "more"}) {
  %k, %kc = Const name("k") {dtype = i32, value = dense<10> : tensor<i32>} : () -> (tensor<i32>)
  %l, %lc = Less(%i, %k) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%l) : tensor<i1>
}
tfg.func @three(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i32> {tfg.name = "next"}) {
  %k, %kc = Const name("k") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %s, %sc = AddV2(%i, %k) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%s) : tensor<i32>
}
tfg.func @same(%i: tensor<i32> {tfg.name = "i"}) -> (tensor<i32> {tfg.name = "next"}) {
  return(%i) : tensor<i32>
}
tfg.graph #tf_type.version<producer = 1087, min_consumer = 0> {
  %x, %xc = Const name("x") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %t, %tc = Const name("t") {dtype = i1, value = dense<true> : tensor<i1>} : () -> (tensor<i1>)
  NODE
}
"""
LOOP = """%y, %yc = OP(%x) name("y") {T = [i32], cond = #tf_type.func<@few, {}>,
    body = #tf_type.func<@three, {}>} : (tensor<i32>) -> (tensor<i32>)"""
CHOICE = """%y, %yc = OP(%t, %x) name("y") {Tcond = i1, Tin = [i32], Tout = [i32],
    then_branch = #tf_type.func<@three, {}>,
    else_branch = #tf_type.func<@same, {}>} : (tensor<i1>, tensor<i32>) -> (tensor<i32>)"""


def result(tmp_path, node, tier):
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM.replace("NODE", node))
    return treadle.Session(treadle.Graph.from_file(path), tier=tier).run(["y:0"])[0]


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize("op", ["While", "StatelessWhile", "_While", "XlaWhile", "RiscWhile"])
def test_loops(tmp_path, op, tier):
    assert result(tmp_path, LOOP.replace("OP", op), tier) == 10


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize("op", ["If", "StatelessIf", "_If", "XlaIf"])
def test_conditionals(tmp_path, op, tier):
    assert result(tmp_path, CHOICE.replace("OP", op), tier) == 4
