#!/usr/bin/env python3
"""Compares JAX packages from PyPI on Treadle and on XLA's CPU backend.

Each program of bench/packages runs in two processes, one with JAX_PLATFORMS=cpu and one with
JAX_PLATFORMS=treadle. Packages that a program needs are installed into the Python that runs this
script; JAX keeps its version.

    ./dev bench packages                    all programs
    ./dev bench packages NAME...            only these; 'numpyro_*' is a pattern
    ./dev bench packages --list             their names and packages
    ./dev bench packages --json FILE        write the measurements as well
    ./dev bench packages --xla FOLDER       keep what XLA gives, and use what was kept

A line a program: processor time of a warm call (in the shortest of several batches) and of the
first result (preparation, compilation and a call), peak memory, and XLA's figure divided by
Treadle's (above 1: Treadle is better). Then the geometric means, and the programs that failed or
were skipped. The exit status is 1 if a program fails or gives other values.
"""

import argparse
import contextlib
import fnmatch
import importlib
import importlib.metadata
import importlib.util
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from packages import FIELDS, PROGRAMS, REQUIREMENTS

PLATFORMS = ("cpu", "treadle")
LONG = 4.0  # seconds of warm calls after which nothing more is measured, if FEWEST were
FEWEST = 3
# Seconds that a measurement takes at least, by as many calls: the kernel adds the processor time of
# other threads that still run only at its next tick, so that a short call seems to take less.
BATCH = 0.03


def load_programs():
    for field in FIELDS:
        importlib.import_module(f"packages.{field}")
    return PROGRAMS


# --- in a process of its own ----------------------------------------------------------------------


