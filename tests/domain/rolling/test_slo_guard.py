"""A candidate that is worse is caught and named by its requests; one that is not, hardly ever."""

import random
from dataclasses import replace

import pytest

from controlplane.domain.rolling.slo_guard import (
    LIMITS,
    MOST_REQUESTS,
    EndedRequest,
    GuardSettings,
    Verdict,
    binomial,
    fisher,
    verdict,
)

SETTINGS = GuardSettings()


def asked(
    count: int, *, failed: int = 0, seconds: float = 0.1, seed: int = 1, name: str = "r"
) -> list[EndedRequest]:
    rng = random.Random(seed)
    return [
        EndedRequest(
            request_id=f"{name}{at}",
            is_failed=at < failed,
            first_token_seconds=seconds * rng.lognormvariate(0, 0.5),
            inter_token_seconds=seconds / 10 * rng.lognormvariate(0, 0.5),
        )
        for at in range(count)
    ]


def judged(
    candidate: list[EndedRequest], current: list[EndedRequest], look: int = 0
) -> Verdict | None:
    return verdict(SETTINGS, candidate, current, look=look, spent=look)


def test_the_chances_are_those_of_the_textbook() -> None:
    # R: fisher.test(matrix(c(8, 2, 1, 9), 2), alternative = "greater"); pbinom(9, 50, 0.1)
    assert fisher(8, 10, 1, 10) == pytest.approx(0.002739, abs=1e-6)
    assert binomial(10, 50, 0.1) == pytest.approx(0.024538, abs=1e-6)
    assert binomial(0, 5000, 0.1) == pytest.approx(1.0)


def test_failures_decide_and_are_named() -> None:
    outcome = judged(asked(60, failed=12, name="c"), asked(60))
    assert outcome is not None
    assert outcome.sentence.startswith("12 of 60 requests failed at the candidate, 0 of 60")
    assert set(outcome.request_ids) <= {f"c{at}" for at in range(12)}


@pytest.mark.parametrize("name", ["first_token_seconds", "inter_token_seconds"])
def test_slowness_decides_and_the_slowest_are_named_first(name: str) -> None:
    slow = [replace(each, **{name: getattr(each, name) * 4}) for each in asked(60, seed=2)]
    outcome = judged(slow, asked(60))
    assert outcome is not None
    worst = max(slow, key=lambda each: getattr(each, name))
    assert outcome.request_ids[0] == worst.request_id


@pytest.mark.parametrize("counts", [(49, 500), (500, 49)])
def test_too_few_requests_of_either_decide_nothing(counts: tuple[int, int]) -> None:
    assert judged(asked(counts[0], failed=counts[0]), asked(counts[1])) is None


def test_a_later_look_waits_for_twice_as_many() -> None:
    assert judged(asked(99, failed=99), asked(99), look=1) is None
    assert judged(asked(100, failed=100), asked(100), look=1) is not None


def test_more_failures_within_the_margin_are_let_pass() -> None:
    settings = replace(SETTINGS, error_margin_percent=50)
    assert verdict(settings, asked(60, failed=12), asked(60), look=0) is None


def test_one_that_serves_alike_is_called_worse_in_less_than_one_of_a_hundred() -> None:
    called = 0
    for seed in range(60):
        candidate, current = asked(200, seed=seed), asked(200, seed=10_000 + seed)
        called += any(
            judged(candidate[: 50 * 2**look], current[: 50 * 2**look], look) for look in range(3)
        )
    assert called <= 1


def test_the_most_requests_that_a_first_look_may_wait_for_are_kept() -> None:
    _least, most = LIMITS["min_requests"]
    assert GuardSettings(min_requests=most).requests_at(0) <= MOST_REQUESTS
