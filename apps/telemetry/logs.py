"""Stored logs: chunks keyed (owner, attempt, sequence), read back as lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DataError, connection, transaction
from django.db.models import Func, IntegerField, Max, Sum, Value
from django.db.models.functions import Coalesce

from apps.telemetry.models import LogChunk
from controlplane import clock
from controlplane.domain.redaction import Redactor

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LEVEL = re.compile(rf"\b({'|'.join(LEVELS)})\b")
_LEVEL_IS_NEAR_START = 60
_LINES_PER_CHUNK = 1_000_000
_SEARCH_LIMIT_MILLISECONDS = 5_000
_PATTERNS_ONLY = Redactor()


@dataclass(frozen=True, kw_only=True)
class LogLine:
    timestamp_nanoseconds: int
    message: str
    level: str | None
    owner: str
    cursor: int


class BadSearchPattern(ValueError):
    """The search pattern is not a regular expression that PostgreSQL can run in time."""


def log_append(*, owner: str, attempt: int, sequence: int, text: str) -> bool:
    """Return whether the chunk was kept: a repeat or one past the size cap is not.

    Whoever writes has redacted the values it knows; what looks like a secret goes here.
    """
    if not text:
        return False
    room_bytes = settings.LOG_MAX_BYTES - log_size_bytes(owner=owner, attempt=attempt)
    if room_bytes <= 0:
        return False
    chunk = LogChunk(
        owner=owner,
        attempt=attempt,
        sequence=sequence,
        text=_cut(_PATTERNS_ONLY.text(text.replace("\0", "")), room_bytes),
        created_at=clock.now(),
    )
    LogChunk.objects.bulk_create([chunk], ignore_conflicts=True)
    return True


def log_next_sequence(*, owner: str, attempt: int) -> int:
    chunks = LogChunk.objects.filter(owner=owner, attempt=attempt)
    last: int | None = chunks.aggregate(last=Max("sequence"))["last"]
    return 0 if last is None else last + 1


def log_size_bytes(*, owner: str, attempt: int) -> int:
    size = Sum(Func("text", function="octet_length", output_field=IntegerField()))
    chunks = LogChunk.objects.filter(owner=owner, attempt=attempt)
    total: int = chunks.aggregate(total=Coalesce(size, Value(0)))["total"]
    return total


def log_lines(
    *,
    owners: Sequence[str],
    attempt: int | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    after: int | None = None,
    newest_first: bool = False,
    limit: int = 500,
    search: str | None = None,
    min_level: str | None = None,
) -> list[LogLine]:
    """Return at most `limit` lines of the owners' logs, in the order of their writing.

    `after` is the cursor of the last line already known; `newest_first` turns the order round.
    `min_level` leaves out lines that name no level, too.

    Raises:
        BadSearchPattern: `search` cannot be run.
    """
    conditions, values = _conditions(owners, attempt, start, end, after)
    if search:
        conditions.append("line.text ~ %s")
        values.append(search)
    if min_level:
        conditions.append("substring(line.text for %s) ~ %s")
        values += [_LEVEL_IS_NEAR_START, _at_least(min_level)]
    direction = "DESC" if newest_first else "ASC"
    query = f"""
        SELECT chunk.owner, chunk.created_at, line.text, line.number, chunk.id
        FROM telemetry_logchunk AS chunk
        CROSS JOIN LATERAL unnest(string_to_array(rtrim(chunk.text, E'\\n'), E'\\n'))
            WITH ORDINALITY AS line(text, number)
        WHERE {" AND ".join(conditions)}
        ORDER BY chunk.id {direction}, line.number {direction}
        LIMIT %s
    """  # nosec B608 (conditions are our own words; values travel beside them)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {_SEARCH_LIMIT_MILLISECONDS}")
            cursor.execute(query, [*values, limit])
            return [_line(*row) for row in cursor.fetchall()]
    except DataError as error:
        raise BadSearchPattern(str(error).splitlines()[0]) from error


def log_prune() -> int:
    horizon = clock.now() - timedelta(days=settings.LOG_RETENTION_DAYS)
    return LogChunk.objects.filter(created_at__lt=horizon).delete()[0]


def _conditions(
    owners: Sequence[str],
    attempt: int | None,
    start: datetime | None,
    end: datetime | None,
    after: int | None,
) -> tuple[list[str], list[Any]]:
    conditions: list[tuple[str, list[Any]]] = [("chunk.owner = ANY(%s)", [list(owners)])]
    if attempt is not None:
        conditions.append(("chunk.attempt = %s", [attempt]))
    if start is not None:
        conditions.append(("chunk.created_at >= %s", [start]))
    if end is not None:
        conditions.append(("chunk.created_at < %s", [end]))
    if after is not None:
        chunk_id, number = divmod(after, _LINES_PER_CHUNK)
        # The first alone keeps older chunks from being cut into lines.
        conditions.append(("chunk.id >= %s", [chunk_id]))
        conditions.append(("(chunk.id, line.number) > (%s, %s)", [chunk_id, number]))
    return [text for text, _ in conditions], [value for _, values in conditions for value in values]


def _at_least(level: str) -> str:
    return rf"\y({'|'.join(LEVELS[LEVELS.index(level) :])})\y"


def _line(owner: str, created_at: datetime, text: str, number: int, chunk_id: int) -> LogLine:
    level = _LEVEL.search(text, 0, _LEVEL_IS_NEAR_START)
    return LogLine(
        # Lines of one chunk were stored together: the number keeps them apart and in order.
        timestamp_nanoseconds=_nanoseconds(created_at) + number - 1,
        message=text,
        level=level.group(1) if level else None,
        owner=owner,
        cursor=chunk_id * _LINES_PER_CHUNK + number,
    )


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1_000


def _cut(text: str, room_bytes: int) -> str:
    encoded = text.encode()
    if len(encoded) <= room_bytes:
        return text
    kept = encoded[:room_bytes].decode(errors="ignore")
    return (
        f"{kept}\n[The log was cut here: it reached {settings.LOG_MAX_BYTES:,} bytes "
        "(LOG_MAX_BYTES), and later lines are not kept.]\n"
    )
