"""The wheel: installed into a folder of its own, without anything of the build."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# By manylinux: zlib is what Python itself needs to read a wheel.
OF_EVERY_LINUX = ("libc.", "libm.", "libstdc++", "libgcc_s", "libdl", "libz.")
COUNTDOWN = ROOT / "examples" / "countdown.pbtxt"


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, ROOT / "scripts" / "wheel.py", folder, sys.executable)
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


def test_libraries_of_the_system_are_inside(installed):
    for file in [*installed.rglob("*.so*"), installed / "treadle" / "bin" / "treadle"]:
        for line in run("ldd", file).splitlines():
            name, _, found = line.strip().partition(" => ")
            if found and not name.startswith(OF_EVERY_LINUX):
                assert str(installed) in found, f"{file.name}: {line}"


def test_nothing_of_the_build_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert os.fsencode(ROOT) + b"/" not in archive.read(name), name
