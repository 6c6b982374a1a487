"""Whether a candidate serves worse than what is in place, by a stated test over single requests.

Errors: Fisher's exact test, one-sided, where the share is also higher by more than the margin.
First token and inter-token time: how many of the candidate's requests are slower than the 90th
percentile of the one in place and the tolerance, where each of one that is not slower is so with a
chance of one in ten. That percentile is taken at the upper end of what its samples allow (95 %).

At each share it looks when the candidate has had as many requests as are asked for, and each time
that they have doubled. The k-th look of a roll spends 0.01 / k(k + 1), shared by the three, which
together is 0.01: a candidate that is not worse is called so in less than 1 of 100 rolls.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from math import ceil, exp, lgamma, log, sqrt
from typing import Any, Self

ALARM_CHANCE = 0.01
METRICS = 3
REQUESTS_NAMED = 10
MOST_REQUESTS = 5_000
"""Of one deployment at one share that are kept; what is asked after that decides nothing more."""
SLOW_SHARE = 0.1
"""Beyond the 90th percentile."""
_UPPER_DEVIATIONS = 1.645
LIMITS = {
    "min_requests": (20, MOST_REQUESTS),
    "error_margin_percent": (0, 50),
    "slower_percent": (0, 1000),
}


class GuardAction(StrEnum):
    PAUSE = "PAUSE"
    CANCEL = "CANCEL"


@dataclass(frozen=True, kw_only=True)
class GuardSettings:
    action: str = GuardAction.PAUSE.value
    min_requests: int = 50
    """Of each deployment, before the first look."""
    error_margin_percent: int = 1
    slower_percent: int = 20

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Self:
        names = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in names})

    def requests_at(self, look: int) -> int:
        """Return how many requests of the candidate that look, counted from 0, waits for."""
        return int(self.min_requests * 2**look)


@dataclass(frozen=True, kw_only=True)
class EndedRequest:
    request_id: str
    is_failed: bool
    first_token_seconds: float | None = None
    inter_token_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    sentence: str
    request_ids: Sequence[str]
    """Of the candidate: those that decided, the worst first."""


def verdict(
    settings: GuardSettings,
    candidate: Sequence[EndedRequest],
    current: Sequence[EndedRequest],
    *,
    look: int,
    spent: int = 0,
) -> Verdict | None:
    """Return how the candidate is worse; None where that is not shown, or too few were asked.

    `look` is counted at the present share, `spent` are all looks of the roll before it.
    """
    if len(candidate) < settings.requests_at(look) or len(current) < settings.min_requests:
        return None
    chance = ALARM_CHANCE / ((spent + 1) * (spent + 2)) / METRICS
    return (
        _fails_more(settings, candidate, current, chance)
        or _is_slower(settings, candidate, current, chance, "first_token_seconds", "First token")
        or _is_slower(settings, candidate, current, chance, "inter_token_seconds", "Inter-token")
    )


def _fails_more(
    settings: GuardSettings,
    candidate: Sequence[EndedRequest],
    current: Sequence[EndedRequest],
    chance: float,
) -> Verdict | None:
    failed, before = [each for each in candidate if each.is_failed], _failed_count(current)
    share, share_before = len(failed) / len(candidate), before / len(current)
    if share - share_before <= settings.error_margin_percent / 100:
        return None
    if fisher(len(failed), len(candidate), before, len(current)) >= chance:
        return None
    return Verdict(
        sentence=f"{len(failed)} of {len(candidate)} requests failed at the candidate, "
        f"{before} of {len(current)} at the deployment in place.",
        request_ids=[each.request_id for each in failed[-REQUESTS_NAMED:]],
    )


def _failed_count(requests: Sequence[EndedRequest]) -> int:
    return sum(each.is_failed for each in requests)


def _is_slower(
    settings: GuardSettings,
    candidate: Sequence[EndedRequest],
    current: Sequence[EndedRequest],
    chance: float,
    name: str,
    words: str,
) -> Verdict | None:
    mine = [each for each in candidate if getattr(each, name) is not None]
    known = sorted(getattr(each, name) for each in current if getattr(each, name) is not None)
    if len(mine) < settings.min_requests or len(known) < settings.min_requests:
        return None
    limit = upper_p90(known) * (1 + settings.slower_percent / 100)
    slow = sorted((each for each in mine if getattr(each, name) > limit),
                  key=lambda each: -getattr(each, name))  # fmt: skip
    if binomial(len(slow), len(mine), SLOW_SHARE) >= chance:
        return None
    return Verdict(
        sentence=f"{words}: {len(slow)} of {len(mine)} requests of the candidate took more than "
        f"{limit * 1000:.4g} ms, which one in ten would: the 90th percentile of the deployment in "
        f"place and {settings.slower_percent} %.",
        request_ids=[each.request_id for each in slow[:REQUESTS_NAMED]],
    )


def upper_p90(ordered: Sequence[float]) -> float:
    """Return the 90th percentile at the upper end of what so many samples allow."""
    count = len(ordered)
    rank = ceil(count * 0.9 + _UPPER_DEVIATIONS * sqrt(count * 0.09))
    return ordered[min(rank, count) - 1]


def fisher(failed: int, requests: int, failed_before: int, asked_before: int) -> float:
    """Return the chance of so many failures here or more, if both fail alike."""
    all_failed, total = failed + failed_before, requests + asked_before
    ways = _log_ways(total, all_failed)
    return sum(
        exp(_log_ways(requests, each) + _log_ways(asked_before, all_failed - each) - ways)
        for each in range(failed, min(all_failed, requests) + 1)
    )


def binomial(slow: int, requests: int, share: float) -> float:
    """Return the chance of so many or more of them, if each is with that chance."""
    return sum(
        exp(_log_ways(requests, each) + each * log(share) + (requests - each) * log(1 - share))
        for each in range(slow, requests + 1)
    )


def _log_ways(total: int, of: int) -> float:
    """Return the logarithm of in how many ways so many are taken: of thousands they overflow."""
    return lgamma(total + 1) - lgamma(of + 1) - lgamma(total - of + 1)
