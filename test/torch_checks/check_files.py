"""Exported programs in files: written by treadle.torch.save, and by torch.export.save."""

import functools
import io

import numpy as np
import pytest
import torch
import treadle.torch._save
from torch import nn
from torch._higher_order_ops import scan, while_loop
from torch.nn import functional
from treadle.torch._arrays import as_array

import treadle

Dim = torch.export.Dim
ROWS, LENGTH = Dim("rows", min=2, max=32), Dim("length", min=2, max=16)


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)


# ---- models


class Residual(nn.Module):
    def __init__(self, before, after, stride=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after),
            nn.ReLU(inplace=True), nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )  # fmt: skip
        self.short = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        y = self.body(x)
        y += self.short(x)
        return functional.relu(y, inplace=True)


class ResNet(nn.Module):
    """The 18 layers, with fewer channels."""

    def __init__(self, width=4):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        sizes = [width * n for n in (1, 1, 1, 2, 2, 4, 4, 8, 8)]
        pairs = zip(sizes, sizes[1:], strict=False)
        self.blocks = nn.Sequential(*(Residual(a, b, 1 + (a != b)) for a, b in pairs))
        self.head = nn.Linear(sizes[-1], 10)

    def forward(self, x):
        y = self.blocks(self.stem(x))
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(y, 1), 1))


class Squeeze(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.less, self.more = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)

    def forward(self, x):
        y = functional.relu(self.less(functional.adaptive_avg_pool2d(x, 1)))
        return x * functional.hardsigmoid(self.more(y))


def mobile_net():
    """The building blocks of MobileNetV3."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(inplace=True),
        nn.Conv2d(8, 16, 1, bias=False), nn.BatchNorm2d(16, eps=0.001, momentum=0.01),
        nn.Hardswish(inplace=True), nn.Conv2d(16, 16, 5, 2, 2, groups=16, bias=False),
        nn.BatchNorm2d(16), nn.Hardswish(inplace=True), Squeeze(16), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 12), nn.Hardswish(inplace=True), nn.Dropout(0.2, inplace=True),
        nn.Linear(12, 5),
    )  # fmt: skip


class Gpt(nn.Module):
    def __init__(self, width=16, heads=2, words=20, longest=16):
        super().__init__()
        self.heads, self.width = heads, width
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 32), nn.GELU(approximate="tanh"), nn.Linear(32, width), nn.Dropout(0.1)
        )
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        batch, length = ids.shape
        x = self.words(ids) + self.places(torch.arange(length))
        parts = self.mix(self.before(x)).split(self.width, dim=2)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(batch, length, -1))
        x = x + self.feed(self.after(x))
        return {"logits": self.head(x), "hidden": x}


class Vit(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.start = nn.Parameter(torch.randn(1, 1, width))
        layer = nn.TransformerEncoderLayer(
            width, 2, 32, batch_first=True, activation="gelu", norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.start.expand(y.shape[0], -1, -1), y], 1)
        return self.body(y)[:, 0]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)
        self.gru, self.rnn = nn.GRU(16, 5, batch_first=True), nn.RNN(5, 4, batch_first=True)

    def forward(self, ids):
        y, (h, c) = self.lstm(self.words(ids))
        z, _ = self.rnn(self.gru(y)[0])
        return functional.log_softmax(z[:, -1], -1), h, c


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x) * 2, (x,))


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, n):
        return while_loop(
            lambda i, y: (i < n.sum()) & (y.sum() < 1e6),
            lambda i, y: (i + 1, torch.tanh(self.a(y)) + x),
            (torch.tensor(0), x),
        )


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, xs, h):
        def step(c, x):
            c = torch.tanh(self.a(c) + x)
            return c, c * 2

        return scan(step, h, xs)


class Dtypes(nn.Module):
    def forward(self, i, b, h, bf, c, u):
        return {
            "i": i // 2 + b, "h": h * h + 1, "bf": torch.softmax(bf, -1), "u": u + u,
            "c": (c * torch.conj(c)).real, "w": torch.where(b, i, -i), "fft": torch.fft.fft(c),
        }  # fmt: skip


class Trees(nn.Module):
    def forward(self, a, pair, d, *, k):
        x, y = pair
        return {"sum": a + x + y, "nest": [d["p"] * k, (d["q"]["r"], x)], "n": None}


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x):
        self.count += 1
        self.cache[1:3] = self.cache[0:2] * 0.5 + x
        self.cache[0].add_(1)
        return self.cache.sum(0), self.count + 0


class Counter(nn.Module):
    """Its changes don't determine sizes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


