"""What no node has said lately is shown as what it is: known last, and not confirmed."""

from datetime import timedelta
from typing import Any

import pytest

from apps.deployments.models import Deployment, Replica
from apps.deployments.selectors import CONFIRMED_SECONDS
from apps.fleet.selectors import SILENT_SECONDS
from controlplane import clock
from controlplane.domain.lifecycle import DeploymentState, ReplicaState
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories_serving import make_serving_node, node_says
from workers.agent.supervision import REPORT_SECONDS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
SAID = ">not confirmed<"


@pytest.fixture
def restored(cast: factories.Cast) -> Deployment:
    """A deployment as a database of yesterday has it."""
    deployment = factories.make_deployment(team=cast.team, environment="production")
    factories.make_replica(
        deployment=deployment,
        node=make_serving_node(name="host"),
        observed_at=clock.now() - timedelta(days=1),
    )
    return deployment


def over_rest(cast: factories.Cast, deployment: Deployment) -> tuple[Any, Any]:
    client = client_of(cast.owner)
    path = f"/v1/models/{deployment.model_id}/deployments/{deployment.id}"
    return client.get(path)[1], client.get(f"{path}/replicas")[1]["replicas"][0]


def pages_of(deployment: Deployment) -> list[str]:
    model = f"/models/{deployment.model_id}/"
    return ["/models/", model, f"{model}{deployment.id}/"]


def on_its_node(cast: factories.Cast) -> tuple[Any, bool]:
    node = Replica.objects.first().node  # type: ignore[union-attr]
    (report,) = client_of(cast.owner).get(f"/v1/nodes/{node.id}/replicas")[1]["replicas"]
    page = signed_in(cast.owner).get(f"/nodes/{node.id}/").content.decode()
    return report, SAID in page


def test_a_restored_database_shows_what_it_last_knew_as_not_confirmed(
    cast: factories.Cast, restored: Deployment
) -> None:
    report, replica = over_rest(cast, restored)
    assert (report["status"], report["is_confirmed"]) == ("ACTIVE", False)
    assert (replica["state"], replica["is_confirmed"]) == ("ready", False)
    for page in pages_of(restored):
        shown = signed_in(cast.owner).get(page).content.decode()
        assert SAID in shown, page
        assert ">active<" in shown, page
    report, is_said = on_its_node(cast)
    assert (report["state"], report["is_confirmed"], is_said) == ("ready", False, True)


def test_the_first_report_of_its_node_confirms_it(
    cast: factories.Cast, restored: Deployment
) -> None:
    replica = Replica.objects.get()
    node_says(replica.node, {replica.id: "ready"})
    report, seen = over_rest(cast, restored)
    assert report["is_confirmed"]
    assert seen["is_confirmed"]
    for page in pages_of(restored):
        assert SAID not in signed_in(cast.owner).get(page).content.decode(), page
    report, is_said = on_its_node(cast)
    assert (report["is_confirmed"], is_said) == (True, False)


def test_the_first_report_of_its_node_corrects_it(
    cast: factories.Cast, restored: Deployment
) -> None:
    node_says(Replica.objects.get().node, {})
    report, replica = over_rest(cast, restored)
    assert report["status"] == DeploymentState.UNHEALTHY.upper()
    assert replica["is_confirmed"]  # it is ordered, or has ended: nobody has to say so


def test_one_node_that_speaks_confirms_a_deployment_and_not_the_other_nodes_replica(
    cast: factories.Cast, restored: Deployment
) -> None:
    factories.make_replica(deployment=restored, node=make_serving_node(name="other"))
    assert over_rest(cast, restored)[0]["is_confirmed"]
    page = signed_in(cast.owner).get(pages_of(restored)[-1]).content.decode()
    assert page.count(SAID) == 1


@pytest.mark.parametrize("state", [ReplicaState.ORDERED, ReplicaState.LOST, ReplicaState.STOPPED])
def test_what_says_itself_that_nobody_was_heard_needs_no_second_word(
    cast: factories.Cast, restored: Deployment, state: ReplicaState
) -> None:
    Replica.objects.update(state=state)
    report, replica = over_rest(cast, restored)
    assert report["is_confirmed"]
    assert replica["is_confirmed"]


def test_a_node_may_miss_two_reports_and_counts_as_silent_only_later() -> None:
    assert CONFIRMED_SECONDS == 3 * REPORT_SECONDS
    assert CONFIRMED_SECONDS < SILENT_SECONDS
