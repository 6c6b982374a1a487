"""An hour of requests of many deployments, written straight into series and their running sums."""

import random
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import connection

from apps.deployments.models import Deployment
from apps.telemetry.series.cells import Cell
from apps.telemetry.series.models import SeriesLabels, SeriesTotal
from apps.telemetry.series.names import Source
from apps.telemetry.series.partitions import partitions_make
from apps.telemetry.series.requests import request_cells
from apps.telemetry.series.resolutions import resolutions
from apps.telemetry.series.rows import buckets_store
from apps.telemetry.series.tallies import TALLIES
from apps.telemetry.services.usage import UsageRecord
from controlplane import clock

_MINUTE_SECONDS = 60
_REQUESTS = 30
_SPREAD = """
    INSERT INTO telemetry_series (resolution_seconds, labels_id, at, sums, sketches)
    SELECT 60, labels, to_timestamp(begin), sums, sketches
    FROM generate_series(%(first)s::bigint, %(last)s::bigint, 60) AS begin,
        unnest(%(ids)s::bigint[]) AS labels,
        (SELECT sums, sketches FROM telemetry_series
         WHERE resolution_seconds = 60 AND labels_id = -1 LIMIT 1) AS one
"""


def traffic_fill(deployments: Iterable[Deployment], *, minutes: int) -> None:
    """Have each deployment answer 30 requests a minute, in `production`, for so many minutes."""
    now = clock.now()
    last = int(now.timestamp()) // _MINUTE_SECONDS * _MINUTE_SECONDS - _MINUTE_SECONDS
    first = last - (minutes - 1) * _MINUTE_SECONDS
    of_minute = next(each for each in resolutions() if each.seconds == _MINUTE_SECONDS)
    partitions_make(now=now.timestamp(), extra={(of_minute, first), (of_minute, last)})
    labels = [*map(_labels(now), deployments)]
    SeriesLabels.objects.bulk_create(labels, batch_size=2000)
    cell = _cell(now)
    buckets_store([(_MINUTE_SECONDS, -1, last, cell)])
    with connection.cursor() as cursor:
        cursor.execute(_SPREAD, {"first": first, "last": last, "ids": [each.id for each in labels]})
        cursor.execute("DELETE FROM telemetry_series WHERE labels_id = -1")
    width = max(each.sum_at for each in TALLIES.values()) + 1
    tallies = [cell.tallies.get(place, 0.0) * minutes for place in range(width)]
    SeriesTotal.objects.bulk_create(
        [SeriesTotal(labels=each, sums=cell.sums, tallies=tallies, exemplars=cell.exemplars)
         for each in labels],
        batch_size=2000,
    )  # fmt: skip


def _labels(now: datetime) -> Callable[[Deployment], SeriesLabels]:
    return lambda deployment: SeriesLabels(
        digest=uuid4(), source=Source.GATEWAY, cut="deployment", team_id=deployment.model.team_id,
        model_id=deployment.model_id, deployment_id=deployment.id, environment="production",
        status_class="2xx", last_at=now - timedelta(days=1),
    )  # fmt: skip


def _cell(now: datetime) -> Cell:
    """Return what a minute adds, as the product counts it."""
    chance = random.Random(1)
    records = [
        UsageRecord(
            request_id=f"{chance.getrandbits(128):032x}", state="closed", at=now.timestamp(),
            model_id="m", deployment_id="d", environment="production", key_id="k", status=200,
            stream=True, prompt_tokens=chance.randrange(1, 4000), cached_tokens=0,
            completion_tokens=chance.randrange(2, 900), queue_seconds=chance.expovariate(200),
            first_byte_seconds=(first := chance.lognormvariate(-1.5, 0.5)),
            duration_seconds=first + chance.uniform(0.1, 9), request_bytes=2000,
            response_bytes=9000,
        )
        for _ in range(_REQUESTS)
    ]  # fmt: skip
    (outcome,) = [cell for _, cell in request_cells(records, {})]
    return outcome
