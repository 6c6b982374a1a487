from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.accounts.audit.recording import audit
from apps.accounts.hashing import session_key_kept
from apps.accounts.models import BrowserSession, User
from apps.rest.errors import InvalidInput, NotFound
from controlplane import clock


@transaction.atomic
def password_change(*, request: HttpRequest, user: User, old: str, new: str) -> None:
    """Set a new password; every other browser is signed out. Raises InvalidInput."""
    if user.has_usable_password() and not user.check_password(old):
        raise InvalidInput("The present password is not right.", fields=["old"])
    try:
        validate_password(new, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), fields=["new"]) from None
    user.set_password(new)
    user.save(update_fields=["password"])
    audit("account.change_password", user, team=None)
    before = session_kept(request)
    update_session_auth_hash(request, user)
    BrowserSession.objects.filter(session_key=before).update(session_key=session_kept(request))
    browsers_end_others(user=user, but=session_kept(request))


@transaction.atomic
def first_steps_hide(*, user: User) -> None:
    user.first_steps_hidden_at = clock.now()
    user.save(update_fields=["first_steps_hidden_at"])
    audit("account.hide_first_steps", user, team=None)


@transaction.atomic
def browser_end(*, user: User, browser_id: str) -> None:
    """Sign one browser out. Raises NotFound."""
    session = BrowserSession.objects.filter(user=user, id=browser_id).first()
    if session is None:
        raise NotFound(f"There is no signed-in browser `{browser_id}`.")
    Session.objects.filter(session_key=session.session_key).delete()
    session.delete()
    audit("account.end_browser", user, team=None, before={"browser": session.user_agent})


@transaction.atomic
def browsers_end_others(*, user: User, but: str) -> int:
    """Sign out all browsers but that of one kept session; return how many there were."""
    ended = sessions_end(BrowserSession.objects.filter(user=user).exclude(session_key=but))
    audit("account.end_other_browsers", user, team=None, before={"browsers": ended})
    return ended


def session_kept(request: HttpRequest) -> str:
    return session_key_kept(str(request.session.session_key))


def sessions_end(browsers: QuerySet[BrowserSession]) -> int:
    Session.objects.filter(session_key__in=browsers.values("session_key")).delete()
    ended, _ = browsers.delete()
    return ended
