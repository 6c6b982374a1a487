"""Signing in with a password, and out again; who guesses is locked out for a while."""

from datetime import timedelta

from django.contrib.auth import authenticate, login, logout
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.hashing import sha256_hex
from apps.accounts.models import SignInFailure, User
from apps.rest.errors import TooMany, Unauthenticated

FAILURES_ALLOWED = 10
WINDOW = timedelta(minutes=15)
_BACKEND = "apps.accounts.backends.PasswordBackend"


def password_sign_in(*, request: HttpRequest, email: str, password: str) -> User:
    """Return the person, signed in.

    Raises Unauthenticated in the same words for a wrong password and an unknown address, TooMany
    after ten failures within 15 minutes for that account from that address.
    """
    account = sha256_hex(email.strip().lower())
    address = str(request.META.get("REMOTE_ADDR", ""))
    _refuse_if_locked(account, address)
    user = authenticate(request, username=email.strip(), password=password)
    if not isinstance(user, User):
        _note_failure(account, address)
        raise Unauthenticated("This e-mail address and password do not match.")
    SignInFailure.objects.filter(account_sha256=account, address=address).delete()
    sign_in(request=request, user=user)
    return user


def sign_in(*, request: HttpRequest, user: User) -> None:
    """Begin a session for `user` under a new session key."""
    login(request, user, backend=_BACKEND)


def sign_out(*, request: HttpRequest) -> None:
    """End the session and forget all of it."""
    logout(request)


def _refuse_if_locked(account: str, address: str) -> None:
    since = timezone.now() - WINDOW
    failures = SignInFailure.objects.filter(
        account_sha256=account, address=address, at__gt=since
    ).order_by("-at")
    times = list(failures.values_list("at", flat=True)[:FAILURES_ALLOWED])
    if len(times) < FAILURES_ALLOWED:
        return
    minutes = int((times[-1] - since).total_seconds() // 60) + 1
    raise TooMany(
        f"Too many failed sign-ins for this account from {address}.",
        hint=f"Try again in {minutes} min, or ask an admin for a sign-in link.",
    )


def _note_failure(account: str, address: str) -> None:
    now = timezone.now()
    with transaction.atomic():
        SignInFailure.objects.create(account_sha256=account, address=address, at=now)
        SignInFailure.objects.filter(at__lt=now - WINDOW).delete()
