#!/usr/bin/env python3
"""Runs a benchmark in the environment that it needs: `./dev bench [NAME] [ARGS]`.

    run.py [NAME] [ARGS]            run it; the environment is in build/
    run.py --needs [NAME] [ARGS]    print what ./dev installs before: `venv FOLDER REQUIREMENTS`
                                    or `browser`, one a line; nothing if ARGS ask for help

Without NAME the benchmark is bench.py, which compares graphs with TensorFlow.
"""

import dataclasses
import importlib.abc
import importlib.machinery
import os
import pathlib
import runpy
import sys
import unittest.mock

ROOT = pathlib.Path(__file__).absolute().parent.parent
BENCH = ROOT / "bench"
DEFAULT = "bench"
HELP = {"-h", "--help"}

# The folder below build/, and the requirements that it is made from.
VENVS = {
    "development": ("venv", "scripts/requirements.txt"),
    "tensorflow": ("bench-venv", "bench/requirements.txt"),
    "loops": ("loops-venv", "bench/requirements-loops.txt"),
    "torch": ("torch-venv", "scripts/requirements-torch.txt"),
    "packages": ("packages-venv", "bench/requirements-packages.txt"),
    "deploy": ("deploy-venv", "scripts/requirements-deploy.txt"),
    "view": ("view-bench-venv", "bench/requirements-view.txt"),
}


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A script of this folder that has the benchmark's name."""

    arguments: str
    summary: str
    venv: str = "tensorflow"  # the one that runs it
    others: tuple[str, ...] = ()  # those of the processes that it starts
    needs_browser: bool = False


BENCHMARKS = {
    "models": Benchmark(
        "FOLDER", "SavedModels, in TensorFlow, XLA, ONNX Runtime, OpenVINO and LiteRT"
    ),
    "first": Benchmark("FOLDER", "time from the start of a process to a SavedModel's first result"),
    "loops": Benchmark(
        "[FOLDER]", "loops, in JAX, TensorFlow, XLA, ONNX Runtime and IREE", venv="loops"
    ),
    "written": Benchmark(
        "FRAMEWORK", "idiomatic loops of jax, tensorflow or torch, in that framework", venv="loops"
    ),
    "nets": Benchmark(
        "[NET...]", "PyTorch nets, forward and training, in eager and inductor", venv="torch"
    ),
    "overlap": Benchmark(
        "[STEP...]", "distributed training steps on slow links, with four schedules", venv="torch"
    ),
    "factors": Benchmark("[NAME...]", "matrix factorizations, in numpy"),
    "accuracy": Benchmark(
        "[OP...]",
        "rounding errors of sums and products, in numpy, JAX, TensorFlow and PyTorch",
        venv="loops",
        others=("torch",),
    ),
    "growth": Benchmark(
        "", "how the cost of commands and passes grows with a graph", venv="development"
    ),
    "packages": Benchmark(
        "[NAME...]", "programs that use JAX packages from PyPI, in XLA", venv="packages"
    ),
    "deploy": Benchmark(
        "", "calls of a served model, in ONNX Runtime under MLServer", venv="deploy"
    ),
    "view": Benchmark(
        "MODEL...",
        "time until a graph is drawn, in Netron and Model Explorer",
        venv="view",
        needs_browser=True,
    ),
}
TENSORFLOW = Benchmark("", "graphs, in TensorFlow")


def chosen(words):
    """The benchmark's name, the benchmark, and its arguments."""
    if not words or words[0].startswith("-"):
        return DEFAULT, TENSORFLOW, words
    name, *arguments = words
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        print(f"bench: unknown benchmark '{name}', expected one of {known}", file=sys.stderr)
        sys.exit(2)
    benchmark = BENCHMARKS[name]
    if name == "written" and arguments[:1] == ["torch"]:
        benchmark = dataclasses.replace(benchmark, venv="torch")
    return name, benchmark, arguments


def print_needs(words):
    _, benchmark, arguments = chosen(words)
    if HELP & set(arguments):
        return
    if benchmark.needs_browser:
        print("browser")
    for venv in (benchmark.venv, *benchmark.others):
        print("venv", *VENVS[venv])


# --- help, without the environments ---------------------------------------------------------------


class Placeholders(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a mock for every package that Python's library and this project don't have.

    Benchmarks import what they measure before they read their arguments. Help must not need these
    packages, and must be what the benchmark's own parser prints.
    """

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.stdlib_module_names:
            return None
        own = importlib.machinery.PathFinder.find_spec(name, path)
        if own and own.origin and pathlib.Path(own.origin).resolve().is_relative_to(ROOT.resolve()):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return unittest.mock.MagicMock(__spec__=spec, __path__=[])

    def exec_module(self, module):
        pass


def print_help(name):
    if name == DEFAULT:
        print_benchmarks()
    sys.meta_path.insert(0, Placeholders())
    sys.path.insert(0, str(BENCH))
    sys.argv = [f"{name}.py", "--help"]
    runpy.run_path(str(BENCH / f"{name}.py"), run_name="__main__")


def print_benchmarks():
    print("Compares the speed and accuracy of Treadle with those of other engines. Benchmarks:\n")
    rows = {"": TENSORFLOW} | BENCHMARKS
    for name, benchmark in rows.items():
        print(f"  {f'./dev bench {name} {benchmark.arguments}'.strip():<29}  {benchmark.summary}")
    print("\n'./dev bench NAME --help' lists the options of a benchmark; those without NAME:\n")


# --- running --------------------------------------------------------------------------------------


def run(words):
    name, benchmark, arguments = chosen(words)
    if HELP & set(arguments):
        return print_help(name)
    if name == DEFAULT:
        program = ROOT / "build" / "release" / "bin" / "treadle"
        arguments = ["--treadle", program, "--cache", ROOT / "build" / "bench", *arguments]
    python = ROOT / "build" / VENVS[benchmark.venv][0] / "bin" / "python"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "release" / "python")}
    os.execve(python, [python, BENCH / f"{name}.py", *arguments], environment)


def main(words):
    if words[:1] == ["--needs"]:
        print_needs(words[1:])
    else:
        run(words)


if __name__ == "__main__":
    main(sys.argv[1:])
