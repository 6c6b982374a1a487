"""Labels, cordons, drains and pools of nodes: who may, and what is then placed where."""

from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.builds.held_devices import waiting_of
from apps.builds.services.claims import build_claim
from apps.builds.services.devices import DeviceNeed, build_devices_claim
from apps.deployments.models import Deployment, Replica
from apps.deployments.nodes.selectors import replicas_on
from apps.deployments.served_models.services import model_create
from apps.deployments.services.reconcile import deployment_settle
from apps.fleet.models import Device, Node, PoolTeam
from apps.fleet.services.assigning import device_assign, node_label, pool_assign
from apps.fleet.services.devices import Claimant, NoRoom, devices_claim
from apps.fleet.services.placing import node_cordon, node_drain, node_uncordon, node_undrain
from apps.rest.errors import Conflict, InvalidInput
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories_serving import (
    GIB,
    make_servable_build,
    make_serving_device,
    make_serving_node,
    node_says,
)
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def cast() -> factories.Cast:
    return factories.make_cast()


CALLS: dict[str, tuple[str, str, Any]] = {
    "label": ("patch", "/v1/nodes/{node}", {"labels": {"zone": "a"}}),
    "cordon": ("post", "/v1/nodes/{node}/cordon", None),
    "drain": ("post", "/v1/nodes/{node}/drain", None),
    "undrain": ("post", "/v1/nodes/{node}/undrain", None),
    "uncordon": ("post", "/v1/nodes/{node}/uncordon", None),
    "assign a GPU": ("patch", "/v1/devices/{device}", {"pool": "research"}),
    "assign a pool": ("patch", "/v1/pools/research", {"team_ids": []}),
}
PAGES = ("labels", "cordon", "uncordon", "drain", "undrain", "devices")


def test_only_an_admin_of_the_organisation_labels_drains_cordons_and_assigns(
    cast: factories.Cast,
) -> None:
    node = make_serving_node()
    device = make_serving_device(node=node)
    for person in (cast.owner, cast.member, cast.outsider, cast.organisation_admin):
        may = person is cast.organisation_admin
        client, browser = client_of(person), signed_in(person)
        for what, (method, path, body) in CALLS.items():
            address = path.format(node=node.id, device=device.id)
            assert getattr(client, method)(address, body)[0] == (200 if may else 403), what
        for page in PAGES:
            answer = browser.post(f"/nodes/{node.id}/{page}/", {"name": "zone", device.id: ""})
            assert answer.status_code == (302 if may else 403), page
        assert browser.post("/nodes/pools/", {"pool": "x"}).status_code == (302 if may else 403)
        shown = browser.get(f"/nodes/{node.id}/").content.decode()
        assert (">Drain<" in shown) is may
    assert {"node.label", "node.drain", "node.undrain", "node.cordon", "node.uncordon"} <= {
        *AuditEntry.objects.values_list("action", flat=True)
    }


@pytest.mark.parametrize("team", ["\0", "zzzzzzzz"])
def test_a_pool_is_not_assigned_to_a_team_that_is_not_there(
    cast: factories.Cast, team: str
) -> None:
    browser = signed_in(cast.organisation_admin)
    body = {"pool": "research", "teams": [cast.team.id, team]}
    page = browser.post("/nodes/pools/", body, follow=True).content.decode()
    assert "A team that was chosen is not there any more." in page
    assert not PoolTeam.objects.exists()


def test_labels_are_set_removed_and_found_by(cast: factories.Cast) -> None:
    node, other = make_serving_node(name="one"), make_serving_node(name="two")
    node_label(node=node, changes={"zone": "rack 4", "gpu/owner": "ada"})
    node_label(node=other, changes={"zone": "rack 5"})
    node_label(node=node, changes={"gpu/owner": None})
    assert node.labels == {"zone": "rack 4"}
    client = client_of(cast.member)
    for label, names in (("zone", ["one", "two"]), ("zone=rack 4", ["one"]), ("gpu/owner", [])):
        nodes = client.get("/v1/nodes", label=label)[1]["nodes"]
        assert sorted(each["name"] for each in nodes) == names
    page = signed_in(cast.member).get("/nodes/?label=zone%3Drack 5").content.decode()
    assert "two" in page
    assert ">one<" not in page
    for wrong in ({"Zone": "a"}, {"zone": "<b>"}, {f"l{n}": "" for n in range(40)}):
        with pytest.raises(InvalidInput):
            node_label(node=node, changes=wrong)


