"""Which models a team has. They belong to an app above this one, which registers here."""

from collections.abc import Callable, Collection

from apps.accounts.models import Team

FindModels = Callable[[Team, Collection[str]], Collection[str]]
"""Takes a team and ids, gives those that are models of the team."""

_finders: list[FindModels] = []


def models_register(finder: FindModels) -> None:
    """Let an app above say which models there are; called once, when Django starts."""
    if finder not in _finders:
        _finders.append(finder)


def unknown_models(team: Team, ids: Collection[str]) -> list[str]:
    """Return the ids that are of no model of the team, in the order given."""
    known = {id for finder in _finders for id in finder(team, ids)}
    return [id for id in ids if id not in known]
