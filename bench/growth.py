#!/usr/bin/env python3
"""Measures how the cost of each command grows with the size of a graph: families of graphs times
commands, tiers and passes.

    ./dev bench growth                            everything, in about half an hour
    ./dev bench growth --only loops --command run the runs of the families with 'loops' in the name
    ./dev bench growth --list                     the families and commands

Sizes grow in steps of four until a command takes long enough to measure. Printed are the size, the
cost and the memory at the largest, and the exponent of growth between the two largest: 1 if the
cost is proportional to the size, 2 if it is quadratic. The cost of a graph of the smallest size is
taken off before. An exponent above 1.3 is marked with '!'. Costs are instructions if `perf` counts
them, else processor time. A steep one is measured several times, and the minima count.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import shutil
import subprocess
import tempfile

from growing_graphs import FAMILIES

ROOT = pathlib.Path(__file__).absolute().parent.parent
PROGRAM = ROOT / "build" / "release" / "bin" / "treadle"
RESULTS = ROOT / "bench" / "results" / "growth.json"
STEP = 4
TOO_STEEP = 1.3
TIME_LIMIT = 120

PASSES = ["tfg-default", "tfg-inference", "tfg-inline", "tfg-v1-to-functional", "tfg-cf-sink"]
DIFFERENT = 1  # the exit status of `diff` and `check` if they find something


@dataclasses.dataclass(frozen=True)
class Input:
    """A graph in files, and the options with which it runs."""

    path: pathlib.Path
    renamed: pathlib.Path
    run: list
    is_program: bool


def write(graph, folder):
    """Writes the graph, and the same with other names, in the formats that are read fastest."""
    paths = []
    for name, prefix in (("graph", ""), ("renamed", "other/")):
        path = folder / (name + graph.suffix)
        path.write_text(graph.text(prefix))
        if not graph.program:
            binary = path.with_suffix(".pb")
            subprocess.run([PROGRAM, "convert", path, binary, "--quiet"], check=True)
            path = binary
        paths.append(path)
    options = [f"--{kind}={','.join(names)}" for kind, names in chosen_outputs(graph) if names]
    options += [f"--input={name}={value}" for name, value in graph.inputs.items()]
    return Input(*paths, options, bool(graph.program))


def chosen_outputs(graph):
    return ("fetch", graph.fetches), ("target", graph.targets)


def run_in(tier):
    return lambda given, out: ["run", given.path, "--tier", tier, *given.run]


def passing(pipeline):
    """The command that applies a pipeline; passes work on GraphDefs only."""

    def command(given, out):
        if given.is_program:
            return None
        return ["convert", given.path, out / "out.pb", "--passes", pipeline]

    return command


COMMANDS = {
    "run": run_in("interpret"),
    "run jit": run_in("jit"),
    "show": lambda given, out: ["show", given.path],
    "check": lambda given, out: ["check", given.path],
    "explain": lambda given, out: ["explain", given.path],
    "view": lambda given, out: ["view", given.path, "--output", out / "page.html"],
    "diff": lambda given, out: None if given.is_program else ["diff", given.path, given.renamed],
    "convert": lambda given, out: ["convert", given.path, out / "out.mlir"],
    **{pipeline: passing(pipeline) for pipeline in PASSES},
}


# --- cost -----------------------------------------------------------------------------------------


class Failed(Exception):
    """The command doesn't work on the graph; the last line that it printed."""


@dataclasses.dataclass(frozen=True)
class Cost:
    work: float  # instructions, or seconds
    seconds: float  # of processor time
    megabytes: float  # the most at once


def counts_instructions():
    if not shutil.which("perf"):
        return False
    done = subprocess.run(["perf", *COUNTED, "true"], capture_output=True, text=True)
    return done.returncode == 0 and done.stderr.partition(",")[0].isdigit()


COUNTED = ["stat", "-x,", "-e", "instructions:u"]


def cost_once(arguments, perf):
    """The cost of one process."""
    words = [str(word) for word in (PROGRAM, *arguments, "--quiet")]
    with tempfile.TemporaryFile() as errors, tempfile.NamedTemporaryFile("r") as counted:
        counter = ["perf", *COUNTED, "-o", counted.name] if perf else []
        started = subprocess.Popen(
            ["timeout", str(TIME_LIMIT), *counter, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "TREADLE_CACHE_DIR": ""},
        )
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        if started.returncode not in (0, DIFFERENT if arguments[0] in ("diff", "check") else 0):
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            raise Failed(lines[-1][:200] if lines else f"exit status {started.returncode}")
        seconds = usage.ru_utime + usage.ru_stime
        lines = [line for line in counted if "instructions" in line]
        work = float(lines[0].partition(",")[0]) if perf else seconds
    return Cost(work, seconds, usage.ru_maxrss / 1024)


