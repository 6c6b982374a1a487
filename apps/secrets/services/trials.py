"""Tests of secrets: asked for by people, made by the control worker under a lease."""

from dataclasses import dataclass, field
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import DateTimeField, F, Func, Q, QuerySet
from django.utils.crypto import constant_time_compare

from apps.accounts.audit import audit
from apps.accounts.hashing import new_secret, sha256_hex
from apps.accounts.models import User
from apps.secrets.models import Secret, SecretTest
from apps.secrets.queue import secret_test_send
from apps.secrets.services.targets import checked_target
from controlplane import clock
from controlplane.domain.lifecycle import StepState
from controlplane.domain.secret_tests import ProbeAnswer, ProbeKind

LEASE_SECONDS = 60.0
"""Longer than a test takes: it is not renewed."""
MOST_TAKES = 3
SEND_AGAIN_AFTER = timedelta(seconds=5)
KEPT_OF_A_SECRET = 20
_SWEEP_LOCK = 4_702_111_013
_NOW = Func(function="clock_timestamp", output_field=DateTimeField())
_OPEN = (StepState.WAITING, StepState.RUNNING)
_UNHELD = {"lease_expires_at": None, "lease_secret_sha256": ""}


@dataclass(frozen=True, kw_only=True)
class SecretTestLease:
    """What a worker holds: the token of its write, and the secret that redeems the value."""

    test_id: str
    token: int
    secret: str = field(repr=False)
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
        secret_test_send(test_id=test.id)
    return test


def secret_test_claim(*, test_id: str) -> SecretTestLease | None:
    """Return a lease on a test that nobody makes, or None where another was first."""
    secret = new_secret()
    with transaction.atomic():
        taken = _claimable().filter(id=test_id, lease_token__lt=MOST_TAKES)
        if not taken.update(
            state=StepState.RUNNING,
            lease_token=F("lease_token") + 1,
            lease_expires_at=_NOW + timedelta(seconds=LEASE_SECONDS),
            lease_secret_sha256=sha256_hex(secret),
        ):
            return None
        test = SecretTest.objects.select_related("secret").get(id=test_id)
    return SecretTestLease(
        test_id=test_id,
        token=test.lease_token,
        secret=secret,
        kind=ProbeKind(test.kind),
        target=test.target,
        secret_name=test.secret.name,
    )


def secret_test_finish(*, lease: SecretTestLease, answer: ProbeAnswer) -> bool:
    """Return whether the answer was stored; that of a worker whose lease was taken is dropped."""
    held = SecretTest.objects.filter(
        id=lease.test_id, lease_token=lease.token, state=StepState.RUNNING
    )
    return bool(held.update(finished_at=_NOW, **_outcome(answer), **_UNHELD))


def secret_test_redeemable(*, test_id: str, token: int, secret: str) -> SecretTest | None:
    """Return the test when token and secret are those of its live lease."""
    live = SecretTest.objects.select_related("secret__team").filter(
        id=test_id, lease_token=token, lease_expires_at__gt=_NOW, state=StepState.RUNNING
    )
    test = live.first()
    if test is None or not constant_time_compare(test.lease_secret_sha256, sha256_hex(secret)):
        return None
    return test


def secret_tests_sweep() -> int:
    """Return how many tests were sent again because their message or their worker was lost."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_SWEEP_LOCK])
            if not cursor.fetchone()[0]:
                return 0
        lost = ProbeAnswer(
            works=False,
            sentence=f"The worker was lost {MOST_TAKES} times while it made this test.",
            hint="Look at the control worker's log, then test again.",
        )
        _claimable().filter(lease_token__gte=MOST_TAKES).update(
            finished_at=_NOW, **_outcome(lost), **_UNHELD
        )
        overdue = _claimable().filter(created_at__lt=clock.now() - SEND_AGAIN_AFTER)
        ids = list(overdue.order_by("created_at").values_list("id", flat=True)[:100])
    for test_id in ids:
        secret_test_send(test_id=test_id)
    return len(ids)


def _outcome(answer: ProbeAnswer) -> dict[str, object]:
    return {
        "state": StepState.FINISHED if answer.works else StepState.FAILED,
        "works": answer.works,
        "sentence": answer.sentence,
        "hint": answer.hint,
    }


def _forget_old(secret: Secret) -> None:
    done = SecretTest.objects.filter(secret=secret).exclude(state__in=_OPEN)
    kept = done.order_by("-created_at").values_list("id", flat=True)[: KEPT_OF_A_SECRET - 1]
    done.exclude(id__in=list(kept)).delete()


def _claimable() -> QuerySet[SecretTest]:
    expired = Q(lease_expires_at=None) | Q(lease_expires_at__lte=_NOW)
    return SecretTest.objects.filter(
        Q(state=StepState.WAITING) | Q(expired, state=StepState.RUNNING)
    )
