"""Another team's identifiers, guessed right: every operation says that there is nothing."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import ApiKey
from apps.rest.specification import document
from tests import factories, factories_alerts, factories_async, factories_benchmarks
from tests.apps.breadth import Choose, chosen
from tests.factories import Cast, make_api_key, make_cast

pytestmark = pytest.mark.django_db
OF_EVERYBODY = {"node_id", "grant_id"}
"""Nodes serve every team, and grants of remote code are for admins of the organisation."""
UNKNOWN = {"number": "1"}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def known_ids(cast: Cast) -> dict[str, str]:
    """Make one of everything in the inside team; return what paths call it."""
    config = factories.make_config(team=cast.team)
    factories.make_revision(config=config)
    build = factories.make_finished_build(team=cast.team)
    model = factories.make_model(team=cast.team, name="inside-model")
    deployment = factories.make_deployment(model=model, build=build, environment="production")
    replica = factories.make_replica(deployment=deployment)
    make_api_key(team=cast.team)
    version = factories.make_calibration_version(team=cast.team, created_by=cast.owner)
    return {
        "config_id": config.id,
        "build_id": build.id,
        "artifact_id": build.artifact_id,
        "artifact": build.artifact_id,
        "model_id": model.id,
        "deployment_id": deployment.id,
        "replica_id": replica.id,
        "env_name": "production",
        "environment": "production",
        "team_id": cast.team.id,
        "alert_id": factories_alerts.make_alert(team=cast.team).id,
        "channel_id": factories_alerts.make_alert_channel(team=cast.team).id,
        "benchmark_id": factories_benchmarks.make_benchmark(deployments=[deployment]).id,
        "request_id": factories_async.make_async_request(deployment=deployment, api_key=None).id,
        "user_id": cast.member.id,
        "prefix": ApiKey.objects.get(team=cast.team, owner=None).prefix,
        "set_id": version.set_id if hasattr(version, "set_id") else version.id,
        "number": "1",
        "name": "production",
        "step": "fetch",
    }


@chosen
def test_every_operation_hides_what_is_another_teams(cast: Cast, choose: Choose) -> None:
    ids = known_ids(cast)
    key = make_api_key(user=cast.outsider, type="PERSONAL")
    leaks = []
    paths = document()["paths"]
    for path in choose([*paths]):
        names = set(re.findall(r"\{(\w+)\}", path))
        if not names or names <= OF_EVERYBODY | {"name"}:
            continue
        request = re.sub(r"\{(\w+)\}", lambda part: ids.get(part[1], "zzzzzzzz"), path)
        for method in paths[path]:
            status, statement = _answer(method, request, key)
            # Nor may the answer differ from the one about what there is not.
            nowhere = re.sub(r"\{(\w+)\}", lambda part: UNKNOWN.get(part[1], "zzzzzzzz"), path)
            if names <= set(ids) and (status, statement) != _answer(method, nowhere, key):
                leaks.append((method, request, statement))
            if status not in {400, 403, 404, 409} or (method == "get" and status not in {400, 404}):
                leaks.append((method, request, status))
    assert leaks == []


def test_lists_of_an_outsider_hold_nothing_of_the_team(cast: Cast) -> None:
    ids = known_ids(cast)
    key = make_api_key(user=cast.outsider, type="PERSONAL")
    secret = {ids[name] for name in ("config_id", "build_id", "model_id", "deployment_id")}
    for path, methods in document()["paths"].items():
        if "get" in methods and "{" not in path:
            answer: Any = Client().get(path, headers={"authorization": f"Bearer {key}"})
            text = answer.getvalue().decode()
            assert not [each for each in secret if each in text], path


def _answer(method: str, path: str, key: str) -> tuple[int, str | None]:
    """Return the status of an answer and the code of its error."""
    sent: dict[str, Any] = (
        {} if method == "get" else {"data": {}, "content_type": "application/json"}
    )
    answer = getattr(Client(), method)(path, **sent, headers={"authorization": f"Bearer {key}"})
    is_json = answer.headers.get("Content-Type") == "application/json"
    return answer.status_code, answer.json().get("code") if is_json else None
