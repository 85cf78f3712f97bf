#!/usr/bin/env python3
"""Runs graphs in TensorFlow after every pass and pipeline, beside the graphs as they were.

    ./dev conformance graphs                    graphs with control flow: one for each set of ops
    ./dev conformance graphs --all              all of them
    ./dev conformance graphs --sample 50        so many of them, evenly chosen
    ./dev conformance graphs --only while_v2    those whose name contains this
    ./dev conformance graphs --pass tfg-inline  this pass instead of all
    ./dev conformance graphs --combine 200      so many random sequences of two or three passes
    ./dev conformance graphs MODEL...           these SavedModels, and files with graphs

Graphs at hand are the corpus's, those of graphdefs/, and the loops that jax_loops.py of loops/ has,
if TREADLE_JAX_PYTHON names a Python that has JAX: folders of TREADLE_SHARED, or ../shared.

TREADLE_TENSORFLOW_PYTHON names a Python that has TensorFlow, which loads what the pass gives as a
GraphDef and makes the calls of the case. Each graph is tried in two forms: as it is, and as a
function that is called. Prints a row for each pass:

    equal      the same values, or the same class of error
    different  other values
    refused    TensorFlow raises an error where it ran the graph before
    errors     the pass raises an error
    own ops    the result has ops, or fused groups of ops, that only Treadle runs
    optimizer  other values, but the same if TensorFlow's own graph optimizers are off
    unstable   other values, and TensorFlow gives others for the graph as it was when asked twice

A result that is the graph itself counts as equal; the row says how many are.

Graphs that TensorFlow doesn't run as they are, or too slowly, are left out. The exit status is 1 if
anything is different or refused, or a pass raised an error.
"""

import argparse
import collections
import functools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import graph_cases  # noqa: E402
import passes_on_corpus as harness  # noqa: E402

KINDS = ("equal", "unchanged", "different", "refused", "errors", "own ops", "optimizer", "unstable")
BAD = ("different", "refused", "errors")
FORMS = ("graph", "function")
SAVED_MODEL = "saved_model"
# TensorFlow has some of what these make; their documentation says that it can't run the rest.
FOR_TREADLE = {"tfg-fuse-kernels"}


# --- the process that runs graphs in TensorFlow --------------------------------------------------


def sequence(name, options, case):
    """Returns the pipeline of `name`, a pass, or several with + between them. Regions become
    functions before the conversion to tf_executor, which has no regions."""
    names = name.split("+")
    spelled = [harness.spelled(n, options.get(n, []), case) for n in names]
    if len(names) > 1 and "tfg-to-tf-executor" in names:
        spelled.insert(names.index("tfg-to-tf-executor"), "tfg-region-to-functional")
    return ",".join(spelled)


class Subject:
    """A case, what it gives, and the answers for results that were seen before."""

    def __init__(self, case, differs):
        self.case, self.differs = case, differs
        self.plain = case.converted("")
        graph_cases.tensorflow()  # the time of the first import isn't the graph's
        start = time.monotonic()
        self.outcomes = case.run(self.plain)
        self.seconds = time.monotonic() - start
        self.answers = {case.digest(self.plain): ["unchanged", ""]}
        self.fault = self.find_fault()

    def find_fault(self):
        """Why the case says nothing about passes, or None."""
        calls = self.outcomes.calls
        if calls and all(isinstance(c, Exception) for c in calls):
            return f"{type(calls[0]).__name__}: {str(calls[0])[:300]}"
        if self.seconds > graph_cases.SECONDS / 10:
            return f"TensorFlow takes {self.seconds:.1f} s"
        return None

    @functools.cached_property
    def is_stable(self):
        """Whether TensorFlow gives the same twice, which is asked where something differs."""
        again = self.case.run(self.plain)
        return self.outcomes.difference(again, self.differs) is None

    def is_equal_unoptimized(self, content):
        """Whether the result gives the graph's values without TensorFlow's graph optimizers."""
        try:
            outcomes = self.case.run(graph_cases.without_optimizers(content))
        except Exception:
            return False
        return self.outcomes.difference(outcomes, self.differs) is None

    def answer(self, name, options):
        try:
            content = self.case.converted(sequence(name, options, self.case.case))
        except Exception as error:
            return ["errors", f"{type(error).__name__}: {str(error)[:300]}"]
        key = self.case.digest(content)
        if key not in self.answers:
            self.answers[key] = self.judged(content)
        kind, reason = self.answers[key]
        if kind == "refused" and FOR_TREADLE & set(name.split("+")):
            kind = "own ops"
        return [kind, reason]

    def judged(self, content):
        try:
            outcomes = self.case.run(content)
            difference = self.outcomes.difference(outcomes, self.differs)
        except Exception as error:
            difference = ["refused", f"load: {type(error).__name__}: {str(error)[:300]}"]
        if difference and (own := self.case.own_ops(content)):
            return ["own ops", ", ".join(sorted(own))]
        if difference and not self.is_stable:
            return ["unstable", difference[1]]
        if difference and self.case.optimized and self.is_equal_unoptimized(content):
            return ["optimizer", difference[1]]
        return difference or ["equal", ""]


