#!/usr/bin/env python3
"""Measures Treadle against TensorFlow, side by side in one process, and prints medians and ratios.

Both run the same GraphDef in turns, one thread each. TensorFlow's figure is the better of two
sessions: one with its graph optimisers off, one with its defaults. For the first run it is that of
the defaults, which spend their time there to be faster later.

    ./dev bench                               everything
    ./dev bench --only while --threads 1,2    the loops, and what a second thread does to Treadle
    ./dev bench --json                        for a program to read
"""

import argparse
import dataclasses
import gc
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import graphs
import numpy as np

TENSORFLOW = ("tensorflow", "tensorflow, optimisers off")
SLOWER_BY_A_THREAD = 1.05


class TensorFlowSession:
    """One of TensorFlow's sessions with one thread; runs go by its fastest way, a callable."""

    def __init__(self, graph_bytes, optimise):
        import tensorflow as tf

        self.tf = tf
        self.graph = tf.Graph()
        definition = tf.compat.v1.GraphDef.FromString(graph_bytes)
        with self.graph.as_default():
            tf.import_graph_def(definition, name="")
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=1,
            inter_op_parallelism_threads=1,
            use_per_session_threads=True,
        )
        if not optimise:
            config.graph_options.optimizer_options.opt_level = -1
            config.graph_options.rewrite_options.disable_meta_optimizer = True
        self.session = tf.compat.v1.Session(graph=self.graph, config=config)

    def prepare(self, work):
        for name in work.setup:
            self.session.run(self.graph.get_operation_by_name(name))
        call = self.session.make_callable(work.fetches, list(work.feeds))
        values = list(arrays(work.feeds).values())
        return lambda: call(*values)


class TreadleSession:
    def __init__(self, graph_bytes, threads):
        import treadle

        self.session = treadle.Session(graph_bytes, threads=threads)

    def prepare(self, work):
        if work.setup:
            self.session.run([], {}, work.setup)
        feeds = arrays(work.feeds)
        return lambda: self.session.run(work.fetches, feeds, work.targets)


def arrays(feeds):
    kinds = {int: np.int32, float: np.float32}
    return {name: np.asarray(value, kinds[type(value)]) for name, value in feeds.items()}


@dataclasses.dataclass
class Row:
    """One measurement: medians by runtime, in `unit`; goal is the ratio that is to be reached."""

    name: str
    unit: str
    goal: float | None
    medians: dict
    references: tuple = TENSORFLOW

    def tensorflow(self):
        return min((self.medians[k] for k in self.references if k in self.medians), default=None)

    def treadle(self):
        return self.medians.get("treadle")

    def ratio(self):
        reference, own = self.tensorflow(), self.treadle()
        return reference / own if reference and own else None

    def threads(self):
        """Time with more threads over time with one, by number of threads."""
        own = self.treadle()
        prefix = "treadle, threads="
        more = {k.removeprefix(prefix): v for k, v in self.medians.items() if k.startswith(prefix)}
        return {k: v / own for k, v in more.items()} if own else {}

    def verdict(self):
        if any(ratio > SLOWER_BY_A_THREAD for ratio in self.threads().values()):
            return "slower with more threads"
        if self.goal is None or self.ratio() is None:
            return ""
        return "met" if self.ratio() >= self.goal else "missed"

    def as_json(self):
        return dataclasses.asdict(self) | {
            "ratio": self.ratio(),
            "threads": self.threads(),
            "verdict": self.verdict(),
        }