def exponent(smaller, larger, start):
    """How the cost grows between two sizes, of which one is STEP times the other."""
    return math.log((larger.work - start.work) / (smaller.work - start.work), STEP)


# --- growth ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Growth:
    family: str
    command: str
    size: int = 0
    seconds: float = 0
    megabytes: float = 0
    exponent: float | None = None
    error: str = ""

    def mark(self):
        return "!" if self.error or (self.exponent or 0) > TOO_STEEP else ""


def make(family, size, folder):
    return write(family.make(size), folder)


class Inputs:
    """The graphs of a family, each of which is made once."""

    def __init__(self, family, folder):
        self.family, self.folder, self.made = family, folder, {}

    def __getitem__(self, size):
        if size not in self.made:
            (self.folder / str(size)).mkdir()
            # In another process: the memory of this one counts as that of those that it starts.
            with concurrent.futures.ProcessPoolExecutor(max_workers=1) as worker:
                made = worker.submit(make, self.family, size, self.folder / str(size))
                self.made[size] = made.result()
        return self.made[size]


def grow(inputs, growth, settings):
    """Measures a command at growing sizes, up to the first that takes `settings.seconds`."""
    costs = {}

    def measure(size):
        given = inputs[size]
        new = cost_once(COMMANDS[growth.command](given, inputs.folder), settings.perf)
        costs[size] = min(new, costs.get(size, new), key=lambda each: each.work)

    size, family = inputs.family.first, inputs.family
    try:
        while size <= family.last and (
            len(costs) < 3 or costs[growth.size].seconds < settings.seconds
        ):
            measure(size)
            growth.size, size = size, size * STEP
        growth.exponent = last_exponent(costs, settings)
        for _ in range(settings.repeat - 1):
            if (growth.exponent or 0) > TOO_STEEP:
                for again in list(costs)[-2:]:
                    measure(again)
                growth.exponent = last_exponent(costs, settings)
    except Failed as failure:
        growth.error = f"at {size}: {failure}"
    if costs:
        largest = costs[growth.size]
        growth.seconds, growth.megabytes = round(largest.seconds, 3), round(largest.megabytes)
    return growth


def last_exponent(costs, settings):
    """The exponent between the two largest sizes, or None if the smaller one costs too little."""
    start, *_, smaller, larger = costs.values() if len(costs) > 2 else [None] * 3
    if not start or smaller.seconds - start.seconds < settings.least:
        return None
    return round(exponent(smaller, larger, start), 2)


def applies(command, given):
    return COMMANDS[command](given, given.path.parent) is not None


def head():
    return f"{'family':<20}{'command':<22}{'size':>9}{'seconds':>9}{'MB':>7}{'exponent':>10}"


def line(growth):
    size = f"{growth.size:>9,}{growth.seconds:>9.2f}{growth.megabytes:>7.0f}"
    steepness = "-" if growth.exponent is None else f"{growth.exponent:.2f}"
    start = f"{growth.family:<20}{growth.command:<22}"
    return f"{start}{size}{steepness:>10} {growth.mark()} {growth.error}".rstrip()


def growths(args):
    """Measures what is chosen."""
    for name, family in FAMILIES.items():
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            inputs = Inputs(family, pathlib.Path(scratch))
            for command in COMMANDS:
                if args.command in command and applies(command, inputs[family.first]):
                    yield grow(inputs, Growth(name, command), args)


def list_all():
    for name, family in FAMILIES.items():
        print(f"{name:<20}{family.summary}")
    print("\ncommands:", ", ".join(COMMANDS))


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="only families with this in their names")
    parser.add_argument("--command", default="", help="only commands with this in their names")
    parser.add_argument("--list", action="store_true", help="print families and commands")
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="stop at a size that takes this; default: 0.5"
    )
    parser.add_argument(
        "--least",
        type=float,
        default=0.03,
        help="seconds below which a cost gives no exponent; default: 0.03",
    )
    parser.add_argument("--repeat", type=int, default=3, help="processes of steep ones; default: 3")
    parser.add_argument(
        "--save", action="store_true", help=f"write all to {RESULTS.relative_to(ROOT)}"
    )
    return parser.parse_args()


def main():
    args = parse()
    if args.list:
        return list_all()
    args.perf = counts_instructions()
    print("exponents of", "instructions" if args.perf else "processor time")
    print(head())
    rows = []
    for growth in growths(args):
        rows.append(growth)
        print(line(growth), flush=True)
    print(f"{sum(row.mark() == '!' for row in rows)} of {len(rows)} grow faster or fail")
    if args.save:
        lines = ",\n".join(json.dumps(dataclasses.asdict(row)) for row in rows)
        RESULTS.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
