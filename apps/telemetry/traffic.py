"""What pages say of traffic: sums over the usage that gateways counted."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, Min, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from apps.telemetry import buckets
from apps.telemetry.models import UsageMinute
from controlplane import clock

WINDOW = timedelta(hours=1)
_SERVER_ERROR = 5
# Added up by the database: an hour of 200 deployments is 12,000 rows.
_SUMS: dict[str, Any] = {
    "start": Min("minute"),
    "all_requests": Sum("requests"),
    "errors": Sum("requests", filter=Q(status_class=_SERVER_ERROR)),
    "all_prompt_tokens": Sum("prompt_tokens"),
    "all_completion_tokens": Sum("completion_tokens"),
    **{
        f"bucket_{place}": Sum(Cast(KT(f"first_byte_buckets__{place}"), BigIntegerField()))
        for place in range(len(buckets.empty()))
    },
}


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Requests that ended within a window, by the gateways' count.

    The window begins with the first counted minute where that is later: a deployment that is ten
    minutes old is not averaged over an hour in which it was not there.
    """

    requests: int = 0
    errors: int = 0
    """Answered 5xx; what the caller did wrong is no error of the deployment."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    first_byte_buckets: list[int] = field(default_factory=buckets.empty)

    @property
    def requests_per_second(self) -> float | None:
        return self.requests / self.seconds if self.seconds else None

    @property
    def completion_tokens_per_second(self) -> float | None:
        return self.completion_tokens / self.seconds if self.seconds else None

    @property
    def error_share(self) -> float | None:
        return self.errors / self.requests if self.requests else None

    @property
    def first_byte_p90_seconds(self) -> float | None:
        """Estimated from counts per bucket."""
        return buckets.percentile(self.first_byte_buckets, 0.9)

    @property
    def window_words(self) -> str:
        """Over how long, in words."""
        minutes = round(self.seconds / 60)
        return "the last hour" if minutes >= 60 else f"the last {max(1, minutes)} min"


def traffic_by_deployment(
    *, deployment_ids: Collection[str], now: datetime | None = None
) -> Mapping[str, Traffic]:
    """Return the last hour's traffic of each deployment."""
    until = now or clock.now()
    found = {deployment_id: Traffic() for deployment_id in deployment_ids}
    rows = _within(UsageMinute.objects.filter(deployment_id__in=deployment_ids), until)
    for sums in rows.order_by().values("deployment_id").annotate(**_SUMS):
        found[sums["deployment_id"]] = _traffic(sums, until)
    return found


def traffic_within(window: timedelta, *, now: datetime) -> Mapping[str, Traffic]:
    """Return the traffic of every deployment that was asked within the last `window`."""
    rows = UsageMinute.objects.filter(minute__gt=now - window, minute__lte=now)
    sums = rows.order_by().values("deployment_id").annotate(**_SUMS)
    return {each["deployment_id"]: _traffic(each, now) for each in sums}


def traffic_sum(*, model_ids: Collection[str], now: datetime | None = None) -> Traffic:
    """Return the last hour's traffic of all these models together."""
    until = now or clock.now()
    rows = _within(UsageMinute.objects.filter(model_id__in=model_ids), until)
    return _traffic(rows.aggregate(**_SUMS), until)


def has_traffic(*, model_ids: Collection[str]) -> bool:
    """Return whether any of these models ever answered a request well."""
    return UsageMinute.objects.filter(Q(model_id__in=model_ids), status_class=2).exists()


def _within(rows: QuerySet[UsageMinute], until: datetime) -> QuerySet[UsageMinute]:
    return rows.filter(minute__gt=until - WINDOW, minute__lte=until)


def _traffic(sums: Mapping[str, Any], until: datetime) -> Traffic:
    return Traffic(
        requests=sums["all_requests"] or 0,
        errors=sums["errors"] or 0,
        prompt_tokens=sums["all_prompt_tokens"] or 0,
        completion_tokens=sums["all_completion_tokens"] or 0,
        seconds=_covered_seconds(sums["start"], until) if sums["start"] else 0.0,
        first_byte_buckets=[sums[f"bucket_{place}"] or 0 for place in range(len(buckets.empty()))],
    )


def _covered_seconds(start: datetime, until: datetime) -> float:
    return max(1.0, min(WINDOW, until - start).total_seconds())
