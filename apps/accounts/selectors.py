from datetime import datetime

from django.contrib.sessions.models import Session
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils.crypto import constant_time_compare

from apps.accounts.hashing import sha256_hex
from apps.accounts.models import (
    ApiKey,
    ApiKeyType,
    BrowserSession,
    Invitation,
    Membership,
    RestrictedEnvironment,
    Team,
    User,
)
from apps.accounts.people.emails import normal_email
from apps.accounts.permissions import Action, Actor, allowed
from controlplane import clock

# With the role, so that no request asks for it a second time.
_KEYS = ApiKey.objects.select_related("team", "owner").annotate(
    role_in_team=Subquery(
        Membership.objects.filter(team=OuterRef("team"), user=OuterRef("owner")).values("role")
    )
)
_PEOPLE = User.objects.select_related("team").annotate(
    role_in_team=Subquery(
        Membership.objects.filter(team=OuterRef("team"), user=OuterRef("id")).values("role")
    )
)


def installation_id() -> str | None:
    """Return what tells this installation from others; None before its first start."""
    return Team.objects.filter(is_default=True).values_list("id", flat=True).first()


def api_key_by_text(text: str, *, at: datetime | None = None) -> ApiKey | None:
    """Return the usable key of that text: known, not expired, not revoked, its owner active.

    The look-up is by hash, so its timing tells nothing of how near a guess came.
    """
    digest = sha256_hex(text)
    # Asked by every REST call: one plain look-up; conditions here would cost more than the rows.
    key = next(iter(_KEYS.filter(secret_sha256=digest)), None)
    if key is None or not constant_time_compare(key.secret_sha256, digest):
        return None
    return key if _is_usable(key, at or clock.now()) else None


def api_key_list(actor: Actor) -> QuerySet[ApiKey]:
    """Return the team's live keys; those of other people only to who may manage keys.

    What a person's page called a model with is gone from the list once it has ended.
    """
    keys = ApiKey.objects.filter(team=actor.team, revoked_at=None).select_related("team", "owner")
    keys = keys.filter(Q(owner=None) | Q(type=ApiKeyType.PERSONAL) | Q(expires_at__gt=clock.now()))
    if not allowed(actor, Action.TEAM_KEYS):
        keys = keys.filter(Q(owner=None) | Q(owner=actor.user))
    return keys.order_by("-created_at", "-id")


def team_list(actor: Actor) -> QuerySet[Team]:
    """Return the teams that the actor belongs to; a team's key belongs to its one team."""
    teams = Team.objects.order_by("name")
    if actor.user is None:
        return teams.filter(id=actor.team.id)
    return teams if actor.user.is_admin else teams.filter(memberships__user=actor.user)


def member_list(team: Team) -> QuerySet[Membership]:
    return team.memberships.select_related("user").order_by("user__email")


def invitation_list(team: Team) -> QuerySet[Invitation]:
    return (
        team.invitations.filter(ended_at=None, expires_at__gt=clock.now())
        .select_related("invited_by")
        .order_by("-created_at")
    )


def invitation_by_token(token: str) -> Invitation | None:
    """Return the invitation that may still be accepted by this token."""
    return (
        Invitation.objects.filter(
            token_sha256=sha256_hex(token), ended_at=None, expires_at__gt=clock.now()
        )
        .select_related("team", "invited_by")
        .first()
    )


def restricted_environment_list(team: Team) -> QuerySet[RestrictedEnvironment]:
    return team.restricted_environments.prefetch_related("people").order_by("name")


def person_list() -> QuerySet[User]:
    return User.objects.prefetch_related("memberships__team").order_by("email")


def browser_list(user: User) -> QuerySet[BrowserSession]:
    live = Session.objects.filter(expire_date__gt=clock.now()).values("session_key")
    return user.browser_sessions.filter(session_key__in=live).order_by("-created_at")


def user_by_id(user_id: str) -> User | None:
    """Return the active person with the team and the role in it."""
    return _PEOPLE.filter(id=user_id, is_active=True).first()


def user_by_email(email: str) -> User | None:
    """Return the active person of that address, however it is spelled."""
    return person_by_email(email).filter(is_active=True).first()


def person_by_email(email: str) -> QuerySet[User]:
    """Return the person of that address, active or not."""
    return User.objects.filter(normal_email=normal_email(email))


def _is_usable(key: ApiKey, at: datetime) -> bool:
    is_over = key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= at)
    return not is_over and (key.owner is None or key.owner.is_active)
