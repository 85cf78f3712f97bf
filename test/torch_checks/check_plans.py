"""Plans of PyTorch's graphs: read, written into them, checked, and used by inductor."""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist
import treadle.torch
from torch._inductor.fx_passes.overlap_scheduling import schedule_overlap_bucketing
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore
from treadle.steps import Costs, Link, Step

import treadle

HERE = pathlib.Path(__file__).resolve()
c10d = torch.ops._c10d_functional
COSTS = Costs(flops=1e9, bandwidth=1e9, link=Link(2e-5, 1e8))


@pytest.fixture(autouse=True)
def group(request):
    if "ranks" in request.fixturenames:
        yield
        return
    dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    yield
    dist.destroy_process_group()


def name_of_group():
    return dist.distributed_c10d._get_default_group().group_name


class Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shard):
        size = dist.get_world_size()
        return c10d.wait_tensor(c10d.all_gather_into_tensor(shard, size, name_of_group()))

    @staticmethod
    def backward(ctx, grad):
        size, group = dist.get_world_size(), name_of_group()
        scattered = c10d.reduce_scatter_tensor(grad.contiguous(), "avg", size, group)
        return c10d.wait_tensor(scattered)


def sharded_step(layers=4, width=16):
    """Weights in shards, gathered and scattered; a bias whose gradients are averaged."""

    def step(x, target, bias, *shards):
        own = [t.detach().requires_grad_() for t in (bias, *shards)]
        h = x
        for weight in own[1:]:
            h = torch.relu(h @ Gathered.apply(weight) + own[0])
        loss = ((h - target) ** 2).mean()
        grads = list(torch.autograd.grad(loss, own))
        grads[0] = c10d.wait_tensor(c10d.all_reduce(grads[0], "avg", name_of_group()))
        return loss.detach(), *(t - 0.1 * g for t, g in zip((bias, *shards), grads, strict=True))

    size, rank = dist.get_world_size(), dist.get_rank()
    seeded = torch.Generator().manual_seed(3)
    weights = [torch.randn(width, width, generator=seeded) / width**0.5 for _ in range(layers)]
    own = torch.Generator().manual_seed(rank)
    x, target = torch.randn(2, 8, width, generator=own)
    return step, [x, target, torch.zeros(width), *(w.chunk(size)[rank].clone() for w in weights)]


def traced(fn, *arguments):
    return make_fx(fn, tracing_mode="fake")(*arguments)


def sharded_graph(**sizes):
    step, arguments = sharded_step(**sizes)
    return traced(step, *arguments)


def on(graph, ranks=4):
    return dict.fromkeys(range(ranks), graph)


def kinds(faults):
    return sorted({fault.kind for fault in faults})


# Reading.


def step_of(fn, *arguments, **options):
    return treadle.torch.step_of(traced(fn, *arguments), **options)


EXCHANGES = {
    "all_reduce": (lambda x, g: c10d.all_reduce(x, "sum", g), "all_reduce"),
    "all_reduce_": (lambda x, g: c10d.all_reduce_(x * 1, "sum", g), "all_reduce"),
    "coalesced": (lambda x, g: c10d.all_reduce_coalesced([x, x * 2], "sum", g)[1], "all_reduce"),
    "all_gather": (lambda x, g: c10d.all_gather_into_tensor(x, 4, g), "all_gather"),
    "all_gather_out": (
        lambda x, g: c10d.all_gather_into_tensor_out(x, 4, g, out=torch.empty(32, 3)),
        "all_gather",
    ),
    "reduce_scatter": (lambda x, g: c10d.reduce_scatter_tensor(x, "avg", 4, g), "reduce_scatter"),
    "all_to_all": (lambda x, g: c10d.all_to_all_single(x, [2] * 4, [2] * 4, g), "all_to_all"),
    "broadcast": (lambda x, g: c10d.broadcast(x, 1, g), "broadcast"),
    "isend": (lambda x, g: c10d.isend(x, 1, 7, g), "send"),
    "irecv": (lambda x, g: c10d.irecv(x * 1, 1, 7, g), "receive"),
}