class InPlace(nn.Module):
    """Changes of views, and of views of views."""

    def forward(self, x):
        y = x.clone()
        flat = y.view(-1)
        flat[2:5].mul_(3)
        y[0].zero_()
        turned = y.t()
        turned[0] += 10
        y.unsqueeze(0)[:, 1:].permute(0, 2, 1)[:, 2].sub_(1)
        y.clamp_(max=5)
        return y, turned, flat


class Layers(nn.Module):
    """Layers and functions that programs have whole."""

    def __init__(self):
        super().__init__()
        self.vector = nn.Conv1d(3, 6, 3, padding="same")
        self.larger = nn.ConvTranspose2d(2, 4, 3, 2, 1, 1)
        self.group, self.instance = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.rms, self.prelu = nn.RMSNorm(8), nn.PReLU()

    def forward(self, a, image, t, ids):
        y = self.instance(self.group(self.larger(image)))
        y = functional.interpolate(y, scale_factor=2, mode="bilinear")
        y = functional.avg_pool2d(functional.pad(y, (1, 1, 1, 1), mode="reflect"), 2)
        z = self.rms(self.attend(t, t, t)[0])
        activations = (
            functional.mish, functional.silu, functional.softplus, functional.elu,
            functional.hardswish, functional.relu6, functional.selu, functional.logsigmoid,
            functional.celu,
        )  # fmt: skip
        return (
            self.vector(a), self.prelu(y), torch.einsum("bij,bkj->bik", z, t),
            functional.one_hot(ids, 5), t.topk(2, -1)[0], sum(f(a) for f in activations),
            functional.glu(a, -1), functional.max_pool1d(a, 2), functional.avg_pool1d(a, 3, 1, 1),
            functional.adaptive_avg_pool1d(a, 4), functional.pixel_shuffle(y[:, :4], 2),
            functional.interpolate(y, size=(9, 7)), t.movedim(0, 2), torch.outer(t[0, 0], t[0, 1]),
            torch.meshgrid(ids, ids, indexing="ij")[1], a.repeat_interleave(2, 1), t.type_as(ids),
            functional.normalize(t, dim=-1), torch.fft.rfft(a), ids & 1, a.ravel(),
            torch.linspace(0, 1, 5), torch.arange(1, 9, 2.5),
        )  # fmt: skip


class Chosen(nn.Module):
    """Elements decide sizes."""

    def forward(self, x, counts):
        last = counts.sum().item()
        torch._check(last >= 0)
        torch._check(last < 100)
        kept = x[x > 0]
        distinct, inverse, often = torch.unique(counts, return_inverse=True, return_counts=True)
        put = x.index_put((x < 0,), kept.sum())
        return {
            "places": x.nonzero(), "kept": kept.cumsum(0) * 2, "rows": x[x.sum(1) > 0, :2],
            "zeros": torch.zeros(last) + 1, "distinct": distinct, "inverse": inverse,
            "often": often, "repeated": torch.repeat_interleave(counts), "put": put,
            "scattered": x.masked_scatter(x > 0, x.abs()), "selected": x.masked_select(x[0] > 0),
            "twice": torch.cat([kept, kept]), "bins": torch.bincount(counts),
        }  # fmt: skip


class Resized(nn.Module):
    """Images of sizes that may change, and what Python computes with sizes."""

    def forward(self, x, y):
        more, less = torch.sym_max(x.shape[0], 3), torch.sym_min(x.shape[0], 5)
        half = torch.sym_float(x.shape[0]) * 0.5
        larger = functools.partial(functional.interpolate, y, mode="bilinear")
        return {
            "zeros": torch.zeros(more), "halves": torch.ones(less) * half,
            "thirds": torch.full((2,), x.shape[0] / 3), "near": functional.interpolate(y, None, 2),
            "exact": functional.interpolate(y, (7, 20), mode="nearest-exact"),
            "by": larger(scale_factor=1.5), "to": larger(size=(7, 20)),
            "aligned": larger(scale_factor=1.5, align_corners=True),
        }  # fmt: skip


