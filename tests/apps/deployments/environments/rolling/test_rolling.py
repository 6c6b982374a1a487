"""An environment moves replica by replica, and a person can stop, turn or force it on the way."""

from datetime import timedelta

import pytest
import time_machine

from apps.accounts.models import AuditEntry
from apps.accounts.routes_version import routes_version_current
from apps.deployments.autoscaling.sizes import deployments_sized
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.rolling.commands import (
    promotion_cancel,
    promotion_force_cancel,
    promotion_force_forward,
    promotion_pause,
    promotion_resume,
)
from apps.deployments.environments.rolling.history import EVENTS_KEPT, event_list, events_prune
from apps.deployments.environments.services import environment_configure
from apps.deployments.models import Deployment, Environment, Replica
from apps.deployments.served_models.services import model_create
from apps.deployments.services.autoscaling import autoscaling_update
from apps.deployments.services.deployments import deployment_create
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Gateway as GatewayRow
from apps.rest.errors import Conflict
from apps.routes.rows import routes_rows
from apps.routes.snapshot import routes_snapshot
from controlplane import clock
from controlplane.domain.rolling.roll import Status
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast
from tests.factories_serving import (
    GIB,
    make_gateway,
    make_servable_build,
    make_serving_node,
    node_says,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]


class World:
    """Two deployments of a model: four replicas in production, and another one to move to."""

    def __init__(self, cast: Cast) -> None:
        self.node = make_serving_node(memory_bytes=256 * GIB)
        self.gateway = make_gateway(applied_version=routes_version_current())
        self.model, self.old = model_create(
            team=cast.team, name="tiny", build=make_servable_build(team=cast.team)
        )
        autoscaling_update(deployment=self.old, changes={"min_replica": 4, "max_replica": 4})
        deployment_settle(deployment_id=self.old.id)
        self._turns_until_ready(self.old, 4)
        self.new = deployment_create(model=self.model, build=make_servable_build(team=cast.team))
        self._turns_until_ready(self.new, 1)

    @property
    def place(self) -> Environment:
        return Environment.objects.get(model=self.model, name="production")

    @property
    def percent(self) -> int:
        return (self.place.promotion or {}).get("percent_traffic_to_new_version", -1)

    @property
    def sizes(self) -> tuple[int, int]:
        """Ready replicas of the old and the new one."""
        ready = Replica.objects.filter(state="ready", wanted="running")
        return tuple(ready.filter(deployment=each).count() for each in (self.old, self.new))  # type: ignore[return-value]

    def begin(self, **settings: object) -> None:
        environment_configure(environment=self.place, promotion_settings=settings)
        environment_promote(
            environment=self.place, deployment=Deployment.objects.get(id=self.new.id)
        )

    def turn(self, times: int = 1, *, gateways: bool = True) -> None:
        for _ in range(times):
            live = Replica.objects.filter(node=self.node, finished_at=None)
            states = {each.id: "ready" if each.wanted == "running" else "stopped" for each in live}
            node_says(self.node, states)
            if gateways:
                GatewayRow.objects.update(applied_version=routes_version_current())
            deployments_sweep()

    def _turns_until_ready(self, deployment: Deployment, count: int) -> None:
        ready = Replica.objects.filter(deployment=deployment, state="ready")
        while ready.count() < count:
            self.turn()

    def turns_until(self, percent: int) -> None:
        for _ in range(30):
            if self.percent == percent:
                return
            self.turn()
        raise AssertionError(self.place.promotion)


@pytest.fixture
def world(cast: Cast) -> World:
    return World(cast)


def test_it_moves_replica_by_replica_and_never_has_fewer_than_carried_the_traffic(
    world: World,
) -> None:
    world.begin(rolling_deploy=True)
    seen, shares = [], []
    for _ in range(40):
        world.turn()
        seen.append(sum(world.sizes))
        shares.append(world.percent)
        if world.place.promotion is None:
            break
    assert world.place.current == world.new
    assert list(dict.fromkeys(shares)) == [25, 50, 75, -1]
    assert (min(seen), max(seen)) == (4, 5)
    world.turn(4)
    assert world.sizes == (0, 4)
    rows = [(each.code, each.percent_after) for each in event_list(environment=world.place)]
    assert [each for each in reversed(rows) if each[0] != "replicas_moved"] == [
        ("share_raised", 25), ("share_raised", 50), ("share_raised", 75), ("switched", 100),
    ]  # fmt: skip


