#!/usr/bin/env python3
"""Runs graphs of a corpus after every pass and pipeline, and compares with what was recorded.

    passes_on_corpus.py [--only SUBSTRING] [--flag F]... [--sample N] [--pass NAME]... [--out FILE]

needs the Python module treadle on PYTHONPATH, and the corpus that test_corpus.py describes. A case
that does not pass as it is says nothing about passes, and is left out. Prints a row for each pass:

    equal      the recorded values, or the recorded class of error
    different  other values
    errors     an error where there was none: of the pass, of the run, a crash, or no answer in time

Passes and their options are read from Passes.td, pipelines from Pipelines.cpp: those that know the
options fetches, targets, feeds and keep are told what the case asks for.
"""

import argparse
import collections
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRANSFORMS = ROOT / "treadle" / "transforms"
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
CORPUS = SHARED / "corpus"
# Passes that convert to a form that can't run, with the passes that convert back.
THERE_AND_BACK = {
    "tfg-to-tf-executor": "tf-executor-to-tfg",
    "tfg-lift-graph-to-func": "tfg-lower-func-to-graph",
}


ONLY_BACK = ("tfg-lower-func-to-graph",)


def single_passes():
    """The options of each pass, by the pass's name."""
    found = {}
    for text in (TRANSFORMS / "Passes.td").read_text().split("\ndef ")[1:]:
        name = re.search(r'Pass<"([^"]+)"', text)
        if name:
            options = re.findall(r'Option<"\w+",\s*"([^"]+)"', text)
            found[name.group(1)] = [
                o for o in options if o in ("fetches", "targets", "feeds", "keep")
            ]
    return {name: options for name, options in found.items() if name not in ONLY_BACK}


def pipelines():
    text = (TRANSFORMS / "Pipelines.cpp").read_text()
    names = re.findall(r'^    \{"(tfg-[\w-]+)"', text, re.M)
    return {name: ["fetches", "targets", "feeds"] for name in names}


def spelled(name, options, case):
    """The pass as run_passes takes it, told what the case's calls ask for."""
    asked = collections.defaultdict(dict)
    for call in case["calls"]:
        asked["fetches"].update(dict.fromkeys(call["fetches"]))
        asked["targets"].update(dict.fromkeys(call["targets"]))
        asked["feeds"].update(dict.fromkeys(feed["tensor"] for feed in call["feeds"]))
    # Fed nodes must be kept, whether or not a fetch needs them.
    fed = [tensor.split(":")[0] for tensor in asked["feeds"]]
    asked["targets"].update(dict.fromkeys(fed))
    everything = [tensor.split(":")[0] for names in asked.values() for tensor in names]
    asked["keep"] = dict.fromkeys(everything)
    text = " ".join(f"{o}={','.join(asked[o])}" for o in options if asked[o])
    there = f"{name}{{{text}}}" if text else name
    return f"{there},{THERE_AND_BACK[name]}" if name in THERE_AND_BACK else there


def load_replay():
    """The corpus' own replay.py; it runs when it is imported, and is told to list nothing."""
    spec = importlib.util.spec_from_file_location("replay", CORPUS / "replay.py")
    replay = importlib.util.module_from_spec(spec)
    arguments, sys.argv = sys.argv, ["replay.py", "--list", "--only", "no such case"]
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(replay)
    sys.argv = arguments
    return replay


def work():
    """Reads lines `archive TAB case TAB pass`, answers each with a line of JSON."""
    import treadle

    replay = load_replay()
    table = single_passes() | pipelines()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    archives = {}
    now = {}

    class AfterPasses(replay.Treadle):
        def __init__(self, graph, tier, timeout):
            graph = treadle.Graph.from_bytes(graph)
            if now["pass"]:
                name = now["pass"]
                graph = graph.run_passes(spelled(name, table.get(name, []), now["case"]))
            self.s = treadle.Session(graph, **({"timeout": timeout} if timeout else {}))

    replay.Treadle = AfterPasses
    for line in sys.stdin:
        archive, name, now["pass"] = line.rstrip("\n").split("\t")
        if archive not in archives:
            archives = {archive: replay.read(CORPUS / "cases" / f"{archive}.tar.xz", None)}
        files = archives[archive][name]
        now["case"] = json.loads(files["case.json"])
        try:
            answer = replay.replay(files, "treadle", None)
        except Exception as error:
            answer = ("failed", f"load: {type(error).__name__}: {error}")
        print(json.dumps(answer), file=out, flush=True)


