"""Loss functions and distances, composed of other ops as in PyTorch."""

from __future__ import annotations

import math

from . import _dtypes as dtypes
from ._operands import Operand, call, composed, counted, stretched, where

_NONE, _MEAN, _SUM = range(3)


def _reduced(loss: Operand, reduction: int) -> Operand:
    if reduction == _NONE:
        return loss
    return loss.mean() if reduction == _MEAN else loss.sum()


# ---- of differences


@composed("l1_loss")
def _l1(x: Operand, target: Operand, reduction: int = _MEAN) -> Operand:
    return _reduced((x - target).abs(), reduction)


@composed("mse_loss")
def _squared(x: Operand, target: Operand, reduction: int = _MEAN) -> Operand:
    difference = x - target
    return _reduced(difference * difference, reduction)


@composed("smooth_l1_loss")
def _smooth_l1(x: Operand, target: Operand, reduction: int = _MEAN, beta: float = 1.0) -> Operand:
    size = (x - target).abs()
    if beta == 0:
        return _reduced(size, reduction)
    return _reduced(where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


@composed("huber_loss")
def _huber(x: Operand, target: Operand, reduction: int = _MEAN, delta: float = 1.0) -> Operand:
    size = (x - target).abs()
    near = size * size * 0.5
    return _reduced(where(size <= delta, near, (size - 0.5 * delta) * delta), reduction)


@composed("soft_margin_loss")
def _soft_margin(x: Operand, target: Operand, reduction: int = _MEAN) -> Operand:
    return _reduced((x * -target).exp().log1p(), reduction)


@composed("hinge_embedding_loss")
def _hinge_embedding(
    x: Operand, target: Operand, margin: float = 1.0, reduction: int = _MEAN
) -> Operand:
    beyond = where(target.ne(1), (margin - x).clamp_min(0), 0)
    return _reduced(beyond + where(target.ne(-1), x, 0), reduction)


@composed("margin_ranking_loss")
def _margin_ranking(
    x: Operand, y: Operand, target: Operand, margin: float = 0.0, reduction: int = _MEAN
) -> Operand:
    return _reduced((-target * (x - y) + margin).clamp_min(0), reduction)


@composed("cosine_similarity")
def _cosine_similarity(x: Operand, y: Operand, dim: int = 1, eps: float = 1e-8) -> Operand:
    x, y = stretched(x, y)
    sizes = [v / v.norm(2, dim, True).clamp_min(eps) for v in (x, y)]
    return (sizes[0] * sizes[1]).sum(dim)


@composed("cosine_embedding_loss")
def _cosine_embedding(
    x: Operand, y: Operand, target: Operand, margin: float = 0.0, reduction: int = _MEAN
) -> Operand:
    dim = target.rank
    product, left, right = ((a * b).sum(dim) for a, b in ((x, y), (x, x), (y, y)))
    cosine = product / ((left + 1e-12) * (right + 1e-12)).sqrt()
    near = where(target.eq(1), 1 - cosine, 0)
    return _reduced(near + where(target.eq(-1), (cosine - margin).clamp_min(0), 0), reduction)


@composed("pairwise_distance")
def _pairwise_distance(
    x: Operand, y: Operand, p: float = 2, eps: float = 1e-6, keepdim: bool = False
) -> Operand:
    return (x - y + eps).norm(p, -1, keepdim)


@composed("triplet_margin_loss")
def _triplet_margin(
    anchor: Operand,
    positive: Operand,
    negative: Operand,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = _MEAN,
) -> Operand:
    near = _pairwise_distance(anchor, positive, p, eps)
    far = _pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(_pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp_min(0), reduction)


# ---- of probabilities


def _x_log(x: Operand, y: Operand) -> Operand:
    return call("xlogy", x, y)


@composed("kl_div")
def _kl_divergence(
    x: Operand, target: Operand, reduction: int = _MEAN, *, log_target: bool = False
) -> Operand:
    if log_target:
        return _reduced(target.exp() * (target - x), reduction)
    return _reduced(_x_log(target, target) - target * x, reduction)


@composed("poisson_nll_loss")
def _poisson(
    x: Operand, target: Operand, log_input: bool, full: bool, eps: float, reduction: int
) -> Operand:
    loss = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        rest = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        loss = loss + where(target > 1, rest, 0)
    return _reduced(loss, reduction)


@composed("binary_cross_entropy")
def _binary_cross_entropy(
    x: Operand, target: Operand, weight: Operand | None = None, reduction: int = _MEAN
) -> Operand:
    right, wrong = x.log().clamp_min(-100), (-x).log1p().clamp_min(-100)
    loss = (target - 1) * wrong - target * right
    return _reduced(loss if weight is None else loss * weight, reduction)


@composed("binary_cross_entropy_with_logits")
def _cross_entropy_with_logits(
    x: Operand,
    target: Operand,
    weight: Operand | None = None,
    pos_weight: Operand | None = None,
    reduction: int = _MEAN,
) -> Operand:
    share = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * x - x.log_sigmoid() * share
    return _reduced(loss if weight is None else loss * weight, reduction)


def _classes_last(x: Operand) -> Operand:
    """Moves the classes of [n, classes, ...] to the last dimension; an input of rank 1 is
    unchanged."""
    return x.movedim(1, -1) if x.rank > 1 else x


def _of_classes(
    log: Operand, target: Operand, weight: Operand | None, reduction: int, ignored: int
) -> Operand:
    """Returns the negative log-probabilities of the targets' classes; classes are the last
    dimension."""
    counts = target.ne(ignored)
    place = where(counts, target, 0).to(dtypes.int64)
    loss = -call("gather", log, -1, place.unsqueeze(-1)).squeeze(-1)
    share = counts.to(log.dtype) if weight is None else where(counts, weight.take(place), 0)
    loss = where(counts, loss * share, 0)
    return loss.sum() / share.sum() if reduction == _MEAN else _reduced(loss, reduction)


@composed("nll_loss", "nll_loss_nd", "nll_loss2d")
def _negative_log_likelihood(
    x: Operand,
    target: Operand,
    weight: Operand | None = None,
    reduction: int = _MEAN,
    ignore_index: int = -100,
) -> Operand:
    return _of_classes(_classes_last(x), target, weight, reduction, ignore_index)


def _of_probabilities(
    log: Operand, target: Operand, weight: Operand | None, reduction: int, smoothing: float
) -> Operand:
    """Computes the loss for targets that are class probabilities."""
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / log.static_size(-1, "smoothed classes")
    loss = -(log * target * (1 if weight is None else weight))
    total = loss.sum([-1])
    if reduction != _MEAN:
        return _reduced(total, reduction)
    return total.mean() if total.rank else total


def _smoothed(
    log: Operand, target: Operand, weight: Operand | None, reduction: int, ignored: int,
    smoothing: float,
) -> Operand:  # fmt: skip
    right = _of_classes(log, target, weight, reduction, ignored)
    counts = target.ne(ignored)
    each = -(log if weight is None else log * weight).sum([-1])
    each = where(counts, each, 0)
    if reduction == _MEAN:
        number = counts.to(log.dtype).sum()
        if weight is not None:
            place = where(counts, target, 0).to(dtypes.int64)
            number = where(counts, weight.take(place), 0).sum()
        each = each.sum() / number
    else:
        each = _reduced(each, reduction)
    share = smoothing / log.static_size(-1, "smoothed classes")
    return right * (1 - smoothing) + each * share


@composed("cross_entropy_loss")
def _cross_entropy(
    x: Operand,
    target: Operand,
    weight: Operand | None = None,
    reduction: int = _MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Operand:
    log = _classes_last(x).log_softmax(-1)
    if target.rank == x.rank:
        return _of_probabilities(log, _classes_last(target), weight, reduction, label_smoothing)
    if label_smoothing > 0:
        return _smoothed(log, target, weight, reduction, ignore_index, label_smoothing)
    return _of_classes(log, target, weight, reduction, ignore_index)


# ---- of margins between classes


@composed("multi_margin_loss")
def _multi_margin(
    x: Operand,
    target: Operand,
    p: int = 1,
    margin: float = 1,
    weight: Operand | None = None,
    reduction: int = _MEAN,
) -> Operand:
    rows = x if x.rank > 1 else x.reshape([1, -1])
    place = target.reshape([-1, 1])
    loss = (margin - call("gather", rows, 1, place) + rows).clamp_min(0)
    loss = loss if p == 1 else loss * loss
    loss = loss if weight is None else loss * weight.take(place)
    is_other = counted(rows, rows.size(1)).unsqueeze(0).ne(place)
    each = where(is_other, loss, 0).mean([1])
    return _reduced(each if x.rank > 1 else each.squeeze(0), reduction)


@composed("multilabel_margin_loss")
def _multilabel_margin(x: Operand, target: Operand, reduction: int = _MEAN) -> Operand:
    """Writes the multilabel margin loss; the targets of a row end at the first negative one."""
    rows = x if x.rank > 1 else x.reshape([1, -1])
    goals = target if target.rank > 1 else target.reshape([1, -1])
    ends = (goals < 0).to(dtypes.int64).cumsum(1).eq(0)
    place = where(ends, goals, 0).to(dtypes.int64)
    classes = counted(rows, rows.size(1))
    hits = (place.unsqueeze(-1).eq(classes) & ends.unsqueeze(-1)).any([1])
    right = call("gather", rows, 1, place).unsqueeze(2)
    loss = (1 - (right - rows.unsqueeze(1))).clamp_min(0)
    counts = ends.unsqueeze(2) & hits.logical_not().unsqueeze(1)
    each = where(counts, loss, 0).sum([1, 2]) / rows.static_size(1, "margins between classes")
    return _reduced(each if x.rank > 1 else each.squeeze(0), reduction)
