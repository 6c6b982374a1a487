"""Nodes over REST: everyone sees them, admins manage them."""

from typing import Any

import pytest
from django.test import Client

from apps.fleet.models import Node
from tests.factories import make_api_key, make_cast, make_lease
from tests.factories_serving import GIB, make_serving_node

pytestmark = pytest.mark.django_db


def test_a_node_shows_its_devices_and_what_is_claimed(client: Client) -> None:
    node = make_serving_node(memory_bytes=8 * GIB, facts={"threads": 2})
    make_lease(device=node.devices.get(), memory_bytes=3 * GIB)
    body = _get(client, make_api_key(), "/v1/nodes").json()["nodes"][0]
    assert (body["name"], body["status"]) == (node.name, "live")
    assert (body["devices"][0]["claimed_bytes"], body["devices"][0]["free_bytes"]) == (
        3 * GIB,
        5 * GIB,
    )
    assert "credential" not in str(body)
    types = _get(client, make_api_key(), "/v1/instance_types").json()["instance_types"]
    assert types[0]["id"] == "CPU-8192"
    assert types[0]["millicpu_limit"] == 2000


def test_only_an_admin_of_the_organisation_cordons(client: Client) -> None:
    node = make_serving_node()
    cast = make_cast()
    path = f"/v1/nodes/{node.id}/cordon"
    assert _post(client, make_api_key(user=cast.member, type="PERSONAL"), path).status_code == 403
    assert _post(client, make_api_key(team=cast.team), path).status_code == 403
    assert _post(client, make_api_key(user=cast.owner, type="PERSONAL"), path).status_code == 403
    admin = make_api_key(user=cast.organisation_admin, type="PERSONAL")
    answer = _post(client, admin, path)
    assert answer.json()["cordoned"] is True
    assert Node.objects.get().cordoned
    _post(client, admin, f"/v1/nodes/{node.id}/uncordon")
    assert not Node.objects.get().cordoned


def test_an_unknown_node_is_not_found(client: Client) -> None:
    assert _get(client, make_api_key(), "/v1/nodes/nothere").status_code == 404


def _get(client: Client, key: str, path: str) -> Any:
    return client.get(path, headers={"Authorization": f"Bearer {key}"})


def _post(client: Client, key: str, path: str) -> Any:
    return client.post(path, headers={"Authorization": f"Bearer {key}"})
