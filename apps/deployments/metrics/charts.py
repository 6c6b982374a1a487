"""What the charts of a deployment's page draw: its series over a range, with gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from apps.deployments.autoscaling.sizes import settings_of
from apps.deployments.metrics.events import Event, events_of
from apps.deployments.metrics.headlines import headlines_of
from apps.deployments.models import Deployment
from apps.telemetry.series.names import BY_NAME
from apps.telemetry.series.selectors import Answer, query, step_of
from controlplane import clock
from controlplane.domain.scaling.settings import ScalingSettings

DEFAULT_RANGE = "1h"
_FOLDED = timedelta(seconds=20)
"""What is younger may not be rolled up yet, and would be drawn as a gap."""
_PERCENT = 100.0
_UNITS = ((86_400, "day"), (3600, "h"), (60, "min"), (1, "s"))
_ERRORS = ("5xx",)
_FIRST = "time_to_first_token_seconds"
_Answers = Mapping[tuple[str, Sequence[str]], Answer]


@dataclass(frozen=True, kw_only=True)
class Range:
    label: str
    """On its button."""
    words: str
    length: timedelta


RANGES: Mapping[str, Range] = {
    "15m": Range(label="15 min", words="last 15 minutes", length=timedelta(minutes=15)),
    "1h": Range(label="1 h", words="last hour", length=timedelta(hours=1)),
    "24h": Range(label="24 h", words="last 24 hours", length=timedelta(hours=24)),
    "7d": Range(label="7 days", words="last 7 days", length=timedelta(days=7)),
    "30d": Range(label="30 days", words="last 30 days", length=timedelta(days=30)),
}


@dataclass(frozen=True, kw_only=True)
class _Line:
    series: str
    statistic: str
    statuses: Sequence[str] = ()
    """Of these alone, where there are any."""
    times: float = 1.0


_LINES: Mapping[str, _Line] = {
    **{
        f"{name}_{each}": _Line(series=series, statistic=each)
        for name, series in (
            ("first_token", "time_to_first_token_seconds"),
            ("inter_token", "inter_token_seconds"),
            ("end_to_end", "end_to_end_seconds"),
            ("queue", "queue_seconds"),
        )
        for each in ("p50", "p90", "p99")
    },
    "requests": _Line(series="requests", statistic="per_second"),
    "errors": _Line(series="requests", statistic="per_second", statuses=_ERRORS),
    "tokens": _Line(series="completion_tokens", statistic="per_second"),
    "prompt_tokens": _Line(series="prompt_tokens", statistic="per_second"),
    "made": _Line(series="engine_completion_tokens", statistic="sum"),
    "running": _Line(series="requests_running", statistic="mean"),
    "waiting": _Line(series="requests_waiting", statistic="mean"),
    "kv_used": _Line(series="kv_cache_used_ratio", statistic="max", times=_PERCENT),
    "looked_up": _Line(series="prefix_cache_queries", statistic="sum"),
    "found": _Line(series="prefix_cache_hits", statistic="sum"),
    "drafts": _Line(series="draft_tokens", statistic="sum"),
    "accepted_drafts": _Line(series="accepted_draft_tokens", statistic="sum"),
    "gpu_used": _Line(series="device_utilization_ratio", statistic="mean", times=_PERCENT),
    "ready": _Line(series="replicas_ready", statistic="mean"),
    "wanted": _Line(series="replicas_wanted", statistic="mean"),
    "in_flight": _Line(series="requests_in_flight", statistic="mean"),
}
"""What the page's charts name -> where it comes from."""