@pytest.mark.parametrize("case", EXCHANGES)
def test_exchanges_are_read(case):
    fn, collective = EXCHANGES[case]
    if not hasattr(c10d, case) and case in ("isend", "irecv"):
        pytest.skip("this PyTorch has no functional messages")
    g = name_of_group()
    step = step_of(lambda x: c10d.wait_tensor(fn(x, g)) + 1, torch.ones(8, 3))
    (start,) = step.exchanges()
    assert (start.exchange.collective, start.exchange.ranks) == (collective, 4)
    assert start.exchange.bytes == (2 if case == "coalesced" else 1) * 96
    assert len([n for n in step.nodes if n.kind == "wait"]) == 1
    assert treadle.torch.check({0: step}) == [] or start.exchange.peers
    assert bool(start.exchange.joins) == (case in ("all_reduce", "all_gather", "reduce_scatter"))
    assert Step.from_text(step.text()).nodes == step.nodes


def test_views_and_changes_are_read():
    def fn(x, y):
        rows = x.t()
        rows.add_(y)
        return x * 2, torch.rand(3), torch.rand(3)

    step = step_of(fn, torch.ones(2, 2), torch.ones(2, 2))
    (view,), (change,) = ([n for n in step.nodes if n.op == f"aten.{op}"] for op in ("t", "add_"))
    assert (view.kind, view.aliases) == ("view", (view.inputs[0],))
    assert change.writes == (view.name,) and change.aliases == (view.name,)
    random = [n for n in step.nodes if n.op == "aten.rand"]
    assert [n.effects for n in random] == [("random numbers",)] * 2
    order = treadle.steps.plan(step, COSTS).order
    assert order.index(change.name) < order.index("mul")
    names = [n.name for n in step.nodes]
    names.remove("mul")
    names.insert(names.index(change.name), "mul")
    assert kinds(treadle.torch.check({0: step.reordered(names)}, before={0: step})) == ["effects"]


def test_what_may_be_a_copy_takes_time_where_it_is_one():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    turned = graph.call_function(torch.ops.aten.t.default, (x,))
    same = graph.call_function(torch.ops.aten.reshape.default, (x, [6]))
    copied = graph.call_function(torch.ops.aten.reshape.default, (turned, [6]))
    graph.output((same, copied))
    values = torch.ones(2, 3), torch.ones(2, 3).t(), torch.ones(6), torch.ones(6)
    for node, value in zip((x, turned, same, copied), values, strict=True):
        node.meta["val"] = value
    step = treadle.torch.step_of(torch.fx.GraphModule({}, graph))
    assert [step[n.name].kind for n in (turned, same, copied)] == ["view", "view", "compute"]
    assert step[copied.name].moved == 2 * 6 * 4


def test_products_cost_what_the_machine_computes():
    step = step_of(lambda a, b: a @ b, torch.ones(8, 16), torch.ones(16, 4))
    (product,) = [n for n in step.nodes if n.op == "aten.mm"]
    assert (product.flops, product.sizes) == (2 * 8 * 16 * 4, "8x16, 16x4")
    assert product.bytes == 8 * 4 * 4 and product.moved == 4 * (8 * 16 + 16 * 4 + 8 * 4)


def test_sizes_of_symbols_count_by_their_ranges():
    g = name_of_group()

    def fn(x):
        return c10d.wait_tensor(c10d.all_reduce(x * 2, "sum", g))

    module = make_fx(fn, tracing_mode="symbolic")(torch.ones(6, 4))
    with pytest.raises(treadle.InvalidArgumentError, match="has no upper bound; pass sizes="):
        treadle.torch.step_of(module)
    symbols = {str(s): (2, 32) for s in module.graph.find_nodes(op="placeholder")[0]
               .meta["val"].numel().node.expr.free_symbols}  # fmt: skip
    step = treadle.torch.step_of(module, sizes=symbols)
    (start,) = step.exchanges()
    assert len(symbols) in (1, 2)
    assert start.bytes == 4 * (32 * 32 if len(symbols) == 2 else 32 * 4)
    assert start.exchange.bytes == 4 * (8 * 8 if len(symbols) == 2 else 8 * 4)
    assert start.exchange.joins == ""


