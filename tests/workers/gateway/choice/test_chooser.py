"""The replica that a request goes to, and the reason that is told of it."""

import pytest

from controlplane.process_settings.gateway import ReplicaChoice
from tests.manual_clock import ManualClock
from workers.gateway.choice.chooser import GUARD_REQUESTS, Choice, Chooser, Reason, Wish
from workers.gateway.choice.health import ERRORS_IN_A_ROW
from workers.gateway.choice.pool import UpstreamPool
from workers.gateway.choice.prompts import Prompt, prompt_of
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica
from workers.gateway.upstream import Upstream

BOUNDS = Bounds()
TRIO = [
    Replica(id=f"rep{n:02}", host="127.0.0.1", port=n, address=f"rep{n:02}@127.0.0.1:{n}")
    for n in range(3)
]


class Stand:
    """A chooser of three replicas, with a clock."""

    def __init__(self, by: ReplicaChoice = ReplicaChoice.PREFIX) -> None:
        self.clock = ManualClock()
        self.pool = UpstreamPool(BOUNDS, clock=self.clock)
        self.chooser = Chooser(self.pool, by=by, clock=self.clock)
        self.trio: list[Upstream] = [self.pool.of(each) for each in TRIO]

    def choose(self, prompt: Prompt | None = None, session: int | None = None, **more: int):
        chosen = self.chooser.choose(TRIO, set(), Wish(prompt, session), **more)
        if chosen is not None:
            self.chooser.took(chosen, prompt)
        return chosen

    def chosen_ids(self, times: int) -> set[str]:
        outcome = [self.choose() for _ in range(times)]
        return {each.upstream.replica.id for each in outcome if each is not None}


@pytest.fixture
def stand() -> Stand:
    return Stand()


def said(*words: str) -> Prompt:
    messages = [{"role": "user", "content": each * 200} for each in words]
    prompt = prompt_of({"messages": messages}, "key")
    assert prompt is not None
    return prompt


def short(*words: str) -> Prompt:
    questions = [{"role": "user", "content": each} for each in words]
    system = {"role": "system", "content": "Be brief. " * 9}
    prompt = prompt_of({"messages": [system, *questions]}, "key")
    assert prompt is not None
    return prompt


def test_without_a_wish_the_least_loaded_is_taken(stand: Stand) -> None:
    stand.trio[0].in_flight, stand.trio[1].in_flight = 2, 1
    assert stand.choose() == Choice(stand.trio[2], Reason.LEAST_LOADED)


def test_a_conversation_goes_on_where_it_began(stand: Stand) -> None:
    first = stand.choose(said("hello"))
    assert first.reason is Reason.NEW_PREFIX
    first.upstream.in_flight = GUARD_REQUESTS
    assert stand.choose(said("hello", "and", "more")) == Choice(first.upstream, Reason.PREFIX)


def test_a_short_conversation_begins_anywhere_and_goes_on_where_it_began(stand: Stand) -> None:
    busy, *free = stand.trio
    busy.in_flight = 1
    first = stand.choose(short("a question"))
    assert first == Choice(free[0], Reason.LEAST_LOADED)
    first.upstream.in_flight = 1
    assert stand.choose(short("another")) == Choice(free[1], Reason.LEAST_LOADED), "for its start"
    again = stand.choose(short("a question", "and one more"))
    assert again == Choice(first.upstream, Reason.PREFIX)


def test_another_gateway_sends_it_to_the_same_one() -> None:
    prompts = [said(f"hello {number}") for number in range(20)]
    one, other = ([Stand().choose(each).upstream.address for each in prompts] for _ in range(2))
    assert one == other
    assert len(set(one)) == len(TRIO), "and spreads what is new over all"


def test_a_session_goes_where_its_requests_went_whatever_they_say(stand: Stand) -> None:
    first = stand.choose(said("hello"), session=7)
    assert first.reason is Reason.SESSION
    assert stand.choose(said("something else"), session=7) == first


