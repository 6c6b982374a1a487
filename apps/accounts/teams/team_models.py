"""Which models and environments a team has: of an app above this one, which registers here."""

from collections.abc import Callable, Collection

from apps.accounts.models import Team

FindModels = Callable[[Team, Collection[str]], Collection[str]]
"""Takes a team and ids, gives those that are models of the team."""

FindEnvironments = Callable[[Team, Collection[str], Collection[str] | None], Collection[str]]
"""Takes a team, names and ids of models, gives those that name environments of these models, or of
any of the team's where there are no ids."""
ALWAYS_THERE = frozenset({"production", "development"})
"""Environments that a model has, or may have, without anybody making them."""

_finders: list[FindModels] = []
_environment_finders: list[FindEnvironments] = []


def models_register(finder: FindModels) -> None:
    """Let an app above say which models there are; called once, when Django starts."""
    if finder not in _finders:
        _finders.append(finder)


def environments_register(finder: FindEnvironments) -> None:
    """Let an app above say which environments there are; called once, when Django starts."""
    if finder not in _environment_finders:
        _environment_finders.append(finder)


def unknown_models(team: Team, ids: Collection[str]) -> list[str]:
    known = {id for finder in _finders for id in finder(team, ids)}
    return [id for id in ids if id not in known]


def unknown_environments(
    team: Team, names: Collection[str], model_ids: Collection[str] | None
) -> list[str]:
    existing = {name for find in _environment_finders for name in find(team, names, model_ids)}
    return [name for name in names if name not in existing | ALWAYS_THERE]
