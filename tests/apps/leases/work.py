"""A row of each kind of work, and what a test does to its lease."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from apps.alerts.models import AlertDelivery
from apps.configs.models import CalibrationPreview, LookaheadTuning
from apps.leases.kinds import LeaseKind, lease_kinds
from apps.leases.lease import Lease
from apps.leases.services import lease_claim
from apps.secrets.models import Secret, SecretTest
from controlplane import clock
from tests import (
    factories,
    factories_alerts,
    factories_answers,
    factories_async,
    factories_benchmarks,
)

KINDS = (
    "alert_delivery", "answer_check", "async_request", "async_webhook", "benchmark", "build",
    "facts", "preview", "push", "secret_test", "tuning",
)  # fmt: skip


def _preview() -> CalibrationPreview:
    revision = factories.make_revision()
    return CalibrationPreview.objects.create(
        team=revision.config.team, revision=revision, dataset="enginehouse/general", pool="default"
    )


def _secret_test() -> SecretTest:
    secret = Secret.objects.create(
        team=factories.make_team(), name="hf_access_token", nonce=b"", ciphertext=b""
    )
    return SecretTest.objects.create(secret=secret, kind="hub", target="org/gated")


def _tuning() -> LookaheadTuning:
    revision = factories.make_revision()
    return LookaheadTuning.objects.create(
        team=revision.config.team, revision=revision, dataset="team/answers", requests=1,
        pool="default",
    )  # fmt: skip


def _delivery() -> AlertDelivery:
    return AlertDelivery.objects.create(channel=factories_alerts.make_alert_channel(), event="test")


_ROWS: Mapping[str, Callable[[], Any]] = {
    "alert_delivery": _delivery,
    "answer_check": factories_answers.make_answer_check,
    "async_request": factories_async.make_async_request,
    "async_webhook": factories_async.make_async_webhook,
    "benchmark": factories_benchmarks.make_benchmark,
    "build": factories.make_build,
    "facts": factories.make_checkpoint_record,
    "preview": _preview,
    "push": factories.make_push,
    "secret_test": _secret_test,
    "tuning": _tuning,
}


class Work:
    """Waiting work of one kind."""

    def __init__(self, name: str) -> None:
        self.kind: LeaseKind = lease_kinds()[name]
        self.row = _ROWS[name]()

    @property
    def id(self) -> str:
        return str(self.row.pk)

    def claim(self, owner: str = "worker") -> Lease:
        lease = lease_claim(kind=self.kind, id=self.id, owner=owner)
        assert lease is not None
        return lease

    def try_to_claim(self) -> Lease | None:
        return lease_claim(kind=self.kind, id=self.id, owner="another")

    def update(self, **columns: Any) -> None:
        self.kind.model._default_manager.filter(pk=self.id).update(**columns)

    def expire(self) -> None:
        """Let the lease have run out."""
        self.update(lease_expires_at=clock.now() - timedelta(seconds=1))

    def grow_old(self) -> None:
        """Let its message count as lost."""
        self.update(**{self.kind.since: clock.now() - timedelta(minutes=1)})

    def is_waiting(self) -> bool:
        """Whether it says what waiting work says, and is nobody's."""
        self.row.refresh_from_db()
        by_name = {name: getattr(self.row, name) for name in self.kind.waiting}
        return by_name == dict(self.kind.waiting) and self.row.lease_expires_at is None