def test_a_preferred_one_with_too_much_to_do_is_passed_over_and_learns_nothing(
    stand: Stand,
) -> None:
    first = stand.choose(said("hello"))
    first.upstream.in_flight = GUARD_REQUESTS + 1
    second = stand.choose(said("hello", "again"))
    assert second.reason is Reason.OVERLOADED
    assert second.upstream is not first.upstream
    assert stand.choose(said("hello", "again")) == Choice(second.upstream, Reason.PREFIX)


def test_one_that_has_no_room_is_none(stand: Stand) -> None:
    for each in stand.trio:
        each.in_flight = 2
    assert stand.choose(most_in_flight=2) is None
    stand.trio[1].in_flight = 1
    assert stand.choose(said("hello"), most_in_flight=2) == Choice(stand.trio[1], Reason.ONLY)


def test_one_that_comes_beside_others_grows_to_its_share(stand: Stand) -> None:
    fresh, *others = stand.trio
    fresh.warms_from = stand.clock.monotonic()
    for each in others:
        each.in_flight = 9
    assert stand.choose().upstream is not fresh, "as if it had ten times its one"
    for each in others:
        each.in_flight = 11
    assert stand.choose().upstream is fresh
    fresh.in_flight = 4
    stand.clock.advance(BOUNDS.slow_start_seconds / 2)
    assert stand.choose().upstream is fresh, "half its share by now"
    fresh.in_flight = 10
    assert stand.choose().upstream is not fresh
    stand.clock.advance(BOUNDS.slow_start_seconds / 2)
    assert stand.choose().upstream is fresh


def test_one_that_failed_is_passed_over_until_a_probe_and_the_last_one_never(stand: Stand) -> None:
    stand.trio[0].health.failed("reset")
    assert "rep00" not in stand.chosen_ids(3)
    stand.clock.advance(BOUNDS.eject_seconds)
    assert "rep00" not in stand.chosen_ids(3), "no client's request finds out how it is"
    stand.trio[0].health.answered_probe()
    assert stand.choose().upstream is stand.trio[0]
    for each in stand.trio:
        each.health.failed("reset")
    assert stand.choose() is not None


def test_one_that_answered_a_probe_gets_one_request_at_a_time_until_one_is_answered(
    stand: Stand,
) -> None:
    broken = stand.trio[0]
    broken.health.failed("reset")
    stand.clock.advance(BOUNDS.eject_seconds)
    broken.health.answered_probe()
    for each in stand.trio[1:]:
        each.in_flight = 5
    assert stand.choose().upstream is broken
    broken.health.on_trial()
    assert stand.choose().upstream is not broken
    broken.health.let_go()
    assert stand.choose().upstream is broken, "its client left before there was an answer"
    broken.health.on_trial()
    broken.health.ended(200)
    assert stand.choose().upstream is broken


def test_one_that_answers_nothing_but_errors_is_passed_over(stand: Stand) -> None:
    for _ in range(ERRORS_IN_A_ROW - 1):
        stand.trio[0].health.ended(500)
    assert stand.choose().upstream is stand.trio[0], "a client can cause some"
    stand.trio[0].health.ended(500)
    assert "rep00" not in stand.chosen_ids(3)
    stand.clock.advance(BOUNDS.eject_seconds)
    stand.trio[0].health.answered_probe()
    assert stand.choose().upstream is stand.trio[0]


def test_where_most_answer_errors_nobody_is_ejected_for_them(stand: Stand) -> None:
    for each in stand.trio[:2]:
        for _ in range(ERRORS_IN_A_ROW):
            each.health.ended(500)
    assert stand.choose().upstream is stand.trio[0]


def test_the_settings_choose_without_prompts() -> None:
    by_load = Stand(ReplicaChoice.LEAST_LOADED)
    assert by_load.choose(said("hello")).reason is Reason.LEAST_LOADED
    by_chance = Stand(ReplicaChoice.RANDOM)
    assert by_chance.choose(said("hello")).reason is Reason.RANDOM
    assert len(by_chance.chosen_ids(100)) == len(TRIO)
