"""Models, forward and backward, as PyTorch computes them: imported, and by torch.compile."""

import copy
import gc
import operator

import pytest
import torch
import treadle.torch
from torch import nn
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._ordered_set import OrderedSet

import treadle

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Block(nn.Module):
    """A block of a transformer as decoders have it."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def attend(self, x):
        batch, length, width = x.shape
        parts = self.mix(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.before(x))
        return x + self.feed(self.after(x))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x):
        return torch.relu(x + self.body(x))


def conv_net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), Residual(8),
        nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1, groups=2), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


def mlp():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 10))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.last = nn.LSTM(16, 12, batch_first=True), nn.Linear(12, 10)

    def forward(self, x):
        return self.last(self.cells(x)[0][:, -1])


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 32, padding_idx=0), nn.Embedding(20, 32)
        self.blocks, self.last = nn.Sequential(Block(), Block()), nn.Linear(32, 50, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.last(self.blocks(x))


def encoder():
    return nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)


MODELS = {
    "block": (Block, lambda: torch.randn(2, 7, 32)),
    "conv_net": (conv_net, lambda: torch.randn(4, 3, 16, 16)),
    "mlp": (mlp, lambda: torch.randn(5, 16)),
    "recurrent": (Recurrent, lambda: torch.randn(3, 6, 16)),
    "words": (Words, lambda: torch.randint(0, 50, (2, 9))),
    "encoder": (encoder, lambda: torch.randn(2, 7, 32)),
}


def assert_close(found, expected, limit=1e-5):
    torch.testing.assert_close(found, expected, rtol=limit, atol=limit)


def losses(out):
    return nn.functional.cross_entropy(
        out.flatten(0, -2), torch.arange(out.flatten(0, -2).shape[0]) % out.shape[-1]
    )


@pytest.mark.parametrize("name", MODELS)
def test_imported_as_a_graph_of_modules(name):
    make, inputs = MODELS[name]
    model, x = make().eval(), inputs()
    if name in ("block", "words", "encoder", "recurrent"):
        module = torch.export.export(model, (x,)).module()
    else:
        module = torch.fx.symbolic_trace(model)
    program = treadle.from_fx(module, [x])
    with torch.no_grad():
        assert_close(program(x), model(x))
        frozen = treadle.from_fx(module, [x], freeze=True)
        assert_close(frozen(x), model(x))
    assert any(s is None for s in program.inputs.values())
    assert all(s == 0 for s in frozen.inputs.values())


@pytest.mark.parametrize("name", MODELS)
def test_forward_and_backward_imported(name):
    make, inputs = MODELS[name]
    model, x = make(), inputs()
    names = [n for n, _ in model.named_parameters()]
    state = dict(model.named_buffers())

    def step(x, *weights):
        kept = {n: b.clone() for n, b in state.items()}
        out = torch.func.functional_call(
            model, (dict(zip(names, weights, strict=True)), kept), (x,)
        )
        loss = losses(out)
        return (loss, *torch.autograd.grad(loss, weights))

    weights = [p.detach().requires_grad_() for p in model.parameters()]
    # Without oneDNN's whole layers, which have no parts.
    with torch.backends.mkldnn.flags(enabled=False):
        traced = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)(x, *weights)
    found = treadle.from_fx(traced, [x, *weights])(x, *weights)
    for got, expected in zip(found, step(x, *weights), strict=True):
        assert_close(got, expected.detach())


@pytest.mark.parametrize("name", MODELS)
def test_trained_by_torch_compile(name):
    make, inputs = MODELS[name]
    model = make()
    other = copy.deepcopy(model)
    compiled = torch.compile(other, backend="treadle")
    steps = [torch.optim.SGD(m.parameters(), 0.1) for m in (model, other)]
    for _ in range(3):
        x = inputs()
        values = []
        for called, step in zip((model, compiled), steps, strict=True):
            given = x.clone().requires_grad_(x.is_floating_point())
            loss = losses(called(given))
            step.zero_grad()
            loss.backward()
            step.step()
            values.append((loss.detach(), given.grad))
        assert_close(values[1], values[0])
    for found, expected in zip(other.parameters(), model.parameters(), strict=True):
        assert_close(found, expected)
    for found, expected in zip(other.buffers(), model.buffers(), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize("name", MODELS)
def test_without_gradients_by_torch_compile(name):
    make, inputs = MODELS[name]
    model, x = make().eval(), inputs()
    with torch.no_grad():
        assert_close(torch.compile(model, backend="treadle")(x), model(x))


@pytest.mark.parametrize("name", ["block", "conv_net", "mlp", "words"])
def test_sizes_that_change(name):
    make, inputs = MODELS[name]
    model = make()
    compiled = torch.compile(copy.deepcopy(model), backend="treadle", dynamic=True)
    counts = []
    for size in (3, 5, 8):
        x = inputs()[:1]
        x = x.repeat(size, *[1] * (x.dim() - 1))
        found, expected = compiled(x), model(x)
        assert_close(found, expected, 2e-5)
        found.sum().backward()
        counts.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    # PyTorch may look again at the first other size; no later one is new.
    assert counts[-1] == counts[1]


def test_dropout_in_training_uses_one_mask():
    model = nn.Dropout(0.5)
    compiled = torch.compile(model, backend="treadle")
    x = torch.ones(1000, requires_grad=True)
    out = compiled(x)
    out.sum().backward()
    assert_close(out.detach(), x.grad)
    assert 0.4 < (out == 0).float().mean() < 0.6


def test_tensors_of_the_module_are_used_where_they_are():
    model = nn.Linear(3, 2)
    x = torch.randn(4, 3)
    program = treadle.from_fx(torch.fx.symbolic_trace(model), [x])
    frozen = treadle.from_fx(torch.fx.symbolic_trace(model), [x], freeze=True)
    before = model(x).detach()
    with torch.no_grad():
        model.weight.mul_(2.0)
    assert_close(program(x), model(x).detach())
    assert_close(frozen(x), before)


def test_statistics_of_a_batch_are_kept():
    model = nn.Sequential(nn.BatchNorm1d(4))
    other = copy.deepcopy(model)
    x = torch.randn(6, 4)
    program = treadle.from_fx(torch.fx.symbolic_trace(model), [x])
    assert_close(program(x), other(x).detach())
    for found, expected in zip(model.buffers(), other.buffers(), strict=True):
        assert_close(found, expected)


def test_arguments_that_are_changed():
    def step(x, y):
        x.add_(y)
        return x * 2

    x, y = torch.randn(3), torch.randn(3)
    expected = (x + y) * 2
    program = treadle.from_fx(torch.fx.symbolic_trace(step), [x, y])
    given = x.clone()
    assert_close(program(given, y), expected)
    assert_close(given, x + y)


def test_results_are_tensors_of_the_callers_own():
    def step(x):
        return x.view(-1), x, x * 2, 3, None, {"a": x + 1}

    x = torch.randn(64, 64)
    flat, same, twice, three, nothing, named = treadle.from_fx(make_fx(step)(x), [x])(x)
    flat.zero_()
    twice.zero_()
    assert same is x
    assert x.abs().sum() > 0
    assert (three, nothing) == (3, None)
    assert_close(named["a"], x + 1)


def test_arrays_in_and_out():
    x = torch.randn(3, 4)
    program = treadle.from_fx(make_fx(torch.sin)(x), [x])
    found = program.run(x.numpy())
    assert isinstance(found, type(x.numpy()))
    assert_close(torch.from_numpy(found), torch.sin(x))


def test_what_is_not_contiguous():
    x = torch.randn(4, 3).t()
    program = treadle.from_fx(make_fx(torch.exp)(x), [x])
    assert_close(program(x), torch.exp(x))


def test_a_tensor_elsewhere_is_an_error():
    x = torch.randn(3)
    program = treadle.from_fx(make_fx(torch.exp)(x), [x])
    with pytest.raises(treadle.InvalidArgumentError, match="on meta; expected the CPU"):
        program(x.to("meta"))


def test_dtypes_that_numpy_lacks():
    x = torch.randn(300).to(torch.bfloat16)
    program = treadle.from_fx(make_fx(lambda x: (x * 2, x.conj()))(x), [x])
    assert_close(program(x)[0], x * 2)
    y = torch.randn(4, dtype=torch.complex64).conj()
    program = treadle.from_fx(make_fx(lambda y: y * y)(y), [y])
    assert_close(program(y), y * y)


def test_too_few_arguments_are_counted():
    x = torch.randn(3)
    program = treadle.from_fx(make_fx(torch.add)(x, x), [x, x])
    with pytest.raises(treadle.InvalidArgumentError, match="1 arguments were passed"):
        program(x)


def test_another_shape_is_an_error():
    x = torch.randn(3)
    program = treadle.from_fx(make_fx(torch.exp)(x), [x])
    with pytest.raises(treadle.InvalidArgumentError):
        program(torch.randn(4))


def test_memory_does_not_grow():
    x = torch.randn(1000, 1000)
    program = treadle.from_fx(make_fx(lambda x: x @ x + 1)(x), [x])
    program(x)
    gc.collect()
    with open("/proc/self/statm") as file:
        before = int(file.read().split()[1])
    for _ in range(50):
        program(x)
    with open("/proc/self/statm") as file:
        after = int(file.read().split()[1])
    assert (after - before) * 4096 < 40e6


# ---- conditionals and loops

while_loop, scan = torch._higher_order_ops.while_loop, torch._higher_order_ops.scan


def halved_or_sine(x):
    return torch.cond(x.sum() > 0, lambda y: (y / 2, y.sum()), lambda y: (y.sin(), y.mean()), (x,))


def nested(x):
    def inside(y):
        return torch.cond(y.mean() > 1, lambda z: z * 3, lambda z: z - 1, (y,))

    return torch.cond(x.sum() > 0, inside, torch.sin, (x,)) + x


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: self.layer(y).relu(), torch.neg, (x,))


class Repeated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        def step(i, y):
            more = torch.cond(i > 1, lambda z: z * 2, lambda z: z - 1, (y,))
            return i + 1, torch.tanh(self.layer(y)) + more

        first = torch.tensor(0)
        return while_loop(lambda i, y: (i < 20) & (y.norm() < 30), step, (first, x))


@pytest.mark.parametrize("make", [lambda: halved_or_sine, lambda: nested, Chosen])
@pytest.mark.parametrize("sign", [1, -1])
def test_conditionals(make, sign):
    model = make()
    compiled = torch.compile(model, backend="treadle")
    for factor in (0.3, 3.0):
        inputs = [(torch.rand(3, 4) * factor * sign).requires_grad_()]
        inputs.append(inputs[0].detach().clone().requires_grad_())
        outs = [fn(x) for fn, x in zip((model, compiled), inputs, strict=True)]
        outs = [out if isinstance(out, tuple) else (out,) for out in outs]
        for expected, found in zip(*outs, strict=True):
            assert_close(found, expected)
        for out in outs:
            sum(o.sum() for o in out).backward()
        assert_close(inputs[1].grad, inputs[0].grad)


def test_loops():
    model, x = Repeated(), torch.randn(3, 4)
    with torch.no_grad():
        expected = model(x)
        found = torch.compile(model, backend="treadle")(x)
        assert 0 < expected[0] < 20
        for f, e in zip(found, expected, strict=True):
            assert_close(f, e)
        program = treadle.from_fx(torch.export.export(model, (x,)).module(), [x])
        assert_close(program(x)[1], expected[1])
    ops = [node.op for node in program.graph.nodes()]
    assert "StatelessWhile" in ops
    assert "while_loop" in program.graph


class Scanned(nn.Module):
    """A recurrent layer, and sums of what it gives from the end to the beginning."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(7, 4)

    def forward(self, x):
        def step(h, x):
            h = torch.tanh(self.layer(torch.cat([h, x], 1)))
            return h, (h.sum(1), h > 0)

        last, (sums, signs) = scan(step, torch.zeros(2, 4), x)
        return last, signs, scan(lambda a, b: (a + b, a * b), torch.ones(2), sums, reverse=True)


