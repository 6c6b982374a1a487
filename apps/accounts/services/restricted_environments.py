"""Environments that only some of a team may change."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction

from apps.accounts.models import RestrictedEnvironment, Team, User
from apps.rest.errors import Conflict, InvalidInput, NotFound


def environment_restrict(
    *, team: Team, name: str, people: Sequence[str] = ()
) -> RestrictedEnvironment:
    """Return the restriction of all environments of that name. Raises InvalidInput or Conflict."""
    allowed = _members(team, people)
    try:
        with transaction.atomic():
            made = RestrictedEnvironment.objects.create(team=team, name=name)
            made.people.set(allowed)
    except IntegrityError:
        raise Conflict(f"`{name}` is restricted already.", fields=["name"]) from None
    return made


def environment_set_people(*, restricted: RestrictedEnvironment, people: Sequence[str]) -> None:
    """Say by their ids who may change the environment besides admins. Raises InvalidInput."""
    restricted.people.set(_members(restricted.team, people))


def environment_release(*, team: Team, name: str) -> None:
    """Let everybody of the team change the environment again. Raises NotFound."""
    if not RestrictedEnvironment.objects.filter(team=team, name=name).delete()[0]:
        raise NotFound(f"The environment `{name}` is not restricted.")


def _members(team: Team, people: Sequence[str]) -> list[User]:
    found = list(User.objects.filter(memberships__team=team, id__in=people))
    strangers = sorted(set(people) - {user.id for user in found})
    if strangers:
        raise InvalidInput(
            f"`{strangers[0]}` is nobody of the team `{team.name}`.", fields=["user_ids"]
        )
    return found
