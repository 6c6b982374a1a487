"""Gateways: how they join, and which routes version each has applied."""

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest, Now

from apps.accounts.audit import audit
from apps.fleet.credentials import hash_of, new_credential
from apps.fleet.models import Gateway
from apps.fleet.services.enrollment import enrollment_token_redeem


@transaction.atomic
def gateway_enroll(*, token: str, name: str, address: str) -> tuple[Gateway, str]:
    """Return the gateway of that name with a new credential; its earlier credential ends.

    Raises EnrollmentRefused.
    """
    enrollment_token_redeem(token=token, joiner=f"gateway:{name}")
    credential = new_credential()
    gateway, _ = Gateway.objects.update_or_create(
        name=name,
        defaults={
            "address": address,
            "credential_sha256": hash_of(credential),
            # It holds no routes yet, whatever its predecessor held.
            "applied_version": 0,
            "last_seen_at": Now(),
        },
    )
    audit("gateway.enroll", gateway, team=None, after={"address": address})
    return gateway, credential


def gateway_seen(*, gateway: Gateway) -> None:
    """Record that the gateway polled."""
    Gateway.objects.filter(id=gateway.id).update(last_seen_at=Now())


def gateway_applied(*, gateway: Gateway, version: int) -> None:
    """Record the routes version that the gateway works by; an older report changes nothing."""
    Gateway.objects.filter(id=gateway.id).update(
        applied_version=Greatest(F("applied_version"), version), last_seen_at=Now()
    )
