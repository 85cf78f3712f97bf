"""Random graphs through every format, and MLIR text with something wrong in it.

    fuzz_formats.py [roundtrip] [text] [--seconds N] [--first-seed N]
    fuzz_formats.py --case roundtrip|text --seed N [--save FILE]    one of them again

roundtrip: random GraphDefs come back from the importer and exporter, through MLIR text and without,
as the same bytes. text: MLIR text, changed at random, is read or refused; what is read is checked,
written and run. Each seed runs in a process with little memory; one that crashes or hangs is told.
"""

import argparse
import pathlib
import random
import re
import resource
import subprocess
import sys
import time

import random_graphdefs

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEMORY = 3 << 30
PATIENCE = 120  # seconds without a word; machines may be busy
BATCH = 200  # seeds a process

TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w.$-]+|\s+|.', re.DOTALL)
WORDS = ["i32", "f32", "!tf_type.string", "!tf_type.resource", "tensor<*xf32>", "tensor<2xi32>"]
WORDS += ["0", "-1", "4294967296", "unit", "dense<1.0>", "[]", "{}", "()", "(", ")", "{", "}", "<"]
WORDS += ["#tf_type.shape<?x2>", "#tf_type.shape<*>", "@nobody", "#tf_type.func<@nobody, {}>", "T"]
WORDS += ["name", "loc(unknown)", "->", ":", ",", "%0", "%a#7", ".ctl", "tfg.graph", "tfg.func"]


def sources():
    """Texts to start from: those of the lit tests, part by part."""
    parts = []
    for path in sorted((ROOT / "treadle").rglob("tests/*.mlir")):
        parts += [part for part in path.read_text().split("// -----") if "tfg." in part]
    return parts


def changed(rng, text):
    tokens = TOKENS.findall(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        i, j = rng.choice(places), rng.choice(places)
        what = rng.randrange(6)
        if what == 0:
            tokens[i] = rng.choice(WORDS)
        elif what == 1:
            tokens[i] = tokens[j]
        elif what == 2:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif what == 3:
            tokens[i] = ""
        elif what == 4:
            tokens[i] += " " + tokens[i]
        else:
            i, j = min(i, j), min(max(i, j), min(i, j) + rng.randrange(40))
            tokens[i] += "".join(tokens[i:j])
    return "".join(tokens)


def text_of(rng, start):
    import treadle

    if rng.random() < 0.3:
        start = treadle.Graph.from_bytes(random_graphdefs.graph(rng)).text()
    return changed(rng, start)


def roundtrip(seed, save=None):
    """Whether it was read; AssertionError for another graph, and treadle.Error, are findings."""
    import treadle

    data = random_graphdefs.graph(random.Random(seed))
    if save:
        pathlib.Path(save).write_bytes(data)
    graph = treadle.Graph.from_bytes(data)
    assert graph.to_bytes() == data, "the GraphDef differs"
    again = treadle.Graph.from_bytes(graph.text().encode())
    assert again.to_bytes() == data, "the GraphDef differs after MLIR text"
    return True


def text(seed, save=None):
    import treadle

    rng = random.Random(seed)
    data = text_of(rng, rng.choice(sources()))
    if save:
        pathlib.Path(save).write_text(data)
    try:
        graph = treadle.Graph.from_bytes(data.encode())
    except treadle.Error:
        return False
    for use in (graph.check, graph.to_bytes, lambda: run(graph)):
        try:
            use()
        except treadle.Error:
            pass
    return True


def run(graph):
    import treadle

    session = treadle.Session(graph, threads=1, timeout=1.0)
    for node in graph.nodes()[:20]:
        fetches = [value.name for value in node.outputs][:1]
        try:
            session.run(fetches, targets=[node.name])
        except treadle.Error:
            pass


CASES = {"roundtrip": roundtrip, "text": text}


def work(kind, first, count):
    """Says each seed before it, and in the end how many were read."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    read = 0
    for seed in range(first, first + count):
        print("seed", seed, flush=True)
        read += CASES[kind](seed)
    print("read", read, flush=True)


def batch(kind, first, count):
    """Returns the number of files read, and the fault of the seed that ended the batch (or
    nothing)."""
    command = [sys.executable, __file__, "--work", kind, str(first), str(count)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        errors += "\nno answer in time"
    lines = output.splitlines()
    if lines and lines[-1].startswith("read "):
        return int(lines[-1].split()[1]), None
    seed = int(lines[-1].split()[1]) if lines else first
    reason = (errors.strip().splitlines() or ["no words"])[-1]
    return 0, (seed, f"exit {process.returncode}: {reason}")


def fuzz(kind, seconds, first):
    """Seeds tried, graphs that were read, and findings."""
    end = time.monotonic() + seconds
    tried, read, findings = 0, 0, []
    while time.monotonic() < end:
        count = BATCH
        here, finding = batch(kind, first + tried, count)
        if finding:
            findings.append(finding)
            count = finding[0] - (first + tried) + 1
        tried, read = tried + count, read + here
        if len(findings) > 20:
            break
    return tried, read, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", choices=[*CASES, []])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--save")
    parser.add_argument("--work", nargs=3, metavar=("KIND", "FIRST", "COUNT"))
    args = parser.parse_args()
    if args.work:
        return work(args.work[0], int(args.work[1]), int(args.work[2]))
    if args.case:
        return print("read" if CASES[args.case](args.seed, args.save) else "refused")
    status = 0
    for kind in args.kinds or CASES:
        tried, read, findings = fuzz(kind, args.seconds, args.first_seed)
        print(f"{kind}: {tried} graphs, {read} of them read, {len(findings)} findings")
        for seed, reason in findings:
            print(f"  --case {kind} --seed {seed}: {reason}")
        status = status or bool(findings)
    return status


if __name__ == "__main__":
    sys.exit(main())
