"""Counted traffic while a model goes through every change: nothing is lost, nothing doubled.

The gateway is the real one, on a socket. What a node's agent does, the test does in turns, with as
many questions in all as 30 a second are in a minute.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.accounts.routes_version import routes_version_current
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.rollback import environment_roll_back
from apps.deployments.environments.rolling.commands import (
    promotion_cancel,
    promotion_force_forward,
    promotion_pause,
    promotion_resume,
)
from apps.deployments.environments.services import environment_configure
from apps.deployments.models import Deployment, Environment, Replica
from apps.deployments.served_models.services import model_create
from apps.deployments.services.autoscaling import autoscaling_update
from apps.deployments.services.deployments import deployment_create
from apps.deployments.services.observing import ReplicaReport, replicas_observe
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Gateway, Node
from apps.routes.book import RoutesBook
from controlplane import clock
from controlplane.domain.lifecycle import ReplicaState
from tests.factories import Cast, make_api_key
from tests.factories_serving import GIB, make_gateway, make_servable_build, make_serving_node
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.engine import Call, Engine
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.scripts import USAGE
from workers.gateway.routes_table import RoutesTable

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]
_IN_A_TURN = 48
_IN_A_MINUTE = 60 * 30


class _World:
    """A model with its node, its engines, its gateway and a client who never stops asking."""

    def __init__(self, cast: Cast, house: House) -> None:
        self.house, self.team = house, cast.team
        self.node = make_serving_node(memory_bytes=256 * GIB)
        build = make_servable_build(team=cast.team)
        self.model, self.first = model_create(team=cast.team, name="counted", build=build)
        autoscaling_update(deployment=self.first, changes={"min_replica": 2, "max_replica": 2})
        make_gateway()
        self.gateway = house.gateway()
        self._engines: dict[str, Engine] = {}
        self._killed: set[str] = set()
        self.begun_at_a_killed_one = 0
        self.seen: Counter[int] = Counter()
        self.answers: list[httpx.Response] = []
        bearer = {"authorization": f"Bearer {make_api_key(team=cast.team)}"}
        self.client = httpx.Client(headers=bearer, timeout=DEADLINE_SECONDS)
        for _ in range(3):
            self.turn(asks=0)

    @property
    def place(self) -> Environment:
        return Environment.objects.get(model=self.model, name="production")

    def another(self) -> Deployment:
        """Return another deployment of the model, ready to be promoted."""
        build = make_servable_build(team=self.team)
        return deployment_create(model=self.model, build=build)

    def promote(self, deployment: Deployment) -> None:
        environment_promote(
            environment=self.place, deployment=Deployment.objects.get(id=deployment.id)
        )

    def kill_an_engine(self) -> None:
        """End the one that is asked first: it answers nothing any more of what it is sent."""
        self.ask(1)
        victim = self.house.record_of(self.answers[-1])["replica_id"]
        self._engines[victim].script = self._die
        self._killed.add(victim)
        self.ask(_IN_A_TURN)

    def turn(self, asks: int = _IN_A_TURN) -> None:
        """Do what all loops do within some seconds, asking between each and the next."""
        self.house.clock.advance(5)
        moment = self.house.clock.now() + timedelta(days=1)
        Node.objects.update(last_heartbeat_at=moment)
        deployments_sweep()
        self._agent()
        self.ask(asks // 2)
        deployments_sweep()
        self._routes()
        Gateway.objects.update(last_seen_at=moment, applied_version=routes_version_current())
        self.ask(asks - asks // 2)

    def turns_until(self, percent: int) -> None:
        for _ in range(20):
            if (self.place.promotion or {}).get("percent_traffic_to_new_version") == percent:
                return
            self.turn()
        raise AssertionError(self.place.promotion)

    def turns_to_the_end(self) -> None:
        for _ in range(20):
            if self.place.candidate is None and self.place.promotion_version is None:
                break
            self.turn()
        for _ in range(2):
            self.turn()

    def ask(self, times: int) -> None:
        path = f"/m/{self.model.id}/environments/production/sync/v1/chat/completions"
        for _ in range(times):
            body = {"seed": len(self.answers)}
            self.answers.append(self.client.post(self.gateway.url + path, json=body))

    def ready(self, deployment: Deployment) -> int:
        return Replica.objects.filter(deployment=deployment, state=ReplicaState.READY).count()

    def records(self) -> list[dict[str, Any]]:
        """Return the usage record of each answer, once the last is closed."""
        self.house.record_of(self.answers[-1])
        of = self.gateway.records()
        return [of[each.headers["x-request-id"]] for each in self.answers]

    def _routes(self) -> None:
        """Hand the gateway its routes as a control plane does."""
        report, table = RoutesBook().answer(after=0, digest=None), RoutesTable()
        table.take(_json(report))
        assert table.snapshot is not None
        snapshot = table.snapshot
        self.gateway.while_it_stands_still(lambda: self.gateway.inner.apply(snapshot))

    def _agent(self) -> None:
        """Start an engine for each replica that is wanted, and end those that are not."""
        live = Replica.objects.filter(node=self.node, finished_at=None)
        replicas_observe(node=self.node, reports=[self._report(each) for each in live])
        for each in Replica.objects.exclude(finished_at=None):
            if (ended := self._engines.pop(each.id, None)) is not None:
                ended.close()

    def _report(self, replica: Replica) -> ReplicaReport:
        if replica.id not in self._engines:
            self._engines[replica.id] = self.house.engine(self._answer)
        state = ReplicaState.READY if replica.wanted == "running" else ReplicaState.STOPPED
        return ReplicaReport(
            id=replica.id,
            generation=replica.generation,
            state=ReplicaState.FAILED if replica.id in self._killed else state,
            host="127.0.0.1",
            port=self._engines[replica.id].port,
            pid=1,
        )

    def _answer(self, call: Call) -> None:
        self.seen[call.json()["seed"]] += 1
        call.answer({"id": "1", "choices": [], "usage": USAGE})

    def _die(self, call: Call) -> None:
        self.begun_at_a_killed_one += 1
        call.connection.close()
        raise OSError


def _json(told: object) -> bytes:
    return json.dumps(told).encode()


@pytest.fixture
def world(cast: Cast, tmp_path: Path) -> Iterator[_World]:
    house = House(tmp_path, ManualClock(clock.now()))
    made = _World(cast, house)
    yield made
    made.client.close()
    house.close()


def test_nothing_is_lost_or_doubled_while_a_model_goes_through_every_change(
    world: _World,
) -> None:
    environment_configure(environment=world.place, promotion_settings={"rolling_deploy": True})
    second, third = world.another(), world.another()
    world.promote(second)  # forth, with a pause
    world.turns_until(50)
    promotion_pause(environment=world.place)
    before = len(world.answers)
    for _ in range(3):
        world.turn()
    promotion_resume(environment=world.place)
    paused = slice(before, len(world.answers))
    world.turns_to_the_end()
    assert world.place.current == second
    world.promote(world.first)  # the way back is a roll to the deployment before
    world.turns_until(50)
    promotion_cancel(environment=world.place)
    world.turns_to_the_end()
    assert (world.place.current, world.place.promotion["status"]) == (second, "CANCELED")
    world.promote(world.first)
    world.turns_until(50)
    promotion_force_forward(environment=world.place)
    world.turns_to_the_end()
    assert world.place.current == world.first
    autoscaling_update(deployment=world.first, changes={"max_replica": 3, "min_replica": 3})
    world.turns_to_the_end()
    world.kill_an_engine()
    world.turns_to_the_end()
    assert world.ready(world.first) == 3, "the killed one is replaced"
    world.promote(third)
    world.turns_to_the_end()
    environment_roll_back(environment=world.place)
    world.turns_to_the_end()
    assert world.place.current == world.first

    assert len(world.answers) > _IN_A_MINUTE
    assert [each.status_code for each in world.answers] == [200] * len(world.answers)
    assert world.seen == Counter(range(len(world.answers))), "each answered by one engine, once"
    assert world.begun_at_a_killed_one == 1, "which another was asked for"
    records = world.records()
    assert {each["prompt_tokens"] for each in records} == {USAGE["prompt_tokens"]}
    assert len({each["request_id"] for each in records}) == len(world.answers)
    halves = Counter(each["deployment_id"] for each in records[paused])
    assert halves == dict.fromkeys((world.first.id, second.id), 3 * _IN_A_TURN // 2)
