"""The sidebar: every place of the product by group, who sees it, and which pages are part of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Audience(StrEnum):
    """Who is shown a place; what may be done there, its pages decide."""

    EVERYBODY = "everybody"
    TEAM_ADMINS = "team_admins"
    ORGANISATION_ADMINS = "organisation_admins"


@dataclass(frozen=True, kw_only=True)
class Place:
    name: str
    route: str
    pages: Sequence[str] = ()
    """What else is part of it: routes, or namespaces whose other routes all are."""
    audience: Audience = Audience.EVERYBODY
    document: str = ""
    """What is written about it, by its path below `docs/`, without its ending."""


@dataclass(frozen=True, kw_only=True)
class Group:
    name: str
    """Blank for what stands above all groups."""
    places: Sequence[Place]


_TEAM_ADMIN = "admin"
_TEAM_ADMINS, _ORGANISATION_ADMINS = Audience.TEAM_ADMINS, Audience.ORGANISATION_ADMINS
_NODE_PAGES = ("fleet", "node_page", "node_remove", "node_clear_failed_starts")
_KEY_PAGES = ("accounts:key_create", "accounts:key_revoke")
_BUILD = (
    Place(name="Configs", route="configs:list", pages=("configs",), document="config"),
    Place(
        name="Calibration data",
        route="calibration_sets:list",
        pages=("calibration_sets",),
        document="quantization",
    ),
    Place(
        name="Lookahead",
        route="lookahead_tunings:list",
        pages=("lookahead_tunings",),
        document="lookahead",
    ),
    Place(name="Builds", route="builds:list", pages=("builds",), document="builds"),
    Place(name="Artifacts", route="artifacts:list", pages=("artifacts",), document="builds"),
)
_SERVE = (
    Place(
        name="Models",
        route="deployments:list",
        pages=("deployments", "async_requests"),
        document="serving",
    ),
    Place(
        name="Benchmarks",
        route="benchmarks:list",
        pages=("benchmarks",),
        document="benchmarks",
    ),
    Place(name="Usage", route="usage", pages=("set_price",), document="keys_and_usage"),
)
_INFRASTRUCTURE = (
    Place(name="Nodes", route="fleet:list", pages=_NODE_PAGES, document="nodes"),
    Place(name="Runtimes", route="dashboard:runtimes", document="runtimes"),
)
_ADMIN = (
    Place(name="Secrets", route="secrets:list", pages=("secrets",), document="secrets"),
    Place(name="API keys", route="accounts:keys", pages=_KEY_PAGES, document="keys_and_usage"),
    Place(name="People", route="accounts:people", pages=("accounts",), document="people"),
    Place(
        name="Audit", route="accounts:audit", pages=("accounts:audit_export",),
        audience=_TEAM_ADMINS, document="people",
    ),
    Place(
        name="Remote code", route="remote_code:list", pages=("remote_code",),
        audience=_ORGANISATION_ADMINS, document="security",
    ),
    Place(
        name="Settings", route="dashboard:settings",
        audience=_ORGANISATION_ADMINS, document="settings",
    ),
)  # fmt: skip
_REFERENCE = (
    Place(name="Documentation", route="dashboard:docs", pages=("dashboard:document",)),
    Place(name="Config fields", route="dashboard:config_reference", document="config"),
    Place(name="Rules", route="dashboard:rules", document="checks"),
    Place(
        name="REST API",
        route="dashboard:rest",
        pages=("dashboard:rest_operation",),
        document="rest",
    ),
)
GROUPS: Sequence[Group] = (
    Group(
        name="",
        places=(
            Place(
                name="Overview",
                route="dashboard:overview",
                document="guide/first_model_on_a_cpu",
            ),
            Place(name="Alerts", route="alerts:list", pages=("alerts",), document="alerts"),
        ),
    ),
    Group(name="Build", places=_BUILD),
    Group(name="Serve", places=_SERVE),
    Group(name="Infrastructure", places=_INFRASTRUCTURE),
    Group(name="Admin", places=_ADMIN),
    Group(name="Reference", places=_REFERENCE),
)
_OF_NO_PLACE = ("account", "begin_two_steps", "confirm_two_steps")
_BY_PAGE: Mapping[str, Place | None] = {
    **{
        page: place
        for group in GROUPS
        for place in group.places
        for page in (place.route, *place.pages)
    },
    # What is someone's own is part of no place.
    **{f"accounts:{name}": None for name in _OF_NO_PLACE},
}


def audiences_of(user: object) -> frozenset[Audience]:
    is_admin = getattr(user, "is_admin", False)
    is_team_admin = is_admin or getattr(user, "role_in_team", "") == _TEAM_ADMIN
    return frozenset(
        [Audience.EVERYBODY]
        + [Audience.TEAM_ADMINS] * is_team_admin
        + [Audience.ORGANISATION_ADMINS] * is_admin
    )


def place_of(route: str) -> Place | None:
    if route in _BY_PAGE:
        return _BY_PAGE[route]
    return _BY_PAGE.get(route.partition(":")[0])
