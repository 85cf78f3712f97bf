"""Converts the corpus' graphs between the forms of control flow, runs them, compares the values.

    control_flow_forms.py [--passes functional] [--every N] [--only TEXT] [--out FILE]

reads cases from ../shared/corpus (or TREADLE_SHARED), and says how many loops and conditionals of
v1 control flow became structured. Fetched and fed nodes are kept.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).parents[1]
SHARED = pathlib.Path(os.environ.get("TREADLE_SHARED", ROOT.parent / "shared"))
CORPUS = SHARED / "corpus"

# The passes for each choice of --passes; KEEP is replaced by the names that a case uses.
PASSES = {
    "none": "",
    "functional": "tfg-v1-to-functional{KEEP}",
    "regions": "tfg-structure-loops{KEEP},tfg-region-to-functional",
    "v1": "tfg-functional-to-v1",
    "functional-v1": "tfg-v1-to-functional{KEEP},tfg-functional-to-v1",
    "there-and-back": "tfg-functional-to-v1,tfg-v1-to-functional{KEEP}",
}
# Here the input and the result of the passes must have only functional control flow.
GIVES_BACK = "there-and-back"


NOTHING = {"before": None, "after": None, "differences": []}


def load_replay():
    """The replayer as a module; it is a program, which runs its last line."""
    program = (CORPUS / "replay.py").read_text()
    module = {"__name__": "replay", "__file__": str(CORPUS / "replay.py")}
    exec(program.rstrip().rpartition("\n")[0], module)
    return types.SimpleNamespace(**module)


def names_used(case):
    used = set()
    for call in case["calls"]:
        names = [*call["fetches"], *call["targets"], *(feed["tensor"] for feed in call["feeds"])]
        used.update(name.split(":")[0].lstrip("^") for name in names)
    return sorted(used)


def count(text):
    """Loops and conditional Merge nodes in a module's text, references to variables left out."""
    count_of = {
        op: len(re.findall(rf"= {op}\(", text)) for op in ("LoopCond", "Merge", "NextIteration")
    }
    return count_of["LoopCond"], count_of["Merge"] - count_of["NextIteration"]


def differences(before, after):
    """The lines of `treadle diff` for two graphs."""
    import treadle

    program = pathlib.Path(treadle.__file__).parents[2] / "bin" / "treadle"
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/before.pb", f"{folder}/after.pb"]
        for graph, path in zip((before, after), paths, strict=True):
            graph.to_file(path)
        command = [os.environ.get("TREADLE_BIN", program), "diff", *paths]
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()


def run_case(replay, files, passes):
    import treadle

    case = json.loads(files["case.json"])
    graph = treadle.Graph.from_bytes(files["graph.pb"])
    before = count(graph.text())
    keep = ",".join(names_used(case))

    def convert(graph, choice):
        pipeline = PASSES[choice].replace("KEEP", f"keep={keep}" if keep else "")
        return graph.run_passes(pipeline) if pipeline else graph

    functional = convert(graph, "functional") if passes == GIVES_BACK else graph
    graph = convert(functional, passes)
    changed = {**files, "graph.pb": graph.to_bytes()}
    failure = replay.replay(changed, "treadle", None)
    differing = differences(functional, graph) if passes == GIVES_BACK else []
    return {
        "before": before,
        "after": count(graph.text()),
        "why": failure[1] if failure else None,
        "differences": differing,
    }


def worker(passes):
    replay, cache = load_replay(), (None, None)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        archive, name = line.rstrip("\n").split("\t")
        if cache[0] != archive:
            cache = (archive, replay.read(CORPUS / "cases" / f"{archive}.tar.xz", None))
        try:
            answer = run_case(replay, cache[1][name], passes)
        except Exception as error:  # any error of any case is a result
            answer = {**NOTHING, "why": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)


def select(every, only, version):
    rows = [json.loads(line) for line in (CORPUS / "index.jsonl").open()]
    rows = [row for row in rows if row["flags"][version] and only in row["dir"]]
    return [row["dir"] for row in rows[::every]]


def run(cases, passes, timeout=30):
    """A result for each case; a case that ends the worker is a result too."""
    results, process = [], None
    command = [sys.executable, __file__, "--worker", "--passes", passes]
    for case in sorted(cases):
        process = process or subprocess.Popen(
            ["timeout", str(timeout * 20), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        process.stdin.write("\t".join(case.split("/", 1)) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if answer:
            results.append({"case": case, **json.loads(answer)})
        else:
            why = f"crash: exit {process.wait()}"
            results.append({**NOTHING, "case": case, "why": why})
            process = None
    if process:
        process.stdin.close()
        process.wait()
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", choices=PASSES, default="functional")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--version", choices=("cf_v1", "cf_v2"), default="cf_v1")
    parser.add_argument("--out")
    parser.add_argument("--worker", action="store_true")
    chosen = parser.parse_args()
    if chosen.worker:
        return worker(chosen.passes)
    results = run(select(chosen.every, chosen.only, chosen.version), chosen.passes)
    if chosen.out:
        pathlib.Path(chosen.out).write_text("".join(json.dumps(r) + "\n" for r in results))
    counted = [r for r in results if r["before"]]
    for index, what in enumerate(("loops", "conditional Merge nodes")):
        before = sum(r["before"][index] for r in counted)
        after = sum(r["after"][index] for r in counted)
        print(f"{what}: {before} before, {after} after")
    if chosen.passes == GIVES_BACK:
        equal = sum(not r["differences"] for r in counted)
        print(f"{equal} of {len(counted)} graphs came back equal")
    reasons = collections.Counter(r["why"][:110] for r in results if r["why"])
    for why, number in reasons.most_common(20):
        print(f"{number:5d}  {why}")
    print(f"{sum(not r['why'] for r in results)} of {len(results)} cases as before")


if __name__ == "__main__":
    main()
