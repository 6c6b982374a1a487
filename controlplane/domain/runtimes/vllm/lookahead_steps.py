"""Times of vLLM's steps with our drafter, of one request of the shape of Qwen3-8B in FP8."""

from controlplane.domain.facts import lookahead_speed as speed
from controlplane.domain.lookahead_tuning.step_times import MeasuredSteps

_QWEN3_8B_LAYERS = 36

STEPS = (
    MeasuredSteps(
        device_kind="H200",
        layers=_QWEN3_8B_LAYERS,
        bytes_per_weight=1.0,
        plain_seconds=1 / speed.TOKENS_PER_SECOND_WITHOUT,
        drafted_seconds=(
            (0, 1 / speed.TOKENS_PER_SECOND_COPYING_NOTHING),
            (63, 1 / speed.DRAFTED_STEPS_PER_SECOND),
            (127, 1 / speed.LONG_DRAFTED_STEPS_PER_SECOND),
        ),
        where="one H200 with vLLM 0.25.1 and the shape of Qwen3-8B in FP8",
    ),
)
"""A step without a draft is longer with lookahead on: vLLM then uses its older model runner."""
