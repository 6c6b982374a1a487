"""Reads of usage: totals that only grow, and what could not be counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from apps.telemetry.models import UsageJournal, UsageSum

_SUMMED = (
    "deployment_id", "environment", "status_class", "requests", "prompt_tokens",
    "completion_tokens", "duration_seconds_sum", "first_byte_seconds_sum", "duration_buckets",
    "first_byte_buckets",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """All usage of one deployment in one environment that ended with one class of status."""

    deployment_id: str
    environment: str
    status_class: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    duration_seconds: float
    first_byte_seconds: float
    duration_buckets: Sequence[int]
    first_byte_buckets: Sequence[int]


def usage_totals(*, deployment_ids: Sequence[str]) -> list[UsageTotal]:
    """Return the totals of these deployments, by deployment, environment and class of status."""
    rows = UsageSum.objects.filter(deployment_id__in=deployment_ids)
    ordered = rows.order_by("deployment_id", "environment", "status_class")
    return [UsageTotal(*row) for row in ordered.values_list(*_SUMMED)]


def journals_with_usage_set_aside() -> QuerySet[UsageJournal]:
    """Return the journals of which something could not be counted, the latest first."""
    return UsageJournal.objects.filter(set_aside__gt=0).order_by("-set_aside_at")
