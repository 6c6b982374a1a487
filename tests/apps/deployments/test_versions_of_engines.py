"""Which version of a runtime answers, and what that means for its routes."""

from collections.abc import Callable

import pytest

from apps.deployments.models import Deployment, ServedModel
from apps.deployments.services.observing import ReplicaReport, replicas_observe
from apps.fleet.models import Node
from controlplane.domain.lifecycle import ReplicaState
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_deployment, make_replica
from tests.folded import folded

pytestmark = pytest.mark.django_db
Served = tuple[ServedModel, Deployment]


@pytest.mark.parametrize(("version", "is_said"), [("0.27.1", True), ("0.25.1", False)])
def test_the_page_names_the_version_and_whose_routes_it_takes(version: str, is_said: bool) -> None:
    cast = make_cast()
    deployment = make_deployment(team=cast.team, runtime="vllm")
    make_replica(deployment=deployment, report={"version": version})
    address = f"/models/{deployment.model_id}/{deployment.id}/"
    page = folded(signed_in(cast.owner).get(address).content.decode())
    assert f"<code>vllm</code> {version}" in page
    assert ("<dt>Routes</dt>" in page) is is_said
    assert ("has no list of routes of its own" in page) is is_said


def test_what_an_engine_tells_of_its_version_is_known_of_its_node(
    served: Served, node: Node, say: Callable[..., None]
) -> None:
    replica = served[1].replicas.get()
    say({replica.id: "ready"})
    assert _versions(node) == {}
    for version in ("0.25.1", "0.27.0"):
        replica_report = ReplicaReport(
            id=replica.id, generation=replica.generation, state=ReplicaState.READY,
            host=node.address, port=20_000, report={"version": version},
        )  # fmt: skip
        replicas_observe(node=Node.objects.get(id=node.id), reports=[replica_report])
        assert _versions(node) == {served[1].runtime: version}
    say({})
    assert _versions(node) == {served[1].runtime: "0.27.0"}


def _versions(node: Node) -> dict[str, str]:
    versions: dict[str, str] = Node.objects.get(id=node.id).runtime_versions
    return versions
