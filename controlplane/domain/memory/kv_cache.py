"""Bytes that a request keeps in the cache of one GPU.

Source: TensorRT-LLM 1.2, `2 * ceil(kv heads / tp) * head size * layers of the rank * bytes`; MLA
keeps one latent per layer and is not divided by tensor parallelism. Windows, states of a fixed
size and the index of sparse attention follow the same page and are not measured. 2026-11-27.
"""

from dataclasses import dataclass
from math import ceil

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.layers import LayerGroup, Mixer

_LONGEST = 2**40


@dataclass(frozen=True, kw_only=True)
class KvLayout:
    """What one rank keeps: per token, per token within a window, and per request."""

    unbounded: int = 0
    windowed: tuple[tuple[int, int], ...] = ()
    """(window in tokens, bytes per token) of the layers that slide."""
    state: int = 0

    @property
    def bytes_per_token(self) -> int:
        """Return what one more token takes while every window still has room."""
        return self.unbounded + sum(size for _, size in self.windowed)

    def request_bytes(self, tokens: int) -> int:
        slid = sum(min(tokens, window) * size for window, size in self.windowed)
        return self.unbounded * tokens + slid + self.state

    def longest(self, budget: int) -> int:
        """Return the longest single request that so many bytes hold; 0 where none does."""
        if self.request_bytes(1) > budget:
            return 0
        low, high = 1, _LONGEST
        if self.request_bytes(high) <= budget:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.request_bytes(middle) <= budget else (low, middle)
        return low

    def tokens(self, budget: int, length: int) -> int:
        if not self.windowed and not self.state:
            return budget // self.unbounded if self.unbounded else 0
        whole = self.request_bytes(length)
        return self.longest(budget) if whole > budget else budget * length // max(whole, 1)


def layout_of(
    checkpoint: CheckpointFacts,
    *,
    element_bytes: float,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    keeps_windows: bool = True,
) -> KvLayout | None:
    """Return what the fullest rank keeps, or None where the shape is not known."""
    groups = checkpoint.groups
    if not groups:
        return None
    unbounded, state = 0, 0
    windowed: dict[int, int] = {}
    for group in groups:
        layers = ceil(group.count / pipeline_parallel)
        size = ceil(
            layers * token_bytes(group, element_bytes, tensor_parallel) / group.tokens_per_entry
        )
        state += layers * ceil(group.state_bytes / tensor_parallel)
        if group.window and keeps_windows:
            windowed[group.window] = windowed.get(group.window, 0) + size
        else:
            unbounded += size
    return KvLayout(unbounded=unbounded, windowed=tuple(sorted(windowed.items())), state=state)


def kv_bytes_per_token(
    checkpoint: CheckpointFacts,
    *,
    element_bytes: float,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    at_least: bool = False,
) -> int | None:
    """Return keys and values of one token on one GPU, or None where the shape is not known.

    Every layer that attends counts, those with a window too; the index of sparse attention does
    not. Layers of a kind that is not known count as plain attention, or, where asked for what a
    token takes `at_least`, as nothing.
    """
    groups = checkpoint.groups
    if not groups:
        return None
    if at_least:
        groups = tuple(group for group in groups if group.mixer is not Mixer.UNKNOWN)
    return sum(
        ceil(
            ceil(group.count / pipeline_parallel)
            * token_bytes(group, element_bytes, tensor_parallel, with_index=False)
            / group.tokens_per_entry
        )
        for group in groups
    )


def token_bytes(
    group: LayerGroup, element_bytes: float, tensor_parallel: int, *, with_index: bool = True
) -> int:
    heads = ceil(group.kv_heads / tensor_parallel)
    kept = ceil((heads * group.numbers_per_head + group.latent_numbers) * element_bytes)
    return kept + (group.index_bytes if with_index else 0)
