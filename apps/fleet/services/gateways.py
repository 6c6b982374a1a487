"""Gateways: how they join, and which routes version each has applied."""

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest, Now

from apps.accounts.audit.recording import audit
from apps.fleet.models import Gateway
from apps.fleet.services.clocks import clock_ahead
from apps.fleet.services.enrollment import enrollment_begin


@transaction.atomic
def gateway_enroll(*, token: str, name: str, credential_sha256: str, address: str) -> Gateway:
    """Return the gateway of that name, now with this credential; its earlier credential ends.

    A repeat, of which the first answer was lost, changes nothing. Raises EnrollmentRefused.
    """
    known = enrollment_begin(
        Gateway.objects.all(),
        token=token,
        joiner=f"gateway:{name}",
        credential_sha256=credential_sha256,
    )
    if known is not None:
        return known
    gateway, _ = Gateway.objects.update_or_create(
        name=name,
        defaults={
            "address": address,
            "credential_sha256": credential_sha256,
            # It holds no routes yet, whatever its predecessor held.
            "applied_version": 0,
            "last_seen_at": Now(),
        },
    )
    audit("gateway.enroll", gateway, team=None, after={"address": address})
    return gateway


def gateway_seen(
    *, gateway: Gateway, sent_at: float | None = None, disk_free_bytes: int | None = None
) -> None:
    """Record that the gateway polled, how far its clock is off and what room its disk has."""
    Gateway.objects.filter(id=gateway.id).update(
        last_seen_at=Now(),
        clock_ahead_seconds=clock_ahead(sent_at=sent_at),
        disk_free_bytes=disk_free_bytes,
    )


def gateway_applied(*, gateway: Gateway, version: int) -> None:
    """Record the routes version that the gateway works by; an older report changes nothing."""
    Gateway.objects.filter(id=gateway.id).update(
        applied_version=Greatest(F("applied_version"), version), last_seen_at=Now()
    )