def test_no_replica_leaves_before_the_gateways_work_by_the_share(world: World) -> None:
    world.begin(rolling_deploy=True)
    for _ in range(10):
        if world.percent == 25:
            break
        world.turn()
    world.turn(4, gateways=False)
    assert (world.percent, world.sizes) == (25, (4, 1))
    assert "every gateway" in world.place.promotion["waits_for"]


def test_gateways_are_told_the_share_and_those_before_send_all_to_whoever_has_more(
    world: World,
) -> None:
    world.begin(rolling_deploy=True, canary_by_header=True)
    world.turn(2)
    assert world.percent == 0
    promotion_resume(environment=world.place)
    world.turns_until(75)
    row = routes_rows()["models"][world.model.id]
    assert row["environments"] == {"production": world.old.id}
    assert row["shares"] == {
        "production": {"candidate": world.new.id, "percent": 75, "by_header": True}
    }
    before = routes_snapshot()["models"][world.model.id]
    assert (before["environments"], "shares" in before) == ({"production": world.new.id}, False)


def test_what_rolls_is_not_sized_by_the_load_of_one_alone(world: World) -> None:
    Deployment.objects.filter(id=world.old.id).update(min_replica=1)
    assert world.old in deployments_sized()
    world.begin(rolling_deploy=True)
    assert not {world.old, world.new} & set(deployments_sized())
    Deployment.objects.filter(id=world.old.id).update(min_replica=6, max_replica=6)
    world.turn()
    assert world.place.promotion["roll"]["total"] == 6


def test_a_pause_holds_until_it_is_resumed_and_both_are_remembered(world: World) -> None:
    world.begin(rolling_deploy=True)
    world.turns_until(25)
    promotion_pause(environment=world.place)
    before = world.sizes
    world.turn(5)
    assert (world.percent, world.place.promotion["status"]) == (25, "PAUSED")
    assert sum(world.sizes) >= sum(before) - 1
    with pytest.raises(Conflict, match="paused already"):
        promotion_pause(environment=world.place)
    promotion_resume(environment=world.place)
    world.turns_until(50)
    actions = AuditEntry.objects.filter(action__startswith="environment.").values_list(
        "action", flat=True
    )
    assert {"environment.pause", "environment.resume"} <= set(actions)


def test_a_cancelled_roll_goes_back_in_steps_and_returns_its_replicas(world: World) -> None:
    world.begin(rolling_deploy=True)
    world.turns_until(50)
    assert promotion_cancel(environment=world.place) is Status.RAMPING_DOWN
    shares, seen = [], []
    for _ in range(30):
        world.turn()
        shares.append(world.percent)
        seen.append(sum(world.sizes))
        if world.place.candidate is None:
            break
    assert list(dict.fromkeys(shares)) == [50, 25, 0]
    assert min(seen) >= 4
    assert (world.place.current, world.place.promotion["status"]) == (world.old, "CANCELED")
    world.turn(3)
    assert world.sizes[0] == 4


def test_force_moves_everything_at_once_either_way(world: World) -> None:
    world.begin(rolling_deploy=True)
    world.turns_until(25)
    promotion_force_cancel(environment=world.place)
    assert (world.place.candidate, world.place.promotion["status"]) == (None, "CANCELED")
    world.begin(rolling_deploy=True)
    world.turns_until(25)
    promotion_cancel(environment=world.place)
    promotion_force_forward(environment=world.place)
    assert world.place.current == world.new
    world.turn(6)
    assert world.sizes == (0, 4)


def test_nothing_is_forced_to_a_candidate_without_a_ready_replica(world: World) -> None:
    node_says(world.node, {each.id: "failed" for each in world.new.replicas.all()})
    world.begin(rolling_deploy=True)
    with pytest.raises(Conflict, match="No replica of the candidate"):
        promotion_force_forward(environment=world.place)


def test_a_roll_without_progress_for_an_hour_goes_back_by_itself_and_says_why(
    world: World,
) -> None:
    world.begin(rolling_deploy=True)
    world.turns_until(25)
    world.turn()
    Deployment.objects.filter(id=world.new.id).update(start_failures=3)
    with time_machine.travel(clock.now() + timedelta(minutes=61), tick=False):
        GatewayRow.objects.update(last_seen_at=clock.now())
        deployments_sweep()
    assert world.place.promotion["roll"]["direction"] == "down"
    world.turn(8)
    promotion = world.place.promotion
    assert (promotion["status"], world.place.current) == ("FAILED", world.old)
    assert "60 minutes" in promotion["error_message"]


