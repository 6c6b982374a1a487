"""The tokens of a picture or a film that vLLM takes in one step alone.

Source: vLLM 0.25.1 to 0.33.0, `MultiModalBudget` with chunked input disabled, which
`is_mm_prefix_lm` disables, and `get_mm_max_tokens_per_item` of `gemma4_mm.py`, checked 2026-11-30.
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts.checkpoints import CheckpointFacts

_FRAMES, _FRAME_TOKENS = 32, 70 + 2 + 6
_WHOLE_ITEM: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("gemma4", "gemma4_unified"), _FRAMES * _FRAME_TOKENS)
)


def whole_item_tokens(checkpoint: CheckpointFacts) -> int:
    """Return the tokens of the longest picture or film that one step has to hold, or 0."""
    if not checkpoint.has_vision:
        return 0
    return _WHOLE_ITEM.get(checkpoint.wrapper_model_type or checkpoint.model_type or "", 0)
