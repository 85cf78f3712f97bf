#!/usr/bin/env python3
"""Measures training steps whose communication overlaps computing: without any overlap, by hand, by
PyTorch's own passes, and by treadle.torch.plan.

    ./dev bench overlap                          every step, on 2 and 4 processes
    ./dev bench overlap gpt --ranks 2 --repeat 20

Real PyTorch and gloo, on links with a latency and a bandwidth (delayed_links.py) that make
exchanges take as long as 60% of the computing (20% in "tensor parallel"). The variants take turns
in one run. Times are those of the fastest turn, in ms, of the rank that took longest in it: what
else the machine does only adds. `hidden` is the share that the plan hides of what the links add to
the step without any overlap (above 100%, it hides some of gloo's own work too); `predicted` is the
cost model's time over the measured one.
"""

import argparse
import copy
import dataclasses
import datetime
import heapq
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from treadle.steps import Link, simulate
from treadle.steps._costs import wire

# The time of exchanges as a fraction of the computation. Blocks whose layers are divided have
# little to compute beside an exchange.
SHARES = {"gpt": 0.6, "tensor parallel": 0.2, "resnet": 0.6}
VARIANTS = "none", "by hand", "PyTorch", "PyTorch, buckets", "plan", "no links"


def graphs(name):
    """The step's graph, its arguments, and the graph as people write it."""
    from overlap_steps import STEPS
    from torch.fx.experimental.proxy_tensor import make_fx

    step, arguments = STEPS[name]()
    graph = make_fx(step, tracing_mode="fake")(*arguments)
    written, _ = STEPS[name](hand=True)
    by_hand = make_fx(written, tracing_mode="fake")(*arguments)
    order_by_hand(by_hand)
    return graph, arguments, by_hand


def order_by_hand(module):
    """Orders nodes as FSDP and DDP do: gathers start one layer earlier, waits are where values are
    used, and all updates come last."""
    import torch

    c10d = torch.ops._c10d_functional
    nodes = [n for n in module.graph.nodes if n.op == "call_function"]
    place = {node: float(i) for i, node in enumerate(nodes)}
    key = dict(place)
    gathers = [n for n in nodes if n.target is c10d.all_gather_into_tensor.default]
    for earlier, later in zip(gathers, gathers[1:], strict=False):
        for node in (later, *later.all_input_nodes):
            if node in key:
                key[node] = place[earlier] + 0.1
    for node in nodes:
        if node.target is torch.ops.aten.mul.Tensor and node.args[1] == 0.01:
            for late in (node, *node.users):
                key[late] = len(nodes) + place.get(late, 0)
        elif node.target is c10d.all_reduce.default:
            (computed,) = node.all_input_nodes
            key[node] = key.get(computed, 0) + 0.1
    for node in reversed(nodes):
        waits = node.target is c10d.wait_tensor.default
        added = node.target is torch.ops.aten.add.Tensor
        if waits or (added and any("wait" in i.name for i in node.all_input_nodes)):
            users = [key[user] for user in node.users if user in key]
            key[node] = min(users, default=len(nodes)) - 0.1
    sort(module, key)


def sort(module, key):
    """Orders a graph by a key of its nodes, as far as they don't need each other."""
    missing = {n: sum(i in key for i in n.all_input_nodes) for n in key}
    ready = [(key[n], n.name, n) for n, count in missing.items() if not count]
    heapq.heapify(ready)
    last = next(n for n in reversed(module.graph.nodes) if n.op in ("placeholder", "get_attr"))
    while ready:
        node = heapq.heappop(ready)[-1]
        last.append(node)
        last = node
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, (key[user], user.name, user))
    module.graph.lint()
    module.recompile()


def by_pytorch(graph, costs, buckets):
    """PyTorch's overlap pass, given the same costs."""
    import treadle.torch
    from torch._inductor.fx_passes.overlap_scheduling import schedule_overlap_bucketing

    step = treadle.torch.step_of(graph)

    def estimate(node, size=None):
        if node.name not in step.index:
            return 0.0
        known = step[node.name]
        if known.exchange is None:
            return costs.node(known) / 1e6
        if size:
            changed = dataclasses.replace(known.exchange, bytes=size)
            return 1e3 * costs.link.seconds(changed)
        return costs.exchange(known) / 1e6

    made = schedule_overlap_bucketing(
        copy.deepcopy(graph),
        collective_bucketing=buckets,
        custom_runtime_estimation=estimate,
        compute_estimator="benchmark",  # this estimator calls `estimate` first
        max_memory_increase_gb=None,
        max_memory_increase_ratio=None,
    )
    made.recompile()
    return made


def link_for(step, costs, share):
    """A link on which the step's exchanges take a share of its computing: half latency, half
    bytes."""
    computing = sum(costs.node(n) for n in step.nodes) / 1e9
    rounds = sum(wire(n.exchange.collective, n.exchange.ranks)[0] for n in step.exchanges())
    passed = sum(
        wire(n.exchange.collective, n.exchange.ranks)[1] * n.exchange.bytes
        for n in step.exchanges()
    )
    return Link(share * computing / 2 / rounds, passed / (share * computing / 2))


def run_rank(names, rank, ranks, store, repeat, trace):
    import delayed_links
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "delayed",
        rank=rank,
        world_size=ranks,
        init_method=f"file://{store}",
        timeout=datetime.timedelta(seconds=60),
    )
    for name in names:
        compare(name, delayed_links.LINK, repeat, trace)
    dist.destroy_process_group()


