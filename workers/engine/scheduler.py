"""Decides who holds a row and what the next step feeds."""

from collections import deque
from threading import Condition

from workers.engine.answer import Answer
from workers.engine.errors import QueueFull
from workers.engine.kv_cache import SlotCache
from workers.engine.runner import Segment


class Scheduler:
    """First come, first served; rows join and leave between any two steps.

    `submit` and the counts may be used from any thread, everything else belongs to the model
    thread.
    """

    def __init__(
        self,
        cache: SlotCache,
        *,
        max_rows: int,
        max_waiting: int,
        step_tokens: int,
    ) -> None:
        self._cache = cache
        self._max_rows = max_rows
        self._max_waiting = max_waiting
        self._step_tokens = step_tokens
        self._waiting: deque[Answer] = deque()
        self.changed = Condition()
        self.running: list[Answer] = []

    @property
    def waiting(self) -> int:
        """Requests without a row."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether a step would have nothing to do."""
        return not self._waiting and not self.running

    def submit(self, answer: Answer) -> None:
        """Put a request at the end of the line. Raises: `QueueFull`."""
        with self.changed:
            if len(self._waiting) >= self._max_waiting:
                raise QueueFull(f"{self._max_waiting} requests wait already")
            self._waiting.append(answer)
            self.changed.notify()

    def admit(self) -> None:
        """Free the rows of those who left, then give rows to those who wait longest.

        A row is reserved for prompt and answer together, so a running answer is never evicted.
        """
        for answer in [answer for answer in self.running if answer.is_cancelled]:
            self.leave(answer)
        with self.changed:
            self._waiting = deque(answer for answer in self._waiting if not answer.is_cancelled)
            while self._waiting and len(self.running) < self._max_rows:
                row = self._cache.reserve(self._waiting[0].reserved_tokens)
                if row is None:
                    break
                answer = self._waiting.popleft()
                answer.row = row
                self.running.append(answer)

    def leave(self, answer: Answer) -> None:
        """Take an answer's row back."""
        self.running.remove(answer)
        self._cache.release(answer.row)

    def clear(self) -> list[Answer]:
        """Take every row back and empty the line; give back all who were there."""
        with self.changed:
            everyone = [*self.running, *self._waiting]
            self._waiting.clear()
        for answer in list(self.running):
            self.leave(answer)
        return everyone

    def plan(self) -> list[tuple[Answer, Segment]]:
        """Give back what the next step feeds: newest tokens first, then pieces of prompts."""
        left = self._step_tokens
        step = []
        for answer in sorted(self.running, key=lambda answer: answer.pending_tokens > 1):
            if left == 0:
                break
            segment = answer.next_segment(left)
            left -= len(segment.tokens)
            step.append((answer, segment))
        return step
