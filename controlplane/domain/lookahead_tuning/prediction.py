"""Counted steps and times of steps -> tokens a second, and the batch up to which drafts pay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.lookahead_tuning.counted import Counted
from controlplane.domain.lookahead_tuning.settings import LookaheadSetting
from controlplane.domain.lookahead_tuning.step_times import StepTimes

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
MOST_STEP_TOKENS = 512
"""Drafted tokens that all rows of a step share, where drafts have one length."""


@dataclass(frozen=True, kw_only=True)
class Predicted:
    counted: Counted
    ratios: dict[int, float]
    """Requests at once -> speed to that without lookahead."""
    tokens_per_second: dict[int, float] | None
    """Of all these requests together; None where only ratios are known."""

    @property
    def setting(self) -> LookaheadSetting:
        return self.counted.setting

    @property
    def helps_up_to(self) -> int:
        """The most requests at once up to which it is faster than without; 0: never."""
        helping = 0
        for batch, ratio in self.ratios.items():
            if ratio <= 1:
                break
            helping = batch
        return helping

    def to_json(self) -> dict[str, Any]:
        speeds = self.tokens_per_second or {}
        return {
            "setting": self.setting.to_json(),
            "words": self.setting.words,
            "tokens_per_step": round(self.counted.tokens_per_step, 3),
            "drafted_share": round(self.counted.drafted_share, 4),
            "tokens_per_draft": round(self.counted.drafted_tokens_per_draft, 2),
            "acceptance_by_position": self.counted.acceptance_by_position(),
            "by_batch": [
                {
                    "requests": batch,
                    "ratio": round(ratio, 3),
                    "tokens_per_second": round(speeds[batch], 1) if speeds else None,
                }
                for batch, ratio in self.ratios.items()
            ],
            "helps_up_to": self.helps_up_to,
        }


def predictions(
    counted: Sequence[Counted], times: StepTimes | None, *, most_requests: int
) -> list[Predicted]:
    """Return what each setting brings at 1, 2, 4 … requests; nothing where no time is known."""
    if times is None:
        return [Predicted(counted=each, ratios={}, tokens_per_second=None) for each in counted]
    batches = [batch for batch in BATCHES if batch <= max(1, most_requests)]
    return [_predicted(each, times, batches) for each in counted]


def _predicted(counted: Counted, times: StepTimes, batches: Sequence[int]) -> Predicted:
    speeds = {batch: _tokens_per_second(counted, times, batch) for batch in batches}
    plain = {batch: batch / times.seconds(batch, None) for batch in batches}
    return Predicted(
        counted=counted,
        ratios={batch: speeds[batch] / plain[batch] for batch in batches},
        tokens_per_second=speeds if times.is_absolute else None,
    )


def _tokens_per_second(counted: Counted, times: StepTimes, batch: int) -> float:
    if not counted.setting.is_on:
        return batch / times.seconds(batch, None)
    per_step, per_draft = counted.cut(max(1, MOST_STEP_TOKENS // batch - 1))
    share = counted.drafted_share
    if batch > 1:  # a step holds rows that draft beside rows that do not
        seconds = times.seconds(batch, share * per_draft)
    else:
        seconds = share * times.seconds(1, per_draft) + (1 - share) * times.seconds(1, 0)
    return batch * per_step / seconds
