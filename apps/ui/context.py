"""What every page's frame needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from apps.ui.navigation import GROUPS, Place, audiences_of, place_of


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One group of the sidebar, as somebody sees it."""

    name: str
    route: str
    is_current: bool


_PLACES = (
    ("Overview", "dashboard:overview"),
    ("Configs", "configs:list"),
    ("Calibration data", "calibration_sets:list"),
    ("Lookahead", "lookahead_tunings:list"),
    ("Builds", "builds:list"),
    ("Models", "deployments:list"),
    ("Benchmarks", "benchmarks:list"),
    ("Nodes", "fleet:list"),
    ("Alerts", "alerts:list"),
    ("Runtimes", "dashboard:runtimes"),
    ("Config fields", "dashboard:config_reference"),
    ("Rules", "dashboard:rules"),
    ("Secrets", "secrets:list"),
    ("API keys", "accounts:keys"),
    ("REST API", "dashboard:rest"),
    ("People", "accounts:people"),
)
_OF_ADMINS = (("Settings", "dashboard:settings"),)
"""Places that only admins of the organisation see."""
_PLACES_OF = {
    "artifacts": "builds",
    "node_page": "fleet",
    "remote_code": "people",
    "usage": "keys",
}
"""Namespaces, and pages outside of any, that have no place of their own."""
# Pages of `accounts` that belong to the place of keys, and to none; the rest are about people.
_KEY_PAGES = frozenset({"keys", "key_create", "key_revoke"})
_OWN_PAGES = frozenset({"account", "begin_two_steps", "confirm_two_steps"})


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
