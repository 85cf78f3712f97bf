"""Arguments at the edges of what PyTorch's ops take, and whether Treadle gives there what PyTorch
gives.

Each sample of PyTorch's database of ops is varied: its elements become special ones (zeros of
both signs, infinities, NaN, the smallest and largest, equal ones), its tensors lie in memory in
steps, at an offset or turned, and ops on elements also get all pairs of special elements, no
element and one. PyTorch runs each variation by itself. Those that it takes become one program,
which from_fx imports and both tiers run; where that fails, each becomes a program of its own. A
result that differs passes if it is as near as PyTorch's to what PyTorch gives in float64.
"""

import itertools
import math
import os

TOLERANCES = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
NARROW = 2e-2
MOST_ELEMENTS = 20_000


# --- elements ------------------------------------------------------------------------------------


def specials(dtype):
    """The special elements of a dtype, by kind."""
    import torch

    if dtype == torch.bool:
        return {"truths": [True, False]}
    if dtype.is_complex:
        parts = [0.0, -0.0, 1.0, -1.5, 3.0]
        whole = [complex(a, b) for a, b in itertools.product(parts, parts)]
        odd = [complex(a, b) for a, b in itertools.product([math.inf, math.nan, 1.0], repeat=2)]
        return {"finite": whole, "infinite": odd}
    if dtype.is_floating_point:
        info = torch.finfo(dtype)
        small = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, 7.25, -100.0]
        large = [info.max, info.min, info.tiny, -info.tiny, info.eps]
        return {
            "extreme": small + large,
            "finite": small,
            "ties": [1.0, -2.0, 1.0, 0.0, -0.0, 3.0, 3.0],
            "infinite": [*small, math.inf, -math.inf],
            "nan": [*small, math.nan],
        }
    info = torch.iinfo(dtype)
    small = [0, 1, 2, 3, 7, *([-1, -2, -7] if info.min else [])]
    bits = info.bits
    return {"ties": small, "extreme": [*small, info.min, info.max, info.max - 1, bits - 1, bits]}


def filled(tensor, values, phase):
    """A tensor like another, of special elements, one after another from a place on."""
    import torch

    step = 1 + 2 * phase
    chosen = [values[(phase + i * step) % len(values)] for i in range(tensor.numel())]
    return torch.tensor(chosen, dtype=tensor.dtype).reshape(tensor.shape)


# --- layouts -------------------------------------------------------------------------------------


def in_steps(tensor):
    """Every other element of the last dimension of a larger tensor."""
    import torch

    if not tensor.dim():
        return tensor
    wide = torch.zeros(*tensor.shape[:-1], 2 * tensor.shape[-1], dtype=tensor.dtype)
    wide[..., ::2] = tensor
    return wide[..., ::2]


def at_offset(tensor):
    """Behind others in one storage."""
    import torch

    flat = torch.zeros(tensor.numel() + 3, dtype=tensor.dtype)
    flat[3:] = tensor.reshape(-1)
    return flat[3:].reshape(tensor.shape)


def turned(tensor):
    """The dimensions lie in memory the other way round."""
    order = list(reversed(range(tensor.dim())))
    return tensor.permute(order).contiguous().permute(order)


LAYOUTS = {"in steps": in_steps, "at an offset": at_offset, "turned": turned}


# --- variations ----------------------------------------------------------------------------------


class Variation:
    """One call: what is varied, and the arguments."""

    def __init__(self, name, info, leaves, structure):
        self.name, self.op, self.call = name, info.name, info.op
        self.leaves, self.structure = leaves, structure
        self.has_signs = elements_of(info) > 0 and info.name not in EXTREMES

    def tensors(self):
        import torch

        return [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]

    def run(self, tensors):
        import torch
        from torch.utils import _pytree as pytree

        rest = iter(tensors)
        given = [next(rest) if isinstance(x, torch.Tensor) else x for x in self.leaves]
        first, args, kwargs = pytree.tree_unflatten(given, self.structure)
        out = pytree.tree_leaves(self.call(first, *args, **kwargs))
        return [value for value in out if isinstance(value, torch.Tensor)]


