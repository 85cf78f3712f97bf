"""Plans of distributed steps: found, checked and simulated without PyTorch.

With it they are tested in torch_checks/check_plans.py.
"""

import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest
from treadle.steps import (
    Costs,
    Exchange,
    Fusion,
    Link,
    Node,
    Step,
    Topology,
    check,
    costs_of_traces,
    plan,
    simulate,
)

import treadle

HERE = pathlib.Path(__file__).resolve()
MB = 1 << 20


def exchanged(name, of, collective="all_reduce", size=MB, result=MB, group="0", ranks=4, **more):
    """A start and its wait, w_NAME."""
    exchange = Exchange(collective, group, ranks, size, f"f32 {size}", joins="f32", **more)
    return [
        Node(name, kind="start", inputs=(of,), bytes=result, exchange=exchange),
        Node(f"w_{name}", kind="wait", inputs=(name,), aliases=(name,)),
    ]


def training(layers):
    """A step as FSDP has it: shards gathered in both directions, gradients scattered."""
    nodes = [Node("x", kind="input", bytes=MB)]
    nodes += [Node(f"p{i}", kind="input", bytes=MB) for i in range(layers)]
    last = "x"
    for i in range(layers):
        nodes += exchanged(f"g{i}", f"p{i}", "all_gather", MB, 4 * MB)
        nodes.append(Node(f"h{i}", "mm", inputs=(last, f"w_g{i}"), bytes=MB))
        last = f"h{i}"
    for i in reversed(range(layers)):
        before = f"h{i - 1}" if i else "x"
        nodes += exchanged(f"b{i}", f"p{i}", "all_gather", MB, 4 * MB)
        nodes.append(Node(f"d{i}", "mm", inputs=(last, f"w_b{i}"), bytes=MB))
        nodes.append(Node(f"e{i}", "mm", inputs=(last, before), bytes=4 * MB))
        nodes += exchanged(f"s{i}", f"e{i}", "reduce_scatter", 4 * MB, MB)
        nodes.append(Node(f"u{i}", "add", inputs=(f"w_s{i}", f"p{i}"), bytes=MB))
        last = f"d{i}"
    nodes.append(Node("out", kind="output", inputs=tuple(f"u{i}" for i in range(layers))))
    return Step(nodes)


COSTS = Costs(ops={"mm": 1e-3, "add": 1e-5}, link=Link(1e-4, 4e9))


def on(ranks, step):
    return dict.fromkeys(range(ranks), step)


def random_step(seed, most=24):
    """Computing, exchanges in two groups, views, writes and effects."""
    rng = random.Random(seed)
    nodes = [Node(f"x{i}", kind="input", bytes=rng.randint(1, 100)) for i in range(3)]
    values = [n.name for n in nodes]
    for i in range(rng.randint(5, most)):
        name, of = f"n{i}", rng.choice(values)
        kind = rng.choice(["compute", "compute", "exchange", "view", "write", "effect"])
        size = rng.randint(1, 100)
        if kind == "exchange":
            nodes += exchanged(name, of, size=size, result=size, group=rng.choice("ab"), ranks=4)
            values.append(f"w_{name}")
            continue
        two = tuple(dict.fromkeys((of, rng.choice(values))))
        if kind == "view":
            nodes.append(Node(name, "view", "view", (of,), aliases=(of,)))
        elif kind == "write":
            nodes.append(Node(name, "copy_", inputs=two, aliases=(of,), writes=(of,)))
        else:
            effects = ("world",) if kind == "effect" else ()
            nodes.append(Node(name, "f", inputs=two, bytes=size, effects=effects))
        values.append(name)
    nodes.append(Node("out", kind="output", inputs=tuple(values[3:])))
    return Step(nodes)


def measured_costs(step, seed, ranks=4):
    """Returns costs that ranks measured: the same nodes, other times."""
    rng = random.Random(seed)
    times = {n.name: rng.expovariate(1000) for n in step.nodes if n.kind == "compute"}
    link = Link(rng.expovariate(2000), rng.uniform(1e4, 1e6))
    for _ in range(ranks):
        yield Costs(nodes={k: v * rng.uniform(0.8, 1.2) for k, v in times.items()}, link=link)


