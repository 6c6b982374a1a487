"""CUDA graphs of vLLM for steps without drafts.

Its older runner records graphs for multiples of a full draft's tokens alone, and fills up a step of
one token to those: on one H200 such a step then took 7.6 ms in place of 5.5 (docs/evidence.md).

Source: vLLM 0.25.1, `adjust_cudagraph_sizes_for_spec_decode` of config/compilation.py, 2026-11-30
"""

from functools import wraps
from typing import Any, Final

SMALL_STEPS: Final = (1, 2, 4, 8, 16)
"""Tokens, as vLLM itself has them where nothing is drafted."""
ADJUSTS: Final = "adjust_cudagraph_sizes_for_spec_decode"


def record_small_steps(compilation: Any) -> None:
    """Let vLLM record these too; a version that chooses sizes in another way is left alone."""
    kind = type(compilation)
    adjust = getattr(kind, ADJUSTS, None)
    if adjust is None or hasattr(adjust, "__wrapped__"):
        return

    @wraps(adjust)
    def adjusted(self: Any, *given: Any, **named: Any) -> None:
        adjust(self, *given, **named)
        sizes = self.cudagraph_capture_sizes
        if sizes and not self.pass_config.enable_sp:  # whose sizes divide by the GPUs
            smaller = [each for each in SMALL_STEPS if each < min(sizes)]
            self.cudagraph_capture_sizes = [*smaller, *sizes]

    setattr(kind, ADJUSTS, adjusted)
