"""Portable artifacts that `treadle convert` writes, of all versions."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle

BINARY = os.environ.get("TREADLE_BIN") or Path(treadle.__file__).parents[2] / "bin" / "treadle"
JAX = os.environ.get("TREADLE_JAX_PYTHON") or sys.executable
MODELS = Path(__file__).parent / "models"
VERSIONS = ["0.9.0", "0.10.0", "0.12.0", "0.14.0", "0.15.0", "1.0.0", "1.7.0", "1.14.0", "1.20.0"]

PROGRAM = """module @net attributes {mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<2x4xf32> loc("x"), %i: tensor<3x1xi32> loc("rows"))
      -> (tensor<3x2xf32> {jax.result_info = "result['out']"}) {
    %w = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]>
      : tensor<4x2xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0],
      precision = [HIGHEST, DEFAULT] : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
    %z = call @soft(%y) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %g = "stablehlo.gather"(%z, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 2>} : (tensor<2x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
    %n = stablehlo.constant dense<0> : tensor<i32>
    %s:2 = stablehlo.while(%a = %n, %b = %g) : tensor<i32>, tensor<3x2xf32>
     cond {
      %limit = stablehlo.constant dense<2> : tensor<i32>
      %p = stablehlo.compare LT, %a, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %c = stablehlo.add %a, %one : tensor<i32>
      %d = stablehlo.multiply %b, %g : tensor<3x2xf32>
      stablehlo.return %c, %d : tensor<i32>, tensor<3x2xf32>
    }
    return %s#1 : tensor<3x2xf32>
  }
  func.func private @soft(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %e = stablehlo.exponential %x : tensor<2x2xf32>
    %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %r = stablehlo.divide %e, %b : tensor<2x2xf32>
    return %r : tensor<2x2xf32>
  }
}
"""


def convert(source, target, *options, status=0):
    command = [BINARY, "convert", source, target, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def program(tmp_path):
    (tmp_path / "net.mlir").write_text(PROGRAM)
    return tmp_path / "net.mlir"


@pytest.mark.parametrize("version", VERSIONS)
def test_an_artifact_is_its_text(program, version):
    written = program.with_suffix(".mlirbc")
    convert(program, written, "--target", version)
    assert f"StableHLO_v{version}".encode() in written.read_bytes()
    assert treadle.Graph.from_file(written).text() == treadle.Graph.from_file(program).text()
    again = program.with_name("again.mlir.bc")
    convert(written, again, "--target", version)
    assert again.read_bytes() == written.read_bytes()
    convert(written, again)
    assert treadle.Graph.from_file(again).text() == treadle.Graph.from_file(program).text()


def test_files_of_jax_become_artifacts(tmp_path):
    convert(MODELS / "step.jax", tmp_path / "step.mlirbc", "--target", "1.0.0")
    step = treadle.load(tmp_path / "step.mlirbc").signatures["main"]
    ones = np.ones((1, 2), np.float32)
    assert len(step.inputs) == 7
    result = step(4, ones, np.zeros(2, np.uint32), ones, np.int8(1), ones, 0.5)
    np.testing.assert_array_equal(result["result_0_total"], 1.5 * ones)


def test_checks_of_sizes_stay(tmp_path):
    orbits = Path(__file__).parents[1] / "examples" / "from_jax" / "orbits.jax"
    convert(orbits, tmp_path / "orbits.mlirbc")
    main = treadle.load(tmp_path / "orbits.mlirbc").signatures["main"]
    one, two = np.ones((1, 2), np.float32), np.ones((2, 2), np.float32)
    assert main(one, one)["energy"].shape == (1,)
    with pytest.raises(treadle.InvalidArgumentError, match="Found inconsistency"):
        main(one, two)


def test_what_cant_be_written(program, tmp_path):
    out = tmp_path / "out.mlirbc"
    program.write_text(PROGRAM.replace("stablehlo.exponential", "stablehlo.tan"))
    message = (
        "stablehlo.tan can't be written for version 1.3.0: 1.4.0 is the first that supports it"
    )
    assert message in convert(program, out, "--target", "1.3.0", status=1)
    assert "expected one from 0.9.0" in convert(program, out, "--target", "0.8.0", status=2)
    assert "expected a name that ends in .mlir" in convert(
        program, tmp_path / "x.pb", "--to", "stablehlo", status=2
    )
    assert "is for graphs" in convert(program, out, "--to", "tfg", status=2)
    assert "is for portable artifacts" in convert(
        program, tmp_path / "x.pb", "--target", "1.0.0", status=2
    )
    graph = Path(__file__).parents[1] / "examples" / "countdown.pbtxt"
    assert "is a graph, not a StableHLO program" in convert(graph, out, status=1)
    assert not out.exists()


def test_artifacts_become_text(program, tmp_path):
    """An artifact of StableHLO is converted to the text that it was made from."""
    artifact, text = tmp_path / "net.mlirbc", tmp_path / "text.mlir"
    convert(program, artifact)
    convert(artifact, text, "--to", "stablehlo")
    assert "#stablehlo.gather<" in text.read_text() and "tfg" not in text.read_text()
    assert treadle.Graph.from_file(text).text() == treadle.Graph.from_file(program).text()
    again = tmp_path / "again.mlirbc"
    convert(text, again)
    assert treadle.Graph.from_file(again).text() == treadle.Graph.from_file(program).text()
    graph = Path(__file__).parents[1] / "examples" / "countdown.pbtxt"
    assert "is a graph, not a StableHLO program" in convert(
        graph, text, "--to", "stablehlo", status=1
    )


READ = """
import sys
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
for path in sys.argv[1:]:
    context = mlir.make_ir_context()
    with context:
        data = open(path, "rb").read()
        if path.endswith(".mlir"):
            print(ir.Module.parse(data))
        else:
            print(stablehlo.deserialize_portable_artifact(context, data))
        print("-----")
"""


def test_jax_reads_them(program, tmp_path):
    """The programs that JAX reads from all versions are the same, and are that of the text."""
    probe = subprocess.run([JAX, "-c", "import jax"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"{JAX} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    paths = [tmp_path / f"{version}.mlirbc" for version in VERSIONS]
    for version, path in zip(VERSIONS, paths, strict=True):
        convert(program, path, "--target", version)
    text = tmp_path / "text.mlir"
    convert(program, text, "--to", "stablehlo")
    run = [JAX, "-c", READ, *map(str, paths), str(text)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    programs = done.stdout.split("-----\n")[:-1]
    assert len(programs) == len(VERSIONS) + 1 and len(set(programs)) == 1
    assert "precision = [HIGHEST, DEFAULT]" in programs[0] and "module @net" in programs[0]
    (tmp_path / "read.mlir").write_text(programs[0])
    expected = treadle.Graph.from_file(program)
    x, rows = np.ones((2, 4), np.float32), np.int32([[0], [1], [0]])
    for graph in (expected, treadle.Graph.from_file(tmp_path / "read.mlir")):
        names = [value.name for value in graph.inputs()]
        outputs = [value.name for value in graph.outputs()]
        [result] = treadle.Session(graph).run(outputs, dict(zip(names, [x, rows], strict=True)))
        assert result.shape == (3, 2) and result[0, 1] > result[0, 0]
