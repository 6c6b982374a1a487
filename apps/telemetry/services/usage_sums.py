"""Running sums of usage, so that whoever asks for totals adds up nothing."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.telemetry import buckets
from apps.telemetry.models import UsageMinute, UsageSum

_LARGEST_SUM = 2**63 - 1
_WHOLE = ("requests", "prompt_tokens", "completion_tokens")
_SECONDS = ("duration_seconds_sum", "first_byte_seconds_sum")
_BUCKETED = ("duration_buckets", "first_byte_buckets")


@dataclass(frozen=True, order=True)
class _Place:
    deployment_id: str
    environment: str
    status_class: int


def usage_sums_add(*, minutes: Iterable[UsageMinute]) -> None:
    """Add what was counted anew; the caller is in the transaction that counts it."""
    more: dict[_Place, UsageSum] = {}
    for minute in minutes:
        place = _place(minute)
        _add(more.setdefault(place, UsageSum(**vars(place))), minute)
    # As with minutes: the rows exist, are locked, and are added to, in one order for everybody.
    new = [UsageSum(**vars(place)) for place in sorted(more)]
    UsageSum.objects.bulk_create(new, ignore_conflicts=True)
    ids = {place.deployment_id for place in more}
    rows = UsageSum.objects.filter(deployment_id__in=ids).order_by("id").select_for_update()
    changed = [row for row in rows if _place(row) in more]
    for row in changed:
        _add(row, more[_place(row)])
    UsageSum.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=[*_Place.__dataclass_fields__],
        update_fields=[*_WHOLE, *_SECONDS, *_BUCKETED],
    )


def _place(row: UsageMinute | UsageSum) -> _Place:
    return _Place(row.deployment_id, row.environment, row.status_class)


def _add(row: UsageSum, more: UsageMinute | UsageSum) -> None:
    for field in _WHOLE:
        setattr(row, field, min(getattr(row, field) + getattr(more, field), _LARGEST_SUM))
    for field in _SECONDS:
        setattr(row, field, getattr(row, field) + getattr(more, field))
    for field in _BUCKETED:
        if getattr(more, field):
            setattr(row, field, buckets.added(getattr(row, field), getattr(more, field)))
