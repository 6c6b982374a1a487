"""What clients see where every replica has as much as it may have."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.engine import Call, Engine
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import CHAT, STAGING_KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers

QUEUE = {"policy": "QUEUE_ON_FULL", "concurrency": 1}
REJECT = {"policy": "REJECT_ON_FULL", "concurrency": 1}


class Stand:
    """A gateway before one engine that answers when the test lets it."""

    def __init__(self, house: House, http: httpx.Client, background: ThreadPoolExecutor) -> None:
        self._http, self._background, self.house = http, background, house
        self._may_answer = threading.Semaphore(0)
        self.engine: Engine = house.engine(self._slow)

    def serve(self, backpressure: dict[str, Any] | None, **bounds: int) -> GatewayThread:
        version = 1 if self.house.snapshot is None else self.house.snapshot["version"] + 1
        snapshot = routes(self.engine.port, version=version, backpressure=backpressure)
        snapshot["keys"][digest(STAGING_KEY)] = key_row("keyquiet")
        self.house.publish_snapshot(snapshot)
        self.gateway = self.house.gateway(**bounds)
        return self.gateway

    def ask(self, name: str, **headers: str) -> "Future[httpx.Response]":
        """Ask beside the test, and return once it is where it is to wait."""
        before = len(self.gateway.inner.exchanges)
        future = self._background.submit(
            self._http.post, self.gateway.url + CHAT, json={"user": name},
            headers={each.replace("_", "-"): value for each, value in headers.items()},
        )  # fmt: skip
        wait_for(
            lambda: len(self.gateway.inner.exchanges) > before or future.done(), what="a request"
        )
        return future

    def answer(self, count: int = 1) -> None:
        for _ in range(count):
            self._may_answer.release()

    def seen(self, count: int) -> list[str]:
        wait_for(lambda: len(self.engine.calls) >= count, what=f"{count} requests at the engine")
        return [each.json()["user"] for each in self.engine.calls]

    def wait_to_answer(self) -> None:
        self._may_answer.acquire(timeout=DEADLINE_SECONDS)

    def _slow(self, call: Call) -> None:
        self.wait_to_answer()
        answers(call)


@pytest.fixture
def stand(house: House, http: httpx.Client, background: ThreadPoolExecutor) -> Iterator[Stand]:
    outcome = Stand(house, http, background)
    yield outcome
    outcome.answer(100)


def test_requests_wait_for_their_turn_and_a_single_one_is_not_behind_a_flood(
    stand: Stand,
) -> None:
    gateway = stand.serve(QUEUE)
    flood = [stand.ask(f"flood{number}") for number in range(4)]
    single = stand.ask("single", authorization=f"Bearer {STAGING_KEY}")
    assert stand.seen(1) == ["flood0"], "a replica has no more than it carries"
    counts = gateway.inner.metrics.of("modelaaa", "deploy01")
    assert (counts.in_flight, counts.waiting) == (5, 4)
    for count in range(2, 6):
        stand.answer()
        stand.seen(count)
    stand.answer()
    assert [each.result(DEADLINE_SECONDS).status_code for each in (*flood, single)] == [200] * 5
    order = stand.seen(5)
    assert counts.waiting == 0
    assert order.index("single") <= 2
    assert [each for each in order if each != "single"] == [f"flood{n}" for n in range(4)]


def test_background_and_urgent_requests_of_a_key_are_in_their_order(stand: Stand) -> None:
    stand.serve(QUEUE)
    requests = [
        stand.ask("first"),
        stand.ask("idle", priority="u=7"),
        stand.ask("usual"),
        stand.ask("urgent", priority="u=1"),
    ]
    for count in range(2, 5):
        stand.answer()
        stand.seen(count)
    stand.answer()
    assert all(each.result(DEADLINE_SECONDS).status_code == 200 for each in requests)
    assert stand.seen(4) == ["first", "urgent", "usual", "idle"]


def test_what_rejects_says_when_to_come_again(stand: Stand) -> None:
    stand.serve(REJECT)
    first = stand.ask("first")
    refused = stand.ask("second").result(DEADLINE_SECONDS)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert "`REJECT_ON_FULL`" in refused.json()["error"]["message"]
    stand.answer()
    assert first.result(DEADLINE_SECONDS).status_code == 200
    stand.answer()
    assert stand.ask("third").result(DEADLINE_SECONDS).status_code == 200


@pytest.mark.parametrize("bounds", [{"waiting_requests": 1}, {"waiting_bytes": 20}])
def test_only_so_many_and_so_large_requests_wait(stand: Stand, bounds: dict[str, int]) -> None:
    stand.serve(QUEUE, **bounds)
    requests = [stand.ask("first"), stand.ask("second")]
    refused = stand.ask("third").result(DEADLINE_SECONDS)
    assert refused.status_code == 429
    assert "1 requests" in refused.json()["error"]["message"]
    stand.answer(2)
    assert [each.result(DEADLINE_SECONDS).status_code for each in requests] == [200, 200]


def test_a_request_whose_deadline_passes_while_it_waits_reaches_no_engine(stand: Stand) -> None:
    gateway = stand.serve(QUEUE)
    first = stand.ask("first")
    late = stand.ask("late", request_timeout_ms="1500")
    gateway.advance(2)
    refused = late.result(DEADLINE_SECONDS)
    assert refused.status_code == 504
    assert "no engine had seen it" in refused.json()["error"]["message"]
    stand.answer()
    assert first.result(DEADLINE_SECONDS).status_code == 200
    assert stand.seen(1) == ["first"]


def test_a_deadline_ends_what_an_engine_is_at_and_one_that_is_over_is_said_at_once(
    stand: Stand,
) -> None:
    gateway = stand.serve(QUEUE)
    late = stand.ask("late", request_timeout_ms="1500")
    stand.seen(1)
    gateway.advance(2)
    assert late.result(DEADLINE_SECONDS).status_code == 504
    over = stand.ask("over", request_deadline_ms="1000").result(DEADLINE_SECONDS)
    wrong = stand.ask("wrong", request_deadline_ms="soon").result(DEADLINE_SECONDS)
    assert (over.status_code, wrong.status_code) == (504, 400)
    assert "`request-deadline-ms: soon`" in wrong.json()["error"]["message"]
    assert stand.seen(1) == ["late"]


def test_a_policy_that_is_taken_away_lets_all_go(stand: Stand) -> None:
    gateway = stand.serve(QUEUE)
    request = [stand.ask(f"request{number}") for number in range(4)]
    stand.seen(1)
    stand.house.publish(stand.engine)
    assert len(stand.seen(4)) == 4, "without a policy all of them reach the engine"
    assert len(gateway.inner.placing.turns) == 0
    stand.answer(4)
    assert [each.result(DEADLINE_SECONDS).status_code for each in request] == [200] * 4


def test_what_an_engine_has_no_room_for_waits_here_without_a_policy(stand: Stand) -> None:
    room, refused = threading.Semaphore(2), []

    def takes_two(call: Call) -> None:
        if not room.acquire(blocking=False):
            refused.append(call.json()["user"])
            call.answer({"error": "full"}, 429)
            return
        stand.wait_to_answer()
        room.release()
        answers(call)

    stand.engine.script = takes_two
    gateway = stand.serve(None)
    request = [stand.ask(f"request{number}") for number in range(2)]
    stand.seen(2)
    for number in (2, 3):
        request.append(stand.ask(f"request{number}"))
        wait_for(lambda: len(gateway.inner.placing.turns) == len(request) - 2, what="one waits")
    assert refused == ["request2"], "the fourth is not sent where it would be refused"
    stand.answer(4)
    assert [each.result(DEADLINE_SECONDS).status_code for each in request] == [200] * 4
    assert refused == ["request2"]


def test_an_engine_that_refuses_the_only_request_is_not_waited_for(stand: Stand) -> None:
    stand.engine.script = lambda call: call.answer({"error": "never"}, 429)
    stand.serve(None)
    refused = stand.ask("request").result(DEADLINE_SECONDS)
    assert (refused.status_code, len(stand.engine.calls)) == (429, 1)
