"""`treadle explain --code`: what compiled code does, counted while it runs."""

import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import command_line  # noqa: E402

COUNTDOWN = pathlib.Path(__file__).parents[1] / "examples" / "countdown.pbtxt"

# 7 times 5 iterations; the inner one adds two vectors, and its last step multiplies matrices.
NESTED = """
func.func @main(%x: tensor<1000xf32>, %m: tensor<100x100xf32>) -> (tensor<1000xf32>, tensor<100x100xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %n = %m) : tensor<i32>, tensor<1000xf32>, tensor<100x100xf32>
  cond {
    %more = stablehlo.compare LT, %i, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<1000xf32>
    cond {
      %more = stablehlo.compare LT, %j, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %turned = stablehlo.reverse %b, dims = [0] : tensor<1000xf32>
      %c = stablehlo.add %turned, %x : tensor<1000xf32>
      %next = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %next, %c : tensor<i32>, tensor<1000xf32>
    }
    %o = stablehlo.dot_general %n, %m, contracting_dims = [1] x [0] : (tensor<100x100xf32>, tensor<100x100xf32>) -> tensor<100x100xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %s#1, %o : tensor<i32>, tensor<1000xf32>, tensor<100x100xf32>
  }
  return %r#1, %r#2 : tensor<1000xf32>, tensor<100x100xf32>
}
"""  # noqa: E501


def command(*args):
    line = [command_line.BINARY, "explain", *map(str, args)]
    done = subprocess.run(line, capture_output=True, timeout=60, text=True)
    return done.returncode, done.stdout, done.stderr


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return float(found[1].replace(",", ""))


def test_iterations_and_operations_are_counted():
    status, out, error = command(COUNTDOWN, "--code", "--input", "start=12345")
    assert (status, error) == (0, "")
    assert "loop 'loop' (While): 12,345 iterations of " in out
    assert 2 <= number(r"an iteration: +([\d.,]+) operations, none in vectors", out) <= 4
    assert "'loop/dec' (Sub) 1" in out


def test_vectors_bytes_and_calls_of_nested_loops(tmp_path):
    path = tmp_path / "nested.mlir"
    path.write_text(NESTED)
    status, out, error = command(path, "--code", "--input", "0=random", "--input", "1=random")
    assert status == 0, error
    outer, inner = out[: out.index("\n  loop ")], out[out.index("\n  loop ") :]
    assert re.search(r"^loop '.*' \(StatelessWhile\): 7 iterations of ", outer, re.MULTILINE)
    assert "1 x kernel of 'dot_general' (MatMul)" in outer
    assert re.search(
        r"^  loop '.*' \(StatelessWhile\): 5 iterations each time", inner, re.MULTILINE
    )
    assert 1000 <= number(r"\(([\d,]+) flops\)", inner) <= 1010
    assert number(r"([\d.]+)% in vectors", inner) > 50
    assert 8000 <= number(r"reads ([\d,]+) bytes", inner) <= 8200
    assert 4000 <= number(r"writes ([\d,]+)", inner) <= 4100
    assert number(r"\(([\d,]+) flops\)", outer) >= 5000


def test_work_of_lanes_is_attributed_to_nodes(tmp_path):
    """The elements of the inner loop are independent: groups of them run it on their own."""
    path = tmp_path / "lanes.mlir"
    path.write_text(NESTED.replace("stablehlo.add %turned", "stablehlo.add %b"))
    status, out, error = command(path, "--code", "--input", "0=random", "--input", "1=random")
    assert status == 0, error
    inner = out[out.index("\n  loop ") :]
    assert number(r"([\d.]+)% in vectors", inner) > 90
    assert re.search(r"most of it: .*'add' \(AddV2\)", inner)


def test_a_graph_without_such_code_says_so(tmp_path):
    path = tmp_path / "graph.pbtxt"
    path.write_text("node { name: 'x' op: 'NoOp' }")
    status, out, error = command(path, "--code", "--target", "x")
    assert (status, error) == (0, "")
    assert out == "nothing is compiled; without --code, 'explain' says why\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--code", "--json"], "options '--json' and '--code' can't be used together"),
        (["--input", "start=1"], "option '--input' requires --code"),
        (["--code", "--input", "strat=1"], "'strat:0'"),
        (["--code", "--fetch", "cuont"], "'cuont"),
    ],
)
def test_bad_usage_is_told(options, said):
    status, out, error = command(COUNTDOWN, *options)
    assert status and not out
    assert said in error
