"""State that modules and programs change: buffers that bodies of conditionals and loops change, and
tensors that modules bind to new ones. Also functions that are mapped over rows."""

import pytest
import torch
import treadle.torch
from torch import nn
from torch._higher_order_ops import associative_scan, while_loop
from torch.utils import _pytree as pytree

import treadle


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))
        self.register_buffer("m", torch.ones(2, 3))


class OneBranch(Stateful):
    def forward(self, x):
        def add(x):
            self.n.add_(1)
            return x * 2

        return torch.cond(x.sum() > 0, add, lambda x: x + 1, (x,)), self.n.clone()


class TwoBranches(Stateful):
    """Each branch changes other buffers, and one a view of its own."""

    def forward(self, x):
        self.m.mul_(2)

        def add(x):
            self.n.add_(1)
            self.m.mul_(3)
            return x * 2, x + self.m

        def copy_row(x):
            self.m[0].copy_(x)
            return x + 1, self.m * 2

        first, second = torch.cond(x.sum() > 0, add, copy_row, (x,))
        self.n.mul_(5)
        return first, second, self.n + 1, self.m[0] + 1


class OfView(Stateful):
    def forward(self, x):
        row = self.m[1]

        def add(x):
            row.add_(x)
            return x * 2

        return torch.cond(x.sum() > 0, add, lambda x: x + 1, (x,)), self.m.clone()


class Nested(Stateful):
    def forward(self, x):
        def add(y):
            self.n.add_(1)
            return y * 2

        def body(i, y):
            return i + 1, torch.cond(y.sum() > 8, add, lambda y: y + 1, (y,))

        _, y = while_loop(lambda i, y: i < 3, body, (torch.tensor(0), x))
        return y, self.n.clone()


class InLoop(Stateful):
    """The condition changes a buffer, and the body this one and another."""

    def forward(self, x):
        def condition(i, y):
            self.n.add_(10)
            return self.n[0] < 35

        def body(i, y):
            self.n.add_(1)
            self.m[1].add_(self.n)
            return i + 1, y * 2 + self.n

        _, y = while_loop(condition, body, (torch.tensor(0), x))
        return y, self.n.clone(), self.m + 1


BODIES = [OneBranch, TwoBranches, OfView, Nested, InLoop]
INPUTS = [torch.ones(3), torch.full([3], -2.0), torch.full([3], 4.0)]


def from_fx(exported, path):
    call, state = treadle.from_fx(exported), exported.state_dict
    return lambda x: ([*call(x)], state)


def from_file(write):
    def load(exported, path):
        file = path / ("net.tfg" if write is treadle.torch.save else "net.pt2")
        write(exported, file)
        model = treadle.load(file)
        call = model.signatures["serving_default"]
        return lambda x: ([*map(torch.as_tensor, call(x.numpy()).values())], model.variables())

    return load


WAYS = {
    "from_fx": from_fx,
    "save": from_file(treadle.torch.save),
    "pt2": from_file(torch.export.save),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", BODIES)
def test_bodies_change_buffers(kind, way, tmp_path):
    with torch.no_grad():
        eager = kind()
        call = WAYS[way](torch.export.export(kind(), (INPUTS[0],)), tmp_path)
        for x in INPUTS:
            wanted = eager(x.clone())
            found, state = call(x.clone())
            torch.testing.assert_close(found, [*wanted])
            for name, value in state.items():
                torch.testing.assert_close(torch.as_tensor(value), getattr(eager, name))


class OfArgument(nn.Module):
    def forward(self, x):
        def add(x):
            x.add_(1)
            return x * 2

        return torch.cond(x.sum() > 0, add, lambda x: x + 1, (x,))


def test_a_body_changes_an_argument(tmp_path):
    with torch.no_grad():
        exported = torch.export.export(OfArgument(), (torch.ones(3),))
        x = torch.ones(3)
        assert treadle.from_fx(exported)(x).tolist() == [4, 4, 4] and x.tolist() == [2, 2, 2]
        with pytest.raises(treadle.UnimplementedError, match="changes its argument 'x'"):
            treadle.torch.save(exported, tmp_path / "net.tfg")


# ---- tensors that a module binds to new ones


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))
        self.register_buffer("calls", torch.tensor(0))
        self.plain = torch.ones(3)
        self.last = None

    def forward(self, x):
        old = self.n
        self.calls = self.calls + 1
        self.n = self.n + x
        self.plain = self.plain * 2
        self.last = self.n * self.plain
        return self.last + old, old


class Shared(nn.Module):
    """One module in two places."""

    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.again = nn.Sequential(self.cell)

    def forward(self, x):
        return self.cell(x), self.again(x)


@pytest.mark.parametrize("kind", [Cell, Shared])
def test_a_module_binds_its_tensors_anew(kind):
    eager, module, x = kind(), kind(), torch.arange(3.0)
    program = treadle.from_fx(module, [x])
    for _ in range(3):
        torch.testing.assert_close(program(x), eager(x))
        torch.testing.assert_close(module.state_dict(), eager.state_dict())
    torch.testing.assert_close(module(x), eager(x))  # none of tracing's tensors is left in it


class Grows(Stateful):
    def forward(self, x):
        self.n = torch.cat([self.n, x])
        return self.n


def test_a_tensor_that_grows_is_refused():
    module = Grows()
    with pytest.raises(treadle.InvalidArgumentError, match=r"'n' .* expected float32\[3\]"):
        treadle.from_fx(module, [torch.ones(3)])
    assert module.n.tolist() == [0, 0, 0]


# ---- rows


def recurrence(left, right):
    return left[0] * right[0], left[1] * right[0] + right[1]


MAPPED = {
    "rows": lambda a, b: torch.vmap(lambda x, y: (x * y).cumsum(0))(a, b),
    "columns": lambda a, b: torch.vmap(lambda x: x.sum() + b.flatten()[0], in_dims=1)(a),
    "outer": lambda a, b: torch.vmap(lambda x, y: x.outer(y), (0, None))(a, b[0]),
    "nested": lambda a, b: torch.vmap(lambda x: torch.vmap(lambda y: (x * y).sum())(b))(a),
    "in place": lambda a, b: torch.vmap(lambda x, y: x.clone().add_(1).mul_(y))(a, b),
    "products": lambda a, b: torch.vmap(lambda x: (x[None] @ b.t()).softmax(-1)[0])(a),
    "scan": lambda a, b: associative_scan(recurrence, (a, b), 0, combine_mode="generic"),
}


class Function(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, a, b):
        return self.fn(a, b)


@pytest.mark.parametrize("rows", [None, torch.export.Dim("rows", min=2, max=9)])
@pytest.mark.parametrize("name", MAPPED)
def test_files_with_functions_of_rows(name, rows, tmp_path):
    torch.manual_seed(0)
    if rows is not None and name == "scan":
        pytest.skip("PyTorch writes out its steps, for one length")
    module, inputs = Function(MAPPED[name]), (torch.rand(4, 6), torch.rand(4, 6))
    sizes = rows and ({0: rows}, {0: rows})
    exported = torch.export.export(module, inputs, dynamic_shapes=sizes)
    torch.export.save(exported, tmp_path / "net.pt2")
    call = treadle.load(tmp_path / "net.pt2").signatures["serving_default"]
    for count in (4, 7) if rows is not None else (4,):
        a, b = torch.rand(count, 6), torch.rand(count, 6)
        found = [*map(torch.as_tensor, call(a.numpy(), b.numpy()).values())]
        torch.testing.assert_close(found, pytree.tree_leaves(module(a, b)))
