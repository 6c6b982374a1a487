"""Gateways: how they join, and which routes version each has applied."""

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest, Now

from apps.accounts.audit.recording import audit
from apps.accounts.routes_version import routes_version_current
from apps.fleet.credentials import hash_of
from apps.fleet.models import Gateway
from apps.fleet.services.clocks import clock_ahead
from apps.fleet.services.enrollment import enrollment_begin
from controlplane.prepared import SOFT_COMMIT, prepared_cursor, soft_commit


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


_SEEN = f"""
    UPDATE fleet_gateway SET
        last_seen_at = statement_timestamp(), clock_ahead_seconds = %(ahead)s,
        disk_free_bytes = %(free_bytes)s,
        applied_version = greatest(
            CASE WHEN applied_version <= present.version THEN applied_version END,
            CASE WHEN %(applied)s <= present.version THEN %(applied)s END, 0
        )
    FROM (
        SELECT coalesce((SELECT version FROM accounts_routesversion WHERE id = 1), 0) AS version,
            {SOFT_COMMIT}
    ) AS present
    WHERE credential_sha256 = %(credential)s
    RETURNING present.version
"""  # nosec B608 (what is put in is a constant)
"""As one statement, since every gateway asks every second, and says it all again.

A version that there has not been is of a database that was put back: of the routes that will have
this number nothing is applied.
"""


def gateway_seen(
    *,
    credential: str,
    sent_at: float | None = None,
    disk_free_bytes: int | None = None,
    applied_version: int | None = None,
) -> int | None:
    """Return the present version of the routes; None where no gateway has that credential.

    Records that it polled, how far its clock is off, what room its disk has and by which routes it
    works; of those an older report changes nothing.
    """
    values = {
        "ahead": clock_ahead(sent_at=sent_at),
        "free_bytes": disk_free_bytes,
        "applied": applied_version or 0,
        "credential": hash_of(credential),
        **soft_commit(),
    }
    with prepared_cursor() as cursor:
        cursor.execute(_SEEN, values)
        row = cursor.fetchone()
    return row[0] if row else None


def gateway_applied(*, gateway: Gateway, version: int) -> None:
    """Record the routes version that the gateway works by; an older report changes nothing.

    Nor does one of a version that there has not been.
    """
    known = version if version <= routes_version_current() else 0
    Gateway.objects.filter(id=gateway.id).update(
        applied_version=Greatest(F("applied_version"), known), last_seen_at=Now()
    )