def numbers(*shape):
    return torch.randn(*shape)


# By name: the module, its arguments, and its dynamic sizes.
CASES = {
    "resnet": lambda: (ResNet().eval(), (numbers(2, 3, 32, 32),), {}, ({0: ROWS},)),
    "mobilenet": lambda: (mobile_net().eval(), (numbers(2, 3, 24, 24),), {}, ({0: ROWS},)),
    "gpt": lambda: (Gpt().eval(), (torch.randint(20, (2, 9)),), {}, ({0: ROWS, 1: LENGTH},)),
    "vit": lambda: (Vit().eval(), (numbers(2, 3, 32, 32),), {}, ({0: ROWS},)),
    "recurrent": lambda: (Recurrent().eval(), (torch.randint(20, (2, 7)),), {}, ({0: ROWS},)),
    "cond": lambda: (Branches(), (numbers(3, 4),), {}, ({0: ROWS},)),
    "while_loop": lambda: (Loop(), (numbers(3, 4), torch.tensor([2, 3])), {}, None),
    "scan": lambda: (Scan(), (numbers(5, 2, 4), numbers(2, 4)), {}, ({0: LENGTH}, {})),
    "dtypes": lambda: (
        Dtypes(),
        (
            torch.arange(-3, 3).reshape(2, 3), torch.tensor([[True, False, True]] * 2),
            numbers(2, 3).half(), numbers(2, 3).bfloat16(), torch.complex(numbers(4), numbers(4)),
            torch.arange(5, dtype=torch.uint8),
        ),
        {},
        None,
    ),
    "trees": lambda: (
        Trees(),
        (numbers(2), [numbers(2), numbers(2)], {"p": numbers(2), "q": {"r": numbers(2)}}),
        {"k": numbers(2)},
        None,
    ),
    "memory": lambda: (Memory(), (numbers(2, 3),), {}, None),
    "counter": lambda: (Counter(), (numbers(2, 3),), {}, ({0: ROWS},)),
    "batch_norm": lambda: (
        nn.Sequential(nn.Linear(5, 5), nn.BatchNorm1d(5)), (numbers(4, 5),), {}, ({0: ROWS},)
    ),
    "in_place": lambda: (InPlace(), (numbers(3, 4),), {}, None),
    "chosen": lambda: (Chosen(), (numbers(3, 4), torch.tensor([2, 0, 2, 5])), {}, ({0: ROWS}, {})),
    "resized": lambda: (
        Resized(), (numbers(6, 2), numbers(1, 2, 8, 9)), {},
        ({0: ROWS}, {2: Dim("height", min=6, max=32), 3: Dim("width", min=6, max=32)}),
    ),
    "layers": lambda: (
        Layers().eval(),
        (numbers(2, 3, 8), numbers(2, 2, 5, 5), numbers(2, 5, 8), torch.tensor([1, 0, 3])),
        {},
        None,
    ),
}  # fmt: skip


def exported(name):
    module, args, kwargs, dynamic = CASES[name]()
    program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic)
    return module, program, args, kwargs


def leaves(value):
    return [v for v in torch.utils._pytree.tree_leaves(value) if v is not None]


def require_same(path, program, module, args, kwargs):
    """Two calls, of which the second sees what the first one left."""
    call = treadle.load(path).signatures["serving_default"]
    flat = torch.utils._pytree.tree_leaves((args, kwargs))
    names = program.graph_signature.user_inputs
    given = {n: as_array(v) for n, v in zip(names, flat, strict=True)}
    keys = [k for k in treadle.torch._save._names(program) if k in call.outputs]
    for _ in range(2):
        got, wanted = call(**given), leaves(module(*args, **kwargs))
        for key, value in zip(keys, wanted, strict=True):
            value = as_array(value.detach())
            assert got[key].dtype == value.dtype and got[key].shape == value.shape, key
            tolerance = 1e-2 if value.dtype.itemsize == 2 else 1e-4
            np.testing.assert_allclose(
                *(a.astype(np.complex128) for a in (got[key], value)), tolerance, tolerance, key
            )


