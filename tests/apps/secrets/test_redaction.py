"""Known values of a team are taken out of what engines print, and kept out of configs."""

import json
from typing import Any

import pytest
from django.test import Client

from apps.accounts.hashing import sha256_hex
from apps.configs.models import Revision
from apps.secrets.models import Secret
from apps.secrets.services import secret_set
from apps.telemetry.logs import log_lines
from tests.apps.rest_client import client_of
from tests.factories import (
    config_text,
    make_cast,
    make_deployment,
    make_model,
    make_node,
    make_replica,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
VALUE = "plain-words-of-no-pattern"


def shipped(credential: str, body: dict[str, Any]) -> int:
    answer = Client().post(
        "/internal/v1/nodes/logs",
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {credential}"},
    )
    return answer.status_code


def test_what_an_engine_prints_of_a_secret_is_not_kept() -> None:
    cast = make_cast()
    secret_set(team=cast.team, name="team_token", value=VALUE)
    node = make_node(credential_sha256=sha256_hex("of-the-node"))
    deployment = make_deployment(model=make_model(team=cast.team))
    replica = make_replica(deployment=deployment, node=node)
    body = {"replica_id": replica.id, "attempt": 1, "sequence": 0, "text": f"got {VALUE}!\n"}
    assert shipped("of-the-node", body) == 200
    lines = log_lines(owners=[replica.log_owner])
    assert [line.message for line in lines] == ["got [redacted]!"]
    assert Secret.objects.get().last_used_at is None


def test_a_config_that_holds_the_value_of_a_secret_is_not_saved() -> None:
    cast = make_cast()
    secret_set(team=cast.team, name="team_token", value=VALUE)
    client = client_of(cast.member)
    text = config_text() + f"environment_variables:\n  TOKEN: {VALUE}\n"
    status, refused = client.post("/v1/configs", {"name": "chat", "text": text})
    assert (status, refused["code"]) == (400, "secret_value_in_text")
    assert "`team_token`" in refused["message"]
    assert VALUE not in str(refused)
    assert Revision.objects.count() == 0
    assert client.post("/v1/configs", {"name": "chat", "text": config_text()})[0] in (200, 201)
    # Another team's value is not known here, and not told of either.
    outsider = client_of(cast.outsider)
    assert outsider.post("/v1/configs", {"name": "chat", "text": text})[0] in (200, 201)
