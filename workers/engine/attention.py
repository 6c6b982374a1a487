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
    softcap: float | None = None


def attend_row(q: Tensor, k: Tensor, v: Tensor, rule: AttentionRule) -> Tensor:
    """Give back `[queries, heads, head_dim]`.

    A row is computed alone and never padded, so its result does not depend on its neighbours
    and a row full of NaN cannot reach them.
    Shapes: `q` `[heads, queries, head_dim]`; `k`, `v` `[kv_heads, length, head_dim]`.
    """
    queries, length = q.shape[1], k.shape[1]
    if rule.window is not None and length > rule.window + queries - 1:
        first = length - (rule.window + queries - 1)
        k, v = k[:, first:], v[:, first:]
    if rule.softcap is not None:
        return _attend_softcapped(q, k, v, rule)
    if queries == 1:
        return _attend_one_query(q, k, v, rule.scale)
    return _attend_many_queries(q, k, v, rule)


def _attend_one_query(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Heads that share a KV head become query rows, so that no key is copied."""
    heads, _, head_dim = q.shape
    grouped = q.reshape(1, k.shape[0], heads // k.shape[0], head_dim)
    output = scaled_dot_product_attention(grouped, k[None], v[None], scale=scale)
    return output.reshape(1, heads, head_dim)


def _attend_many_queries(q: Tensor, k: Tensor, v: Tensor, rule: AttentionRule) -> Tensor:
    queries, length = q.shape[1], k.shape[1]
    plain = queries == length and (rule.window is None or length <= rule.window)
    mask = None if plain else _causal_mask(queries, length, rule.window, q.device)
    output = scaled_dot_product_attention(
        q[None], k[None], v[None], attn_mask=mask, is_causal=plain, scale=rule.scale,
        enable_gqa=q.shape[0] != k.shape[0],
    )  # fmt: skip
    return output[0].transpose(0, 1)


def _attend_softcapped(q: Tensor, k: Tensor, v: Tensor, rule: AttentionRule) -> Tensor:
    group = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
    scores = torch.matmul(q, k.transpose(1, 2)) * rule.scale
    scores = torch.tanh(scores / rule.softcap) * rule.softcap
    mask = _causal_mask(q.shape[1], k.shape[1], rule.window, q.device)
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(weights, v).transpose(0, 1)


@lru_cache(maxsize=8)  # every layer of a step asks for the same few
def _causal_mask(queries: int, length: int, window: int | None, device: torch.device) -> Tensor:
    """`[queries, length]`, true where a query may look; the last query sits at `length - 1`."""
    mask = torch.ones((queries, length), dtype=torch.bool, device=device)
    mask = mask.tril(length - queries)
    return mask if window is None else mask.triu(length - queries - window + 1)