def test_computing_hides_communication():
    step = training(12)
    made = plan(step, COSTS)
    assert made.hidden > 0.9
    assert made.seconds < 0.6 * made.given_seconds
    assert check(on(4, made.step(step)), before=on(4, step)) == []
    assert {d.kind for d in made.decisions} <= {"early", "late"}
    assert sum(d.gain for d in made.decisions) == pytest.approx(
        made.given_seconds - made.seconds, rel=0.02
    )
    assert f"{1e3 * made.seconds:.3f} ms" in str(made)


def test_prefetches_stay_within_the_memory():
    step = training(12)
    free = plan(step, COSTS)
    bound = free.given_peak + 5 * MB
    tight = plan(step, COSTS, memory=bound)
    assert free.peak > bound >= tight.peak
    assert tight.hidden > 0.8
    assert check(on(4, tight.step(step)), memory=bound) == []
    with pytest.raises(treadle.ResourceExhaustedError, match="at most 1000 bytes: the lowest is"):
        plan(step, COSTS, memory=1000)


def test_small_exchanges_become_one_where_that_gains():
    nodes = [Node("x", kind="input", bytes=100)]
    for i in range(6):
        nodes.append(Node(f"g{i}", "mm", inputs=("x",), bytes=100))
        nodes += exchanged(f"r{i}", f"g{i}", size=100, result=100)
    nodes.append(Node("out", kind="output", inputs=tuple(f"w_r{i}" for i in range(6))))
    step = Step(nodes)
    slow = Costs(ops={"mm": 1e-6}, link=Link(1e-3, 1e9))
    made = plan(step, slow, bucket=1000)
    assert [b.members for b in made.buckets] == [tuple(f"r{i}" for i in range(6))]
    assert made.seconds < 0.5 * made.given_seconds
    (decision,) = [d for d in made.decisions if d.kind == "bucket"]
    assert decision.gain == pytest.approx(5 * 2e-3, rel=0.01)
    assert check(on(4, made.step(step))) == []
    halves = plan(step, slow, bucket=300)
    assert [len(b.members) for b in halves.buckets] == [3, 3]
    assert plan(step, Costs(ops={"mm": 1e-6}, link=Link(0, 1e9)), bucket=1000).buckets == ()


def test_an_exchange_that_another_needs_is_not_in_its_bucket():
    nodes = [Node("x", kind="input", bytes=8), *exchanged("a", "x", size=8)]
    nodes += [Node("y", "f", inputs=("w_a",)), *exchanged("b", "y", size=8)]
    step = Step([*nodes, Node("out", kind="output", inputs=("w_b",))])
    assert plan(step, Costs(link=Link(1, 1)), bucket=1000).buckets == ()


def exhaustive(step, costs):
    """The time of the best of all orders, by trying them."""
    from treadle.steps._problem import Problem, Timeline

    problem = Problem(step, costs)
    best = [Timeline(problem, problem.in_order()).nanoseconds]

    def extend(order, missing):
        ready = [i for i, m in enumerate(missing) if not m]
        if not ready:
            best[0] = min(best[0], Timeline(problem, order).nanoseconds)
        for i in ready:
            rest = list(missing)
            rest[i] = -1
            for j in problem.after[i]:
                rest[j] -= 1
            extend([*order, i], rest)

    extend([], [len(b) for b in problem.before])
    return best[0] / 1e9


def test_small_plans_are_the_best_of_all_orders():
    found = []
    for seed in range(40):
        step = random_step(seed, most=6)
        costs = next(measured_costs(step, seed))
        best = exhaustive(step, costs)
        found.append(plan(step, costs).seconds / best)
        assert found[-1] >= 1 - 1e-6
    assert sum(ratio < 1.0001 for ratio in found) >= 38
    assert max(found) < 1.1


