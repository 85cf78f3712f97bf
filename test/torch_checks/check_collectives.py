"""Functional collectives of torch.distributed, as ops of a graph."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest
import torch
import torch.distributed as dist
import treadle.torch
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._ordered_set import OrderedSet

import treadle

functional = torch.ops._c10d_functional


@pytest.fixture(autouse=True)
def group():
    dist.init_process_group("fake", rank=1, world_size=4, store=FakeStore())
    yield
    dist.destroy_process_group()


def imported(fn, x):
    module = make_fx(fn, tracing_mode="fake")(x)
    return treadle.torch._importer.import_graph(module)


def constants_of(graph, name):
    """Returns the inputs of a node that are constants."""
    inputs = [i.split(":")[0] for i in graph._inputs(name) if not i.startswith("^")]
    return [graph._attrs(i)["value"].tolist() for i in inputs if graph._op(i) == "Const"]


def name_of_group():
    return dist.distributed_c10d._get_default_group().group_name


CASES = {
    "all_reduce": (
        lambda x, g: functional.all_reduce(x, "avg", g),
        "CollectiveReduceV2", {"merge_op": "Add", "final_op": "Div"},
    ),
    "all_reduce_max": (
        lambda x, g: functional.all_reduce(x, "max", g),
        "CollectiveReduceV2", {"merge_op": "Max", "final_op": "Id"},
    ),
    "all_gather": (lambda x, g: functional.all_gather_into_tensor(x, 4, g),
                   "CollectiveGatherV2", {}),
    "reduce_scatter": (
        lambda x, g: functional.reduce_scatter_tensor(x, "sum", 4, g),
        "CollectiveReduceScatterV2", {"merge_op": "Add", "final_op": "Id"},
    ),
    "broadcast_receives": (lambda x, g: functional.broadcast(x, 0, g),
                           "CollectiveBcastRecvV2", {}),
    "broadcast_sends": (lambda x, g: functional.broadcast(x, 1, g),
                        "CollectiveBcastSendV2", {}),
    "all_to_all": (lambda x, g: functional.all_to_all_single(x, [2] * 4, [2] * 4, g),
                   "CollectiveAllToAllV2", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_becomes_an_op(case):
    fn, op, attrs = CASES[case]
    g = name_of_group()
    found = imported(lambda x: functional.wait_tensor(fn(x * 2, g)) + 1, torch.ones(8, 3))
    (node,) = found.graph.nodes(op)
    for key, value in attrs.items():
        assert found.graph._attrs(node.name)[key] == value
    size, _, instance = constants_of(found.graph, node.name)[:3]
    assert (size, instance) == (4, 1)
    # The user of the result waits for it.
    assert f"{node.name}:0" in found.graph._inputs("add")


def test_collectives_are_numbered_in_order():
    g = name_of_group()

    def fn(x):
        first = functional.all_reduce(x, "sum", g)
        second = functional.all_reduce(x * 2, "sum", g)
        return functional.wait_tensor(first), functional.wait_tensor(second)

    found = imported(fn, torch.ones(3))
    assert constants_of(found.graph, "all_reduce")[2] == 1
    assert constants_of(found.graph, "all_reduce_1")[2] == 2


def test_parts_of_different_sizes_are_named():
    g = name_of_group()
    with pytest.raises(treadle.UnimplementedError, match="all_to_all_single.*different sizes"):
        imported(lambda x: functional.all_to_all_single(x, [1, 2, 3, 2], [2] * 4, g),
                 torch.ones(8))  # fmt: skip


def test_a_group_that_is_not_there_is_named():
    g = name_of_group()
    module = make_fx(lambda x: functional.all_reduce(x, "sum", g), tracing_mode="fake")(
        torch.ones(3)
    )
    for node in module.graph.nodes:
        if node.op == "call_function":
            node.args = (*node.args[:2], "nobody")
    with pytest.raises(treadle.InvalidArgumentError, match="no process group 'nobody'"):
        treadle.torch._importer.import_graph(module)


def test_collectives_wait_for_nothing_but_their_inputs():
    g = name_of_group()

    def fn(x):
        first = functional.all_reduce(x, "sum", g)
        return functional.all_reduce(x * 2, "sum", g), functional.wait_tensor(first)

    graph = imported(fn, torch.ones(3)).graph
    for node in graph.nodes("CollectiveReduceV2"):
        assert not [i for i in node.inputs if i.startswith("^")]


def started_and_waited(x, g):
    """Product between the start of an all-reduce and its wait, and what follows the wait."""

    def fn(x):
        started = functional.all_reduce(x * 2, "sum", g)
        product = x @ x
        return product, functional.wait_tensor(started), x + 1

    module = make_fx(fn, tracing_mode="fake")(x)
    named = {n.name: n for n in module.graph.nodes}
    order = {"mm": ["all_reduce"], "wait_tensor": ["mm"], "add": ["wait_tensor"]}
    preserve_node_ordering(
        module.graph,
        {named[n]: OrderedSet(named[b] for b in before) for n, before in order.items()},
    )
    return module


def test_starts_and_waits_have_edges_of_their_own():
    module = started_and_waited(torch.ones(3, 3), name_of_group())
    graph = treadle.torch._importer.import_graph(module).graph
    # After the start: what the start waits for, but not its result.
    assert "^mul" in graph["mm"].inputs and "^all_reduce" not in graph["mm"].inputs
    assert graph["wait_tensor"].op == "Identity"
    assert graph["wait_tensor"].inputs == ["all_reduce:0", "^mm"]
    assert "^wait_tensor" in graph["add"].inputs


@pytest.fixture
def group_of_two():
    dist.destroy_process_group()
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())


def on_two_ranks(module, inputs):
    """Returns the results of two ranks in this process."""
    ranks = treadle.Communicator.simulated(2)
    found = [None, None]

    def run(rank):
        program = treadle.from_fx(module, inputs[rank], communicator=ranks[rank])
        found[rank] = program(*inputs[rank])

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_what_is_between_start_and_wait_runs(group_of_two):
    x = [torch.randn(3, 3), torch.randn(3, 3)]
    module = started_and_waited(x[0], name_of_group())
    for rank, found in enumerate(on_two_ranks(module, [[x[0]], [x[1]]])):
        torch.testing.assert_close(found[0], x[rank] @ x[rank])
        torch.testing.assert_close(found[1], 2 * (x[0] + x[1]))
        torch.testing.assert_close(found[2], x[rank] + 1)


def test_a_step_on_two_ranks_is_a_step_on_one(group_of_two):
    g = name_of_group()
    x, y, w = torch.randn(8, 4), torch.randn(8, 2), torch.randn(4, 2)

    def gradient(x, y, w):
        w = w.detach().requires_grad_()
        return torch.autograd.grad((torch.tanh(x @ w) - y).square().mean(), w)[0]

    def step(x, y, w):
        mean = functional.wait_tensor(functional.all_reduce(gradient(x, y, w), "avg", g))
        return w - 0.1 * mean

    parts = [[x[:4], y[:4], w], [x[4:], y[4:], w]]
    module = make_fx(step, tracing_mode="fake")(*parts[0])
    expected = w - 0.1 * gradient(x, y, w)
    for found in on_two_ranks(module, parts):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_values_are_gathered_scattered_and_exchanged(group_of_two):
    g = name_of_group()

    def fn(x):
        gathered = functional.all_gather_into_tensor(x, 2, g)
        scattered = functional.reduce_scatter_tensor(x, "sum", 2, g)
        exchanged = functional.all_to_all_single(x, [2, 2], [2, 2], g)
        return [functional.wait_tensor(v) for v in (gathered, scattered, exchanged)]

    x = [torch.randn(4, 3), torch.randn(4, 3)]
    module = make_fx(fn, tracing_mode="fake")(x[0])
    total = x[0] + x[1]
    for rank, found in enumerate(on_two_ranks(module, [[x[0]], [x[1]]])):
        part = slice(2 * rank, 2 * rank + 2)
        torch.testing.assert_close(found[0], torch.cat(x))
        torch.testing.assert_close(found[1], total[part])
        torch.testing.assert_close(found[2], torch.cat([x[0][part], x[1][part]]))


# The program of each process: groups from PyTorch, communication by Treadle.
ON_EACH_PROCESS = """
import os
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.testing._internal.distributed.fake_pg import FakeStore

rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("fake", rank=rank, world_size=size, store=FakeStore())
torch.manual_seed(0)
"""

TRAINING = """
x, y = torch.randn(8, 4), torch.randn(8, 2)


def trained(x, y, reduce):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    forward = torch.compile(net, backend="treadle") if reduce else net
    for _ in range(4):
        gradients = torch.autograd.grad((forward(x) - y).square().mean(), list(net.parameters()))
        gradients = reduce(gradients) if reduce else gradients
        with torch.no_grad():
            for parameter, gradient in zip(net.parameters(), gradients):
                parameter -= 0.1 * gradient
    return torch.cat([p.detach().flatten() for p in net.parameters()])


@torch.compile(backend="treadle")
def mean(gradients):
    return [functional.all_reduce(g, "avg", dist.group.WORLD) for g in gradients]


torch.testing.assert_close(trained(x[rank::size], y[rank::size], mean), trained(x, y, None))
print(f"rank {rank} is right\\n", end="")
"""

GROUPS = """
groups = [dist.new_group(ranks) for ranks in ([0, 2], [1, 3])]


@torch.compile(backend="treadle")
def step(x):
    within = functional.all_reduce(x, "sum", groups[rank % 2])
    return within, functional.all_reduce(within * 10, "sum", dist.group.WORLD)


within, total = step(torch.tensor([2.0**rank]))
assert (within.item(), total.item()) == (5 if rank % 2 == 0 else 10, 300)
print(f"rank {rank} is right\\n", end="")
"""


@pytest.mark.skipif(not shutil.which("mpirun"), reason="OpenMPI isn't installed")
@pytest.mark.parametrize("program, size", [(TRAINING, 2), (GROUPS, 4)])
def test_compiled_programs_run_on_processes(tmp_path, program, size):
    file = tmp_path / "program.py"
    file.write_text(ON_EACH_PROCESS + program)
    package = pathlib.Path(treadle.__file__).parents[1]
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(size), sys.executable, str(file)],
        capture_output=True,
        text=True,
        timeout=600,
        env={
            **os.environ,
            "PYTHONPATH": f"{package}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == [f"rank {r} is right" for r in range(size)]