class Subjects:
    """Makes subjects of (form, archive or file, name of the case); keeps the last one."""

    def __init__(self):
        self.replay = harness.load_replay()
        self.archive, self.files = None, {}
        self.key, self.last = None, None

    def get(self, key):
        if key != self.key:
            self.key, self.last = key, None
            self.last = Subject(self.case(*key), self.replay.differs)
        return self.last

    def case(self, form, archive, name):
        if form == SAVED_MODEL:
            return graph_cases.SavedModelCase(archive)
        kind = graph_cases.CalledCase if form == "function" else graph_cases.GraphCase
        if not name:
            return kind(*graph_cases.file_case(archive))
        if archive != self.archive:
            path = harness.CORPUS / "cases" / f"{archive}.tar.xz"
            self.archive, self.files = archive, self.replay.read(path, None)
        return kind(*graph_cases.corpus_case(self.replay, self.files[name]))


def work():
    """Reads lines `form TAB archive TAB case TAB passes`; answers each with a line of JSON."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    options = harness.single_passes() | harness.pipelines()
    subjects = Subjects()
    for line in sys.stdin:
        *key, passes = line.rstrip("\n").split("\t")
        try:
            subject = subjects.get(tuple(key))
            answer = subject.answer(passes, options) if passes else subject.fault
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:300]}"
            answer = ["errors", reason] if passes else reason
        print(json.dumps(answer), file=out, flush=True)


# --- the tool ------------------------------------------------------------------------------------


def has_control_flow(row):
    return (
        any(row["flags"][flag] for flag in ("cf_v1", "cf_v2")) and not row["flags"]["expects_error"]
    )


def corpus_names(is_all):
    """One case for each set of ops, the one of the most nodes; or all."""
    rows = [json.loads(line) for line in (harness.CORPUS / "index.jsonl").open()]
    rows = sorted(filter(has_control_flow, rows), key=lambda row: (row["nodes"], row["dir"]))
    if not is_all:
        rows = {tuple(row["ops"]): row for row in rows}.values()
    return sorted(row["dir"] for row in rows)


def exported_loops(folder):
    """Files with the programs of jax_loops.py as StableHLO, if JAX is at hand."""
    source = harness.SHARED / "loops" / "jax_loops.py"
    python = os.environ.get("TREADLE_JAX_PYTHON")
    if not python or not source.exists():
        return []
    done = subprocess.run([python, "-c", EXPORT, source, folder], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{source}: {done.stderr}")
    return sorted(map(str, folder.iterdir()))


# After thousands of steps a chaotic system tells of rounding alone: a change of the last bit of an
# input has become one of all digits. 400 steps tell of passes as much.
EXPORT = """
import pathlib, runpy, sys
import jax
scan = jax.lax.scan
def short_scan(f, init, xs=None, length=None, **options):
    return scan(f, init, xs, length if xs is not None else min(length, 400), **options)