@pytest.mark.parametrize("name", CASES)
def test_saved_programs_compute_the_same(name, tmp_path):
    module, program, args, kwargs = exported(name)
    treadle.torch.save(program, tmp_path / "net.tfg")
    require_same(tmp_path / "net.tfg", program, module, args, kwargs)


@pytest.mark.parametrize("name", CASES)
def test_programs_of_pytorch_are_read_as_they_are(name, tmp_path):
    module, program, args, kwargs = exported(name)
    torch.export.save(program, tmp_path / "net.pt2")
    require_same(tmp_path / "net.pt2", program, module, args, kwargs)


# PyTorch can't take a loop apart that begins with a constant.
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"while_loop"}))
def test_programs_of_core_ops_are_read(name, tmp_path):
    module, program, args, kwargs = exported(name)
    program = program.run_decompositions()
    torch.export.save(program, tmp_path / "net.pt2")
    require_same(tmp_path / "net.pt2", program, module, args, kwargs)


def test_sizes_may_change_beside_what_is_changed(tmp_path):
    treadle.torch.save(exported("counter")[1], tmp_path / "net.tfg")
    assert treadle.load(tmp_path / "net.tfg").signatures["serving_default"](numbers(5, 3))
    program = treadle.from_fx(exported("counter")[1])
    assert program(numbers(7, 3)).shape == (7, 3)


def test_sizes_change(tmp_path):
    module, program, *_ = exported("gpt")
    torch.export.save(program, tmp_path / "net.pt2")
    treadle.torch.save(program, tmp_path / "net.tfg")
    for file in ("net.pt2", "net.tfg"):
        call = treadle.load(tmp_path / file).signatures["serving_default"]
        for shape in ((2, 2), (5, 16), (32, 7)):
            ids = torch.randint(20, shape)
            wanted = module(ids)["logits"].detach().numpy()
            np.testing.assert_allclose(call(ids.numpy())["logits"], wanted, 1e-4, 1e-4)


def test_sizes_depend_on_one_another(tmp_path):
    class Pairs(nn.Module):
        def forward(self, x, mode, scale=None):
            return x.reshape(-1, 2).cumsum(0) * torch.arange(x.shape[0] // 2)[:, None]

    size = Dim("size", min=2, max=20)
    shapes = {"x": {0: 2 * size}, "mode": None}
    program = torch.export.export(Pairs(), (numbers(6), "sum"), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "net.pt2")
    treadle.torch.save(program, tmp_path / "net.tfg")
    for file in ("net.pt2", "net.tfg"):
        call = treadle.load(tmp_path / file).signatures["serving_default"]
        x = numbers(10)
        wanted = Pairs()(x, "sum").numpy()
        np.testing.assert_allclose(*call(x=x.numpy()).values(), wanted, 1e-6)


def test_tensors_share_memory_and_begin_anywhere(tmp_path):
    class Parts(nn.Module):
        def __init__(self):
            super().__init__()
            whole = torch.arange(24.0).reshape(4, 6)
            self.register_buffer("a", whole[1:3, 2:])
            self.register_buffer("b", whole.t()[::2])
            self.register_buffer("c", torch.tensor([7.0]).expand(3, 2))

        def forward(self, x):
            return self.a + x, self.b + x, self.c + x

    module, x = Parts(), torch.ones(())
    program = torch.export.export(module, (x,))
    torch.export.save(program, tmp_path / "net.pt2")
    require_same(tmp_path / "net.pt2", program, module, (x,), {})


def test_random_numbers_differ_from_call_to_call(tmp_path):
    class Noise(nn.Module):
        def forward(self, x):
            return functional.dropout(x, 0.5, training=True)

    program = torch.export.export(Noise(), (torch.ones(1000),))
    torch.export.save(program, tmp_path / "net.pt2")
    treadle.torch.save(program, tmp_path / "net.tfg")
    for file in ("net.pt2", "net.tfg"):
        call = treadle.load(tmp_path / file).signatures["serving_default"]
        first, second = (next(iter(call(np.ones(1000, np.float32)).values())) for _ in range(2))
        assert set(first) == {0.0, 2.0} and 0 < abs(first - second).sum()


class Difference(nn.Module):
    def forward(self, x, b, *, a):
        return x - b + a, x + b


def test_arguments_and_results_keep_their_order(tmp_path):
    x, b, a = torch.tensor([10.0]), torch.tensor([1.0]), torch.tensor([0.5])
    program = torch.export.export(Difference(), (x, b), {"a": a})
    torch.export.save(program, tmp_path / "net.pt2")
    treadle.torch.save(program, tmp_path / "net.tfg")
    for file in ("net.pt2", "net.tfg"):
        call = treadle.load(tmp_path / file).signatures["serving_default"]
        assert list(call.inputs) == ["x", "b", "a"]
        got = call(x.numpy(), b.numpy(), a.numpy())
        assert list(got) == list(call.outputs) == treadle.torch._save._names(program)
        assert [v.item() for v in got.values()] == [9.5, 11.0]


# ---- ops that PyTorch makes of others


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, a, b):
        return self.function(a, b)


