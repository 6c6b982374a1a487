"""Attention of packed rows: a token sees the tokens of its own row, and no others."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

NAME = "packed_rows"
"""As which Transformers' classes find it."""

_HALF = (torch.bfloat16, torch.float16)
_LARGEST_HEAD = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    lengths: Sequence[int]
    """Of the rows in their order, the longest first: rows of one length lie together."""
    starts: Tensor
    """The first token of each row and the end of the last, int32 on the device; behind them may
    come more ends, of rows without tokens."""
    longest: int
    """At least the longest length."""


class _Current(threading.local):
    packing: Packing | None = None


_CURRENT = _Current()


@contextmanager
def packed_by(packing: Packing) -> Iterator[None]:
    _CURRENT.packing = packing
    try:
        yield
    finally:
        _CURRENT.packing = None


def is_flash(device: torch.device, dtype: torch.dtype, head_dim: int) -> bool:
    """Whether one kernel attends all rows at once, however long each is."""
    fits = dtype in _HALF and head_dim % 8 == 0 and head_dim <= _LARGEST_HEAD
    return fits and device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _mask: Tensor | None = None,
    *,
    scaling: float | None = None,
    sliding_window: int | None = None,
    is_causal: bool | None = None,
    **_ignored: Any,
) -> tuple[Tensor, None]:
    """Give back `[1, tokens, heads, head_dim]` for `[1, heads, tokens, head_dim]` of each.

    A window counts the token itself, and holds to both sides unless attention is causal.
    """
    packing = _CURRENT.packing
    assert packing is not None
    causal = bool(getattr(module, "is_causal", False) if is_causal is None else is_causal)
    q, k, v = (each[0].transpose(0, 1) for each in (query, key, value))
    attend_all = _flash if is_flash(q.device, q.dtype, q.shape[-1]) else _by_length
    return attend_all(q, k, v, packing, scaling, sliding_window, causal)[None], None


def _flash(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    packing: Packing,
    scale: float | None,
    window: int | None,
    causal: bool,
) -> Tensor:
    side = None if window is None else window - 1
    output: Tensor = torch.ops.aten._flash_attention_forward(
        q, k, v, packing.starts, packing.starts, packing.longest, packing.longest, 0.0, causal,
        False, scale=scale, window_size_left=side, window_size_right=0 if causal else side,
    )[0]  # fmt: skip
    return output


def _by_length(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    packing: Packing,
    scale: float | None,
    window: int | None,
    causal: bool,
) -> Tensor:
    """The same where there is no such kernel: rows of one length are one product."""
    output = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    start = 0
    for length, group in groupby(packing.lengths):
        rows = sum(1 for _ in group)
        here = slice(start, start + rows * length)
        start += rows * length
        is_seen_whole = window is None or length <= window
        mask = None if is_seen_whole else _window_mask(length, window or 0, causal, q.device)
        q_rows, k_rows, v_rows = (
            each[here].unflatten(0, (rows, length)).transpose(1, 2) for each in (q, k, v)
        )
        attended = scaled_dot_product_attention(
            q_rows, k_rows, v_rows, attn_mask=mask, is_causal=causal and mask is None, scale=scale,
            enable_gqa=q.shape[1] != k.shape[1],
        )  # fmt: skip
        output[here].unflatten(0, (rows, length)).copy_(attended.transpose(1, 2))
    return output


@lru_cache(maxsize=8)  # every layer of a forward asks for the same few
def _window_mask(length: int, window: int, causal: bool, device: torch.device) -> Tensor:
    places = torch.arange(length, device=device)
    apart = places[:, None] - places
    return (apart < window) & (apart >= (0 if causal else 1 - window))


ALL_ATTENTION_FUNCTIONS.register(NAME, attend)
