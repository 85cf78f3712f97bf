"""Edges of dtypes, NaN, infinities and masks: what eager PyTorch gives, in both tiers."""

import pathlib
import sys

import pytest
import torch
import torch.nn.functional as F
import treadle.torch

import treadle

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import torch_edges
import torch_ops

NAN, INF = float("nan"), float("inf")
TIERS = ("interpret", "jit")
ROWS = torch.tensor([[1, NAN, 7, 2, NAN, -0.0], [3, 4, -INF, 6, 6, INF], [-INF] * 6])
BYTES = torch.tensor([0, 50, 200], dtype=torch.uint8)
SMALL = torch.tensor([0, 50, -128], dtype=torch.int8)
WHOLE = torch.arange(-70, 122).reshape(2, 4, 4, 6) % 11 - 5
PLACES = torch.tensor([[0, 0, 1, 1, 2, 2]] * 3)


def check(fn, *inputs):
    expected = fn(*inputs)
    for tier in TIERS:
        found = treadle.from_fx(fn, inputs, tier=tier)(*inputs)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True)


CASES = {
    "clamp": (lambda x: (x.clamp(-3, 100), x.clamp(min=-1), x.clamp(0, 300)), BYTES),
    "clamp of int8": (lambda x: (x.clamp(-200, 100), x.clamp(max=2**40)), SMALL),
    "hardtanh": (lambda x: F.hardtanh(x, -1, 100), BYTES),
    "scalars that wrap": (lambda x: (x == 256, x > -3, x - 3, x * 300, x // 300), BYTES),
    "shifts": (lambda x, n: (x << n, x >> n), torch.tensor([-5, -5, 7, 7, 1]),
               torch.tensor([-1, 64, 100, 2, 63])),
    "shifts of bytes": (lambda x: (x << 9, x >> 9, x << 1), BYTES),
    "powers": (lambda x, n: x**n, torch.tensor([1, -1, -1, 2, 0, -3]),
               torch.tensor([-1, -3, -2, -1, -2, 3])),
    "comparisons of bfloat16": (lambda x: (x == 0.1, x >= 0.7, torch.remainder(x, 0.7), x // 0.7),
                                torch.tensor([0.1, 0.7], dtype=torch.bfloat16)),
    "nextafter": (torch.nextafter, torch.tensor([1, -1, 0, 3e38, NAN, -2], dtype=torch.bfloat16),
                  torch.tensor([2, 0, -1, INF, 1, -2], dtype=torch.bfloat16)),
    "poles": (lambda x: (torch.special.bessel_y0(x), torch.special.modified_bessel_k1(x),
                         torch.special.zeta(x + 3, x), torch.igamma(x, x + 1), torch.erfinv(x)),
              torch.tensor([0.0, -1.0, 0.5, -0.0])),
    "zeta": (torch.special.zeta, torch.tensor([255.0, 3e9, INF, 30.0, NAN, 255.0, 1.0]),
             torch.tensor([2.0, 7.0, 2.0, 3.0, 2.0, 1.0, INF])),
    "complex numbers": (lambda x, y: (
        torch.vdot(x[:2], y[:2]), torch.dist(x[:2], y[:2]), torch.dist(x[:2], y[:2], 1),
        x.isnan(), y.isinf(), y.isfinite(),
        y.nan_to_num(), x.nan_to_num(7.0), x[:2].logsumexp(0)),
        torch.tensor([1 + 2j, -3 - 0.5j, complex(NAN, 1)]),
        torch.tensor([2 - 1j, 0.5j, complex(INF, -INF)])),
    "truths": (lambda x, y, i: (x.clamp_min(y), x.clamp_max(y), *(
        x.scatter_reduce(0, i, y, how) for how in ("sum", "prod", "amax", "amin"))),
        torch.tensor([True, False, True]), torch.tensor([True, True, False]),
        torch.tensor([1, 1, 0])),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), torch.tensor([1, INF, INF, -INF, NAN, INF])),
    "tensors of rank 0": (lambda x, i: (x.index_add(0, i, x), x.index_fill(0, i, 7),
                                        x.index_copy(0, i, x + 1), x.unfold(0, 1, 1)),
                          torch.tensor(2.5), torch.tensor(0)),
    "logarithms": (lambda x: (torch.log2(x), torch.log10(x)), torch.tensor([8.0, 1000.0, 1e10])),
    "hypot": (torch.hypot, torch.tensor([INF, INF, NAN, 3]), torch.tensor([NAN, INF, 1, 4])),
    "floor division": (lambda x, y: x // y, torch.tensor([1.0, -1.0, -0.0, INF, 5.0]),
                       torch.tensor([-INF, 5.0, 1.0, 2.0, 0.0])),
    "argmax": (lambda x: (x.argmax(1), x.argmin(1), x.argmax(), x.max(1), x.min(1, True)), ROWS),
    "max pools": (lambda x: (F.max_pool1d(x, 2), F.max_pool2d(x[None], (1, 3), 1, (0, 1)),
                             F.max_pool3d(x[None, None], (1, 2, 2))), ROWS),
    "places of pools": (lambda x: (F.max_pool2d(x[None], (2, 3), return_indices=True),
                                   F.max_pool2d(x[None], 2, 1, 1, 2, return_indices=True),
                                   F.max_pool3d(x[None, None], (1, 2, 3), return_indices=True),
                                   F.adaptive_max_pool2d(x[None], (2, 4), return_indices=True)),
                        ROWS),
    "adaptive means": (lambda x: (F.adaptive_avg_pool1d(x, 4), F.adaptive_avg_pool2d(x[None], 3)),
                       ROWS),
    "interpolation": (lambda x: (F.interpolate(x[None], 9, mode="linear"),
                                 F.interpolate(x[None, None], (5, 7), mode="bilinear")), ROWS),
    "scatter_reduce": (lambda x: tuple(torch.zeros(3, 6).scatter_reduce(1, PLACES, x, how)
                                       for how in ("amax", "amin")), ROWS),
    "index_reduce": (lambda x: tuple(torch.ones(2, 6).index_reduce(
        0, torch.tensor([0, 1, 0]), x, how, include_self=False) for how in ("amin", "amax")), ROWS),
    "embedding_bag": (lambda x: F.embedding_bag(torch.tensor([0, 1, 1, 0, 2]), x,
                                                torch.tensor([0, 2]), mode="max"), ROWS),
    "bucketize": (lambda x: (torch.bucketize(x, torch.tensor([2.0, 5.0])),
                             torch.bucketize(x, torch.tensor([0.0, 3.0, NAN]), right=True)), ROWS),
    "norms": (lambda x: (x.norm(0, 1), x.norm(INF, 1), x.norm(1, 1)), ROWS),
    "means of integers": (lambda x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1, True, False),
                                     F.avg_pool1d(x[0], 2), F.avg_pool3d(x, 2)), WHOLE),
    "grids with NaN": (lambda x, g: tuple(
        F.grid_sample(x, g, mode, padding, False) for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")),
        torch.arange(20.0).reshape(1, 1, 4, 5),
        torch.tensor([[[[NAN, 0], [0, NAN], [0.3, -0.4], [5, 5], [-3, 2]]]])),
    "sinc of float16": (torch.sinc, torch.tensor([0, 0.5, 65504, -3], dtype=torch.float16)),
    "sorting": (lambda x: (x.sort(dim=1, stable=True), x.sort(dim=1, descending=True, stable=True),
                           x.topk(3, 1)[0], x.topk(3, 1, largest=False)[0]), ROWS[:2]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("case", CASES)
def test_case(case):
    fn, *inputs = CASES[case]
    check(fn, *inputs)


WHOLE_DTYPES = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", WHOLE_DTYPES)
def test_convolutions_and_products_of_integers(dtype):
    def fn(x, k):
        rows = x.flatten(0, 2)
        products = rows @ rows.mT, rows.mv(rows[0]), x @ x.mT, F.linear(rows, rows, rows[:, 0])
        return (
            F.conv2d(x, k, k[:, 0, 0, 0], (1, 2), 1, 1, 2),
            F.conv1d(x[0], k[:, :, 0].repeat(1, 2, 1)),
            F.conv1d(x[0], k[:, :, 0].repeat(1, 2, 1), None, 2, 2),
            F.conv3d(x[None], k[None].transpose(0, 1).repeat(1, 2, 1, 1, 1), stride=2, padding=1),
            *products,
        )

    check(fn, WHOLE.to(dtype), WHOLE[:, :2, :3, :2].to(dtype))


def test_dilated_convolutions_of_integers():
    check(lambda x, k: F.conv2d(x, k, None, 2, 2, (2, 1), 2), WHOLE, WHOLE[:, :2, :3, :2])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resized_bytes_differ_by_one_at_most(mode):
    def resize(x):
        return [F.interpolate(x, size=(9, 17), mode=mode, antialias=a) for a in (False, True)]

    image = (torch.arange(3 * 20 * 13) * 37 % 256).to(torch.uint8).reshape(1, 3, 20, 13)
    found = treadle.from_fx(resize, [image])(image)
    for got, e in zip(found, resize(image), strict=True):
        assert got.dtype == torch.uint8
        assert (got.int() - e.int()).abs().max() <= 1


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("index", [-1, 3])
def test_places_beyond_a_dimension_are_refused(tier, index):
    places = torch.tensor([[0, 1], [1, index]])
    for fn in (lambda x, i: x.gather(1, i), lambda x, i: x.scatter(1, i, 1.0)):
        with pytest.raises(treadle.Error):
            treadle.from_fx(fn, [torch.ones(2, 3), places], tier=tier)(torch.ones(2, 3), places)


# ---- attention: a query that sees no key


def masks(dtype):
    """The second query sees no key."""
    seen = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    return seen, torch.zeros(3, 3, dtype=dtype).masked_fill(~seen, -INF)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_attention_without_keys_is_zero(dtype):
    q, k, v = torch.randn(3, 1, 2, 3, 4, generator=torch.manual_seed(0)).to(dtype)
    for mask in masks(dtype):

        def attend(q, k, v, mask):
            return F.scaled_dot_product_attention(q, k, v, mask)

        expected = attend(q, k, v, mask)
        assert (expected[:, :, 1] == 0).all()
        for tier in TIERS:
            found = treadle.from_fx(attend, [q, k, v, mask], tier=tier)(q, k, v, mask)
            torch.testing.assert_close(found, expected, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_nothing_flows_back_from_attention_without_keys(dtype):
    torch._dynamo.reset()
    seen, _ = masks(dtype)

    def gradients(attend):
        q, k, v = torch.randn(3, 1, 2, 3, 4, generator=torch.manual_seed(0)).to(dtype)
        parts = [x.requires_grad_() for x in (q, k, v)]
        out = attend(*parts, seen)
        return torch.autograd.grad(out.float().square().sum(), parts)

    attend = F.scaled_dot_product_attention
    expected = gradients(attend)
    assert (expected[0][:, :, 1] == 0).all()
    found = gradients(torch.compile(lambda *parts: attend(*parts), backend="treadle"))
    torch.testing.assert_close(found, expected, rtol=5e-2, atol=1e-2)


def test_attention_without_keys_in_a_file(tmp_path):
    class Attention(torch.nn.Module):
        def forward(self, q, seen):
            return F.scaled_dot_product_attention(q, q, q, attn_mask=seen)

    q, (seen, _) = torch.randn(1, 2, 3, 4), masks(torch.float32)
    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Attention(), (q, seen)), file)
    (found,) = treadle.load(file).signatures["serving_default"](q=q, seen=seen).values()
    torch.testing.assert_close(torch.as_tensor(found), Attention()(q, seen))


# ---- the short form of './dev conformance torch --edges'


@pytest.mark.parametrize("name", ["add", "floor_divide", "sign", "amax"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_ops_at_the_edges(name, dtype):
    info = torch_ops.ops()[name]
    samples = torch_ops.samples_of(info, dtype, 1)
    found = list(torch_edges.outcomes(info, dtype, samples, ["interpret"]))
    odd = {reason for kind, reason in found if kind not in ("passed", "left out")}
    assert not odd - {
        reason for reason in odd if "instead of nan" in reason and name == "remainder"
    }
    assert any(kind == "passed" for kind, _ in found)
