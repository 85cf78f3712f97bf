"""The report of './dev conformance stablehlo'."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CHECKED = """
func.func @{name}() {{
  %x = stablehlo.constant dense<{value}> : tensor<i32>
  check.expect_eq_const %x, dense<1> : tensor<i32>
  func.return
}}
"""
TAKES = "func.func public @main(%x: tensor<i32>) -> tensor<i32> {\n  return %x : tensor<i32>\n}\n"


def conformance(folder, *arguments):
    script = ROOT / "test" / "conformance" / "stablehlo.py"
    done = subprocess.run(
        [sys.executable, script, folder, *arguments], capture_output=True, text=True, timeout=120
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def write(folder, files):
    for name, text in files.items():
        path = folder / "stablehlo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_parts_and_functions_are_programs(tmp_path):
    good, bad = CHECKED.format(name="a", value=1), CHECKED.format(name="b", value=2)
    write(tmp_path, {"tests/interpret/x.mlir": good + "// -----\n" + bad + good})
    code, lines = conformance(tmp_path)
    assert code == 1
    assert lines[0].startswith("failed: tests/interpret/x.mlir:2 @b: InvalidArgumentError: node ")
    assert lines[-1] == "all: 2 passed, 1 failed, 0 skipped"


def test_arguments_are_random(tmp_path):
    """An open size is 3; a program that refuses that isn't judged."""
    unknown = TAKES.replace("return", "%y = stablehlo.nonsense %x : tensor<i32>\n  return")
    opened = TAKES.replace("tensor<i32>", "tensor<?xcomplex<f32>>")
    unfit = """func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %n = stablehlo.constant dense<7> : tensor<1xi32>
      %y = stablehlo.dynamic_reshape %x, %n
        : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
      return %y : tensor<?xf32>
    }
    """
    files = {"a": TAKES, "b": unknown, "c": opened, "d": unfit}
    write(tmp_path, {f"testdata/{name}.mlir": text for name, text in files.items()})
    code, lines = conformance(tmp_path, "--files")
    assert code == 1
    assert lines[0] == (
        "failed: testdata/b.mlir:1 @main: UnimplementedError: line 2, column 8: "
        "stablehlo.nonsense is not supported"
    )
    assert lines[1].startswith("skipped: testdata/d.mlir:1 @main: its arguments can't all have the")
    assert lines[2:6] == [
        "testdata/a.mlir: 1 passed, 0 failed, 0 skipped",
        "testdata/b.mlir: 0 passed, 1 failed, 0 skipped",
        "testdata/c.mlir: 1 passed, 0 failed, 0 skipped",
        "testdata/d.mlir: 0 passed, 0 failed, 1 skipped",
    ]


def test_what_stablehlo_disables_may_fail(tmp_path):
    text = "// RUN-DISABLED(inaccurate) stablehlo-opt %s\n" + CHECKED.format(name="main", value=3)
    write(tmp_path, {"testdata/a.mlir": text})
    code, lines = conformance(tmp_path)
    assert code == 0
    assert lines[0].startswith("skipped: testdata/a.mlir:1 @main: disabled there (inaccurate): Inv")


def test_a_process_that_dies_is_a_failure(tmp_path):
    # The parser of any text may end the process: here it is made to.
    write(tmp_path, {"testdata/a.mlir": CHECKED.format(name="main", value=1)})
    program = (
        "import runpy, sys; sys.argv[1:] = sys.argv[2:]; "
        f"tool = runpy.run_path({str(ROOT / 'test/conformance/stablehlo.py')!r}); "
        "tool['Runner'].outcome.__globals__['__file__'] = '/dev/null'; "
        "print(tool['report'](__import__('pathlib').Path(sys.argv[1]), None, False, None))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "", tmp_path / "stablehlo"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[0] == "failed: testdata/a.mlir:1 @main: crash: exit status 0"


def test_a_folder_without_programs_is_an_error(tmp_path):
    script = ROOT / "test" / "conformance" / "stablehlo.py"
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "name a checkout of StableHLO" in done.stderr
