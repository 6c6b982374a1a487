"""Replicas beyond the GPUs of all hosts are refused when they are asked for."""

import pytest

from apps.accounts.models import Team
from apps.builds.models import Build
from apps.configs.models import Revision
from apps.deployments.models import Deployment, Environment, ServedModel
from apps.deployments.served_models.services import model_create
from apps.deployments.services.autoscaling import autoscaling_update
from apps.deployments.services.deployments import deployment_create
from apps.rest.errors import InvalidInput
from controlplane.domain.spec import parse_mapping
from tests.factories_serving import make_servable_build, make_serving_device, make_serving_node

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_hosts() -> None:
    for _ in range(2):
        node = make_serving_node()
        make_serving_device(node=node, kind="L4", memory_bytes=24 * 2**30)
        make_serving_device(node=node, kind="L4", memory_bytes=24 * 2**30)


@pytest.fixture
def pair(team: Team) -> Build:
    """A build whose replicas take two L4 each."""
    build = make_servable_build(team=team)
    repository = {"source": "LOCAL", "repo": "/checkpoints/tiny"}
    spec = parse_mapping(
        {
            "resources": {"accelerator": "L4:2"},
            "trt_llm": {"build": {"checkpoint_repository": repository, "tensor_parallel_count": 2}},
        }
    ).spec
    assert spec is not None
    Revision.objects.filter(id=build.revision_id).update(spec=spec.model_dump(mode="json"))
    return Build.objects.get(id=build.id)


@pytest.mark.usefixtures("two_hosts")
def test_the_devices_of_all_hosts_count(team: Team, pair: Build) -> None:
    _, deployment = model_create(team=team, name="pair", build=pair)
    autoscaling_update(deployment=deployment, changes={"min_replica": 2, "max_replica": 2})
    with pytest.raises(InvalidInput) as refusal:
        autoscaling_update(deployment=deployment, changes={"min_replica": 3, "max_replica": 3})
    assert refusal.value.code == "EH115"
    assert refusal.value.message.startswith("3 replicas of 2 `L4` need 6 GPUs")
    autoscaling_update(deployment=deployment, changes={"min_replica": 1, "max_replica": 9})


@pytest.mark.usefixtures("two_hosts")
def test_a_deployment_is_held_to_the_number_that_its_place_runs(team: Team, pair: Build) -> None:
    model, _ = model_create(team=team, name="pair", build=pair)
    place = Environment.objects.get(model=model, name="production")
    place.autoscaling_settings = {"min_replica": 3}
    place.save()
    with pytest.raises(InvalidInput, match="3 replicas of 2 `L4`"):
        deployment_create(model=model, build=pair, environment="production")
    assert deployment_create(model=model, build=pair).model == model


def test_replicas_on_a_cpu_share_it(served: tuple[ServedModel, Deployment]) -> None:
    _, deployment = served
    answer = autoscaling_update(deployment=deployment, changes={"min_replica": 5, "max_replica": 5})
    assert answer.status == "ACCEPTED"
