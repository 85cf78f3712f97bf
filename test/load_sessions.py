#!/usr/bin/env python3
"""Callers of many models at once, which are loaded, called, cancelled and dropped.

    load_sessions.py --seconds 3600 [--callers 16] [--models 8]

Each caller takes a model at random, and sometimes loads it again, or cancels its runs. Values are
compared. At the end it prints the calls a second, the 50th and 99th percentile of a call in
milliseconds, and the memory of the process in the middle and at the end in MiB. Exits 1 for a wrong
value, an unexpected error, a caller that doesn't come back, or memory that grew by more
than a tenth and 64 MiB.
"""

import argparse
import pathlib
import random
import statistics
import sys
import threading
import time

import numpy as np

import treadle

COUNTDOWN = pathlib.Path(__file__).parents[1] / "examples" / "countdown.pbtxt"
WORDS = pathlib.Path(__file__).parents[1] / "examples" / "words"
ASKED_FOR = (treadle.CancelledError, treadle.DeadlineExceededError)


class Countdown:
    def __init__(self, chance):
        self.session = treadle.Session(
            COUNTDOWN,
            threads=chance.choice([1, 2]),
            tier=chance.choice(["interpret", "auto", "jit"]),
        )

    def call(self, chance):
        return self.session.run("count", {"start": chance.choice([3, 1000, 100_000])}) == 0


class Words:
    def __init__(self, chance):
        self.model = treadle.load(WORDS, threads=chance.choice([1, 2]))
        self.session = self.model.session

    def call(self, chance):
        x = np.full(chance.choice([1, 100, 10_000]), 2, np.float32)
        scaled = self.model.signatures["serving_default"](x=x)["scaled"]
        return bool((scaled == np.float32(5)).all())


class Product:
    def __init__(self, chance):
        g = treadle.Builder()
        x = g.placeholder("x", "float32", [None, None])
        g.op("MatMul", [x, x], name="y")
        self.session = treadle.Session(g.build(), tier=chance.choice(["auto", "jit"]))

    def call(self, chance):
        n = chance.choice([2, 64, 300])
        return bool((self.session.run("y", {"x": np.ones((n, n), np.float32)}) == n).all())


KINDS = (Countdown, Words, Product)


def resident():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Load:
    def __init__(self, models, seconds, seed):
        chance = random.Random(seed)
        self.models = [KINDS[i % len(KINDS)](chance) for i in range(models)]
        self.end = time.monotonic() + seconds
        self.failures, self.times = [], []
        self.lock = threading.Lock()

    def step(self, chance):
        place = chance.randrange(len(self.models))
        model = self.models[place]
        what = chance.random()
        if what < 0.01:
            self.models[place] = type(model)(chance)
        elif what < 0.02:
            model.session.cancel()
        begin = time.perf_counter()
        try:
            if not model.call(chance):
                self.failures.append(f"{type(model).__name__}: a wrong value")
        except ASKED_FOR:
            pass
        return time.perf_counter() - begin

    def work(self, seed):
        chance, own = random.Random(seed), []
        try:
            while time.monotonic() < self.end and not self.failures:
                own.append(self.step(chance))
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")
        with self.lock:
            self.times += own


def run(callers, models, seconds, seed=1):
    load = Load(models, seconds, seed)
    threads = [threading.Thread(target=load.work, args=(seed + i,)) for i in range(callers)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    middle = None
    while time.monotonic() < load.end and not load.failures:
        time.sleep(min(1, seconds / 10))
        if middle is None and time.monotonic() - begin > seconds / 2:
            middle = resident()
    for thread in threads:
        thread.join(60)
        if thread.is_alive():
            load.failures.append("a caller doesn't come back")
            break
    last = resident()
    if middle is not None and last > middle * 1.1 + 64:
        load.failures.append(f"memory grew from {middle:.0f} to {last:.0f} MiB")
    times = statistics.quantiles([1e3 * t for t in load.times], n=100) if load.times[1:] else []
    if times:
        print(
            f"{len(load.times) / seconds:.0f} calls a second, p50 {times[49]:.2f} ms, "
            f"p99 {times[98]:.2f} ms, {middle or last:.0f} MiB in the middle, {last:.0f} at the end"
        )
    return load.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failures = run(args.callers, args.models, args.seconds, args.seed)
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
