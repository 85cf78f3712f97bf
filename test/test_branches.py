"""Programs whose loops and conditionals are branches between blocks."""

import numpy as np
import pytest

import treadle

SCALAR = "tensor<i32>"
ROW = "tensor<?xf32>"

# Carries (i, x, y); each iteration swaps x and y, or adds them, as `body` says.
LOOP = """
func.func @main(%n: tensor<i32>, %a: tensor<?xf32>, %b: tensor<?xf32>)
    -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  cf.br ^head(%zero, %a, %b : tensor<i32>, tensor<?xf32>, tensor<?xf32>)
^head(%i: tensor<i32>, %x: tensor<?xf32>, %y: tensor<?xf32>):
  %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %more = "tensor.extract"(%less) : (tensor<i1>) -> i1
  cf.cond_br %more, ^body, ^exit
^body:
  %j = stablehlo.add %i, %one : tensor<i32>
  BODY
^exit:
  return %x, %y : tensor<?xf32>, tensor<?xf32>
}
"""
NEXT = ": tensor<i32>, tensor<?xf32>, tensor<?xf32>)"
SWAP = f"cf.br ^head(%j, %y, %x {NEXT}"
# If i is even the loop continues with the sum and x, otherwise with y and the sum.
CHOICE = f"""
  %sum = stablehlo.add %x, %y : tensor<?xf32>
  %rest = stablehlo.remainder %i, %two : tensor<i32>
  %is = stablehlo.compare EQ, %rest, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %even = "tensor.extract"(%is) : (tensor<i1>) -> i1
  cf.cond_br %even, ^first, ^second
^first:
  cf.br ^head(%j, %sum, %x {NEXT}
^second:
  cf.br ^head(%j, %y, %sum {NEXT}
"""


def by_hand(body, n, x, y):
    for i in range(n):
        if body is SWAP:
            x, y = y, x
        else:
            x, y = (x + y, x) if i % 2 == 0 else (y, x + y)
    return x, y


@pytest.fixture
def load(tmp_path):
    def loaded(text, **options):
        path = tmp_path / "program.mlir"
        path.write_text(text)
        return treadle.load(path, **options)

    return loaded


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize("body", [SWAP, CHOICE], ids=["swap", "choice"])
def test_loops_of_branches_give_what_they_give_by_hand(load, tier, body):
    call = load(LOOP.replace("BODY", body), tier=tier).signatures["main"]
    x, y = np.float32([1, 2, 3]), np.float32([10, 20, 30])
    for n in (0, 1, 2, 5):
        found = call(np.int32(n), x, y).values()
        for a, b in zip(found, by_hand(body, n, x, y), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_swap_copies_nothing(tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(LOOP.replace("BODY", SWAP))
    session = treadle.Session(path, tier="jit", statistics=True)
    feeds = {"arg0:0": np.int32(9), "arg1:0": np.ones(5, np.float32), "arg2:0": np.float32([7])}
    first, second = session.run(["result_0:0", "result_1:0"], feeds)
    assert first.tolist() == [7] and second.tolist() == [1] * 5
    statistics = session.statistics()
    assert statistics.compiled_calls == 1 and statistics.copies == 0


def test_a_switch_chooses_one_of_several_blocks(load):
    text = """
    func.func @main(%s: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
      %flag = "tensor.extract"(%s) : (tensor<i32>) -> i32
      cf.switch %flag : i32, [
        default: ^other,
        0: ^same(%x : tensor<f32>),
        1: ^twice
      ]
    ^same(%y: tensor<f32>):
      return %y : tensor<f32>
    ^twice:
      %d = stablehlo.add %x, %x : tensor<f32>
      cf.br ^same(%d : tensor<f32>)
    ^other:
      %m = stablehlo.negate %x : tensor<f32>
      return %m : tensor<f32>
    }
    """
    for tier in ("interpret", "jit"):
        call = load(text, tier=tier).signatures["main"]
        for selector, expected in ((0, 3), (1, 6), (2, -3), (-1, -3)):
            (found,) = call(np.int32(selector), np.float32(3)).values()
            assert found == expected


def test_a_loop_that_nothing_leaves_is_named(load):
    text = """
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      cf.br ^again(%x : tensor<f32>)
    ^again(%y: tensor<f32>):
      %z = stablehlo.negate %y : tensor<f32>
      cf.br ^again(%z : tensor<f32>)
    }
    """
    with pytest.raises(treadle.UnimplementedError, match="a loop without an exit"):
        load(text)