def test_each_change_is_made_once_and_uncordoning_ends_a_drain() -> None:
    node = make_serving_node()
    assert [node_cordon(node=node), node_cordon(node=node)] == [True, False]
    assert [node_drain(node=node), node_drain(node=node)] == [True, False]
    assert [node_undrain(node=node), node_undrain(node=node)] == [True, False]
    assert node.cordoned
    node_drain(node=node)
    assert node_uncordon(node=node)
    assert (node.cordoned, node.draining_since) == (False, None)
    assert AuditEntry.objects.filter(action__startswith="node.").count() == 5


def test_a_cordoned_node_takes_no_replica_and_no_build_and_keeps_what_it_has() -> None:
    node = make_serving_node()
    served = _served()
    answer = Replica.objects.get()
    node_cordon(node=node)
    with pytest.raises(NoRoom, match="is cordoned"):
        devices_claim(holder="replica:x", node=node, kind="CPU", count=1, memory_bytes=1,
                    claimant=Claimant(is_new=True))  # fmt: skip
    Deployment.objects.filter(id=served.id).update(wanted_replicas=2)
    deployment_settle(deployment_id=served.id)
    assert list(Replica.objects.values_list("id", "wanted")) == [(answer.id, "running")]
    build = factories.make_build(state="queued")
    assert build_claim(build_id=build.id, owner="w", on_node=node.name) is None
    waiting = waiting_of(build)
    assert waiting is not None
    assert "is cordoned" in waiting.reason
    node_uncordon(node=node)
    assert waiting_of(build) is None
    assert build_claim(build_id=build.id, owner="w", on_node=node.name) is not None
    deployment_settle(deployment_id=served.id)
    assert Replica.objects.count() == 2


def test_a_drain_starts_the_replacement_first_and_stops_the_old_one_after(
    cast: factories.Cast,
) -> None:
    old = make_serving_node(name="a-old")
    served = _served(cast)
    first = Replica.objects.get()
    node_says(old, {first.id: "ready"})
    new = make_serving_node(name="b-new")
    node_drain(node=old)
    deployment_settle(deployment_id=served.id)
    second = Replica.objects.exclude(id=first.id).get()
    assert second.node == new
    first.refresh_from_db()
    assert (first.state, first.wanted) == ("ready", "running")
    [report] = _replicas(cast, old)["replicas"]
    assert report["note"] == "Its replacement starts on `b-new`."
    page = signed_in(cast.outsider).get(f"/nodes/{old.id}/").content.decode()
    assert "of another team" in folded(page)
    node_says(new, {second.id: "ready"})
    first.refresh_from_db()
    assert first.state == "draining"
    deployment_settle(deployment_id=served.id)
    first.refresh_from_db()
    assert first.wanted == "stopped"
    node_says(old, {first.id: "stopped"})
    assert _replicas(cast, old)["is_drained"]
    page = signed_in(cast.organisation_admin).get(f"/nodes/{old.id}/").content.decode()
    assert "Nothing is left" in page
    served.refresh_from_db()
    assert served.state == "active"


def test_what_cannot_move_stays_and_says_why_and_the_drain_is_undone(cast: factories.Cast) -> None:
    node = make_serving_node()
    served = _served(cast)
    replica = Replica.objects.get()
    node_says(node, {replica.id: "ready"})
    node_drain(node=node)
    for _ in range(2):
        deployment_settle(deployment_id=served.id)
    replica.refresh_from_db()
    served.refresh_from_db()
    assert (replica.state, replica.wanted, served.state) == ("ready", "running", "active")
    [report] = _replicas(cast, node)["replicas"]
    assert report["is_stuck"]
    assert "It cannot move: No live node of pool `default` has a `CPU` GPU" in report["note"]
    assert "cannot move" in signed_in(cast.member).get(f"/nodes/{node.id}/").content.decode()
    node_undrain(node=node)
    make_serving_node()
    deployment_settle(deployment_id=served.id)
    assert Replica.objects.count() == 1
    assert replicas_on(node, _actor(cast))[0].note == ""


