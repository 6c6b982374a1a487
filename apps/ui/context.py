"""What every page's frame needs."""

from dataclasses import dataclass

from django.http import HttpRequest


@dataclass(frozen=True, kw_only=True)
class Place:
    """One entry of the sidebar."""

    name: str
    route: str
    is_current: bool


_PLACES = (
    ("Overview", "dashboard:overview"),
    ("Configs", "configs:list"),
    ("Calibration data", "calibration_sets:list"),
    ("Builds", "builds:list"),
    ("Models", "deployments:list"),
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
    current = _current(request)
    is_admin = getattr(getattr(request, "user", None), "is_admin", False)
    places = _PLACES + (_OF_ADMINS if is_admin else ())
    return {
        "sidebar": [
            Place(name=name, route=route, is_current=_place(route) == current)
            for name, route in places
        ]
    }


def _current(request: HttpRequest) -> str:
    match = request.resolver_match
    return _place(match.view_name) if match else ""


def _place(route: str) -> str:
    namespace, _, name = route.partition(":")
    if namespace == "dashboard":
        return name.partition("_")[0]
    if namespace != "accounts":
        return _PLACES_OF.get(namespace, namespace)
    if name in _OWN_PAGES:
        return ""
    return "keys" if name in _KEY_PAGES else "people"
