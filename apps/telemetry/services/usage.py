"""Usage: closed requests of a gateway's journal, rolled up by the minute, counted exactly once."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from apps.telemetry import buckets
from apps.telemetry.models import UsageJournal, UsageMinute

CLOSED = "closed"
CLIENT_LEFT = 499
_LATEST_EPOCH = 4_102_444_800  # the year 2100: whatever is later is a broken clock
_log = logging.getLogger(__name__)
Count = Annotated[int, Field(ge=0, lt=2**53)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class OffsetMismatch(Exception):
    """The stretch does not begin where counting ended."""

    def __init__(self, from_offset: int, committed_offset: int) -> None:
        super().__init__(
            f"This stretch begins at {from_offset}, and the journal is counted up to "
            f"{committed_offset}."
        )
        self.committed_offset = committed_offset


class UsageRecord(BaseModel):
    """One line of a gateway's journal; unknown fields are of a newer gateway."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    request_id: str
    state: str
    at: Annotated[float, Field(gt=0, lt=_LATEST_EPOCH)]
    model_id: str = Field(max_length=16)
    deployment_id: str = Field(max_length=16)
    environment: str | None = Field(default=None, max_length=64)
    key_id: str = Field(max_length=16)
    status: int | None = None
    stream: bool = False
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    first_byte_seconds: Seconds | None = None
    duration_seconds: Seconds | None = None
    request_bytes: Count | None = None
    response_bytes: Count | None = None

    @property
    def first_token_seconds(self) -> float | None:
        """None unless streamed: the first byte of a whole answer waits for the last token."""
        return self.first_byte_seconds if self.stream else None

    @property
    def status_class(self) -> int:
        """2, 4 or 5; 0 where the client left or the gateway was killed."""
        if self.status is None or self.status == CLIENT_LEFT:
            return 0
        return {4: 4, 5: 5}.get(self.status // 100, 2)


@dataclass(frozen=True, kw_only=True, order=True)
class _Key:
    minute: datetime
    deployment_id: str
    environment: str
    key_id: str
    status_class: int


def read_records(records: Sequence[Mapping[str, Any]]) -> list[UsageRecord]:
    """Return the closed requests; a line that cannot be read is logged and left out.

    One bad line must not block a journal for ever: it can never become readable.
    """
    read = []
    for record in records:
        if record.get("state") != CLOSED:
            continue
        try:
            read.append(UsageRecord.model_validate(record))
        except ValidationError as error:
            wrong = ", ".join(str(each["loc"]) for each in error.errors(include_input=False))
            _log.error("usage record %.64s is left out: %s", record.get("request_id"), wrong)
    return read


@transaction.atomic
def usage_add(
    *, journal: UUID, from_offset: int, to_offset: int, records: Sequence[UsageRecord]
) -> tuple[int, bool]:
    """Return the committed offset, and whether this stretch was new. Raises OffsetMismatch."""
    UsageJournal.objects.bulk_create([UsageJournal(journal=journal)], ignore_conflicts=True)
    row = UsageJournal.objects.select_for_update().get(journal=journal)
    if to_offset <= row.committed_offset:
        return row.committed_offset, False
    if from_offset != row.committed_offset:
        raise OffsetMismatch(from_offset, row.committed_offset)
    _add_minutes(_rolled_up(records))
    row.committed_offset = to_offset
    row.save(update_fields=["committed_offset", "updated_at"])
    return to_offset, True


def _rolled_up(records: Sequence[UsageRecord]) -> dict[_Key, UsageMinute]:
    minutes: dict[_Key, UsageMinute] = {}
    for record in records:
        key = _key_of(record)
        if key not in minutes:
            minutes[key] = UsageMinute(model_id=record.model_id, **_identity(key))
        _count(minutes[key], record)
    return minutes


def _count(minute: UsageMinute, record: UsageRecord) -> None:
    minute.requests += 1
    minute.prompt_tokens += record.prompt_tokens or 0
    minute.completion_tokens += record.completion_tokens or 0
    minute.request_bytes += record.request_bytes or 0
    minute.response_bytes += record.response_bytes or 0
    if record.duration_seconds is not None:
        minute.duration_seconds_sum += record.duration_seconds
        minute.duration_buckets = _one_more(minute.duration_buckets, record.duration_seconds)
    if record.first_token_seconds is not None:
        minute.first_byte_seconds_sum += record.first_token_seconds
        minute.first_byte_buckets = _one_more(minute.first_byte_buckets, record.first_token_seconds)


def _one_more(counts: list[int], seconds: float) -> list[int]:
    counts = counts or buckets.empty()
    counts[buckets.index_of(seconds)] += 1
    return counts


def _add_minutes(minutes: Mapping[_Key, UsageMinute]) -> None:
    # Another gateway may be adding to the same minutes: make sure the rows exist, lock, add. All
    # in one order, so that two of them never wait for each other.
    UsageMinute.objects.bulk_create(
        [UsageMinute(model_id=minutes[key].model_id, **_identity(key)) for key in sorted(minutes)],
        ignore_conflicts=True,
    )
    wanted = {key.minute for key in minutes}, {key.deployment_id for key in minutes}
    stored = list(
        UsageMinute.objects.filter(minute__in=wanted[0], deployment_id__in=wanted[1])
        .order_by("id")
        .select_for_update()
    )
    changed = [row for row in stored if _stored_key(row) in minutes]
    for row in changed:
        _merge(row, minutes[_stored_key(row)])
    UsageMinute.objects.bulk_update(changed, _COUNTED)


_SUMMED = (
    "requests",
    "prompt_tokens",
    "completion_tokens",
    "request_bytes",
    "response_bytes",
    "duration_seconds_sum",
    "first_byte_seconds_sum",
)
_BUCKETED = ("duration_buckets", "first_byte_buckets")
_COUNTED = (*_SUMMED, *_BUCKETED)


def _merge(row: UsageMinute, more: UsageMinute) -> None:
    for field in _SUMMED:
        setattr(row, field, getattr(row, field) + getattr(more, field))
    for field in _BUCKETED:
        setattr(row, field, buckets.added(getattr(row, field), getattr(more, field)))


def _key_of(record: UsageRecord) -> _Key:
    return _Key(
        minute=datetime.fromtimestamp(record.at - record.at % 60, tz=UTC),
        deployment_id=record.deployment_id,
        environment=record.environment or "",
        key_id=record.key_id,
        status_class=record.status_class,
    )


def _stored_key(row: UsageMinute) -> _Key:
    return _Key(**{field: getattr(row, field) for field in _Key.__dataclass_fields__})


def _identity(key: _Key) -> dict[str, Any]:
    return {field: getattr(key, field) for field in _Key.__dataclass_fields__}