def test_devices_of_a_pool_go_to_its_teams_alone(cast: factories.Cast) -> None:
    node = make_serving_node(memory_bytes=64 * GIB)
    pool_assign(pool="default", teams=[cast.outsider.team])
    served = _served(cast)
    served.refresh_from_db()
    assert Replica.objects.count() == 0
    assert served.failure is not None
    assert served.failure["code"] == "EHD-POOL"
    pool_assign(pool="default", teams=[cast.team, cast.outsider.team])
    deployment_settle(deployment_id=served.id)
    assert Replica.objects.get().node == node
    # Assigned elsewhere, a GPU is no more for what asks for the pool of its node.
    device_assign(device=node.devices.get(), pool="research")
    Deployment.objects.filter(id=served.id).update(wanted_replicas=2)
    deployment_settle(deployment_id=served.id)
    assert Replica.objects.count() == 1, "and the first keeps it"
    with pytest.raises(Conflict):
        device_assign(device=node.devices.get(), pool="other", expected="default")


def test_a_page_that_was_opened_before_undoes_no_assignment_of_another_admin(
    cast: factories.Cast,
) -> None:
    node = make_serving_node()
    mine, theirs = make_serving_device(node=node), make_serving_device(node=node)
    browser, page = signed_in(cast.organisation_admin), f"/nodes/{node.id}/"
    assert f'name="was-{theirs.id}" value=""' in browser.get(page).content.decode()
    opened = {mine.id: "", f"was-{mine.id}": "", theirs.id: "", f"was-{theirs.id}": ""}
    device_assign(device=theirs, pool="theirs")
    browser.post(f"{page}devices/", opened | {mine.id: "mine"})
    answer = browser.post(
        f"{page}devices/", opened | {theirs.id: "mine"}, headers={"referer": page}
    )
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.pool, theirs.pool) == ("mine", "theirs")
    text = browser.get(answer.headers["Location"]).content.decode()
    assert (
        f"GPU <code>{theirs.id}</code> was assigned to pool <code>theirs</code> meanwhile" in text
    )


def test_a_build_leases_no_device_of_other_teams_and_none_is_begun_in_their_pool(
    cast: factories.Cast,
) -> None:
    node = make_serving_node(memory_bytes=64 * GIB)
    device: Device = node.devices.get()
    need = DeviceNeed(kind="CPU", count=1, memory_bytes=GIB)
    build = factories.make_build(team=cast.team, state="queued")
    lease = build_claim(build_id=build.id, owner="w")
    assert lease is not None
    device_assign(device=device, pool="research")
    pool_assign(pool="research", teams=[cast.outsider.team])
    with pytest.raises(NoRoom, match="assigned to this team") as refused:
        build_devices_claim(lease=lease, node=node, need=need)
    assert refused.value.is_hopeless
    pool_assign(pool="research", teams=[])
    device_assign(device=device, pool="")
    assert build_devices_claim(lease=lease, node=node, need=need) == (device,)
    pool_assign(pool="default", teams=[cast.outsider.team])
    factories.make_checkpoint_record(
        team=cast.team, state="ready", facts={"architecture": "LlamaForCausalLM"}
    )
    status, answer = client_of(cast.member).get("/v1/pools")
    assert status == 200
    [report] = [each for each in answer["pools"] if each["name"] == "default"]
    assert (report["serves_all"], report["teams"]) == (False, []), "other teams are not named"


def _served(cast: factories.Cast | None = None) -> Deployment:
    build = make_servable_build(**({"team": cast.team} if cast else {}))
    _, deployment = model_create(team=build.team, name="tiny", build=build)
    deployment_settle(deployment_id=deployment.id)
    return deployment


def _replicas(cast: factories.Cast, node: Node) -> Any:
    return client_of(cast.member).get(f"/v1/nodes/{node.id}/replicas")[1]


def _actor(cast: factories.Cast) -> Any:
    from apps.accounts.permissions import Actor

    return Actor(team=cast.team, user=cast.member)
