#!/usr/bin/env python3
"""Measures nets of PyTorch, forward and training steps, beside eager and inductor.

Each backend has a process of its own, since threads of one would wait in loops while another
computes. The processes take turns: a short warm-up, then calls that count.

    ./dev bench nets                       every net
    ./dev bench nets gpt lstm --threads 1
    ./dev bench nets --without inductor    whose compiling takes most of the time

A line for a net's forward call and one for a step (forward and backward): milliseconds of eager, of
inductor, of torch.compile(backend="treadle"), the ratio of the faster rival to Treadle (above 1:
Treadle is faster), and the largest difference of the gradients, as a part of their size.
"""

import argparse
import contextlib
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
import time

os.environ["TREADLE_CACHE_DIR"] = "off"  # nothing is loaded from the cache

import torch
from torch import nn
from torch.nn import functional as F

import bench

BACKENDS = ("eager", "inductor", "treadle")
WARM_SECONDS, TURN_SECONDS = 0.05, 0.15
# After a turn, until threads of OpenMP that have nothing to do sleep.
PAUSE_SECONDS = 0.02


class Residual(nn.Module):
    """Two convolutions with batch norms, and the input added: ResNet's basic block."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.short = nn.Identity()
        if stride != 1 or inputs != outputs:
            short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.short = nn.Sequential(short, nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.first(x)))
        return F.relu(self.norm2(self.second(y)) + self.short(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    inputs = 64
    for outputs, stride in [(64, 1), (128, 2), (256, 2), (512, 2)]:
        layers += [Residual(inputs, outputs, stride), Residual(outputs, outputs, 1)]
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*layers), torch.randn(1, 3, 224, 224)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cells = kind(64, 128, 2, batch_first=True)

    def forward(self, x):
        return self.cells(x)[0]


def lstm():
    return Recurrent(nn.LSTM), torch.randn(4, 50, 64)


def gru():
    return Recurrent(nn.GRU), torch.randn(4, 50, 64)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


def gpt():
    return nn.Sequential(*[Attention(256, 4) for _ in range(4)]), torch.randn(1, 128, 256)


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + self.narrow(F.gelu(self.wide(y))).permute(0, 3, 1, 2)


def convnext():
    layers, inputs = [], 3
    for outputs, stride in [(48, 4), (96, 2), (192, 2)]:
        layers.append(nn.Conv2d(inputs, outputs, stride, stride))
        layers += [ConvNextBlock(outputs) for _ in range(2)]
        inputs = outputs
    return nn.Sequential(*layers), torch.randn(1, 3, 128, 128)


class Unet(nn.Module):
    """Down, through the middle with attention, and up again, told the time of the diffusion."""

    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 4 * width))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down1, self.down2 = self.block(width, 2 * width), self.block(2 * width, 4 * width)
        self.attention = Attention(4 * width, 4)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1)
        self.merge2 = self.block(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
        self.merge1 = self.block(2 * width, width)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    @staticmethod
    def block(inputs, outputs):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU()
        )

    def forward(self, x):
        angles = torch.arange(16, dtype=torch.float32) * 0.3
        time = self.time(torch.cat([angles.sin(), angles.cos()]))
        x = self.first(x)
        y = self.down1(F.avg_pool2d(x, 2))
        z = self.down2(F.avg_pool2d(y, 2)) + time[:, None, None]
        batch, width, rows, columns = z.shape
        z = self.attention(z.flatten(2).transpose(1, 2)).transpose(1, 2)
        z = z.reshape(batch, width, rows, columns)
        y = self.merge2(torch.cat([self.up2(z), y], 1))
        return self.last(self.merge1(torch.cat([self.up1(y), x], 1)))


def unet():
    return Unet(), torch.randn(1, 3, 64, 64)


NETS = {f.__name__: f for f in (resnet18, lstm, gpt, convnext, gru, unet)}


def forward(net):
    def run(x):
        with torch.no_grad():
            return [net(x)]

    return run


def step(net):
    parameters = list(net.parameters())

    def run(x):
        net(x).square().mean().backward()
        gradients = [p.grad for p in parameters]
        for p in parameters:
            p.grad = None
        return gradients

    return run


WHATS = {"forward": forward, "step": step}


def prepared(name, what, backend):
    """A call of a net, the same net in each process."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    net, x = NETS[name]()
    net.train(what == "step")
    module = net if backend == "eager" else torch.compile(net, backend=backend)
    run = WHATS[what](module)
    return lambda: run(x)


