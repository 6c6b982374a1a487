"""The slot cache: keys and values of every row, and attention over them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workers.engine.attention import AttentionRule, attend_many_queries, attend_one_query
from workers.engine.rounding import round_to_fp8
from workers.engine.slots import Row, SlotPool


@dataclass(frozen=True, kw_only=True)
class CacheShape:
    layers: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype

    @property
    def bytes_per_token(self) -> int:
        """Bytes of keys and values over all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.dtype.itemsize


@dataclass(frozen=True, kw_only=True)
class CacheScales:
    """What a layer's keys and values are rounded by where the cache is to be FP8."""

    keys: Tensor
    values: Tensor


@dataclass(frozen=True, slots=True)
class Span:
    """What one step sees of a row: `length` tokens, the last `queries` of them just fed."""

    queries: int
    length: int
    keys: Sequence[Tensor]
    """One per layer. Shape: `[kv_heads, head_dim, length]`."""
    values: Sequence[Tensor]
    """One per layer. Shape: `[kv_heads, length, head_dim]`."""


class SlotCache(SlotPool):
    """Rows of any length side by side; rolling a row back changes its length only."""

    def __init__(
        self,
        shape: CacheShape,
        *,
        slots: int,
        device: torch.device,
        scales: Sequence[CacheScales] = (),
    ) -> None:
        super().__init__(slots)
        size = (shape.layers, shape.kv_heads, slots, shape.head_dim)
        # Never filled in advance: the system hands out memory as rows write it.
        self._keys = torch.empty(size, dtype=shape.dtype, device=device)
        self._values = torch.empty(size, dtype=shape.dtype, device=device)
        self._scales = scales
        self.shape = shape
        self.size_bytes = self._keys.nbytes + self._values.nbytes

    def copy(self, source: Row, target: Row, length: int) -> None:
        """Let an empty row begin with the first tokens of another."""
        first, to = source.first_slot, target.first_slot
        for tensor in (self._keys, self._values):
            tensor[:, :, to : to + length] = tensor[:, :, first : first + length]
        target.length = length

    def truncate(self, row: Row, length: int) -> None:
        """Forget the tokens of `row` from `length` on."""
        if not 0 <= length <= row.length:
            raise ValueError(f"a row of {row.length} tokens cannot be cut to {length}")
        row.length = length

    def write(self, layer: int, k: Tensor, v: Tensor, slots: Tensor) -> None:
        """Store the keys and values of a step, as FP8 would hold them where the cache has scales.

        Shapes: `[kv_heads, tokens, head_dim]`.
        """
        if self._scales:
            scales = self._scales[layer]
            k, v = round_to_fp8(k, scales.keys), round_to_fp8(v, scales.values)
        self._keys[layer].index_copy_(1, slots, k)
        self._values[layer].index_copy_(1, slots, v)

    def span(self, row: Row, queries: int) -> Span:
        """Give back the row with room for `queries` more tokens, as every layer will see it."""
        length = row.length + queries
        if length > row.capacity:
            raise ValueError(f"{row.length} + {queries} tokens are past the row's {row.capacity}")
        slots = slice(row.first_slot, row.first_slot + length)
        # All layers' views at once: made one by one they cost a twentieth of a small model's step.
        return Span(
            queries=queries,
            length=length,
            keys=self._keys[:, :, slots].transpose(2, 3).unbind(0),
            values=self._values[:, :, slots].unbind(0),
        )

    def attend(self, layer: int, q: Tensor, lengths: Sequence[Span], rule: AttentionRule) -> Tensor:
        """Give back `[tokens, heads, head_dim]`, each row attending to itself alone.

        A row is computed alone and never padded, so its result does not depend on its neighbours
        and a row full of NaN cannot reach them.
        Shapes: `q` is `[tokens, heads, head_dim]`, rows one after another as in `lengths`.
        """
        q = q.contiguous()
        output = torch.empty_like(q)
        grouped = (q.shape[0], self.shape.kv_heads, -1, self.shape.head_dim)
        scaled, grouped_output = (q * rule.scale).view(grouped), output.view(grouped)
        first = 0
        for span in lengths:
            k, v, end = span.keys[layer], span.values[layer], first + span.queries
            if span.queries == 1:
                attend_one_query(scaled[first], k, v, rule, grouped_output[first])
            else:
                attend_many_queries(q[first:end], k, v, rule, output[first:end])
            first = end
        return output

    def _place(self, row: Row, first_slot: int) -> None:
        old = slice(row.first_slot, row.first_slot + row.length)
        new = slice(first_slot, first_slot + row.length)
        if old != new:
            for tensor in (self._keys, self._values):
                tensor[:, :, new] = tensor[:, :, old].clone()  # the two places may overlap
        row.first_slot = first_slot
