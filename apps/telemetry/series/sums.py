"""What counters add up to by deployment, of all teams at once: for alerts."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from apps.telemetry.series.names import BY_NAME, slots_of
from apps.telemetry.series.tallies import TOTAL_CUTS

_MINUTE_SECONDS = 60
# The label sets first, as a list: their buckets are found by it, and not by looking at all of them.
_SUMS = """
    WITH of_label AS MATERIALIZED (
        SELECT id, deployment_id FROM telemetry_serieslabels
        WHERE source = %(source)s AND cut = %(cut)s AND deployment_id = ANY(%(of)s)
    )
    SELECT deployment_id, {columns}
    FROM telemetry_series JOIN of_label ON of_label.id = labels_id
    WHERE resolution_seconds = %(resolution)s
        AND labels_id = ANY(ARRAY(SELECT id FROM of_label))
        AND at >= %(start)s AND at < %(end)s
    GROUP BY deployment_id
"""


def sums_by_deployment(
    names: Sequence[str], *, deployment_ids: Collection[str], start: datetime, end: datetime
) -> Mapping[str, Mapping[str, float | None]]:
    """Return the sums of counters of one source, by minutes, of the deployments that have any."""
    source = BY_NAME[names[0]].source
    slots = slots_of(source)
    # Places of our own catalogue.
    columns = ", ".join(f"sum(sums[{slots[each].sums + 1}])" for each in names)
    parameters: dict[str, Any] = {
        "source": source,
        "cut": TOTAL_CUTS[source],
        "of": list(deployment_ids),
        "resolution": _MINUTE_SECONDS,
        "start": start,
        "end": end,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SUMS.format(columns=columns), parameters)
        return {id: dict(zip(names, sums, strict=True)) for id, *sums in cursor.fetchall()}
