"""Training steps with functional collectives, as one graph each: what bench/overlap.py measures.

Each function returns the step and its arguments; `hand` is the step as people write it so that
communication overlaps, where that takes another program.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

c10d = torch.ops._c10d_functional


def world():
    return dist.group.WORLD.group_name, dist.get_world_size(), dist.get_rank()


class ShardedBlock(torch.autograd.Function):
    """A block whose weights lie in one row, each rank with a part of it: gathered in both
    directions, as FSDP does, and computed again in the backward one."""

    @staticmethod
    def gathered(shard):
        group, size, _ = world()
        return c10d.wait_tensor(c10d.all_gather_into_tensor(shard, size, group))

    @staticmethod
    def forward(ctx, x, shard, block):
        ctx.save_for_backward(x, shard)
        ctx.block = block
        return block(x, ShardedBlock.gathered(shard))

    @staticmethod
    def backward(ctx, grad):
        x, shard = ctx.saved_tensors
        group, size, _ = world()
        with torch.enable_grad():
            inputs = [x.detach().requires_grad_(), ShardedBlock.gathered(shard).requires_grad_()]
            dx, dw = torch.autograd.grad(ctx.block(*inputs), inputs, grad)
        return dx, c10d.wait_tensor(c10d.reduce_scatter_tensor(dw, "avg", size, group)), None


def gpt(layers=4, width=128, sequence=128, batch=8, hand=False):
    _, size, rank = world()
    shapes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]

    def block(x, weights):
        rows = weights.split([a * b for a, b in shapes])
        qkv, out, up, down = (w.view(s) for w, s in zip(rows, shapes, strict=True))
        heads = (F.layer_norm(x, [width]) @ qkv).view(batch, sequence, 3, 4, -1)
        q, k, v = (h.transpose(1, 2) for h in heads.unbind(2))
        mixed = torch.softmax(q @ k.transpose(2, 3) / (width / 4) ** 0.5, -1) @ v
        x = x + mixed.transpose(1, 2).reshape(-1, width) @ out
        return x + F.gelu(F.layer_norm(x, [width]) @ up) @ down

    def step(x, target, *shards):
        own = [s.detach().requires_grad_() for s in shards]
        h = x.detach().requires_grad_()
        for shard in own:
            h = ShardedBlock.apply(h, shard, block)
        return updated(F.mse_loss(h, target), own, shards)

    x = torch.randn(batch * sequence, width, generator=torch.Generator().manual_seed(rank))
    seeded = torch.Generator().manual_seed(7)
    shards = []
    for _ in range(layers):
        rows = [torch.randn(s, generator=seeded).flatten() / s[0] ** 0.5 for s in shapes]
        shards.append(torch.cat(rows).chunk(size)[rank].clone())
    return step, [x, x.roll(1, 0), *shards]


def updated(loss, own, before, reduce=lambda grad: grad):
    grads = torch.autograd.grad(loss, own)
    grads = [reduce(grad) for grad in grads]
    return loss.detach(), *(w - 0.01 * g for w, g in zip(before, grads, strict=True))


class SumForward(torch.autograd.Function):
    """The sum over ranks: behind what each has a part of."""

    @staticmethod
    def forward(ctx, x):
        return c10d.wait_tensor(c10d.all_reduce(x, "sum", world()[0]))

    @staticmethod
    def backward(ctx, grad):
        return grad


class SumBackward(torch.autograd.Function):
    """The gradients' sum over ranks: before what each has a part of."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return c10d.wait_tensor(c10d.all_reduce(grad.contiguous(), "sum", world()[0]))


def tensor_parallel(layers=2, width=192, tokens=384, hand=False):
    """Blocks whose layers are divided among ranks, on two halves of a batch. By hand, the halves
    take turns."""
    _, size, rank = world()

    def block(x, up, down):
        return x + SumForward.apply(F.gelu(SumBackward.apply(x) @ up) @ down)

    def step(x, target, *parts):
        own = [p.detach().requires_grad_() for p in parts]
        pairs = list(zip(own[::2], own[1::2], strict=True))
        halves = list(x.chunk(2))
        if hand:
            for pair in pairs:
                halves = [block(half, *pair) for half in halves]
        else:
            for i in range(2):
                for pair in pairs:
                    halves[i] = block(halves[i], *pair)
        loss = sum(F.mse_loss(h, t) for h, t in zip(halves, target.chunk(2), strict=True))
        return updated(loss, own, parts)

    seeded = torch.Generator().manual_seed(7)
    x = torch.randn(2 * tokens, width, generator=seeded)
    parts = []
    for _ in range(layers):
        up = torch.randn(width, 4 * width, generator=seeded) / width**0.5
        down = torch.randn(4 * width, width, generator=seeded) / (4 * width) ** 0.5
        parts += [up.chunk(size, 1)[rank].contiguous(), down.chunk(size)[rank].contiguous()]
    return step, [x, x.roll(1, 0), *parts]


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.second(F.relu(self.norm(self.first(x)))) + self.short(x))


def resnet(hand=False):
    """Gradients are averaged over all ranks as they come; batch norms change their statistics."""
    _, _, rank = world()
    torch.manual_seed(7)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), Block(16, 16, 1), Block(16, 32, 2),
        Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    names = [n for n, _ in net.named_parameters()]
    state = [n for n, _ in net.named_buffers()]

    def average(grad):
        return c10d.wait_tensor(c10d.all_reduce(grad.contiguous(), "avg", world()[0]))

    def step(x, labels, *tensors):
        weights = tensors[: len(names)]
        own = [w.detach().requires_grad_() for w in weights]
        buffers = dict(zip(state, tensors[len(names) :], strict=True))
        named = dict(zip(names, own, strict=True))
        loss = F.cross_entropy(torch.func.functional_call(net, {**named, **buffers}, x), labels)
        return updated(loss, own, weights, average)

    x = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(rank))
    tensors = [p.detach().clone() for p in net.parameters()] + [b.clone() for b in net.buffers()]
    return step, [x, torch.arange(8) % 10, *tensors]


STEPS = {"gpt": gpt, "tensor parallel": tensor_parallel, "resnet": resnet}
