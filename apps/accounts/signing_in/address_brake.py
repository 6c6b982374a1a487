"""A brake on trying one password on many accounts, which no account's own lock notices."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest

from apps.rest.errors import TooMany
from controlplane import clock

_IPV6_PREFIX_BITS = 64
"""What one host is given at the least, and may change addresses within."""


def address_of(request: HttpRequest) -> str:
    """Return where failures of the request are counted, or nothing where nobody can tell.

    That is an IPv4 address, or the first one of an IPv6 /64.
    """
    address = _parsed(str(request.META.get("REMOTE_ADDR") or ""))
    if not isinstance(address, IPv6Address):
        return str(address or "")
    return str(_network(address).network_address)


def address_words(address: str) -> str:
    """Return how `address_of` is told to people: an IPv6 one as the range that it stands for."""
    parsed = _parsed(address)
    return str(_network(parsed)) if isinstance(parsed, IPv6Address) else address


def address_check(request: HttpRequest) -> None:
    """Refuse an address that failed on too many accounts. Raises TooMany."""
    most, address = settings.SIGN_IN_ACCOUNTS_PER_ADDRESS, address_of(request)
    if not most or not address:
        return
    since = clock.now() - settings.AXES_COOLOFF_TIME
    failed = AccessAttempt.objects.filter(ip_address=address, attempt_time__gte=since)
    if failed.values("username").distinct().count() >= most:
        minutes = int(settings.AXES_COOLOFF_TIME.total_seconds() // 60)
        raise TooMany(
            f"Sign-ins to too many accounts failed from {address_words(address)}.",
            hint=f"Try again in {minutes} min, or ask an admin for a sign-in link.",
        )


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return mapped or parsed


def _network(address: IPv6Address) -> IPv6Network:
    return IPv6Network((int(address), _IPV6_PREFIX_BITS), strict=False)
