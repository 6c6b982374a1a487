"""One-time tickets by which an agent or a gateway gets its credential."""

from datetime import timedelta

from django.db.models.functions import Now
from django.utils import timezone

from apps.fleet.credentials import hash_of, new_credential
from apps.fleet.models import EnrollmentToken


class EnrollmentRefused(Exception):
    """The token is unknown, used or expired; which of them is not said."""


def enrollment_token_create(*, lifetime: timedelta = timedelta(hours=1)) -> str:
    """Return a new token; it cannot be read back later."""
    token = new_credential()
    EnrollmentToken.objects.create(
        token_sha256=hash_of(token), expires_at=timezone.now() + lifetime
    )
    return token


def enrollment_token_redeem(*, token: str) -> None:
    """Use the token up. Raises EnrollmentRefused."""
    used = EnrollmentToken.objects.filter(
        token_sha256=hash_of(token), used_at=None, expires_at__gt=Now()
    ).update(used_at=Now())
    if not used:
        raise EnrollmentRefused(
            "This enrollment token is unknown, used or expired. "
            "Make a new one with `manage.py enrollment_token`."
        )
