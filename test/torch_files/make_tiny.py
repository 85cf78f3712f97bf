"""Writes tiny.pt2, the program that is read without PyTorch in tests:

cd test/torch_files && python - < make_tiny.py
"""

import torch
from torch._higher_order_ops import scan, while_loop


class Tiny(torch.nn.Module):
    """A bit of each: layers, control flow, changes in place, dtypes, and what it remembers."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([[1.0, -1.0, 0.5], [2.0, 0.0, -3.0]]))
        self.bias = torch.nn.Parameter(torch.tensor([0.5, -0.25]))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("seen", torch.zeros(3, 2), persistent=False)
        self.half = torch.tensor([0.5, 0.25], dtype=torch.bfloat16)

    def forward(self, x, options, *, steps):
        self.count += 1
        y = torch.nn.functional.linear(x, self.weight, self.bias)
        y.relu_()
        self.seen[1:] = self.seen[:2].clone()
        self.seen[0].copy_(y.sum(0))
        doubled = torch.cond(y.sum() > options["limit"], lambda v: v * 2, lambda v: v - 1, (y,))
        _, grown = while_loop(
            lambda i, v: i < steps,
            lambda i, v: (i + 1, v + y),
            (torch.zeros_like(steps), y.clone()),
        )
        total, sums = scan(lambda s, row: (s + row, s * row), torch.zeros_like(self.bias), y)
        return {
            "doubled": doubled,
            "loops": (grown, sums),
            "total": total,
            "seen": self.seen.sum(0),
            "calls": self.count.clone(),
            "half": self.half * 2,
            "turned": torch.where(options["on"], x, -x).t(),
            "rows": x.shape[0] * 2,
        }


rows = torch.export.Dim("rows", min=2, max=64)
program = torch.export.export(
    Tiny(),
    (torch.ones(4, 3), {"limit": torch.tensor(1.0), "on": torch.tensor([True, False, True])}),
    {"steps": torch.tensor(2)},
    dynamic_shapes={"x": {0: rows}, "options": {"limit": {}, "on": {}}, "steps": {}},
)
torch.export.save(program, "tiny.pt2")