def times(call, seconds):
    """Seconds of each call, for a while."""
    found, end = [], time.perf_counter() + seconds
    while not found or time.perf_counter() < end:
        found.append(bench.seconds(call))
    return found


def work(connection, name, backend, threads):
    """A backend's process: prepares what it is told to, or takes its turn."""
    torch.set_num_threads(threads)
    call = None
    while what := connection.recv():
        if what != "turn":
            try:
                call = prepared(name, what, backend)
                connection.send([t.detach().numpy() for t in call()])
                times(call, 1.0)  # until everything that is compiled is compiled
            except Exception as error:
                connection.send(f"{type(error).__name__}: {str(error)[:300]}")
            continue
        times(call, WARM_SECONDS)
        connection.send(statistics.median(times(call, TURN_SECONDS)))


@contextlib.contextmanager
def workers(name, backends, threads):
    """Connections to a process for each backend."""
    spawn, made = multiprocessing.get_context("spawn"), {}
    for backend in backends:
        made[backend], theirs = spawn.Pipe()
        spawn.Process(target=work, args=(theirs, name, backend, threads), daemon=True).start()
        theirs.close()
    try:
        yield made
    finally:
        for connection in made.values():
            connection.send("")
        for process in multiprocessing.active_children():
            process.join()


def asked(connection, what):
    connection.send(what)
    return connection.recv()


def difference(got, expected):
    """The largest difference, as a part of the largest number."""
    worst = 0.0
    for a, b in zip(got, expected, strict=True):
        worst = max(worst, abs(a - b).max() / (abs(b).max() + 1e-12))
    return worst


def turns(connections, rounds):
    """Medians of turns, by backend, in milliseconds."""
    found = {backend: [] for backend in connections}
    order = list(connections)
    for number in range(rounds):
        # Rotate the order, so that none always follows the same neighbour.
        first = number % len(order)
        for backend in order[first:] + order[:first]:
            time.sleep(PAUSE_SECONDS)
            found[backend].append(asked(connections[backend], "turn"))
    return {backend: statistics.median(seconds) * 1e3 for backend, seconds in found.items()}


def measure(name, args):
    backends = [b for b in BACKENDS if b not in args.without]
    with workers(name, backends, args.threads) as connections:
        for what in args.only or WHATS:
            results = {b: asked(c, what) for b, c in connections.items()}
            for backend, result in results.items():
                if isinstance(result, str):
                    print(f"{name} {what}: {backend}: {result}")
            running = {b: c for b, c in connections.items() if not isinstance(results[b], str)}
            differs = math.nan
            if "treadle" in running:
                differs = difference(results["treadle"], results["eager"])
            yield what, turns(running, args.repeat), differs


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench nets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"some of {', '.join(NETS)}")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--repeat", type=int, default=9, help="rounds of each; default: 9")
    parser.add_argument("--without", action="append", default=[], choices=["inductor"])
    parser.add_argument("--only", action="append", choices=list(WHATS))
    args = parser.parse_args()
    unknown = [name for name in args.nets if name not in NETS]
    if unknown:
        parser.error(f"no net is called {unknown[0]!r}; there are {', '.join(NETS)}")
    return args


def table(args):
    """Prints a line for each net and what is done with it; gives the ratios."""
    print(f"{'ms':<20}{'eager':>10}{'inductor':>10}{'treadle':>10}{'ratio':>8}{'differs':>10}")
    ratios = []
    for name in args.nets or NETS:
        for what, medians, differs in measure(name, args):
            *rivals, treadle = (medians.get(backend) for backend in BACKENDS)
            cells = "".join(f"{t:>10.3g}" if t else f"{'-':>10}" for t in (*rivals, treadle))
            ratio = min(t for t in rivals if t) / treadle if treadle else math.nan
            ratios.append(ratio)  # nan where Treadle can't run it
            print(f"{name + ' ' + what:<20}{cells}{ratio:>8.3g}{differs:>10.1e}", flush=True)
    return ratios


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache  # for the processes
        ratios = table(args)
    slower = sum(not r >= 1 for r in ratios)
    mean = statistics.geometric_mean(ratios)
    print(f"geometric mean {mean:.3g}x, {slower} of {len(ratios)} slower")
    sys.exit(slower > 0)


if __name__ == "__main__":
    main()
