"""What an engine computes in follows from its node's processor, from the lease to the page."""

import pytest

from apps.deployments.models import Deployment
from apps.deployments.served_models.services import model_create
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.wanted_replicas import wanted_replicas_of
from apps.fleet.models import Device, Node
from apps.fleet.services.nodes import DeviceReport, DeviceUse, node_observe
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_deployment, make_replica
from tests.factories_serving import make_servable_build, make_serving_node

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
PLAN = {
    "kv_cache": {"element_bytes": 4},
    "per_gpu": {"weights_bytes": 400, "kv_cache_bytes": 40},
    "capacity": {"kv_tokens": 10},
}
REPORT = {"dtype": "bfloat16", "weights_bytes": 200, "kv_cache_bytes": 20, "kv_tokens": 10}


def test_a_processor_with_bfloat16_leases_less_and_is_told_so() -> None:
    plain = _ordered_on(make_serving_node())
    Node.objects.update(cordoned=True)
    node = make_serving_node()
    Device.objects.filter(node=node).update(computes_bfloat16=True)
    half = _ordered_on(node)
    assert half.replicas.get().memory_bytes < plain.replicas.get().memory_bytes
    entries = [wanted_replicas_of(node=each.replicas.get().node)[0] for each in (plain, half)]
    assert [each["computes_bfloat16"] for each in entries] == [False, True]


def test_a_node_tells_what_its_processor_computes() -> None:
    node = make_serving_node()
    device = Device.objects.get(node=node, kind="CPU")
    report = DeviceReport(
        index=device.index, uuid=device.uuid, kind="CPU", memory_bytes=device.memory_bytes,
        computes_bfloat16=True,
    )  # fmt: skip
    node_observe(node=node, boot_id="b", devices={report: DeviceUse()})
    assert Device.objects.get(id=device.id).computes_bfloat16


def test_the_page_says_where_an_engine_computes_otherwise_than_planned() -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team)
    build = deployment.build
    assert build is not None
    type(build.revision).objects.filter(id=build.revision_id).update(plan=PLAN)
    make_replica(deployment=deployment, state="ready", report=REPORT)
    address = f"/models/{deployment.model_id}/{deployment.id}/"
    page = signed_in(cast.owner).get(address).content.decode()
    for words in ("Computes in", "float32", "bfloat16", "as this processor has it"):
        assert words in page, words


def _ordered_on(node: Node) -> Deployment:
    build = make_servable_build()
    deployment = model_create(team=build.team, name=f"of-{node.name}", build=build)[1]
    deployment_settle(deployment_id=deployment.id)
    assert deployment.replicas.get().node == node
    return deployment
