#!/usr/bin/env python3
"""Builds a wheel from build/release: one file for all given Pythons.

wheel.py OUT PYTHON...       names or paths of interpreters

It has the library and the programs once, and the native module for Python 3.10, for 3.11, and for
3.12 and later. auditwheel adds the shared libraries, so users need only Python.
"""

import argparse
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
PLATFORM = "manylinux_2_36_x86_64"  # Debian 12's
NUMPY = "numpy>=1.26"
PROGRAMS = ("treadle", "treadle-rewriter")
PLUGINS = ("libtreadle_pjrt.so", "libtreadle_tensorflow.so")
# Since this version, one module with the stable ABI serves every Python 3.
STABLE = 12
EXTRAS = {"torch": "torch>=2.11", "jax": "jax>=0.7"}

# Finds the command without importing the package, and executes it, unless a PyTorch program has to
# be converted to a model first.
COMMAND = """#!python
import importlib.util
import os
import sys

if any(arg.endswith(".pt2") for arg in sys.argv[1:]):
    from treadle.__main__ import main

    main()
(package,) = importlib.util.find_spec("treadle").submodule_search_locations
program = os.path.join(package, "bin", "treadle")
os.execv(program, [program, *sys.argv[1:]])
"""


def run(*command, **options):
    done = subprocess.run(
        [str(c) for c in command],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )
    if done.returncode:
        sys.exit(f"wheel: '{command[0]}' failed (exit {done.returncode}):\n{done.stdout[-4000:]}")
    return done.stdout


def commit_time():
    """Returns the time stamp of all files in the wheel: equal commits give equal bytes."""
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "315532800"  # no checkout: 1980, before which zip has no times


def project_version():
    return run(BUILD / "library" / "treadle", "--version").split()[1]


def version_of(python):
    """Returns the minor version of an interpreter: 11 for Python 3.11."""
    if not shutil.which(python):
        sys.exit(f"wheel: there is no '{python}', expected the name or path of a Python")
    tell = "import sys; print(*sys.version_info[:2], sys.abiflags)"
    major, minor, *flags = run(python, "-c", tell).split()
    if (int(major), int(minor)) < (3, 10):
        sys.exit(f"wheel: {python} is Python {major}.{minor}, expected 3.10 or newer")
    if "t" in flags:
        sys.exit(f"wheel: {python} has no global lock, which the native module needs; use another")
    return int(minor)


def modules(pythons):
    """Returns the interpreters to build modules with, by version; of several that share a module,
    the oldest."""
    versions = sorted((version_of(python), python) for python in pythons)
    by_version = {}
    for version, python in versions:
        by_version.setdefault(min(version, STABLE), python)
    return by_version


def tag_of(version):
    return f"cp3{version}-" + ("abi3" if version == STABLE else f"cp3{version}")


def requires_python(versions):
    """Returns Requires-Python: without it the tags `cp310.cp312-abi3.cp310` fit Python 3.11 too."""
    *_, last = versions
    lacking = [f"!=3.{v}.*" for v in range(min(versions), last) if v not in versions]
    end = [] if last == STABLE else [f"<3.{last + 1}"]
    return ",".join([f">=3.{min(versions)}", *lacking, *end])


def add_module(python, package, scratch):
    nanobind = run(sys.executable, "-m", "nanobind", "--cmake_dir").strip()
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    run(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        ROOT / "treadle" / "python" / "module",
        "-B",
        folder,
        "-DCMAKE_CXX_COMPILER=clang++-22",
        "-DCMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld",
        f"-DPython_EXECUTABLE={shutil.which(python)}",
        f"-DNANOBIND={nanobind}",
        f"-DTREADLE_BUILD={BUILD}",
        f"-DOUT={package}",
    )
    run("cmake", "--build", folder)