def deployment_charts(
    *, deployment: Deployment, range_name: str, now: datetime | None = None
) -> dict[str, Any]:
    """Return begin and end, times, and each line's values; None where nothing was measured."""
    chosen = RANGES.get(range_name, RANGES[DEFAULT_RANGE])
    present = now or clock.now()
    scope = _Scope(
        deployment=deployment, start=present - chosen.length, end=present - _FOLDED, now=present
    )
    # Those of one source lie in the same rows, and have the same step.
    of_source = {BY_NAME[each.series].source: each.series for each in _LINES.values()}
    step = max(scope.step_of(series) for series in of_source.values())
    answers = {
        each: scope.ask(*each, step)
        for each in {(line.series, line.statuses) for line in _LINES.values()}
    }
    times = answers["requests", ()].times
    drawn = {
        name: _values(line, answers[line.series, line.statuses], times)
        for name, line in _LINES.items()
    }
    drawn["target"] = _target(drawn["wanted"], settings_of(deployment))
    drawn["cached"] = _share(drawn.pop("found"), drawn.pop("looked_up"))
    accepted = drawn.pop("accepted_drafts")
    drawn["accepted"] = _share(accepted, drawn.pop("drafts"))
    drawn["tokens_per_step"] = _per_step(drawn.pop("made"), accepted)
    step = _step_of(times, step)
    return {
        "start": int(scope.start.timestamp()),
        "end": int(scope.end.timestamp()),
        "times": list(times),
        "window": f"{chosen.words}, by {_step_words(step)}",
        "measured_at": present.isoformat(timespec="seconds"),
        "headlines": scope.headlines(answers, chosen.words),
        "events": {"marks": [each.to_json() for each in scope.events()]},
        **drawn,
    }


@dataclass(frozen=True, kw_only=True)
class _Scope:
    deployment: Deployment
    start: datetime
    end: datetime
    now: datetime

    def step_of(self, series: str) -> int:
        return step_of(series, **self._range(), filters=self._filters(()))

    def ask(self, series: str, statuses: Sequence[str], step: int) -> Answer:
        return query(series, **self._range(), filters=self._filters(statuses), step_seconds=step)

    def events(self) -> Sequence[Event]:
        return events_of(self.deployment, self.start, self.now)

    def headlines(self, answers: _Answers, words: str) -> Mapping[str, str]:
        """Return what stands above the charts, of what they draw and the whole range's first."""
        first = query(_FIRST, **self._range(), filters=self._filters(()), as_one=True)
        return headlines_of(
            requests=answers["requests", ()],
            errors=answers["requests", _ERRORS],
            prompt=answers["prompt_tokens", ()],
            completion=answers["completion_tokens", ()],
            first=first,
            since=self.deployment.created_at.timestamp(),
            words=words,
        )

    def _range(self) -> dict[str, Any]:
        team_id = self.deployment.model.team_id
        return {"start": self.start, "end": self.end, "now": self.now, "team_id": team_id}

    def _filters(self, statuses: Sequence[str]) -> dict[str, Sequence[str]]:
        only = {"status_class": statuses} if statuses else {}
        return {"deployment_id": [self.deployment.id], **only}


def _values(line: _Line, answer: Answer, times: Sequence[int]) -> list[float | None]:
    """Return the values at these times; a series that is kept by longer buckets has fewer."""
    if not answer.lines:
        return [None] * len(times)
    known = dict(zip(answer.times, answer.lines[0].values[line.statistic], strict=True))
    return [_rounded(known.get(at), line.times) for at in times]


def _rounded(value: float | None, times: float) -> float | None:
    return None if value is None else round(value * times, 6)


def _share(
    parts: Sequence[float | None], wholes: Sequence[float | None]
) -> list[float | None]:  # fmt: skip
    return [
        round(part / whole * _PERCENT, 2) if part is not None and whole else None
        for part, whole in zip(parts, wholes, strict=True)
    ]


def _per_step(made: Sequence[float | None], accepted: Sequence[float | None]) -> list[float | None]:
    """Return tokens a step of one request; each brings one more than was accepted."""
    return [
        round(tokens / (tokens - right), 3)
        if tokens is not None and right is not None and tokens > right
        else None
        for tokens, right in zip(made, accepted, strict=True)
    ]


def _target(
    replicas: Sequence[float | None], settings: ScalingSettings
) -> list[float | None]:  # fmt: skip
    """Return above which load replicas are added, by today's settings."""
    if settings.target_in_flight_tokens is not None:
        return [None] * len(replicas)
    each = settings.requests_per_replica
    return [None if count is None else round(count * each, 6) for count in replicas]


def _step_of(times: Sequence[int], otherwise: int) -> int:
    return next((late - early for early, late in pairwise(times)), otherwise)


def _step_words(seconds: int) -> str:
    length, unit = next(each for each in _UNITS if seconds % each[0] == 0)
    return f"{seconds // length} {unit}"
