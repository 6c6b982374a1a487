"""Attention of one row over its own slice of the cache."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


@dataclass(frozen=True, slots=True)
class AttentionRule:
    """What a layer asks of attention beyond being causal."""

    scale: float
    window: int | None = None
    """Tokens that a query may see, itself included."""
    soft_cap: float | None = None
    """Scores are bent towards this limit by a hyperbolic tangent."""


def attend_one_query(q: Tensor, k: Tensor, v: Tensor, rule: AttentionRule, output: Tensor) -> None:
    """Fill `output` for a row that decodes.

    Heads that share a KV head are rows of one product, so that no key is copied. On a CPU plain
    products take half the fused kernel's time in float32, and twice its time in bfloat16.
    Shapes: `q` (scaled already), `output` `[kv_heads, group, head_dim]`; `k`
    `[kv_heads, head_dim, length]`; `v` `[kv_heads, length, head_dim]`.
    """
    window = rule.window
    if window is not None and v.shape[1] > window:
        k, v = k[:, :, -window:], v[:, -window:]
    if q.dtype == torch.bfloat16 and q.device.type == "cpu" and rule.soft_cap is None:
        output.copy_(scaled_dot_product_attention(q[None], k.mT[None], v[None], scale=1.0)[0])
        return
    torch.bmm(_bent(torch.bmm(q, k), rule.soft_cap).softmax(-1), v, out=output)


def attend_many_queries(
    q: Tensor, k: Tensor, v: Tensor, rule: AttentionRule, output: Tensor
) -> None:
    """Fill `output` for a piece of a prompt.

    Shapes: `q`, `output` `[queries, heads, head_dim]`; `k`, `v` as for one query.
    """
    queries, length = q.shape[0], v.shape[1]
    if rule.window is not None and length > rule.window + queries - 1:
        length = rule.window + queries - 1
        k, v = k[:, :, -length:], v[:, -length:]
    plain = queries == length and (rule.window is None or length <= rule.window)
    if rule.soft_cap is not None:
        _attend_capped(q, k, v, rule, output)
        return
    mask = None if plain else _causal_mask(queries, length, rule.window, q.device)
    result = scaled_dot_product_attention(
        q.transpose(0, 1)[None], k.transpose(1, 2)[None], v[None],
        attn_mask=mask, is_causal=plain, scale=rule.scale, enable_gqa=q.shape[1] != v.shape[0],
    )  # fmt: skip
    output.copy_(result[0].transpose(0, 1))


def _attend_capped(q: Tensor, k: Tensor, v: Tensor, rule: AttentionRule, output: Tensor) -> None:
    """The same in plain products: no fused kernel bends scores."""
    (queries, heads, head_dim), (kv_heads, length, _) = q.shape, v.shape
    mask = _causal_mask(queries, length, rule.window, q.device)
    grouped = q.transpose(0, 1).reshape(kv_heads, heads // kv_heads, queries, head_dim) * rule.scale
    scores = _bent(grouped @ k[:, None], rule.soft_cap).masked_fill_(~mask, float("-inf"))
    result = (scores.softmax(-1) @ v[:, None]).reshape(heads, queries, head_dim)
    output.copy_(result.transpose(0, 1))


def _bent(scores: Tensor, soft_cap: float | None) -> Tensor:
    return scores if soft_cap is None else (scores / soft_cap).tanh_().mul_(soft_cap)


@lru_cache(maxsize=4)  # every layer of a step asks for the same few
def _causal_mask(queries: int, length: int, window: int | None, device: torch.device) -> Tensor:
    """`[queries, length]`, true where a query may look; the last query sits at `length - 1`."""
    mask = torch.ones((queries, length), dtype=torch.bool, device=device)
    mask = mask.tril(length - queries)
    return mask if window is None else mask.triu(length - queries - window + 1)
