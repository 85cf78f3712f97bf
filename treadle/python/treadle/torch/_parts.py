"""What ops are made of that PyTorch takes apart nowhere: whole layers without gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

Tensor = torch.Tensor


def _allowed(mask: Tensor | None, mask_type: int | None, heads: int) -> Tensor | None:
    """A mask that is true where nothing is to be seen, as attention wants it."""
    if mask is None:
        return None
    if mask_type == 1:  # of keys, for each of the batch
        mask = mask[:, None, None, :]
    return mask.logical_not() if mask.dtype == torch.bool else mask


def _heads(x: Tensor, heads: int) -> Tensor:
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(1, 2)


def _attended(
    parts: tuple[Tensor, ...], heads: int, mask: Tensor | None, mask_type: int | None
) -> Tensor:
    q, k, v = (_heads(p, heads) for p in parts)
    seen = _allowed(mask, mask_type, heads)
    y = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    return y.transpose(1, 2).flatten(2)


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
    """As torch.nn.TransformerEncoderLayer says."""

    def attend(x: Tensor) -> Tensor:
        parts = functional.linear(x, qkv_weight, qkv_bias).chunk(3, -1)
        y = _attended(parts, num_heads, mask, mask_type)
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
    parts = tuple(
        functional.linear(x, w, b)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    out = functional.linear(_attended(parts, num_head, mask, mask_type), proj_weight, proj_bias)
    if not need_weights:
        return out, None
    q, k = _heads(parts[0], num_head), _heads(parts[1], num_head)
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    seen = _allowed(mask, mask_type, num_head)
    if seen is not None:
        low = torch.zeros_like(scores).masked_fill(seen.logical_not(), float("-inf"))
        scores = scores + (low if seen.dtype == torch.bool else seen)
    shares = torch.softmax(scores, -1)
    return out, shares.mean(1) if average_attn_weights else shares


PARTS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    torch.ops.aten._native_multi_head_attention.default: _multi_head_attention,
}