def chained_step(seed, most):
    """Computing, and exchanges of two groups that often feed each other."""
    rng = random.Random(seed)
    nodes = [Node(f"x{i}", kind="input", bytes=10) for i in range(2)]
    values, waits = ["x0", "x1"], []
    for i in range(most):
        name = f"n{i}"
        if rng.random() < 0.5:
            of = rng.choice(waits if waits and rng.random() < 0.6 else values)
            nodes += exchanged(name, of, size=rng.randint(1, 100), group=rng.choice("ab"))
            waits.append(f"w_{name}")
            values.append(f"w_{name}")
        else:
            two = tuple(dict.fromkeys((rng.choice(values), rng.choice(values))))
            nodes.append(Node(name, "f", inputs=two, bytes=rng.randint(1, 100)))
            values.append(name)
    nodes.append(Node("out", kind="output", inputs=tuple(values[2:])))
    return Step(nodes)


def lists(problem, seed, count):
    """Orders by lists: exchanges begin and end at once, begin at once and end late, or at random;
    what computes goes by its place, the longest way to the end, or at random."""
    rng, tails = random.Random(seed), problem.tails()
    for number in range(count):
        by = number % 3
        late = number // 3 % 3
        missing = [len(b) for b in problem.before]
        ready = [i for i, m in enumerate(missing) if not m]
        order = []
        while ready:

            def rank(i, by=by, late=late):
                kind = problem.kind[i]
                first = {"start": 0, "wait": 2 if late else 0}.get(kind, 1)
                place = (i, -tails[i], rng.random())[by]
                return (rng.random() if late == 2 else first, place)

            i = min(ready, key=rank)
            ready.remove(i)
            order.append(i)
            for j in problem.after[i]:
                missing[j] -= 1
                if not missing[j]:
                    ready.append(j)
        yield order


def test_no_list_is_faster_than_the_plan():
    from treadle.steps._problem import Problem, Timeline

    for seed in range(120):
        step = chained_step(seed, 6 + seed % 20)
        costs = next(measured_costs(step, seed))
        made, problem = plan(step, costs), Problem(step, costs)
        best = min(Timeline(problem, order).nanoseconds for order in lists(problem, seed, 45))
        assert made.seconds * 1e9 <= best + 1, seed
        assert made.seconds <= made.given_seconds
        assert check(on(4, made.step(step)), before=on(4, step)) == [], seed


def test_computing_waits_where_one_exchange_feeds_another():
    """An all-gather of one group into one of another, beside a product that takes longer."""
    nodes = [Node("x", kind="input", bytes=8), Node("p", kind="input", bytes=8)]
    nodes += exchanged("inner", "p", "all_gather", 8, 16, group="a", ranks=2)
    nodes += exchanged("outer", "w_inner", "all_gather", 16, 32, group="b", ranks=2)
    nodes += [Node("h", "mm", inputs=("x",), bytes=8)]
    nodes += [Node("y", "mm", inputs=("h", "w_outer"), bytes=8)]
    step = Step([*nodes, Node("out", kind="output", inputs=("y",))])
    made = plan(step, Costs(ops={"mm": 1e-3}, link=Link(3e-4, 1e9)))
    assert made.seconds == pytest.approx(2.3e-3, rel=1e-3)
    assert made.order.index("outer") < made.order.index("h")


def test_order_of_exchanges_can_be_kept():
    nodes = [Node("x", kind="input", bytes=8), Node("late", "mm", inputs=("x",))]
    nodes += [*exchanged("first", "late", size=8), *exchanged("second", "x", size=8)]
    step = Step([*nodes, Node("out", kind="output", inputs=("w_first", "w_second"))])
    starts = [n for n in plan(step, COSTS).order if n in ("first", "second")]
    assert starts == ["second", "first"]
    kept = [n for n in plan(step, COSTS, exchanges="given").order if n in ("first", "second")]
    assert kept == ["first", "second"]


def plans_of_random_graphs(count):
    """A number of all plans. Each rank reads the others' costs in an order of its own."""
    seen = hashlib.sha256()
    for seed in range(count):
        step = random_step(seed, most=14)
        parts = list(measured_costs(step, seed))
        orders = [parts, parts[::-1], parts[2:] + parts[:2]]
        made = {plan(step, Costs.merged(o), bucket=100 * (seed % 3)).text() for o in orders[:2]}
        assert len(made) == 1, seed
        text = made.pop()
        again = plan(Step.from_text(step.text()), Costs.merged(orders[2]), bucket=100 * (seed % 3))
        assert again.text() == text, seed
        assert again.bound - 1e-9 <= again.seconds <= again.given_seconds + 1e-9
        assert check(on(4, again.step(step)), before=on(4, step)) == [], seed
        seen.update(text.encode())
    return seen.hexdigest()


