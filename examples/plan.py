"""Plans a training step on two machines, so that computation hides the gradient all-reduces.

python examples/plan.py
"""

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import treadle

# Seconds of each op, as `treadle run --trace` measures them; the link, as `treadle links` does.
COSTS = {
    "ops": {"MatMul": 0.004, "Tanh": 0.001},
    "link": {"latency": 1e-4, "bytes_per_second": 8e6},
}
MEAN = {"merge_op": "Add", "final_op": "Div"}


def training_step(layers=3, size=128):
    g = treadle.Builder()
    x = y = g.placeholder("x", "float32", [32, size])
    start = np.random.default_rng(1).normal(0, 0.1, (size, size)).astype(np.float32)
    weights = [g.variable(f"w{i}", start) for i in range(layers)]
    moments = g.variable("moments", np.zeros((size, size), np.float32))
    moments.assign_add(g.op("MatMul", [x, x], transpose_a=True, name="statistics"))
    for w in weights:
        y = g.op("Tanh", [y @ w])
    for i, gradient in enumerate(g.gradients(y, weights, grad_ys=y - x)):
        # The size and the key of the group, and the key of this exchange.
        mean = g.op("CollectiveReduceV2", [gradient, 2, 1, i], name=f"mean{i}", attrs=MEAN)
        weights[i].assign_sub(0.1 * mean)
    g.effects(name="step")
    return g.build().run_passes("tfg-shape-inference")  # the plan needs the sizes of gradients


def train(graph, communicator, x):
    session = treadle.Session(graph, communicator=communicator)
    session.run([], targets=["init"])
    session.run([], {"x": x}, targets=["step"])
    return session.variables()["w0"]


graph = training_step()
with tempfile.NamedTemporaryFile("w", suffix=".json") as costs:
    json.dump(COSTS, costs)
    costs.flush()
    plan = graph.schedule_communication(costs=costs.name)
for line in str(plan).splitlines():
    if "a step takes" in line or "MatMul" in line or "<>" in line:
        print(line)

ranks = treadle.Communicator.simulated(2, latency=0.001, bytes_per_second=8e6)
inputs = np.random.default_rng(0).normal(size=(2, 32, 128)).astype(np.float32)
with ThreadPoolExecutor(2) as threads:
    first, second = threads.map(train, [graph] * 2, ranks, inputs)
print("the machines have the same weights:", np.array_equal(first, second))
