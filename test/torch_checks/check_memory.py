"""Ownership of memory: writing to an argument or a result changes the same tensors as in PyTorch;
strides of results are PyTorch's."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import treadle

TRUE, ROWS = torch.ones(3, 4, dtype=torch.bool), torch.arange(3)

# Ops that may return their argument itself.
IDENTITIES = {
    "clone": lambda x: x.clone(),
    "cat": lambda x: torch.cat([x]),
    "pow": lambda x: x**1,
    "pad": lambda x: F.pad(x, (0, 0)),
    "contiguous": lambda x: x.contiguous(),
    "twice transposed": lambda x: x.t().contiguous().t().contiguous(),
    "copied by to": lambda x: x.to(x.dtype, copy=True),
    "to": lambda x: x.to(x.dtype),
    "expand": lambda x: x.expand(3, 4),
    "reshape": lambda x: x.reshape(3, 4),
    "repeat": lambda x: x.repeat(1, 1),
    "index_select": lambda x: x.index_select(0, ROWS),
    "mul": lambda x: x * 1,
    "add": lambda x: x + 0,
    "where": lambda x: torch.where(TRUE, x, x),
    "detach": lambda x: x.detach(),
    "view": lambda x: x.view(-1),
    "t": lambda x: x.t(),
    "slice": lambda x: x[1:],
    "flip": lambda x: x.flip(0).flip(0),
    "stack": lambda x: torch.stack([x])[0],
    "sum": lambda x: x[None].sum(0),
    "dropout": lambda x: F.dropout(x, 0.5, False),
    "diagonal": lambda x: x.diagonal(),
    "split": lambda x: x.split(2, 1)[1],
    "itself": lambda x: x,
}


def uses(same):
    """Programs with something that may be its argument."""
    return (
        lambda x: (lambda y: (same(x), same(x), same(y), y, same(y)))(x + 1),
        lambda x: (same(x), x.add_(1), same(x))[::2],
    )


def effects(tensors, count):
    """For each of the first tensors: which change when somebody writes into it."""
    changed = []
    for tensor in tensors[:count]:
        before = [t.clone() for t in tensors]
        try:
            tensor.add_(100)
        except RuntimeError:  # expanded
            changed.append(None)
            continue
        changed.append([not torch.equal(*pair) for pair in zip(before, tensors, strict=True)])
    return changed


def outcome(fn, *args):
    """Values, strides, and what changes with each result."""
    found = fn(*args)
    found = list(found) if isinstance(found, tuple) else [found]
    values = [t.tolist() for t in (*found, *args)]
    return values, [t.stride() for t in found], effects([*found, *args], len(found))


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("name", IDENTITIES)
def test_compiled_functions_share_what_eager_shares(name, dynamic):
    for fn in uses(IDENTITIES[name]):
        torch._dynamo.reset()
        fast = torch.compile(fn, backend="treadle", dynamic=dynamic)
        with torch.no_grad():
            x = torch.arange(12.0).reshape(3, 4)
            assert outcome(fast, x.clone()) == outcome(fn, x.clone())


@pytest.mark.parametrize("name", IDENTITIES)
def test_programs_share_nothing_that_eager_does_not(name):
    for fn in uses(IDENTITIES[name]):
        x = torch.arange(12.0).reshape(3, 4)
        program = treadle.from_fx(fn, [x])
        found, expected = outcome(program, x.clone()), outcome(fn, x.clone())
        assert found[0] == expected[0]
        for changed, may_change in zip(found[2], expected[2], strict=True):
            assert may_change is None or not any(
                c and not may for c, may in zip(changed, may_change, strict=True)
            )


@pytest.mark.parametrize("name", sorted({*IDENTITIES} - {"pow"}))  # has no gradient there
def test_gradients_see_values_before_a_change(name):
    def step(x):
        y = x * 2
        old = IDENTITIES[name](y) * 3
        y.add_(1)
        return old.sum() + (y * y).sum(), IDENTITIES[name](x)

    def gradient(fn):
        x = torch.arange(12.0).reshape(3, 4).requires_grad_()
        total, _ = fn(x)
        total.backward()
        return total.detach(), x.grad

    torch._dynamo.reset()
    torch.testing.assert_close(gradient(torch.compile(step, backend="treadle")), gradient(step))


class Shares(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x):
        old = self.count.clone()
        self.count.add_(1)
        return x.clone(), torch.cat([x]), self.w.clone(), self.w**1, old, self.count.clone()


@pytest.mark.parametrize("kind", ["compile", "from_fx", "exported"])
def test_tensors_of_a_module_are_no_results(kind):
    module, x = Shares(), torch.zeros(2)
    given = torch.export.export(module, (x,)) if kind == "exported" else module
    is_compiled = kind == "compile"
    call = torch.compile(module, backend="treadle") if is_compiled else treadle.from_fx(given, [x])
    for calls in range(2):
        with torch.no_grad():
            results = call(x)
            assert [r.tolist() for r in results[-2:]] == [[calls] * 2, [calls + 1] * 2]
            for result in results:
                result += 5
        assert x.tolist() == [0, 0]
        assert [r.tolist() for r in results[:4]] == [[5, 5], [5, 5], [6, 6], [6, 6]]
        state = given.module() if kind == "exported" else module
        assert state.w.tolist() == [1, 1]
        assert state.count.tolist() == [calls + 1] * 2


def swap(x, y):
    old = x.clone()
    x.copy_(y)
    y.copy_(old)


@pytest.mark.parametrize("kind", ["compile", "from_fx", "arrays"])
def test_a_swap(kind):
    x, y = torch.zeros(3), torch.ones(3)
    call = torch.compile(swap, backend="treadle") if kind == "compile" else None
    call = call or treadle.from_fx(swap, [x.clone(), y.clone()])
    call(*([x.numpy(), y.numpy()] if kind == "arrays" else [x, y]))
    assert (x.tolist(), y.tolist()) == ([1, 1, 1], [0, 0, 0])


def test_arrays_that_are_returned_become_tensors():
    program = treadle.from_fx(lambda x: (x, x.clone()), [torch.zeros(3)])
    x = np.zeros(3, np.float32)
    same, copy = program(x)
    same += 1
    assert (x.tolist(), copy.tolist()) == ([1, 1, 1], [0, 0, 0])
    assert all(isinstance(a, np.ndarray) for a in program.run(torch.zeros(3)))


# Functions whose results are views, with sizes that change.
VIEWS = {
    "columns": lambda x, y: x[:, : y.shape[0]],
    "narrow": lambda x, y: x.narrow(1, 1, y.shape[0]),
    "last row": lambda x, y: x[x.shape[0] - 1],
    "chunks": lambda x, y: x.chunk(2, 1),
    "of a sum": lambda x, y: (x + 1).chunk(2, 1),
    "rows": lambda x, y: x[:1].expand(y.shape[0], 6),
    "transposed": lambda x, y: (x + 1).t(),
    "transposed and more": lambda x, y: x.t() + y.shape[0],
    "permuted": lambda x, y: (x[None] * 2).permute(2, 0, 1),
    "every second": lambda x, y: ((x * 3)[:, ::2], x[::2]),
    "strided": lambda x, y: x.as_strided((2, y.shape[0]), (1, 2), 1),
    "bits": lambda x, y: x.view(torch.int32)[:, 1:],
    "flat": lambda x, y: (x.view(-1), (x * 2).view(-1)),
    "diagonal": lambda x, y: (x @ x.t()).diagonal(),
    "changed": lambda x, y: (x[:, : y.shape[0]], x.add_(1), x.t())[::2],
}


@pytest.mark.parametrize("grad", [False, True], ids=["", "grad"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_with_sizes_that_change(name, grad):
    if grad and name in ("bits", "changed"):
        pytest.skip("has no gradient")
    torch._dynamo.reset()
    fn = VIEWS[name]
    fast = torch.compile(fn, backend="treadle")
    for columns, rows in ((3, 4), (2, 5), (4, 3)):
        # A part of something larger: views have an offset of their own.
        whole = torch.arange(7.0 * rows).reshape(-1, 1).expand(-1, 6).contiguous()
        given = [whole[1 : rows + 1].clone() if grad else whole.clone()[1 : rows + 1]]
        given += [torch.zeros(columns)]
        args = [given[0].clone().requires_grad_(grad), given[1]]
        if not grad:
            found, expected = (outcome(f, given[0].clone(), given[1].clone()) for f in (fast, fn))
            assert found == expected
            continue
        found, expected = (
            f(*args) if isinstance(f(*args), tuple) else (f(*args),) for f in (fast, fn)
        )
        for got, want in zip(found, expected, strict=True):
            assert (got.tolist(), got.stride()) == (want.tolist(), want.stride())
            assert got.storage_offset() == want.storage_offset()
            gradients = [
                torch.autograd.grad(t.sum(), args[0], retain_graph=True)[0] for t in (got, want)
            ]
            torch.testing.assert_close(*gradients)


# Results that lie in memory in another order than their dimensions'.
ORDERS = {
    "transposed": lambda x: (x + 1).transpose(1, 2),
    "elementwise": lambda x: x.transpose(1, 3) * 2,
    "channels last": lambda x: x.to(memory_format=torch.channels_last) * 2,
    "a convolution": lambda x: F.conv2d(
        x.to(memory_format=torch.channels_last), torch.ones(5, 3, 1, 1)
    ),
    "one channel": lambda x: x[:, :1].to(memory_format=torch.channels_last) + 1,
    "an argument": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
}


@pytest.mark.parametrize("kind", ["compile", "dynamic", "from_fx", "from_fx dynamic"])
@pytest.mark.parametrize("name", ORDERS)
def test_strides_of_dense_results(name, kind):
    if name == "one channel" and "dynamic" in kind:
        pytest.skip("the stride of a dimension of one element tells nothing")
    torch._dynamo.reset()
    fn, x = ORDERS[name], torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    if kind.startswith("from_fx"):
        call = treadle.from_fx(fn, [x], dynamic="dynamic" in kind)
    else:
        call = torch.compile(fn, backend="treadle", dynamic=kind == "dynamic")
    for given in (x, torch.cat([x, x])) if "dynamic" in kind else (x,):
        found, expected = call(given), fn(given)
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()


def test_arguments_that_share_memory_are_refused():
    def add(a, b):
        a.add_(100)
        return b * 1

    x = torch.zeros(4)
    program = treadle.from_fx(add, [x.clone(), x[1:].clone()])
    for share in (x[1:], x[:3]):
        with pytest.raises(treadle.InvalidArgumentError, match="'a' and 'b' share memory"):
            program(x, share)
    assert x.tolist() == [0] * 4
    assert program(x, x[1:].clone()).tolist() == [0] * 3
    # Columns of one tensor lie between each other.
    columns = torch.zeros(4, 2)
    program = treadle.from_fx(add, [torch.zeros(4), torch.zeros(4)])
    assert program(columns[:, 0], columns[:, 1]).tolist() == [0] * 4
    assert columns.tolist() == [[100, 0]] * 4
    # Tensors that nothing changes may share memory.
    assert treadle.from_fx(lambda a, b: a + b, [x, x])(x, x).tolist() == [200] * 4


def test_an_argument_that_is_a_buffer_is_refused():
    module = Shares()
    program = treadle.from_fx(module, [torch.zeros(2)])
    with pytest.raises(treadle.InvalidArgumentError, match="'p_count' and 'x' share memory"):
        program(module.count)


def filled(x, mask):
    return x + torch.zeros_like(mask, dtype=torch.float32).masked_fill_(mask, -3.0)


def counted(x, count):
    count.add_(1)
    return x * count


def assigned(x, kept):
    kept[:1].copy_(x[:1])
    return kept * 2


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize(
    "fn, captured",
    [
        (filled, torch.tensor([True, False])),
        (counted, torch.zeros(2)),
        (assigned, torch.ones(2)),
    ],
    ids=["filled", "counted", "assigned"],
)
def test_captured_tensors_that_are_changed(fn, captured, dynamic):
    own, other, x = captured.clone(), captured.clone(), torch.arange(2.0) + 4
    program = treadle.from_fx(lambda x: fn(x, own), [x], dynamic=dynamic)
    assert own.tolist() == captured.tolist()
    for _ in range(2):
        assert program(x).tolist() == fn(x, other).tolist()
        assert own.tolist() == other.tolist()


def test_a_captured_mask_of_attention():
    layer = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    x, mask = torch.randn(2, 3, 4), torch.tensor([[False, False, True]] * 2)

    def attend(x):
        return layer(x, x, x, key_padding_mask=mask, need_weights=False)[0]

    torch.testing.assert_close(treadle.from_fx(attend, [x])(x), attend(x).detach())