@pytest.mark.parametrize("hashing", ["1", "2"])
def test_all_ranks_find_the_same_plan(hashing):
    program = (
        f"import sys; sys.path.insert(0, {str(HERE.parent)!r})\n"
        "import test_torch_plan; print(test_torch_plan.plans_of_random_graphs(1000))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hashing},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    KNOWN.add(done.stdout)
    assert len(KNOWN) == 1


KNOWN = set()


def processor_time(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def test_twenty_thousand_nodes_take_hardly_more_than_their_share():
    """Eight times the nodes: what grows with their square would take 64 times as long."""
    step, smaller = training(1830), training(229)
    assert len(step) >= 20_000
    plans = []
    whole = processor_time(lambda: plans.append(plan(step, COSTS, bucket=25 * MB)))
    assert whole < 32 * processor_time(lambda: plan(smaller, COSTS, bucket=25 * MB))
    assert plans[0].hidden > 0.9


# Faults.


def kinds(faults):
    return [fault.kind for fault in faults]


def swapped(step, a, b):
    names = [n.name for n in step.nodes]
    i, j = names.index(a), names.index(b)
    names[i], names[j] = b, a
    return step.reordered(names)


def two_groups(first, second, waits_at_once):
    nodes = [Node("x", kind="input", bytes=4)]
    parts = [exchanged(g, "x", size=4, group=g, ranks=2) for g in (first, second)]
    if waits_at_once:
        nodes += [*parts[0], *parts[1]]
    else:
        nodes += [n for pair in zip(*parts, strict=True) for n in pair]
    return Step(nodes)


def test_correct_steps_have_no_faults():
    assert check(on(4, training(5)), before=on(4, training(5)), memory=60 * MB) == []


def test_exchanges_that_ranks_issue_in_different_orders_are_found():
    step = training(3)
    names = [n.name for n in step.nodes]
    names.insert(names.index("g0"), names.pop(names.index("g2")))
    other = Step([dataclasses.replace(n, exchange=dataclasses.replace(n.exchange, signature="x"))
                  if n.name == "g2" else n for n in step.reordered(names).nodes])  # fmt: skip
    first = Step([dataclasses.replace(n, exchange=dataclasses.replace(n.exchange, signature="x"))
                  if n.name == "g2" else n for n in step.nodes])  # fmt: skip
    (fault,) = check({0: first, 1: first, 2: other, 3: first})
    assert (fault.kind, fault.ranks) == ("exchanges differ", (0, 2))
    assert "exchange 1 of ranks [0, 1, 2, 3]" in fault.message
    assert [line.split(":")[0] for line in fault.trace] == ["rank 0", "rank 2"]


def test_an_exchange_that_a_rank_leaves_out_is_found():
    step = two_groups("a", "b", True)
    less = Step([n for n in step.nodes if not n.name.endswith("b")])
    (fault,) = check({0: step, 1: less})
    assert fault.kind == "exchanges differ" and "nothing more on rank 1" in fault.message


def test_what_is_used_before_its_wait_is_found():
    step = training(2)
    nodes = [dataclasses.replace(n, inputs=tuple("g1" if i == "w_g1" else i for i in n.inputs))
             if n.name == "h1" else n for n in step.nodes]  # fmt: skip
    nodes = [n for n in nodes if n.name != "w_g1"]
    found = check(on(4, Step(nodes)))
    assert set(kinds(found)) == {"not waited for"}
    assert "'h1' uses what 'g1' exchanges" in found[0].message
    assert [line.split(" ")[1] for line in found[0].trace] == ["g1", "h1"]


def test_what_is_used_before_it_is_computed_is_found():
    found = check(on(4, swapped(training(2), "h0", "w_g1")))
    assert "order" in kinds(found)


def test_circles_of_two_groups_are_found():
    (fault,) = check({0: two_groups("a", "b", True), 1: two_groups("b", "a", True)})
    assert fault.kind == "circle" and len(fault.trace) == 2
    assert "rank 0 waits at" in " ".join(fault.trace)
    both = {0: two_groups("a", "b", False), 1: two_groups("b", "a", False)}
    assert check(both) == []
    (fault,) = check(both, one_stream=True)
    assert fault.kind == "circle" and "stream" in fault.trace[0]


def test_a_circle_of_three_ranks_is_found():
    def rank(mine, group, then, other):
        x = Node("x", kind="input", bytes=4)
        a = exchanged(mine, "x", size=4, group=group, ranks=2)
        return Step([x, *a, *exchanged(then, "x", size=4, group=other, ranks=2)],
                    {"ab": [0, 1], "bc": [1, 2], "ca": [2, 0]})  # fmt: skip

    steps = {0: rank("a", "ab", "b", "ca"), 1: rank("a", "bc", "b", "ab"),
             2: rank("a", "ca", "b", "bc")}  # fmt: skip
    (fault,) = check(steps)
    assert fault.kind == "circle" and sorted(fault.ranks) == [0, 1, 2]


def buffer_step(free_early):
    nodes = [
        Node("x", kind="input", bytes=8),
        Node("bucket", "empty", bytes=8),
        Node("fill", "copy_", inputs=("bucket", "x"), aliases=("bucket",), writes=("bucket",)),
        *exchanged("r", "fill", size=8, ranks=2),
    ]
    use = Node("use", "f", inputs=("fill",), bytes=8)
    free = Node("free", kind="free", inputs=("bucket",), writes=("bucket",))
    nodes += [free, use] if free_early else [use, free]
    return Step([*nodes, Node("out", kind="output", inputs=("w_r", "use"))])


def test_a_bucket_that_is_used_after_it_was_given_back_is_found():
    assert check(on(2, buffer_step(False))) == []
    found = check(on(2, buffer_step(True)))
    assert kinds(found) == ["freed"] * 2
    assert "'use' uses 'bucket', which 'free' gave back" in found[0].message
    order = plan(buffer_step(False), COSTS).order
    assert order.index("use") < order.index("free")


def test_what_is_changed_while_it_is_sent_is_found():
    start, wait = exchanged("r", "a", size=8, ranks=2)
    change = Node("change", "add_", inputs=("a",), aliases=("a",), writes=("a",))
    a = [Node("x", kind="input", bytes=8), Node("a", "f", inputs=("x",), bytes=8)]
    good = Step([*a, start, wait, change])
    assert check(on(2, good)) == []
    assert kinds(check(on(2, Step([*a, start, change, wait])))) == ["changed in flight"] * 2
    order = plan(good, COSTS).order
    assert order.index("w_r") < order.index("change")


def test_memory_above_the_bound_is_found():
    (fault, *_) = check(on(4, training(3)), memory=8 * MB)
    assert fault.kind == "memory"
    assert f"of at most {8 * MB}" in fault.message
    assert any("4194304 bytes" in line for line in fault.trace)


def test_effects_in_another_order_are_found():
    x = Node("x", kind="input")
    a, b = (Node(name, "print", inputs=("x",), effects=("world",)) for name in "ab")
    (fault,) = check({0: Step([x, b, a])}, before={0: Step([x, a, b])})
    assert fault.kind == "effects" and "'b' comes before 'a'" in fault.message


def test_messages_that_nobody_receives_are_found():
    def ends(way, peer, tag):
        start, wait = exchanged("m", "x", way, size=4, ranks=2, peers=(peer,), tags=(tag,))
        return Step([Node("x", kind="input", bytes=4), start, wait])

    send = ends("send", 1, "send 0")
    assert check({0: send, 1: ends("receive", 0, "receive 0")}) == []
    found = check({0: send, 1: ends("receive", 0, "receive 7")})
    assert kinds(found) == ["nobody comes"]


def test_pipelines_that_both_receive_first_are_a_circle():
    def stage(peer, *ways):
        nodes = [Node("x", kind="input", bytes=4)]
        for way in ways:
            nodes += exchanged(way, "x", way, size=4, ranks=2, peers=(peer,), tags=(f"{way} 0",))
        return Step(nodes)

    assert check({0: stage(1, "send", "receive"), 1: stage(0, "receive", "send")}) == []
    circle = {0: stage(1, "receive", "send"), 1: stage(0, "receive", "send")}
    assert kinds(check(circle)) == ["circle"]


def test_a_group_whose_ranks_are_not_known_is_named():
    with pytest.raises(treadle.InvalidArgumentError, match="the 4 ranks of group '0' are unknown"):
        check(on(2, training(1)))


# Costs.


def test_costs_of_ranks_are_merged_whatever_their_order():
    parts = [Costs(nodes={"a": t}, exchanges={"r": t}, link=Link(t, 1 / t)) for t in (3.0, 1, 2)]
    merged = {Costs.merged(order).text() for order in itertools.permutations(parts)}
    assert len(merged) == 1
    both = Costs.merged(parts)
    assert (both.nodes["a"], both.exchanges["r"], both.link.latency) == (2.0, 1.0, 3.0)


def event(name, microseconds, cat="cpu_op", at=0, **arguments):
    return {"ph": "X", "name": name, "cat": cat, "ts": at, "dur": microseconds,
            "args": arguments}  # fmt: skip


def trace_file(path, events, **more):
    path.write_text(json.dumps({"traceEvents": events, **more}))
    return path


def test_costs_of_the_profilers_traces(tmp_path):
    def rank(name, mm, waited):
        dims = {"Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"]}
        events = [event("aten::mm", mm, **dims), event("aten::mm", 3 * mm, **dims)]
        for i, (elements, took) in enumerate([(1000, 22.0), (100_000, 1210.0)]):
            sent = {"Input Dims": [[elements]], "Input type": ["float"]}
            events.append(event("gloo:all_reduce", took + waited, "user_annotation", i, **sent))
        return trace_file(tmp_path / name, events, distributedInfo={"world_size": 2})

    files = [rank("0.json", 10, 500), rank("1.json", 20, 0)]
    costs = costs_of_traces(files)
    assert costs.sizes["aten.mm(8x4, 4x2)"] == pytest.approx(25e-6)
    # 2 L + b / B: 22 us for 4 KB, 1210 us for 400 KB.
    assert costs.link.latency == pytest.approx(5e-6, rel=0.01)
    assert costs.link.bytes_per_second == pytest.approx(400_000 / 1200e-6, rel=0.01)
    assert costs_of_traces(files[::-1]).text() == costs.text()
    node = Node("a", "aten.mm", sizes="8x4, 4x2")
    assert costs.node(node) == 25_000


def test_costs_of_kernels_count_where_there_is_a_device(tmp_path):
    events = [
        event("aten::mm", 5, **{"External id": 7, "Input Dims": [[2, 2], [2, 2]]}),
        event("gemm", 900, "kernel", **{"External id": 7}),
        event("nccl", 100, "kernel", **{"Collective name": "allreduce", "In msg nelems": 1000,
                                        "dtype": "BFloat16", "Group size": 8}),
        event("nccl", 800, "kernel", **{"Collective name": "allreduce", "In msg nelems": 100_000,
                                        "dtype": "BFloat16", "Group size": 8}),
    ]  # fmt: skip
    costs = costs_of_traces([trace_file(tmp_path / "k.json", events)])
    assert costs.ops["aten.mm"] == pytest.approx(900e-6)
    slope = 2 * 7 / 8 * 2 * 99_000 / 700e-6
    assert costs.link.bytes_per_second == pytest.approx(slope, rel=0.01)


def test_costs_of_our_traces(tmp_path):
    def ours(name, time, took):
        own = [{"ph": "X", "name": "mm", "ts": 0, "dur": time, "args": {"op": "MatMul"}},
               {"ph": "X", "name": "r", "ts": 0, "dur": took,
                "args": {"op": "CollectiveReduceV2", "exchange": True}}]  # fmt: skip
        return trace_file(tmp_path / name, own)

    costs = costs_of_traces([ours("a", 10, 70), ours("b", 30, 50)])
    assert costs.nodes["mm"] == pytest.approx(20e-6)
    assert costs.exchanges["r"] == pytest.approx(50e-6)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"flops": -1}, "'flops' is -1; expected a positive number"),
        ({"nodes": {"a": "x"}}, "'a' is 'x'; expected a number"),
        ({"links": {}}, "found \\['links'\\]"),
        ({"link": {"bytes_per_second": 0}}, "bytes_per_second is 0"),
        ([], "found list"),
    ],
)
def test_malformed_costs_are_named(made, message):
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        Costs.from_dict(made)


