"""Facts of checkpoints as work that the control worker leases."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import F, Q

from apps.configs.models import CheckpointRecord, FactsState
from apps.leases.kind_parts import always_on, failed_with
from apps.leases.kinds import LeaseKind
from apps.secrets.services.values import secrets_reveal
from controlplane import clock
from controlplane.celery import CONTROL_QUEUE
from controlplane.domain.failures.registry import any_source

MOST_CLAIMS = 5
_FORGET_AFTER = timedelta(days=30)


def _secrets_of(record: CheckpointRecord) -> Mapping[str, str]:
    names = [record.secret_name] if record.secret_name else []
    return secrets_reveal(team=record.team, names=names)


def _forget_old() -> None:
    CheckpointRecord.objects.filter(requested_at__lt=clock.now() - _FORGET_AFTER).delete()


def _given_up() -> Mapping[str, Any]:
    failure = any_source.GIVEN_UP.failure(times=MOST_CLAIMS)
    return failed_with(failure, state=FactsState.FAILED, at="fetched_at")


FACTS = LeaseKind(
    name="facts",
    model=CheckpointRecord,
    task="configs.fetch_facts",
    queue_of=always_on(CONTROL_QUEUE),
    secrets_of=_secrets_of,
    related=("team",),
    is_open=Q(fetched_at=None) | Q(requested_at__gt=F("fetched_at")),
    since="requested_at",
    tidy=_forget_old,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)
