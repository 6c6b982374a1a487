"""Batches are counted once, wherever a process is killed, each in its own bucket."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from apps.telemetry.series import services
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.models import SeriesBucket, SeriesDelta, SeriesLabels, SeriesSource
from apps.telemetry.series.names import Source, slots_of
from apps.telemetry.series.services import Batch, batches_add, increases, series_fold, series_prune
from apps.telemetry.series.sketches import Sketch
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 28, 12, 0, 30, tzinfo=UTC)
LABELS = {"team_id": "t", "model_id": "m", "deployment_id": "d", "key_id": "k",
          "replica_id": "r", "status_class": "2xx"}  # fmt: skip
REQUESTS = slots_of(Source.GATEWAY)["requests"].sums


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    return ManualClock(NOW)


def batch(*ages: float, **labels: str) -> Cells:
    """Return what requests so many seconds ago add."""
    cells = Cells()
    for age in ages:
        cell = cells.at(Source.GATEWAY, NOW.timestamp() - age, {**LABELS, **labels})
        cell.count("requests", 1)
        cell.observe("end_to_end_seconds", 0.5 + age / 1000)
    return cells


def batch_add(*, source: str, sequence: int, cells: Cells, ahead: float = 0.0) -> bool:
    batches = [Batch(source=source, sequence=sequence, cells=cells, clock_ahead_seconds=ahead)]
    return batches_add(batches) == 1


def counted(resolution: int, cut: str = "deployment") -> dict[int, float]:
    """Return age of the bucket's begin -> requests in it."""
    ids = SeriesLabels.objects.filter(cut=cut).values("id")
    rows = SeriesBucket.objects.filter(resolution_seconds=resolution, labels_id__in=ids)
    return {int((NOW - row.at).total_seconds()): row.sums[REQUESTS] for row in rows}


def test_a_batch_is_counted_in_every_resolution_and_breakdown(clock: ManualClock) -> None:
    assert batch_add(source="g", sequence=1, cells=batch(1, 2, 12))
    assert series_fold(clock=clock) == 2
    assert counted(10) == {10: 2, 20: 1}
    assert counted(60) == {30: 3}
    assert counted(3600, "team") == counted(3600, "key") == counted(3600, "replica") == {30: 3}
    assert counted(86400) == {12 * 3600 + 30: 3}
    assert not SeriesDelta.objects.exists()


def test_a_repeat_of_a_batch_after_a_lost_answer_adds_nothing(clock: ManualClock) -> None:
    assert batch_add(source="g", sequence=7, cells=batch(1))
    assert not batch_add(source="g", sequence=7, cells=batch(1))
    assert not batch_add(source="g", sequence=6, cells=batch(1))
    assert batch_add(source="other", sequence=6, cells=batch(1))
    series_fold(clock=clock)
    assert counted(60) == {30: 2}


