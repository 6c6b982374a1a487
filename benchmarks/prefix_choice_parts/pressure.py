"""What the choice brings where caches are too small, on engines that are reckoned by the token.

The chooser is the gateway's own; an engine is a cache of blocks of 16 tokens, of which the longest
unused goes first, ends before beginnings, and the time that computing takes. By a clock of its own,
so that the figures are the same on any machine.
"""

import heapq
import random
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from controlplane.process_settings.gateway import ReplicaChoice
from tests.manual_clock import ManualClock
from workers.gateway.choice.beliefs import Outcome, Sent
from workers.gateway.choice.chooser import Chooser, Wish
from workers.gateway.choice.pool import UpstreamPool
from workers.gateway.choice.prompts import prompt_of
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica
from workers.gateway.usage import TokenCounts

REPLICAS = 4
_BLOCK_LETTERS = 64
"""16 tokens of four letters."""
_CONVERSATIONS, _TURNS, _SYSTEMS = 400, 6, 8
_SYSTEM_LETTERS, _TURN_LETTERS = 4000, (400, 2400)
_THINKS_SECONDS, _TOKENS_A_SECOND, _ANSWER_SECONDS = 30.0, 8000.0, 1.5
_CACHED_SHARE = 0.2
"""Of what all conversations hold at their end, that all caches hold together."""
_Messages = list[dict[str, str]]


@dataclass
class Engine:
    """One replica's cache."""

    most_blocks: int
    blocks: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def cached_blocks(self, text: str) -> int:
        """Return how many blocks of the prompt it has, and have all of them cached."""
        ends = range(_BLOCK_LETTERS, len(text) + 1, _BLOCK_LETTERS)
        names = [text[:end] for end in ends]
        cached = next((n for n, each in enumerate(names) if each not in self.blocks), len(names))
        for name in reversed(names):
            self.blocks[name] = None
            self.blocks.move_to_end(name)
        while len(self.blocks) > self.most_blocks:
            self.blocks.popitem(last=False)
        return cached


@dataclass
class Found:
    cached: int = 0
    asked: int = 0
    seconds: list[float] = field(default_factory=list)
    beliefs: dict[Outcome | None, int] = field(default_factory=dict)


@dataclass(order=True)
class _Event:
    at: float
    number: int
    talk: _Messages = field(compare=False)
    sent: tuple[Sent | None, TokenCounts, int] | None = field(compare=False, default=None)


def under_pressure(*, corrected: bool, seed: int = 1) -> Found:
    """Return what was cached of the same conversations, with what engines tell taken in or not."""
    words, house, now = random.Random(seed), _House(corrected), 0.0
    events = list(_begins(words))
    heapq.heapify(events)
    while events:
        event = heapq.heappop(events)
        house.clock.advance(event.at - now)
        now = event.at
        if event.sent is None:
            heapq.heappush(events, house.ask(event))
        else:
            house.answer(*event.sent)
            _go_on(events, event, words)
    return house.found


class _House:
    """A gateway's chooser before its engines."""

    def __init__(self, corrected: bool) -> None:
        self.clock, self.found, self._corrected = ManualClock(), Found(), corrected
        self._pool = UpstreamPool(Bounds(), clock=self.clock)
        self._chooser = Chooser(self._pool, by=ReplicaChoice.PREFIX, clock=self.clock)
        self._replicas = [
            Replica(id=f"r{n}", host="h", port=n, address=f"r{n}@h:{n}") for n in range(REPLICAS)
        ]
        self._engines = [Engine(_most_blocks()) for _ in self._replicas]

    def ask(self, event: _Event) -> _Event:
        """Return when it is answered."""
        prompt = prompt_of({"messages": event.talk}, "key")
        choice = self._chooser.choose(self._replicas, set(), Wish(prompt))
        assert choice is not None
        upstream, found = choice.upstream, self.found
        text = "\n".join(each["content"] for each in event.talk)
        cached = self._engines[upstream.replica.port].cached_blocks(text) * 16
        tokens = len(text) // 4
        # What is computed at once is computed in turn.
        waits = (1 + upstream.in_flight) * (tokens - cached) / _TOKENS_A_SECOND
        upstream.in_flight += 1
        found.cached, found.asked = found.cached + cached, found.asked + tokens
        found.seconds.append(waits)
        sent = self._chooser.took(choice, prompt)
        answer = (sent, TokenCounts(tokens, 1, cached), upstream.replica.port)
        return _Event(event.at + waits + _ANSWER_SECONDS, event.number, event.talk, answer)

    def answer(self, sent: Sent | None, used: TokenCounts, place: int) -> None:
        self._pool.of(self._replicas[place]).in_flight -= 1
        if sent is not None and self._corrected:
            outcome = self._chooser.answered(sent, used)
            self.found.beliefs[outcome] = self.found.beliefs.get(outcome, 0) + 1


def _begins(words: random.Random) -> Iterator[_Event]:
    systems = [_said(words, _SYSTEM_LETTERS) for _ in range(_SYSTEMS)]
    for number in range(_CONVERSATIONS):
        talk = [{"role": "system", "content": words.choice(systems)}, _question(words)]
        yield _Event(words.uniform(0, 4 * _THINKS_SECONDS), number, talk)


def _go_on(events: list[_Event], event: _Event, words: random.Random) -> None:
    if len(event.talk) < 2 * _TURNS:
        answer = {"role": "assistant", "content": _said(words, 400)}
        talk = [*event.talk, answer, _question(words)]
        at = event.at + words.expovariate(1 / _THINKS_SECONDS)
        heapq.heappush(events, _Event(at, event.number, talk))


def _question(words: random.Random) -> dict[str, str]:
    return {"role": "user", "content": _said(words, words.randint(*_TURN_LETTERS))}


def _said(words: random.Random, letters: int) -> str:
    return f"{words.getrandbits(64):016x}" * (letters // 16)


def _most_blocks() -> int:
    whole = _CONVERSATIONS * _TURNS * (sum(_TURN_LETTERS) // 2 + 400) + _SYSTEMS * _SYSTEM_LETTERS
    return int(_CACHED_SHARE * whole / REPLICAS / _BLOCK_LETTERS)
