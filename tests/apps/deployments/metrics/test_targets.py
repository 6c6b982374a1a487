"""What a Prometheus is told to scrape, by `http_sd_configs`."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import ApiKeyType, Team
from tests.factories import make_api_key, make_team
from tests.factories_serving import make_gateway

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    settings.PUBLIC_URL = "https://enginehouse.example.com"
    settings.GATEWAY_INTERNAL_URL = "http://gateway.internal:8001"


def told(client: Client, team: Team, type: str = ApiKeyType.WORKSPACE_EXPORT_METRICS) -> Any:
    key = make_api_key(team=team, type=type)
    return client.get("/metrics/targets", headers={"Authorization": f"Api-Key {key}"})


def test_the_default_team_is_told_of_web_and_of_every_host_with_a_gateway(client: Client) -> None:
    make_gateway(name="gw-a", address="10.0.0.4")
    make_gateway(name="gw-b", address="127.0.0.1")
    make_gateway(name="gw-b-2", address="127.0.0.1")
    make_gateway(name="gw-c", address="fd00::4")
    default = Team.objects.filter(is_default=True).first()
    answer = told(client, default or make_team(is_default=True))
    assert answer["Content-Type"] == "application/json"
    rows = [(*each["targets"], each["labels"]["__meta_enginehouse_name"]) for each in answer.json()]
    assert rows == [
        ("enginehouse.example.com:443", "web"),
        ("10.0.0.4:8001", "gw-a"),
        ("gateway.internal:8001", "gw-b"),
        ("[fd00::4]:8001", "gw-c"),
    ]
    assert answer.json()[0]["labels"]["__scheme__"] == "https"


def test_another_team_is_told_of_its_own_page_alone(client: Client) -> None:
    make_gateway()
    targets = told(client, make_team()).json()
    assert [each["labels"]["__meta_enginehouse_part"] for each in targets] == ["control_plane"]


def test_a_key_that_may_only_call_models_is_refused(client: Client) -> None:
    assert told(client, make_team(), ApiKeyType.WORKSPACE_INVOKE).status_code == 403
    assert client.get("/metrics/targets").status_code == 401
