"""The changes that CONTRIBUTING.md shows apply to the sources as they are, and compile."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
BUILD = ROOT / "build" / "release"
DIFF = re.compile(r"^ *```diff\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The sources with all the changes of the page."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "treadle", folder / "treadle")
    for found in DIFF.finditer(PAGE):
        lines = [line[3:] for line in found[1].split("\n")]
        text = "\n".join(line or " " for line in lines[:-1]) + "\n"
        done = subprocess.run(
            ["patch", "-p1", "--fuzz=2"], cwd=folder, input=text, text=True, capture_output=True
        )
        assert done.returncode == 0, text + done.stdout
    return folder


def test_an_op_is_a_row_and_a_line(copy, tmp_path):
    ops = copy / "treadle" / "ops"
    tables = [ops / name for name in ("OpTable.txt", "OwnOps.txt", "OpFacts.txt")]
    arguments = re.search(
        r"generate\.py\s+(.*?)\n\s*DEPENDS", (ops / "CMakeLists.txt").read_text(), re.DOTALL
    )
    assert all(table.name in arguments[1] for table in tables)
    generate = [sys.executable, "-B", ops / "generate.py"]
    subprocess.run([*generate, *tables, tmp_path / "Tables.cpp"], check=True)
    # The row is of an op that is there by the line alone.
    tables[1] = ROOT / "treadle" / "ops" / "OwnOps.txt"
    done = subprocess.run([*generate, *tables, tmp_path / "Tables.cpp"], capture_output=True)
    assert done.returncode != 0 and b"_Thrice" in done.stderr + done.stdout


def flags_of(source):
    """Returns the flags with which the release build compiles the file, or its batch."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    folder = str(pathlib.PurePath(source).parts[1])
    near = [e for e in entries if f"/treadle_{folder}.dir/" in e["command"]]
    words = shlex.split(near[0]["command"])
    kept = [w for w in words if w.startswith(("-I", "-std=", "-march", "-ffp", "-W", "-D"))]
    system = [w for i, w in enumerate(words) if "-isystem" in (w, words[i - 1])]
    compiler = next(w for w in words if "clang++" in w)
    return [compiler, *kept, *system]


def test_a_kernel_compiles(copy):
    source = "treadle/kernels/elementwise/ElementwiseUnary.cpp"
    compiler, *flags = flags_of(source)
    command = [compiler, f"-I{copy}", *flags, "-fsyntax-only", copy / source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_pass_is_defined(copy):
    """The code that TableGen generates from the definition has the pass's base class."""
    tblgen = "/usr/lib/llvm-22/bin/mlir-tblgen"
    if not pathlib.Path(tblgen).exists():
        pytest.skip("mlir-tblgen is not there")
    passes = copy / "treadle" / "transforms" / "Passes.td"
    command = [tblgen, "-gen-pass-decls", "-name", "Treadle", "-I", "/usr/lib/llvm-22/include"]
    done = subprocess.run([*command, passes], capture_output=True, text=True)
    assert "class ForgetDevicesBase" in done.stdout, done.stderr


def test_files_that_the_page_names_are_there():
    named = re.findall(r"`((?:treadle|test|fuzz|bench)/[\w/.]+)`", PAGE)
    missing = [
        name for name in named if not (ROOT / name).exists() and "forget_devices" not in name
    ]
    assert len(named) > 10 and missing == []
