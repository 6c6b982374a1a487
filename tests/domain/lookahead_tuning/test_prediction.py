"""Counted steps and times of steps become speeds, and a sentence that says which setting pays."""

from dataclasses import dataclass

import pytest

from controlplane.domain.lookahead_tuning.counted import Counted
from controlplane.domain.lookahead_tuning.prediction import Predicted, predictions
from controlplane.domain.lookahead_tuning.recommendation import recommend
from controlplane.domain.lookahead_tuning.settings import (
    OFF,
    DraftManner,
    LookaheadSetting,
    setting_of,
    settings_to_try,
)
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec, parse_mapping
from controlplane.domain.spec.patch import patched

FILLED = LookaheadSetting(manner=DraftManner.FILLED, longest_draft_tokens=4)
PLAIN = Counted(
    setting=OFF, tokens=100, steps=100, drafted_steps=0, drafted_tokens=0, accepted_at=()
)


@dataclass(frozen=True)
class Steps:
    """A millisecond for a plain step, and as much again for each so many tokens computed."""

    tokens_per_millisecond: float
    basis: str = "by hand"
    is_absolute: bool = True

    def seconds(self, batch: int, drafted_tokens: float | None) -> float:
        return (1 + batch * (drafted_tokens or 0) / self.tokens_per_millisecond) / 1000


def counted(accepted_at: tuple[int, ...], steps: int, drafted: int) -> Counted:
    return Counted(
        setting=FILLED, tokens=steps + sum(accepted_at), steps=steps, drafted_steps=drafted,
        drafted_tokens=4 * drafted, accepted_at=accepted_at,
    )  # fmt: skip


def predicted(each: Counted, times: Steps | None, most: int = 64) -> Predicted:
    return predictions([each], times, most_requests=most)[0]


def test_a_step_that_brings_more_than_it_costs_is_faster_by_just_that() -> None:
    copying = counted((10, 10, 10, 10), steps=10, drafted=10)
    prediction = predicted(copying, Steps(tokens_per_millisecond=8.0))
    assert prediction.ratios[1] == pytest.approx(5 / 1.5)
    assert prediction.tokens_per_second is not None
    assert prediction.tokens_per_second[1] == pytest.approx(5 / 0.0015)
    assert prediction.ratios[2] == pytest.approx(5 / 2)
    assert (
        prediction.helps_up_to == 4
    )  # at 8 a step takes five times as long, and brings five tokens


def test_steps_without_a_draft_count_at_their_own_time() -> None:
    half = counted((5, 5, 5, 5), steps=10, drafted=5)
    prediction = predicted(half, Steps(tokens_per_millisecond=4.0))
    assert prediction.ratios[1] == pytest.approx(3 / ((2 + 1) / 2))


def test_a_large_batch_shares_the_drafts_of_a_step() -> None:
    long = Counted(
        setting=LookaheadSetting(manner=DraftManner.FILLED, longest_draft_tokens=100),
        tokens=101 * 10, steps=10, drafted_steps=10, drafted_tokens=1000, accepted_at=(10,) * 100,
    )  # fmt: skip
    assert long.cut(100) == (101, 100)
    assert long.cut(7) == (8, 7)
    prediction = predicted(long, Steps(tokens_per_millisecond=1e9))
    assert prediction.ratios[4] == pytest.approx(101)
    assert prediction.ratios[64] == pytest.approx(8)


def test_where_no_time_is_known_nothing_is_predicted_or_recommended() -> None:
    outcome = predictions([PLAIN, counted((1, 0, 0, 0), 9, 9)], None, most_requests=8)
    assert [(each.ratios, each.tokens_per_second) for each in outcome] == [({}, None)] * 2
    assert recommend(outcome, now=OFF, requests=1) is None
    assert outcome[1].to_json()["by_batch"] == []


@pytest.mark.parametrize(
    ("accepted_at", "now", "requests", "changes", "words"),
    [
        ((10, 10, 10, 10), OFF, 1, True, "Serve with drafts of 4 tokens: 5.0 tokens a step"),
        ((10, 10, 10, 10), FILLED, 1, False, "Keep drafts of 4 tokens"),
        ((10, 10, 10, 10), FILLED, 64, True, "Serve without lookahead: for 64 requests at once"),
        ((0, 0, 0, 0), FILLED, 1, True, "it hurts."),
        ((0, 0, 0, 0), OFF, 1, False, "Keep serving without lookahead"),
        ((5, 0, 0, 0), OFF, 1, False, "that is within what such a prediction is off by."),
    ],
)
def test_the_recommendation_says_why(
    accepted_at: tuple[int, ...],
    now: LookaheadSetting,
    requests: int,
    changes: bool,
    words: str,
) -> None:
    each = counted(accepted_at, steps=10, drafted=10)
    outcome = predictions([PLAIN, each], Steps(tokens_per_millisecond=8.2), most_requests=64)
    statement = recommend(outcome, now=now, requests=requests)
    assert statement is not None
    assert statement.changes is changes
    assert words in statement.sentence


@pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=lambda each: each.name)
def test_each_setting_of_a_grid_is_what_its_patch_makes_of_a_config(runtime) -> None:
    config = {
        "model_name": "m",
        "trt_llm": {"build": {"checkpoint_repository": {"source": "HF", "repo": "o/m"}}},
    }
    spec = _spec(config)
    tried = settings_to_try(runtime.draft_manner, runtime.draft_lengths, spec)
    assert tried[0] == OFF
    assert len(tried) > 4
    for setting in tried:
        made = _spec(patched(config, setting.patch))
        assert setting_of(runtime.draft_manner, made) == setting
        assert settings_to_try(runtime.draft_manner, runtime.draft_lengths, made) == tried


def _spec(config: dict) -> Spec:
    parsed = parse_mapping(config)
    assert parsed.spec is not None, parsed.errors
    return parsed.spec
