"""What lookahead costs under vLLM where nothing is copied, as it was measured on one GPU.

Tests hold these to the kept result; they are of one request of the shape of Qwen3-8B in FP8.
"""

from typing import Final

from controlplane.domain.facts import sources

MEASURED_ON: Final = "one H200"
TOKENS_PER_SECOND_WITHOUT: Final = 266
"""vLLM as it serves by itself, on its newer model runner."""
TOKENS_PER_SECOND_COPYING_NOTHING: Final = 162
"""With our drafter, in a text that nothing stood before of: hardly any step drafts."""
DRAFTED_STEPS_PER_SECOND: Final = 149
"""With 63 tokens drafted in each, where a file is given back unchanged."""
LONG_DRAFTED_STEPS_PER_SECOND: Final = 117
"""With 127."""
SOURCE: Final = sources.Source(
    document="docs/evidence.md",
    section="lookahead under vLLM on a GPU (vLLM 0.25.1 alone)",
    checked="2026-11-30",
)


def loss_share() -> float:
    """Return the share of the speed that is lost where nothing is copied."""
    return 1 - TOKENS_PER_SECOND_COPYING_NOTHING / TOKENS_PER_SECOND_WITHOUT


def break_even_accepted_tokens() -> float:
    """Return the accepted tokens a step from which on drafting every step is faster than none."""
    return TOKENS_PER_SECOND_WITHOUT / DRAFTED_STEPS_PER_SECOND - 1
