"""Facts of a checkpoint: asked for by checks, read in the background, kept until they are old.

A record keeps showing what it last knew while it is read again: it is claimable whenever it was
asked for after it was last read.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import DateTimeField, F, Func, Q, QuerySet
from django.utils.crypto import constant_time_compare

from apps.accounts.hashing import new_secret, sha256_hex
from apps.accounts.models import Team
from apps.configs.models import CheckpointRecord, FactsState
from apps.configs.queue import facts_send
from apps.secrets.models import Secret
from controlplane import clock
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures import Failure
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME

LEASE_SECONDS = 10.0
RENEW_SECONDS = 3.0
RETRY_AFTER = timedelta(minutes=1)
"""How long a failure stands before the next check tries again."""
REFRESH_AFTER = timedelta(hours=1)
"""How long facts of a branch or folder stand; its owner may have changed it."""
SEND_AGAIN_AFTER = timedelta(seconds=5)
FORGET_AFTER = timedelta(days=30)
_SWEEP_LOCK = 4_702_111_002
_NOW = Func(function="clock_timestamp", output_field=DateTimeField())


@dataclass(frozen=True, kw_only=True)
class FactsLease:
    """What a worker holds: the token of its write, and the secret that redeems the hub token."""

    facts_id: str
    token: int
    secret: str = field(repr=False)
    checkpoint: CheckpointRepository
    needs_secret: bool


def facts_request(*, team: Team, checkpoint: CheckpointRepository, secret: str) -> CheckpointRecord:
    """Return the record of a checkpoint as it is now, having asked for it where that is due."""
    now = clock.now()
    record, is_new = CheckpointRecord.objects.get_or_create(
        team=team,
        source=checkpoint.source,
        repo=checkpoint.repo,
        revision=checkpoint.revision or "",
        secret_name=secret,
        defaults={"requested_at": now},
    )
    if is_new:
        facts_send(facts_id=record.id)
    elif _is_due(record, now):
        asked = CheckpointRecord.objects.filter(id=record.id, requested_at=record.requested_at)
        if asked.update(requested_at=now):
            facts_send(facts_id=record.id)
    return record


def facts_claim(*, facts_id: str) -> FactsLease | None:
    """Return a lease on a record that wants reading and that nobody reads."""
    secret = new_secret()
    with transaction.atomic():
        taken = _claimable().filter(id=facts_id)
        if not taken.update(
            lease_token=F("lease_token") + 1,
            lease_expires_at=_in_one_lease(),
            lease_secret_sha256=sha256_hex(secret),
        ):
            return None
        record = CheckpointRecord.objects.get(id=facts_id)
    return FactsLease(
        facts_id=facts_id,
        token=record.lease_token,
        secret=secret,
        checkpoint=CheckpointRepository.model_validate(
            {
                "source": record.source,
                "repo": record.repo,
                "revision": record.revision or None,
                "runtime_secret_name": record.secret_name or DEFAULT_SECRET_NAME,
            }
        ),
        needs_secret=bool(record.secret_name),
    )


def facts_renew(*, lease: FactsLease) -> bool:
    """Return whether the lease still stands, renewed."""
    held = _held(lease).filter(lease_expires_at__gt=_NOW)
    return bool(held.update(lease_expires_at=_in_one_lease()))


def facts_finish(*, lease: FactsLease, read: CheckpointFacts | Failure) -> bool:
    """Return whether the result was stored; that of a worker whose lease was taken is dropped."""
    if isinstance(read, Failure):
        outcome = _outcome(state=FactsState.FAILED, failure=read.to_json())
    else:
        outcome = _outcome(
            state=FactsState.READY, facts=read.model_dump(mode="json"), commit=read.commit or ""
        )
    ended = {"fetched_at": _NOW, "lease_expires_at": None, "lease_secret_sha256": ""}
    return bool(_held(lease).update(**outcome, **ended))


def facts_redeemable(*, facts_id: str, token: int, secret: str) -> CheckpointRecord | None:
    """Return the record when token and secret are those of its live lease."""
    record = (
        CheckpointRecord.objects.select_related("team")
        .filter(id=facts_id, lease_token=token, lease_expires_at__gt=_NOW)
        .first()
    )
    if record is None or not constant_time_compare(record.lease_secret_sha256, sha256_hex(secret)):
        return None
    return record


def facts_sweep() -> int:
    """Return how many records were sent again because their message or their worker was lost."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_SWEEP_LOCK])
            if not cursor.fetchone()[0]:
                return 0
        now = clock.now()
        CheckpointRecord.objects.filter(requested_at__lt=now - FORGET_AFTER).delete()
        overdue = _claimable().filter(requested_at__lt=now - SEND_AGAIN_AFTER)
        ids = list(overdue.order_by("requested_at").values_list("id", flat=True)[:100])
    for facts_id in ids:
        facts_send(facts_id=facts_id)
    return len(ids)


def _is_due(record: CheckpointRecord, now: datetime) -> bool:
    if record.fetched_at is None or record.requested_at > record.fetched_at:
        return False
    age = now - record.fetched_at
    if record.state == FactsState.READY:
        return age > REFRESH_AFTER and record.revision != record.commit
    return age > RETRY_AFTER or _secret_is_newer(record)


def _secret_is_newer(record: CheckpointRecord) -> bool:
    secrets = Secret.objects.filter(team_id=record.team_id, name=record.secret_name)
    return secrets.filter(updated_at__gt=record.fetched_at).exists()


def _claimable() -> QuerySet[CheckpointRecord]:
    unread = Q(fetched_at=None) | Q(requested_at__gt=F("fetched_at"))
    free = Q(lease_expires_at=None) | Q(lease_expires_at__lte=_NOW)
    return CheckpointRecord.objects.filter(unread, free)


def _held(lease: FactsLease) -> QuerySet[CheckpointRecord]:
    return CheckpointRecord.objects.filter(id=lease.facts_id, lease_token=lease.token)


def _outcome(**known: Any) -> dict[str, Any]:
    return {"facts": None, "failure": None, "commit": ""} | known


def _in_one_lease() -> object:
    return _NOW + timedelta(seconds=LEASE_SECONDS)