@pytest.mark.parametrize("tier", ["interpret", "jit"])
def test_scans(tier):
    model, length = Scanned().requires_grad_(False), torch.export.Dim("length", min=2, max=50)
    exported = torch.export.export(model, (torch.randn(5, 2, 3),), dynamic_shapes=({0: length},))
    program = treadle.from_fx(exported, tier=tier)
    with torch.no_grad():
        for steps in (5, 2, 11):
            x = torch.randn(steps, 2, 3)
            expected, found = model(x), program(x)
            assert_close(found[:2], expected[:2])
            assert_close(found[2], expected[2])
        compiled = torch.compile(model, backend="treadle")
        assert_close(compiled(x)[2], expected[2])


def test_conditionals_of_sizes_that_change():
    model, x = Chosen(), torch.randn(3, 4)
    length = torch.export.Dim("length", min=2, max=50)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: length},))
    program = treadle.from_fx(exported.module(), [x], dynamic=True)
    for rows in (2, 7):
        for sign in (1, -1):
            given = torch.rand(rows, 4) * sign
            assert_close(program(given), model(given).detach())


def test_random_numbers_in_a_branch():
    def fn(x):
        return torch.cond(x.sum() > 0, lambda y: y * torch.rand_like(y), torch.neg, (x,))

    compiled = torch.compile(fn, backend="treadle")
    x = torch.ones(1000)
    with torch.no_grad():
        first, second = compiled(x), compiled(x)
        assert 0.4 < first.mean() < 0.6
        assert not torch.equal(first, second)
        assert_close(compiled(-x), x)


