"""Writes gauge.pt2, a program of PyTorch that gauge.cpp calls: python gauge.py, with PyTorch."""

import torch


class Gauge(torch.nn.Module):
    """Smooths the values of a gauge, chunk by chunk; its state is the end of the last chunk."""

    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.zeros(()))

    def forward(self, samples):
        def step(level, sample):
            level = level + 0.5 * (sample - level)
            return level, level.clone()

        level, smooth = torch._higher_order_ops.scan(step, self.level, samples)
        self.level.copy_(level)
        return {"smooth": smooth, "is_high": smooth.amax() > 8}


count = torch.export.Dim("count", min=2)
program = torch.export.export(Gauge(), (torch.ones(4),), dynamic_shapes=({0: count},))
torch.export.save(program, "gauge.pt2")