def test_graphs_of_modules_are_named():
    module = torch.fx.symbolic_trace(torch.nn.Linear(2, 2))
    with pytest.raises(
        treadle.UnimplementedError, match="is a call_module|is a get_attr|torch.ops"
    ):
        treadle.torch.step_of(torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2))))
    assert module is not None


def test_groups_can_be_named_without_processes():
    graph = sharded_graph()
    dist.destroy_process_group()
    try:
        with pytest.raises(treadle.InvalidArgumentError, match="there is no process group"):
            treadle.torch.step_of(graph)
        assert treadle.torch.step_of(graph, ranks=4).groups["0"] == (0, 1, 2, 3)
        named = treadle.torch.step_of(graph, ranks={"0": [4, 5, 6, 7]})
        assert named.groups["0"] == (4, 5, 6, 7)
        with pytest.raises(treadle.InvalidArgumentError, match="has 4 ranks in the graph"):
            treadle.torch.step_of(graph, ranks=2)
    finally:
        dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())


# Writing.


def test_a_plan_is_written_into_the_graph():
    graph = sharded_graph()
    before = copy.deepcopy(graph)
    plan = treadle.torch.plan(graph, COSTS)
    assert plan.seconds < 0.9 * plan.given_seconds and plan.hidden > 0.7
    plan.apply(graph)
    read = treadle.torch.step_of(graph)
    assert [n.name for n in read.nodes] == list(plan.order)
    assert treadle.torch.check(on(graph), before=on(before)) == []
    with pytest.raises(treadle.InvalidArgumentError, match="belongs to another graph"):
        plan.apply(sharded_graph(layers=3))


def test_buckets_are_written_into_the_graph():
    graph = sharded_graph()
    slow = Costs(flops=1e12, bandwidth=1e12, link=Link(1e-3, 1e12))
    plan = treadle.torch.plan(graph, slow, bucket=1 << 20)
    assert sorted(len(b.members) for b in plan.buckets) == [4, 4]
    plan.apply(graph)
    starts = [n for n in graph.graph.nodes if "c10d" in str(n.target) and "wait" not in n.name]
    assert len(starts) == 3
    assert treadle.torch.check(on(graph)) == []
    shapes = [n.meta["val"].shape for n in graph.graph.nodes if n.name == "wait_tensor"]
    assert shapes == [torch.Size([16, 16])]


def test_what_holds_the_order_is_written_as_control_deps():
    graph = sharded_graph()
    before = copy.deepcopy(graph)
    plan = treadle.torch.plan(graph, COSTS)
    plan.apply(graph, hold=True)
    held = [n.name for n in graph.graph.nodes if str(n.target) == "control_deps"]
    assert held and set(held) == {second for _, second in plan.edges}
    assert treadle.torch.check(on(graph), before=on(before)) == []
    slow = Costs(flops=1e12, bandwidth=1e12, link=Link(1e-3, 1e12))
    again = treadle.torch.plan(graph, slow, bucket=1 << 20)
    assert again.buckets == ()  # edges that somebody has written are kept
    again.apply(graph)
    assert treadle.torch.check(on(graph), before=on(before)) == []


def test_buckets_need_fake_values():
    step, arguments = sharded_step()
    graph = make_fx(step, tracing_mode="fake")(*arguments)
    for node in graph.graph.nodes:
        if isinstance(value := node.meta.get("val"), torch.Tensor):
            node.meta["val"] = torch.empty(value.shape, device="meta")
    slow = Costs(flops=1e12, bandwidth=1e12, link=Link(1e-3, 1e12))
    plan = treadle.torch.plan(graph, slow, bucket=1 << 20)
    with pytest.raises(treadle.UnimplementedError, match="no fake values"):
        plan.apply(graph)


def test_memory_is_bounded():
    graph = sharded_graph(layers=8)
    free = treadle.torch.plan(graph, COSTS)
    tight = treadle.torch.plan(graph, COSTS, memory=free.given_peak + 1500)
    tight.apply(graph)
    assert treadle.torch.check(on(graph), memory=free.given_peak + 1500) == []


# Checking.


