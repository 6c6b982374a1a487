"""What a gateway thinks that engines have cached is corrected by what their answers say."""

import itertools

import pytest

from tests.workers.gateway.choice.test_chooser import TRIO, Stand, said
from workers.gateway.choice.beliefs import Belief, Outcome, Sent, outcome_of
from workers.gateway.choice.chooser import Choice, Reason, Wish
from workers.gateway.choice.prefix_uses import PrefixUses
from workers.gateway.usage import TokenCounts

TOKENS = 600
"""Of each prompt."""


class Answering(Stand):
    """A chooser whose replicas answer at once, or leave it to the test."""

    def ask(self, *words: str, cached: int | None) -> tuple[Reason, str, Outcome | None]:
        chosen, sent = self.send(*words)
        assert sent is not None
        outcome = self.chooser.answered(sent, TokenCounts(TOKENS, 1, cached))
        return chosen.reason, chosen.upstream.address, outcome

    def send(self, *words: str) -> tuple[Choice, Sent | None]:
        prompt = said(*words)
        chosen = self.chooser.choose(TRIO, set(), Wish(prompt))
        assert chosen is not None
        return chosen, self.chooser.took(chosen, prompt)

    def neighbours(self, count: int) -> list[str]:
        """Return so many conversations that begin at one replica."""
        by_address: dict[str, list[str]] = {}
        for number in itertools.count():
            word = f"conversation {number} "
            address = Stand().choose(said(word)).upstream.address
            by_address.setdefault(address, []).append(word)
            if len(by_address[address]) == count:
                return by_address[address]
        raise AssertionError


@pytest.fixture
def stand() -> Answering:
    """Its engines have cached something before."""
    made = Answering()
    for each in made.trio:
        each.least_cached_tokens = 16
    return made


def test_what_an_engine_dropped_is_not_looked_for_there_nor_what_was_used_before_it(
    stand: Answering,
) -> None:
    older, dropped, later = stand.neighbours(3)
    for word in (older, dropped, later):
        assert stand.ask(word, cached=0)[::2] == (Reason.NEW_PREFIX, None)
    reason, address, outcome = stand.ask(dropped, "and on", cached=0)
    assert (reason, outcome) == (Reason.PREFIX, Outcome.DROPPED)
    assert stand.ask(later, "and on", cached=500) == (Reason.PREFIX, address, Outcome.HELD)
    assert stand.ask(dropped, "and on", "and on", cached=500)[0] is Reason.PREFIX, "it is back"
    assert stand.ask(older, "and on", cached=0)[0] is Reason.NEW_PREFIX
    assert stand.ask(older, "and on", "and on", cached=500)[0] is Reason.PREFIX


def test_of_two_that_were_sent_it_the_one_is_taken_that_still_has_it(stand: Answering) -> None:
    _, first, _ = stand.ask("hello", cached=0)
    busy = stand.pool.of(next(each.replica for each in stand.trio if each.address == first))
    busy.in_flight = 50
    _, second, _ = stand.ask("hello", cached=0)
    assert second != first
    busy.in_flight = 0
    others = [each for each in stand.trio if each.address != first]
    for each in others:
        each.in_flight = 1
    assert stand.ask("hello", "on", cached=0)[1:] == (first, Outcome.DROPPED)
    for each in others:
        each.in_flight = 0
    busy.in_flight = 1
    assert stand.ask("hello", "else", cached=500)[1:] == (second, Outcome.HELD)


def test_what_is_still_being_computed_is_not_held_against_it(stand: Answering) -> None:
    stand.send("hello")
    assert stand.ask("hello", "on", cached=0)[::2] == (Reason.PREFIX, None)
    assert stand.ask("hello", "on", "on", cached=0)[::2] == (Reason.PREFIX, Outcome.DROPPED)


def test_an_engine_that_never_tells_is_believed_and_one_that_told_means_none_by_silence() -> None:
    stand, talk = Answering(), ["hello"]
    for cached, outcome in (
        (None, None), (0, None), (100, None), (500, Outcome.HELD), (None, Outcome.DROPPED),
    ):  # fmt: skip
        assert stand.ask(*talk, cached=cached)[2] is outcome
        talk.append("and on")


def test_an_engine_that_was_started_anew_has_nothing(stand: Answering) -> None:
    _, address, _ = stand.ask("hello", cached=0)
    upstream = next(each for each in stand.trio if each.address == address)
    upstream.cache = f"{address}#1"
    assert stand.ask("hello", "on", cached=0)[::2] == (Reason.NEW_PREFIX, None)


@pytest.mark.parametrize(
    ("share", "tokens", "cached", "least", "outcome"),
    [
        (1.0, 600, 590, 16, Outcome.HELD),
        (0.5, 600, 160, 16, Outcome.HELD),
        (0.5, 600, 140, 16, Outcome.DROPPED),
        (0.9, 70, 0, 16, Outcome.HELD),
        (0.9, 80, 0, 16, Outcome.DROPPED),
        (0.9, 140, 0, 128, Outcome.HELD),
        (0.9, 150, 0, 128, Outcome.DROPPED),
    ],
)
def test_a_belief_is_denied_by_less_than_half_and_by_more_than_a_block(
    share: float, tokens: int, cached: int, least: int, outcome: Outcome
) -> None:
    assert outcome_of(Belief(share, 1), tokens, cached, least_cached_tokens=least) is outcome


def test_uses_never_hold_more_than_they_may_and_keep_the_latest() -> None:
    uses = PrefixUses(most_uses=40)
    for number in range(100):
        uses.answered([number], "a")
        assert len(uses) <= 41
    assert uses.last(99, "a") == 100
    assert uses.last(0, "a") is None
