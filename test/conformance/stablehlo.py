#!/usr/bin/env python3
"""Runs the programs by which StableHLO tests itself.

FOLDER is a checkout of StableHLO. Its programs check what they compute: those of
stablehlo/testdata, stablehlo/tests/interpret and stablehlo/tests/math, whose files may hold
several. A program passes if all its checks hold. One that takes arguments gets random ones, each
size that it leaves open being 3: it passes if the tiers interpret and jit give the same, and XLA,
too, where --xla names a Python with JAX. It is skipped if its sizes can't all be 3, and so is one
that StableHLO itself has disabled, if it fails here, too. Files about what StableHLO's interpreter
prints and writes are skipped.

    ./dev conformance stablehlo FOLDER
    ./dev conformance stablehlo FOLDER --only tests/interpret --only c64
    ./dev conformance stablehlo FOLDER --files        passed, failed and skipped of each file
    ./dev conformance stablehlo FOLDER --xla PYTHON   compare with XLA what takes arguments
    ./dev conformance stablehlo FOLDER --verifier     load what StableHLO tests its verifier with

With --verifier, programs are those of stablehlo/tests/ops_* and verify_*. One that expects an error
passes if it is one, any other if it is loaded, or if an op that it has is Unimplemented.

The exit status is 1 if a program failed.
"""

import argparse
import collections
import contextlib
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

OF_THE_INTERPRETER = ("tests/interpret/printing.mlir", "tests/interpret/probe.mlir")
PLACES = ("testdata", "tests/interpret", "tests/math")
OF_THE_VERIFIER = ("tests/ops_*.mlir", "tests/verify_*.mlir")
DISABLED = re.compile(r"RUN-DISABLED\(([^)]*)\):? stablehlo-")
FUNCTION = re.compile(r"func\.func\s+(public\s+|private\s+)?@(\w+)\s*\((\s*%)?")


@dataclasses.dataclass(frozen=True)
class Program:
    file: str
    name: str
    text: str
    why_disabled: str | None

    @property
    def why_not_loaded(self):
        if self.file in OF_THE_INTERPRETER:
            return "it is about what StableHLO's interpreter prints or writes"
        return None

    @property
    def takes_arguments(self):
        functions = {match[2]: match for match in FUNCTION.finditer(self.text)}
        return bool(functions["main"][3])

    @property
    def is_invalid(self):
        return "expected-error" in self.text


def programs_of(file, name):
    """The programs of a file: its parts, and of a part without @main each function."""
    whole = file.read_text()
    disabled = DISABLED.search(whole)
    why_disabled = disabled and f"disabled there ({disabled[1]})"
    for number, part in enumerate(re.split(r"^// -----.*$", whole, flags=re.MULTILINE)):
        functions = [m[2] for m in FUNCTION.finditer(part) if (m[1] or "").strip() != "private"]
        for function in ["main"] if "main" in functions else functions:
            text = re.sub(rf"@{function}\b", "@main", part)
            yield Program(name, f"{name}:{number + 1} @{function}", text, why_disabled)


def all_programs(folder, only):
    for place in PLACES:
        for file in sorted((folder / place).rglob("*.mlir")):
            name = file.relative_to(folder).as_posix()
            if not only or any(word in name for word in only):
                yield from programs_of(file, name)


# --- the process that runs programs --------------------------------------------------------------


class UnjudgedError(Exception):
    """The reason why a program's result can't be checked."""


