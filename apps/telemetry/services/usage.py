"""Usage: closed requests of a gateway's journal, rolled up by the minute, counted exactly once."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import transaction
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from apps.telemetry.models import UsageJournal, UsageMinute
from apps.telemetry.series.requests import request_cells
from apps.telemetry.series.rows import deltas_write
from apps.telemetry.services.retention import USAGE_KEPT
from controlplane import clock
from controlplane.domain.skew import noticed
from controlplane.domain.storable import storable

_BEGUN = ("open", "running")
"""States that say nothing which the closed one does not."""
CLIENT_LEFT = 499
_FUTURE_SECONDS = 3600.0
"""How far a gateway's clock may be ahead of the database's."""
_LARGEST_SUM = 2**63 - 1
_log = logging.getLogger(__name__)
Count = Annotated[int, Field(ge=0, le=2**40)]
"""Of one request: what is past it is no count. 10,000 of them still fit the sum of a minute."""
Seconds = Annotated[float, Field(ge=0, le=1e8)]
Id = Annotated[str, Field(max_length=16, pattern=r"^[^\x00]*$")]


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
    state: Literal["closed"]
    at: float
    model_id: Id
    deployment_id: Id
    environment: str | None = Field(default=None, max_length=64, pattern=r"^[^\x00]*$")
    key_id: Id
    replica_id: Id | None = None
    status: Annotated[int, Field(ge=0, le=999)] | None = None
    stream: bool = False
    is_extra_route: bool = False
    traffic_mark: Id = ""
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    queue_seconds: Seconds | None = None
    first_byte_seconds: Seconds | None = None
    duration_seconds: Seconds | None = None
    request_bytes: Count | None = None
    response_bytes: Count | None = None

    @field_validator("at")
    @classmethod
    def _is_kept(cls, at: float, info: ValidationInfo) -> float:
        now = clock.now().timestamp()
        at = _in_our_time(at, (info.context or {}).get("sent_at"), now)
        if not now - USAGE_KEPT.total_seconds() < at < now + _FUTURE_SECONDS:
            raise ValueError("no time within what is kept, or ahead of the database's clock")
        return at

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


@dataclass(kw_only=True)
class SetAside:
    """Closed requests that cannot be counted.

    One of them must not block a journal for ever: it can never become countable.
    """

    requests: int = 0
    reason: str = ""
    """Why the last of them cannot be."""

    def add(self, what: str, why: str, *, requests: int = 1) -> None:
        """Take in `what`, and log it."""
        self.requests += requests
        self.reason = f"{what}: {why}"[:300]
        _log.error("usage is set aside: %s", self.reason)


def read_records(
    records: Sequence[object], set_aside: SetAside, *, sent_at: float | None = None
) -> list[UsageRecord]:
    """Return the closed requests in our time; those that cannot be read go to `set_aside`."""
    read = []
    context = {"sent_at": sent_at}
    for record in records:
        if isinstance(record, Mapping) and record.get("state") in _BEGUN:
            continue
        try:
            read.append(UsageRecord.model_validate(record, context=context))
        except ValidationError as error:
            set_aside.add(_named(record), _wrong_fields(error))
    return read


def _in_our_time(at: float, sent_at: float | None, now: float) -> float:
    """Return when it was by our clock: as long before its batch was sent as its gateway's says.

    What ended after it was sent was written before that clock was set back: it counts as of now.
    """
    if sent_at is None or not isfinite(at):
        return at
    return min(at, sent_at) - noticed(sent_at - now)


def _named(record: object) -> str:
    id = record.get("request_id") if isinstance(record, Mapping) else record
    return storable(f"request {str(id)[:64]}")  # type: ignore[no-any-return]


def _wrong_fields(error: ValidationError) -> str:
    wrong = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong)


@transaction.atomic
def usage_add(
    *,
    journal: UUID,
    gateway_name: str,
    from_offset: int,
    to_offset: int,
    records: Sequence[UsageRecord],
    set_aside: SetAside,
    team_ids: Mapping[str, str],
) -> tuple[int, bool]:
    """Return the committed offset, and whether this stretch was new. Raises OffsetMismatch.

    `team_ids` names the team of each model of the records.
    """
    UsageJournal.objects.bulk_create([UsageJournal(journal=journal)], ignore_conflicts=True)
    row = UsageJournal.objects.select_for_update().get(journal=journal)
    if to_offset <= row.committed_offset:
        return row.committed_offset, False
    if from_offset != row.committed_offset:
        raise OffsetMismatch(from_offset, row.committed_offset)
    _add_minutes(_rolled_up(records), set_aside)
    deltas_write(request_cells((each for each in records if not each.traffic_mark), team_ids))
    row.committed_offset, row.gateway_name = to_offset, gateway_name
    if set_aside.requests:
        row.set_aside = min(row.set_aside + set_aside.requests, _LARGEST_SUM)
        row.set_aside_reason, row.set_aside_at = set_aside.reason, clock.now()
    row.save()
    return to_offset, True


def _rolled_up(records: Sequence[UsageRecord]) -> dict[_Key, UsageMinute]:
    minutes: dict[_Key, UsageMinute] = {}
    for record in records:
        key = _key_of(record)
        if key not in minutes:
            minutes[key] = UsageMinute(
                model_id=record.model_id, traffic_mark=record.traffic_mark, **_identity(key)
            )
        _count(minutes[key], record)
    return minutes


def _count(minute: UsageMinute, record: UsageRecord) -> None:
    minute.requests += 1
    minute.extra_route_requests += record.is_extra_route
    minute.prompt_tokens += record.prompt_tokens or 0
    minute.completion_tokens += record.completion_tokens or 0
    minute.request_bytes += record.request_bytes or 0
    minute.response_bytes += record.response_bytes or 0


def _add_minutes(minutes: Mapping[_Key, UsageMinute], set_aside: SetAside) -> None:
    # Another gateway may be adding to the same minutes: make sure the rows exist, lock, add. All
    # in one order, so that two of them never wait for each other.
    UsageMinute.objects.bulk_create(
        [_new_minute(key, minutes[key]) for key in sorted(minutes)],
        ignore_conflicts=True,
    )
    keys = {key.minute for key in minutes}, {key.deployment_id for key in minutes}
    stored = list(
        UsageMinute.objects.filter(minute__in=keys[0], deployment_id__in=keys[1])
        .order_by("id")
        .select_for_update()
    )
    changed = [row for row in stored if _stored_key(row) in minutes]
    for row in changed:
        more = minutes[_stored_key(row)]
        if _fits(row, more):
            _merge(row, more)
        else:
            set_aside.add(f"minute {row}", "more than a sum can hold", requests=more.requests)
    # Not `bulk_update`, whose CASE of every row and column costs more than all the rest.
    UsageMinute.objects.bulk_create(
        changed, update_conflicts=True, unique_fields=[*_Key.__dataclass_fields__],
        update_fields=_COUNTED,
    )  # fmt: skip


def _new_minute(key: _Key, counted: UsageMinute) -> UsageMinute:
    return UsageMinute(
        model_id=counted.model_id, traffic_mark=counted.traffic_mark, **_identity(key)
    )


_COUNTED = (
    "requests", "extra_route_requests", "prompt_tokens", "completion_tokens", "request_bytes",
    "response_bytes",
)  # fmt: skip


def _fits(row: UsageMinute, more: UsageMinute) -> bool:
    return all(getattr(row, field) + getattr(more, field) <= _LARGEST_SUM for field in _COUNTED)


def _merge(row: UsageMinute, more: UsageMinute) -> None:
    for field in _COUNTED:
        setattr(row, field, getattr(row, field) + getattr(more, field))


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