def small_icu_data(folder):
    """Builds a libicudata with the converters alone, which kernels use: 5 MB instead of 31."""
    folder.mkdir()
    run("ar", "x", run("cc", "-print-file-name=libicudata.a").strip(), cwd=folder)
    (object_file,) = folder.iterdir()
    whole = folder / f"{object_file.stem.removesuffix('_dat')}.dat"
    run("objcopy", "-O", "binary", "-j", ".rodata", object_file, whole)
    names = run("icupkg", "-l", whole).split()
    others = folder / "others.txt"
    others.write_text("\n".join(n for n in names if not n.endswith(".cnv") and n != "cnvalias.icu"))
    small = folder / "small"
    small.mkdir()
    run("icupkg", "-r", others, whole, small / whole.name)
    entry = whole.stem.removesuffix("l")  # icudt72 of icudt72l, of little-endian data
    run("genccode", "-a", "gcc", "-e", entry, whole.name, cwd=small)
    (assembly,) = small.glob("*.S")
    library = f"libicudata.so.{entry.removeprefix('icudt')}"
    run("cc", "-shared", "-nostdlib", f"-Wl,-soname,{library}", assembly, "-o", folder / library)


def metadata(version, pythons):
    lines = [
        "Metadata-Version: 2.1",
        "Name: treadle",
        f"Version: {version}",
        "Summary: Runs, reshapes and explains dataflow graphs, without TensorFlow",
        f"Requires-Python: {requires_python(pythons)}",
        f"Requires-Dist: {NUMPY}",
        "Requires-Dist: ml_dtypes>=0.5",
    ]
    for extra, requirement in EXTRAS.items():
        lines += [f"Provides-Extra: {extra}", f'Requires-Dist: {requirement}; extra == "{extra}"']
    text = (ROOT / "README.md").read_text()
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", text])


def assemble(tree, pythons, scratch):
    package = tree / "treadle"
    source = ROOT / "treadle" / "python" / "treadle"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    built = modules(pythons)
    for python in built.values():
        add_module(python, package, scratch)
    shutil.copy(BUILD / "lib" / "libtreadle.so.0", package)
    for name in PLUGINS:
        shutil.copy(BUILD / "python" / "treadle" / name, package)
    (package / "bin").mkdir()
    for name in PROGRAMS:
        shutil.copy(BUILD / "library" / name, package / "bin")
    programs = [*(package / "bin").iterdir()]
    for file in [*package.glob("*.so*"), *programs]:
        run("llvm-strip", file)
    for file in programs:
        run("patchelf", "--set-rpath", "$ORIGIN/..", file)
    run("patchelf", "--set-rpath", "$ORIGIN", package / "libtreadle_pjrt.so")
    version = project_version()
    info = tree / f"treadle-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata(version, built))
    shutil.copy(BUILD / "python" / info.name / "entry_points.txt", info)
    lines = [f"Tag: {tag_of(v)}-linux_x86_64" for v in built]
    (info / "WHEEL").write_text(
        "\n".join(
            ["Wheel-Version: 1.0", "Generator: treadle", "Root-Is-Purelib: false", *lines, ""]
        )
    )
    scripts = tree / f"treadle-{version}.data" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "treadle").write_text(COMMAND)
    (scripts / "treadle").chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--plain", action="store_true", help="without the libraries of the system")
    args = parser.parse_args()
    # The tools of this interpreter's environment, and those of LLVM.
    tools = [str(pathlib.Path(sys.executable).parent), "/usr/lib/llvm-22/bin", "/usr/sbin"]
    os.environ["PATH"] = os.pathsep.join([*tools, os.environ["PATH"]])
    os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time())
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        tree = scratch / "tree"
        assemble(tree, args.pythons, scratch)
        made = scratch / "made"
        made.mkdir()
        run(sys.executable, "-m", "wheel", "pack", tree, "--dest-dir", made)
        (wheel,) = made.iterdir()
        args.out.mkdir(parents=True, exist_ok=True)
        if args.plain:
            shutil.copyfile(wheel, args.out / wheel.name)
        else:
            small_icu_data(scratch / "icu")
            environment = os.environ | {"LD_LIBRARY_PATH": str(scratch / "icu")}
            repair = (
                "repair",
                "--plat",
                PLATFORM,
                "--zip-compression-level",
                9,
                "-w",
                args.out,
                wheel,
            )
            run(sys.executable, "-m", "auditwheel", *repair, env=environment)
    made = max(args.out.glob("treadle-*.whl"), key=lambda w: w.stat().st_mtime_ns)
    print(f"{made}  {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
