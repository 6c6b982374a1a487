"""Signing in with a password, and out again; django-axes locks out who guesses."""

from datetime import timedelta

from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.db import transaction
from django.http import HttpRequest

from apps.accounts.audit.recording import audit, nobody_tried
from apps.accounts.hashing import sha256_hex
from apps.accounts.keys.page_keys import page_keys_end
from apps.accounts.models import BrowserSession, User
from apps.accounts.own_account.services import session_kept
from apps.accounts.people.emails import normal_email
from apps.accounts.selectors import person_by_email
from apps.accounts.signing_in.address_brake import address_check, address_of, address_words
from apps.accounts.signing_in.two_steps import code_is_right, has_two_steps
from apps.rest.errors import TooMany, Unauthenticated
from controlplane import clock

_BACKEND = "apps.accounts.signing_in.backends.PasswordBackend"
_AWAITED = "awaits_code"
_CODE_WITHIN = timedelta(minutes=5)


def password_sign_in(*, request: HttpRequest, email: str, password: str) -> User | None:
    """Return the person, signed in, or None where a code is asked for as the second step.

    Raises Unauthenticated in the same words for a wrong password and an unknown address, TooMany
    after ten failures within 15 minutes for that account from that address, or failures for many
    accounts from it.
    """
    _check_address(request, email)
    user = authenticate(request, username=email.strip(), password=password)
    if getattr(request, "axes_locked_out", False):
        _failed("account.sign_in_locked", email)
        raise _locked(request, email)
    if not isinstance(user, User):
        _failed("account.sign_in_failed", email)
        raise Unauthenticated("This e-mail address and password do not match.")
    if has_two_steps(user):
        request.session[_AWAITED] = {"user": user.id, "until": _deadline()}
        return None
    sign_in(request=request, user=user, way="password")
    return user


def _check_address(request: HttpRequest, email: str) -> None:
    try:
        address_check(request)
    except TooMany:
        _failed("account.sign_in_locked", email)
        raise


def awaited_user(request: HttpRequest) -> User | None:
    """Return whose password was right a moment ago and whose code is still missing."""
    awaited = request.session.get(_AWAITED)
    if awaited is None or awaited["until"] < clock.now().timestamp():
        return None
    return User.objects.filter(id=awaited["user"], is_active=True).first()


def code_sign_in(*, request: HttpRequest, code: str) -> User:
    """Return the person, signed in by the second step. Raises Unauthenticated or TooMany."""
    user = awaited_user(request)
    if user is None:
        raise Unauthenticated("The time for the code is over.", hint="Sign in again.")
    if not code_is_right(user, code):
        _failed("account.sign_in_failed", user.email, second_step=True)
        raise Unauthenticated("This code is not right, or it was used before.")
    sign_in(request=request, user=user, way="password")
    return user


@transaction.atomic
def sign_in(*, request: HttpRequest, user: User, way: str) -> None:
    """Begin a session for `user` under a new session key."""
    request.session.pop(_AWAITED, None)
    login(request, user, backend=_BACKEND)
    if request.session.session_key is None:
        request.session.create()
    BrowserSession.objects.create(
        user=user,
        session_key=session_kept(request),
        address=address_of(request)[:64],
        user_agent=request.headers.get("User-Agent", "")[:300],
        way=way,
    )
    audit("account.sign_in", user, team=None, actor=user, after={"way": way})


@transaction.atomic
def sign_out(*, request: HttpRequest) -> None:
    BrowserSession.objects.filter(session_key=session_kept(request)).delete()
    user = getattr(request, "user", None)
    if isinstance(user, User):
        page_keys_end(user=user)
        audit("account.sign_out", user, team=None, actor=user)
    logout(request)


def lock_lift(*, email: str) -> int:
    """Let an account try again from everywhere; return how many locks there were."""
    return int(reset(username=_account(email)))


def account_of_attempt(request: HttpRequest, credentials: dict[str, str] | None) -> str:
    """Return under what name failures are counted.

    As a hash: people type passwords into the field for the address.
    """
    return _account((credentials or {}).get("username", ""))


def _account(email: str) -> str:
    return sha256_hex(normal_email(email))


def _failed(action: str, email: str, *, second_step: bool = False) -> None:
    # An address nobody has is not kept: people type passwords into its field.
    known = person_by_email(email).first()
    after = {"way": "code" if second_step else "password"}
    nobody_tried(action, label=known.email if known else "unknown address", after=after)


def _deadline() -> float:
    return (clock.now() + _CODE_WITHIN).timestamp()


def _locked(request: HttpRequest, email: str) -> TooMany:
    address = address_words(address_of(request))
    last = AccessAttempt.objects.filter(username=_account(email)).order_by("-attempt_time").first()
    ends = (last.attempt_time if last else clock.now()) + settings.AXES_COOLOFF_TIME
    minutes = int((ends - clock.now()).total_seconds() // 60) + 1
    return TooMany(
        f"Too many failed sign-ins for this account from {address}.",
        hint=f"Try again in {minutes} min, or ask an admin for a sign-in link.",
    )