def processor_seconds(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def run_batch(call, count):
    import jax

    for _ in range(count):
        result = jax.block_until_ready(call())
    return result


def as_arrays(result):
    import jax

    def as_array(leaf):
        if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        return np.asarray(leaf)

    return [as_array(leaf) for leaf in jax.tree.leaves(result)]


def measure_alone(name, calls, folder):
    """Measures a program on this process's platform; writes its values and figures to a folder."""
    import jax

    program = load_programs()[name]
    if program.x64:
        jax.config.update("jax_enable_x64", True)
    for module in program.modules:
        importlib.import_module(module)
    preparation, call = processor_seconds(program.function)
    first, result = processor_seconds(lambda: jax.block_until_ready(call()))
    np.savez(folder / "first.npz", *as_arrays(result))
    start = time.perf_counter()
    jax.block_until_ready(call())
    batch = max(1, math.ceil(BATCH / (time.perf_counter() - start)))
    times, walls = [], []
    while len(times) < FEWEST or (len(times) < calls and sum(walls) < LONG):
        start = time.perf_counter()
        seconds, result = processor_seconds(lambda: run_batch(call, batch))
        walls.append(time.perf_counter() - start)
        times.append(seconds)
    np.savez(folder / "last.npz", *as_arrays(result))
    figures = {
        "warm": min(times) / batch,
        "warm_wall": min(walls) / batch,
        "first": preparation + first,
        "preparation": preparation,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    (folder / "figures.json").write_text(json.dumps(figures))


# --- both platforms -------------------------------------------------------------------------------


class Failed(Exception):
    pass


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    noise = ("For simplicity, JAX has removed", "-----", "I0000", "W0000", "Exception ignored")
    lines = [line for line in lines if not line.startswith(noise)]
    return lines[-1][:300] if lines else "no message"


def run_on(platform, name, args, folder):
    """The figures of a program on a platform; its values are in the folder."""
    if (folder / "figures.json").exists():
        return json.loads((folder / "figures.json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, name, "--alone", str(folder), "--calls", str(args.calls)]
    environment = os.environ | {"JAX_PLATFORMS": platform, "TREADLE_CACHE_DIR": "off"}
    if platform == "treadle":  # MJX and Brax refuse names of platforms that they don't know
        environment["TREADLE_PLATFORM"] = "cpu"
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=args.timeout
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"takes longer than {args.timeout} s") from None
    if done.returncode < 0:
        raise Failed(f"ends by signal {-done.returncode}: {last_line(done.stderr)}")
    if done.returncode:
        raise Failed(last_line(done.stderr))
    return json.loads((folder / "figures.json").read_text())


# Arrays that are smaller than the largest one by this factor may be rounding errors.
SMALL = 1e-3


def magnitude(array):
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max(initial=0))


def largest_difference(expected, got):
    """Between two lists of arrays, relative to the largest magnitude of each array."""
    if len(expected) != len(got):
        raise Failed(f"returns {len(got)} arrays, expected {len(expected)}")
    least = SMALL * max(map(magnitude, expected), default=0.0)
    return max((difference(a, b, least) for a, b in zip(expected, got, strict=True)), default=0.0)


def difference(a, b, least):
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Failed(f"returns {b.dtype}{list(b.shape)}, expected {a.dtype}{list(a.shape)}")
    if not a.size:
        return 0.0
    kind = complex if a.dtype.kind == "c" else float
    a, b = a.astype(kind), b.astype(kind)
    scale = max(magnitude(a), least) or 1
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0, np.abs(a - b)) / scale
    return math.inf if np.isnan(apart).any() else float(apart.max())


def load_values(folder, stage):
    with np.load(folder / f"{stage}.npz") as values:
        return [values[name] for name in values.files]


def measure(name, args):
    """The figures of a program on both platforms, and the largest difference of its values."""
    with tempfile.TemporaryDirectory() as temporary:
        folders = {platform: pathlib.Path(temporary) / platform for platform in PLATFORMS}
        if args.xla:
            folders["cpu"] = args.xla / name
        row = {"name": name}
        for platform, folder in folders.items():
            try:
                row[platform] = run_on(platform, name, args, folder)
            except Failed as failure:
                row["failure"] = f"{platform}: {failure}"
                return row
        expected = load_values(folders["cpu"], "first")
        try:
            row["difference"] = max(
                largest_difference(expected, load_values(folders["treadle"], stage))
                for stage in ("first", "last")
            )
        except Failed as failure:
            row["failure"] = f"treadle: {failure}"
            return row
    tolerance = PROGRAMS[name].tolerance
    if row["difference"] > tolerance:
        row["failure"] = f"values differ by {row['difference']:.2g}, more than {tolerance:.2g}"
    return row


# --- installation ---------------------------------------------------------------------------------


def install(module):
    """Installs what provides a module; returns why that failed, or None."""
    requirement = REQUIREMENTS[module]
    jax_version = importlib.metadata.version("jax")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write(f"jax=={jax_version}\njaxlib=={jax_version}\n")
        constraints.flush()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--prefer-binary"]
        command += ["--constraint", constraints.name, requirement]
        done = subprocess.run(command, capture_output=True, text=True)
    if not done.returncode:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return f"{requirement} doesn't install: {(errors or ['no message'])[0]}"


def missing_packages(names):
    """Installs the packages of programs; returns the reasons why some are missing, by module."""
    modules = {module.partition(".")[0] for name in names for module in PROGRAMS[name].modules}
    importlib.invalidate_caches()
    absent = sorted(m for m in modules if importlib.util.find_spec(m) is None)
    reasons = {}
    for module in absent:
        print(f"bench: installing {REQUIREMENTS[module]}", file=sys.stderr)
        reasons[module] = install(module)
    return {module: reason for module, reason in reasons.items() if reason}


def reason_to_skip(name, missing):
    tops = [module.partition(".")[0] for module in PROGRAMS[name].modules]
    return next((missing[top] for top in tops if top in missing), None)


# --- the table ------------------------------------------------------------------------------------

HEADER = (
    f"{'':28} {'warm call, ms':^26} {'first result, s':^23} {'peak memory, MB':^20} difference\n"
    f"{'':28} {'XLA':>9} {'Treadle':>9} {'ratio':>6} {'XLA':>8} {'Treadle':>7} {'ratio':>6} "
    f"{'XLA':>6} {'Treadle':>7} {'ratio':>5}"
)


def ratio(row, figure):
    return row["cpu"][figure] / row["treadle"][figure]


def line_of(row):
    if "treadle" not in row:
        return f"{row['name']:28} {row['failure']}"
    xla, own = row["cpu"], row["treadle"]
    return (
        f"{row['name']:28} {xla['warm'] * 1e3:9.3f} {own['warm'] * 1e3:9.3f} "
        f"{ratio(row, 'warm'):6.2f} {xla['first']:8.2f} {own['first']:7.2f} "
        f"{ratio(row, 'first'):6.2f} {xla['memory']:6.0f} {own['memory']:7.0f} "
        f"{ratio(row, 'memory'):5.2f} {row.get('difference', math.nan):9.1e}"
        + ("  FAILED" if "failure" in row else "")
    )


def print_summary(rows, skipped):
    ran = [row for row in rows if "failure" not in row]
    if ran:
        print(f"\nGeometric means of {len(ran)} programs, XLA's figure divided by Treadle's:")
    for figure, title in (("warm", "warm"), ("first", "first result"), ("memory", "memory")):
        ratios = [ratio(row, figure) for row in ran]
        if ratios:
            below = sum(value < 1 for value in ratios)
            print(f"  {title:13} {statistics.geometric_mean(ratios):5.2f}, below 1: {below}")
    for row in rows:
        if "failure" in row:
            print(f"failed: {row['name']}: {row['failure']}")
    for name, reason in skipped.items():
        print(f"skipped: {name}: {reason}")


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench packages",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; may be patterns")
    parser.add_argument("--list", action="store_true", help="print the programs' names")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write figures to FILE")
    parser.add_argument(
        "--xla",
        type=pathlib.Path,
        metavar="FOLDER",
        help="keep XLA's figures and values in FOLDER, and use those that are there; "
        "remove it when programs, packages or the machine change",
    )
    parser.add_argument(
        "--calls", type=int, default=20, help="warm measurements at most (default 20)"
    )
    parser.add_argument("--timeout", type=int, default=300, help="seconds a process may take")
    parser.add_argument("--alone", type=pathlib.Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def chosen(names):
    """The programs that match the names or patterns, in the order of their definition."""
    for name in names:
        if not fnmatch.filter(PROGRAMS, name):
            known = ", ".join(PROGRAMS)
            sys.exit(f"bench: there is no program '{name}', expected one of {known}")
    return [p for p in PROGRAMS if not names or any(fnmatch.fnmatch(p, n) for n in names)]


def main():
    args = parse()
    load_programs()
    if args.alone:
        return measure_alone(args.names[0], args.calls, args.alone)
    names = chosen(args.names)
    if args.list:
        for name in names:
            print(f"{name:28} {', '.join(PROGRAMS[name].modules)}")
        return
    missing = missing_packages(names)
    skipped = {name: reason for name in names if (reason := reason_to_skip(name, missing))}
    print(HEADER, flush=True)
    rows = []
    with contextlib.suppress(KeyboardInterrupt):
        for name in names:
            if name in skipped:
                continue
            rows.append(measure(name, args))
            print(line_of(rows[-1]), flush=True)
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1))
    print_summary(rows, skipped)
    sys.exit(any("failure" in row for row in rows))


if __name__ == "__main__":
    main()