def by_pytorch(graph, buckets, deps):
    """The graph as PyTorch's overlap pass orders it, which asked a GPU for its speed until 2.15."""
    try:
        return schedule_overlap_bucketing(
            graph,
            collective_bucketing=buckets,
            insert_overlap_deps=deps,
            custom_runtime_estimation=lambda node, size=None: 0.1,
            compute_estimator="analytical",
        )
    except RuntimeError as error:
        pytest.skip(f"PyTorch's pass doesn't run here: {error}")


def test_pytorchs_own_graphs_have_no_faults():
    graph = sharded_graph()
    assert treadle.torch.check(on(graph), before=on(graph)) == []
    for buckets in (False, True):
        for deps in (False, True):
            made = by_pytorch(copy.deepcopy(graph), buckets, deps)
            assert treadle.torch.check(on(made)) == [], (buckets, deps)


def test_faults_in_graphs_are_found():
    graph = sharded_graph()
    wrong = copy.deepcopy(graph)
    wait = next(n for n in wrong.graph.nodes if n.target is c10d.wait_tensor.default)
    wait.replace_all_uses_with(wait.args[0])
    wrong.graph.erase_node(wait)
    assert kinds(treadle.torch.check({**on(graph), 2: wrong})) == ["not waited for"]

    swapped = copy.deepcopy(graph)
    (average,) = swapped.graph.find_nodes(op="call_function", target=c10d.all_reduce.default)
    last = swapped.graph.find_nodes(op="call_function", target=c10d.reduce_scatter_tensor.default)[
        -1
    ]
    wait = next(iter(last.users))
    average.append(last)
    last.append(wait)
    found = treadle.torch.check({**on(graph), 3: swapped})
    assert kinds(found) == ["exchanges differ"]
    assert "reduce_scatter" in found[0].message and "all_reduce" in found[0].message


def test_files_of_ranks_are_checked(tmp_path):
    graph = sharded_graph()
    paths = {}
    for rank in range(4):
        paths[rank] = tmp_path / f"rank{rank}.json"
        treadle.torch.step_of(graph).to_file(paths[rank])
    assert treadle.torch.check(paths) == []
    text = paths[1].read_text().replace('"aten.mm"', '"aten.mm2"')
    paths[1].write_text(text.replace("float32 256", "float32 1").replace("4x16", "16x4"))
    assert kinds(treadle.torch.check(paths)) == ["exchanges differ"]


def test_buffers_that_fsdp_gives_back_are_watched():
    g = name_of_group()

    def fn(shard, x):
        whole = torch.empty(32, 3)
        gathered = c10d.all_gather_into_tensor_out(shard, 4, g, out=whole)
        used = c10d.wait_tensor(gathered).sum() + x
        torch.ops.inductor.resize_storage_bytes_(whole, 0)
        return used

    graph = traced(fn, torch.ones(8, 3), torch.ones(2))
    if not [n for n in graph.graph.nodes if "resize_storage" in n.name]:
        pytest.skip("this PyTorch doesn't trace resize_storage_bytes_")
    step = treadle.torch.step_of(graph)
    assert treadle.torch.check(on(step)) == []
    names = [n.name for n in step.nodes]
    free = next(n for n in names if n.startswith("resize"))
    names.remove(free)
    names.insert(names.index("sum_1"), free)
    assert kinds(treadle.torch.check(on(step.reordered(names)))) == ["freed"]


# Results in inductor.


def test_a_pass_takes_the_plan_of_its_graph():
    graph, other = sharded_graph(), sharded_graph(layers=3)
    plan = treadle.torch.plan(graph, COSTS)
    made = plan.as_inductor_pass()
    for module in (graph, other, traced(lambda x: x + 1, torch.ones(2))):
        made(module.graph)
    assert made.plans[0] is plan and len(made.plans) == 2 and made.fusion is None
    assert treadle.torch.check(on(other)) == []
    assert made.uuid() == treadle.torch.inductor_pass(COSTS).uuid()
    assert made.uuid() != treadle.torch.inductor_pass(COSTS, bucket=8).uuid()


