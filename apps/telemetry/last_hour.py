"""The last hour of one deployment by the minute, as its page draws it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import FloatField
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from apps.telemetry import buckets
from apps.telemetry.models import UsageMinute
from apps.telemetry.selectors import engine_samples
from controlplane import clock

_HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)


@dataclass(kw_only=True)
class _Counted:
    """What gateways counted within one minute."""

    requests: int = 0
    completion_tokens: int = 0
    first_byte_buckets: Sequence[int] = field(default_factory=buckets.empty)


@dataclass(kw_only=True)
class _Reported:
    """What engines said within one minute."""

    kv_used_ratio: float | None = None
    """Of the fullest replica, at its fullest."""
    drafts: float = 0
    accepted: float = 0


def deployment_series(
    *, deployment_id: str, now: datetime | None = None
) -> Mapping[str, Sequence[Any]]:
    """Return epoch seconds and, for each whole minute since the first, what was measured in it.

    None stands where nothing was: a minute without a streamed request has no time to a token.
    """
    until = _minute_of(now or clock.now())
    counted = _counted(deployment_id, until)
    reported = _reported(deployment_id, until)
    times = _minutes(min((*counted, *reported), default=until), until)
    first = min(counted, default=until)
    rows = [counted.get(each, _Counted()) if each >= first else None for each in times]
    said = [reported.get(each, _Reported()) for each in times]
    return {
        "times": [int(each.timestamp()) for each in times],
        "requests": _of(rows, lambda row: row.requests / 60),
        "tokens": _of(rows, lambda row: row.completion_tokens / 60),
        "first_token_p50": _of(rows, lambda row: buckets.percentile(row.first_byte_buckets, 0.5)),
        "first_token_p90": _of(rows, lambda row: buckets.percentile(row.first_byte_buckets, 0.9)),
        "kv_used": [_percent(each.kv_used_ratio) for each in said],
        "accepted": [
            _percent(each.accepted / each.drafts if each.drafts else None) for each in said
        ],
    }


def _counted(deployment_id: str, until: datetime) -> Mapping[datetime, _Counted]:
    found: dict[datetime, _Counted] = {}
    for row in UsageMinute.objects.filter(
        deployment_id=deployment_id, minute__gte=until - _HOUR, minute__lt=until
    ).only("minute", "requests", "completion_tokens", "first_byte_buckets"):
        sums = found.setdefault(row.minute, _Counted())
        sums.requests += row.requests
        sums.completion_tokens += row.completion_tokens
        sums.first_byte_buckets = buckets.added(sums.first_byte_buckets, row.first_byte_buckets)
    return found


def _reported(deployment_id: str, until: datetime) -> Mapping[datetime, _Reported]:
    """Add up what the counters of each replica grew by; one that fell has begun anew."""
    found: dict[datetime, _Reported] = {}
    known: dict[str, tuple[float, float]] = {}
    samples = engine_samples(deployment_id=deployment_id, start=until - _HOUR, end=until)
    for replica_id, sampled_at, used, drafts, accepted in samples.values_list(
        "replica_id", "sampled_at", _said("kv_cache_used_ratio"), _said("draft_tokens_total"),
        _said("accepted_draft_tokens_total"),
    ):  # fmt: skip
        minute = found.setdefault(_minute_of(sampled_at), _Reported())
        if used is not None:
            minute.kv_used_ratio = max(used, minute.kv_used_ratio or 0)
        if drafts is None or accepted is None:
            continue
        drafts_before, accepted_before = known.get(replica_id, (drafts, accepted))
        if drafts > drafts_before:
            minute.drafts += drafts - drafts_before
            minute.accepted += accepted - accepted_before
        known[replica_id] = (drafts, accepted)
    return found


def _said(name: str) -> Cast:
    # In the database: an hour of a replica is 360 samples of some thirty numbers each.
    return Cast(KT(f"values__{name}"), FloatField())


def _of(
    rows: Sequence[_Counted | None], value: Callable[[_Counted], float | None]
) -> Sequence[float | None]:
    values = [None if row is None else value(row) for row in rows]
    return [None if each is None else round(each, 4) for each in values]


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio * 100, 2)


def _minutes(first: datetime, until: datetime) -> Sequence[datetime]:
    return [first + _MINUTE * index for index in range((until - first) // _MINUTE)]


def _minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)
