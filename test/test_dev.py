"""The commands of ./dev, except builds and installations."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("bench_run", ROOT / "bench" / "run.py")
bench_run = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = bench_run  # dataclasses look for their module there
spec.loader.exec_module(bench_run)


@pytest.fixture
def dev(tmp_path):
    """Calls a copy of ./dev that uses the builds of this tree.

    Its ninja only records the targets, and it doesn't take this tree's lock.
    """
    shutil.copy(ROOT / "dev", tmp_path)
    for name in ("scripts", "CMakePresets.json", "treadle", "test", "bench", "fuzz", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").mkdir()
    for name in ("venv", "release"):
        (tmp_path / "build" / name).symlink_to(ROOT / "build" / name)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ninja").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/built\n')
    (tools / "cmake").write_text("#!/bin/sh\nexit 1\n")  # the build is configured
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
def test_a_sanitizer_build_builds_what_it_borrows_first(dev, tmp_path, preset):
    dev("build", preset)  # it isn't configured here
    assert re.search(r"/build/release .*\btreadle-lent$", (tmp_path / "built").read_text())


def test_the_readmes_session_runs_at_the_prompt(dev):
    text = (ROOT / "README.md").read_text()
    lines = re.search(r"^    \./dev python .*\n((?:    >>> .*\n)+)", text, re.MULTILINE)[1]
    prompt = "".join(line.removeprefix("    >>> ") + "\n" for line in lines.splitlines())
    done = dev("python", "-i", "-q", input=prompt)
    assert "[array(0, dtype=int32)]" in done.stdout, done.stderr
    assert "'calls': array(11)" in done.stdout, done.stderr
    assert "Error" not in done.stderr


@pytest.fixture
def checkout(dev, tmp_path):
    """The copy of ./dev in a git repository, where it has linted once."""
    for name in (".githooks", ".gitmessage"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "scripts").unlink()  # a link would check all files of this tree
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    dev("lint", "--fast")  # whose findings don't matter here
    return tmp_path


def configured(checkout, name):
    command = ["git", "-C", checkout, "config", name]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def test_the_first_verb_installs_the_hooks(dev, checkout):
    assert configured(checkout, "core.hooksPath") == ".githooks"
    assert configured(checkout, "commit.template") == ".gitmessage"
    assert all(os.access(hook, os.X_OK) for hook in (ROOT / ".githooks").iterdir())


def test_hooks_of_ones_own_stay(dev, checkout):
    subprocess.run(["git", "-C", checkout, "config", "core.hooksPath", "mine"], check=True)
    dev("lint", "--fast")
    assert configured(checkout, "core.hooksPath") == "mine"


def test_the_hook_refuses_a_long_subject(checkout):
    (checkout / ".githooks").unlink()
    shutil.copytree(ROOT / ".githooks", checkout / ".githooks")
    (checkout / ".githooks" / "pre-commit").unlink()
    name = ["-c", "user.name=n", "-c", "user.email=e"]
    commit = ["git", "-C", checkout, *name, "commit", "-q", "--allow-empty", "-m"]
    long = subprocess.run([*commit, "x" * 73], capture_output=True, text=True)
    assert long.returncode == 1
    assert "has 73 characters; write at most 72" in long.stderr
    short = subprocess.run([*commit, "area: change"], capture_output=True, text=True)
    assert short.returncode == 0, short.stderr


def test_help_says_how_python_is_called(dev):
    assert re.search(r"^  python \[ARGS\] ", dev("help").stdout, re.MULTILINE)


def test_bench_lists_its_benchmarks(dev, tmp_path):
    done = dev("bench", "--help")
    listed = re.findall(r"^  \./dev bench ?(\w*)", done.stdout, re.MULTILINE)
    assert listed == ["", *bench_run.BENCHMARKS], done.stderr
    assert "usage: ./dev bench [-h] [--only TEXT]" in done.stdout
    assert not (tmp_path / "built").exists()


@pytest.mark.parametrize("name", bench_run.BENCHMARKS)
def test_help_of_a_benchmark_installs_nothing(dev, tmp_path, name):
    done = dev("bench", name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: ./dev bench {name} [-h]")
    assert not (tmp_path / "built").exists()
    assert {f.name for f in (tmp_path / "build").iterdir()} == {"venv", "release"}


def test_an_unknown_benchmark_is_an_error_that_lists_them(dev, tmp_path):
    done = dev("bench", "model")
    message = "bench: unknown benchmark 'model', expected one of models, first, loops"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)


@pytest.mark.parametrize(
    "arguments, needs",
    [
        ([], ["venv bench-venv bench/requirements.txt"]),
        (["--only", "while"], ["venv bench-venv bench/requirements.txt"]),
        (["models", "FOLDER"], ["venv bench-venv bench/requirements.txt"]),
        (["written", "jax"], ["venv loops-venv bench/requirements-loops.txt"]),
        (["written", "torch"], ["venv torch-venv scripts/requirements-torch.txt"]),
        (
            ["accuracy"],
            [
                "venv loops-venv bench/requirements-loops.txt",
                "venv torch-venv scripts/requirements-torch.txt",
            ],
        ),
        (["view", "x.pb"], ["browser", "venv view-bench-venv bench/requirements-view.txt"]),
    ],
)
def test_a_benchmark_says_what_it_needs(capsys, arguments, needs):
    bench_run.print_needs(arguments)
    assert capsys.readouterr().out.splitlines() == needs


def test_every_benchmark_has_a_script_and_its_requirements_exist():
    assert all((ROOT / "bench" / f"{name}.py").is_file() for name in bench_run.BENCHMARKS)
    assert all((ROOT / file).is_file() for _, file in bench_run.VENVS.values())
