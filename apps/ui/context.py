"""What every page's frame needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from apps.ui.navigation import GROUPS, Audience, Place, place_of

_TEAM_ADMIN = "admin"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One group of the sidebar, as somebody sees it."""

    name: str
    places: Sequence[Place]


def shell(request: HttpRequest) -> dict[str, object]:
    """Return the values that `base.html` reads."""
    audiences = frozenset(_audiences(request))
    match = request.resolver_match
    return {
        "sidebar": [
            Shown(name=group.name, places=places)
            for group in GROUPS
            if (places := [each for each in group.places if each.audience in audiences])
        ],
        "current_place": place_of(match.view_name) if match else None,
    }


def _audiences(request: HttpRequest) -> Iterator[Audience]:
    yield Audience.EVERYBODY
    user = getattr(request, "user", None)
    is_admin = getattr(user, "is_admin", False)
    if is_admin or getattr(user, "role_in_team", "") == _TEAM_ADMIN:
        yield Audience.TEAM_ADMINS
    if is_admin:
        yield Audience.ORGANISATION_ADMINS
