"""The statements of the store: deltas in by COPY, label sets found, buckets read and written."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import connection

from apps.telemetry.series.cells import Cell, Cells, Exemplar, Place
from apps.telemetry.series.models import SeriesLabels
from apps.telemetry.series.names import LABELS, Source

_TAKE_DELTAS = """
    DELETE FROM telemetry_seriesdelta WHERE id IN (
        SELECT id FROM telemetry_seriesdelta ORDER BY id LIMIT %s
    ) RETURNING source, extract(epoch FROM at)::float8, labels, sums, sketches,
        tallies, exemplars::text
"""
_COPY_DELTAS = """
    COPY telemetry_seriesdelta (source, at, labels, sums, sketches, tallies, exemplars) FROM STDIN
"""
_BUCKETS = """
    SELECT labels_id, sums, sketches FROM telemetry_series
    WHERE resolution_seconds = %s AND at = %s AND labels_id = ANY(%s)
"""
_STORE = """
    INSERT INTO telemetry_series (resolution_seconds, labels_id, at, sums, sketches)
    VALUES (%s, %s, %s, %s::text::float8[], %s::text::bytea[])
    ON CONFLICT (resolution_seconds, labels_id, at)
    DO UPDATE SET sums = EXCLUDED.sums, sketches = EXCLUDED.sketches
"""
_DAY_SECONDS = 86_400
_log = logging.getLogger(__name__)


def deltas_write(*batches: Cells) -> None:
    """Append what the cells add, within the caller's transaction."""
    with connection.cursor() as cursor, cursor.copy(_COPY_DELTAS) as copy:
        for place, cell in chain.from_iterable(batches):
            labels = list(place.labels)
            row = (*_arrays(cell), _tallies(cell), json.dumps(cell.exemplars))
            copy.write_row((str(place.source), moment(place.at), labels, *row))


def deltas_take(most: int) -> tuple[int, Cells]:
    """Remove the oldest deltas; return how many there were, and what they add together."""
    cells = Cells()
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_DELTAS, [most])
        rows = cursor.fetchall()
    for row in rows:
        _take_in(cells, *row)
    return len(rows), cells


def _take_in(
    cells: Cells, source: str, at: float, labels: list[str], sums: Any, sketches: Any,
    tallies: list[float], exemplars: str,
) -> None:  # fmt: skip
    try:
        place = Place(Source(source), "", tuple(labels), int(at))
        cell = cells.of(place)
        cell.merge(sums, sketches)
        for slot, amount in zip(tallies[::2], tallies[1::2], strict=True):
            cell.tallies[int(slot)] = cell.tallies.get(int(slot), 0.0) + amount
        cell.exemplars |= exemplars_of(exemplars)
    except ValueError as error:
        # One that a later release wrote must not hold up all others for ever.
        _log.error("a delta of series is left out: %s", error)


def label_ids(places: Iterable[Place]) -> Mapping[tuple[Source, str, tuple[str, ...]], int]:
    latest: dict[tuple[Source, str, tuple[str, ...]], int] = {}
    for place in places:
        key = place.source, place.cut, place.labels
        latest[key] = max(place.at, latest.get(key, 0))
    key_of = {_digest(*key): key for key in latest}
    known = _known_labels(key_of, latest)
    new = [_labels_row(digest, *key, latest[key])
           for digest, key in key_of.items() if key not in known]  # fmt: skip
    SeriesLabels.objects.bulk_create(new, ignore_conflicts=True)
    rows = SeriesLabels.objects.filter(digest__in=[each.digest for each in new])
    return {**known, **{key_of[each]: id for each, id in rows.values_list("digest", "id")}}


def _known_labels(
    key_of: Mapping[UUID, tuple[Source, str, tuple[str, ...]]],
    latest: Mapping[tuple[Source, str, tuple[str, ...]], int],
) -> dict[tuple[Source, str, tuple[str, ...]], int]:
    known, older = {}, []
    rows = SeriesLabels.objects.filter(digest__in=key_of)
    for digest, id, last_at in rows.values_list("digest", "id", "last_at"):
        key = key_of[digest]
        known[key] = id
        if latest[key] >= last_at.timestamp() + _DAY_SECONDS:
            older.append(SeriesLabels(id=id, last_at=_day_of(latest[key])))
    SeriesLabels.objects.bulk_update(older, ["last_at"])
    return known


def _labels_row(
    digest: UUID, source: Source, cut: str, labels: tuple[str, ...], latest: int
) -> SeriesLabels:
    named = dict(zip(LABELS, labels, strict=True))
    return SeriesLabels(
        digest=digest, source=source, cut=cut, last_at=_day_of(latest), **named
    )  # fmt: skip


def _digest(source: Source, cut: str, labels: tuple[str, ...]) -> UUID:
    text = "\x1f".join((source, cut, *labels))
    return UUID(bytes=blake2b(text.encode(), digest_size=16).digest())


def _day_of(at: int) -> datetime:
    return moment(at // _DAY_SECONDS * _DAY_SECONDS)


def buckets_merge_into(
    cells: Mapping[int, Cell], *, resolution_seconds: int, at: int
) -> None:  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_BUCKETS, [resolution_seconds, moment(at), list(cells)])
        for labels_id, sums, sketches in cursor.fetchall():
            cells[labels_id].merge(sums, sketches)


def buckets_store(rows: Sequence[tuple[int, int, int, Cell]]) -> None:
    """Write cells as (resolution, label set, begin, cell), whatever was there."""
    with connection.cursor() as cursor:
        cursor.executemany(
            _STORE,
            [
                (seconds, labels_id, moment(at), *_arrays(cell))
                for seconds, labels_id, at, cell in rows
            ],
        )


def _arrays(cell: Cell) -> tuple[str, str]:
    """Return sums and sketches as arrays are written: the driver would look at each value twice."""
    sums = ",".join("NULL" if each is None else repr(each) for each in cell.sums)
    sketches = ",".join(
        "NULL" if each is None else rf'"\\x{each.hex()}"' for each in cell.sketch_bytes()
    )
    return f"{{{sums}}}", f"{{{sketches}}}"


def _tallies(cell: Cell) -> str:
    return f"{{{','.join(f'{place},{amount!r}' for place, amount in cell.tallies.items())}}}"


def exemplars_of(stored: str) -> dict[int, Exemplar]:
    if stored == "{}":
        return {}
    return {int(place): Exemplar(*each) for place, each in json.loads(stored).items()}


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
