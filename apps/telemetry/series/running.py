"""Running sums: written with each fold, in its transaction, and read whole by `/metrics`."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import TextField, Value
from django.db.models.functions import Cast

from apps.telemetry.series.cells import Cell, Cells
from apps.telemetry.series.models import SeriesTotal
from apps.telemetry.series.names import Source, slots_of
from apps.telemetry.series.rows import exemplars_of, label_ids
from apps.telemetry.series.tallies import TALLIES, TOTAL_CUTS

_LABELS = ("deployment_id", "environment", "replica_id", "status_class")
_WIDTH = max(each.sum_at for each in TALLIES.values()) + 1
_READ = """
    SELECT labels_id, sums, tallies, exemplars::text FROM telemetry_seriestotal
    WHERE labels_id = ANY(%s)
"""
_STORE = """
    INSERT INTO telemetry_seriestotal (labels_id, sums, tallies, exemplars)
    VALUES (%s, %s::text::float8[], %s::text::float8[], %s::text::jsonb)
    ON CONFLICT (labels_id) DO UPDATE SET
        sums = EXCLUDED.sums, tallies = EXCLUDED.tallies, exemplars = EXCLUDED.exemplars
"""
_AS_TEXTS = json.JSONDecoder(parse_float=str, parse_int=str)


@dataclass(frozen=True, slots=True)
class Total:
    deployment_id: str
    environment: str
    replica_id: str
    status_class: str
    sums: list[float | None]
    tallies: Sequence[str]
    """As PostgreSQL writes the numbers: of a whole page they are a million, and go out again."""
    stored_exemplars: str
    """As JSON; empty where nobody asked for them."""

    def sum_of(self, source: Source, name: str) -> float | None:
        """Return a counter; None where it was never measured, or is of a later release."""
        slot = slots_of(source)[name].sums
        return self.sums[slot] if slot < len(self.sums) else None

    def exemplars(self) -> Mapping[int, tuple[str, str, str]]:
        """Return value, request and time of each place, all of them texts."""
        if self.stored_exemplars == "{}":
            return {}
        stored = _AS_TEXTS.decode(self.stored_exemplars)
        return {int(place): tuple(each) for place, each in stored.items()}


def totals_add(deltas: Cells) -> None:
    """Add what the deltas count; the caller is alone, and in the transaction that takes them."""
    more = Cells()
    for place, cell in deltas:
        if cut := TOTAL_CUTS.get(place.source):
            more.of(place.within(cut)).merge_totals(cell)
    ids = label_ids(place for place, _ in more)
    totals: dict[int, Cell] = {}
    for place, cell in sorted(more, key=lambda each: each[0].at):
        totals.setdefault(ids[place.label_set], Cell(place.source)).merge_totals(cell)
    _merge_stored(totals)
    with connection.cursor() as cursor:
        cursor.executemany(_STORE, [(id, *_row(cell)) for id, cell in totals.items()])


def _merge_stored(totals: dict[int, Cell]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_READ, [list(totals)])
        for id, sums, tallies, exemplars in cursor.fetchall():
            cell = totals[id]
            cell.merge(sums, ())
            for place, amount in enumerate(tallies):
                cell.tallies[place] = cell.tallies.get(place, 0.0) + amount
            cell.exemplars = exemplars_of(exemplars) | cell.exemplars


def _row(cell: Cell) -> tuple[Any, ...]:
    many = max([_WIDTH - 1, *cell.tallies]) + 1 if cell.tallies else 0
    tallies = [cell.tallies.get(place, 0.0) for place in range(many)]
    # As arrays are written: the driver would look at each value twice.
    sums = ",".join("NULL" if each is None else repr(each) for each in cell.sums)
    return f"{{{sums}}}", f"{{{','.join(map(repr, tallies))}}}", json.dumps(cell.exemplars)


def totals_of(source: Source, *, team_id: str, with_exemplars: bool = False) -> Iterator[Total]:
    rows = SeriesTotal.objects.filter(
        labels__source=source, labels__cut=TOTAL_CUTS[source], labels__team_id=team_id
    )
    named = [f"labels__{each}" for each in _LABELS]
    kept = Cast("exemplars", TextField()) if with_exemplars else Value("{}")
    totals = rows.annotate(kept=kept, counts=Cast("tallies", TextField())).order_by(*named)
    columns = (*named, "sums", "counts", "kept")
    for deployment, environment, replica, status, sums, counts, stored in totals.values_list(
        *columns
    ):
        numbers = _numbers_in(counts)
        yield Total(deployment, environment, replica, status, sums, numbers, stored)


def _numbers_in(array: str) -> Sequence[str]:
    return array[1:-1].split(",") if array != "{}" else ()


def has_answered(*, model_ids: Collection[str]) -> bool:
    rows = SeriesTotal.objects.filter(labels__model_id__in=model_ids, labels__status_class="2xx")
    return rows.exists()
