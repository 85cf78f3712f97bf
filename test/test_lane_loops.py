"""Loops over tensors whose elements are independent, which compiled code runs one lane after the
other: machine code beside the interpreter, in random programs.

TREADLE_STRESS_PROGRAMS sets how many programs; TREADLE_STRESS_SEED the first one, to repeat a
failure.
"""

import os

import numpy as np
import pytest

import treadle

PROGRAMS = int(os.environ.get("TREADLE_STRESS_PROGRAMS", "80"))
FIRST = int(os.environ.get("TREADLE_STRESS_SEED", "1"))

LANES = [7, 8, 16, 33, 100]
ROWS = 9


class Program:
    """A loop of random state; `kind` says what ends it:

    - fixed: a counter, the same for all lanes.
    - frozen: each lane's own condition; a select keeps the variables of lanes that have ended.
    - any: the condition of any lane, but without the select, so that lanes aren't independent.
    """

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.kind = self.choose(["fixed", "fixed", "frozen", "frozen", "any"])
        self.dtype = self.choose(["float32", "float32", "float64", "complex64", "int32"])
        lanes = self.choose(LANES)
        self.shape = self.choose([[lanes], [lanes], [lanes, 3], [12, lanes]])
        self.lane_axis = 1 if self.shape[0] == 12 else 0
        self.graph = treadle.Builder()
        self.feeds = {}
        self.mixes = self.random.random() < 0.15  # reads other lanes
        self.is_nested = self.random.random() < 0.3
        self.has_rows = self.kind == "fixed" and self.random.random() < 0.5

    def choose(self, items):
        return items[self.random.integers(len(items))]

    def input(self, dtype, shape):
        name = f"x{len(self.feeds)}"
        if dtype == "int32":
            value = self.random.integers(-9, 10, shape).astype(dtype)
        else:
            value = np.round(self.random.normal(size=shape) * 4, 2).astype(dtype)
        if dtype == "complex64":
            value = value + 1j * np.round(self.random.normal(size=shape), 2).astype("float32")
        self.feeds[name + ":0"] = value
        return self.graph.placeholder(name, dtype, shape)

    def number(self, value):
        return np.array(value, self.dtype)

    def halved(self, value):
        return value if self.dtype == "int32" else value * self.number(0.5)

    def is_less(self, a, b):
        if self.dtype == "complex64":
            a, b = (self.graph.op("Real", [x], Tout="float32") for x in (a, b))
        return self.graph.op("Less", [a, b])

    def bounded(self, value):
        g = self.graph
        if self.dtype == "complex64":
            return g.op("SelectV2", [g.op("ComplexAbs", [value]) < 100.0, value, self.number(1j)])
        return g.op("Minimum", [g.op("Maximum", [value, self.number(-100)]), self.number(100)])

    def following(self, state, inputs, i):
        """A new value from the state: additions, products, comparisons and selects."""
        g = self.graph
        value = self.choose(state)
        for _ in range(self.random.integers(1, 6)):
            other = self.choose([*state, *inputs])
            step = self.random.integers(8)
            if step == 0:
                value = value + other
            elif step == 1:
                value = self.halved(value) - self.halved(self.halved(other))
            elif step == 2:
                value = self.bounded(value * other)
            elif step == 3:
                value = g.op("SelectV2", [self.is_less(value, other), self.halved(value), other])
            elif step == 4:
                value = value + g.cast(i, self.dtype)
            elif step == 5 and self.dtype != "complex64":
                whole = g.op("FloorMod", [g.cast(value, "int32"), 7])
                value = g.cast(whole, self.dtype) + other
            elif step == 6 and len(self.shape) == 2:
                total = g.op("Sum", [value, 1 - self.lane_axis], keep_dims=True)
                value = self.halved(value) + self.halved(self.halved(total))
            elif step == 7 and self.mixes:
                value = g.op("ReverseV2", [value, [self.lane_axis]])
        return self.bounded(value)

    def inner(self, start, inputs):
        """A loop inside of the loop, whose length each lane decides."""
        g = self.graph
        with g.while_loop(v=start, k=g.op("ZerosLike", [self.feed_counts])) as loop:
            axes = list(range(len(self.shape)))
            loop.condition(g.op("Any", [loop.k < self.feed_counts, axes]))
            runs = loop.k < self.feed_counts
            made = self.following([loop.v], [], 2)
            loop.v = g.op("SelectV2", [runs, made, loop.v])
            loop.k = g.op("SelectV2", [runs, loop.k + 1, loop.k])
        return loop.v

    def row_of(self, rows, i):
        begin = [i, *[0] * len(self.shape)]
        row = self.graph.op("XlaDynamicSlice", [rows, begin, [1, *self.shape]])
        return self.graph.op("Reshape", [row, self.shape])

    def build(self):
        g = self.graph
        self.feed_counts = self.input("int32", self.shape)
        inputs = [self.input(self.dtype, self.shape) for _ in range(self.random.integers(1, 3))]
        state = {f"s{k}": self.input(self.dtype, self.shape) for k in range(self.choose([1, 2, 3]))}
        counts = {"n": self.input("int32", self.shape)} if self.kind != "fixed" else {}
        rows = {"rows": self.input(self.dtype, [ROWS, *self.shape])} if self.has_rows else {}
        given = self.input(self.dtype, [ROWS, *self.shape]) if self.has_rows else None
        steps = int(self.random.integers(0, ROWS))
        with g.while_loop(i=0, **state, **counts, **rows) as loop:
            if self.kind == "fixed":
                loop.condition(loop.i < steps)
            else:
                axes = list(range(len(self.shape)))
                loop.condition(g.op("Any", [loop.n < steps, axes]))
            now = [getattr(loop, name) for name in state]
            read = [self.row_of(given, loop.i)] if self.has_rows else []
            made = [self.following(now, [*inputs, *read], loop.i) for _ in state]
            if self.is_nested:
                made[0] = self.inner(made[0], inputs)
            runs = loop.n < steps if self.kind == "frozen" else None
            for name, old, new in zip(state, now, made, strict=True):
                setattr(loop, name, g.op("SelectV2", [runs, new, old]) if runs is not None else new)
            if self.kind == "frozen":
                loop.n = g.op("SelectV2", [runs, loop.n + 1, loop.n])
            elif self.kind == "any":
                loop.n = loop.n + 1
            else:
                if self.has_rows:
                    row = g.op("Reshape", [made[-1], [1, *self.shape]])
                    at = [loop.i, *[0] * len(self.shape)]
                    loop.rows = g.op("XlaDynamicUpdateSlice", [loop.rows, row, at])
                loop.i = loop.i + 1
        results = [getattr(loop, name) for name in [*state, *counts, *rows, "i"]]
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
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-4)
