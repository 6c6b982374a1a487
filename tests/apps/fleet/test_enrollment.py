"""Agents and gateways join by a token that works once."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client

from apps.fleet.models import Card, EnrollmentToken, Gateway, Node
from apps.fleet.selectors import node_by_credential
from apps.fleet.services import enrollment_token_create

pytestmark = pytest.mark.django_db


def test_a_node_gets_a_credential_of_which_only_the_hash_is_kept(client: Client) -> None:
    answer = _enroll(client, enrollment_token_create())
    assert answer.status_code == 200
    credential = answer.json()["credential"]
    node = Node.objects.get()
    assert node.id == answer.json()["node_id"]
    assert node_by_credential(credential) == node
    assert credential not in str(Node.objects.values())
    assert Card.objects.get().kind == "CPU"


def test_a_token_works_for_one_node_only(client: Client) -> None:
    token = enrollment_token_create()
    assert _enroll(client, token).status_code == 200
    again = _enroll(client, token, name="other")
    assert again.status_code == 401
    assert "unknown, used or expired" in again.json()["message"]
    assert not Node.objects.filter(name="other").exists()


def test_a_node_whose_answer_was_lost_may_enroll_again_with_the_same_token(client: Client) -> None:
    token = enrollment_token_create()
    lost = _enroll(client, token).json()
    again = _enroll(client, token).json()
    assert again["node_id"] == lost["node_id"]
    assert node_by_credential(lost["credential"]) is None
    assert node_by_credential(again["credential"]) is not None


def test_the_same_name_may_not_repeat_it_later(client: Client) -> None:
    token = enrollment_token_create()
    _enroll(client, token)
    EnrollmentToken.objects.update(used_at=Now() - timedelta(minutes=6))
    assert _enroll(client, token).status_code == 401


def test_an_expired_token_is_refused(client: Client) -> None:
    token = enrollment_token_create(lifetime=timedelta(seconds=-1))
    assert _enroll(client, token).status_code == 401


def test_the_token_itself_is_not_stored() -> None:
    token = enrollment_token_create()
    assert token not in str(EnrollmentToken.objects.values())


def test_enrolling_again_under_the_same_name_ends_the_old_credential(client: Client) -> None:
    first = _enroll(client, enrollment_token_create()).json()
    second = _enroll(client, enrollment_token_create()).json()
    assert first["node_id"] == second["node_id"]
    assert node_by_credential(first["credential"]) is None
    assert node_by_credential(second["credential"]) is not None


def test_a_wrong_body_is_refused_with_the_field_and_the_token_stays_good(client: Client) -> None:
    token = enrollment_token_create()
    answer = _enroll(client, token, name="no spaces")
    assert answer.status_code == 400
    assert "name" in answer.json()["message"]
    assert _enroll(client, token).status_code == 200


def test_a_body_past_the_limit_is_refused(client: Client) -> None:
    answer = _enroll(client, enrollment_token_create(), facts={"x": "y" * 2_100_000})
    assert answer.status_code == 413


def test_a_gateway_enrolls_with_nothing_applied(client: Client) -> None:
    answer = client.post(
        "/internal/v1/gateways/enroll",
        {"name": "gw", "address": "127.0.0.1:8001"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {enrollment_token_create()}"},
    )
    assert answer.status_code == 200
    assert Gateway.objects.get(id=answer.json()["gateway_id"]).applied_version == 0


def test_the_command_prints_a_token_that_works(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("enrollment_token")
    assert _enroll(client, capsys.readouterr().out.strip()).status_code == 200


def _enroll(client: Client, token: str, **changes: Any) -> Any:
    body = {
        "name": "host-1",
        "address": "127.0.0.1",
        "boot_id": "b",
        "agent_version": "0.1.0",
        "host_memory_bytes": 1,
        "cards": [{"index": 0, "uuid": "CPU-1", "kind": "CPU", "memory_bytes": 1, "name": "cpu"}],
        "facts": {},
        **changes,
    }
    return client.post(
        "/internal/v1/nodes/enroll",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
