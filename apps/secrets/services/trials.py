"""Tests of secrets: asked for by people, made by the control worker under a lease."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import always_on
from apps.leases.kinds import LeaseKind
from apps.leases.lease import Lease
from apps.leases.queue import work_send
from apps.leases.services import lease_end
from apps.secrets.models import Secret, SecretTest
from apps.secrets.services.targets import checked_target
from apps.secrets.services.values import secrets_reveal
from controlplane.celery import CONTROL_QUEUE
from controlplane.domain.lifecycle import StepState
from controlplane.domain.secret_tests import ProbeAnswer, ProbeKind

MOST_CLAIMS = 3
KEPT_OF_A_SECRET = 20
_OPEN = (StepState.WAITING, StepState.RUNNING)


@dataclass(frozen=True, kw_only=True)
class SecretToTest:
    kind: ProbeKind
    target: str
    secret_name: str


def secret_test_request(*, secret: Secret, target: str, user: User | None = None) -> SecretTest:
    """Return a test that waits, or is being made, of the secret on that target.

    Raises InvalidInput for a target that cannot be, or to which no value may be sent.
    """
    kind, target = checked_target(secret, target)
    with transaction.atomic():
        # Held so that two presses of a button make one test.
        Secret.objects.select_for_update(no_key=True).get(id=secret.id)
        same = SecretTest.objects.filter(secret=secret, target=target, state__in=_OPEN).first()
        if same is not None:
            return same
        _forget_old(secret)
        test = SecretTest.objects.create(secret=secret, kind=kind, target=target, created_by=user)
        audit("secret.test", secret, team=secret.team, after={"target": target})
        work_send(SECRET_TEST, test)
    return test


def secret_to_test(*, test_id: str) -> SecretToTest:
    test = SecretTest.objects.select_related("secret").get(id=test_id)
    return SecretToTest(kind=ProbeKind(test.kind), target=test.target, secret_name=test.secret.name)


def secret_test_finish(*, lease: Lease, answer: ProbeAnswer) -> bool:
    """Return whether the answer was stored; that of a worker whose lease was taken is dropped."""
    return lease_end(lease=lease, **_outcome(answer))


def _outcome(answer: ProbeAnswer) -> dict[str, object]:
    return {
        "state": StepState.FINISHED if answer.works else StepState.FAILED,
        "works": answer.works,
        "sentence": answer.sentence,
        "hint": answer.hint,
        "finished_at": ClockTimestamp(),
    }


def _given_up() -> Mapping[str, Any]:
    return _outcome(
        ProbeAnswer(
            works=False,
            sentence=f"The worker was lost {MOST_CLAIMS} times while it made this test.",
            hint="Look at the control worker's log, then test again.",
        )
    )


def _forget_old(secret: Secret) -> None:
    done = SecretTest.objects.filter(secret=secret).exclude(state__in=_OPEN)
    kept = done.order_by("-created_at").values_list("id", flat=True)[: KEPT_OF_A_SECRET - 1]
    done.exclude(id__in=list(kept)).delete()


def _secrets_of(test: SecretTest) -> Mapping[str, str]:
    return secrets_reveal(team=test.secret.team, names=[test.secret.name])


SECRET_TEST = LeaseKind(
    name="secret_test",
    model=SecretTest,
    task="secrets.test",
    queue_of=always_on(CONTROL_QUEUE),
    secrets_of=_secrets_of,
    related=("secret__team",),
    is_open=Q(state__in=_OPEN),
    waiting={"state": StepState.WAITING},
    claimed={"state": StepState.RUNNING},
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)
