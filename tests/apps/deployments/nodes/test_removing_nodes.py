"""Nodes that are gone for good: what they held is named and free, their agents fenced off."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import AuditEntry
from apps.deployments.models import Deployment, Replica
from apps.deployments.nodes.removing import node_held, node_remove
from apps.deployments.served_models.services import model_delete
from apps.deployments.services.deleting import deployment_delete
from apps.deployments.services.deployments import deployment_deactivate
from apps.fleet.models import Device, DeviceLease, Node
from apps.fleet.selectors import node_list
from apps.fleet.services.enrollment import enrollment_token_create
from apps.fleet.services.nodes import DeviceReport, DeviceUse, node_enroll, node_observe
from apps.fleet.services.removing import NodeRemoved
from apps.rest.errors import Conflict, NotFound
from controlplane import clock
from controlplane.domain.lifecycle import DeploymentState, ReplicaState
from controlplane.domain.wire.removal import removal_signature
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories_serving import GIB, make_serving_node

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def silent() -> Node:
    return make_serving_node(name="gone", last_heartbeat_at=clock.now() - timedelta(days=1))


def hold(node: Node, **changes: Any) -> Replica:
    """Return a lost replica on the node, which holds a GPU of it."""
    replica = factories.make_replica(node=node, state=ReplicaState.LOST, **changes)
    device = node.devices.get()
    DeviceLease.objects.create(device=device, holder=replica.device_holder, memory_bytes=GIB)
    return replica


def test_what_a_removed_node_held_is_named_ended_and_free(silent: Node) -> None:
    replica = hold(silent)
    DeviceLease.objects.create(device=silent.devices.get(), holder="build:b1", memory_bytes=GIB)
    deployment = replica.deployment
    named = [f"replica {replica.id} of {deployment.model.name}/{deployment.name}, lost", "build b1"]
    assert node_held(node=silent).lines == named
    assert node_remove(node=silent).lines == named
    replica.refresh_from_db()
    assert (replica.state, replica.wanted) == (ReplicaState.STOPPED, "stopped")
    assert not DeviceLease.objects.filter(released_at=None).exists()
    assert not Device.objects.filter(is_present=True).exists()
    assert not node_list().exists()
    entry = AuditEntry.objects.get(action="node.remove")
    assert entry.before == {"held": named}


def test_a_node_that_speaks_is_removed_only_when_it_holds_nothing() -> None:
    node = make_serving_node(name="alive")
    replica = hold(node)
    with pytest.raises(Conflict, match=f"holds 1 things: replica {replica.id}"):
        node_remove(node=node)
    replica.refresh_from_db()
    assert replica.state == ReplicaState.LOST
    Replica.objects.update(state=ReplicaState.STOPPED)
    DeviceLease.objects.update(released_at=clock.now())
    assert not node_remove(node=node).lines


def test_a_node_is_removed_once(silent: Node) -> None:
    node_remove(node=silent)
    with pytest.raises(NotFound, match="was removed already"):
        node_remove(node=silent)


def observe(credential: str) -> Any:
    body = {"format": 1, "boot_id": "boot-2", "devices": [], "replicas": []}
    return Client().post(
        "/internal/v1/nodes/observe",
        body,
        content_type="application/json",
        headers={"authorization": f"Bearer {credential}"},
    )


def test_the_agent_of_a_removed_node_is_told_so_in_words_that_are_signed(silent: Node) -> None:
    hold(silent)
    node_remove(node=silent)
    answer = observe("gone")
    assert answer.status_code == 410
    body = answer.json()
    assert (body["code"], body["message"]) == ("node_removed", "Node `gone` was removed.")
    signature = removal_signature(credential_sha256=silent.credential_sha256, node_id=silent.id)
    assert body["details"] == {"node_id": silent.id, "signature": signature}
    silent.refresh_from_db()
    assert silent.last_heartbeat_at is None


def test_a_report_that_was_under_way_brings_no_device_back(silent: Node) -> None:
    node_remove(node=silent)
    device = silent.devices.get()
    seen = DeviceReport(
        index=device.index, uuid=device.uuid, kind=device.kind, memory_bytes=device.memory_bytes
    )
    with pytest.raises(NodeRemoved):
        node_observe(node=silent, boot_id="boot-1", devices={seen: DeviceUse()})
    device.refresh_from_db()
    assert not device.is_present


def test_a_removed_node_comes_back_with_a_new_token_and_a_new_credential(silent: Node) -> None:
    hold(silent)
    node_remove(node=silent)
    device = silent.devices.get()
    again = node_enroll(
        token=enrollment_token_create(),
        name="gone",
        credential_sha256="f" * 64,
        address="127.0.0.1",
        engine_ports=(1024, 65535),
        boot_id="boot-2",
        agent_version="",
        host_memory_bytes=GIB,
        facts={},
        devices=[DeviceReport(index=0, uuid=device.uuid, kind="CPU", memory_bytes=8 * GIB)],
    )
    assert again.removed_at is None
    assert [each.name for each in node_list()] == ["gone"]
    assert observe("gone").status_code == 401


def test_a_deletion_names_the_silent_node_that_it_waits_for_and_goes_once_it_is_removed(
    silent: Node,
) -> None:
    replica = hold(silent)
    deployment, model = replica.deployment, replica.deployment.model
    deployment_deactivate(deployment=deployment)
    for delete in (
        lambda: deployment_delete(deployment=deployment),
        lambda: model_delete(model=model),
    ):
        with pytest.raises(Conflict) as refused:
            delete()
        assert "is on `gone`, silent" in str(refused.value.hint)
    node_remove(node=silent)
    Deployment.objects.update(state=DeploymentState.INACTIVE)
    deployment_delete(deployment=deployment)
    model_delete(model=model)


def test_only_admins_of_the_organisation_remove_nodes_over_rest(
    cast: factories.Cast, silent: Node
) -> None:
    replica = hold(silent)
    for person in (cast.owner, cast.member, cast.outsider):
        assert client_of(person).delete(f"/v1/nodes/{silent.id}")[0] == 403
        assert signed_in(person).post(f"/nodes/{silent.id}/remove/").status_code == 403
    admin = client_of(cast.organisation_admin)
    status, report = admin.delete(f"/v1/nodes/{silent.id}")
    assert status == 200
    assert (report["name"], len(report["held"])) == ("gone", 1)
    assert replica.id in report["held"][0]
    assert admin.delete(f"/v1/nodes/{silent.id}")[0] == 404


def test_the_page_names_what_ends_before_and_after(cast: factories.Cast, silent: Node) -> None:
    replica = hold(silent)
    browser = signed_in(cast.organisation_admin)
    text = browser.get(f"/nodes/{silent.id}/").content.decode()
    assert f"<li>replica {replica.id} of " in text
    refused = browser.post(f"/nodes/{silent.id}/remove/", {"name": "other"}, follow=True)
    assert "The typed name is not the node&#x27;s" in refused.content.decode()
    done = browser.post(f"/nodes/{silent.id}/remove/", {"name": "gone"}, follow=True)
    assert f"It held: replica {replica.id} of " in done.content.decode()
    assert AuditEntry.objects.filter(action="node.remove", source="page").exists()
    assert browser.get(f"/nodes/{silent.id}/").status_code == 404
    shown = signed_in(cast.member).get("/nodes/").content.decode()
    assert f"/nodes/{silent.id}/" not in shown


def test_the_command_says_first_and_removes_when_it_is_told_to(silent: Node) -> None:
    replica = hold(silent)
    statement, done = StringIO(), StringIO()
    call_command("node_remove", "gone", stdout=statement)
    assert f"gone holds:\n  replica {replica.id} of " in statement.getvalue()
    assert node_list().exists()
    call_command("node_remove", "gone", yes=True, stdout=done)
    assert f"gone held:\n  replica {replica.id} of " in done.getvalue()
    with pytest.raises(CommandError, match="There is no node `gone`"):
        call_command("node_remove", "gone")
