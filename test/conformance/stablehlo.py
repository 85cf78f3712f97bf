#!/usr/bin/env python3
"""Runs the programs by which StableHLO tests itself.

FOLDER is a checkout of StableHLO. Its programs check what they compute: those of
stablehlo/testdata, stablehlo/tests/interpret and stablehlo/tests/math, whose files may hold
several. A program passes if all its checks hold. One that takes arguments, or has no checks, can
only be loaded; it is skipped if that succeeds. So is one that StableHLO itself has disabled, if it
fails here, too. Files about what StableHLO's interpreter prints and writes are skipped.

    ./dev conformance stablehlo FOLDER
    ./dev conformance stablehlo FOLDER --only tests/interpret --only c64
    ./dev conformance stablehlo FOLDER --files        passed, failed and skipped of each file

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
    def why_only_loaded(self):
        functions = {match[2]: match for match in FUNCTION.finditer(self.text)}
        if functions["main"][3]:
            return "it takes arguments, which the file doesn't give"
        if "check." not in self.text:
            return "it checks nothing"
        return None


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


def outcome(path, is_run):
    """An empty string if all checks hold, or what went wrong, in one line."""
    from parallel import ParallelProgram, is_parallel

    import treadle

    try:
        if is_parallel(text := path.read_text()):
            ParallelProgram(text, path.parent).run()
            return ""
        model = treadle.load(path)
        if is_run:
            model.signatures["main"]()
    except treadle.Error as error:
        message = re.sub(r"\S*\.mlir: ", "", str(error))
        return f"{type(error).__name__}: {message}".split("\n")[0]
    return ""


def serve():
    """Loads or runs the programs of stdin, one a line, and writes the outcome of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "program.mlir")
        for line in sys.stdin:
            text, is_run = json.loads(line)
            path.write_text(text)
            print(json.dumps(outcome(path, is_run)), flush=True)


class Runner:
    """A process that runs one program after another, and a new one where that died."""

    process = None

    def outcome(self, program):
        if self.process is None:
            command = [sys.executable, __file__, "--serve"]
            self.process = subprocess.Popen(
                command,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        is_run = program.why_only_loaded is None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps([program.text, is_run]) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else f"crash: exit status {self.close()}"

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        status = self.process.wait()
        self.process = None
        return status


# --- the report ----------------------------------------------------------------------------------


def report(folder, only, shows_files):
    """Prints what failed and the sums, and returns how many programs failed."""
    counts = collections.defaultdict(collections.Counter)
    runner = Runner()
    for program in all_programs(folder, only):
        failure = "" if program.why_not_loaded else runner.outcome(program)
        why_skipped = (
            program.why_disabled if failure else program.why_not_loaded or program.why_only_loaded
        )
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
    options = parser.parse_args()
    folder = options.folder / "stablehlo"
    if not any((folder / place).is_dir() for place in PLACES):
        parser.error(f"{folder} has none of {', '.join(PLACES)}: name a checkout of StableHLO")
    sys.exit(report(folder, options.only, options.files) > 0)


if __name__ == "__main__":
    main()
