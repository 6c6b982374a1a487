"""Known values of a team are taken out of what engines print, and kept out of configs."""

import json
from typing import Any

import pytest
from django.test import Client

from apps.accounts.hashing import sha256_hex
from apps.accounts.key_ring import KeyRingError
from apps.configs.models import Revision
from apps.secrets.models import Secret
from apps.secrets.services.redaction import secret_redactor
from apps.secrets.services.values import secret_reveal, secret_set, secrets_reveal
from apps.telemetry.logs import log_lines
from tests.apps.pages import signed_in
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


DAMAGES: tuple[dict[str, Any], ...] = (
    {"key_id": "k0123456789ab"},
    {"nonce": b""},
    {"nonce": b"n" * 300},
    {"ciphertext": b""},
)


def damage(name: str, columns: dict[str, Any]) -> None:
    Secret.objects.filter(name=name).update(**columns)


@pytest.mark.parametrize("damaged", DAMAGES, ids=str)
def test_a_secret_that_does_not_open_blocks_no_config_and_no_log_of_its_team(
    damaged: dict[str, Any],
) -> None:
    cast = make_cast()
    secret_set(team=cast.team, name="lost", value="another-value-of-theirs")
    secret_set(team=cast.team, name="team_token", value=VALUE)
    damage("lost", damaged)
    client = client_of(cast.member)
    assert client.post("/v1/configs", {"name": "chat", "text": config_text()})[0] == 201
    text = config_text() + f"environment_variables:\n  TOKEN: {VALUE}\n"
    assert client.post("/v1/configs", {"name": "told", "text": text})[0] == 400
    assert secret_redactor(team=cast.team).text(f"got {VALUE}") == "got [redacted]"


@pytest.mark.parametrize("damaged", DAMAGES, ids=str)
def test_a_secret_that_does_not_open_is_shown_as_such_and_fails_its_own_use_alone(
    damaged: dict[str, Any],
) -> None:
    cast = make_cast()
    for name in ("lost", "whole"):
        secret_set(team=cast.team, name=name, value=VALUE)
    damage("lost", damaged)
    status, report = client_of(cast.member).get("/v1/secrets")
    assert status == 200
    assert {each["name"]: each["is_readable"] for each in report["secrets"]} == {
        "lost": False,
        "whole": True,
    }
    page = signed_in(cast.member).get("/secrets/").content.decode()
    assert page.count("does not open") == 1
    lost = Secret.objects.get(name="lost")
    assert "does not open" in signed_in(cast.member).get(f"/secrets/{lost.id}/").content.decode()
    assert secrets_reveal(team=cast.team, names=["whole"]) == {"whole": VALUE}
    with pytest.raises(KeyRingError, match="`lost` does not open"):
        secret_reveal(team=cast.team, name="lost")
    secret_set(team=cast.team, name="lost", value="stored anew")
    assert secret_reveal(team=cast.team, name="lost") == "stored anew"