def test_a_fold_that_is_cut_off_leaves_its_deltas_to_the_next(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_add(source="g", sequence=1, cells=batch(1, 2))
    store, calls = services.buckets_store, []

    def dies_halfway(rows: object) -> None:
        store(rows)  # type: ignore[arg-type]
        calls.append(rows)
        if len(calls) == 2:
            raise SystemExit

    monkeypatch.setattr(services, "buckets_store", dies_halfway)
    with pytest.raises(SystemExit), transaction.atomic():
        series_fold(clock=clock)
    assert counted(10) == {}
    monkeypatch.setattr(services, "buckets_store", store)
    series_fold(clock=clock)
    assert counted(10) == {10: 2}
    assert counted(86400) == {12 * 3600 + 30: 2}


def test_a_late_record_lands_in_its_own_bucket_that_was_rolled_up_long_ago(
    clock: ManualClock,
) -> None:
    batch_add(source="g", sequence=1, cells=batch(7000))
    series_fold(clock=clock)
    clock.advance(3600)
    batch_add(source="other", sequence=1, cells=batch(7000, 5 * 86400, 100 * 86400))
    series_fold(clock=clock)
    assert counted(10) == {}, "no longer kept by 10 seconds"
    assert counted(60) == {7050: 2}
    assert counted(3600) == {7230: 2, 5 * 86400 + 30: 1}
    assert sum(counted(86400).values()) == 4


def test_what_a_later_release_wrote_is_kept_or_left_out_and_holds_nothing_up(
    clock: ManualClock,
) -> None:
    batch_add(source="g", sequence=1, cells=batch(1))
    known = SeriesDelta.objects.get()
    SeriesDelta.objects.create(source="moon", at=NOW, labels=known.labels, sums=[1.0], sketches=[])
    SeriesDelta.objects.create(
        source=known.source, at=known.at, labels=known.labels, sketches=known.sketches,
        sums=[*known.sums, 5.0],
    )  # fmt: skip
    assert series_fold(clock=clock) == 3
    assert series_fold(clock=clock) == 0
    assert counted(60) == {30: 2}
    row = SeriesBucket.objects.filter(resolution_seconds=60).first()
    assert row is not None
    assert row.sums[-1] == 5.0


def test_sketches_of_two_batches_become_one(clock: ManualClock) -> None:
    for source, age in (("g", 1), ("other", 2)):
        batch_add(source=source, sequence=1, cells=batch(age))
        series_fold(clock=clock)
    ids = SeriesLabels.objects.filter(cut="team").values("id")
    row = SeriesBucket.objects.get(resolution_seconds=60, labels_id__in=ids)
    sketch = Sketch()
    sketch.take(bytes(row.sketches[slots_of(Source.GATEWAY)["end_to_end_seconds"].sketch]))
    assert sketch.count == 2
    assert row.sketches[slots_of(Source.GATEWAY)["queue_seconds"].sketch] is None


def test_gauges_keep_their_mean_and_their_highest(clock: ManualClock) -> None:
    for sequence, value in enumerate((4.0, 2.0)):
        cells = Cells()
        cells.at(Source.ENGINE, NOW.timestamp(), LABELS).look("requests_running", value)
        batch_add(source="r", sequence=sequence, cells=cells)
        series_fold(clock=clock)
    slot = slots_of(Source.ENGINE)["requests_running"].sums
    row = SeriesBucket.objects.get(resolution_seconds=10)
    assert row.sums[slot : slot + 3] == [2.0, 6.0, 4.0]
    assert row.sums[slots_of(Source.ENGINE)["preemptions"].sums] is None


def test_partitions_are_made_ahead_and_dropped_past_retention(clock: ManualClock) -> None:
    others = partitions("telemetry_series_10")  # of tests that went by the machine's clock
    batch_add(source="g", sequence=1, cells=batch(1))
    series_fold(clock=clock)
    before = partitions("telemetry_series_10") - others
    assert len(before) == 3
    clock.advance(3 * 3600)
    series_fold(clock=clock)
    after = partitions("telemetry_series_10") - others
    assert (len(after), len(before & after)) == (4, 1), "those of the last hour stay"
    assert counted(10) == {}
    assert counted(60) == {30: 1}


def partitions(table: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits "
                       "WHERE inhparent = %s::regclass", [table])  # fmt: skip
        return {name for (name,) in cursor.fetchall()}


def test_labels_and_sources_without_rows_are_forgotten(clock: ManualClock) -> None:
    batch_add(source="g", sequence=1, cells=batch(1), ahead=42.5)
    assert SeriesSource.objects.get().clock_ahead_seconds == 42.5
    series_fold(clock=clock)
    assert series_prune(clock=clock) == 0
    clock.advance(timedelta(days=900).total_seconds())
    assert series_prune(clock=clock) == 5
    assert not SeriesLabels.objects.exists()


def test_a_counter_that_fell_has_begun_anew() -> None:
    before = {"draft_tokens": 10.0, "preemptions": 5.0}
    now = {"draft_tokens": 4.0, "preemptions": 6.0, "prefix_cache_hits": 8.0}
    names = ("draft_tokens", "preemptions", "prefix_cache_hits")
    assert increases(now, before, names) == {"draft_tokens": 4.0, "preemptions": 1.0}
