"""What one process has in hand of what all of them may let one key do."""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from workers.gateway.limit_share import (
    Bucket,
    Share,
    crowded,
    most_requests,
    most_tokens,
    too_many_requests,
    too_many_tokens,
)
from workers.gateway.refusals import Refusal
from workers.gateway.snapshot import Key

IN_HAND_OF_A_MINUTE = 50
"""A process has no more in hand than this part of a minute's limit, beside what it asks for."""
IN_HAND_OF_PLACES = 16
"""And of the requests at a time: none of a limit below this."""


class Waiter(Protocol):
    """A request that waits for an answer about its key."""

    def decided(self, refusal: Refusal | None) -> None: ...


class Question(NamedTuple):
    """What a process asks for one key, and what it gives back, where less than nothing is a debt.

    A debt is kept until it was heard: an answer may get lost.
    """

    key: Key
    back_requests: float
    wanted_requests: int
    held_requests: float
    back_tokens: float
    wanted_tokens: float
    held_tokens: float
    running: int
    wanted_places: int
    waiting: int
    """How many requests are decided by the answer."""


class Answer(NamedTuple):
    requests: float
    """Given to this process."""
    requests_left: float
    """To everybody, after that."""
    tokens: float
    tokens_left: float
    places: int
    """All that this process may have running, and no longer than its lease."""
    places_elsewhere: int


@dataclass(slots=True)
class Holding:
    key: Key
    requests: float = 0.0
    tokens: float = 0.0
    places: int = 0
    running: int = 0
    used_lately: int = 0
    used_before: int = 0
    """In the second that is passing, and in the one before it."""
    owed_requests: float = 0.0
    owed_tokens: float = 0.0
    waiting: deque[Waiter] = field(default_factory=deque)
    share: Share | None = None
    """While this process counts alone."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost by forgetting it."""
        amount = self.requests or self.tokens or self.places or self.running or self.waiting
        return not amount and self.share is None and not self.owes

    @property
    def owes(self) -> bool:
        return self.owed_requests > 0 or self.owed_tokens > 0

    @property
    def has_spare(self) -> bool:
        return self.requests > 0 or self.tokens > 0 or self.places > self.running

    def second_passed(self) -> None:
        self.used_before, self.used_lately = self.used_lately, 0

    @property
    def _used(self) -> int:
        return self.used_before + self.used_lately

    def lacks(self) -> bool:
        """Whether a request can only begin after asking."""
        key = self.key
        if key.parallel_requests is not None and self.running >= self.places:
            return True
        if key.tokens_per_minute is not None and self.tokens <= 0:
            return True
        return key.requests_per_minute is not None and self.requests < 1

    def take(self) -> None:
        self.running += 1
        self.used_lately += 1
        if self.key.requests_per_minute is not None:
            self.requests -= 1

    def question(self, processes: int) -> Question:
        """Return what to ask now; what it gives back is no longer in hand from here on."""
        self._owe_what_was_used_alone(processes)
        back_requests, wanted_requests = self._ask_for_requests()
        back_tokens, wanted_tokens = self._ask_for_tokens()
        places = self._wanted_places()
        self.places = min(self.places, places)
        return Question(
            self.key,
            back_requests - self.owed_requests, wanted_requests, self.requests,
            back_tokens - self.owed_tokens, wanted_tokens, max(0.0, self.tokens),
            self.running, places, len(self.waiting),
        )  # fmt: skip

    def answered(self, question: Question, answer: Answer) -> None:
        """Take what was given, and decide about the requests that waited for it."""
        self.requests += answer.requests
        self.tokens += answer.tokens
        self.places = answer.places
        for _ in range(min(question.waiting, len(self.waiting))):
            waiter = self.waiting.popleft()
            if self.lacks():
                waiter.decided(self._why_not(answer))
            else:
                self.take()
                waiter.decided(None)

    def begin_share(self, now: float) -> None:
        """Count alone, with what is in hand and no more to begin with: others have the rest."""
        self.share = Share(Bucket(self.requests, now), Bucket(self.tokens, now))
        self.owed_tokens += max(0.0, -self.tokens)
        self.requests = self.tokens = 0.0

    def end_share(self, processes: int) -> None:
        """Count with the others, who have yet to learn what was used since the last question."""
        self._owe_what_was_used_alone(processes)
        self.share = None

    def _owe_what_was_used_alone(self, processes: int) -> None:
        if (share := self.share) is None:
            return
        most = most_requests(self.key, processes)
        self.owed_requests = share.requests.owed(self.owed_requests, most)
        most = most_tokens(self.key, processes)
        self.owed_tokens = share.tokens.owed(self.owed_tokens, most)

    def _ask_for_requests(self) -> tuple[float, int]:
        per_minute = self.key.requests_per_minute
        if per_minute is None:
            back, self.requests = self.requests, 0.0
            return back, 0
        spare = min(self._used, per_minute // IN_HAND_OF_A_MINUTE)
        target = len(self.waiting) + spare
        back = max(0.0, self.requests - target)
        self.requests -= back
        return back, max(0, int(target - self.requests))

    def _ask_for_tokens(self) -> tuple[float, float]:
        per_minute = self.key.tokens_per_minute
        if self.tokens < 0:
            self.owed_tokens, self.tokens = self.owed_tokens - self.tokens, 0.0
        target = 0.0
        if per_minute is not None and (self.waiting or self._used):
            target = float(max(1, per_minute // IN_HAND_OF_A_MINUTE))
        back = max(0.0, self.tokens - target)
        self.tokens -= back
        return back, target - self.tokens

    def _wanted_places(self) -> int:
        if self.key.parallel_requests is None:
            return self.running
        spare = min(self._used, self.key.parallel_requests // IN_HAND_OF_PLACES)
        return self.running + len(self.waiting) + spare

    def _why_not(self, answer: Answer) -> Refusal:
        key = self.key
        if key.parallel_requests is not None and self.running >= self.places:
            return crowded(key.parallel_requests, self.running + answer.places_elsewhere)
        if key.tokens_per_minute is not None and self.tokens <= 0:
            return too_many_tokens(key.tokens_per_minute, answer.tokens_left)
        return too_many_requests(key.requests_per_minute or 0, answer.requests_left)