def runtimes(args):
    """Name and session maker of each runtime that takes part."""
    table = {}
    if not args.no_tensorflow:
        table[TENSORFLOW[0]] = lambda graph: TensorFlowSession(graph, optimise=True)
        table[TENSORFLOW[1]] = lambda graph: TensorFlowSession(graph, optimise=False)
    if args.no_treadle:
        return table
    for threads in args.threads:
        name = "treadle" if threads == args.threads[0] else f"treadle, threads={threads}"
        table[name] = lambda graph, threads=threads: TreadleSession(graph, threads)
    return table


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(calls, repeat):
    """Medians of `repeat` rounds, in each of which every call is made in turn."""
    times = {name: [] for name in calls}
    order = list(calls)
    for turn in range(repeat):
        # Rotate the order, so that none always follows the same neighbour.
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            times[name].append(seconds(calls[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def per_unit(maker, unit, goal):
    """A benchmark of warm runs, in nanoseconds an op or iteration."""

    def measure(args):
        graph_file, work = graphs.load(maker, args.cache)
        graph = graph_file.read_bytes()
        sessions = {name: make(graph) for name, make in runtimes(args).items()}
        calls = {name: session.prepare(work) for name, session in sessions.items()}
        agree({name: call() for name, call in calls.items()})
        medians = interleaved(calls, args.repeat)
        scaled = {name: value / work.units * 1e9 for name, value in medians.items()}
        return [Row(maker.__name__, unit, goal, scaled)]

    return measure


def agree(results):
    """A fast wrong answer is no answer."""
    first, *others = results.items()
    for name, values in others:
        for ours, theirs in zip(first[1], values, strict=True):
            if not np.allclose(ours, theirs, rtol=1e-5):
                sys.exit(f"bench: {first[0]} gives {ours}, {name} gives {theirs}")


def large(args):
    """Import, first and next run of a graph of 100,000 nodes, in milliseconds."""
    graph_file, work = graphs.load(graphs.large_graph, args.cache)
    graph = graph_file.read_bytes()
    phases = {"import": {}, "first run": {}}
    calls, results = {}, {}
    for name, make in runtimes(args).items():
        # TensorFlow needs many seconds for these; once is enough to tell such ratios.
        rounds = 1 if name in TENSORFLOW else 3
        imports, firsts = [], []
        for _ in range(rounds):
            session = None
            gc.collect()
            start = time.perf_counter()
            session = make(graph)
            imports.append(time.perf_counter() - start)
            start = time.perf_counter()
            calls[name] = session.prepare(work)
            results[name] = calls[name]()
            firsts.append(time.perf_counter() - start)
        phases["import"][name] = statistics.median(imports)
        phases["first run"][name] = statistics.median(firsts)
    agree(results)
    phases["next run"] = interleaved(calls, args.repeat)
    goals = {
        "import": (None, TENSORFLOW),
        "first run": (50, TENSORFLOW[:1]),
        "next run": (5, TENSORFLOW),
    }
    return [
        Row(
            f"large_graph {phase}",
            "ms",
            goal,
            {k: v * 1e3 for k, v in phases[phase].items()},
            references,
        )
        for phase, (goal, references) in goals.items()
    ]


def process(args):
    """A whole process that loads and runs a small loop, beside one that does nothing."""
    graph_file, work = graphs.load(graphs.countdown, args.cache)
    command = [args.treadle, "run", graph_file, "--fetch", ",".join(work.fetches)]

    def start(argv):
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)

    calls = {"nothing": lambda: start(["true"])}
    if not args.no_treadle:
        calls["treadle"] = lambda: start(command)
    medians = interleaved(calls, max(args.repeat, 15))
    return [Row("process", "ms", None, {name: value * 1e3 for name, value in medians.items()})]


BENCHMARKS = {
    "scalar_chain": per_unit(graphs.scalar_chain, "ns/op", 4),
    "while_functional": per_unit(graphs.while_functional, "ns/iteration", 15),
    "while_frames": per_unit(graphs.while_frames, "ns/iteration", 15),
    "assign_functional": per_unit(graphs.assign_functional, "ns/iteration", 8),
    "assign_frames": per_unit(graphs.assign_frames, "ns/iteration", 8),
    "large_graph": large,
    "process": process,
}


def table(rows, threads):
    """Markdown, so that it can be quoted as it stands."""
    more = [f"{n} threads / 1" for n in threads[1:]]
    head = ["", "unit", *TENSORFLOW, "Treadle", "ratio", *more, "goal", ""]
    body = [
        [
            row.name,
            row.unit,
            *(number(row.medians.get(name)) for name in TENSORFLOW),
            number(row.treadle()),
            number(row.ratio()),
            *(number(row.threads().get(str(n))) for n in threads[1:]),
            number(row.goal),
            row.verdict() or beside(row),
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]

    def line(cells):
        return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |"

    return "\n".join([line(head), line(["-" * w for w in widths]), *map(line, body)])


def beside(row):
    return ", ".join(
        f"{name}: {number(value)}" for name, value in row.medians.items() if name == "nothing"
    )


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only benchmarks with TEXT in their names"
    )
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument(
        "--threads", default="1", help="numbers of threads, such as 1,2; the first counts"
    )
    parser.add_argument(
        "--repeat", type=int, default=15, help="rounds of which the median is taken"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--no-tensorflow", action="store_true")
    parser.add_argument("--no-treadle", action="store_true")
    parser.add_argument("--treadle", type=pathlib.Path, default="treadle", help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=pathlib.Path, default="bench", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    args.threads = [int(n) for n in args.threads.split(",")]
    return args


def main(argv):
    args = parse(argv)
    chosen = {name: run for name, run in BENCHMARKS.items() if args.only in name}
    if not chosen:
        sys.exit(f"bench: nothing has '{args.only}' in its name; there are {', '.join(BENCHMARKS)}")
    if args.list:
        print("\n".join(chosen))
        return
    if not args.no_treadle:
        importlib.import_module("treadle")
    rows = []
    for name, run in chosen.items():
        print(f"bench: {name}", file=sys.stderr)
        rows += run(args)
    if args.json:
        print(json.dumps([row.as_json() for row in rows], indent=1))
    else:
        print(table(rows, args.threads))


if __name__ == "__main__":
    main(sys.argv[1:])
