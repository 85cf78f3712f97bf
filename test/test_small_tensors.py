# ruff: noqa: E501 (programs in text)
"""Loops over small tensors, and over parts of larger ones: machine code keeps the elements of small
tensors in registers and writes parts in place, and gives what the interpreter gives."""

import numpy as np
import pytest

import treadle

LOOP = """
func.func @main(%x: TYPE, %s: SIDE) -> (TYPE, SIDE) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<7> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %s) : tensor<i32>, TYPE, SIDE
  cond {
    %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
BODY
    stablehlo.return %next, %y, %t : tensor<i32>, TYPE, SIDE
  }
  return %r#1, %r#2 : TYPE, SIDE
}
"""

# A start that is now and then outside: -4, -1, 2, ...
START = """
    %three = stablehlo.constant dense<3> : tensor<i32>
    %four = stablehlo.constant dense<4> : tensor<i32>
    %scaled = stablehlo.multiply %i, %three : tensor<i32>
    %start = stablehlo.subtract %scaled, %four : tensor<i32>
"""

SUM = """({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %o = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %o : tensor<f32>
    })"""


def roll(n):
    return f"""
    %head = stablehlo.slice %a [0:1] : (tensor<{n}xf32>) -> tensor<1xf32>
    %tail = stablehlo.slice %a [1:{n}] : (tensor<{n}xf32>) -> tensor<{n - 1}xf32>
    %y = stablehlo.concatenate %tail, %head, dim = 0 : (tensor<{n - 1}xf32>, tensor<1xf32>) -> tensor<{n}xf32>
    %t = stablehlo.add %b, %y : tensor<{n}xf32>"""


def read(n, m):
    """A part that begins anywhere, added up."""
    return f"""{START}
    %part = stablehlo.dynamic_slice %a, %start, sizes = [{m}] : (tensor<{n}xf32>, tensor<i32>) -> tensor<{m}xf32>
    %t = stablehlo.add %b, %part : tensor<{m}xf32>
    %y = stablehlo.negate %a : tensor<{n}xf32>"""


def write(n, m, more=""):
    return f"""{START}
    %two = stablehlo.constant dense<2.0> : tensor<{m}xf32>
    %t = stablehlo.multiply %b, %two : tensor<{m}xf32>
    %y{more} = stablehlo.dynamic_update_slice %a, %t, %start : (tensor<{n}xf32>, tensor<{m}xf32>, tensor<i32>) -> tensor<{n}xf32>"""


def write_and_keep(n, m):
    """The tensor as it was before is wanted afterwards."""
    return write(n, m, "0") + f"\n    %y = stablehlo.subtract %y0, %a : tensor<{n}xf32>"


def rows(n):
    return f"""{START}
    %part = stablehlo.dynamic_slice %a, %start, %one, sizes = [2, 3] : (tensor<{n}x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %t = stablehlo.add %b, %part : tensor<2x3xf32>
    %y = stablehlo.dynamic_update_slice %a, %t, %i, %zero : (tensor<{n}x4xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<{n}x4xf32>"""


