"""How much one key may ask: requests and tokens per minute, requests at a time.

Processes that reach the same Valkey count together (`shared_limits.py`): a request begins by what
its process has in hand, or waits a moment for an answer. Whoever counts alone keeps to its share.
"""

import asyncio
from collections.abc import Container
from dataclasses import dataclass
from enum import Enum, auto

from workers.gateway.limit_holding import Answer, Holding, Question, Waiter
from workers.gateway.limit_share import Share
from workers.gateway.refusals import Refused
from workers.gateway.routes_difference import Difference
from workers.gateway.snapshot import Key


class Entry(Enum):
    UNLIMITED = auto()
    COUNTED = auto()
    """It has to leave again."""
    ASKS = auto()
    """What the others left for it has to be asked; then it is counted or refused."""


class KeyLimits:
    def __init__(self, *, processes: int = 1) -> None:
        """`processes` share the limits as far as this one knows, until it counts with others."""
        self.processes = processes
        self.is_shared = False
        """Whether what it counts is counted together with all others."""
        self.asks = asyncio.Event()
        """Something is to be asked now."""
        self._alone_since: float | None = None
        """When the others were lost; None where it never counted with any."""
        self._holdings: dict[str, Holding] = {}
        self._to_ask: set[str] = set()
        self._gone: set[str] = set()
        """Keys that no longer exist, and had something running."""

    def enter(self, key: Key, *, now: float) -> Entry:
        """Return whether the request was counted, or how that is found out.

        Raises Refused with an honest Retry-After.
        """
        if not _is_limited(key):
            return Entry.UNLIMITED
        holding = self._of(key)
        if not self.is_shared:
            self._enter_alone(holding, now)
        elif holding.waiting or holding.lacks():
            return Entry.ASKS
        else:
            holding.take()
        return Entry.COUNTED

    def wait(self, key: Key, waiter: Waiter) -> None:
        """Have `waiter` told what was decided, in the order in which they came."""
        self._of(key).waiting.append(waiter)
        self._ask(key.id)

    def leave(self, key: Key, *, tokens: int = 0) -> None:
        """Count the tokens that an ended request used, and let the next one begin."""
        holding = self._holdings.get(key.id)
        if holding is None or holding.running <= 0:
            return
        holding.running -= 1
        if holding.share is not None:
            holding.share.tokens.use(tokens)
        elif key.tokens_per_minute is not None:
            holding.tokens -= tokens
        if self.is_shared and (key.parallel_requests is not None or holding.tokens < 0):
            self._ask(key.id)

    def follow(self, changed: Difference) -> None:
        """Forget keys that no longer exist, once they have nothing running."""
        self._gone |= {before.id for before, _ in changed.keys if before is not None}
        self._gone -= {after.id for _, after in changed.keys if after is not None}
        for id in list(self._gone):
            holding = self._holdings.get(id)
            if holding is None or not (holding.running or holding.waiting):
                self._holdings.pop(id, None)
                self._gone.discard(id)

    # What counting together asks.

    def look(self) -> None:
        """Once a second: tell the others what is left in hand, and give back what nobody needed."""
        for id, holding in list(self._holdings.items()):
            if holding.is_empty:
                del self._holdings[id]
            elif self.is_shared and (holding.used_lately or holding.has_spare):
                self._ask(id)
            holding.second_passed()

    def questions(self, *, of_all: bool) -> list[Question]:
        """Return what to ask now, of each key once."""
        ids = self._holdings.keys() if of_all else self._holdings.keys() & self._to_ask
        questions = [self._holdings[id].question(self.processes) for id in sorted(ids)]
        self._to_ask.clear()
        self.asks.clear()
        return questions

    def answered(self, questions: list[Question], processes: int, answers: list[Answer]) -> None:
        """Count together from here on, and decide about the requests that waited for this."""
        answer_of = dict(zip((each.key.id for each in questions), answers, strict=True))
        self._count_together(answer_of)
        self.processes = max(1, processes)
        for question in questions:
            holding = self._holdings.get(question.key.id)
            if holding is not None:
                holding.answered(question, answer_of[question.key.id])
                if holding.waiting or holding.owes:
                    self._ask(question.key.id)

    def count_alone(self, now: float) -> None:
        """Keep to this process's share until the others are heard again."""
        if self.is_shared:
            self._alone_since = now
        self.is_shared = False
        for holding in self._holdings.values():
            if holding.share is None:
                holding.begin_share(now)
            while holding.waiting:
                self._decide_alone(holding, holding.waiting.popleft(), now)

    # Steps.

    def _count_together(self, key_ids: Container[str]) -> None:
        """Go on with the others, who know what was used alone up to the questions just answered."""
        self.is_shared = True
        for id, holding in self._holdings.items():
            if id in key_ids:
                holding.owed_requests = holding.owed_tokens = 0.0
            holding.end_share(self.processes)

    def _of(self, key: Key) -> Holding:
        holding = self._holdings.get(key.id)
        if holding is None:
            holding = self._holdings[key.id] = Holding(key)
        holding.key = key
        return holding

    def _enter_alone(self, holding: Holding, now: float) -> None:
        refusal = self._share_of(holding, now).refusal(
            holding.key, holding.running, self.processes, now
        )
        if refusal is not None:
            raise Refused(refusal)
        holding.running += 1

    def _share_of(self, holding: Holding, now: float) -> Share:
        if holding.share is None:
            holding.share = Share.full(holding.key, self.processes, now)
            if self._alone_since is not None:  # the others may have used all that there was
                holding.share = Share.empty(self._alone_since)
        return holding.share

    def _decide_alone(self, holding: Holding, waiter: Waiter, now: float) -> None:
        try:
            self._enter_alone(holding, now)
        except Refused as refused:
            waiter.decided(refused.refusal)
        else:
            waiter.decided(None)

    def _ask(self, id: str) -> None:
        self._to_ask.add(id)
        self.asks.set()


def _is_limited(key: Key) -> bool:
    if key.requests_per_minute is not None or key.tokens_per_minute is not None:
        return True
    return key.parallel_requests is not None


@dataclass(slots=True)
class RetryBudget:
    """At most a tenth of the requests may be repeated, so that retries never feed an outage."""

    ratio: float = 0.1
    most: float = 10.0
    tokens: float = 10.0

    def request(self) -> None:
        self.tokens = min(self.most, self.tokens + self.ratio)

    def spend(self) -> bool:
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True
