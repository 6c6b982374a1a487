"""Reads of series: `query` answers every page, program and rule, with gaps where nothing was."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from apps.rest.errors import InvalidInput
from apps.telemetry.series.models import SeriesLabels
from apps.telemetry.series.names import BY_NAME, COVERAGE, CUTS, Kind, Series, Source, slots_of
from apps.telemetry.series.points import Point, merge, statistics_of
from apps.telemetry.series.resolutions import Resolution
from apps.telemetry.series.rows import moment
from apps.telemetry.series.steps import step_for
from controlplane import clock

_DAY_SECONDS = 86_400
LONGEST_SECONDS = 2 * 366 * 86_400
_ROWS = """
    SELECT labels_id, extract(epoch FROM at)::bigint,
        sums[%(sum)s], sums[%(sum)s + 1], sums[%(sum)s + 2], sketches[%(sketch)s]
    FROM telemetry_series
    WHERE resolution_seconds = %(resolution)s AND labels_id = ANY(%(labels)s)
        AND at >= %(start)s AND at < %(end)s
"""
_SUMS = """
    SELECT {columns} FROM telemetry_series
    WHERE resolution_seconds = %s AND labels_id = ANY(%s) AND at >= %s AND at < %s
"""
_Group = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Line:
    labels: Mapping[str, str]
    """What it was grouped by."""
    values: Mapping[str, Sequence[float | None]]
    """Statistic -> a value for each time; None where nothing was measured."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    series: Series
    times: Sequence[int]
    """Where each step begins, in seconds since the epoch."""
    step_seconds: int
    resolution_seconds: int
    """Of the buckets that it was read from."""
    lines: Sequence[Line]


