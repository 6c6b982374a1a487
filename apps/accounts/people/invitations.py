"""Invitations: a link that lets one address into one team, once."""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from apps.accounts.audit.recording import audit
from apps.accounts.hashing import new_secret, sha256_hex
from apps.accounts.models import Invitation, Membership, Team, TeamRole, User
from apps.accounts.people.emails import checked_email, normal_email
from apps.accounts.people.members import member_add
from apps.accounts.selectors import invitation_by_token, person_by_email
from apps.rest.errors import Conflict, InvalidInput, NotFound
from controlplane import clock

VALID_FOR = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class MadeInvitation:
    """A stored invitation with the address of its link, which is shown once."""

    invitation: Invitation
    url: str


def invitation_create(
    *, team: Team, email: str, role: TeamRole, user: User | None
) -> MadeInvitation:
    """Return a new invitation, in place of an older one of the same address.

    Raises:
        InvalidInput: that is no e-mail address, or none that may be invited.
        Conflict: the person belongs to the team.
    """
    email = checked_email(email)
    normal = normal_email(email)
    if Membership.objects.filter(team=team, user__normal_email=normal).exists():
        raise Conflict(f"{email} belongs to `{team.name}` already.", fields=["email"])
    token = new_secret()
    with transaction.atomic():
        _open(team).filter(normal_email=normal).update(ended_at=clock.now())
        invitation = Invitation.objects.create(
            token_sha256=sha256_hex(token),
            team=team,
            email=email,
            role=role,
            invited_by=user,
            expires_at=clock.now() + VALID_FOR,
        )
        audit("invitation.create", invitation, team=team, label=email, after={"role": role})
    path = reverse("accounts:join", kwargs={"token": token})
    return MadeInvitation(invitation=invitation, url=settings.PUBLIC_URL + path)


@transaction.atomic
def invitation_withdraw(*, team: Team, invitation_id: str) -> None:
    """End an invitation that nobody has used. Raises NotFound."""
    invitation = _open(team).select_for_update().filter(id=invitation_id).first()
    if invitation is None:
        raise NotFound(f"There is no open invitation `{invitation_id}`.")
    invitation.ended_at = clock.now()
    invitation.save(update_fields=["ended_at"])
    audit("invitation.withdraw", invitation, team=team, label=invitation.email)


def invitation_accept(*, token: str, user: User) -> Team:
    """Return the team that the invited person has joined and now works in.

    Raises:
        NotFound: the link is spent, withdrawn or too old.
        Conflict: someone else was invited.
    """
    with transaction.atomic():
        invitation = _taken(token)
        if normal_email(invitation.email) != normal_email(user.email):
            raise Conflict(
                f"This invitation is for {invitation.email}, and you are signed in as "
                f"{user.email}.",
                hint="Sign out, then open the link again.",
            )
        member_add(team=invitation.team, user=user, role=TeamRole(invitation.role))
        User.objects.filter(id=user.id).update(team=invitation.team)
        audit("invitation.accept", invitation, team=invitation.team, label=user.email, actor=user)
    return invitation.team


def invitation_accept_as_new(*, token: str, name: str, password: str) -> User:
    """Return the new person, who belongs to the team.

    Raises:
        InvalidInput: the password is too weak.
        NotFound: the link is spent, withdrawn or too old.
        Conflict: the address has an account already.
    """
    with transaction.atomic():
        invitation = _taken(token)
        if person_by_email(invitation.email).exists():
            raise Conflict(f"{invitation.email} has an account.", hint="Sign in, then join.")
        user = User(email=invitation.email, name=name.strip(), team=invitation.team)
        _set_password(user, password)
        member_add(team=invitation.team, user=user, role=TeamRole(invitation.role))
        audit("invitation.accept", invitation, team=invitation.team, label=user.email, actor=user)
    return user


def _set_password(user: User, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), fields=["password"]) from None
    user.set_password(password)
    user.save()


def _taken(token: str) -> Invitation:
    """Return the invitation, spent: of two that try at once, one gets it."""
    invitation = invitation_by_token(token)
    if invitation is None or not _open(invitation.team).filter(id=invitation.id).update(
        ended_at=clock.now()
    ):
        raise NotFound("This invitation is spent, withdrawn or too old.")
    return invitation


def _open(team: Team) -> QuerySet[Invitation]:
    return team.invitations.filter(ended_at=None, expires_at__gt=clock.now())
