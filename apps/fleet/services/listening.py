"""That somebody listens: web processes say so each second, and silence is judged by it alone.

A machine that was not heard while nobody listened may have spoken all the time. So a silence counts
only where it lies wholly in one stretch of listening; a gap in the beats, a clock of the database
that jumped, and a time in which no machine at all was heard each begin a new one. What was judged
stays judged until the machine is heard again. Holders of leases speak to the database alone: they
are judged by stretches in which that could be asked, whether or not a machine was heard.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from apps.fleet.selectors import LONGEST_GAP, SILENT

BEAT_SECONDS = 1.0
_HEARS = timedelta(seconds=9)
"""Three reports of an agent, and less than a silence."""

# What follows: a beat after the last one; those of several processes may overtake each other by
# less than a gap. Somebody is heard: any machine lately, or there is none to hear; where all fell
# silent at once, it is more likely that nobody can reach the listener. A `silent_before` that lies
# ahead is of a clock that went back since: what it said would be true for too long.
_BEAT = """
    WITH moment AS (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now),
    heard AS (
        SELECT moment.now, beat.last_beat_at
                BETWEEN moment.now - %(gap)s AND moment.now + %(gap)s AS follows,
            EXISTS (
                SELECT FROM fleet_node
                WHERE last_heartbeat_at > moment.now - %(hears)s AND removed_at IS NULL
            ) OR EXISTS (
                SELECT FROM fleet_gateway WHERE last_seen_at > moment.now - %(hears)s
            ) OR NOT EXISTS (
                SELECT FROM fleet_node
                WHERE last_heartbeat_at > coalesce(beat.silent_before, '-infinity')
                    AND removed_at IS NULL
            ) AND NOT EXISTS (
                SELECT FROM fleet_gateway
                WHERE last_seen_at > coalesce(beat.silent_before, '-infinity')
            ) AS somebody
        FROM moment, fleet_listening AS beat WHERE beat.id = 1
    )
    UPDATE fleet_listening AS beat SET
        unbroken_since = CASE WHEN follows THEN coalesce(unbroken_since, now) ELSE now END,
        since = CASE WHEN follows AND somebody THEN since ELSE now END,
        last_beat_at = now,
        silent_before = CASE
            WHEN follows AND somebody AND since <= now - %(silent)s THEN now - %(silent)s
            WHEN silent_before > now THEN now - %(silent)s
            ELSE silent_before
        END
    FROM heard WHERE beat.id = 1
"""
_FIRST_BEAT = """
    INSERT INTO fleet_listening (id, since, unbroken_since, last_beat_at)
    SELECT 1, now, now, now
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now) AS moment
    ON CONFLICT DO NOTHING
"""


def listening_beat(*, now: datetime | None = None) -> None:
    """Say that machines are listened to at this moment of the database's clock.

    As one statement, since every web process says so each second.
    """
    told: dict[str, Any] = {"now": now, "gap": LONGEST_GAP, "hears": _HEARS, "silent": SILENT}
    with connection.cursor() as cursor:
        cursor.execute(_BEAT, told)
        if cursor.rowcount == 0:
            cursor.execute(_FIRST_BEAT, {"now": now})
