"""What a key spends is counted live over all processes, whatever becomes of these and of Valkey."""

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
import redis

from tests.manual_clock import ManualClock
from workers.gateway.refusals import Refused
from workers.gateway.routes_difference import difference
from workers.gateway.snapshot import Key, Scope, Snapshot
from workers.gateway.spend.counts import SpendCounts
from workers.gateway.spend.measured import Place, Spend, read_spend
from workers.gateway.spend.shared import SharedSpend

HOUR = 1_800_000_000 // 3600 * 3600
NOW = HOUR + 1800.0
PROCESSES = 3


class Wire(SharedSpend):
    """The real thing over a wire that the test can cut, before it is heard or after."""

    is_cut = loses_answers = False

    async def _exchange(self, told, places):
        if self.is_cut:
            raise redis.ConnectionError
        heard = await super()._exchange(told, places)
        if self.loses_answers:
            raise redis.TimeoutError
        return heard


class Process:
    def __init__(self, broker: str, snapshot: Snapshot) -> None:
        self.counts = SpendCounts()
        self.counts.processes = PROCESSES
        self.counts.follow(difference(None, snapshot))
        self.wire = Wire(broker, self.counts, clock=ManualClock())


class Fleet:
    def __init__(self, broker: str, loop: asyncio.AbstractEventLoop) -> None:
        self.deployment, self.loop = uuid.uuid4().hex, loop
        self.key, self.other = _key("key", _spend(self.deployment, left=6.0)), _key("other", None)
        keys = {each.id: each for each in (self.key, self.other)}
        self.snapshot = Snapshot(version=1, models={}, keys=keys)
        self.processes = [Process(broker, self.snapshot) for _ in range(PROCESSES)]

    def use(self, number: int, tokens: int, key: Key | None = None) -> None:
        self.processes[number].counts.used(key or self.key, self.deployment, tokens, NOW)

    def exchange(self) -> None:
        for _ in range(2):  # each hears of those that came after it
            for each in self.processes:
                self.loop.run_until_complete(each.wire.exchange())

    def spent(self) -> list[float]:
        return [each.counts.spent(self.key.id, NOW) for each in self.processes]

    def refused(self) -> list[bool]:
        return [_is_refused(each.counts, self.key) for each in self.processes]


def _key(id: str, spend: Spend | None) -> Key:
    return Key(
        id=id, scope=Scope.INVOKE, team_id="t", model_ids=None, environments=None, expires_at=None,
        requests_per_minute=None, parallel_requests=None, tokens_per_minute=None, spent_until=None,
        spend=spend,
    )  # fmt: skip


def _spend(deployment: str, *, left: float | None, **changes: float) -> Spend | None:
    """Return a month in which 10 was spent of the hour's GPUs, a fifth of it by the key."""
    hour = {"hour": HOUR, "deployment_id": deployment, "money": 10.0, "tokens": 500,
            "key_tokens": 100, "key_money": 2.0}  # fmt: skip
    return read_spend({"left": left, "measured_at": NOW, "hours": [hour | changes]})


def _is_refused(counts: SpendCounts, key: Key, now: float = NOW) -> bool:
    try:
        counts.require_money(key, now)
    except Refused as refused:
        told = refused.refusal
        return (told.status, told.retry_after_seconds) == (402, 60)
    return False


@pytest.fixture
def fleet(broker: str) -> Iterator[Fleet]:
    with asyncio.Runner() as runner:
        made = Fleet(broker, runner.get_loop())
        yield made
        for each in made.processes:
            made.loop.run_until_complete(each.wire.close())


def test_all_processes_stop_a_key_by_what_they_counted_together(fleet: Fleet) -> None:
    for number in range(PROCESSES):
        fleet.use(number, 100)
        fleet.use(number, 100, fleet.other)
    fleet.exchange()
    assert fleet.spent() == [10 * 300 / 600] * PROCESSES
    assert fleet.refused() == [False] * PROCESSES
    fleet.use(0, 200)
    fleet.exchange()
    assert fleet.spent() == [10 * 500 / 800] * PROCESSES
    assert fleet.refused() == [True] * PROCESSES
    fleet.use(1, 400, fleet.other)  # who shares the hour, and pays for it
    fleet.exchange()
    assert fleet.refused() == [False] * PROCESSES


def test_what_is_told_twice_or_into_silence_counts_once(fleet: Fleet) -> None:
    fleet.use(0, 300)
    fleet.processes[0].wire.loses_answers = True
    fleet.exchange()
    fleet.processes[0].wire.loses_answers = False
    fleet.exchange()
    fleet.use(0, 300, fleet.other)
    fleet.exchange()
    assert fleet.spent() == [10 * 300 / 600] * PROCESSES


def test_without_valkey_each_process_lets_its_share_be_spent_and_no_more(fleet: Fleet) -> None:
    for each in fleet.processes:
        each.wire.is_cut = True
    fleet.exchange()
    fleet.use(0, 100)
    fleet.use(0, 100, fleet.other)
    assert fleet.spent()[0] == 10 * 300 / 600, "the others are taken to do as this one"
    fleet.use(0, 100)
    assert fleet.refused() == [True, False, False]
    for each in fleet.processes:
        each.wire.is_cut = False
    fleet.exchange()
    assert fleet.spent() == [10 * 200 / 500] * PROCESSES, "in truth they did nothing"
    assert fleet.refused() == [False] * PROCESSES


def test_what_a_killed_process_told_is_kept(fleet: Fleet, broker: str) -> None:
    fleet.use(0, 200)
    fleet.exchange()
    fleet.loop.run_until_complete(fleet.processes[0].wire.close())
    fleet.processes[0] = Process(broker, fleet.snapshot)
    fleet.use(0, 200)
    fleet.exchange()
    assert fleet.spent() == [10 * 400 / 500] * PROCESSES


def test_gpus_go_on_costing_until_their_hour_is_over() -> None:
    (hour,) = (_spend("d", left=1.0) or Spend(left=0, measured_at=0, hours=())).hours
    assert hour.spent(0, 0, NOW, NOW) == pytest.approx(2)
    assert hour.spent(0, 0, NOW + 900, NOW) == pytest.approx(3)
    assert hour.spent(0, 0, NOW + 90_000, NOW) == pytest.approx(4)
    before = replace(hour, place=Place(HOUR - 3600, "d"))
    assert before.spent(0, 0, NOW + 900, NOW) == pytest.approx(2), "one that is over costs no more"


def test_usage_that_came_in_first_and_an_hour_without_tokens_are_not_lost() -> None:
    key = _key("key", _spend("d", left=1.9, tokens=0, key_tokens=0))
    counts = SpendCounts()
    counts.follow(difference(None, Snapshot(version=1, models={}, keys={"k": key})))
    assert counts.spent(key.id, NOW) == 2.0
    assert _is_refused(counts, key)
    counts.used(replace(key, traffic_mark="benchmark"), "d", 500, NOW)
    assert counts.unshared() == {}, "a benchmark is nobody's spend"


@pytest.mark.parametrize("row", [{}, {"left": None}])
def test_a_key_far_from_its_limit_is_counted_and_asked_about_nowhere(row: dict[str, None]) -> None:
    key, counts = _key("key", read_spend(row)), SpendCounts()
    counts.follow(difference(None, Snapshot(version=1, models={}, keys={"k": key})))
    counts.used(key, "d", 5, NOW)
    assert not _is_refused(counts, key)
    assert counts.unshared() == {Place(HOUR, "d"): {"*": 5, "key": 5}}
    assert counts.places_near_limit == set()
    counts.forget(NOW + 4 * 3600)
    assert counts.unshared() == {}
