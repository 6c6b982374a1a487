from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import (
    ApiKey,
    BrowserSession,
    Membership,
    RestrictedEnvironment,
    Team,
    TeamRole,
    User,
)
from apps.accounts.own_account.services import sessions_end
from apps.accounts.routes_version import routes_version_bump
from apps.rest.errors import Conflict, NotFound
from controlplane import clock


@transaction.atomic
def member_add(*, team: Team, user: User, role: TeamRole) -> Membership:
    """Return the membership; whoever belongs to the team already keeps the role."""
    membership, is_new = Membership.objects.get_or_create(
        team=team, user=user, defaults={"role": role}
    )
    if is_new:
        audit("member.add", user, team=team, after={"role": role})
    return membership


@transaction.atomic
def member_set_role(*, team: Team, user: User, role: TeamRole) -> None:
    """Change the member's role. Raises NotFound."""
    membership = Membership.objects.select_for_update().filter(team=team, user=user).first()
    if membership is None:
        raise _not_here(team, user)
    audit(
        "member.set_role", user, team=team, before={"role": membership.role}, after={"role": role}
    )
    membership.role = role
    membership.save(update_fields=["role"])


def member_remove(*, team: Team, user: User) -> None:
    """Take the person out of the team, and end the personal keys to it at once.

    Raises:
        NotFound: the person does not belong to the team.
        Conflict: the person belongs to no other team.
    """
    with transaction.atomic():
        person = User.objects.select_for_update().get(id=user.id)
        if not Membership.objects.filter(team=team, user=person).delete()[0]:
            raise _not_here(team, person)
        audit("member.remove", person, team=team)
        _leave(person, team)
        _end_keys(person, team)
        for environment in RestrictedEnvironment.objects.filter(team=team, people=person):
            environment.people.remove(person)


def person_deactivate(*, user: User) -> None:
    """End every session and key of the person, who cannot sign in any more. Raises Conflict."""
    with transaction.atomic():
        _keep_an_admin(user)
        User.objects.filter(id=user.id).update(is_active=False)
        # Or a reactivated person's old browsers would be signed in again.
        sessions_end(BrowserSession.objects.filter(user=user))
        _end_keys(user, None)
        audit("person.deactivate", user, team=None)


@transaction.atomic
def person_reactivate(*, user: User) -> None:
    """Let the person sign in again; keys and sessions that ended stay ended."""
    User.objects.filter(id=user.id).update(is_active=True)
    audit("person.reactivate", user, team=None)


def person_set_admin(*, user: User, is_admin: bool) -> None:
    """Make the person an admin of the organisation, or no longer. Raises Conflict."""
    with transaction.atomic():
        if not is_admin:
            _keep_an_admin(user)
            _come_home(user)
        User.objects.filter(id=user.id).update(is_admin=is_admin)
        audit(
            "person.set_admin",
            user,
            team=None,
            before={"is_admin": user.is_admin},
            after={"is_admin": is_admin},
        )


def _leave(person: User, team: Team) -> None:
    other = Membership.objects.filter(user=person).order_by("created_at").first()
    if other is None and not person.is_admin:
        raise Conflict(
            f"{person.email} belongs to no other team.",
            hint="Deactivate the person, or add them to another team first.",
        )
    if person.team_id == team.id and other is not None:
        User.objects.filter(id=person.id).update(team=other.team_id)


def _come_home(user: User) -> None:
    """Only an admin may work in any team; whoever is no longer one goes back to an own one."""
    own = Membership.objects.filter(user=user).order_by("created_at")
    home = own.filter(team=user.team_id).first() or own.first()
    if home is None:
        raise Conflict(f"{user.email} belongs to no team.", hint="Add the person to a team first.")
    User.objects.filter(id=user.id).update(team=home.team_id)


def _end_keys(user: User, team: Team | None) -> None:
    keys = ApiKey.objects.filter(owner=user, revoked_at=None)
    if team is not None:
        keys = keys.filter(team=team)
    hashes = list(keys.values_list("secret_sha256", flat=True))
    if keys.update(revoked_at=clock.now()):
        routes_version_bump(keys=hashes)


def _keep_an_admin(user: User) -> None:
    # Locked, so that of two admins who demote each other one stays.
    admins = User.objects.select_for_update().filter(is_admin=True, is_active=True)
    if user.id in {admin.id for admin in admins} and len(admins) == 1:
        raise Conflict(
            f"{user.email} is the only admin of the organisation.",
            hint="Make someone else an admin first.",
        )


def _not_here(team: Team, user: User) -> NotFound:
    return NotFound(f"{user.email} does not belong to `{team.name}`.")