# ---- order


def example_of_the_ordering():
    """add, mm and mul, of which mul uses add alone."""

    def fn(a, b):
        add = a + 1
        mm = b @ b
        mul = add * 2
        return mm, mul

    a, b = torch.randn(8, 8), torch.randn(8, 8)
    return fn, make_fx(fn, tracing_mode="fake")(a, b), (a, b)


def node_of(module, name):
    return next(n for n in module.graph.nodes if n.name.startswith(name))


def control_inputs(graph, name):
    return {i for i in graph._inputs(name) if i.startswith("^")}


def test_control_deps_are_control_inputs():
    fn, module, inputs = example_of_the_ordering()
    add, mm, mul = (node_of(module, n) for n in ("add", "mm", "mul"))
    preserve_node_ordering(module.graph, {mm: OrderedSet([add]), mul: OrderedSet([mm])})
    program = treadle.from_fx(module, inputs)
    assert [program.graph[n].op for n in ("add", "mm", "mul")] == ["AddV2", "MatMul", "Mul"]
    assert control_inputs(program.graph, "mm") == {"^add"}
    assert control_inputs(program.graph, "mul") == {"^mm"}
    for found, expected in zip(program(*inputs), fn(*inputs), strict=True):
        assert_close(found, expected)


def test_all_dependencies_of_a_node_are_kept():
    def fn(a):
        return torch.sin(a), torch.cos(a), torch.exp(a), torch.softmax(a, 0)

    x = torch.randn(4, 4)
    module = make_fx(fn, tracing_mode="fake")(x)
    sin, cos, exp, softmax = (node_of(module, n) for n in ("sin", "cos", "exp", "_softmax"))
    preserve_node_ordering(
        module.graph, {exp: OrderedSet([sin, cos]), softmax: OrderedSet([exp, sin])}
    )
    program = treadle.from_fx(module, [x])
    assert control_inputs(program.graph, "exp") == {"^sin", "^cos"}
    after = [
        n for n in program.graph._node_names("")
        if n.startswith("x_softmax") and control_inputs(program.graph, n)
    ]  # fmt: skip
    assert after
    for name in after:
        assert control_inputs(program.graph, name) == {"^exp", "^sin"}
    for found, expected in zip(program(x), fn(x), strict=True):
        assert_close(found, expected)


