#!/usr/bin/env python3
"""Measures loops in Treadle, interpreted and compiled, beside JAX, TensorFlow, XLA, ONNX and IREE.

All in turns, in one process; the shortest of many rounds counts, since others may use the machine.
A runtime that isn't installed is left out, and one that can't run a program "can't".

    ./dev bench loops                    programs of this folder: rivals.py
    ./dev bench loops FOLDER             and models, as ./dev bench models has them
    ./dev bench loops --markdown         the tables of docs/performance.md
"""

import argparse
import functools
import importlib.util
import json
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TREADLE_CACHE_DIR"] = "off"  # nothing is loaded from the cache

import models
import numpy as np
import rivals
from model_rivals import MODEL_RIVALS, rival_call

import bench

MODELS = ("beam_search", "cartpole", "greedy_decode", "lstm_text")
LONG = 0.02  # seconds that a measured call takes at least, if it can have more iterations


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def makers(args):
    """Returns the participating implementations by name."""
    chosen = dict(rivals.TREADLE)
    for name, (module, maker) in rivals.RIVALS.items():
        if name in args.without:
            continue
        if is_installed(module):
            chosen[name] = maker
        else:
            print(f"bench: {module} isn't installed: {name} is left out", file=sys.stderr)
    return chosen


def shortest(calls, repeat):
    """The shortest times of `repeat` rounds, in each of which every call is made in turn."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            times[name] = min(times[name], bench.seconds(call))
    return times


def enough(call, most):
    """A number of iterations that takes long enough to be measured."""
    count = 1000
    while count < most and bench.seconds(functools.partial(call, count)) < LONG:
        count *= 4
    return min(count, most)


# Name, program, unit, units a second, iterations at most (None: it is no loop).
PROGRAMS = [
    ("x * 0.5 + 1, an iteration", "scalar", "ns", 1e9, 1_000_000),
    ("v = v * 0.5 + 1 of a variable, an iteration", "variable", "ns", 1e9, 1_000_000),
    ("concatenate a row, an iteration of 1,000", "growing", "ns", 1e9, 1_000),
    ("append a row to a list, an iteration of 1,000", "list", "ns", 1e9, 1_000),
    ("11 elementwise ops, 1,000,000 floats", "chain", "ms", 1e3, None),
]


def measure_program(row, chosen, args):
    name, program, unit, scale, most = row
    calls, counts = {}, {}
    for runtime, maker in chosen.items():
        call = rivals.quietly(maker, program, args.threads)
        if call is None:
            continue
        counts[runtime] = (
            1 if most is None else most if program in ("growing", "list") else enough(call, most)
        )
        calls[runtime] = functools.partial(call, counts[runtime])
    check(name, {runtime: call(3) for runtime, call in unbound(calls).items()})
    times = shortest(calls, args.repeat)
    return {"name": name, "unit": unit} | {
        "times": {k: v / counts[k] * scale for k, v in times.items()}
    }


def unbound(calls):
    return {name: call.func for name, call in calls.items()}


def check(name, values):
    reference = values["Treadle interpret"]
    for runtime, value in values.items():
        if not np.allclose(value, reference, rtol=1e-4, atol=1e-5):
            sys.exit(f"bench: {name}: {runtime} gives another value than the interpreter")


def measure_model(folder, args):
    model = models.first_call(folder)
    calls = {
        f"Treadle {tier}": models.treadle_call(model, args.threads, tier) for tier in rivals.TIERS
    }
    for name in MODEL_RIVALS:
        call = name not in args.without and rival_call(name, model, args.threads)
        if call:
            calls[name] = call
    times = {k: v * 1e3 for k, v in shortest(calls, args.repeat).items()}
    return {"name": f"{folder.name}, a call", "unit": "ms", "times": times}


def first_answer(name, make):
    """Measures the time from a text or folder to the first values, in ms."""
    times = {}
    for tier in rivals.TIERS:
        tries = [bench.seconds(lambda: make(tier)) for _ in range(5)]  # noqa: B023
        times[f"Treadle {tier}"] = min(tries) * 1e3
    return {"name": name, "unit": "ms", "times": times}


def first_answers(folders, args):
    rows = []
    for _, program, *_ in PROGRAMS:
        make = lambda tier: rivals.treadle(tier, program, args.threads)(1)  # noqa: B023, E731
        rows.append(first_answer(f"{program}: first answer", make))
    for folder in folders:
        inputs = models.first_call(folder).inputs

        def make(tier):
            import treadle

            model = treadle.load(folder, threads=args.threads, tier=tier)  # noqa: B023
            model.signatures["serving_default"](**inputs)  # noqa: B023

        rows.append(first_answer(f"{folder.name}: first answer", make))
    return rows


def compile_time(name, program, start):
    """Measures the compile time of a loop of 20 ops, a new loop each time."""
    import treadle

    times = []
    for i in range(5):
        text = program(0.5 + time.time_ns() % 1000 / 1e6 + i)
        graph = treadle.Graph.from_bytes(text.encode())
        session = treadle.Session(graph, tier="jit", statistics=True)
        names = [value.name for value in graph.inputs()]
        feeds = dict(zip(names, (np.int32(3), start), strict=True))
        session.run([value.name for value in graph.outputs()], feeds)
        times.append(session.statistics().compile_seconds * 1e3)
    return {
        "name": f"compiling a loop of 20 ops on {name}",
        "unit": "ms",
        "times": {"Treadle jit": min(times)},
    }


def fastest(times, ours):
    return min((v for k, v in times.items() if k.startswith("Treadle") == ours), default=None)


def print_rows(rows, columns, markdown, missing="can't"):
    has_rivals = any(not column.startswith("Treadle") for column in columns)
    head = ["", *columns, *(["best rival / best of Treadle"] if has_rivals else [])]
    lines = [head]
    for row in rows:
        times = row["times"]
        cells = [f"{times[c]:.3g}" if c in times else missing for c in columns]
        theirs, own = fastest(times, False), fastest(times, True)
        ratio = f"{theirs / own:.3g}x" if theirs and own else ""
        lines.append([f"{row['name']}, {row['unit']}", *cells, ratio][: len(head)])
    if markdown:
        lines.insert(1, ["---"] * len(head))
        print("\n".join(f"| {' | '.join(line)} |" for line in lines))
        return
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench loops",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="a folder of models")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of each runtime; default: 2"
    )
    parser.add_argument("--repeat", type=int, default=20, help="rounds; default: 20")
    names = list(dict.fromkeys([*rivals.RIVALS, *MODEL_RIVALS]))
    parser.add_argument("--without", action="append", default=[], choices=names)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    folders = [args.folder / name for name in MODELS] if args.folder else []
    folders = [folder for folder in folders if (folder / "io.npz").exists()]
    if args.folder and not folders:
        sys.exit(f"bench: '{args.folder}' has none of the models {', '.join(MODELS)}")
    args.chosen = makers(args)
    tiers = [f"Treadle {tier}" for tier in rivals.TIERS]
    rows = [measure_program(row, args.chosen, args) for row in PROGRAMS]
    rows += [measure_model(folder, args) for folder in folders]
    starts = [
        *first_answers(folders, args),
        compile_time("scalars", rivals.straight, np.float32(1)),
        compile_time("vectors", rivals.vectors, np.ones(64, np.float32)),
    ]
    if args.json:
        print(json.dumps(rows + starts))
        return
    columns = [name for name in names if any(name in row["times"] for row in rows)]
    print_rows(rows, columns + tiers, args.markdown)
    print()
    print_rows(starts, tiers, args.markdown, missing="")


if __name__ == "__main__":
    main()
