"""Limits of keys hold over all processes, whatever becomes of these and of Valkey."""

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.manual_clock import ManualClock
from workers.gateway.limit_holding import Question
from workers.gateway.limit_script import LEASE_SECONDS
from workers.gateway.limits import Entry, KeyLimits
from workers.gateway.refusals import Refusal, Refused
from workers.gateway.shared_limits import RENEW_SECONDS, SharedLimits
from workers.gateway.snapshot import Key, Scope

PROCESSES = 3
REQUESTS, TOKENS, PARALLEL = 120, 6000, 9
UNLIMITED = Key(
    id="", scope=Scope.FULL, team_id="t", model_ids=None, environments=None, expires_at=None,
    requests_per_minute=None, parallel_requests=None, tokens_per_minute=None, spent_until=None,
)  # fmt: skip


class Wire(SharedLimits):
    """The real thing over a wire that the test can cut, before a question or after it."""

    is_cut = loses_answers = False

    async def _evaluate(self, questions: list[Question], *, leaves: bool = False) -> list[bytes]:
        if self.is_cut:
            raise redis.ConnectionError
        report = await super()._evaluate(questions, leaves=leaves)
        if self.loses_answers:
            raise redis.TimeoutError
        return report


class Waiting:
    def __init__(self, process: "Process") -> None:
        self.process = process

    def decided(self, refusal: Refusal | None) -> None:
        self.process.decided(refusal)


class Process:
    def __init__(self, fleet: "Fleet") -> None:
        self.fleet = fleet
        self.limits = KeyLimits(processes=PROCESSES)
        self.shared = Wire(fleet.broker, self.limits, clock=fleet.clock, counts_by_clock=True)
        self.running = 0
        self.refusals: list[Refusal] = []

    def send(self) -> None:
        try:
            entry = self.limits.enter(self.fleet.key, now=self.fleet.clock.monotonic())
        except Refused as refused:
            self.decided(refused.refusal)
        else:
            if entry is Entry.ASKS:
                self.limits.wait(self.fleet.key, Waiting(self))
            else:
                self.decided(None)

    def decided(self, refusal: Refusal | None) -> None:
        if refusal is not None:
            self.refusals.append(refusal)
            return
        self.running += 1
        self.fleet.began.append(self.fleet.clock.monotonic())

    def finish(self, tokens: int = 0) -> None:
        if self.running:
            self.running -= 1
            self.fleet.used.append((self.fleet.clock.monotonic(), tokens))
            self.limits.leave(self.fleet.key, tokens=tokens)

    def ask(self) -> None:
        self.fleet.loop.run_until_complete(self.shared.ask())