CASES = {
    "roll 3": ((3,), (3,), roll(3)),
    "roll 40": ((40,), (40,), roll(40)),
    "roll 5000": ((5000,), (5000,), roll(5000)),
    "read 5, 2": ((5,), (2,), read(5, 2)),
    "read 12, 1": ((12,), (1,), read(12, 1)),
    "read 300, 3": ((300,), (3,), read(300, 3)),
    "read 300, 200": ((300,), (200,), read(300, 200)),
    "write 5, 2": ((5,), (2,), write(5, 2)),
    "write 30, 20": ((30,), (20,), write(30, 20)),
    "write 300, 3": ((300,), (3,), write(300, 3)),
    "write 300, 200": ((300,), (200,), write(300, 200)),
    "write and keep 5, 2": ((5,), (2,), write_and_keep(5, 2)),
    "write and keep 300, 3": ((300,), (3,), write_and_keep(300, 3)),
    "write and keep 300, 200": ((300,), (200,), write_and_keep(300, 200)),
    "rows 5": ((5, 4), (2, 3), rows(5)),
    "rows 50": ((50, 4), (2, 3), rows(50)),
    "products": (
        (3, 3),
        (3, 3),
        """
    %turned = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %t = stablehlo.dot_general %turned, %b, contracting_dims = [0] x [1] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>""",
    ),
    "sums": (
        (2, 3),
        (3,),
        f"""
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %t = "stablehlo.reduce"(%a, %none) {SUM} {{dimensions = array<i64: 0>}} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %wide = stablehlo.broadcast_in_dim %t, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %number = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %all = stablehlo.broadcast_in_dim %number, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %less = stablehlo.subtract %wide, %all : tensor<2x3xf32>
    %y = stablehlo.add %less, %a : tensor<2x3xf32>""",
    ),
    "turned and padded": (
        (4,),
        (4,),
        """
    %back = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
    %inner = stablehlo.slice %back [1:3] : (tensor<4xf32>) -> tensor<2xf32>
    %edge = stablehlo.constant dense<0.5> : tensor<f32>
    %y = stablehlo.pad %inner, %edge, low = [2], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    %t = stablehlo.add %back, %b : tensor<4xf32>""",
    ),
    "numbers": (
        (6,),
        (2, 3),
        """
    %iota = stablehlo.iota dim = 0 : tensor<6xi32>
    %wide = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %here = stablehlo.compare EQ, %iota, %wide : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %flat = stablehlo.reshape %b : (tensor<2x3xf32>) -> tensor<6xf32>
    %y = stablehlo.select %here, %flat, %a : tensor<6xi1>, tensor<6xf32>
    %t = stablehlo.reshape %y : (tensor<6xf32>) -> tensor<2x3xf32>""",
    ),
    "in a branch": (
        (3,),
        (3,),
        """
    %odd = stablehlo.and %i, %one : tensor<i32>
    %y = "stablehlo.case"(%odd) ({
      stablehlo.return %a : tensor<3xf32>
    }, {
      %sum = stablehlo.add %a, %b : tensor<3xf32>
      stablehlo.return %sum : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    %t = stablehlo.reverse %b, dims = [0] : tensor<3xf32>""",
    ),
}


def program(shape, side, body):
    def text(dims):
        return f"tensor<{''.join(f'{d}x' for d in dims)}f32>"

    return (
        LOOP.replace("BODY", body).replace("TYPE", text(shape)).replace("SIDE", text(side)).encode()
    )


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_interpreter(name):
    shape, side, body = CASES[name]
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(dims).astype(np.float32) for dims in (shape, side)]
    found = {}
    for tier in ("interpret", "jit"):
        session = treadle.Session(program(shape, side, body), tier=tier, statistics=True)
        feeds = dict(zip(("arg0", "arg1"), [g.copy() for g in given], strict=True))
        fetches = ["while:1", "while:2"]
        found[tier] = session.run(fetches, feeds)
        again = session.run(fetches, feeds)
        for old, new, fed in zip(found[tier], again, feeds.values(), strict=True):
            np.testing.assert_array_equal(old, new)
            assert not np.shares_memory(new, fed)
        for fed, kept in zip(feeds.values(), given, strict=True):
            np.testing.assert_array_equal(fed, kept)
    statistics = session.statistics()
    assert (statistics.compiled_calls, statistics.bails) == (2, 0), statistics.last_failure
    for expected, result in zip(found["interpret"], found["jit"], strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-5 if name == "products" else 0)


def test_what_a_loop_over_a_small_tensor_allocates():
    """Nothing for each iteration: allocations don't grow with their number."""
    counts = []
    for iterations in (7, 700):
        shape, side, body = CASES["rows 50"]
        text = program(shape, side, body).replace(b"dense<7>", f"dense<{iterations}>".encode())
        session = treadle.Session(text, tier="jit", statistics=True)
        feeds = {"arg0": np.ones(shape, np.float32), "arg1": np.ones(side, np.float32)}
        session.run(["while:1", "while:2"], feeds)
        counts.append(session.statistics().allocations)
    assert counts[0] == counts[1]


def test_an_index_outside_of_a_small_tensor_is_the_interpreters_error():
    body = """
    %far = stablehlo.constant dense<[0, 9]> : tensor<2xi32>
    %picked = "stablehlo.gather"(%a, %far) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>} : (tensor<3xf32>, tensor<2xi32>) -> tensor<2xf32>
    %y = stablehlo.negate %a : tensor<3xf32>
    %t = stablehlo.add %b, %picked : tensor<2xf32>"""
    feeds = {"arg0": np.float32([1, 2, 3]), "arg1": np.float32([4, 5])}
    found = [
        treadle.Session(program((3,), (2,), body), tier=tier).run(["while:1", "while:2"], feeds)
        for tier in ("interpret", "jit")
    ]
    for expected, result in zip(*found, strict=True):
        np.testing.assert_array_equal(result, expected)
