"""Sizes that may change: from_fx(dynamic=True) gives what PyTorch gives for all of them."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import treadle.torch
from torch import nn

import treadle

torch.manual_seed(0)
norm, linear, attention = nn.LayerNorm(4), nn.Linear(4, 3), nn.MultiheadAttention(4, 2)

# Functions of a matrix with four columns.
FUNCTIONS = {
    "variances": lambda x: torch.stack(
        [*torch.std_mean(x, 0, correction=1.5), x.var(0)]
    ).nan_to_num(7),
    "split": lambda x: torch.stack([p.sum() for p in x.split(2)]),
    "chunk": lambda x: [p.sum(0) for p in x.chunk(3)],
    "tensor_split": lambda x: [p.sum(0) for p in x.tensor_split(3)],
    "unbind": lambda x: sum(x.unbind(0)),
    "linspace": lambda x: torch.linspace(0, 1, x.shape[0]),
    "arange": lambda x: torch.arange(x.shape[0]) * 2,
    "full": lambda x: torch.full((x.shape[0], 2), 7.0),
    "eye": lambda x: torch.eye(x.shape[0]),
    "ones": lambda x: x.new_ones(x.shape[0] + 1),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "attention scale": lambda x: F.scaled_dot_product_attention(
        x.t()[None], x.t()[None], x.t()[None]
    ),
    "multi head": lambda x: attention(x, x, x)[0],
    "last": lambda x: x[x.shape[0] - 1],
    "reverse": lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)],
    "pad": lambda x: F.pad(x, (1, 2, 3, 0)),
    "pad to": lambda x: F.pad(x, (0, 0, 0, 9 - x.shape[0])),
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2),
    "view": lambda x: x.view(-1, 2),
    "view halves": lambda x: x.view(2, -1),
    "reshape": lambda x: x.reshape(x.shape[0], 2, -1).transpose(1, 2).reshape(x.shape[0], -1),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 0),
    "one_hot": lambda x: F.one_hot(torch.arange(x.shape[0]), 9),
    "cat": lambda x: torch.cat([x, x[:1]]),
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "unfold": lambda x: x.unfold(0, 1, 1),
    "avg_pool": lambda x: F.avg_pool2d(x[None], (1, 2)),
    "max_pool": lambda x: F.max_pool2d(x[None], (1, 2)),
    "adaptive one": lambda x: F.adaptive_avg_pool2d(x[None], 1),
    "mean": lambda x: x.mean(0) / x.shape[0],
    "var": lambda x: x.var(1) * x.shape[0] ** 0.5,
    "squeeze": lambda x: x[:, :1].squeeze(0),
    "squeeze all": lambda x: x[:, :1].squeeze(),
    "branch": lambda x: x * 2 if x.shape[0] > 3 else x * 3,
    "branch one": lambda x: x * 2 if x.shape[0] == 1 else x * 3,
    "loop": lambda x: sum(x[i] * i for i in range(x.shape[0])),
    "layers": lambda x: linear(norm(x)).softmax(0),
    "tril": lambda x: torch.ones(x.shape[0], x.shape[0]).tril() @ x,
    "flatten": lambda x: x[None].flatten(1),
    "cumsum": lambda x: x.cumsum(0).roll(1, 0),
    "topk": lambda x: x.topk(1, 0)[0],
    "broadcast": lambda x: x + torch.ones(x.shape[0], 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_size(name):
    fn = FUNCTIONS[name]
    program = treadle.from_fx(fn, [torch.randn(4, 4)], dynamic=True)
    for rows in (4, 3, 6, 1, 2):
        x = torch.randn(rows, 4)
        with torch.no_grad():
            torch.testing.assert_close(program(x), fn(x))


def test_sizes_of_several_arguments():
    program = treadle.from_fx(torch.add, [torch.ones(3, 3), torch.ones(3, 3)], dynamic=True)
    for one, other in (((2, 5), (2, 5)), ((1, 5), (4, 5)), ((5,), (5,)), ((2, 1), (1, 3))):
        x, y = torch.randn(one), torch.randn(other)
        if len(one) == 2:
            torch.testing.assert_close(program(x, y), x + y)
    product = treadle.from_fx(torch.mm, [torch.ones(3, 3), torch.ones(3, 3)], dynamic=True)
    torch.testing.assert_close(product(torch.ones(2, 5), torch.ones(5, 4)), torch.full((2, 4), 5.0))


def test_sizes_that_python_rounds():
    """Ranges from the end to the beginning, as XLNet has them, and quotients."""

    def fn(x):
        rows = x.shape[0]
        return torch.arange(rows, -rows, -1.0), torch.arange(0, rows, 0.3), x.new_zeros(rows // 2)

    torch._dynamo.reset()
    compiled = torch.compile(fn, backend="treadle", dynamic=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "PyTorch runs this graph")
        for rows in (3, 8, 5):
            torch.testing.assert_close(compiled(torch.ones(rows, 2)), fn(torch.ones(rows, 2)))


def test_a_graph_for_each_size_ends_somewhere():
    program = treadle.from_fx(FUNCTIONS["unbind"], [torch.ones(2, 4)], dynamic=True)
    with pytest.raises(treadle.InvalidArgumentError, match="some sizes only, and has 8 graphs"):
        for rows in range(1, 12):
            program(torch.ones(rows, 4))


def test_a_frozen_program_has_one_graph():
    program = treadle.from_fx(FUNCTIONS["split"], [torch.ones(4, 4)], dynamic=True, freeze=True)
    assert program(torch.ones(3, 4)).tolist() == [8, 4]
    with pytest.raises(treadle.InvalidArgumentError, match=r"some sizes only.*x\.shape\[0\]"):
        program(torch.ones(6, 4))


# ---- conditions of exported programs


class Cut(torch.nn.Module):
    def forward(self, x, d, *, k):
        less = x * 2 if x.shape[0] > 4 else x / 2
        return less, torch.split(x, 2), d["a"][0][:4] + 1, k.sum() + x.sum()


class Sum(torch.nn.Module):
    def forward(self, x, y):
        return x + y


def cut_program():
    auto, more = torch.export.Dim.AUTO, torch.export.Dim("more", min=4, max=50)
    sizes = {"x": {0: auto}, "d": {"a": [{0: more}]}, "k": {0: auto}}
    given = (torch.ones(6, 3), {"a": [torch.ones(8)]})
    return torch.export.export(Cut(), given, {"k": torch.ones(7)}, dynamic_shapes=sizes)


def of_file(write, exported, path):
    file = path / ("net.tfg" if write is treadle.torch.save else "net.pt2")
    write(exported, file)
    serve = treadle.load(file).signatures["serving_default"]
    return lambda x, d, *, k: serve(x=x.numpy(), d_a_0=d["a"][0].numpy(), k=k.numpy())


@pytest.mark.parametrize("way", ["from_fx", "save", "pt2"])
def test_sizes_that_a_program_is_not_for_are_refused(way, tmp_path):
    exported = cut_program()
    if way == "from_fx":
        call = treadle.from_fx(exported)
    else:
        write = treadle.torch.save if way == "save" else torch.export.save
        call = of_file(write, exported, tmp_path)
    assert len(call(torch.ones(5, 3), {"a": [torch.ones(4)]}, k=torch.ones(1)))
    for rows, more in ((3, 8), (7, 8), (6, 3), (6, 51)):
        with pytest.raises(treadle.InvalidArgumentError, match=r"is valid for .*shape\[0\]"):
            call(torch.ones(rows, 3), {"a": [torch.ones(more)]}, k=torch.ones(2))


def test_sizes_that_are_one_must_be_the_same(tmp_path):
    auto = {0: torch.export.Dim.AUTO}
    given = (torch.ones(4), torch.ones(4))
    exported = torch.export.export(Sum(), given, dynamic_shapes=(auto, auto))
    torch.export.save(exported, tmp_path / "net.pt2")
    serve = treadle.load(tmp_path / "net.pt2").signatures["serving_default"]
    assert serve(np.ones(7, np.float32), np.ones(7, np.float32))
    for call in (treadle.from_fx(exported), serve):
        with pytest.raises(treadle.InvalidArgumentError, match=r"x.shape\[0\] == y.shape\[0\]"):
            call(np.ones(7, np.float32), np.ones(1, np.float32))


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_windows_beyond_an_image_of_symbolic_size_are_refused(pool):
    x = torch.randn(1, 5, 5)
    with pytest.raises(treadle.UnimplementedError, match="ceil_mode"):
        treadle.from_fx(lambda x: pool(x, 2, ceil_mode=True), [x], dynamic=True)
    found = treadle.from_fx(lambda x: pool(x, 2, ceil_mode=True), [x])(x)
    torch.testing.assert_close(found, pool(x, 2, ceil_mode=True))
