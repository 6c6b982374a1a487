"""One-time tickets by which an agent or a gateway gets its credential."""

from datetime import timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from apps.accounts.audit.recording import audit, nobody_tried
from apps.accounts.models import AuditEntry
from apps.fleet.credentials import hash_of, new_credential
from apps.fleet.models import EnrollmentToken, Gateway, Node
from controlplane import clock

_REFUSED = (
    "This enrollment token is unknown, used or expired. "
    "Make a new one with `manage.py enrollment_token`."
)
_CREDENTIAL_TAKEN = "Another node or gateway has this credential. Make one of 256 random bits."
_REUSED = "enrollment_token.use_again"
Joined = TypeVar("Joined", Gateway, Node)


class EnrollmentRefused(Exception):
    """The token is unknown, used or expired; which of them is not said."""

    def __init__(self, message: str = _REFUSED) -> None:
        super().__init__(message)


@transaction.atomic
def enrollment_token_create(*, lifetime: timedelta = timedelta(hours=1)) -> str:
    """Return a new token; it cannot be read back later."""
    token = new_credential()
    made = EnrollmentToken.objects.create(
        token_sha256=hash_of(token), expires_at=clock.now() + lifetime
    )
    audit("enrollment_token.create", made, team=None, label=_label(made))
    return token


def enrollment_token_redeem(*, token: str, joiner: str) -> None:
    """Use the token up for `joiner`. Raises EnrollmentRefused."""
    fresh = EnrollmentToken.objects.filter(used_at=None, expires_at__gt=Now())
    used = fresh.filter(token_sha256=hash_of(token)).update(used_at=Now(), used_by=joiner)
    if not used:
        raise EnrollmentRefused


def enrollment_begin(
    rows: QuerySet[Joined], *, token: str, joiner: str, credential_sha256: str
) -> Joined | None:
    """Return who has enrolled so already, or None once the token is used up for `joiner`.

    An answer may have been lost: who comes with the same token and credential repeats itself, and
    after a restart with a new token. Raises EnrollmentRefused.
    """
    own = rows.filter(credential_sha256=credential_sha256)
    try:
        enrollment_token_redeem(token=token, joiner=joiner)
    except EnrollmentRefused:
        # A repeat may come while the first is under way, whose end was waited for above.
        known = own.first()
        if known is None or not _is_repeated(token, joiner):
            raise
        return known
    known = own.first()
    if known is not None and known.name != joiner.partition(":")[2]:
        raise EnrollmentRefused(_CREDENTIAL_TAKEN)
    return known


def _is_repeated(token: str, joiner: str) -> bool:
    return EnrollmentToken.objects.filter(token_sha256=hash_of(token), used_by=joiner).exists()


def enrollment_refusal_audit(*, token: str, joiner: str) -> None:
    """Record that a used token was tried once more; a token that never was leaves no trace."""
    used = EnrollmentToken.objects.filter(token_sha256=hash_of(token), used_at__isnull=False)
    use = used.first()
    if use is None or _is_audited(use, joiner):
        return
    nobody_tried(_REUSED, label=_label(use), after={"by": joiner, "used_by": use.used_by})


def _is_audited(token: EnrollmentToken, joiner: str) -> bool:
    # Else whoever holds an old token could fill the audit trail.
    entries = AuditEntry.objects.filter(action=_REUSED, target_label=_label(token))
    return entries.filter(after__by=joiner).exists()


def _label(token: EnrollmentToken) -> str:
    return token.token_sha256[:8]
