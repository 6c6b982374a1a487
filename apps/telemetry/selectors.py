"""Reads of usage and engine samples; every figure names its window."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from apps.telemetry import buckets
from apps.telemetry.models import EngineSample, UsageMinute

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class UsageSummary:
    """Requests that ended in `[start, end)`; rates are means over that window."""

    start: datetime
    end: datetime
    requests: int
    errors_4xx: int
    errors_5xx: int
    clients_left: int
    prompt_tokens: int
    completion_tokens: int
    duration_seconds_sum: float
    first_byte_buckets: Sequence[int]
    duration_buckets: Sequence[int]

    @property
    def seconds(self) -> float:
        return max(1.0, (self.end - self.start).total_seconds())

    @property
    def requests_per_second(self) -> float:
        return self.requests / self.seconds

    @property
    def completion_tokens_per_second(self) -> float:
        return self.completion_tokens / self.seconds

    @property
    def prompt_tokens_per_second(self) -> float:
        return self.prompt_tokens / self.seconds

    @property
    def error_share(self) -> float | None:
        """The share of requests answered with 5xx, or None without requests."""
        return self.errors_5xx / self.requests if self.requests else None

    def first_byte_seconds(self, share: float) -> float | None:
        """Return the time to the first byte below which `share` of the requests stayed."""
        return buckets.percentile(self.first_byte_buckets, share)

    def duration_seconds(self, share: float) -> float | None:
        """Return the whole time below which `share` of the requests stayed."""
        return buckets.percentile(self.duration_buckets, share)


def usage_summary(
    *,
    start: datetime,
    end: datetime,
    deployment_ids: Sequence[str] | None = None,
    model_ids: Sequence[str] | None = None,
) -> UsageSummary:
    """Return what was used in the window, by minutes that began in it."""
    rows = _usage(start, end, deployment_ids, model_ids)
    return _summed(start, end, list(rows))


def usage_by_minute(
    *,
    start: datetime,
    end: datetime,
    deployment_ids: Sequence[str] | None = None,
    model_ids: Sequence[str] | None = None,
) -> list[UsageSummary]:
    """Return one summary for each whole minute of the window, empty minutes included."""
    first = start.replace(second=0, microsecond=0)
    by_minute: dict[datetime, list[UsageMinute]] = {}
    for row in _usage(first, end, deployment_ids, model_ids):
        by_minute.setdefault(row.minute, []).append(row)
    summaries, minute = [], first
    while minute < end:
        summaries.append(_summed(minute, minute + MINUTE, by_minute.get(minute, [])))
        minute += MINUTE
    return summaries


def usage_totals(*, deployment_ids: Sequence[str]) -> QuerySet[UsageMinute]:
    """Return every kept usage row of these deployments, for counters that only grow."""
    return UsageMinute.objects.filter(deployment_id__in=deployment_ids)


def engine_samples(
    *, deployment_id: str, start: datetime, end: datetime | None = None
) -> QuerySet[EngineSample]:
    """Return what the deployment's engines reported in the window, oldest first."""
    return EngineSample.objects.filter(
        deployment_id=deployment_id,
        sampled_at__gte=start,
        sampled_at__lt=end or timezone.now() + MINUTE,
    ).order_by("sampled_at", "id")


def _usage(
    start: datetime,
    end: datetime,
    deployment_ids: Sequence[str] | None,
    model_ids: Sequence[str] | None,
) -> QuerySet[UsageMinute]:
    rows = UsageMinute.objects.filter(minute__gte=start, minute__lt=end)
    if deployment_ids is not None:
        rows = rows.filter(deployment_id__in=deployment_ids)
    if model_ids is not None:
        rows = rows.filter(model_id__in=model_ids)
    return rows.order_by("minute", "id")


def _summed(start: datetime, end: datetime, rows: Sequence[UsageMinute]) -> UsageSummary:
    first_byte, duration = buckets.empty(), buckets.empty()
    by_class = {0: 0, 2: 0, 4: 0, 5: 0}
    for row in rows:
        first_byte = buckets.added(first_byte, row.first_byte_buckets)
        duration = buckets.added(duration, row.duration_buckets)
        by_class[row.status_class] += row.requests
    return UsageSummary(
        start=start,
        end=end,
        requests=sum(row.requests for row in rows),
        errors_4xx=by_class[4],
        errors_5xx=by_class[5],
        clients_left=by_class[0],
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        duration_seconds_sum=sum(row.duration_seconds_sum for row in rows),
        first_byte_buckets=first_byte,
        duration_buckets=duration,
    )
