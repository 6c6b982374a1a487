"""Who uses a secret. Configs and what stands on them lie above this app, so they register here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.accounts.models import Team
from controlplane.domain.secret_tests import ProbeKind


@dataclass(frozen=True, kw_only=True)
class Use:
    kind: str
    """`config`, `build`, `push`, `deployment` or `alert_channel`."""
    id: str
    name: str
    url: str
    """Its page."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    kind: ProbeKind
    target: str
    named_by: str
    """The config."""


FindUses = Callable[[Team, Sequence[str]], Iterable[tuple[str, Use]]]
"""Takes a team and normal names of secrets, gives (name, use) pairs."""
FindOpened = Callable[[Team, str], Iterable[Opened]]
"""Takes a team and the normal name of a secret."""

_finders: list[FindUses] = []
_openers: list[FindOpened] = []


def uses_register(finder: FindUses) -> None:
    """Let an app above say where it uses secrets; called once, when Django starts."""
    if finder not in _finders:
        _finders.append(finder)


def opened_register(finder: FindOpened) -> None:
    """Let an app above say what its secrets open; called once, when Django starts."""
    if finder not in _openers:
        _openers.append(finder)


def uses_of(team: Team, names: Sequence[str]) -> Mapping[str, list[Use]]:
    uses: dict[str, list[Use]] = {name: [] for name in names}
    for finder in _finders:
        for name, use in finder(team, names):
            uses[name].append(use)
    return uses


def opened_by(team: Team, name: str) -> Sequence[Opened]:
    """Return what the team's configs have the secret open, each once."""
    openings = {
        (each.kind, each.target): each for finder in _openers for each in finder(team, name)
    }
    return list(openings.values())