class Worker:
    def __init__(self, timeout, script=__file__):
        self.timeout, self.script, self.process = timeout, os.path.abspath(script), None

    def ask(self, *fields):
        if not self.process:
            self.process = subprocess.Popen(
                [sys.executable, self.script, "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        timer = threading.Timer(self.timeout, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write("\t".join(fields) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError:
            answer = ""
        is_late = timer.finished.is_set()
        timer.cancel()
        if answer:
            return json.loads(answer)
        status = self.process.wait()
        self.process = None
        return ["failed", "no answer in time" if is_late else f"crash: exit {status}"]

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def kind(answer):
    if not answer:
        return "equal"
    reason = answer[1].split(": ", 1)[-1]
    is_value = reason.startswith(("values differ", "strings differ", "shape ", "dtype "))
    return "different" if is_value else "errors"


def chosen_cases(only="", flags=(), sample=0):
    rows = [json.loads(line) for line in (CORPUS / "index.jsonl").open()]
    rows = [r for r in rows if not flags or any(r["flags"][flag] for flag in flags)]
    return sorted(evenly([r["dir"] for r in rows if only in r["dir"]], sample))


def evenly(rows, count):
    """Selects a number of them evenly; all for a count of 0."""
    if not count or count >= len(rows):
        return rows
    return [rows[i * len(rows) // count] for i in range(count)]


def in_shares(cases, jobs, make_worker, results_of):
    """Returns the results of `results_of(worker, case)` for all cases, split among threads with a
    worker each: (case, passes, answer), sorted by the first two."""
    results, lock = [], threading.Lock()
    shares = [cases[i * len(cases) // jobs : (i + 1) * len(cases) // jobs] for i in range(jobs)]

    def run(share):
        worker = make_worker()
        for case in share:
            for result in results_of(worker, case):
                with lock:
                    results.append(result)
        worker.close()

    threads = [threading.Thread(target=run, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(results, key=lambda r: r[:2])


def run_cases(cases, passes, jobs, timeout):
    """For each case that passes as it is: (case, pass, answer)."""

    def results_of(worker, case):
        archive, name = case.split("/", 1)
        if not worker.ask(archive, name, ""):
            yield from ((case, one, worker.ask(archive, name, one)) for one in passes)

    return in_shares(cases, jobs, lambda: Worker(timeout), results_of)


def table(results, passes):
    counts = {name: collections.Counter() for name in passes}
    for _, name, answer in results:
        counts[name][kind(answer)] += 1
    width = max(map(len, passes))
    lines = [f"{'pass':{width}}  {'equal':>7} {'different':>9} {'errors':>7}"]
    for name, count in counts.items():
        numbers = f"{count['equal']:7} {count['different']:9} {count['errors']:7}"
        lines.append(f"{name:{width}}  {numbers}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--flag", action="append", help="cases with it: cf_v1, function_calls, ...")
    parser.add_argument("--sample", type=int, default=0, help="so many, evenly chosen; 0: all")
    parser.add_argument("--pass", action="append", dest="passes", help="instead of every one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one run")
    parser.add_argument("--out", help="a line of JSON for each result")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work()
    if not CORPUS.is_dir():
        sys.exit(f"there is no {CORPUS}; TREADLE_SHARED names the folder that holds corpus")
    passes = args.passes or list(single_passes() | pipelines())
    cases = chosen_cases(args.only, args.flag or (), args.sample)
    results = run_cases(cases, passes, args.jobs, args.timeout)
    bad = [result for result in results if result[2]]
    for case, name, answer in bad[:60]:
        print(f"{name}: {case}: {answer[1][:300]}")
    if args.out:
        rows = ({"case": c, "pass": p, "kind": kind(a), "why": a and a[1]} for c, p, a in results)
        pathlib.Path(args.out).write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(table(results, passes))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
