"""Small programs: changes in place, results and arguments that share memory, empty tensors. Each is
compiled, imported and saved, and computes what eager PyTorch does."""

import copy

import pytest
import torch
import treadle.torch
from torch.testing import assert_close
from torch.utils._pytree import tree_leaves

import treadle


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, Y = random(5), random(5, seed=1)


def masked_updates(x, y):
    a, b, c, d = x.clone(), x.clone(), torch.zeros(5, 2), torch.zeros(5, 2)
    a[x > 0] = y[x > 0] * 2
    b[x > 0] += 3
    c[x > 0, 1] = y[x > 0]
    d[x > 0] = torch.tensor([1.0, 2.0])
    return a, b, c, d


def out_arguments(x, y):
    whole, a = torch.zeros(2, 5), torch.zeros(5)
    torch.add(x, y, out=whole[0])
    b = torch.mul(x, 2, out=a)
    b += 1
    torch.sub(a, y, alpha=2, out=a)
    return whole, a, b * 1


def filled_from_the_end(x, y):
    places = torch.tensor([0, -1, 1])
    return x.index_fill(0, places, 2.0), torch.outer(x, y).index_fill(1, places[1], 3)


def places_of_truth(x, y):
    return torch.where(torch.outer(x, y) > 0)


def negated_views(x, y):
    z = torch.complex(x, y).conj()
    return z.imag * 1, torch._neg_view(x) * 2


PROGRAMS = [masked_updates, out_arguments, filled_from_the_end, places_of_truth, negated_views]


class Module(torch.nn.Module):
    def __init__(self, program):
        super().__init__()
        self.program = program

    def forward(self, x, y):
        return self.program(x, y)


