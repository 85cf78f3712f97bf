"""The parts that PyTorch runs in a graph that Treadle can't import as a whole."""

import pytest
import torch
import treadle.torch  # noqa: F401
from torch import nn
from torch.testing import assert_close


@torch.library.custom_op("treadle_pieces::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_fake(torch.empty_like)


@torch.library.custom_op("treadle_pieces::split", mutates_args=())
def split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x * 2, x + 1


split.register_fake(lambda x: (torch.empty_like(x), torch.empty_like(x)))


@torch.library.custom_op("treadle_pieces::increment", mutates_args={"x"})
def increment(x: torch.Tensor) -> None:
    x.add_(1)


increment.register_fake(lambda x: None)


class TwiceBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        return twice(grad.cos())


def two_results(x):
    first, second = split(x.sin())
    return first * 2, second @ second, twice(x).t()[1:]


def changes(x):
    increment(x.t()[1:])
    return (x + 1).exp(), twice(x)[1:]


ON_BOTH = {
    "results": (two_results, "'split', 'twice'"),
    "changes": (changes, "'auto_functionalized_v2', 'twice'"),
    "branch": (lambda x: torch.cond(x.sum() > 0, twice, torch.sin, (x,)) * 3, "'cond'"),
    "sizes": (lambda x: twice(x.repeat(2, 1)).view(-1)[: x.shape[0]] * x.shape[1], "'twice'"),
    "factors": (
        lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(x.diag() + x @ x.T), x),
        "'linalg_lu_factor_ex', 'linalg_lu_solve'",
    ),
}


@pytest.mark.parametrize("case", ON_BOTH)
@pytest.mark.parametrize("dynamic", [False, True])
def test_pytorch_runs_only_what_treadle_cannot(case, dynamic):
    program, nodes = ON_BOTH[case]
    ours = torch.randn(4, 4)
    theirs = ours.clone()
    fast = torch.compile(program, backend="treadle", dynamic=dynamic)
    with pytest.warns(UserWarning, match=f"PyTorch runs this graph's {nodes}, since"):
        found = fast(ours)
    assert_close(found, program(theirs))
    assert_close(ours, theirs)


def test_a_backward_graph_with_an_op_that_is_unknown():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3))

    def program(x):
        return TwiceBackward.apply(net[:3](x)).square() + net[:1](x)

    ours = torch.randn(2, 3, 9, 9, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    with pytest.warns(UserWarning, match="PyTorch runs this graph's 'twice', since"):
        torch.compile(program, backend="treadle")(ours).sum().backward()
    program(theirs).sum().backward()
    assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)
