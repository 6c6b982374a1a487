from collections.abc import Sequence

from django.db import IntegrityError, transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import RestrictedEnvironment, Team, User
from apps.accounts.teams.team_models import unknown_environments
from apps.rest.errors import Conflict, InvalidInput, NotFound


def environment_restrict(
    *, team: Team, name: str, people: Sequence[str] = ()
) -> RestrictedEnvironment:
    """Return the restriction of all environments of that name. Raises InvalidInput or Conflict."""
    allowed = _members(team, people)
    _check_name(team, name)
    try:
        with transaction.atomic():
            made = RestrictedEnvironment.objects.create(team=team, name=name)
            made.people.set(allowed)
            audit("restriction.create", made, team=team, after={"people": _addresses(allowed)})
    except IntegrityError:
        raise Conflict(f"`{name}` is restricted already.", fields=["name"]) from None
    return made


@transaction.atomic
def environment_set_people(*, restricted: RestrictedEnvironment, people: Sequence[str]) -> None:
    """Say by their ids who may change the environment besides admins. Raises InvalidInput."""
    before, after = list(restricted.people.all()), _members(restricted.team, people)
    restricted.people.set(after)
    audit(
        "restriction.set_people",
        restricted,
        team=restricted.team,
        before={"people": _addresses(before)},
        after={"people": _addresses(after)},
    )


@transaction.atomic
def environment_release(*, team: Team, name: str) -> None:
    """Let all members of the team change the environment again. Raises NotFound."""
    if not RestrictedEnvironment.objects.filter(team=team, name=name).delete()[0]:
        raise NotFound(f"The environment `{name}` is not restricted.")
    audit("restriction.release", name, team=team)


def _check_name(team: Team, name: str) -> None:
    # A mistyped name would protect nothing, and look as if it did.
    if unknown_environments(team, [name], None):
        raise InvalidInput(
            f"No model of the team `{team.name}` has an environment `{name}`.",
            fields=["name"],
            hint="Give a name as the models' pages show it; make an environment before it is "
            "restricted.",
        )


def _addresses(people: Sequence[User]) -> list[str]:
    return sorted(user.email for user in people)


def _members(team: Team, people: Sequence[str]) -> list[User]:
    users = list(User.objects.filter(memberships__team=team, id__in=people))
    strangers = sorted(set(people) - {user.id for user in users})
    if strangers:
        raise InvalidInput(
            f"`{strangers[0]}` is nobody of the team `{team.name}`.", fields=["user_ids"]
        )
    return users