def test_costs_are_kept_in_files(tmp_path):
    COSTS.to_file(tmp_path / "costs.json")
    assert Costs.from_file(tmp_path / "costs.json") == COSTS


# Files of steps.


def test_steps_are_kept_in_files(tmp_path):
    for seed in range(20):
        step = random_step(seed)
        step.to_file(tmp_path / "step.json")
        read = Step.from_file(tmp_path / "step.json")
        assert read.nodes == step.nodes and read.digest() == step.digest()


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"kind": "view"}, "has no name"),
        ({"name": "a", "kind": "thing"}, "has kind 'thing'"),
        ({"name": "a", "inputs": ["b"]}, "uses 'b', which isn't in the step"),
        ({"name": "a", "inputs": [1]}, "expected str"),
        ({"name": "a", "bytes": -1}, "negative size"),
        ({"name": "a", "bytes": True}, "expected int"),
        ({"name": "a", "size": 1}, "unknown fields: {'size'}"),
        ({"name": "a", "kind": "start"}, "a start node must have an exchange"),
        ({"name": "a", "kind": "start", "exchange": {"group": "0"}}, "expected"),
        ({"name": "a", "kind": "start", "exchange": {
            "collective": "gossip", "group": "0", "ranks": 2, "bytes": 1}}, "unknown collective"),
        ({"name": "a", "aliases": ["a"]}, "'a' uses 'a'|uses itself"),
    ],
)  # fmt: skip
def test_malformed_steps_are_named(node, message):
    text = json.dumps({"treadle_step": 1, "nodes": [node]})
    with pytest.raises(treadle.InvalidArgumentError, match=message):
        check({0: Step.from_text(text)})


