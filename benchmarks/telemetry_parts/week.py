"""A week of a fleet in the tables of series, and the charts that are asked of it.

One bucket of 60 requests, made by the product's own code, is written for every hour and day of each
label set: what a chart reads is as large as in a real week, while filling takes seconds.
"""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import connection
from psycopg import sql

from apps.telemetry.series.cells import Cell
from apps.telemetry.series.models import SeriesLabels
from apps.telemetry.series.names import BY_NAME, Kind, Source, of_source
from apps.telemetry.series.partitions import partitions_make
from apps.telemetry.series.resolutions import resolutions
from apps.telemetry.series.rows import buckets_store
from apps.telemetry.series.selectors import Answer, query
from controlplane import clock

TEAM = "fleet"
_HOUR, _DAY, _MINUTE = 3600, 86_400, 60
_WEEK = timedelta(days=7)
_STATUSES, _KEYS, _REPLICAS = ("2xx", "5xx"), ("k0", "k1"), ("r0", "r1")
_OF_ONE = {"deployment_id": ["d0000007"]}
CHARTS: Mapping[str, Mapping[str, Any]] = {
    **{
        f"deployment_week_{name}": {"name": name, "filters": _OF_ONE}
        for name in ("requests", "completion_tokens", "time_to_first_token_seconds",
                     "inter_token_seconds", "end_to_end_seconds", "requests_running",
                     "kv_cache_used_ratio", "replicas_ready")
    },
    "deployment_day_time_to_first_token_seconds": {
        "name": "time_to_first_token_seconds", "filters": _OF_ONE, "seconds": _DAY,
    },
    "deployment_week_by_key": {
        "name": "completion_tokens", "filters": _OF_ONE, "group_by": ["key_id"],
    },
    "deployment_week_by_replica": {
        "name": "end_to_end_seconds", "filters": _OF_ONE, "group_by": ["replica_id"],
    },
    "team_week_requests_by_status": {"name": "requests", "group_by": ["status_class"]},
    "team_week_end_to_end_seconds": {"name": "end_to_end_seconds"},
    "fleet_week_requests_by_deployment": {"name": "requests", "group_by": ["deployment_id"]},
    "fleet_week_first_token_by_deployment": {
        "name": "time_to_first_token_seconds", "group_by": ["deployment_id"],
    },
    "fleet_week_requests_running": {"name": "requests_running"},
}  # fmt: skip


def ask(chart: Mapping[str, Any]) -> Answer:
    """Return the chart's answer, of the last week unless it says otherwise."""
    more = dict(chart)
    now = clock.now()
    seconds = more.pop("seconds", _WEEK.total_seconds())
    name = more.pop("name")
    return query(name, start=now - timedelta(seconds=seconds), end=now, team_id=TEAM,
                 now=now, **more)  # fmt: skip


def fill(deployments: int) -> int:
    """Return how many buckets were written."""
    now = clock.now()
    labels = list(_label_sets(deployments, now))
    SeriesLabels.objects.bulk_create(labels, batch_size=2000)
    ranges = ((_HOUR, _WEEK), (_DAY, _WEEK))
    target = {
        (each, int((now - timedelta(days=day)).timestamp()))
        for each in resolutions() for day in range(9)
    }  # fmt: skip
    partitions_make(now=now.timestamp(), extra=target)
    rows = sum(
        _spread(source, seconds, length, now)
        for source in (Source.GATEWAY, Source.ENGINE, Source.CONTROL_PLANE)
        for seconds, length in ranges
    )
    rows += _spread(Source.GATEWAY, _MINUTE, timedelta(days=1), now, cut="deployment", most=100)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return rows


def _label_sets(deployments: int, now: datetime) -> Any:
    for status in _STATUSES:
        yield _labels(Source.GATEWAY, "team", now, status_class=status)
    for number in range(deployments):
        of = {"model_id": f"m{number:07}", "deployment_id": f"d{number:07}"}
        yield _labels(Source.CONTROL_PLANE, "deployment", now, **of)
        for replica in _REPLICAS:
            yield _labels(Source.ENGINE, "replica", now, replica_id=replica, **of)
        for status in _STATUSES:
            more = {**of, "environment": "production", "status_class": status}
            yield _labels(Source.GATEWAY, "deployment", now, **more)
            for key in _KEYS:
                yield _labels(Source.GATEWAY, "key", now, key_id=key, **more)
            for replica in _REPLICAS:
                yield _labels(Source.GATEWAY, "replica", now, replica_id=replica, **more)


def _labels(source: Source, cut: str, now: datetime, **named: str) -> SeriesLabels:
    return SeriesLabels(
        digest=uuid4(), source=source, cut=cut, team_id=TEAM, last_at=now, **named
    )  # fmt: skip


def _spread(
    source: Source, seconds: int, length: timedelta, now: datetime, *, cut: str = "", most: int = 0
) -> int:
    """Write one cell into every bucket of the label sets of a source."""
    sample = -_HOUR * (1 + list(Source).index(source))
    buckets_store([(seconds, sample, int(now.timestamp()), _cell(source))])
    order = SeriesLabels.objects.filter(source=source, team_id=TEAM).order_by("id")
    ids: Sequence[int] = list(
        (order.filter(cut=cut) if cut else order).values_list("id", flat=True)
    )
    statement = sql.SQL("""
        INSERT INTO telemetry_series (resolution_seconds, labels_id, at, sums, sketches)
        SELECT {seconds}, labels, to_timestamp(at), sums, sketches
        FROM generate_series({first}::bigint, {last}::bigint, {seconds}) AS at,
            unnest({ids}::bigint[]) AS labels,
            (SELECT sums, sketches FROM telemetry_series
             WHERE resolution_seconds = {seconds} AND labels_id = {sample}) AS one
    """)
    last = int(now.timestamp()) // seconds * seconds
    with connection.cursor() as cursor:
        cursor.execute(
            statement.format(
                seconds=sql.Literal(seconds), first=sql.Literal(last - int(length.total_seconds())),
                last=sql.Literal(last), ids=sql.Literal(ids[: most or None]),
                sample=sql.Literal(sample),
            )
        )  # fmt: skip
        return int(cursor.rowcount)


def _cell(source: Source) -> Cell:
    chance, cell = random.Random(1), Cell(source)
    for each in of_source(source):
        for _ in range(60):
            if BY_NAME[each.name].kind is Kind.COUNTER:
                cell.count(each.name, chance.randrange(900))
            elif each.kind is Kind.GAUGE:
                cell.look(each.name, chance.random())
            else:
                cell.observe(each.name, chance.lognormvariate(-1, 0.6))
    return cell
