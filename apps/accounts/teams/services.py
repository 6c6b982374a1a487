from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from apps.accounts.audit.recording import audit
from apps.accounts.models import Membership, Team, TeamRole, User
from apps.accounts.permissions import Actor
from apps.accounts.routes_version import routes_version_bump
from apps.accounts.selectors import team_list
from apps.rest.errors import Conflict, InvalidInput, NotFound

LONGEST_NAME = 64


def team_create(*, name: str, user: User | None) -> Team:
    """Return a new team, with who made it as its admin. Raises InvalidInput or Conflict."""
    name = _checked(name)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name)
            if user is not None:
                Membership.objects.create(team=team, user=user, role=TeamRole.ADMIN)
            audit("team.create", team, team=team)
    except IntegrityError:
        raise _taken(name) from None
    return team


def team_rename(*, team: Team, name: str) -> Team:
    """Return the team under its new name. Raises InvalidInput or Conflict."""
    name = _checked(name)
    try:
        with transaction.atomic():
            Team.objects.filter(id=team.id).update(name=name)
            audit("team.rename", team, team=team, before={"name": team.name}, after={"name": name})
    except IntegrityError:
        raise _taken(name) from None
    team.name = name
    return team


def team_delete(*, team: Team) -> None:
    """Delete a team that has nothing left. Raises Conflict."""
    if team.is_default:
        raise Conflict("The default team cannot be deleted.", hint="Rename it if you like.")
    if left := _left_in(team):
        raise Conflict(
            f"The team `{team.name}` still has {left}.",
            hint="Delete what it has, or let its members move it, then delete the team.",
        )
    with transaction.atomic():
        _send_home(team)
        audit("team.delete", team, team=team)
        try:
            team.delete()
        except ProtectedError:
            raise Conflict(
                f"The team `{team.name}` is the only one of some of its members.",
                hint="Add them to another team, or deactivate them, first.",
            ) from None
        routes_version_bump()


def team_enter(*, user: User, team_id: str) -> Team:
    """Return the team that the person works in from now on. Raises NotFound."""
    team = team_list(Actor(team=user.team, user=user)).filter(id=team_id).first()
    if team is None:
        raise NotFound(f"There is no team `{team_id}`.")
    with transaction.atomic():
        User.objects.filter(id=user.id).update(team=team)
        audit("team.enter", team, team=team, before={"team": user.team.name})
    return team


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise InvalidInput(
            f"A team's name has 1 to {LONGEST_NAME} characters, and this one {len(name)}.",
            fields=["name"],
        )
    return name


def _taken(name: str) -> Conflict:
    return Conflict(f"There is a team `{name}` already.", fields=["name"])


def _left_in(team: Team) -> str:
    owned = ("configs", "builds", "served_models", "secrets", "artifacts")
    counts = {
        name.replace("served_", ""): getattr(team, name).count()
        for name in owned
        if hasattr(team, name)
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _send_home(team: Team) -> None:
    """Let who works in the team work in another of theirs."""
    for user in User.objects.select_for_update().filter(team=team):
        other = Membership.objects.filter(user=user).exclude(team=team).first()
        if other is not None or user.is_admin:
            home = other.team if other else Team.objects.get(is_default=True)
            User.objects.filter(id=user.id).update(team=home)