def normed(a, b):
    return torch._weight_norm(a, b[:, :1], 0), torch.norm_except_dim(a, 2, 1)


def losses(a, b):
    classes = torch.arange(4) % 6
    return [
        functional.cross_entropy(a, classes, label_smoothing=0.1),
        functional.cross_entropy(a, b.softmax(1), reduction="none"), functional.l1_loss(a, b),
        functional.nll_loss(a, classes, ignore_index=2), functional.huber_loss(a, b, delta=0.3),
        functional.binary_cross_entropy_with_logits(a, b), functional.kl_div(a, b.softmax(1)),
        functional.cosine_similarity(a, b), functional.triplet_margin_loss(a, b, a * b),
        functional.multi_margin_loss(a, classes), functional.poisson_nll_loss(a, b, full=True),
    ]  # fmt: skip


def stacks(a, b):
    return [
        torch.hstack([a[0], b[0]]), torch.vstack([a, b]), torch.dstack([a, b]), torch.kron(a, b),
        torch.column_stack([a, b[:, 0]]), torch.block_diag(a, b), torch.atleast_3d(a),
        torch.cartesian_prod(a[0], b[0]), torch.combinations(a[0]), a.rot90(), a.diag(1),
        torch.tensordot(a, b, dims=([1], [1])), torch.meshgrid(a[0], b[0], indexing="xy")[0],
        *torch.hsplit(a, 3), torch.take_along_dim(a, a.argsort(1), 1), torch.trapezoid(a),
    ]  # fmt: skip


def matrices(a, b):
    square = a @ b.T + 9 * torch.eye(4)
    return [
        torch.linalg.solve(square, a), torch.linalg.inv(square), torch.linalg.det(square),
        torch.linalg.matrix_exp(square / 20), torch.linalg.matrix_power(square, -3),
        torch.linalg.norm(a, "nuc"), torch.linalg.cond(square), torch.linalg.pinv(a),
        torch.linalg.matrix_rank(square), torch.logdet(square),
        torch.linalg.cross(a[:, :3], b[:, 3:]), torch.linalg.multi_dot([a, b.T, a]),
    ]  # fmt: skip


def transforms(a, b):
    shifted = torch.fft.fftshift(torch.fft.fftn(torch.complex(a, b)))
    window = torch.hann_window(6)
    return [
        shifted, torch.fft.irfft2(torch.fft.rfft2(a), s=(4, 6)), torch.fft.hfft(shifted, n=8),
        torch.fft.ihfft(a, n=4), torch.fft.ifft(shifted, n=9, norm="ortho"),
        torch.stft(a.reshape(-1), 6, 2, window=window, return_complex=True).abs(),
    ]  # fmt: skip


def quantiles(a, b):
    q = torch.tensor([0.1, 0.5, 0.9])
    return [
        a.quantile(q, dim=1), b.quantile(0.3), a.nanquantile(q), a.logaddexp(b), a.sinc(),
        a.logit(0.2), torch.isclose(a, b, 0.5), a.nansum(1), torch.isin(a, b[0]),
    ]  # fmt: skip