def test_inductor_keeps_the_plans_order(monkeypatch):
    from torch._inductor import config
    from torch._inductor.utils import run_and_get_code

    if hasattr(config.aten_distributed_optimizations, "enable_simple_overlap"):
        monkeypatch.setattr(config.aten_distributed_optimizations, "enable_simple_overlap", False)
    monkeypatch.setattr(config, "fx_graph_cache", False)
    group = name_of_group()

    def forward(x, *shards):
        for shard in shards:
            whole = c10d.all_gather_into_tensor(shard, 4, group)
            x = torch.relu(x @ c10d.wait_tensor(whole))
        return x

    made = treadle.torch.inductor_pass(COSTS)
    monkeypatch.setattr(config, "post_grad_custom_post_pass", made)
    arguments = [torch.ones(64, 64), *[torch.ones(16, 64)] * 4]
    _, (code,) = run_and_get_code(torch.compile(forward), *arguments)
    calls = re.compile(r"(all_gather_into_tensor|wait_tensor)\.default\(|extern_kernels\.(mm)\(")
    lines = [line for line in code.splitlines() if not line.strip().startswith("#")]
    found = [m[1] or m[2] for m in map(calls.search, lines) if m]
    (plan,) = made.plans
    names = [re.sub(r"_\d+$", "", name) for name in plan.order]
    assert found == [n for n in names if n in ("all_gather_into_tensor", "wait_tensor", "mm")]
    assert found[:2] == ["all_gather_into_tensor"] * 2


def fsdp_graph(layers=3):
    """A forward pass as FSDP2 has it: weights are copied into a buffer, gathered there, copied out,
    and the buffer is given back."""
    import torch.distributed.fsdp._fully_shard._fsdp_collectives  # noqa: F401  registers its ops

    g, fsdp = name_of_group(), torch.ops.fsdp

    def forward(x, *shards):
        for first, second in zip(shards[::2], shards[1::2], strict=True):
            buffer = torch.empty(4 * 128)
            parts = [first.view(-1), second.view(-1)]
            mine, whole = fsdp.all_gather_copy_in(parts, buffer, [64, 64], 128, 0)
            gathered = c10d.all_gather_into_tensor_out(mine, 4, g, out=whole)
            rows = c10d.wait_tensor(gathered).view(4, -1)
            weights = [torch.empty(4, 64), torch.empty(4, 64)]
            fsdp.split_with_sizes_copy(rows, [64, 64], dim=1, out=weights)
            torch.ops.inductor.resize_storage_bytes_(buffer, 0)
            for weight in weights:
                x = torch.relu(x @ weight.view(16, 16))
        return x

    return traced(forward, torch.ones(8, 16), *[torch.ones(4, 16)] * (2 * layers))


def test_fsdps_graphs_are_planned():
    graph = fsdp_graph()
    before = copy.deepcopy(graph)
    assert treadle.torch.check(on(graph)) == []
    step = treadle.torch.step_of(graph)
    assert len([n for n in step.nodes if n.kind == "free"]) == 3
    plan = treadle.torch.plan(graph, COSTS)
    assert plan.seconds < plan.given_seconds
    bound = plan.given_peak + 4 * 4 * 128  # a buffer more
    tight = treadle.torch.plan(graph, COSTS, memory=bound)
    assert tight.hidden > 0.9 and tight.peak <= bound < plan.peak
    places = {name: i for i, name in enumerate(plan.order)}
    assert places["all_gather_into_tensor_out_1"] < places["wait_tensor"]
    plan.apply(graph)
    assert treadle.torch.check(on(graph), before=on(before)) == []
    # Copies before the wait, or after the buffer was freed, are detected.
    early = list(places)
    early.insert(early.index("wait_tensor"), early.pop(early.index("split_with_sizes_copy")))
    assert "order" in kinds(treadle.torch.check(on(plan.step(step).reordered(early))))
    late = list(places)
    late.insert(late.index("split_with_sizes_copy"), late.pop(late.index("resize_storage_bytes_")))
    assert "freed" in kinds(treadle.torch.check(on(plan.step(step).reordered(late))))


# Two processes.

