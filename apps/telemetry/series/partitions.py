"""Partitions by time: made ahead of what is written, dropped whole once they are past retention."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from django.db import connection
from psycopg import sql

from apps.telemetry.series.resolutions import Resolution, resolutions

_NAME = re.compile(r"(telemetry_series_\d+)_from_(-?\d+)")
_AHEAD = 2
"""How many partitions there are after the present one: a sweep that is late finds room."""
_WAIT = "SET LOCAL lock_timeout = '2s'"
_CHILDREN = """
    SELECT child.relname FROM pg_inherits
    JOIN pg_class AS child ON child.oid = inhrelid
    JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE parent.relname = ANY(%s)
"""


def partitions_make(*, now: float, extra: Iterable[tuple[Resolution, int]] = ()) -> int:
    """Return how many partitions were made: around now, and for `extra` moments.

    The caller is in a transaction, and alone.
    """
    every = resolutions()
    needed = {(each.table, begin): each for each in every for begin in _around(each, now)}
    needed |= {(each.table, _begin(each, at)): each for each, at in extra}
    missing = needed.keys() - _known(every)
    for table, begin in sorted(missing):
        _make(needed[table, begin], begin)
    return len(missing)


def partitions_drop(*, now: float) -> int:
    """Return how many partitions past retention were dropped. Raises OperationalError.

    That is where a reader holds them for longer than anyone should be kept waiting behind it. The
    caller is in a transaction of its own, and alone.
    """
    every = resolutions()
    old = [*_past_retention(every, _known(every), now)]
    if old:
        with connection.cursor() as cursor:
            cursor.execute(_WAIT)
    for resolution, begin in old:
        _drop(resolution, begin)
    return len(old)


def _past_retention(
    every: Iterable[Resolution], known: Iterable[tuple[str, int]], now: float
) -> Iterator[tuple[Resolution, int]]:
    of_table = {each.table: each for each in every}
    for table, begin in known:
        resolution = of_table[table]
        if begin + resolution.span_seconds < now - resolution.kept_seconds:
            yield resolution, begin


def _known(every: Iterable[Resolution]) -> set[tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_CHILDREN, [[each.table for each in every]])
        names = [_NAME.fullmatch(name) for (name,) in cursor.fetchall()]
    return {(each[1], int(each[2])) for each in names if each}


def _around(resolution: Resolution, now: float) -> list[int]:
    begin = _begin(resolution, now)
    return [begin + ahead * resolution.span_seconds for ahead in range(_AHEAD + 1)]


def _begin(resolution: Resolution, at: float) -> int:
    return int(at // resolution.span_seconds) * resolution.span_seconds


def _make(resolution: Resolution, begin: int) -> None:
    # Made beside and then attached: that waits for no reader, as making it in place would.
    name = _identifier(resolution, begin)
    parent = sql.Identifier(resolution.table)
    make = sql.SQL("CREATE TABLE {} (LIKE {}) WITH (fillfactor=80)")
    attach = sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})")
    bounds = [_moment(begin), _moment(begin + resolution.span_seconds)]
    with connection.cursor() as cursor:
        cursor.execute(make.format(name, parent))
        cursor.execute(attach.format(parent, name, *bounds))


def _drop(resolution: Resolution, begin: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DROP TABLE {}").format(_identifier(resolution, begin)))


def _identifier(resolution: Resolution, begin: int) -> sql.Identifier:
    return sql.Identifier(f"{resolution.table}_from_{begin}")


def _moment(at: int) -> sql.Literal:
    return sql.Literal(datetime.fromtimestamp(at, UTC).isoformat())
