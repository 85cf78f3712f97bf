"""What ./dev does for its users; builds and installations aside."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture
def dev(tmp_path):
    """Calls a ./dev whose builds are those of this tree; its ninja only writes down what it is
    asked to build, and no lock of this tree is taken."""
    shutil.copy(ROOT / "dev", tmp_path)
    for name in ("scripts", "CMakePresets.json", "treadle", "test", "bench", "fuzz", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").mkdir()
    for name in ("venv", "release"):
        (tmp_path / "build" / name).symlink_to(ROOT / "build" / name)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ninja").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/built\n')
    (tools / "cmake").write_text("#!/bin/sh\nexit 1\n")  # the build is configured already
    for tool in tools.iterdir():
        tool.chmod(0o755)

    def call(*args, **options):
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        environment.pop("PYTHONPATH", None)
        return subprocess.run(
            [tmp_path / "dev", *args],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            **options,
        )

    return call


def test_python_finds_the_package_and_numpy(dev, tmp_path):
    program = "import sys, numpy, treadle; print(sys.argv[1:], treadle.__file__); sys.exit(3)"
    done = dev("python", "-c", program, "a b", "--c")
    package = tmp_path / "build/release/python/treadle/__init__.py"
    assert (done.stdout, done.returncode) == (f"['a b', '--c'] {package}\n", 3), done.stderr
    assert re.search(r"/build/release .*\btreadle_python$", (tmp_path / "built").read_text())


@pytest.mark.parametrize("preset", ["asan", "tsan"])
def test_what_a_sanitizer_build_borrows_is_built_first(dev, tmp_path, preset):
    dev("build", preset)  # which isn't configured here
    assert re.search(r"/build/release .*\btreadle-lent$", (tmp_path / "built").read_text())


def test_the_lines_of_the_readme_run_at_the_prompt(dev):
    text = (ROOT / "README.md").read_text()
    lines = re.search(r"^    \./dev python .*\n((?:    >>> .*\n)+)", text, re.MULTILINE)[1]
    prompt = "".join(line.removeprefix("    >>> ") + "\n" for line in lines.splitlines())
    done = dev("python", "-i", "-q", input=prompt)
    assert "[array(0, dtype=int32)]" in done.stdout, done.stderr
    assert "'calls': array(11)" in done.stdout, done.stderr
    assert "Error" not in done.stderr


def test_help_says_how_python_is_called(dev):
    assert re.search(r"^  python \[ARGS\] ", dev("help").stdout, re.MULTILINE)
