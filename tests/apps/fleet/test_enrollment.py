"""Agents and gateways join by a token that works once."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client

from apps.accounts.models import AuditEntry
from apps.fleet.credentials import hash_of
from apps.fleet.models import Device, EnrollmentToken, Gateway, Node
from apps.fleet.selectors import node_by_credential
from apps.fleet.services.enrollment import EnrollmentRefused, enrollment_token_create
from apps.fleet.services.gateways import gateway_enroll
from tests.waiting import wait_for

pytestmark = pytest.mark.django_db


def test_of_a_nodes_credential_only_the_hash_is_known(client: Client) -> None:
    answer = _enroll(client, enrollment_token_create(), credential="credential-1")
    assert answer.status_code == 200
    node = Node.objects.get()
    assert answer.json() == {"node_id": node.id}
    assert node_by_credential("credential-1") == node
    assert "credential-1" not in str(Node.objects.values())
    assert Device.objects.get().kind == "CPU"


def test_a_second_use_of_a_token_is_refused_and_audited_once(client: Client) -> None:
    token = enrollment_token_create()
    assert _enroll(client, token).status_code == 200
    for _ in range(2):
        again = _enroll(client, token, name="other", credential="another")
        assert again.status_code == 401
        assert "unknown, used or expired" in again.json()["message"]
    assert not Node.objects.filter(name="other").exists()
    answer = AuditEntry.objects.get(action="enrollment_token.use_again")
    assert answer.after == {"by": "node:other", "used_by": "node:host-1"}
    assert answer.actor_kind == "nobody"


def test_the_same_name_with_another_credential_is_a_second_use_too(client: Client) -> None:
    token = enrollment_token_create()
    _enroll(client, token, credential="credential-1")
    assert _enroll(client, token, credential="stolen").status_code == 401
    assert node_by_credential("credential-1") is not None
    assert AuditEntry.objects.filter(action="enrollment_token.use_again").count() == 1


def test_a_node_whose_answer_was_lost_repeats_it_and_changes_nothing(client: Client) -> None:
    token = enrollment_token_create()
    lost = _enroll(client, token).json()
    again = _enroll(client, token, address="10.0.0.66")
    assert (again.status_code, again.json()) == (200, lost)
    assert Node.objects.get().address == "127.0.0.1"
    assert AuditEntry.objects.filter(action="node.enroll").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_repeat_that_comes_while_the_first_is_under_way_joins_the_same_gateway() -> None:
    target = {"token": enrollment_token_create(), "name": "here", "credential_sha256": "a" * 64,
              "address": ""}  # fmt: skip
    joined: list[object] = []
    late = threading.Thread(target=_join, args=(target, joined))
    with transaction.atomic():
        first = gateway_enroll(**target)
        late.start()
        wait_for(lambda: _waits_for_a_lock() or joined, what="the repeat to wait for the first")
        assert not joined
    late.join()
    assert joined == [first]


def test_after_a_restart_with_a_new_token_a_lost_answer_is_repeated_too(client: Client) -> None:
    lost = _enroll(client, enrollment_token_create()).json()
    again = _enroll(client, enrollment_token_create())
    assert (again.status_code, again.json()) == (200, lost)


def test_a_credential_of_another_node_is_refused_and_the_token_stays_good(client: Client) -> None:
    _enroll(client, enrollment_token_create())
    token = enrollment_token_create()
    refused = _enroll(client, token, name="other")
    assert refused.status_code == 401
    assert "has this credential" in refused.json()["message"]
    assert _enroll(client, token, name="other", credential="own").status_code == 200


def test_a_token_that_never_was_leaves_no_trace(client: Client) -> None:
    before = AuditEntry.objects.count()
    assert _enroll(client, "made-up").status_code == 401
    assert AuditEntry.objects.count() == before


def test_no_node_takes_the_device_of_another_that_lives(client: Client) -> None:
    _enroll(client, enrollment_token_create())
    _enroll(client, enrollment_token_create(), name="thief", credential="own")
    device = Device.objects.get()
    assert device.node.name == "host-1"
    Node.objects.filter(name="host-1").update(last_heartbeat_at=None)
    _enroll(client, enrollment_token_create(), name="heir", credential="another")
    device.refresh_from_db()
    assert device.node.name == "heir"


def test_an_expired_token_is_refused(client: Client) -> None:
    token = enrollment_token_create(lifetime=timedelta(seconds=-1))
    assert _enroll(client, token).status_code == 401


def test_the_token_itself_is_not_stored() -> None:
    token = enrollment_token_create()
    assert token not in str(EnrollmentToken.objects.values())


def test_enrolling_again_under_the_same_name_ends_the_old_credential(client: Client) -> None:
    first = _enroll(client, enrollment_token_create(), credential="first").json()
    second = _enroll(client, enrollment_token_create(), credential="second").json()
    assert first["node_id"] == second["node_id"]
    assert node_by_credential("first") is None
    assert node_by_credential("second") is not None


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
        {"name": "gw", "address": "127.0.0.1:8001", "credential_sha256": hash_of("own")},
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


def _enroll(client: Client, token: str, *, credential: str = "credential", **changes: Any) -> Any:
    body = {
        "name": "host-1",
        "credential_sha256": hash_of(credential),
        "address": "127.0.0.1",
        "engine_ports": [15_000, 32_767],
        "boot_id": "b",
        "agent_version": "0.1.0",
        "host_memory_bytes": 1,
        "devices": [{"index": 0, "uuid": "CPU-1", "kind": "CPU", "memory_bytes": 1, "name": "cpu"}],
        "facts": {},
        **changes,
    }
    return client.post(
        "/internal/v1/nodes/enroll",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )


def _join(wanted: dict[str, str], joined: list[object]) -> None:
    try:
        joined.append(gateway_enroll(**wanted))
    except EnrollmentRefused as refused:
        joined.append(str(refused))
    finally:
        connection.close()


def _waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
