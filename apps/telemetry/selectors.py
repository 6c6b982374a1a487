"""Reads of usage and engine samples: totals that only grow, and what engines said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from apps.telemetry.models import EngineSample, UsageJournal

# Element by element, in the database: a year of minutes must not travel for one scrape.
_TOTALS = """
    WITH rows AS (
        SELECT * FROM telemetry_usageminute WHERE deployment_id = ANY(%s)
    ), sums AS (
        SELECT deployment_id, environment, status_class,
               sum(requests) AS requests, sum(prompt_tokens) AS prompt_tokens,
               sum(completion_tokens) AS completion_tokens,
               sum(duration_seconds_sum) AS duration_seconds,
               sum(first_byte_seconds_sum) AS first_byte_seconds
        FROM rows GROUP BY 1, 2, 3
    ), counts AS (
        SELECT deployment_id, environment, status_class, which, position, sum(count) AS count
        FROM rows
        CROSS JOIN LATERAL (
            SELECT 'duration' AS which, element::bigint AS count, position
            FROM jsonb_array_elements_text(duration_buckets) WITH ORDINALITY AS a(element, position)
            UNION ALL
            SELECT 'first_byte', element::bigint, position
            FROM jsonb_array_elements_text(first_byte_buckets)
                WITH ORDINALITY AS b(element, position)
        ) AS buckets
        GROUP BY 1, 2, 3, 4, 5
    )
    SELECT sums.*,
        ARRAY(SELECT count FROM counts WHERE which = 'duration'
              AND (counts.deployment_id, counts.environment, counts.status_class)
                = (sums.deployment_id, sums.environment, sums.status_class) ORDER BY position),
        ARRAY(SELECT count FROM counts WHERE which = 'first_byte'
              AND (counts.deployment_id, counts.environment, counts.status_class)
                = (sums.deployment_id, sums.environment, sums.status_class) ORDER BY position)
    FROM sums ORDER BY 1, 2, 3
"""


@dataclass(frozen=True, kw_only=True)
class UsageTotal:
    """All kept usage of one deployment in one environment that ended with one class of status."""

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
    with connection.cursor() as cursor:
        cursor.execute(_TOTALS, [list(deployment_ids)])
        return [_total(row) for row in cursor.fetchall()]


def engine_samples(*, deployment_id: str, start: datetime, end: datetime) -> QuerySet[EngineSample]:
    """Return what the deployment's engines reported in `[start, end)`, oldest first."""
    return EngineSample.objects.filter(
        deployment_id=deployment_id, sampled_at__gte=start, sampled_at__lt=end
    ).order_by("sampled_at", "id")


def _total(row: Sequence[Any]) -> UsageTotal:
    return UsageTotal(
        deployment_id=row[0],
        environment=row[1],
        status_class=row[2],
        requests=int(row[3]),
        prompt_tokens=int(row[4]),
        completion_tokens=int(row[5]),
        duration_seconds=row[6],
        first_byte_seconds=row[7],
        duration_buckets=[int(count) for count in row[8]],
        first_byte_buckets=[int(count) for count in row[9]],
    )


def journals_with_usage_set_aside() -> QuerySet[UsageJournal]:
    """Return the journals of which something could not be counted, the latest first."""
    return UsageJournal.objects.filter(set_aside__gt=0).order_by("-set_aside_at")
