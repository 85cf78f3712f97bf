"""Decompositions of ops that PyTorch never decomposes: whole layers without gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

Tensor = torch.Tensor


def _allowed(mask: Tensor | None, mask_type: int | None, heads: int) -> Tensor | None:
    """Converts a mask, which is true for hidden positions, to the form that attention expects."""
    if mask is None:
        return None
    if mask_type == 1:  # for keys, one for each batch entry
        mask = mask[:, None, None, :]
    return mask.logical_not() if mask.dtype == torch.bool else mask


def _heads(x: Tensor, heads: int) -> Tensor:
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(1, 2)


def _shares(
    query: Tensor, key: Tensor, heads: int, mask: Tensor | None, mask_type: int | None
) -> Tensor:
    """Returns the attention weights. Unlike scaled_dot_product_attention, these layers return NaN
    for a query whose keys are all masked out."""
    q, k = _heads(query, heads), _heads(key, heads)
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    seen = _allowed(mask, mask_type, heads)
    if seen is not None:
        if seen.dtype == torch.bool:
            nothing = torch.zeros_like(seen, dtype=scores.dtype)
            seen = nothing.masked_fill(seen.logical_not(), float("-inf"))
        scores = scores + seen
    return torch.softmax(scores, -1)


def _attended(shares: Tensor, value: Tensor) -> Tensor:
    return (shares @ _heads(value, shares.shape[1])).transpose(1, 2).flatten(2)


def _encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """Decomposes torch.nn.TransformerEncoderLayer as documented."""

    def attend(x: Tensor) -> Tensor:
        q, k, v = functional.linear(x, qkv_weight, qkv_bias).chunk(3, -1)
        y = _attended(_shares(q, k, num_heads, mask, mask_type), v)
        return functional.linear(y, proj_weight, proj_bias)

    def feed(x: Tensor) -> Tensor:
        activation = functional.gelu if use_gelu else functional.relu
        inner = activation(functional.linear(x, ffn_weight_1, ffn_bias_1))
        return functional.linear(inner, ffn_weight_2, ffn_bias_2)

    def norm_1(x: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm_2(x: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attend(norm_1(src))
        return x + feed(norm_2(x))
    x = norm_1(src + attend(src))
    return norm_2(x + feed(x))


def _multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        functional.linear(x, w, b)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    shares = _shares(q, k, num_head, mask, mask_type)
    out = functional.linear(_attended(shares, v), proj_weight, proj_bias)
    if not need_weights:
        return out, None
    return out, shares.mean(1) if average_attn_weights else shares


def for_each(target: Any, *args: Any, **kwargs: Any) -> list[Tensor]:
    """Applies an op to each tensor of lists."""
    name = target.name().partition(".")[0].removeprefix("aten::_foreach_")
    op = torch.linalg.vector_norm if name == "norm" else getattr(torch.ops.aten, name)
    if target._overloadname.startswith("Scalar"):
        op = {"maximum": torch.ops.aten.clamp_min, "minimum": torch.ops.aten.clamp_max}.get(
            name, op
        )

    def part(value: Any, at: int) -> Any:
        return value[at] if isinstance(value, list | tuple) else value

    if name in ("addcmul", "addcdiv") and len(args) > 3:
        args, kwargs = args[:3], {"value": args[3]}
    lists = [a for a in (*args, *kwargs.values()) if isinstance(a, list | tuple)]
    return [
        op(*(part(a, at) for a in args), **{k: part(v, at) for k, v in kwargs.items()})
        for at in range(len(lists[0]))
    ]


PARTS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    torch.ops.aten._native_multi_head_attention.default: _multi_head_attention,
}
