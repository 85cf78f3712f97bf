"""Loops over tensors whose elements are independent, which compiled code runs one lane after the
other: machine code beside the interpreter, in random programs.

TREADLE_STRESS_PROGRAMS sets how many programs; TREADLE_STRESS_SEED the first one, to repeat a
failure.
"""

import os

import numpy as np
import pytest

import treadle

PROGRAMS = int(os.environ.get("TREADLE_STRESS_PROGRAMS", "60"))
FIRST = int(os.environ.get("TREADLE_STRESS_SEED", "1"))

LANES = [7, 8, 16, 33, 100]


class Program:
    """A loop of random state; `kind` says what ends it:

    - fixed: a counter, the same for all lanes.
    - frozen: each lane's own condition; a select keeps the variables of lanes that have ended.
    - any: the condition of any lane, but without the select, so that lanes aren't independent.
    """

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.kind = self.choose(["fixed", "fixed", "frozen", "frozen", "any"])
        self.lanes = self.choose(LANES)
        self.shape = self.choose([[self.lanes], [self.lanes], [self.lanes, 3], [12, self.lanes]])
        self.graph = treadle.Builder()
        self.feeds = {}
        self.mixes = self.random.random() < 0.15  # reads other lanes
        self.writes = self.kind == "fixed" and self.random.random() < 0.5

    def choose(self, items):
        return items[self.random.integers(len(items))]

    def input(self, dtype, shape):
        name = f"x{len(self.feeds)}"
        if dtype == "int32":
            value = self.random.integers(-9, 10, shape).astype(dtype)
        else:
            value = np.round(self.random.normal(size=shape) * 4, 2).astype(dtype)
        self.feeds[name + ":0"] = value
        return self.graph.placeholder(name, dtype, shape)

    def next(self, state, inputs, i):
        """A new value from the state: additions, products, comparisons and selects."""
        g = self.graph
        value = self.choose(state)
        for _ in range(self.random.integers(1, 6)):
            other = self.choose([*state, *inputs])
            step = self.random.integers(8)
            if step == 0:
                value = value + other
            elif step == 1:
                value = value * 0.5 - other * 0.25
            elif step == 2:
                value = g.op("Maximum", [value, other])
            elif step == 3:
                value = g.op("SelectV2", [g.op("Less", [value, other]), value * 0.5, other])
            elif step == 4:
                value = value + g.cast(i, "float32")
            elif step == 5:
                whole = g.op("FloorMod", [g.cast(value, "int32"), 7])
                value = g.cast(whole, "float32") + other
            elif step == 6 and len(self.shape) == 2:
                axis = 1 if self.shape[1] == 3 else 0
                total = g.op("Sum", [value, axis], keep_dims=True)
                value = value * 0.5 + total * 0.125
            elif step == 7 and self.mixes:
                axis = 0 if len(self.shape) == 1 or self.shape[1] == 3 else 1
                value = g.op("ReverseV2", [value, [axis]])
        return g.op("Minimum", [g.op("Maximum", [value, -100.0]), 100.0])

    def build(self):
        g = self.graph
        inputs = [self.input("float32", self.shape) for _ in range(self.random.integers(1, 3))]
        state = {
            f"s{k}": self.input("float32", self.shape) for k in range(self.random.integers(1, 4))
        }
        counts = {"n": self.input("int32", self.shape)} if self.kind != "fixed" else {}
        steps = int(self.random.integers(0, 9))
        with g.while_loop(i=0, **state, **counts) as loop:
            if self.kind == "fixed":
                loop.condition(loop.i < steps)
            else:
                axes = list(range(len(self.shape)))
                loop.condition(g.op("Any", [loop.n < steps, axes]))
            now = [getattr(loop, name) for name in state]
            following = [self.next(now, inputs, loop.i) for _ in state]
            runs = loop.n < steps if self.kind == "frozen" else None
            for name, old, new in zip(state, now, following, strict=True):
                setattr(loop, name, g.op("SelectV2", [runs, new, old]) if runs is not None else new)
            if self.kind == "frozen":
                loop.n = g.op("SelectV2", [runs, loop.n + 1, loop.n])
            elif self.kind == "any":
                loop.n = loop.n + 1
            loop.i = loop.i + 1 if self.kind == "fixed" else loop.i
        results = [getattr(loop, name) for name in [*state, *counts]]
        if self.kind == "fixed":
            results.append(loop.i)
        return [g.op("Identity", [r], name=f"r{k}").name for k, r in enumerate(results)]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_lanes_compute_what_whole_tensors_do(seed):
    program = Program(seed)
    fetches = program.build()
    graph = program.graph.build()
    interpreted, compiled = (
        treadle.Session(graph, tier=tier, threads=threads).run(fetches, program.feeds)
        for tier, threads in (("interpret", 1), ("jit", 2))
    )
    for expected, found in zip(interpreted, compiled, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)
