"""Functional collectives of torch.distributed, as ops of a graph."""

import pytest
import torch
import torch.distributed as dist
import treadle.torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

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
    """What the inputs of a node are that are constants."""
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
    # Who uses the result waits for it.
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