def from_file(program, path):
    torch.export.save(torch.export.export(Module(program), (X, Y)), path)
    found = treadle.load(path).signatures["serving_default"](X, Y)
    return [torch.as_tensor(value) for value in found.values()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_compute_what_eager_does(program, tmp_path):
    expected = list(program(X, Y))
    assert_close(list(torch.compile(program, backend="treadle")(X, Y)), expected)
    assert_close(list(treadle.from_fx(program, [X, Y])(X, Y)), expected)
    assert_close(from_file(program, tmp_path / "program.pt2"), expected)


def on_lists(x, y):
    lists, others = [x * 1, y[:2] * 1], [y, x[:2]]
    return [
        *torch._foreach_add(lists, others, alpha=-0.1),
        *torch._foreach_mul(lists, [2.0, 3.0]),
        *torch._foreach_addcdiv(lists, others, [t.abs() + 1 for t in lists], 0.5),
        *torch._foreach_addcmul(lists, others, others, [1.0, 2.0]),
        *torch._foreach_lerp(lists, others, 0.25),
        *torch._foreach_norm(lists),
        *torch._foreach_maximum(lists, 0.1),
        *torch._foreach_neg(lists),
    ]


def test_ops_on_lists_are_taken_apart():
    assert_close(treadle.from_fx(on_lists, [X, Y])(X, Y), on_lists(X, Y))


@pytest.mark.parametrize("fn", [torch.tanh, torch.sigmoid, torch.relu], ids=lambda f: f.__name__)
def test_jacobians_of_activations(fn):
    jacobian = torch.func.jacrev(fn)
    assert_close(torch.compile(jacobian, backend="treadle")(X), jacobian(X))


def test_empty_results_have_pytorchs_strides():
    def empty(x):
        return x @ torch.ones(3, 4), torch.cat([x, x]), x.cumsum(0), x.t().relu()

    x = torch.zeros(0, 3)
    for run in (torch.compile(empty, backend="treadle"), treadle.from_fx(empty, [x])):
        for found, expected in zip(run(x), empty(x), strict=True):
            assert_close(found, expected, check_stride=True)


def test_results_of_no_elements_can_be_resized():
    def into_a_new_one(x):
        result = torch.empty(0)
        torch.sin(x, out=result)
        return result

    assert_close(torch.compile(into_a_new_one, backend="treadle")(X), X.sin())


class Aliased(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("whole", torch.arange(6.0).view(2, 3))
        self.register_buffer("row", self.whole[0])

    def forward(self, x):
        self.whole.add_(x)
        return self.row * 1


def test_files_refuse_buffers_that_share_what_is_changed(tmp_path):
    exported = torch.export.export(Aliased(), (torch.ones(2, 3),))
    message = "'whole' and 'row' share memory, but the program changes 'whole'"
    with pytest.raises(treadle.UnimplementedError, match=message):
        treadle.torch.save(exported, tmp_path / "x.tfg")
    torch.export.save(exported, tmp_path / "x.pt2")
    with pytest.raises(treadle.UnimplementedError, match=message):
        treadle.load(tmp_path / "x.pt2")


def test_views_and_arguments_share_memory_as_in_eager_mode():
    def shared(x):
        y = x * 2
        x.t()[0].fill_(3)
        return y, y.t(), y[1:], x[1:]

    x = [random(4, 5), random(4, 5)]
    found, expected = torch.compile(shared, backend="treadle")(x[0]), shared(x[1])
    assert_close((found, x[0]), (expected, x[1]))

    def kinds(results, argument):
        memory = [t.untyped_storage().data_ptr() for t in (*results, argument)]
        return [memory.index(m) for m in memory]

    assert kinds(found, x[0]) == kinds(expected, x[1])
    assert len(tree_leaves(found)) == 4


class WithoutGradients(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(5, 5)
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x, y):
        a = self.linear(x)
        with torch.no_grad():
            b = self.linear(a).relu()
            c = torch.cond(b.sum() > 0, lambda t: t * 2, lambda t: t - 1, (b,))
            with torch.enable_grad():
                d = b * y
        with torch.no_grad():
            self.calls.add_(1)
        return a + b, c, d, self.calls * 1


@pytest.mark.parametrize("name", ["program.pt2", "program.tfg"])
def test_parts_without_gradients(tmp_path, name):
    module = WithoutGradients()
    expected = copy.deepcopy(module)(X, Y)
    exported = torch.export.export(module, (X, Y))
    save = torch.export.save if name.endswith("pt2") else treadle.torch.save
    save(exported, tmp_path / name)
    found = treadle.load(tmp_path / name).signatures["serving_default"](X, Y)
    assert_close([torch.as_tensor(value) for value in found.values()], list(expected))


ALIASES = {
    "type_as": lambda x: x.type_as(x),
    "atleast_2d": torch.atleast_2d,
    "broadcast_tensors": lambda x: torch.broadcast_tensors(x, x[:1])[0],
    "meshgrid": lambda x: torch.meshgrid(x[0], indexing="ij")[0][None],
    "sum_to_size": lambda x: x.sum_to_size(3, 4),
    "fill_diagonal": lambda x: x.fill_diagonal_(7),
}


@pytest.mark.parametrize("name", ALIASES)
def test_results_that_are_arguments_are_changed_with_them(name):
    def program(x):
        y = ALIASES[name](x)
        y += 1
        y[0] = 5
        return y * 1, x * 2

    given = [random(3, 4) for _ in range(3)]
    expected = program(given[0])
    assert_close(treadle.from_fx(program, [given[1].clone()])(given[1]), list(expected))
    assert_close(torch.compile(program, backend="treadle")(given[2]), expected)
    assert_close(given[1:], [given[0]] * 2)


def norm_of_own_statistics(x, y):
    mean, var = torch.zeros(1), torch.ones(1)
    rows = torch.outer(x, y)[:, None]
    once = torch.nn.functional.batch_norm(rows, mean, var, training=True, momentum=0.3)
    return once, torch.nn.functional.batch_norm(rows, mean, var), mean, var


def product_into_a_part(x, y):
    whole = torch.zeros(2, 5)
    torch.matmul(x[None], y[:, None], out=whole[1:, :1])
    return [whole]


@pytest.mark.parametrize("program", [norm_of_own_statistics, product_into_a_part])
def test_ops_that_are_made_of_others(program):
    assert_close(list(treadle.from_fx(program, [X, Y])(X, Y)), list(program(X, Y)))


class NormTwice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(self.norm(x) * 2 + 1), self.norm.running_mean * 1


def test_a_norm_that_is_called_twice_updates_its_statistics_twice():
    ours, x = NormTwice(), random(4, 5)
    theirs = copy.deepcopy(ours)
    assert_close(treadle.from_fx(ours, [x])(x), theirs(x))
    assert_close(ours.state_dict(), theirs.state_dict())
