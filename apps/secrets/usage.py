"""Who uses a secret. Configs and what stands on them lie above this app, so they register here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.accounts.models import Team


@dataclass(frozen=True, kw_only=True)
class Use:
    """Something that names a secret."""

    kind: str
    """`config`, `build` or `deployment`."""
    id: str
    name: str


FindUses = Callable[[Team, Sequence[str]], Iterable[tuple[str, Use]]]
"""Takes a team and normal names of secrets, gives (name, use) pairs."""

_finders: list[FindUses] = []


def uses_register(finder: FindUses) -> None:
    """Let an app above say where it uses secrets; called once, when Django starts."""
    if finder not in _finders:
        _finders.append(finder)


def uses_of(team: Team, names: Sequence[str]) -> Mapping[str, list[Use]]:
    """Return by name everything of the team that names one of the secrets."""
    found: dict[str, list[Use]] = {name: [] for name in names}
    for finder in _finders:
        for name, use in finder(team, names):
            found[name].append(use)
    return found
