"""The hosted product's lists: whole under their name, by cursor for who asks for a part."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.models import RestrictedEnvironment, Team, TeamRole, User
from apps.accounts.people.invitations import invitation_create
from apps.deployments.models import Deployment
from apps.fleet.services.prices import price_set
from apps.secrets.models import SecretTest
from apps.secrets.services.values import secret_set
from tests import factories
from tests.apps.rest_client import client_of

pytestmark = pytest.mark.django_db
Fill = Callable[[User, Deployment, int], Any]

NAMES = ("b", "a", "c")


def _secret(admin: User, name: str) -> Any:
    return secret_set(team=admin.team, name=name, value="v", user=admin)


def _test(admin: User) -> Any:
    return SecretTest.objects.create(
        secret=_secret(admin, "hub"), kind="hub", target="a/b", created_by=admin
    )


LISTS: dict[str, Fill] = {
    "/v1/api_keys keys": lambda a, d, n: factories.make_api_key(team=a.team),
    "/v1/secrets secrets": lambda a, d, n: _secret(a, NAMES[n]),
    "/v1/secrets/hub/tests tests": lambda a, d, n: _test(a),
    "/v1/teams teams": lambda a, d, n: factories.make_team(),
    "/v1/teams/{team}/members members": lambda a, d, n: factories.make_user(team=a.team),
    "/v1/teams/{team}/invitations invitations": lambda a, d, n: invitation_create(
        team=a.team, email=f"{NAMES[n]}@example.com", role=TeamRole.MEMBER, user=a
    ),
    "/v1/teams/{team}/restricted_environments restricted_environments": lambda a, d, n: (
        RestrictedEnvironment.objects.create(team=a.team, name=NAMES[n])
    ),
    "/v1/users users": lambda a, d, n: factories.make_user(team=a.team),
    "/v1/nodes nodes": lambda a, d, n: factories.make_node(),
    "/v1/prices prices": lambda a, d, n: price_set(kind=NAMES[n], per_hour=n, user=a),
    "/v1/models models": lambda a, d, n: factories.make_model(team=a.team),
    "/v1/models/{model}/deployments deployments": lambda a, d, n: factories.make_deployment(
        model=d.model
    ),
    "/v1/models/{model}/environments environments": lambda a, d, n: factories.make_environment(
        model=d.model, name=NAMES[n]
    ),
    "/v1/models/{model}/deployments/{deployment}/replicas replicas": lambda a, d, n: (
        factories.make_replica(deployment=d)
    ),
}


@pytest.mark.parametrize("place", LISTS)
def test_a_list_comes_whole_or_page_by_page(place: str, settings: Any, tmp_path: Any) -> None:
    settings.KEY_RING_FILE = tmp_path / "ring" / "keys"
    team = factories.make_team()
    admin = factories.make_user(team=team, is_admin=True, role=TeamRole.ADMIN)
    deployment = factories.make_deployment(model=factories.make_model(team=team))
    for number in range(3):
        LISTS[place](admin, deployment, number)
    template, name = place.split()
    path = template.format(team=team.id, model=deployment.model_id, deployment=deployment.id)
    client = client_of(admin)
    status, whole = client.get(path)
    assert (status, whole["pagination"]) == (200, {"has_more": False, "cursor": None})
    assert len(whole[name]) >= 3
    seen: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        status, part = client.get(path, limit=2, cursor=cursor)
        assert (status, len(part[name]) <= 2) == (200, True), part
        seen += part[name]
        cursor = part["pagination"]["cursor"]
    assert [_timeless(row) for row in seen] == [_timeless(row) for row in whole[name]]
    assert client.get(path, cursor="x")[1]["fields"] == ["cursor"]


def _timeless(row: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the asking itself changes."""
    return {name: value for name, value in row.items() if name != "last_used_at"}


def test_a_long_list_says_where_the_rest_is() -> None:
    admin = factories.make_user(team=factories.make_team(), is_admin=True)
    Team.objects.bulk_create(Team(name=f"team {number:04}") for number in range(1_001))
    client = client_of(admin)
    _, first = client.get("/v1/teams")
    assert (len(first["teams"]), first["pagination"]["has_more"]) == (1_000, True)
    _, rest = client.get("/v1/teams", cursor=first["pagination"]["cursor"])
    assert len(rest["teams"]) == Team.objects.count() - 1_000
