"""Random graphs in which nothing but edges that somebody asked for orders the effects.

The explorer runs all their schedules: one that gives something else shows that an edge was lost.
"""

import random

import numpy as np
import pytest

import treadle

VARIABLES = ("a", "b")
NODES = 12
X = np.arange(1, 5, dtype=np.float32).reshape(2, 2)
KEEP = "KEEP"  # in passes: what is asked for
PASSES = [
    f"tfg-cse{{keep={KEEP}}}",
    "tfg-constant-folding",
    f"tfg-remap{{keep={KEEP}}}",
    f"tfg-dedupe-constants{{keep={KEEP}}}",
    "tfg-toposort",
    f"tfg-prune{{targets={KEEP}}}",
    "tfg-shape-inference",
    "tfg-consolidate-attrs",
    "tfg-consolidate-attrs,tfg-prepare-attrs-export",
    f"tfg-outline-clusters{{fetches={KEEP}}}",
    f"tfg-name-compress{{keep={KEEP}}}",
    "tfg-inline",
    f"tfg-default{{targets={KEEP}}}",
    "tfg-schedule-communication",
    "tfg-schedule-communication{bucket=1000}",
    f"tfg-partition{{ranks=1 fetches={KEEP}}}",
]


class Drawn:
    """A graph of effects on two variables and pure nodes, all in one random order.

    If two effects conflict, the later one follows the earlier one by an edge, or through a pure
    node between them. No other edges connect nodes that share no value.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.graph = treadle.Graph.from_bytes(
            b'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
        )
        for name in VARIABLES:
            attrs = {"dtype": "float32", "shape": (2, 2), "shared_name": name}
            self.graph.add("VarHandleOp", name=name, attrs=attrs)
            value = self.const(f"{name}/value")
            self.graph.add("AssignVariableOp", [name, value], name=f"{name}/init")
        self.integer("size")
        self.integer("key")
        self.reads, self.effects, self.pure = [], [], []
        self.order = {}  # by node: the nodes that it should follow
        self.direct = []  # edges from an effect to one that conflicts with it
        for i in range(NODES):
            self.draw(f"n{i}")
        self.ordered = self.ask(self.order)

    def integer(self, name):
        attrs = {
            "dtype": "int32",
            "value": np.int32(1 if name == "size" else len(self.graph.nodes())),
        }
        self.graph.add("Const", name=name, attrs=attrs)
        return name

    def const(self, name):
        value = np.full((2, 2), self.random.randint(2, 5), np.float32)
        self.graph.add("Const", name=name, attrs={"dtype": "float32", "value": value})
        return name

    def draw(self, name):
        self.random.choices([self.add_pure, self.add_exchange, self.add_effect], [3, 1, 5])[0](name)

    def add_pure(self, name):
        """Adds nodes that passes fold, merge and fuse."""
        source = self.random.choice(["x", *self.pure[-2:]])
        op, inputs = self.random.choice(
            [
                ("Neg", [source]),
                ("Relu", [source]),
                ("MatMul", [source, "x"]),
                ("Mul", [source, self.const(f"{name}/by")]),
                ("Square", [self.const(f"{name}/of")]),
            ]
        )
        self.graph.add(op, inputs, name=name)
        self.pure.append(name)

    def add_exchange(self, name):
        """Among one process, so that it can run here; a schedule moves it all the same."""
        attrs = {"merge_op": "Add", "final_op": "Id"}
        inputs = [self.random.choice(["x", *self.pure]), "size", "key", self.integer(f"{name}/key")]
        self.graph.add("CollectiveReduceV2", inputs, name=name, attrs=attrs)
        self.pure.append(name)

    def add_effect(self, name):
        variable = self.random.choice(VARIABLES)
        op = self.random.choice(["AssignVariableOp", "AssignAddVariableOp", "ReadVariableOp"])
        is_read = op == "ReadVariableOp"
        attrs = {"dtype": "float32"} if is_read else {}
        inputs = [variable] if is_read else [variable, self.const(f"{name}/value")]
        self.graph.add(op, inputs, name=name, attrs=attrs)
        earlier = [e for e in self.effects if e[1] == variable and not (is_read and e[2])]
        for other, _, _ in earlier:
            self.follow(other, name)
        self.effects.append((name, variable, is_read))
        if is_read:
            self.reads.append(f"{name}:0")

    def follow(self, earlier, later):
        place = int(earlier[1:])
        between = [p for p in self.pure if int(p[1:]) > place]
        if between and self.random.random() < 0.4:
            way = self.random.choice(between)
            self.order.setdefault(way, []).append(earlier)
            self.order.setdefault(later, []).append(way)
        else:
            self.order.setdefault(later, []).append(earlier)
            self.direct.append((earlier, later))

    def ask(self, order):
        """Adds these edges, and soft edges that change nothing."""
        copy = treadle.Graph.from_bytes(self.graph.to_bytes())
        copy.preserve_order(order)
        names = [*self.targets, *self.pure]
        copy.preserve_order(
            {n: [e for e in self.random.sample(names, 2) if e != n] for n in names}, soft=True
        )
        return copy

    @property
    def targets(self):
        return [name for name, _, _ in self.effects]

    def outcomes(self, graph):
        setup = [f"{name}/init" for name in VARIABLES]
        found = graph.explore(self.reads, {"x:0": X}, self.targets, setup=setup)
        assert found.is_complete and not found.is_random and not found.is_ambiguous
        return found

    def run(self, graph, threads):
        session = treadle.Session(graph, threads=threads)
        session.run([], targets=[f"{name}/init" for name in VARIABLES])
        values = session.run(self.reads, {"x:0": X}, targets=self.targets)
        return [*values, *(session.variables()[name] for name in VARIABLES)]

    def after(self, passes):
        kept = [*self.targets, "x", *(f"{name}/init" for name in VARIABLES)]
        return self.ordered.run_passes(passes.replace(KEEP, ",".join(kept)))


@pytest.mark.parametrize("seed", range(16))
def test_every_schedule_keeps_hard_edges(seed):
    drawn = Drawn(seed)
    assert not drawn.outcomes(drawn.ordered).difference
    expected = drawn.run(drawn.ordered, 1)
    for passes in [*drawn.random.sample(PASSES, 3), ",".join(drawn.random.sample(PASSES, 2))]:
        graph = drawn.after(passes)
        assert not drawn.outcomes(graph).difference, passes
        for threads in 1, 2:
            np.testing.assert_array_equal(drawn.run(graph, threads), expected, passes)


def test_a_lost_edge_is_seen():
    seen = 0
    for seed in range(16):
        drawn = Drawn(seed)
        for lost in drawn.direct:
            order = {
                node: [e for e in earlier if (e, node) != lost]
                for node, earlier in drawn.order.items()
            }
            seen += bool(drawn.outcomes(drawn.ask(order)).difference)
    assert seen > 16