def tried_with_arguments(path, xla):
    """Runs the program with random arguments; describes the fault of its results, empty if none."""
    import numpy as np
    from arguments import arguments_of, difference

    import treadle

    text = path.read_text()
    values = arguments_of(text)
    results = []
    for tier in ("interpret", "jit"):
        main = treadle.load(path, tier=tier).signatures["main"]
        try:
            results.append(list(main(*values).values()))
        except treadle.InvalidArgumentError as error:
            results.append(str(error))
    if any(isinstance(result, str) for result in results):
        if results[0] != results[1]:
            return f"the tiers differ: {results[0]} and {results[1]}".split("\n")[0]
        raise UnjudgedError(f"its arguments can't all have the sizes that they got: {results[0]}")
    if found := difference(*results):
        return f"the tiers differ: {found}"
    if not xla:
        return ""
    np.savez(path.with_suffix(".npz"), *results[0])
    command = [xla, pathlib.Path(__file__).with_name("on_xla.py"), path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise UnjudgedError(f"XLA can't: {done.stderr.strip().splitlines()[-1]}")
    found = done.stdout.strip()
    return found and f"XLA gives something else: {found}"


def outcome(path, how, xla):
    """An empty string if all checks hold, or what went wrong, in one line; and why it can't be
    judged, if so. A program is run, tried with arguments, or only loaded."""
    from parallel import ParallelProgram, is_parallel

    import treadle

    try:
        if how == "load":
            treadle.Graph.from_file(path)
        elif is_parallel(text := path.read_text()):
            ParallelProgram(text, path.parent).run()
        elif how == "try":
            return tried_with_arguments(path, xla), None
        else:
            # The programs state results as IEEE 754 has them.
            treadle.load(path, denormals="keep").signatures["main"]()
    except treadle.Error as error:
        message = re.sub(r"\S*\.mlir: ", "", str(error))
        return f"{type(error).__name__}: {message}".split("\n")[0], None
    except UnjudgedError as error:
        return "", str(error).split("\n")[0]
    return "", None


def serve():
    """Runs the programs of stdin, one a line, and writes the outcome of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "program.mlir")
        for line in sys.stdin:
            text, how, xla = json.loads(line)
            path.write_text(text)
            print(json.dumps(outcome(path, how, xla)), flush=True)


class Runner:
    """A process that runs one program after another, and a new one where that died."""

    process = None

    def __init__(self, xla):
        self.xla = xla

    def outcome(self, program, how=None):
        how = how or ("try" if program.takes_arguments else "run")
        if self.process is None:
            command = [sys.executable, __file__, "--serve"]
            self.process = subprocess.Popen(
                command,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        with contextlib.suppress(BrokenPipeError):
            work = [program.text, how, self.xla]
            self.process.stdin.write(json.dumps(work) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else (f"crash: exit status {self.close()}", None)

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        status = self.process.wait()
        self.process = None
        return status


# --- the report ----------------------------------------------------------------------------------


def report(folder, only, shows_files, xla):
    """Prints what failed and the sums, and returns how many programs failed."""
    counts = collections.defaultdict(collections.Counter)
    runner = Runner(xla)
    for program in all_programs(folder, only):
        why_skipped = program.why_not_loaded
        failure, why_unfit = ("", None) if why_skipped else runner.outcome(program)
        why_skipped = program.why_disabled if failure else why_skipped or why_unfit
        kind = "skipped" if why_skipped else "failed" if failure else "passed"
        counts[program.file][kind] += 1
        if kind != "passed":
            reason = ": ".join(filter(None, (why_skipped, failure)))
            print(f"{kind}: {program.name}: {reason}", flush=True)
    if runner.process:
        runner.close()
    if shows_files:
        print_counts(counts)
    by_place = {
        place: sum(
            (c for file, c in counts.items() if file.startswith(place)), collections.Counter()
        )
        for place in PLACES
    }
    print_counts({**by_place, "all": sum(by_place.values(), collections.Counter())})
    return sum(count["failed"] for count in counts.values())


def report_of_verifier(folder, only, shows_files):
    """Prints which programs are taken for what they aren't, and the sums, and returns how many."""
    counts = collections.defaultdict(collections.Counter)
    runner = Runner(xla=None)
    for file in sorted(file for place in OF_THE_VERIFIER for file in folder.glob(place)):
        name = file.relative_to(folder).as_posix()
        if only and not any(word in name for word in only):
            continue
        for program in programs_of(file, name):
            found, _ = runner.outcome(program, "load")
            is_error = bool(found) and not found.startswith("crash")
            passed = is_error if program.is_invalid else not found or "Unimplemented" in found
            counts[name]["passed" if passed else "failed"] += 1
            if not passed:
                print(f"failed: {program.name}: {found or 'it is no error'}", flush=True)
    if runner.process:
        runner.close()
    if shows_files:
        print_counts(counts)
    whole = sum(counts.values(), collections.Counter())
    print_counts({"verifier": whole})
    return whole["failed"]


def print_counts(counts):
    for name, count in counts.items():
        sums = ", ".join(f"{count[kind]} {kind}" for kind in ("passed", "failed", "skipped"))
        print(f"{name}: {sums}")


def main():
    if sys.argv[1:] == ["--serve"]:
        serve()
        return
    parser = argparse.ArgumentParser(
        prog="./dev conformance stablehlo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--only", action="append", help="files whose path has this word in it")
    parser.add_argument("--files", action="store_true", help="also the sums of each file")
    parser.add_argument("--xla", metavar="PYTHON", help="compare with XLA, through JAX there")
    parser.add_argument("--verifier", action="store_true", help="load the verifier's tests")
    options = parser.parse_args()
    folder = options.folder / "stablehlo"
    if not any((folder / place).is_dir() for place in PLACES):
        parser.error(f"{folder} has none of {', '.join(PLACES)}: name a checkout of StableHLO")
    if options.verifier:
        sys.exit(report_of_verifier(folder, options.only, options.files) > 0)
    sys.exit(report(folder, options.only, options.files, options.xla) > 0)


if __name__ == "__main__":
    main()