def of_sample(info, sample, dtype, number):
    """The variations of a sample."""
    import torch
    from torch.utils import _pytree as pytree

    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    is_dense = all(t.layout == torch.strided for t in tensors)
    if not is_dense or sum(t.numel() for t in tensors) > MOST_ELEMENTS:
        return

    def varied(name, change):
        made = iter(range(len(leaves)))
        changed = [
            change(leaf.detach(), next(made)) if isinstance(leaf, torch.Tensor) else leaf
            for leaf in leaves
        ]
        return Variation(f"sample {number}, {name}", info, changed, structure)

    for layout, change in LAYOUTS.items():
        yield varied(layout, lambda leaf, _, change=change: change(leaf))
    if info.name.startswith("linalg") or info.name in SOLVERS:
        return
    for kind, values in specials(dtype).items():
        if kind == "extreme" and not is_whole(dtype):
            continue  # sums of them overflow in one order, and not in another one
        yield varied(
            kind,
            lambda leaf, i, values=values: filled(leaf, values, i) if leaf.dtype == dtype else leaf,
        )


# Ops on matrices that have to be of a kind.
SOLVERS = {"cholesky", "cholesky_inverse", "cholesky_solve", "geqrf", "lu", "lu_solve", "lu_unpack",
           "logdet", "matrix_exp", "ormqr", "pca_lowrank", "pinverse", "qr", "svd", "svd_lowrank",
           "symeig", "triangular_solve", "lobpcg", "nn.functional.grid_sample"}  # fmt: skip


SHAPES = [(0,), (2, 0, 3), (), (1,), (1, 1, 1)]


def is_whole(dtype):
    return not (dtype.is_floating_point or dtype.is_complex)


def elements_of(info):
    """Returns the number of operands of an elementwise op, 1 or 2; 0 for other ops."""
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    return isinstance(info, UnaryUfuncInfo) + 2 * isinstance(info, BinaryUfuncInfo)


def of_elements(info, dtype):
    """All special elements, or all pairs of them; none, and one."""
    import torch
    from torch.utils import _pytree as pytree

    count = elements_of(info)
    if not count:
        return
    values = list(dict.fromkeys(map(repr, itertools.chain(*specials(dtype).values()))))
    values = [eval(v, {"inf": math.inf, "nan": math.nan, "nanj": complex(0, math.nan),
                       "infj": complex(0, math.inf)}) for v in values]  # fmt: skip
    whole = torch.tensor(values, dtype=dtype)
    sets = {f"ones {shape}": [torch.ones(shape, dtype=dtype)] * count for shape in SHAPES}
    if count == 1:
        sets["all"] = [torch.cat([whole, whole.flip(0), whole, whole])]
    else:
        second = [v for v in values if v not in (0, -1)] if is_whole(dtype) else values
        seconds = {"all pairs": whole, "divisors": torch.tensor(second, dtype=dtype)}
        for name, others in seconds.items():
            shape = len(whole), len(others)
            sets[name] = [whole[:, None].expand(shape).clone(), others.expand(shape).clone()]
    for name, tensors in sets.items():
        leaves, structure = pytree.tree_flatten((tensors[0], tuple(tensors[1:]), {}))
        yield Variation(name, info, leaves, structure)


def variations(info, dtype, samples):
    if "empty" in info.name:  # memory that nothing was written to
        return
    yield from of_elements(info, dtype)
    for number, sample in enumerate(samples):
        yield from of_sample(info, sample, dtype, number)


# --- PyTorch -------------------------------------------------------------------------------------


def survives(variations):
    """Whether PyTorch doesn't die of them, as it does of the smallest integer divided by -1."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for variation in variations:
            wanted(variation)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def wanted(variation):
    """Returns PyTorch's result; None if it raises an error, or is random."""
    try:
        with refusal_to_draw():
            return [t.clone() for t in variation.run(variation.tensors())] or None
    except Exception:
        return None


