from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.lookahead_tuning.prediction import BATCHES, Predicted
from controlplane.domain.lookahead_tuning.settings import OFF, LookaheadSetting

WORTH_A_CHANGE = 1.03
"""Less is within what a simulation and a machine differ by."""


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    setting: LookaheadSetting
    sentence: str
    changes: bool
    """Whether the config says something else now."""

    def to_json(self) -> dict[str, Any]:
        return {
            "setting": self.setting.to_json(),
            "words": self.setting.words,
            "sentence": self.sentence,
            "changes": self.changes,
        }


def recommend(
    predicted: Sequence[Predicted], *, now: LookaheadSetting, requests: int
) -> Recommendation | None:
    """Return the fastest setting for so many requests at once; None where no time is known."""
    if not predicted or not predicted[0].ratios:
        return None
    batch = max((each for each in predicted[0].ratios if each <= requests), default=BATCHES[0])
    best = max(predicted, key=lambda each: each.ratios[batch])
    kept = next(each for each in predicted if each.setting == now)
    if best.ratios[batch] < WORTH_A_CHANGE * kept.ratios[batch]:
        best = kept
    changes = best is not kept
    return Recommendation(
        setting=best.setting, changes=changes, sentence=_sentence(best, predicted, batch, changes)
    )


def _sentence(best: Predicted, predicted: Sequence[Predicted], batch: int, changes: bool) -> str:
    if best.setting == OFF:
        return _off(predicted, batch, changes)
    beginning = "Serve with" if changes else "Keep"
    return (
        f"{beginning} {best.setting.words}: {best.counted.tokens_per_step:.1f} tokens a step, so "
        f"{best.ratios[batch]:.2f} times the speed without lookahead for {_at_once(batch)}"
        f"{_speed(best, batch)}. {_pays(best)}"
    )


def _off(predicted: Sequence[Predicted], batch: int, changes: bool) -> str:
    beginning = "Serve without lookahead" if changes else "Keep serving without lookahead"
    others = [each for each in predicted if each.setting.is_on]
    if not others:
        return f"{beginning}."
    best = max(others, key=lambda each: each.ratios[batch])
    ratio = best.ratios[batch]
    verdict = "it hurts" if ratio < 1 else "that is within what such a prediction is off by"
    return (
        f"{beginning}: for {_at_once(batch)} the best of it, {best.setting.words}, brings "
        f"{best.counted.tokens_per_step:.2f} tokens a step and {ratio:.2f} times the speed; "
        f"{verdict}."
    )


def _pays(best: Predicted) -> str:
    largest = max(best.ratios)
    if best.helps_up_to == largest:
        return f"It pays at every number of requests looked at, up to {largest}."
    return f"It pays up to {_at_once(best.helps_up_to)}; beyond, serve without."


def _speed(best: Predicted, batch: int) -> str:
    if best.tokens_per_second is None:
        return ""
    return f", about {best.tokens_per_second[batch]:,.0f} tokens a second"


def _at_once(batch: int) -> str:
    return "one request" if batch == 1 else f"{batch} requests at once"