def compare(name, delayed, repeat, trace):
    """Makes the variants of a step, and measures them."""
    import torch.distributed as dist
    import treadle.torch

    graph, arguments, by_hand = graphs(name)
    step = treadle.torch.step_of(graph)
    delayed.link = Link(0, 1e18)
    costs = treadle.torch.measure(graph, arguments, repeat=3)
    delayed.link = link_for(step, costs, SHARES[name])
    costs = treadle.torch.measure(graph, arguments, repeat=5)
    size = max(n.exchange.bytes for n in step.exchanges())
    plan = treadle.torch.plan(graph, costs, bucket=4 * size)
    planned = copy.deepcopy(graph)
    plan.apply(planned)
    variants = {
        "none": graph,
        "by hand": by_hand,
        "PyTorch": by_pytorch(graph, costs, False),
        "PyTorch, buckets": by_pytorch(graph, costs, True),
        "plan": planned,
        "no links": graph,
    }
    ranks, rank = dist.get_world_size(), dist.get_rank()
    predicted = {v: treadle.torch.simulate(g, costs).cases[0].seconds for v, g in variants.items()}
    faults = {
        v: len(treadle.torch.check(dict.fromkeys(range(ranks), g))) for v, g in variants.items()
    }
    times, losses = measure(variants, arguments, delayed, repeat)
    shared = [None] * ranks
    dist.all_gather_object(shared, (times, losses, plan.text()))
    if rank == 0:
        report(name, shared, plan, costs, step, faults, predicted, trace)


def measure(variants, arguments, delayed, repeat):
    """Seconds of each variant, in turns, and its losses: the first steps, each on what the last one
    has changed."""
    import torch.distributed as dist

    link = delayed.link
    times = {name: [] for name in variants}
    losses = {}
    for name, graph in variants.items():
        delayed.link = Link(0, 1e18)
        state, losses[name] = [a.clone() for a in arguments], []
        for _ in range(3):
            loss, *weights = graph(*state)
            state[2 : 2 + len(weights)] = weights
            losses[name].append(loss.item())
    for _ in range(repeat):
        for name, graph in variants.items():
            delayed.link = Link(0, 1e18)
            dist.barrier()
            delayed.link = Link(0, 1e18) if name == "no links" else link
            begin = time.perf_counter()
            graph(*arguments)
            times[name].append(time.perf_counter() - begin)
    return times, losses


def report(name, shared, plan, costs, step, faults, predicted, trace):
    """One line of JSON."""
    slowest = {
        name: min(map(max, zip(*(times[name] for times, _, _ in shared), strict=True)))
        for name in shared[0][0]
    }
    losses = shared[0][1]
    could = slowest["none"] - slowest["no links"]
    print(
        json.dumps(
            {
                "step": name,
                "ranks": len(shared),
                "seconds": slowest,
                "hidden": {v: (slowest["none"] - s) / could for v, s in slowest.items()},
                "plan hides": plan.hidden,
                "buckets": len(plan.buckets),
                "exchanges": len(step.exchanges()),
                "predicted": predicted,
                "same plan": len({text for _, _, text in shared}) == 1,
                "same losses": all(
                    abs(a - b) <= 1e-5 * abs(b)
                    for v in losses.values()
                    for a, b in zip(v, losses["none"], strict=True)
                ),
                "faults": faults,
            }
        ),
        flush=True,
    )
    if trace:
        found = simulate(step, costs) + simulate(plan.step(step), costs)
        pathlib.Path(trace).write_text(found.picture("as given", "planned"))


def run(names, ranks, repeat, trace):
    """Yields what each step's ranks found."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, *names, "--repeat", str(repeat)]
        command += ["--store", f"{folder}/store", "--ranks", str(ranks)]
        command += ["--picture", trace] if trace else []
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": folder}
        processes = [
            subprocess.Popen(
                [*command, "--rank", str(rank)],
                env=environment,
                stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                stderr=open(f"{folder}/{rank}", "w"),
                text=True,
            )
            for rank in range(ranks)
        ]
        threading.Thread(target=end_together, args=[processes], daemon=True).start()
        for line in processes[0].stdout:
            yield json.loads(line)
        if any([p.wait() for p in processes]):
            sys.exit(
                "\n".join(pathlib.Path(folder, str(r)).read_text()[-3000:] for r in range(ranks))
            )


def end_together(processes):
    """Ends all when one has failed: the others would wait for it."""
    while None in (codes := [p.poll() for p in processes]) and not any(codes):
        time.sleep(0.2)
    for process in processes if any(codes) else ():
        process.kill()


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench overlap",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("steps", nargs="*", help="gpt, 'tensor parallel', resnet; default: all")
    parser.add_argument("--ranks", type=int, action="append", help="default: 2 and 4")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--picture", help="write an SVG of the last step, before and after")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank is not None:
        run_rank(given.steps, given.rank, given.ranks[0], given.store, given.repeat, given.picture)
        return
    from overlap_steps import STEPS

    print("| step | ranks | " + " | ".join(VARIANTS) + " | hidden | predicted | same losses |")
    print("| --- " * (len(VARIANTS) + 5) + "|")
    for ranks in given.ranks or (2, 4):
        for found in run(given.steps or [*STEPS], ranks, given.repeat, given.picture):
            print(json.dumps(found) if given.json else row(found), flush=True)


def row(found):
    times = " | ".join(f"{1e3 * found['seconds'][v]:.1f}" for v in VARIANTS)
    return (
        f"| {found['step']} | {found['ranks']} | {times} | {100 * found['hidden']['plan']:.0f}% | "
        f"{found['predicted']['plan'] / found['seconds']['plan']:.2f} | {found['same losses']} |"
    )


if __name__ == "__main__":
    main()
