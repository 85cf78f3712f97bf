"""The command without shared libraries: it runs, compiles and reads what the other one does."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "release"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    out = tmp_path_factory.mktemp("static") / "treadle"
    made = subprocess.run(
        [BUILD.parent / "venv" / "bin" / "python", ROOT / "scripts" / "static_program.py", out],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return out


def run(program, *arguments):
    return subprocess.run(
        [program, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"TREADLE_CACHE_DIR": ""},
    )


def test_it_needs_no_library(program):
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True).stdout
    assert "NEEDED" not in dynamic


@pytest.mark.parametrize("tier", ["interpret", "jit"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["examples/countdown.pbtxt", "--fetch", "count:0,loop/dec:0@*"],
        ["examples/words", "--input", "x=[1,2,3]"],
        ["examples/words", "--signature", "lookup", "--input", 'word="two"'],
        [
            "examples/simulator/pendulum.mlir",
            "--input",
            "angle=0.5",
            "--input",
            "speed=0",
            "--input",
            "steps=10",
        ],
    ],
)
def test_it_gives_the_same(program, arguments, tier):
    model, *rest = arguments
    command = ["run", ROOT / model, *rest, "--tier", tier]
    static, shared = run(program, *command), run(BUILD / "bin" / "treadle", *command)
    assert (static.returncode, static.stdout, static.stderr) == (
        shared.returncode,
        shared.stdout,
        shared.stderr,
    )


FUNCTIONS = """
func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf64>, tensor<?xf16>) {
  %a = stablehlo.tanh %x : tensor<?xf32>
  %b = stablehlo.exponential %a : tensor<?xf32>
  %c = stablehlo.sine %b : tensor<?xf32>
  %d = stablehlo.convert %c : (tensor<?xf32>) -> tensor<?xf64>
  %e = stablehlo.power %d, %d : tensor<?xf64>
  %f = stablehlo.log_plus_one %e : tensor<?xf64>
  %g = stablehlo.atan2 %f, %e : tensor<?xf64>
  %h = stablehlo.remainder %g, %f : tensor<?xf64>
  %i = stablehlo.convert %c : (tensor<?xf32>) -> tensor<?xf16>
  return %c, %h, %i : tensor<?xf32>, tensor<?xf64>, tensor<?xf16>
}
"""


def test_compiled_code_finds_functions_of_c(program, tmp_path):
    model = tmp_path / "functions.mlir"
    model.write_text(FUNCTIONS)
    done = run(program, "run", model, "--input", "arg0=[0.5,1.5,2.5]", "--tier", "jit", "--stats")
    assert done.returncode == 0, done.stderr
    assert "compiled: 1 times" in done.stderr and "not compiled" not in done.stderr