def test_nodes_keep_their_names():
    x = torch.randn(3, 4)
    module = make_fx(lambda x: torch.relu(x.t() @ x).sum(), tracing_mode="fake")(x)
    program = treadle.from_fx(module, [x])
    named = [n.name for n in module.graph.nodes if n.op == "call_function"]
    assert named
    for name in named:
        assert name in program.graph, name
    assert program.outputs == [f"{named[-1]}:0"]


def test_a_number_is_a_result():
    def fn(x):
        return x.shape[0] + 1, x.sum()

    x = torch.randn(5)
    module = make_fx(fn, tracing_mode="symbolic")(x)
    program = treadle.from_fx(module, [x])
    assert program(torch.ones(7))[0] == 8


def test_a_module_of_a_pass_without_shapes_is_refused_by_name():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.matmul, (x, x)))
    program = treadle.from_fx(torch.fx.GraphModule({}, graph), [torch.eye(3)])
    assert_close(program(torch.eye(3) * 2), torch.eye(3) * 4)


def test_the_backend_is_found_by_name():
    assert "treadle" in torch._dynamo.list_backends()


# ---- parts that PyTorch runs


@torch.library.custom_op("treadle_checks::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_fake(torch.empty_like)
twice.register_autograd(lambda ctx, grad: grad * 2)


def test_a_graph_with_an_op_that_is_unknown_is_left_to_pytorch():
    fast = torch.compile(lambda x: twice(x + 1).relu(), backend="treadle")
    x = torch.arange(4.0)
    with pytest.warns(UserWarning, match="treadle_checks.twice.default.*has no rule"):
        assert fast(x).tolist() == [2, 4, 6, 8]
    given = x.clone().requires_grad_()
    with pytest.warns(UserWarning, match="treadle_checks.twice.default"):
        fast(given).sum().backward()
    assert given.grad.tolist() == [2] * 4


def test_sizes_that_change_are_summed_and_pooled():
    def ragged(a, b, c):
        return a.new_ones(torch.sym_sum([a.shape[0], b.shape[0], c.shape[0]]))

    fast = torch.compile(ragged, backend="treadle", dynamic=True)
    assert fast(torch.ones(3), torch.ones(4), torch.ones(5)).shape == (12,)
    pool = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)
    fast = torch.compile(pool, backend="treadle", dynamic=True)
    for shape in ((2, 3, 8, 8), (3, 3, 9, 7)):
        x = torch.randn(shape)
        ours, theirs = (x.clone().requires_grad_() for _ in range(2))
        assert_close(fast(ours), pool(theirs))
        fast(ours).square().sum().backward()
        pool(theirs).square().sum().backward()
        assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("pool", [nn.AdaptiveMaxPool2d((3, 2)), nn.AdaptiveMaxPool3d(2)])
def test_gradients_of_the_largest_of_parts(pool):
    shape = (2, 3, 5, 4) if isinstance(pool, nn.AdaptiveMaxPool2d) else (2, 3, 5, 4, 3)
    ours = torch.randn(shape, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    torch.compile(pool, backend="treadle")(ours).square().sum().backward()
    pool(theirs).square().sum().backward()
    assert_close(ours.grad, theirs.grad)


def test_a_number_in_the_state_of_a_loop():
    def count(x):
        loop = torch._higher_order_ops.while_loop
        return loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x))[1]

    assert_close(torch.compile(count, backend="treadle")(torch.ones(2)), torch.full((2,), 8.0))
