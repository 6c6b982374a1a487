"""A brake on trying one password on many accounts, which no account's own lock notices."""

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest

from apps.rest.errors import TooMany
from controlplane import clock


def address_of(request: HttpRequest) -> str:
    """Return where the request comes from, or nothing where nobody can tell."""
    return str(request.META.get("REMOTE_ADDR") or "")


def address_check(request: HttpRequest) -> None:
    """Let nobody try who failed on too many accounts. Raises TooMany."""
    most, address = settings.SIGN_IN_ACCOUNTS_PER_ADDRESS, address_of(request)
    if not most or not address:
        return
    since = clock.now() - settings.AXES_COOLOFF_TIME
    failed = AccessAttempt.objects.filter(ip_address=address, attempt_time__gte=since)
    if failed.values("username").distinct().count() >= most:
        minutes = int(settings.AXES_COOLOFF_TIME.total_seconds() // 60)
        raise TooMany(
            f"Sign-ins to too many accounts failed from {address}.",
            hint=f"Try again in {minutes} min, or ask an admin for a sign-in link.",
        )