@dataclass
class Fleet:
    broker: str
    loop: asyncio.AbstractEventLoop
    key: Key
    clock: ManualClock = field(default_factory=ManualClock)
    began: list[float] = field(default_factory=list)
    used: list[tuple[float, int]] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)

    def start(self, many: int = PROCESSES) -> None:
        self.processes = [Process(self) for _ in range(many)]
        self.pass_seconds(RENEW_SECONDS + 1)  # each hears of those that came after it

    def ask_all(self) -> None:
        for each in self.processes:
            each.ask()

    def kill(self, number: int) -> None:
        """Forget a process without a word, and start another in its place."""
        self.loop.run_until_complete(self.processes[number].shared.close())
        self.processes[number] = Process(self)

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass, in which each process does what it does by itself."""
        while seconds > 0:
            self.clock.advance(min(seconds, 1.0))
            self.ask_all()
            seconds -= 1.0

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.processes:
            self.loop.run_until_complete(each.shared.close())

    @property
    def running(self) -> int:
        return sum(each.running for each in self.processes)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner() as runner:
        yield runner.get_loop()


_NAMES = count()


def fleet_with(broker: str, loop: asyncio.AbstractEventLoop, **limits: int) -> Fleet:
    key = replace(UNLIMITED, id=f"key{next(_NAMES)}-{uuid.uuid4().hex[:8]}", **limits)
    with redis.Redis.from_url(broker) as valkey:
        valkey.delete("enginehouse:limits:processes")
    return Fleet(broker, loop, key)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["flood", "flood", "send", "finish", "finish", "pass", "kill", "lose", "cut", "heal"]
        ),
        st.integers(0, PROCESSES - 1),
        st.integers(1, 40),
    ),
    max_size=40,
)


@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
def test_floods_kills_and_outages_take_no_key_above_its_limits(
    broker: str, loop: asyncio.AbstractEventLoop, steps: list[tuple[str, int, int]]
) -> None:
    with fleet_with(
        broker,
        loop,
        requests_per_minute=REQUESTS,
        tokens_per_minute=TOKENS,
        parallel_requests=PARALLEL,
    ) as fleet:
        fleet.start()
        killed, was_cut, most_tokens_at_once = 0, False, 0
        for what, number, amount in steps:
            process = fleet.processes[number]
            if what in ("flood", "send"):
                for _ in range(amount if what == "flood" else 1):
                    process.send()
                process.ask()
            elif what == "finish":
                process.finish(tokens=amount * 10)
                most_tokens_at_once = PARALLEL * 2 * 400
            elif what == "pass":
                fleet.pass_seconds(amount / 4)
            elif what == "kill" and not process.shared.is_cut:
                killed += process.running
                fleet.kill(number)
                fleet.pass_seconds(LEASE_SECONDS + 1)  # until then its places are not given anew
            elif what == "lose":
                process.shared.loses_answers = True
                process.ask()
                process.shared.loses_answers = False
            elif what in ("cut", "heal"):  # of all: it is Valkey that is gone
                for each in fleet.processes:
                    each.shared.is_cut = what == "cut"
                was_cut |= what == "cut"
                fleet.pass_seconds(1)
            assert fleet.running <= PARALLEL * (2 if was_cut else 1)

        assert _most_above([(at, 1) for at in fleet.began], REQUESTS) <= 1e-3
        assert _most_above(fleet.used, TOKENS) <= most_tokens_at_once

        # And whatever happened, the key serves on.
        for each in fleet.processes:
            each.shared.is_cut = False
            while each.running:
                each.finish()
        fleet.pass_seconds(2)
        fleet.clock.advance(180)  # of which the longest debt is a part
        for each in fleet.processes:
            began = len(fleet.began)
            each.send()
            each.ask()
            assert len(fleet.began) == began + 1


def test_what_one_process_does_not_use_another_may(broker, loop):
    with fleet_with(broker, loop, requests_per_minute=100, parallel_requests=64) as fleet:
        fleet.start()
        first, second, _ = fleet.processes
        for _ in range(40):
            first.send()
            first.ask()
            first.finish()
        fleet.pass_seconds(3)

        for _ in range(200):
            second.send()
        second.ask()
        second.finish()

        assert second.running + 1 == 64
        assert {each.status for each in second.refusals} == {429}
        assert "64 requests at a time, and 64 run now" in second.refusals[0].message


def test_what_is_in_hand_is_a_part_of_the_limit_and_not_beside_it(broker, loop):
    with fleet_with(broker, loop, requests_per_minute=100) as fleet:
        fleet.start()
        first, second, _ = fleet.processes
        for _ in range(4):
            first.send()
            first.ask()
        fleet.pass_seconds(1)
        fleet.clock.advance(4)  # all that was used is refilled
        fleet.began.clear()

        for _ in range(150):
            second.send()
        second.ask()
        for _ in range(4):
            first.send()

        assert second.running == 98
        assert len(fleet.began) == 100


def test_a_killed_process_gives_its_places_back_when_its_lease_ends(broker, loop):
    with fleet_with(broker, loop, parallel_requests=2) as fleet:
        fleet.start()
        for _ in range(2):
            fleet.processes[0].send()
        fleet.processes[0].ask()
        fleet.kill(0)
        heir = fleet.processes[1]

        heir.send()
        heir.ask()
        assert [each.retry_after_seconds for each in heir.refusals] == [1]
        fleet.pass_seconds(LEASE_SECONDS + 1)
        heir.send()
        heir.ask()

        assert heir.running == 1


def test_without_valkey_a_process_keeps_to_its_share_and_says_so(broker, loop, caplog):
    with fleet_with(broker, loop, requests_per_minute=60, parallel_requests=6) as fleet:
        fleet.start()
        process = fleet.processes[0]
        for each in fleet.processes:
            each.shared.is_cut = True
        fleet.pass_seconds(RENEW_SECONDS + 1)  # nobody had to ask, so none noticed before
        fleet.pass_seconds(3)

        for _ in range(5):
            process.send()

        assert process.running == 1  # 60 a minute are one in 3 s for each of three
        assert process.refusals[0].retry_after_seconds == 3
        assert not process.limits.is_shared
        assert "this one keeps to its share, one of 3" in caplog.text


def test_a_process_that_stops_gives_back_what_it_has_in_hand_at_once(broker, loop):
    with fleet_with(broker, loop, requests_per_minute=None, parallel_requests=1) as fleet:
        fleet.start(2)
        first, second = fleet.processes
        first.send()
        first.ask()
        first.finish()
        loop.run_until_complete(first.shared.leave())

        second.send()
        second.ask()

        assert second.running == 1


def _most_above(events: list[tuple[float, int]], per_minute: int) -> float:
    """Return by how much any stretch of time is above a minute's limit and what refills in it."""
    worst, lowest, total = 0.0, float("inf"), 0.0
    for at, amount in events:
        refilled = at * per_minute / 60
        lowest = min(lowest, total - refilled)
        total += amount
        worst = max(worst, total - refilled - lowest - per_minute)
    return worst
