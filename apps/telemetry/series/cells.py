"""Cells: what one bucket of one label set holds, and how two of them become one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from apps.telemetry.series.names import CUTS, LABELS, Source, highest_of, slots_of, widths_of
from apps.telemetry.series.sketches import Sketch
from apps.telemetry.series.tallies import TALLIES

FINEST_SECONDS = 10


class Place(NamedTuple):
    """Whose cell it is: of a source, a cut of it (empty: all labels), its labels, its bucket."""

    source: Source
    cut: str
    labels: tuple[str, ...]
    """Values of `LABELS`."""
    at: int
    """Where the bucket begins, in seconds since the epoch."""

    @property
    def label_set(self) -> tuple[Source, str, tuple[str, ...]]:
        return self.source, self.cut, self.labels

    def within(self, cut: str) -> "Place":
        """Return where it counts in a breakdown: its labels without those that it has not."""
        kept = CUTS[self.source][cut]
        labels = tuple(
            value if name in kept else "" for name, value in zip(LABELS, self.labels, strict=True)
        )
        return self._replace(cut=cut, labels=labels)


class Exemplar(NamedTuple):
    """One request of a histogram's bucket, so that someone finds its log line."""

    value: float
    request_id: str
    at: float


class Cell:
    """Sums and sketches by slot; None where nothing was measured. Tallies by their place."""

    __slots__ = ("exemplars", "sketches", "source", "sums", "tallies")

    def __init__(self, source: Source) -> None:
        sums, sketches = widths_of(source)
        self.source = source
        self.sums: list[float | None] = [None] * sums
        self.sketches: list[Sketch | None] = [None] * sketches
        self.tallies: dict[int, float] = {}
        self.exemplars: dict[int, Exemplar] = {}

    def merge(self, sums: Sequence[float | None], sketches: Sequence[bytes | None]) -> None:
        """Add a stored cell; one of an earlier release has fewer slots, one of a later one more."""
        self.sums += [None] * (len(sums) - len(self.sums))
        self.sketches += [None] * (len(sketches) - len(self.sketches))
        self._merge_sums(sums)
        for slot, content in enumerate(sketches):
            if content is not None:
                self._sketch(slot).take(content)

    def merge_cell(self, other: "Cell") -> None:
        self.merge(other.sums, ())
        self.sketches += [None] * (len(other.sketches) - len(self.sketches))
        for slot, sketch in enumerate(other.sketches):
            if sketch is not None:
                self._sketch(slot).merge(sketch)

    def merge_totals(self, other: "Cell") -> None:
        """Add what running sums are made of: sums and tallies, and no sketches."""
        self.merge(other.sums, ())
        for place, amount in other.tallies.items():
            self.tallies[place] = self.tallies.get(place, 0.0) + amount
        self.exemplars |= other.exemplars

    def count(self, name: str, amount: float) -> None:
        self._add(slots_of(self.source)[name].sums, float(amount))

    def look(self, name: str, value: float) -> None:
        slot = slots_of(self.source)[name].sums
        self._merge_at(slot, (1.0, float(value), float(value)))

    def observe(self, name: str, value: float) -> None:
        slots = slots_of(self.source)[name]
        self._add(slots.sums, float(value))
        self._sketch(slots.sketch).add(value)

    def tally(self, name: str, value: float) -> int:
        """Take one value into a histogram; return the place of its bucket."""
        tally, tallies = TALLIES[name], self.tallies
        place = tally.place_of(value)
        tallies[place] = tallies.get(place, 0.0) + 1
        tallies[tally.sum_at] = tallies.get(tally.sum_at, 0.0) + value
        return place

    def sketch_bytes(self) -> list[bytes | None]:
        return [None if each is None else each.to_bytes() for each in self.sketches]

    def _merge_sums(self, sums: Sequence[float | None]) -> None:
        self._merge_at(0, sums)

    def _merge_at(self, first: int, sums: Sequence[float | None]) -> None:
        highest = highest_of(self.source)
        for slot, value in enumerate(sums, start=first):
            if value is None:
                continue
            before = self.sums[slot]
            if before is not None and slot in highest:
                self.sums[slot] = max(before, value)
            else:
                self.sums[slot] = value if before is None else before + value

    def _add(self, slot: int, amount: float) -> None:
        before = self.sums[slot]
        self.sums[slot] = amount if before is None else before + amount

    def _sketch(self, slot: int) -> Sketch:
        sketch = self.sketches[slot]
        if sketch is None:
            sketch = self.sketches[slot] = Sketch()
        return sketch


@dataclass
class Cells:
    """Cells by their place, made when first asked for."""

    by_place: dict[Place, Cell] = field(default_factory=dict)

    def at(self, source: Source, moment: float, labels: Mapping[str, str]) -> Cell:
        at = int(moment // FINEST_SECONDS) * FINEST_SECONDS
        values = tuple(labels.get(name, "") for name in LABELS)
        return self.of(Place(source, "", values, at))

    def of(self, place: Place) -> Cell:
        cell = self.by_place.get(place)
        if cell is None:
            cell = self.by_place[place] = Cell(place.source)
        return cell

    def __iter__(self) -> Iterator[tuple[Place, Cell]]:
        return iter(self.by_place.items())

    def __len__(self) -> int:
        return len(self.by_place)
