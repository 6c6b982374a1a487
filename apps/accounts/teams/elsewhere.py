"""Links into another of someone's teams: whose the thing is that this team does not have."""

from collections.abc import Callable

from django.http import HttpRequest

from apps.accounts.models import Team, User
from apps.accounts.permissions import Actor
from apps.accounts.selectors import team_list

FindTeam = Callable[[str], str | None]
"""Takes an id, gives the id of the team that it belongs to."""
_finders: dict[str, FindTeam] = {}


def owners_register(part: str, finder: FindTeam) -> None:
    """Let an app above say whose that is which a part of an address names; called at the start."""
    _finders[part] = finder


def team_elsewhere(request: HttpRequest) -> Team | None:
    """Return the other team of the person that has what the address names, if one does."""
    user, match = request.user, request.resolver_match
    if not isinstance(user, User) or match is None:
        return None
    teams = (_finders[part](str(match.kwargs[part])) for part in match.kwargs if part in _finders)
    ids = {each for each in teams if each} - {user.team_id}
    return team_list(Actor(team=user.team, user=user)).filter(id__in=ids).first() if ids else None
