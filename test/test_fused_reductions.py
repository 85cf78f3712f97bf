"""Reductions that are compiled with the broadcasts and elementwise ops around them."""

import random

import numpy as np
import pytest

import treadle

NUMPY = {"f32": np.float32, "f64": np.float64}
UNARY = ["Neg", "Abs", "Square", "Tanh", "Sigmoid", "Exp", "Cos"]
BINARY = ["AddV2", "Sub", "Mul", "Maximum", "SquaredDifference"]
REDUCTIONS = ["Sum", "Sum", "Mean", "Max", "Min"]


class Program:
    """A random program over tensors of known shapes that broadcast to one shape."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.dtype = self.rng.choice(list(NUMPY))
        self.shape = self.rng.choice([(70, 300), (3000, 7), (5, 60, 90), (27, 40, 30), (20000,)])
        self.lines, self.inputs, self.count = [], {}, 0
        for _ in range(3):
            self.add_input()

    def type(self, shape):
        return f"tensor<{''.join(f'{size}x' for size in shape)}{self.dtype}>"

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def node(self, op, operands, shape, attrs=""):
        name = self.name()
        values = ", ".join(f"%{operand}" for operand, _ in operands)
        types = ", ".join(type for _, type in operands)
        self.lines.append(
            f'%{name}, %{name}_c = {op}({values}) name("{name}") {{T = {self.dtype}{attrs}}} : '
            f"({types}) -> ({self.type(shape)})"
        )
        return name, self.type(shape)

    def constant(self, values):
        name, type = self.name(), f"tensor<{len(values)}xi32>"
        self.lines.append(
            f'%{name}, %{name}_c = Const name("{name}") '
            f"{{dtype = i32, value = dense<{list(values)}> : {type}}} : () -> ({type})"
        )
        return name, type

    def add_input(self):
        shape = [size if self.rng.random() < 0.6 else 1 for size in self.shape]
        name = self.name()
        attrs = f"dtype = {self.dtype}, shape = #tf_type.shape<{'x'.join(map(str, shape))}>"
        self.lines.append(
            f'%{name}, %{name}_c = Placeholder name("{name}") {{{attrs}}} : '
            f"() -> ({self.type(shape)})"
        )
        numbers = np.random.default_rng(self.count).uniform(-2, 2, shape)
        self.inputs[name] = (tuple(shape), numbers.astype(NUMPY[self.dtype]))

    def broadcast(self, value, attrs=", Tidx = i32"):
        return self.node("BroadcastTo", [value, self.constant(self.shape)], self.shape, attrs)

    def elements(self, values, length):
        """Values of the full shape, the last one computed from all others."""
        values = [self.broadcast(value) for value in values]
        for _ in range(length):
            if self.rng.random() < 0.5:
                made = self.node(self.rng.choice(UNARY), [self.rng.choice(values)], self.shape)
            else:
                operands = [self.rng.choice(values) for _ in range(2)]
                made = self.node(self.rng.choice(BINARY), operands, self.shape)
            values.append(self.node("Sigmoid", [made], self.shape))
        total = values[0]
        for value in values[1:]:
            total = self.node("AddV2", [total, value], self.shape)
        return total

    def reduce(self, value):
        rank = len(self.shape)
        axes = self.rng.sample(range(rank), self.rng.randint(1, rank))
        kept = [1 if i in axes else size for i, size in enumerate(self.shape)]
        attrs = ", Tidx = i32, keep_dims = true"
        return self.node(self.rng.choice(REDUCTIONS), [value, self.constant(axes)], kept, attrs)

    def graph(self):
        values = [(name, self.type(shape)) for name, (shape, _) in self.inputs.items()]
        first = self.reduce(self.elements(values, 3))
        last = self.reduce(self.elements([*values, first], 2))
        head = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n"
        text = head + "\n".join(self.lines) + "\n}\n"
        return treadle.Graph.from_bytes(text.encode()), [f"{first[0]}:0", f"{last[0]}:0"]


@pytest.mark.parametrize("seed", range(40))
def test_compiled_reductions_have_the_values_of_the_interpreter(seed):
    program = Program(seed)
    graph, fetches = program.graph()
    feeds = {f"{name}:0": numbers for name, (_, numbers) in program.inputs.items()}
    expected = treadle.Session(graph, tier="interpret").run(fetches, feeds)
    session = treadle.Session(graph, tier="jit", statistics=True)
    results = session.run(fetches, feeds)
    assert session.statistics().compiled_calls > 0
    rounding = 1e-5 if program.dtype == "f32" else 1e-13
    for result, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, other, rtol=rounding, atol=rounding)
