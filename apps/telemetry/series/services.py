"""Writes of series: a batch counted once, and deltas rolled up into every resolution."""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import OperationalError, connection, transaction

from apps.telemetry.series.cells import Cell, Cells
from apps.telemetry.series.models import SeriesLabels, SeriesSource
from apps.telemetry.series.names import CUTS
from apps.telemetry.series.partitions import partitions_drop, partitions_make
from apps.telemetry.series.resolutions import Resolution, resolutions
from apps.telemetry.series.rows import (
    buckets_merge_into,
    buckets_store,
    deltas_take,
    deltas_write,
    label_ids,
    moment,
)
from apps.telemetry.series.running import totals_add
from controlplane.clock import SYSTEM, Clock

_ADVISORY_LOCK = 7_020_019
_DELTAS_A_ROUND = 5_000
_MOST_ROUNDS = 20
_SOURCES_KEPT = timedelta(days=7)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Batch:
    source: str
    sequence: int
    """Grows with every batch of the source."""
    cells: Cells
    clock_ahead_seconds: float = 0.0
    counters: Mapping[str, float] = field(default_factory=dict)
    """Where the source's own counters stand, for `counters_before`."""


def counters_before(sources: Collection[str]) -> dict[str, Mapping[str, float]]:
    rows = SeriesSource.objects.filter(name__in=sources)
    return dict(rows.values_list("name", "counters"))


@transaction.atomic
def batches_add(batches: Sequence[Batch]) -> int:
    """Return how many of the batches were new; a known one adds nothing."""
    names = sorted({each.source for each in batches})
    SeriesSource.objects.bulk_create(
        [SeriesSource(name=name) for name in names], ignore_conflicts=True
    )
    # In one order, so that two who tell of the same sources never wait for each other.
    locked = SeriesSource.objects.filter(name__in=names).order_by("name").select_for_update()
    rows = {row.name: row for row in locked}
    added = [each for each in batches if _is_new(each, rows[each.source])]
    deltas_write(*(each.cells for each in added))
    changed = ["sequence", "clock_ahead_seconds", "counters", "seen_at"]
    SeriesSource.objects.bulk_create(
        rows.values(), update_conflicts=True, unique_fields=["name"], update_fields=changed
    )
    return len(added)


def _is_new(batch: Batch, row: SeriesSource) -> bool:
    if batch.sequence <= row.sequence:
        return False
    row.sequence, row.clock_ahead_seconds = batch.sequence, batch.clock_ahead_seconds
    row.counters = dict(batch.counters)
    return True


def series_fold(*, clock: Clock = SYSTEM) -> int:
    """Return how many deltas were rolled up; none where another process is at it.

    Each round takes some and writes what they add to all resolutions in one transaction: a kill
    leaves them either waiting or counted.
    """
    folded = 0
    for _ in range(_MOST_ROUNDS):
        taken = _fold_some(clock.now().timestamp())
        folded += taken
        if taken < _DELTAS_A_ROUND:
            break
    try:
        _drop_old(clock.now().timestamp())
    except OperationalError as error:
        _log.warning("old partitions of series stay until the next round: %s", error)
    return folded


@transaction.atomic
def _drop_old(now: float) -> None:
    if _is_alone():
        partitions_drop(now=now)


@transaction.atomic
def _fold_some(now: float) -> int:
    if not _is_alone():
        return 0
    taken, deltas = deltas_take(_DELTAS_A_ROUND)
    by_resolution = _rolled_up(_cut(deltas), now)
    places = {(each, at) for each, cells in by_resolution.items() for at in _begins(cells)}
    partitions_make(now=now, extra=places)
    for resolution, cells in by_resolution.items():
        _add(resolution, cells)
    totals_add(deltas)
    return taken


def _is_alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
        return bool(cursor.fetchone()[0])


def _cut(deltas: Cells) -> Cells:
    cells = Cells()
    for place, cell in deltas:
        for cut in CUTS[place.source]:
            cells.of(place.within(cut)).merge_cell(cell)
    return cells


def _rolled_up(finest: Cells, now: float) -> dict[Resolution, Cells]:
    rolled_up, finer = {}, finest
    for resolution in resolutions():
        cells = Cells()
        for place, cell in finer:
            at = place.at // resolution.seconds * resolution.seconds
            cells.of(place._replace(at=at)).merge_cell(cell)
        since = now - resolution.kept_seconds
        kept = {place: cell for place, cell in cells if place.at + resolution.seconds > since}
        rolled_up[resolution] = Cells(kept)
        finer = cells
    return rolled_up


def _begins(cells: Cells) -> set[int]:
    return {place.at for place, _ in cells}


def _add(resolution: Resolution, cells: Cells) -> None:
    by_begin: dict[int, dict[int, Cell]] = defaultdict(dict)
    ids = label_ids(place for place, _ in cells)
    for place, cell in cells:
        by_begin[place.at][ids[place.label_set]] = cell
    for at, of_bucket in by_begin.items():
        buckets_merge_into(of_bucket, resolution_seconds=resolution.seconds, at=at)
        buckets_store([(resolution.seconds, id, at, cell) for id, cell in of_bucket.items()])


def series_prune(*, clock: Clock = SYSTEM) -> int:
    """Return how many label sets and sources were forgotten; partitions go with each round."""
    now = clock.now()
    longest = max(each.kept_seconds + each.span_seconds for each in resolutions())
    old = moment(now.timestamp() - longest)
    _, forgotten = SeriesLabels.objects.filter(last_at__lt=old).delete()
    labels = forgotten.get(SeriesLabels._meta.label, 0)  # their running sums go with them
    sources, _ = SeriesSource.objects.filter(seen_at__lt=now - _SOURCES_KEPT).delete()
    return labels + sources


def increases(
    counters: Mapping[str, float], before: Mapping[str, float], names: Iterable[str]
) -> dict[str, float]:
    """Return by how much each counter grew; one that fell has begun anew, and one that was not
    known before has grown by nothing that anybody saw."""
    grown = {}
    for name in names:
        if name in counters and name in before:
            more = counters[name] - before[name]
            grown[name] = more if more >= 0 else counters[name]
    return grown
