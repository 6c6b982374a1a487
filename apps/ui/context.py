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
    ("Builds", "builds:list"),
    ("Models", "deployments:list"),
    ("Nodes", "fleet:list"),
    ("Secrets", "secrets:list"),
    ("API keys", "accounts:keys"),
)


def shell(request: HttpRequest) -> dict[str, object]:
    """Return the values that `base.html` reads."""
    match = request.resolver_match
    namespace = match.namespace if match else ""
    return {
        "sidebar": [
            Place(name=name, route=route, is_current=route.partition(":")[0] == namespace)
            for name, route in _PLACES
        ]
    }