def query(
    name: str,
    *,
    start: datetime,
    end: datetime,
    team_id: str,
    step_seconds: int | None = None,
    group_by: Sequence[str] = (),
    filters: Mapping[str, Sequence[str]] | None = None,
    as_one: bool = False,
    now: datetime | None = None,
) -> Answer:
    """Return the series of a team in `[start, end)`, or one point of it all. Raises InvalidInput.

    The step is at least the one asked for: longer where shorter buckets are no longer kept, or
    where there would be more of them than can be read at once; the answer says which it is.
    """
    series = series_named(name)
    present = (now or clock.now()).timestamp()
    begin, until = _range_of(start, end, present)
    groups = _groups(series, team_id, group_by, filters or {}, begin)
    step, resolution = _step(series, len(groups), (begin, until), step_seconds, present)
    times = range(int(begin // step) * step, int(until), step)
    if as_one:
        first = int(begin // resolution.seconds) * resolution.seconds
        times = range(first, first + 1, max(1, int(until) - first))
    # Without `group_by` there is one line, whether or not anything was measured.
    points = _points(series, groups, resolution, times) or ({} if group_by else {(): {}})
    covered = _covered(series, resolution, times)
    labelled = [(dict(zip(group_by, each, strict=True)), points[each]) for each in sorted(points)]
    lines = [_line(series, *each, times, covered, present) for each in labelled]
    return Answer(series=series, times=times, step_seconds=times.step,
                  resolution_seconds=resolution.seconds, lines=lines)  # fmt: skip


def sums_of(
    names: Sequence[str],
    *,
    start: datetime,
    end: datetime,
    team_id: str,
    filters: Mapping[str, Sequence[str]],
    now: datetime | None = None,
) -> Mapping[str, float | None]:
    """Return what counters of one source add up to in `[start, end)`. Raises InvalidInput."""
    series = [series_named(each) for each in names]
    present = (now or clock.now()).timestamp()
    begin, until = _range_of(start, end, present)
    groups = _groups(series[0], team_id, (), filters, begin)
    _, resolution = _step(series[0], len(groups), (begin, until), None, present)
    first = int(begin // resolution.seconds) * resolution.seconds
    slots = slots_of(series[0].source)
    # Places of our own catalogue.
    columns = ", ".join(f"sum(sums[{slots[each].sums + 1}])" for each in names)
    with connection.cursor() as cursor:
        parameters: list[Any] = [resolution.seconds, list(groups), moment(first), moment(until)]
        cursor.execute(_SUMS.format(columns=columns), parameters)
        return dict(zip(names, cursor.fetchone(), strict=True))


def step_of(
    name: str,
    *,
    start: datetime,
    end: datetime,
    team_id: str,
    group_by: Sequence[str] = (),
    filters: Mapping[str, Sequence[str]] | None = None,
    now: datetime | None = None,
) -> int:
    """Return the step that `query` would choose by itself. Raises InvalidInput."""
    series = series_named(name)
    present = (now or clock.now()).timestamp()
    query_range = _range_of(start, end, present)
    groups = _groups(series, team_id, group_by, filters or {}, query_range[0])
    return _step(series, len(groups), query_range, None, present)[0]


def series_named(name: str) -> Series:
    """Return the series of that name. Raises InvalidInput."""
    if name not in BY_NAME:
        raise InvalidInput(
            f"There is no series `{name}`.",
            fields=["series"],
            hint=f"There are {', '.join(f'`{each}`' for each in sorted(BY_NAME))}.",
        )
    return BY_NAME[name]


def _step(
    series: Series, label_sets: int, range: tuple[float, float], requested: int | None, now: float
) -> tuple[int, Resolution]:
    start, end = range
    step = step_for(start=start, end=end, label_sets=label_sets, requested=requested, now=now)
    if step is None:
        raise InvalidInput(
            f"`{series.name}` has {label_sets} label sets there, too many for one answer.",
            fields=["group_by"],
            hint="Filter by a model or a deployment, or ask for a shorter range.",
        )
    return step


def _range_of(start: datetime, end: datetime, now: float) -> tuple[float, float]:
    begin, until = start.timestamp(), min(end.timestamp(), now)
    if not 0 < until - begin <= LONGEST_SECONDS:
        raise InvalidInput(
            f"From {start.isoformat()} to {end.isoformat()} is no time within the last two years.",
            fields=["start", "end"],
            hint="The start lies before the end and before now.",
        )
    return begin, until


def _groups(
    series: Series,
    team_id: str,
    group_by: Sequence[str],
    filters: Mapping[str, Sequence[str]],
    since: float,
) -> Mapping[int, _Group]:
    """Return label set -> the line that it belongs to."""
    cut = _cut_with(series, {*group_by, *filters})
    rows = SeriesLabels.objects.filter(
        source=series.source, cut=cut, team_id=team_id,
        **{f"{name}__in": values for name, values in filters.items()},
    )  # fmt: skip
    rows = rows.filter(last_at__gte=moment(max(0.0, since - _DAY_SECONDS)))
    return {id: tuple(values) for id, *values in rows.values_list("id", *group_by)}


def _cut_with(series: Series, labels: set[str]) -> str:
    cuts = CUTS[series.source]
    for name, kept in cuts.items():
        if labels <= set(kept):
            return name
    each = " or ".join(", ".join(f"`{label}`" for label in kept) for kept in cuts.values())
    raise InvalidInput(
        f"`{series.name}` is not kept by {', '.join(f'`{label}`' for label in sorted(labels))}"
        " together.",
        fields=["group_by", "filter"],
        hint=f"It is kept by {each}.",
    )


def _points(
    series: Series, groups: Mapping[int, _Group], resolution: Resolution, times: range
) -> dict[_Group, dict[int, Point]]:
    by_group: dict[_Group, dict[int, Point]] = defaultdict(dict)
    rows = _rows(series, list(groups), resolution, times)
    for labels_id, at, first, second, third, sketch in rows:
        points = by_group[groups[labels_id]]
        begin = at - (at - times.start) % times.step
        if begin not in points:
            points[begin] = Point(series)
        points[begin].take(labels_id, first, second, third, sketch)
    merge(point for of_group in by_group.values() for point in of_group.values())
    return by_group


def _rows(
    series: Series, label_ids: Sequence[int], resolution: Resolution, times: range
) -> list[tuple[int, int, float | None, float | None, float | None, bytes | None]]:
    slots = slots_of(series.source)[series.name]
    parameters: dict[str, Any] = {
        "sum": slots.sums + 1,
        "sketch": slots.sketch + 1 if series.kind is Kind.DISTRIBUTION else 0,
        "resolution": resolution.seconds,
        "labels": label_ids,
        "start": moment(times.start),
        "end": moment(times.start + len(times) * times.step),
    }
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, parameters)
        return list(cursor.fetchall())


def _covered(series: Series, resolution: Resolution, times: range) -> frozenset[int]:
    """Return the steps in which a gateway was heard: no request there is none, and not a gap."""
    if series.source is not Source.GATEWAY or series.kind is not Kind.COUNTER:
        return frozenset()
    coverage = BY_NAME[COVERAGE]
    ids = SeriesLabels.objects.filter(source=coverage.source, team_id="", deployment_id="")
    rows = _rows(coverage, list(ids.values_list("id", flat=True)), resolution, times)
    reported_at = (at for _, at, _, _, most, _ in rows if most)
    return frozenset(at - (at - times.start) % times.step for at in reported_at)


def _line(
    series: Series,
    labels: Mapping[str, str],
    points: Mapping[int, Point],
    times: range,
    covered: frozenset[int],
    now: float,
) -> Line:
    values: dict[str, list[float | None]] = {name: [] for name in statistics_of(series)}
    none = Point(series)
    zero = Point(series)
    zero.take(0, 0.0, None, None, None)
    for at in times:
        point = points.get(at, zero if at in covered else none)
        statistics = point.statistics(seconds=min(times.step, now - at))
        for name, value in statistics.items():
            values[name].append(value)
    return Line(labels=labels, values=values)
