"""A guarded roll stops or goes back by itself, and says which requests decided."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine

from apps.deployments.environments.rolling.commands import promotion_resume
from apps.deployments.environments.rolling.history import ITSELF, event_list
from apps.deployments.environments.rolling.models import PromotionSample
from apps.deployments.environments.rolling.samples import SAMPLES_KEPT, samples_prune
from apps.deployments.environments.services import environment_configure
from apps.deployments.models import Deployment
from apps.rest.errors import InvalidInput
from apps.routes.services import usage_ingest
from controlplane import clock
from tests.apps.deployments.environments.rolling.test_rolling import World
from tests.factories import Cast
from tests.factories_serving import make_gateway

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]
Tell = Callable[..., None]


@pytest.fixture
def world(cast: Cast) -> World:
    return World(cast)


@pytest.fixture
def tell(world: World) -> Tell:
    """Hand in usage of requests of a deployment, as a gateway does."""
    gateway = make_gateway()

    def records(deployment: Deployment, count: int, **changes: object) -> None:
        record = {
            "state": "closed", "at": clock.now().timestamp(), "model_id": world.model.id,
            "deployment_id": deployment.id, "environment": "production", "key_id": "k",
            "status": 200, "stream": True, "prompt_tokens": 1, "completion_tokens": 11,
            "first_byte_seconds": 0.1, "duration_seconds": 1.1,
        } | changes  # fmt: skip
        name = f"{deployment.name}-{changes.get('status', 200)}"
        rows = [{**record, "request_id": f"{name}-{at}"} for at in range(count)]
        usage_ingest(journal=uuid4(), gateway=gateway, from_offset=0, to_offset=9, records=rows)

    return records


def _begun(world: World, action: str) -> None:
    guard = {"action": action, "min_requests": 20}
    world.begin(rolling_deploy=True, slo_guard=guard)
    world.turns_until(25)


def test_a_candidate_that_fails_more_is_paused_and_its_requests_are_named(
    world: World, tell: Tell
) -> None:
    _begun(world, "PAUSE")
    tell(world.old, 30)
    tell(world.new, 10, status=500)
    tell(world.new, 20)
    world.turn()
    promotion = world.place.promotion
    assert (promotion["status"], world.percent) == ("PAUSED", 25)
    assert "10 of 30 requests failed at the candidate, 0 of 30" in promotion["waits_for"]
    assert "`deployment-2-500-9`" in promotion["waits_for"]
    event = event_list(environment=world.place).filter(code="guard").get()
    assert event.actor == ITSELF
    promotion_resume(environment=world.place)
    world.turns_until(50)
    assert not PromotionSample.objects.exists(), "each share is judged by itself"


def test_a_slower_candidate_returns_by_itself_and_the_reason_stays(
    world: World, tell: Tell
) -> None:
    _begun(world, "CANCEL")
    tell(world.old, 30)
    tell(world.new, 30, first_byte_seconds=0.5)
    world.turn(8)
    promotion = world.place.promotion
    assert (promotion["status"], world.place.current) == ("FAILED", world.old)
    assert promotion["error_message"].startswith("First token: 30 of 30 requests")


def test_one_that_serves_alike_goes_on_and_what_clients_did_wrong_does_not_count(
    world: World, tell: Tell
) -> None:
    _begun(world, "CANCEL")
    tell(world.old, 30)
    tell(world.new, 30)
    tell(world.new, 30, status=400)
    assert PromotionSample.objects.filter(deployment_id=world.new.id).count() == 30
    world.turns_until(50)


def test_nothing_is_kept_of_requests_without_a_guard(world: World, tell: Tell) -> None:
    world.begin(rolling_deploy=True)
    world.turns_until(25)
    tell(world.new, 3)
    assert not PromotionSample.objects.exists()


def test_samples_are_forgotten_after_a_day(world: World, tell: Tell) -> None:
    _begun(world, "PAUSE")
    tell(world.new, 3)
    with time_machine.travel(clock.now() + SAMPLES_KEPT + timedelta(hours=1), tick=False):
        assert samples_prune() == 3


def test_a_guard_without_steps_is_refused_with_what_to_set(world: World) -> None:
    with pytest.raises(InvalidInput, match="nothing to compare") as refused:
        environment_configure(environment=world.place, promotion_settings={"slo_guard": {}})
    assert "rolling_deploy" in str(refused.value.hint)
