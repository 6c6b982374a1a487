"""What gateways hand in: usage, counted once, and the keys that it was caused by."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import ApiKey
from apps.deployments.environments.rolling.samples import samples_add
from apps.deployments.models import ServedModel
from apps.fleet.models import Gateway
from apps.telemetry.services.usage import SetAside, UsageRecord, read_records, usage_add


@transaction.atomic
def usage_ingest(
    *,
    journal: UUID,
    gateway: Gateway,
    from_offset: int,
    to_offset: int,
    records: Sequence[object],
    sent_at: float | None = None,
) -> int:
    """Return the offset up to which the journal is counted, after this stretch of it.

    `sent_at` is what the gateway's clock said then, by which the records' times are read.

    Raises OffsetMismatch where the stretch does not begin at what is counted already.
    """
    set_aside = SetAside()
    read = read_records(records, set_aside, sent_at=sent_at)
    committed, is_new = usage_add(
        journal=journal,
        gateway_name=gateway.name,
        from_offset=from_offset,
        to_offset=to_offset,
        records=read,
        set_aside=set_aside,
        team_ids=_teams_of({each.model_id for each in read}),
    )
    if is_new:
        _touch_keys(read)
        samples_add(read)
    return committed


def _teams_of(model_ids: Collection[str]) -> dict[str, str]:
    rows = ServedModel.objects.filter(id__in=model_ids)
    return dict(rows.values_list("id", "team_id"))


def _touch_keys(records: Sequence[UsageRecord]) -> None:
    latest: dict[str, float] = {}
    for record in records:
        latest[record.key_id] = max(record.at, latest.get(record.key_id, 0.0))
    # In one order, so that two gateways never wait for each other.
    for key_id, at in sorted(latest.items()):
        moment = datetime.fromtimestamp(at, tz=UTC)
        older = Q(last_used_at=None) | Q(last_used_at__lt=moment)
        ApiKey.objects.filter(older, id=key_id).update(last_used_at=moment)