def refusal_to_draw():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Refusal(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            if torch.Tag.nondeterministic_seeded in op.tags:
                raise RuntimeError("random")
            return op(*args, **(kwargs or {}))

    return Refusal()


# --- Treadle -------------------------------------------------------------------------------------


def found(variations, tier):
    """Returns Treadle's results by variation."""
    import treadle

    tensors = [v.tensors() for v in variations]
    flat = [t for each in tensors for t in each]

    def whole(*given):
        rest = iter(given)
        taken = [[next(rest) for _ in each] for each in tensors]
        return [v.run(own) for v, own in zip(variations, taken, strict=True)]

    return treadle.from_fx(whole, flat, tier=tier)(*flat)


# Ops of which PyTorch gives zeros of either sign where both are among the elements.
EXTREMES = {"clamp_max", "clamp_min", "fmax", "fmin", "max", "maximum", "min", "minimum"}

# Ops that may give equal elements, and zeros of both signs, in any order: places don't count.
UNSTABLE = {"argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "nanquantile",
            "quantile", "sort", "topk"}  # fmt: skip


def compared(variation, expected, given):
    """Describes the difference of results briefly."""
    is_unstable = variation.op in UNSTABLE
    for e, g in zip(expected, given, strict=True):
        if e.dtype != g.dtype or e.shape != g.shape:
            return f"{g.dtype}{list(g.shape)} instead of {e.dtype}{list(e.shape)}"
        if is_unstable and not g.is_floating_point():
            continue
        if text := element_that_differs(variation, e, g):
            return text
    return ""


def element_that_differs(variation, expected, given):
    """Signs of zeros count in functions of single elements."""
    e, g = expected.resolve_conj().resolve_neg(), given.resolve_conj().resolve_neg()
    if e.is_floating_point() or e.is_complex():
        differs = ~closeness(e, g, variation.has_signs)
    else:
        differs = e != g
    if not differs.any():
        return ""
    place = tuple(differs.nonzero()[0].tolist())
    inputs = [str(t[place].item()) for t in variation.tensors() if t.shape == e.shape]
    text = f"{g[place].item()} instead of {e[place].item()} at {list(place)}"
    return text + (f", of {' and '.join(inputs)}" if inputs else "")


def closeness(e, g, with_signs):
    import torch

    if e.is_complex():
        both_odd = ~torch.isfinite(e) & ~torch.isfinite(g)
        return both_odd | (closeness(e.real, g.real, False) & closeness(e.imag, g.imag, False))
    tolerance = TOLERANCES.get(str(e.dtype).removeprefix("torch."), NARROW)
    wide, other = e.double(), g.double()
    close = torch.isclose(other, wide, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    if not with_signs:
        return close
    zeros = (wide == 0) & (other == 0)
    return close & (~zeros | (wide.signbit() == other.signbit()))


def are_as_near(variation, expected, given):
    """Whether results are as near as PyTorch's, or nearer, to what PyTorch gives in float64, each
    element for itself: other kernels of narrow dtypes round elsewhere."""
    wide = [widened(t) for t in variation.tensors()]
    try:
        reference = variation.run(wide)
    except Exception:
        return False
    threes = list(zip(expected, given, reference, strict=False))
    is_real = [e.is_floating_point() or e.is_complex() for e, _, _ in threes]
    if len(reference) != len(expected) or not all(is_real):
        return False
    return all(is_as_near(*(as_real(t) for t in three)) for three in threes)


def widened(tensor):
    import torch

    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.is_floating_point() else tensor


def as_real(tensor):
    import torch

    plain = tensor.resolve_conj().resolve_neg()
    return torch.view_as_real(plain) if plain.is_complex() else plain


def is_as_near(expected, given, reference):
    import torch

    e, g, r = expected.double(), given.double(), reference.to(expected.dtype).double()
    exact = (g == r) | (g.isnan() & r.isnan())
    nearer = torch.isfinite(g) & ((g - r).abs() <= (e - r).abs())
    return bool((exact | nearer | closeness(expected, given, False)).all())


def outcomes(info, dtype, samples, tiers):
    """Returns the outcome of each variation, and the reason."""
    import treadle

    listed = list(variations(info, dtype, samples))
    if not survives(listed):
        listed = [v for v in listed if survives([v])]
    kept = [(v, w) for v in listed if (w := wanted(v)) is not None]
    for _ in range(len(listed) - len(kept)):
        yield "left out", "PyTorch refuses it"
    if not kept:
        return
    for tier in tiers:
        try:
            together = found([v for v, _ in kept], tier)
        except Exception:
            together = [None] * len(kept)
        for (variation, expected), given in zip(kept, together, strict=True):
            where = f"{variation.name}, {tier}"
            try:
                given = found([variation], tier)[0] if given is None else given
            except treadle.UnimplementedError as error:
                yield "unimplemented", f"{where}: {first(error)}"
                continue
            except Exception as error:
                yield "failed", f"{where}: {type(error).__name__}: {first(error)}"
                continue
            difference = compared(variation, expected, given)
            if difference and are_as_near(variation, expected, given):
                difference = ""
            yield ("wrong", f"{where}: {difference}") if difference else ("passed", "")


def first(error):
    return str(error).split("\n")[0]
