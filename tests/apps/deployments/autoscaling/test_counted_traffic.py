"""Counted traffic while a deployment goes from nothing to four replicas and back: none is lost.

The gateway is the real one, on a socket; engines answer when the test lets them. What a node's
agent and the loops of a gateway's process do, the test does in turns.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from itertools import groupby
from pathlib import Path

import httpx
import pytest

from apps.accounts.routes_version import routes_version_current
from apps.deployments.autoscaling.deciding import autoscale_round
from apps.deployments.autoscaling.signal import load_add
from apps.deployments.autoscaling.waking import WAITED, deployments_wake
from apps.deployments.models import Deployment, Replica
from apps.deployments.served_models.services import model_create
from apps.deployments.services.autoscaling import autoscaling_update
from apps.deployments.services.observing import ReplicaReport, replicas_observe
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Gateway, Node
from apps.routes.snapshot import routes_snapshot
from controlplane import clock
from controlplane.domain.lifecycle import ReplicaState
from tests.factories import Cast, make_api_key
from tests.factories_serving import make_gateway, make_servable_build, make_serving_node
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.engine import Call, Engine
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.scripts import USAGE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]
_ROUND_SECONDS = 5
_AT_ONCE = 28
"""Of a target of 10 at 70 %: four replicas."""
_SETTINGS = {
    "min_replica": 0, "max_replica": 4, "concurrency_target": 10, "autoscaling_window": 10,
    "scale_down_delay": 10,
}  # fmt: skip


class _World:
    """A deployment with its node, its engines, its gateway and its clients."""

    def __init__(self, cast: Cast, house: House) -> None:
        self.node = make_serving_node(memory_bytes=64 * 1024**3)
        build = make_servable_build(team=cast.team)
        self.model, self.deployment = model_create(team=cast.team, name="counted", build=build)
        autoscaling_update(deployment=self.deployment, changes=_SETTINGS)
        self.row: Gateway = make_gateway()
        self.house = house
        house.publish_snapshot(routes_snapshot())
        self.gateway: GatewayThread = house.gateway()
        self.may_answer = threading.Event()
        self.seen: Counter[int] = Counter()
        self.sizes: list[int] = []
        self._engines: dict[str, Engine] = {}
        bearer = {"authorization": f"Bearer {make_api_key(team=cast.team)}"}
        self.clients = httpx.Client(headers=bearer, timeout=DEADLINE_SECONDS)

    def turn(self) -> None:
        """Do what all loops do within some seconds: tell, decide, reconcile, start and stop."""
        self.house.clock.advance(_ROUND_SECONDS)
        now = self.house.clock.now()
        notices = now + timedelta(days=1)  # by the database's clock too, however long a turn takes
        Gateway.objects.update(last_seen_at=notices, applied_version=routes_version_current())
        Node.objects.update(last_heartbeat_at=notices)
        report = self.gateway.report()
        loads = {
            id: {"requests": requests, "held": holding, "tokens": tokens}
            for id, (requests, holding, tokens) in report.deployments.items()
        }
        load_add(gateway=self.row, sequence=int(now.timestamp() * 1000), seconds=report.seconds,
                 loads=loads, clock=self.house.clock)  # fmt: skip
        deployments_wake(ids=[id for id, each in loads.items() if each["held"]], why=WAITED)
        autoscale_round(now=now)
        deployments_sweep()
        self._agent()
        deployments_sweep()
        self.house.publish_snapshot(routes_snapshot())
        self.sizes.append(Deployment.objects.get(id=self.deployment.id).wanted_replicas)

    def ask(self, number: int) -> httpx.Response:
        path = f"/m/{self.model.id}/deployment/{self.deployment.id}/sync/v1/chat/completions"
        return self.clients.post(self.gateway.url + path, json={"seed": number})

    def _agent(self) -> None:
        """Start an engine for each replica that is wanted, and end those that are not."""
        live = Replica.objects.filter(node=self.node, finished_at=None)
        replicas_observe(node=self.node, reports=[self._report(each) for each in live])
        old = self.house.clock.now() - timedelta(hours=1)
        Replica.objects.filter(ready_at__isnull=False).update(ready_at=old)

    def _report(self, replica: Replica) -> ReplicaReport:
        if replica.id not in self._engines:
            self._engines[replica.id] = self.house.engine(self._answer)
        is_wanted = replica.wanted == "running"
        return ReplicaReport(
            id=replica.id,
            generation=replica.generation,
            state=ReplicaState.READY if is_wanted else ReplicaState.STOPPED,
            host="127.0.0.1",
            port=self._engines[replica.id].port,
            pid=1,
        )

    def _answer(self, call: Call) -> None:
        self.seen[call.json()["seed"]] += 1
        assert self.may_answer.wait(DEADLINE_SECONDS)
        call.answer({"id": "1", "choices": [], "usage": USAGE})


@pytest.fixture
def world(cast: Cast, tmp_path: Path) -> Iterator[_World]:
    house = House(tmp_path, ManualClock(clock.now()))
    made = _World(cast, house)
    yield made
    made.may_answer.set()
    made.clients.close()
    house.close()


def test_nothing_is_lost_or_doubled_while_it_scales_from_nothing_to_four_and_back(
    world: _World,
) -> None:
    world.may_answer.set()
    for _ in range(8):
        world.turn()
    assert world.sizes[-1] == 0
    world.may_answer.clear()
    with ThreadPoolExecutor(_AT_ONCE) as people:
        futures = [people.submit(world.ask, number) for number in range(_AT_ONCE)]
        wait_for(lambda: world.gateway.waiting == _AT_ONCE, what="requests that wait")
        for _ in range(3):
            world.turn()
        assert world.sizes[-1] == 4
        world.may_answer.set()
        answers = [_answer(each) for each in futures]
        for number in range(_AT_ONCE, _AT_ONCE + 60):  # and on while it shrinks
            answers.append(world.ask(number))
            if number % 12 == 0:
                world.turn()
        for _ in range(8):
            world.turn()
    assert [size for size, _ in groupby(world.sizes)] == [1, 0, 2, 4, 2, 1, 0]
    assert [each.status_code for each in answers] == [200] * len(answers)
    assert world.seen == Counter(range(len(answers))), "each at one engine, once"
    records = [world.house.record_of(each) for each in answers]
    assert {each["prompt_tokens"] for each in records} == {USAGE["prompt_tokens"]}
    assert len({each["request_id"] for each in records}) == len(answers)


def _answer(asked: "Future[httpx.Response]") -> httpx.Response:
    return asked.result(DEADLINE_SECONDS)
