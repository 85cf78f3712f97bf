"""The wheel: installed into a folder of its own, without anything of the build."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TENSORFLOW_PYTHON = os.environ.get("TREADLE_TENSORFLOW_PYTHON") or sys.executable
# By manylinux: zlib is what Python itself needs to read a wheel.
OF_EVERY_LINUX = ("libc.", "libm.", "libstdc++", "libgcc_s", "libdl", "libz.")
COUNTDOWN = ROOT / "examples" / "countdown.pbtxt"


def finished(*command, **options):
    return subprocess.run([str(c) for c in command], text=True, capture_output=True, **options)


def run(*command, **options):
    done = finished(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def load(file):
    spec = importlib.util.spec_from_file_location(f"{file.stem}_script", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load(ROOT / "scripts" / "wheel.py")


def newer_pythons():
    """Returns the Pythons on PATH that the module of the stable ABI supports."""
    names = [f"python3.{minor}" for minor in range(12, 20)]
    there = filter(shutil.which, names)  # a shim may exist for one that isn't
    return [name for name in there if finished(name, "-c", "").returncode == 0]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pythons = [*newer_pythons(), sys.executable]
    run(sys.executable, ROOT / "scripts" / "wheel.py", folder, *pythons)
    (made,) = folder.glob("treadle-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, wheel)
    return folder


def environment(installed):
    return os.environ | {"PYTHONPATH": str(installed), "TREADLE_CACHE_DIR": ""}


def test_package_runs_a_graph(installed):
    code = f"""
import treadle
print(treadle.__file__, treadle.__version__)
print(treadle.Session({str(COUNTDOWN)!r}).run("count:0"))
"""
    where, _, count = run(sys.executable, "-c", code, env=environment(installed)).split()
    assert where.startswith(str(installed))
    assert count == "0"


def test_command_runs_a_graph(installed):
    command = installed / "bin" / "treadle"
    out = run(command, "run", COUNTDOWN, "--fetch", "count:0", env=environment(installed))
    assert out == "count:0: int32[] = 0\n"


def test_torch_finds_the_backend(installed):
    code = """
from importlib.metadata import entry_points
print([e.value for e in entry_points(group="torch_dynamo_backends") if e.name == "treadle"])
"""
    out = run(sys.executable, "-c", code, env=environment(installed))
    assert out == "['treadle.torch:backend']\n"


@pytest.mark.parametrize("python", newer_pythons())
def test_newer_pythons_load_the_module_of_the_stable_abi(installed, python):
    assert len([*(installed / "treadle").glob("_native.abi3.so")]) == 1
    # Without numpy, which this Python may not have, there is no package.
    code = f"""
import importlib.util as util
spec = util.spec_from_file_location("treadle._native", "{installed}/treadle/_native.abi3.so")
native = util.module_from_spec(spec)
spec.loader.exec_module(native)
print(native.Graph.from_file({str(COUNTDOWN)!r}))
"""
    assert "<treadle.Graph: " in run(python, "-c", code, env=environment(installed))


@pytest.mark.parametrize(
    ("versions", "tags", "requirement"),
    [
        ([10, 11, 12], ["cp310-cp310", "cp311-cp311", "cp312-abi3"], ">=3.10"),
        ([10, 12], ["cp310-cp310", "cp312-abi3"], ">=3.10,!=3.11.*"),
        ([11], ["cp311-cp311"], ">=3.11,<3.12"),
        ([12], ["cp312-abi3"], ">=3.12"),
    ],
)
def test_the_wheel_says_which_pythons_it_serves(versions, tags, requirement):
    assert [SCRIPT.tag_of(v) for v in versions] == tags
    assert SCRIPT.requires_python(versions) == requirement


def test_one_module_is_built_for_all_newer_pythons(monkeypatch):
    versions = {"a": 13, "b": 10, "c": 12}
    monkeypatch.setattr(SCRIPT, "version_of", versions.get)
    assert SCRIPT.modules("abc") == {10: "b", 12: "c"}


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ("3 9", "is Python 3.9, expected 3.10 or newer"),
        ("3 13 t", "has no global lock, which the native module needs; use another"),
    ],
)
def test_pythons_that_no_wheel_serves(told, error, tmp_path):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {told}\n")
    python.chmod(0o700)
    with pytest.raises(SystemExit, match=f"wheel: {python} {error}"):
        SCRIPT.version_of(python)


def test_a_compiled_model_runs_with_the_library_of_the_wheel(installed, tmp_path):
    command = installed / "bin" / "treadle"
    options = ["--fetch", "count:0", "-o", tmp_path / "count.o"]
    run(command, "compile", COUNTDOWN, *options, env=environment(installed))
    (tmp_path / "main.c").write_text("""
#include "count.h"
#include <stdio.h>
int main(void) {
  int start = 5;
  count_run_inputs in = {{.data = &start, .dtype = TREADLE_INT32}};
  count_run_outputs out;
  if (count_run(&in, &out, 0))
    return 1;
  printf("%d\\n", *(const int *)out.count.data);
  count_run_free(&out);
  return 0;
}
""")
    package = installed / "treadle"
    link = [f"-L{package}", f"-Wl,-rpath,{package}", "-l:libtreadle.so.0", "-lm"]
    run("cc", tmp_path / "main.c", tmp_path / "count.o", "-o", tmp_path / "main", *link)
    assert run(tmp_path / "main") == "0\n"


def test_passes_run_inside_tensorflow(installed):
    if finished(TENSORFLOW_PYTHON, "-c", "import tensorflow").returncode:
        pytest.skip("TREADLE_TENSORFLOW_PYTHON can name a Python that has TensorFlow")
    code = """
import tensorflow as tf, treadle.tensorflow
treadle.tensorflow.enable("tfg-cse", log=True)
print(float(tf.function(lambda x: tf.sin(x) + tf.sin(x))(tf.constant(0.0))))
"""
    done = finished(TENSORFLOW_PYTHON, "-c", code, env=environment(installed))
    assert done.stdout == "0.0\n", done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("treadle: ")]
    assert said and all(line.endswith(" after tfg-cse") for line in said), said


def test_libraries_of_the_system_are_inside(installed):
    programs = [*(installed / "treadle" / "bin").iterdir()]
    assert {program.name for program in programs} == {"treadle", "treadle-rewriter"}
    for file in [*installed.rglob("*.so*"), *programs]:
        for line in run("ldd", file).splitlines():
            name, _, found = line.strip().partition(" => ")
            if found and not name.startswith(OF_EVERY_LINUX):
                assert str(installed) in found, f"{file.name}: {line}"


def test_nothing_of_the_build_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert os.fsencode(ROOT) + b"/" not in archive.read(name), name