@pytest.mark.parametrize("text", ["", "[]", '{"nodes": []}', '{"treadle_step": 1}'])
def test_files_that_are_no_steps_are_named(text):
    with pytest.raises(treadle.InvalidArgumentError, match="the step"):
        Step.from_text(text)


def test_a_plan_is_for_its_step():
    with pytest.raises(treadle.InvalidArgumentError, match="belongs to another step"):
        plan(training(2), COSTS).step(training(3))


def test_files_are_checked_by_a_command(tmp_path):
    for rank in range(2):
        two_groups("a", "b", True).to_file(tmp_path / f"{rank}.json")

    def checked(*arguments):
        command = [sys.executable, "-m", "treadle.steps", "0.json", "1.json", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    done = checked("--before", "0.json", "1.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = checked("--memory", "3")
    assert done.returncode == 1 and "memory (rank 0): at 'x' 4 bytes are held" in done.stdout
    two_groups("b", "a", True).to_file(tmp_path / "1.json")
    done = checked()
    assert done.returncode == 1 and done.stdout.startswith("circle (rank 0, 1): ranks wait")
    (tmp_path / "1.json").write_text("{}")
    done = checked()
    assert done.returncode == 2 and done.stderr.startswith("error: 1.json is not a step")


# Fusion.


def test_fusions_that_delay_an_exchange_are_named():
    nodes = [Node("x", kind="input", bytes=8), Node("a", "mm", inputs=("x",), bytes=8)]
    nodes += [*exchanged("r", "a", size=MB)[:1], Node("b", "mm", inputs=("x",), bytes=8)]
    nodes += [Node("c", "mm", inputs=("b",), bytes=8), exchanged("r", "a", size=MB)[1]]
    nodes += [Node("d", "mm", inputs=("w_r", "c"), bytes=8), Node("e", "mm", inputs=("d",))]
    fusion = Fusion(Step(nodes), COSTS)
    assert fusion.delayed(["a", "b"]) == "r"  # it would begin after b
    assert fusion.delayed(["c", "d"]) == "r"  # nothing would hide it
    assert fusion.delayed(["b", "c"]) is None
    assert fusion.delayed(["d", "e"]) is None
    assert fusion.delayed(["d", "unknown"]) is None
    tiny = Fusion(Step(nodes), Costs(ops={"mm": 1e-9}, link=COSTS.link))
    assert tiny.delayed(["c", "d"]) is None  # hides nothing worth mentioning


# Simulation.


def test_the_simulation_agrees_with_the_plan():
    step = training(6)
    made = plan(step, COSTS)
    found = simulate(step, COSTS) + simulate(made.step(step), COSTS)
    assert found.cases[0].seconds == pytest.approx(made.given_seconds)
    assert found.cases[1].seconds == pytest.approx(made.seconds)
    assert found.cases[0].hidden == pytest.approx(0, abs=1e-9)
    assert found.cases[1].hidden > 0.9
    assert found.table().count("\n") == 4
    picture = found.picture("before", "after")
    assert picture.count('class="exchange"') == 2 * len(step.exchanges())
    assert "g1: 0.886 ms" in picture


def test_a_slow_rank_delays_all():
    step = plan(training(6), COSTS).step(training(6))
    even = simulate(step, COSTS, ranks=64).cases[0]
    slow = simulate(step, COSTS, ranks=64, slow={7: 2.0}).cases[0]
    assert slow.seconds > even.seconds + 0.9 * even.computing
    jittered = simulate(step, COSTS, ranks=64, jitter=0.2).cases[0]
    assert even.seconds < jittered.seconds < 1.3 * even.seconds
    assert jittered == simulate(step, COSTS, ranks=64, jitter=0.2).cases[0]


def test_a_thousand_ranks_take_hardly_more_than_their_share():
    """Sixteen times the ranks: what grows with their square would take 256 times as long."""
    step = training(100)
    fewer = processor_time(lambda: simulate(step, COSTS, ranks=64, jitter=0.1))
    assert processor_time(lambda: simulate(step, COSTS, ranks=1024, jitter=0.1)) < 100 * fewer


def test_links_between_machines_are_used_last():
    fast, slow = Link(1e-6, 1e11), Link(1e-4, 1e9)
    gather = Exchange("all_gather", "0", 16, MB)
    there = Topology(8, fast, slow).seconds(gather, range(16))
    assert there == pytest.approx(1e-6 + 7 * 2 * MB / 1e11 + 1e-4 + 8 * MB / 1e9)
    inside = Topology(16, fast, slow).seconds(gather, range(16))
    assert inside == pytest.approx(fast.seconds(gather))
    step = training(3)
    cases = simulate(step, COSTS, ranks=[8, 16], topology=Topology(8, fast, slow)).cases
    assert cases[0].seconds < cases[1].seconds


def test_groups_of_a_part_of_the_ranks_stay_as_they_are():
    nodes = [Node("x", kind="input", bytes=8)]
    nodes += exchanged("t", "x", size=8, group="tensor", ranks=2)
    nodes += exchanged("d", "w_t", size=8, group="data", ranks=4)
    step = Step(nodes, {"tensor": [0, 1], "data": range(4)})
    case = simulate(step, Costs(link=Link(0, 1)), ranks=8).cases[0]
    assert case.seconds == pytest.approx(8 + 2 * 7 / 8 * 8)
    with pytest.raises(treadle.InvalidArgumentError, match="can't be divided into groups of 2"):
        simulate(step, COSTS, ranks=7)


def test_buckets_are_planned_anew():
    step = training(4)
    cases = simulate(step, COSTS, buckets=[0, 64 * MB]).cases
    assert cases[1].seconds < cases[0].seconds


def test_sends_are_not_simulated():
    start, wait = exchanged("m", "x", "send", peers=(1,), tags=("send 0",))
    with pytest.raises(treadle.UnimplementedError, match="single ranks"):
        simulate(Step([Node("x", kind="input"), start, wait]), COSTS)