MADE = {
    "diff": lambda a, b: a.diff(prepend=b[:, :1], n=2), "weight_norm": normed, "losses": losses,
    "stacks": stacks, "matrices": matrices, "transforms": transforms, "quantiles": quantiles,
    "einsum": lambda a, b: torch.einsum("ij,kj,kl,Il->iI", a, b, b, a),
    "circular": lambda a, b: functional.pad(a[None], (2, 3), mode="circular"),
    "shared heads": lambda a, b: functional.scaled_dot_product_attention(
        a.reshape(1, 4, 3, 2), b.reshape(1, 2, 6, 2), b.reshape(1, 2, 6, 2), enable_gqa=True
    ),
    "places": lambda a, b: functional.max_pool1d(a, 3, return_indices=True),
    "adaptive places": lambda a, b: functional.adaptive_max_pool1d(a, 4, return_indices=True),
    "map": lambda a, b: torch._higher_order_ops.map(lambda row, c: row.sin() * c, a, b[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_ops_that_are_made_of_others(name, tmp_path):
    module, args = Function(MADE[name]), (numbers(4, 6), torch.rand(4, 6))
    program = torch.export.export(module, args)
    torch.export.save(program, tmp_path / "net.pt2")
    require_same(tmp_path / "net.pt2", program, module, args, {})


# ---- errors


def test_an_argument_that_a_rule_does_not_take_is_named(tmp_path):
    module = nn.Dropout2d(0.25).train()
    module.forward = lambda x: functional.alpha_dropout(x, 0.25, True)
    program = torch.export.export(module, (torch.ones(2, 3),))
    torch.export.save(program, tmp_path / "net.pt2")
    with pytest.raises(treadle.UnimplementedError, match="doesn't take p=0.25, train=True"):
        treadle.load(tmp_path / "net.pt2")


class Changes(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


def test_a_program_that_changes_its_argument_is_refused(tmp_path):
    program = torch.export.export(Changes(), (torch.ones(3),))
    torch.export.save(program, tmp_path / "net.pt2")
    with pytest.raises(treadle.UnimplementedError, match="changes its argument 'x'"):
        treadle.load(tmp_path / "net.pt2")
    with pytest.raises(treadle.UnimplementedError, match="changes its argument 'x'"):
        treadle.torch.save(program, tmp_path / "net.tfg")
    assert not (tmp_path / "net.tfg").exists()


class Factors(nn.Module):
    def forward(self, x):
        return torch.geqrf(x)


def test_an_op_without_a_rule_is_named(tmp_path):
    program = torch.export.export(Factors(), (torch.ones(3, 3),))
    torch.export.save(program, tmp_path / "net.pt2")
    with pytest.raises(treadle.UnimplementedError, match=r"aten\.geqrf\.default.*has no rule"):
        treadle.load(tmp_path / "net.pt2")
    with pytest.raises(treadle.UnimplementedError, match=r"aten\.geqrf\.default.*has no rule"):
        treadle.torch.save(program, tmp_path / "net.tfg")


def test_what_may_be_a_view_is_refused(tmp_path):
    class Open(nn.Module):
        def forward(self, x):
            y = x * 2
            flat = y.t().reshape(-1)
            y.add_(1)
            return flat

    program = torch.export.export(Open(), (torch.ones(3, 4),))
    file = io.BytesIO()
    torch.export.save(program, file)
    (tmp_path / "net.pt2").write_bytes(file.getvalue())
    with pytest.raises(treadle.UnimplementedError, match=r"may or may not be a view .*run_decomp"):
        treadle.load(tmp_path / "net.pt2")
    treadle.torch.save(program, tmp_path / "net.tfg")
    require_same(tmp_path / "net.tfg", program, Open(), (torch.ones(3, 4),), {})


def test_only_exported_programs_are_saved(tmp_path):
    with pytest.raises(TypeError, match="expected an ExportedProgram: torch.export.export"):
        treadle.torch.save(nn.Linear(2, 2), tmp_path / "net.tfg")
    program = torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),))
    with pytest.raises(treadle.InvalidArgumentError, match=r"expected a name that ends in \.tfg"):
        treadle.torch.save(program, tmp_path / "net.pb")
