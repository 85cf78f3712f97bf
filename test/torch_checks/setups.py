"""Two steps of training on two processes, in the set-up that the arguments name. Rank 0 prints what
a plan's pass has found, and sums of the weights."""

import contextlib
import json
import sys

import torch
import torch.distributed as dist
import treadle.torch
from torch.nn.parallel import DistributedDataParallel
from treadle.steps import Costs, Link

WORDS = set(sys.argv[1:])


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


def wrapped(model):
    """The model in the set-up, and compiled."""
    backend = next((b for b in ("inductor", "treadle") if b in WORDS), "eager")
    if "fsdp" in WORDS:
        from torch.distributed.fsdp import fully_shard

        for block in model:
            block.compile(backend=backend)
            fully_shard(block)
        return fully_shard(model)
    return torch.compile(DistributedDataParallel(model), backend=backend)


def backward_context():
    if "autograd" not in WORDS:
        return contextlib.nullcontext()
    return torch._dynamo.compiled_autograd._enable(torch.compile(backend="treadle"))


def main():
    dist.init_process_group("gloo")
    costs = Costs(flops=1e9, bandwidth=1e9, link=Link(2e-5, 1e8))
    made = treadle.torch.inductor_pass(costs)
    torch._inductor.config.post_grad_custom_post_pass = made
    if "python_reducer" in WORDS:
        torch._dynamo.config.optimize_ddp = "python_reducer"
    torch.manual_seed(0)
    model = torch.nn.Sequential(Block(), Block())
    parallel = wrapped(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(4, 16, generator=torch.Generator().manual_seed(dist.get_rank()))
    for _ in range(2):
        with backward_context():
            parallel(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    whole = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]
    weights = [p.detach().abs().sum().item() for p in whole]
    if dist.get_rank() == 0:
        print(json.dumps({"summary": made.summary(), "weights": weights}))
    dist.destroy_process_group()


main()
