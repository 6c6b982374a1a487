from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from apps.ui.navigation import GROUPS, Place, audiences_of, place_of


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One group of the sidebar, as someone sees it."""

    name: str
    places: Sequence[Place]


def shell(request: HttpRequest) -> dict[str, object]:
    """Return the values that `base.html` reads."""
    audiences = audiences_of(getattr(request, "user", None))
    match = request.resolver_match
    return {
        "sidebar": [
            Shown(name=group.name, places=places)
            for group in GROUPS
            if (places := [each for each in group.places if each.audience in audiences])
        ],
        "current_place": place_of(match.view_name) if match else None,
    }
