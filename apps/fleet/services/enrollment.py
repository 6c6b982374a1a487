"""One-time tickets by which an agent or a gateway gets its credential."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Now

from apps.accounts.audit import audit
from apps.fleet.credentials import hash_of, new_credential
from apps.fleet.models import EnrollmentToken
from controlplane import clock

_ANSWER_LOST_WITHIN = timedelta(minutes=5)


class EnrollmentRefused(Exception):
    """The token is unknown, used or expired; which of them is not said."""


@transaction.atomic
def enrollment_token_create(*, lifetime: timedelta = timedelta(hours=1)) -> str:
    """Return a new token; it cannot be read back later."""
    token = new_credential()
    made = EnrollmentToken.objects.create(
        token_sha256=hash_of(token), expires_at=clock.now() + lifetime
    )
    audit("enrollment_token.create", made, team=None, label=made.token_sha256[:8])
    return token


def enrollment_token_redeem(*, token: str, joiner: str) -> None:
    """Use the token up for `joiner`. Raises EnrollmentRefused.

    For a few minutes the same joiner may come again: the answer with its credential may have been
    lost on the way, and its first credential is replaced by the next.
    """
    fresh = Q(used_at=None, expires_at__gt=Now())
    again = Q(used_by=joiner, used_at__gt=Now() - _ANSWER_LOST_WITHIN)
    used = EnrollmentToken.objects.filter(fresh | again, token_sha256=hash_of(token)).update(
        used_at=Coalesce("used_at", Now()), used_by=joiner
    )
    if not used:
        raise EnrollmentRefused(
            "This enrollment token is unknown, used or expired. "
            "Make a new one with `manage.py enrollment_token`."
        )
