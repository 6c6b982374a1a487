"""A replica goes to a host that starts its runtime, where one says that it does."""

import pytest

from apps.deployments.served_models.services import model_create
from apps.deployments.services.reconcile import deployment_settle
from tests.factories import make_team
from tests.factories_serving import make_servable_build, make_serving_node

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [
        (["vllm"], ["native", "vllm"], "b"),
        (["native"], ["native"], "a"),
        ([], ["vllm"], "a"),  # an agent that does not say
        (["vllm"], ["vllm"], "a"),  # to be refused there, with the reason
    ],
)
def test_the_node_that_starts_the_runtime_is_taken(
    of_a: list[str], of_b: list[str], expected: str
) -> None:
    for name, runtimes in (("a", of_a), ("b", of_b)):
        make_serving_node(name=name, runtimes=runtimes)
    team = make_team()
    _, deployment = model_create(team=team, name="tiny", build=make_servable_build(team=team))
    deployment_settle(deployment_id=deployment.id)
    assert deployment.runtime == "native"
    assert deployment.replicas.get().node.name == expected
