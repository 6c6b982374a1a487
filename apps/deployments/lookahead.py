"""What lookahead brings a deployment: measured in the last hour, beside what a tuning predicted."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.lookahead_tunings.selectors import (
    context_of_revision,
    step_times_of,
    tuning_behind,
)
from apps.deployments.models import Deployment
from apps.telemetry.series.selectors import query, sums_of
from controlplane import clock
from controlplane.domain.draft_positions import POSITIONS, series_of
from controlplane.domain.lookahead_tuning.compared import COMPARED_SERIES, Compared, compared_of
from controlplane.domain.lookahead_tuning.served import Served, verdict
from controlplane.domain.lookahead_tuning.step_times import StepTimes

WINDOW = timedelta(hours=1)
LEAST_TOKENS = 200
"""Fewer tell nothing."""
_COUNTED = ("engine_completion_tokens", "draft_tokens", "accepted_draft_tokens", "drafts")
_RIGHT_TO = tuple(map(series_of, POSITIONS))
_Sums = Mapping[str, float]


def lookahead_panel(deployment: Deployment, now: datetime | None = None) -> dict[str, Any] | None:
    """Return what the page says of lookahead; None where too little was drafted to say."""
    present = now or clock.now()
    sums = _sums(deployment, present)
    served = _served(deployment, sums, present)
    if served is None or deployment.build is None:
        return None
    revision = deployment.build.revision
    times = step_times_of(context_of_revision(revision))
    compared = compared_of(sums)
    hurts, sentence = _said(compared) or verdict(served, times)
    return {
        "hurts": hurts,
        "sentence": sentence,
        "basis": times.basis if times else "",
        "measured_tokens_per_step": served.tokens_per_step,
        "measured_ratio": _ratio(served, times),
        "compared": compared,
        "by_position": _by_position(sums),
        "predicted": _predicted(tuning_behind(revision), served.requests),
    }


def _ratio(served: Served, times: StepTimes | None) -> float | None:
    return None if times is None else served.tokens_per_step / served.cost_of_step(times)


def _served(deployment: Deployment, sums: _Sums, now: datetime) -> Served | None:
    if sums["engine_completion_tokens"] < LEAST_TOKENS or not sums["draft_tokens"]:
        return None
    return Served(
        completion_tokens=sums["engine_completion_tokens"],
        drafted_tokens=sums["draft_tokens"],
        accepted_tokens=min(sums["accepted_draft_tokens"], sums["engine_completion_tokens"]),
        requests=_running(deployment, now),
    )


def _said(compared: Compared | None) -> tuple[bool, str] | None:
    """Return what was measured with and without; None where step times must tell."""
    if compared is None or not compared.is_judged:
        return None
    if not compared.hurts:
        return False, f"In the last hour {compared.sentence}."
    return True, (
        f"Lookahead hurts: {compared.sentence}. Serve without a speculator, or tune it on your own "
        "answers."
    )


def _by_position(sums: _Sums) -> Sequence[tuple[int, float]]:
    """Return of each position which part of the drafts was right up to there; none if not told."""
    drafts = sums["drafts"]
    if not drafts or not sums[_RIGHT_TO[0]]:
        return ()
    shares = [(position, min(1.0, sums[series_of(position)] / drafts)) for position in POSITIONS]
    return [(position, share) for position, share in shares if share]


def _sums(deployment: Deployment, now: datetime) -> _Sums:
    window = {**_window(deployment, now), "now": now}
    sums = sums_of([*_COUNTED, *COMPARED_SERIES, *_RIGHT_TO], **window)
    return {name: total or 0.0 for name, total in sums.items()}


def _running(deployment: Deployment, now: datetime) -> float:
    answer = query("requests_running", as_one=True, now=now, **_window(deployment, now))
    return answer.lines[0].values["mean"][0] or 0.0


def _window(deployment: Deployment, now: datetime) -> dict[str, Any]:
    return {
        "start": now - WINDOW,
        "end": now,
        "team_id": deployment.model.team_id,
        "filters": {"deployment_id": [deployment.id]},
    }


def _predicted(tuning: LookaheadTuning | None, requests: float) -> dict[str, Any] | None:
    """Return what the tuning said of the setting that is served, for as many requests at once."""
    recommended = (tuning.result or {}).get("recommended") if tuning else None
    if tuning is None or tuning.result is None or recommended is None:
        return None
    each = next(
        one for one in tuning.result["settings"] if one["setting"] == recommended["setting"]
    )
    speeds = [one for one in each["by_batch"] if one["requests"] <= max(1, round(requests))]
    return {
        "tuning": tuning,
        "tokens_per_step": each["tokens_per_step"],
        "ratio": speeds[-1]["ratio"],
        "requests": speeds[-1]["requests"],
    }
