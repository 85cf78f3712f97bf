#!/usr/bin/env python3
"""Measures loops as people write them, compiled, beside the framework they are written in.

Both in turns, in one process for each program, so that a crash is that program's.

    ./dev bench written jax                  the programs of written_jax.py
    ./dev bench written jax --plugin         the same with Treadle as a JAX device
    ./dev bench written tensorflow           and those of written_tensorflow.py, beside XLA
    ./dev bench written torch NAME...        only these, beside inductor
    ./dev bench written FILE                 a Python file of the same form, as written_jax.py;
                                             for another framework it is in the file's name

A line a program: the time of the fastest rival, Treadle's, their ratio (above 1: Treadle is
faster), the first call, which compiles, the rival's first call, and the largest difference. Then
the geometric mean; the exit status is 1 if any program is slower or fails.
"""

import argparse
import contextlib
import importlib.util
import inspect
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["TREADLE_CACHE_DIR"] = "off"  # nothing is loaded from the cache

import numpy as np
import rivals

import bench
import treadle

HERE = pathlib.Path(__file__).parent


class Jax:
    """Uses jax.export: a function jitted by JAX, and its StableHLO."""

    def __init__(self, function, arguments, threads):
        import jax

        self.leaves = jax.tree.leaves
        jitted = jax.jit(function)
        self.rivals = {"JAX": lambda: jax.block_until_ready(jitted(*arguments))}
        self.expected = self.rivals["JAX"]
        exported = jax.export.export(jitted)(*arguments)
        self.text = exported.mlir_module()
        self.kept = [self.leaves(arguments)[i] for i in exported.module_kept_var_idx]

    def treadle(self, args):
        graph = treadle.Graph.from_bytes(self.text.encode())
        session = treadle.Session(graph, tier=args.tier, threads=args.threads)
        names = [value.name for value in graph.inputs()]
        feeds = {name: np.asarray(x) for name, x in zip(names, self.kept, strict=True)}
        fetches = [value.name for value in graph.outputs()]
        return lambda: session.run(fetches, feeds)


class JaxDevice:
    """Uses the PJRT plug-in: a function jitted by JAX, on Treadle and on XLA's CPU backend."""

    def __init__(self, function, arguments, threads):
        import jax

        self.leaves = jax.tree.leaves
        jitted = jax.jit(function)

        def on(platform):
            placed = jax.device_put(arguments, jax.devices(platform)[0])
            return lambda: jax.block_until_ready(jitted(*placed))

        self.rivals = {"JAX": on("cpu")}
        self.expected = self.rivals["JAX"]
        self.call = on("treadle")

    def treadle(self, args):
        return lambda: self.leaves(self.call())


class TensorFlow:
    """Uses a SavedModel: a tf.function, run by TensorFlow's executor and compiled by XLA."""

    def __init__(self, function, arguments, threads):
        tf = rivals.limited_tensorflow(threads)
        self.leaves = tf.nest.flatten
        self.feeds = dict(zip(inspect.signature(function).parameters, arguments, strict=True))
        constants = [tf.constant(x) for x in arguments]
        plain, compiled = tf.function(function), tf.function(function, jit_compile=True)
        self.rivals = {
            "XLA": lambda: [x.numpy() for x in self.leaves(compiled(*constants))],
            "TensorFlow": lambda: [x.numpy() for x in self.leaves(plain(*constants))],
        }
        self.expected = self.rivals["TensorFlow"]
        self.module = tf.Module()
        self.module.function = plain
        specs = [tf.TensorSpec(x.shape, x.dtype) for x in constants]
        self.signature = plain.get_concrete_function(*specs)
        self.save = tf.saved_model.save

    def treadle(self, args):
        with tempfile.TemporaryDirectory() as folder:
            self.save(self.module, folder, signatures=self.signature)
            model = treadle.load(folder, tier=args.tier, threads=args.threads)
        signature = model.signatures["serving_default"]
        names = sorted(signature.outputs)
        return lambda: [result[name] for result in [signature(**self.feeds)] for name in names]


class Torch:
    """Uses torch.export: a function, compiled by inductor if possible and run by PyTorch."""

    def __init__(self, function, arguments, threads):
        import torch
        from torch.utils import _pytree

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.leaves = _pytree.tree_leaves
        self.given = [torch.as_tensor(x) for x in arguments]
        compiled = torch.compile(function)
        self.rivals = {
            "inductor": lambda: compiled(*self.given),
            "PyTorch": lambda: function(*self.given),
        }
        self.expected = self.rivals["PyTorch"]
        module = type("Written", (torch.nn.Module,), {"forward": lambda _, *xs: function(*xs)})()
        self.exported = torch.export.export(module, tuple(self.given))

    def treadle(self, args):
        run = treadle.from_fx(self.exported, tier=args.tier, threads=args.threads)
        return lambda: self.leaves(run(*self.given))


FRAMEWORKS = {"jax": Jax, "tensorflow": TensorFlow, "torch": Torch}