jax.lax.scan = short_scan
programs = runpy.run_path(sys.argv[1], run_name="loops")["P"]
for name, (function, arguments) in programs.items():
    text = jax.export.export(jax.jit(function))(*arguments).mlir_module()
    (pathlib.Path(sys.argv[2]) / f"{name}.mlir").write_text(text)
"""


def cases_at_hand(only, sample, is_all, folder):
    files = sorted(map(str, (harness.SHARED / "graphdefs").rglob("*.pbtxt")))
    found = [(path, "") for path in files + exported_loops(folder)]
    found += [tuple(name.split("/", 1)) for name in corpus_names(is_all)]
    found = harness.evenly([case for case in found if only in "/".join(case)], sample)
    return [(form, *case) for case in found for form in FORMS]


def cases_of(models):
    cases = []
    for model in models:
        forms = [SAVED_MODEL] if os.path.isdir(model) else FORMS
        cases += [(form, model, "") for form in forms]
    return cases


def run_cases(cases, passes_of, jobs, timeout):
    """For each case that TensorFlow runs as it is: (case, passes, answer)."""

    def results_of(worker, case):
        if fault := worker.ask(*case, ""):
            yield " ".join(case), "", ["left out", str(fault)]
            return
        for passes in passes_of(case):
            answer = worker.ask(*case, passes)
            if answer[0] == "failed":  # the process ended
                answer = ["refused", answer[1]]
            if answer[0] in BAD:
                print(f"{answer[0]}: {passes}: {' '.join(case)}: {answer[1]}", flush=True)
            yield " ".join(case), passes, answer

    script = os.path.abspath(__file__)
    return harness.in_shares(cases, jobs, lambda: harness.Worker(timeout, script), results_of)


def random_sequences(count, seed, names):
    """Returns a number of random sequences of two or three passes, distributed over the cases."""
    generator = random.Random(seed)
    return ["+".join(generator.sample(names, generator.choice((2, 3)))) for _ in range(count)]


def table(results):
    counts = collections.defaultdict(collections.Counter)
    for _, name, (kind, _) in results:
        counts[name if "+" not in name else "sequences"][kind] += 1
    width = max(map(len, counts), default=4)
    lines = [f"{'pass':{width}}" + "".join(f"{kind:>11}" for kind in KINDS)]
    total = collections.Counter()
    for name in sorted(counts):
        lines.append(f"{name:{width}}" + "".join(f"{counts[name][kind]:11}" for kind in KINDS))
        total.update(counts[name])
    lines.append(f"{'all':{width}}" + "".join(f"{total[kind]:11}" for kind in KINDS))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="SavedModels and files, instead of all at hand")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="so many, evenly chosen; 0: all")
    parser.add_argument("--all", action="store_true", help="more than one for each set of ops")
    parser.add_argument("--pass", action="append", dest="passes", help="instead of every one")
    parser.add_argument("--combine", type=int, default=0, help="random sequences for each case")
    parser.add_argument("--seed", type=int, default=0, help="of the sequences")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=90, help="seconds for one result")
    parser.add_argument("--out", help="a line of JSON for each result")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work()
    if not args.models and not harness.CORPUS.is_dir():
        sys.exit(f"there is no {harness.CORPUS}; TREADLE_SHARED names the folder that holds corpus")
    names = args.passes or list(harness.single_passes() | harness.pipelines())

    def passes_of(case):
        return (
            random_sequences(args.combine, f"{args.seed} {case}", names) if args.combine else names
        )

    with tempfile.TemporaryDirectory() as folder:
        at_hand = cases_of(args.models) or cases_at_hand(
            args.only, args.sample, args.all, pathlib.Path(folder)
        )
        results = run_cases(at_hand, passes_of, args.jobs, args.timeout)
    left_out = sum(kind == "left out" for _, _, (kind, _) in results)
    print(f"{len(at_hand) - left_out} graphs; {left_out} left out")
    bad = [r for r in results if r[2][0] in BAD]
    if args.out:
        rows = ({"case": c, "pass": p, "kind": k, "why": w} for c, p, (k, w) in results)
        pathlib.Path(args.out).write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(table([result for result in results if result[2][0] in KINDS]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