def test_a_canary_holds_at_its_share_until_somebody_resumes_it(world: World) -> None:
    world.begin(canary_percent=10)
    world.turns_until(10)
    world.turn(3)
    assert (world.sizes, world.place.promotion["status"]) == ((4, 1), "PAUSED")
    promotion_resume(environment=world.place)
    world.turn(8)
    assert world.place.current == world.new


def test_a_promotion_in_one_step_can_be_paused_before_it_switches(world: World) -> None:
    world.begin()
    promotion_pause(environment=world.place)
    world.turn(5)
    assert (world.place.current, world.percent) == (world.old, 0)
    promotion_resume(environment=world.place)
    world.turn(5)
    assert world.place.current == world.new


def test_what_happened_is_kept_for_its_time(world: World) -> None:
    world.begin(rolling_deploy=True)
    world.turns_until(25)
    with time_machine.travel(clock.now() + EVENTS_KEPT + timedelta(days=1), tick=False):
        assert events_prune() >= 1


def test_the_pages_show_the_step_and_why_with_what_can_be_asked_of_it(
    cast: Cast, world: World
) -> None:
    world.begin(rolling_deploy=True)
    world.turns_until(25)
    browser = signed_in(cast.member)
    for page in (f"/models/{world.model.id}/", f"/models/{world.model.id}/{world.old.id}/"):
        shown = browser.get(page).content.decode()
        assert f"production moves to {world.new.name}" in shown
        assert world.place.promotion["waits_for"] in shown
        assert all(f"promotion/{each}/" in shown for each in ("pause", "cancel", "force-cancel"))
    path = f"/models/{world.model.id}/environments/production/promotion"
    assert browser.post(f"{path}/pause/").status_code == 302
    assert "promotion/resume/" in browser.get(page).content.decode()
    assert browser.post(f"{path}/nothing/").status_code == 404


def test_a_form_sets_how_it_moves_and_leaves_alone_what_it_does_not_show(
    cast: Cast, world: World
) -> None:
    kept = {"replica_overhead_percent": 20}
    environment_configure(
        environment=world.place, promotion_settings={"rolling_deploy_config": kept}
    )
    form = {
        "way": "replica", "max_surge_percent": "50", "stabilization_time_seconds": "5",
        "ramp_up_duration_seconds": "600", "canary_percent": "10", "guard": "CANCEL",
    }  # fmt: skip
    path = f"/models/{world.model.id}/environments/production/moves/"
    browser = signed_in(cast.member)
    assert browser.post(path, form).status_code == 302
    settings = world.place.promotion_settings
    assert settings["rolling_deploy_config"] == {
        **kept, "max_surge_percent": 50, "stabilization_time_seconds": 5,
    }  # fmt: skip
    assert (settings["canary_percent"], settings["slo_guard"]) == (10, {"action": "CANCEL"})
    refused = browser.post(path, {**form, "max_surge_percent": "90"}, follow=True)
    assert "less than or equal to 50" in refused.content.decode()
    assert world.place.promotion_settings == settings


def test_settings_and_events_over_rest_have_the_hosted_products_names(
    cast: Cast, world: World
) -> None:
    member = client_of(cast.member)
    path = f"/v1/models/{world.model.id}/environments/production"
    config = {"max_surge_percent": 50, "stabilization_time_seconds": 0}
    values = {"promotion_settings": {"rolling_deploy": True, "rolling_deploy_config": config}}
    status, answer = member.patch(path, values)
    shown = answer["environment"]["promotion_settings"]
    assert (status, shown["rolling_deploy"], shown["rolling_deploy_config"]) == (200, True, config)
    both = {"promotion_settings": {"rolling_deploy_config": {"max_unavailable_percent": 10}}}
    status, answer = member.patch(path, both)
    assert (status, "both set" in answer["message"]) == (400, True)
    assert member.post(f"{path}/promote", {"deployment_id": world.new.id})[0] == 200
    world.turns_until(50)
    assert member.post(f"{path}/pause_promotion", None) == (200, {"success": True})
    progress = member.get(path)[1]["in_progress_promotion"]
    assert progress["status"] == "PAUSED"
    assert (progress["percent_traffic_to_new_version"], progress["rolling_deploy"]) == (50, True)
    events = member.get(f"{path}/promotion_events")[1]["events"]
    assert {each["code"] for each in events} == {"pause", "replicas_moved", "share_raised"}
    assert events[0]["code"] == "pause"
    assert events[0]["actor"].endswith(cast.member.email)