def difference(expected, got):
    """The largest, relative where values are large; a NaN is equal to a NaN."""
    worst = 0.0
    for a, b in zip(expected, got, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise AssertionError(f"{b.dtype}{b.shape}, expected {a.dtype}{a.shape}")
        kind = complex if a.dtype.kind == "c" else float
        a, b = a.astype(kind), b.astype(kind)
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b) / (1 + np.abs(a)))
        worst = max([worst, *apart.ravel().tolist()], key=lambda x: math.inf if x != x else x)
    return worst


def medians(calls, rounds=3, length=0.4):
    """Returns median times of calls made in turns: as many of each as fit into `length` seconds,
    `rounds` times."""
    times = {name: [] for name in calls}
    for call in list(calls.values()) * 3:
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            end = time.perf_counter() + length
            while time.perf_counter() < end:
                times[name].append(bench.seconds(call))
    return {name: statistics.median(values) for name, values in times.items()}


def first_seconds(calls):
    """Returns the time of the first call, for those that can run the program."""
    times = {}
    for name, call in calls.items():
        with contextlib.suppress(Exception):  # the rivals' own, of many kinds
            times[name] = bench.seconds(call)
    return times


def measure(name, function, arguments, args):
    """The line of a program: Treadle beside the fastest of its rivals."""
    framework = JaxDevice if args.plugin else FRAMEWORKS[args.framework]
    program = framework(function, arguments, args.threads)
    firsts = first_seconds(program.rivals)
    expected = program.leaves(program.expected())
    call = program.treadle(args)
    got = []
    first = bench.seconds(lambda: got.extend(call()))
    apart = difference(expected, got)
    times = medians({rival: program.rivals[rival] for rival in firsts} | {"Treadle": call})
    own = times.pop("Treadle")
    rival = min(times, key=times.get)
    return (
        f"{name:26} {rival} {times[rival] * 1e3:9.3f} ms   Treadle {own * 1e3:9.3f} ms   "
        f"{times[rival] / own:7.3f}x   first call {first * 1e3:6.0f} ms "
        f"({rival} {firsts[rival] * 1e3:5.0f})   difference {apart:.1g}"
    )


def in_a_process(name, args):
    """The line of one program."""
    command = [sys.executable, __file__, args.programs, name, "--alone"]
    command += ["--tier", args.tier, "--threads", str(args.threads)]
    command += ["--plugin"] if args.plugin else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout)
    except subprocess.TimeoutExpired:
        return f"{name:28} takes longer than {args.timeout} s"
    for line in done.stdout.splitlines():
        if line.startswith(f"{name} "):
            return line
    said = (done.stderr.strip() or "nothing").splitlines()[-1]
    return f"{name:28} exit {done.returncode}: {said[:200]}"


def load(programs):
    """Returns the function and the arguments by name."""
    path = pathlib.Path(programs)
    if not path.suffix:
        path = HERE / f"written_{programs}.py"
    if not path.exists():
        sys.exit(f"bench: '{programs}' is no file, and none of {', '.join(FRAMEWORKS)}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where AutoGraph looks for sources
    spec.loader.exec_module(module)
    return getattr(module, "PROGRAMS", None) or module.P


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench written",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("programs", help=f"{', '.join(FRAMEWORKS)} or a file of programs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--tier", default="jit", choices=("interpret", "auto", "jit"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--timeout", type=int, default=300, help="time limit of a program in seconds"
    )
    parser.add_argument("--plugin", action="store_true", help="use Treadle as a JAX device")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    stem = pathlib.Path(args.programs).stem
    args.framework = next((name for name in FRAMEWORKS if name in stem), "jax")
    return args


def use_plugin(args):
    """JAX reads these when it is imported, which programs do."""
    os.environ["JAX_PLATFORMS"] = "cpu,treadle"
    os.environ["TREADLE_TIER"], os.environ["TREADLE_THREADS"] = args.tier, str(args.threads)
    importlib.import_module("jax")


def main():
    args = parse()
    if args.plugin:
        use_plugin(args)
    programs = load(args.programs)
    for name in args.names:
        if name not in programs:
            sys.exit(f"bench: there is no program '{name}', expected one of {', '.join(programs)}")
    if args.alone:
        print(measure(args.names[0], *programs[args.names[0]], args))
        return
    ratios = []
    for name in args.names or programs:
        line = in_a_process(name, args)
        print(line, flush=True)
        found = re.search(r" ([0-9.]+)x ", line)
        ratios.append(float(found[1]) if found else 0)
    ran = [ratio for ratio in ratios if ratio]
    mean = math.exp(statistics.mean(map(math.log, ran))) if ran else math.nan
    print(
        f"geometric mean {mean:.2f}x of {len(ran)} programs; "
        f"slower: {sum(ratio < 1 for ratio in ran)}; failed: {len(ratios) - len(ran)}"
    )
    sys.exit(any(ratio < 1 for ratio in ratios))


if __name__ == "__main__":
    main()
