"""Facts of a checkpoint: asked for by checks, read in the background, kept until they are old.

Facts keep showing while they are read again: a record is claimable whenever it was asked for after
it was last read. A failure does not: its cause may be mended, so checks wait for the new answer.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from apps.accounts.models import Team
from apps.configs.leasing import FACTS
from apps.configs.models import CheckpointRecord, FactsState
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease
from apps.leases.queue import work_send
from apps.leases.services import lease_end
from apps.secrets.models import Secret
from controlplane import clock
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures import Failure
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME

RETRY_AFTER = timedelta(minutes=1)
"""How long a failure stands before the next check tries again."""
REFRESH_AFTER = timedelta(hours=1)
"""How long facts of a branch or folder stand; its owner may have changed it."""


@dataclass(frozen=True, kw_only=True)
class FactsToRead:
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
        work_send(FACTS, record)
    elif _is_due(record, now):
        record_rows = CheckpointRecord.objects.filter(
            id=record.id, requested_at=record.requested_at
        )
        if record_rows.update(requested_at=now, lease_claims=0):
            work_send(FACTS, record)
        record.requested_at = now
    return record


def is_awaited(record: CheckpointRecord) -> bool:
    """Return whether the record is about to be read, for the first time or again."""
    return record.fetched_at is None or record.requested_at > record.fetched_at


def facts_to_read(*, facts_id: str) -> FactsToRead:
    record = CheckpointRecord.objects.get(id=facts_id)
    return FactsToRead(
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


def facts_finish(*, lease: Lease, read: CheckpointFacts | Failure) -> bool:
    """Return whether the result was stored; a worker that lost its lease stores nothing."""
    if isinstance(read, Failure):
        outcome = _outcome(state=FactsState.FAILED, failure=read.to_json())
    else:
        outcome = _outcome(
            state=FactsState.READY, facts=read.model_dump(mode="json"), commit=read.commit or ""
        )
    return lease_end(lease=lease, fetched_at=ClockTimestamp(), **outcome)


def facts_refine(*, facts_id: str, read: CheckpointFacts, refined: CheckpointFacts) -> bool:
    """Return whether the facts were replaced; not where others have been read by now."""
    record = CheckpointRecord.objects.filter(
        id=facts_id, state=FactsState.READY, facts=read.model_dump(mode="json")
    )
    return record.update(facts=refined.model_dump(mode="json")) == 1


def _is_due(record: CheckpointRecord, now: datetime) -> bool:
    if record.fetched_at is None or is_awaited(record):
        return False
    age = now - record.fetched_at
    if record.state == FactsState.READY:
        return age > REFRESH_AFTER and record.revision != record.commit
    return age > RETRY_AFTER or _secret_is_newer(record)


def _secret_is_newer(record: CheckpointRecord) -> bool:
    secrets = Secret.objects.filter(team_id=record.team_id, name=record.secret_name)
    return secrets.filter(updated_at__gt=record.fetched_at).exists()


def _outcome(**known: Any) -> dict[str, Any]:
    return {"facts": None, "failure": None, "commit": ""} | known