RANK = """
import copy, json, sys
sys.path.insert(0, {here!r})
import torch, torch.distributed as dist
import treadle.torch
from check_plans import COSTS, sharded_step
from treadle.steps import Costs, Link
from torch.fx.experimental.proxy_tensor import make_fx

rank = int(sys.argv[1])
dist.init_process_group("gloo", rank=rank, world_size=2, init_method="file://" + sys.argv[2])
step, arguments = sharded_step()
graph = make_fx(step, tracing_mode="fake")(*arguments)
costs = treadle.torch.measure(graph, arguments, repeat=1)
slow = Costs(flops=1e12, bandwidth=1e12, link=Link(1e-3, 1e12))
plans = [treadle.torch.plan(graph, costs),
         treadle.torch.plan(graph, slow, bucket=1 << 20)]
expected = [t.tolist() for t in graph(*arguments)]
found = []
for plan in plans:
    planned = copy.deepcopy(graph)
    plan.apply(planned)
    found.append([t.tolist() for t in planned(*arguments)])

{more}
print(json.dumps(dict(expected=expected, found=found, plans=[p.text() for p in plans], **extra)))
dist.destroy_process_group()
"""

INDUCTOR = """
import torch._inductor.config as config
from torch._inductor.virtualized import V
made = treadle.torch.inductor_pass(slow, bucket=1 << 20)
config.post_grad_custom_post_pass = made
V.set_choices_handler(made.choices())
config.fx_graph_cache = False


def forward(x, bias, *shards):
    for weight in shards:
        whole = torch.ops._c10d_functional.all_gather_into_tensor(weight, 2, "0")
        x = torch.relu(x @ torch.ops._c10d_functional.wait_tensor(whole) + bias)
    return x

x, _, bias, *shards = arguments
expected.append(forward(x, bias, *shards).tolist())
compiled = torch.compile(forward)(x, bias, *shards)
for f in found:
    f.append(compiled.tolist())
extra = dict(buckets=[len(p.buckets) for p in made.plans])
"""


@pytest.fixture
def ranks(tmp_path):
    """Runs a program on two processes of gloo, and returns what each has printed."""

    def run(program):
        store = tmp_path / "store"
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(rank), str(store)],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        ended = [p.communicate(timeout=900) for p in processes]
        assert not any(p.returncode for p in processes), ended[0][1][-3000:] + ended[1][1][-3000:]
        return [json.loads(out.splitlines()[-1]) for out, _ in ended]

    return run


def close(a, b):
    return torch.allclose(torch.tensor(a), torch.tensor(b), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("more", ["extra = {}", INDUCTOR], ids=["graph", "inductor"])
def test_ranks_compute_the_same_in_the_plans_order(ranks, more):
    shown = ranks(RANK.format(here=str(HERE.parent), more=more))
    assert shown[0]["plans"] == shown[1]["plans"]
    for rank in shown:
        for found in rank["found"]:
            assert all(close(a, b) for a, b in zip(found, rank["expected"], strict=True))
    if more != "extra = {}":
        assert shown[0]["buckets"] == shown[1]["buckets"] == [1]


def test_a_pass_without_exchanges_says_where_they_are():
    made = treadle.torch.inductor_pass(COSTS)
    assert made.summary().startswith("0 of 0 graphs have exchanges: inductor compiled none")
    made(make_fx(torch.relu, tracing_mode="fake")(torch.ones(4)).graph)
    assert made.summary().startswith("0 exchanges in 1 graphs: the reducer of DDP")
    graph = make_fx(lambda x: c10d.wait_tensor(c10d.all_reduce(x, "sum", name_of_group())),
                    tracing_mode="fake")(torch.ones(4))  # fmt: skip
    made(graph.graph)
    assert made.summary().splitlines()[0] == "1 of 2 graphs have exchanges"
    assert len(made.summary().splitlines()) == 2


def test_a_graph_without_exchanges_has_a_plan_that_says_so():
    plan = treadle.torch.plan(traced(torch.relu, torch.ones(4)), COSTS)
    assert plan.exchanges == 0 and str(plan).startswith(
        "0 exchanges, nothing to hide: a step takes"
    )
    plan = treadle.torch.plan(sharded_graph(), COSTS)
    assert plan.exchanges == 9 and str(plan).startswith("a step takes")
