"""One-time ways in: a random token, of which only the hash is kept."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.hashing import new_secret, sha256_hex
from apps.accounts.models import SignInLink, User
from controlplane import clock

VALID_FOR = timedelta(hours=24)


@transaction.atomic
def sign_in_link_create(*, user: User) -> str:
    """Return the token of a new link for `user`; it works once, within 24 hours."""
    token = new_secret()
    SignInLink.objects.create(
        token_sha256=sha256_hex(token), user=user, expires_at=clock.now() + VALID_FOR
    )
    audit("account.make_sign_in_link", user, team=None)
    return token


def sign_in_link_redeem(token: str) -> User | None:
    """Return who may come in by this token, or None; of two that try at once, one succeeds."""
    link = SignInLink.objects.filter(
        token_sha256=sha256_hex(token),
        used_at=None,
        expires_at__gt=clock.now(),
        user__is_active=True,
    )
    if not link.update(used_at=clock.now()):
        return None
    return User.objects.select_related("team").get(sign_in_links__token_sha256=sha256_hex(token))


def sign_in_link_url(token: str) -> str:
    # Not by `reverse`: the commands that tell it would import every page.
    return f"{settings.PUBLIC_URL}/sign-in/{token}/"
