"""Files of jax.export: what they say of their programs, and files that lie."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle

MODELS = Path(__file__).parent / "models"
STEP = (MODELS / "step.jax").read_bytes()
JAX = os.environ.get("TREADLE_JAX_PYTHON") or sys.executable


def test_unused_arguments_and_platforms():
    step = treadle.load(MODELS / "step.jax").signatures["main"]
    names = ["state_count", "state_total", "arg1_key", "arg1_sizes_0", "arg1_sizes_1", "x", "rate"]
    assert list(step.inputs) == names
    assert step.inputs["arg1_key"] == treadle.Value("arg1_key:0", "uint32", (2,))
    assert list(step.outputs)[:2] == ["result_0_count", "result_0_total"]
    ones, key = np.ones((1, 2), np.float32), np.zeros(2, np.uint32)
    count, total, result = step(4, ones, key, ones, np.int8(1), ones, 0.5).values()
    assert count == 5 and result == 2
    np.testing.assert_array_equal(total, 1.5 * ones)


def test_a_program_for_another_platform():
    message = "other.jax: the program was exported for cuda, not for the CPU"
    with pytest.raises(treadle.UnimplementedError, match=message):
        treadle.load(MODELS / "other.jax")


def test_files_that_lie():
    """Bytes around the artifact are changed, or the end is missing: a program or an error."""
    begin = STEP.index(b"ML\xefR")
    places = [*range(min(begin, 400)), *range(max(begin, len(STEP) - 900), len(STEP))]
    files = [STEP[:end] for end in range(1, len(STEP), 97)]
    for place in places:
        for change in (0x01, 0x80, 0xFF):
            damaged = bytearray(STEP)
            damaged[place] ^= change
            files.append(bytes(damaged))
    errors = set()
    for file in files:
        try:
            treadle.Graph.from_bytes(file)
        except treadle.Error as error:
            errors.add(str(error).split(":")[0])
    assert "the file of jax.export is corrupted or truncated" in errors


PROGRAM = """
import sys
import jax, jax.numpy as jnp
from jax import export
folder, version = sys.argv[1], int(sys.argv[2])
jax.config.update("jax_export_calling_convention_version", version)
def f(a, b, *, c):
    return {"sum": a["x"] + a["y"] * c}
shape = jax.ShapeDtypeStruct((2,), jnp.float32)
both = {"x": shape, "y": shape}
exported = export.export(jax.jit(f), platforms=["cuda", "cpu"])(both, shape, c=2)
open(f"{folder}/f.jax", "wb").write(exported.serialize(vjp_order=1))
"""


@pytest.mark.parametrize("version", [9, 10])
def test_files_of_this_jax(version, tmp_path):
    probe = subprocess.run([JAX, "-c", "import jax, flatbuffers"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"{JAX} has no JAX; TREADLE_JAX_PYTHON can name one that has")
    run = [JAX, "-c", PROGRAM, str(tmp_path), str(version)]
    subprocess.run(run, check=True, capture_output=True, timeout=120)
    main = treadle.load(tmp_path / "f.jax").signatures["main"]
    assert list(main.inputs) == ["a_x", "a_y", "arg1", "c"] and list(main.outputs) == ["sum"]
    x = np.float32([1, 2])
    np.testing.assert_array_equal(main(x, x, x, 3)["sum"], 4 * x)
