"""Decides who holds a row and what the next step feeds."""

from collections.abc import Iterator
from threading import Condition

from workers.engine.errors import QueueFull
from workers.engine.kept_rows import KeptRows
from workers.engine.kv_cache import SlotCache
from workers.engine.metrics import EngineMetrics
from workers.engine.runner import Segment
from workers.engine.sequence import Sequence
from workers.engine.settings import EngineSettings, Policy

GROWTH_TOKENS = 64
"""Room that a row is given ahead of its tokens where it is not given all it may need."""

MOST_PASSED = 64
"""Later requests that may go before one, however short they are."""

MOST_OVERTAKEN = 8
"""Requests that may pass one that is too large for the room there is, before all wait for it."""


class Scheduler:
    """Weighted fair queueing; rows join and leave between any two steps.

    Whoever waits is served as if all shared the engine at once: the first row goes to who would
    then have ended first, so that short requests pass long ones, each a bounded number of times.

    `submit` and the counts may be used from any thread, everything else belongs to the model
    thread.
    """

    def __init__(
        self, cache: SlotCache, settings: EngineSettings, step_tokens: int, metrics: EngineMetrics
    ) -> None:
        self._rows = KeptRows(cache)
        self._cache = cache
        self._settings = settings
        self._metrics = metrics
        self._step_tokens = step_tokens
        self.waiting: list[Sequence] = []
        self._turn = 0.0
        """Tokens that each of those who wait and run would have had by now."""
        self._overtaken = 0
        self.changed = Condition()
        self.running: list[Sequence] = []

    @property
    def used_ratio(self) -> float:
        """Share of the cache that running rows hold."""
        return self._rows.used_slots / self._cache.slots

    def submit(self, sequence: Sequence) -> None:
        """Let a request wait for its turn. Raises: `QueueFull`."""
        with self.changed:
            if len(self.waiting) >= self._settings.max_waiting_requests:
                raise QueueFull(f"{len(self.waiting)} requests wait already")
            sequence.turn = self._turn + sequence.reserved_tokens
            self.waiting.append(sequence)
            self.changed.notify()

    def admit(self) -> None:
        """Free the rows of those who left, then give rows to those whose turn it is."""
        with self.changed:
            for sequence in [sequence for sequence in self.running if sequence.is_cancelled]:
                self.leave(sequence)
            self.waiting = [sequence for sequence in self.waiting if not sequence.is_cancelled]
            self.waiting.sort(key=_place)
            while len(self.running) < self._settings.max_batch_size and self._admit_one():
                pass

    def leave(self, sequence: Sequence, *, keep: bool = True) -> None:
        """Take an answer's row back; what it holds serves prompts that begin alike."""
        self.running.remove(sequence)
        if keep:
            self._rows.give_back(sequence.content)
        else:
            self._cache.release(sequence.row)

    def clear(self) -> list[Sequence]:
        """Take every row back, keep nothing, empty the line; give back all who were there."""
        with self.changed:
            everyone = [*self.running, *self.waiting]
            self.waiting.clear()
        for sequence in list(self.running):
            self.leave(sequence, keep=False)
        self._rows.forget_all()
        return everyone

    def plan(self) -> list[tuple[Sequence, Segment]]:
        """Give back what the next step feeds: newest tokens, pieces of prompts, then drafts."""
        step: dict[Sequence, Segment] = {}
        for sequence, tokens in self._shares():
            if tokens and self._has_room(sequence, tokens):
                step[sequence] = sequence.next_segment(tokens)
        spare = self._step_tokens - sum(len(each.tokens) for each in step.values())
        for sequence in [sequence for sequence in step if sequence.pending_tokens == 1]:
            step[sequence] = sequence.with_drafts(step[sequence], spare)
            spare -= step[sequence].drafts
        # A row that was planned early may have given way to a later one.
        return [
            (sequence, segment) for sequence, segment in step.items() if sequence in self.running
        ]

    def _shares(self) -> Iterator[tuple[Sequence, int]]:
        """How much of each row the next step feeds.

        Of the prompts the oldest gets at least half, so that it ends; the rest goes to the
        shortest, so that they need not wait for it.
        """
        left = self._step_tokens
        newest = [sequence for sequence in self.running if sequence.pending_tokens == 1][:left]
        yield from ((sequence, 1) for sequence in newest)
        left -= len(newest)
        prompts = [sequence for sequence in self.running if sequence.pending_tokens > 1]
        if not prompts:
            return
        oldest = min(prompts, key=lambda sequence: sequence.arrived_at)
        prompts.remove(oldest)
        spared = min(oldest.pending_tokens, (left + 1) // 2)
        left -= spared
        for sequence in sorted(prompts, key=lambda sequence: sequence.pending_tokens):
            piece = min(sequence.pending_tokens, left)
            left -= piece
            yield sequence, piece
        yield oldest, min(oldest.pending_tokens, spared + left)

    def _admit_one(self) -> bool:
        for sequence in self.waiting:
            if self._give_row(sequence):
                self._overtaken = 0 if sequence is self.waiting[0] else self._overtaken + 1
                self._turn += sequence.reserved_tokens / (len(self.waiting) + len(self.running))
                self.waiting.remove(sequence)
                for other in self.waiting:
                    other.passed += other.arrived_at < sequence.arrived_at
                self.running.append(sequence)
                return True
            if self._overtaken >= MOST_OVERTAKEN:
                return False
        return False

    def _give_row(self, sequence: Sequence) -> bool:
        promised = sum(each.reserved_tokens for each in self.running)
        capacity, headroom = self._first_capacity(sequence)
        fits = promised + sequence.reserved_tokens <= self._settings.total_token_limit
        if not fits or capacity + headroom > self._rows.available_slots:
            return False
        others = [each.content for each in self.running]
        row = self._rows.reserve(sequence.content, capacity, others)
        if row is None:
            return False
        sequence.take_row(row)
        self._metrics.prefix_hits.inc(row.length)
        return True

    def _first_capacity(self, sequence: Sequence) -> tuple[int, int]:
        """Slots for a new row, and slots that must stay available beside it."""
        if self._settings.scheduler_policy == Policy.GUARANTEED_NO_EVICT:
            return sequence.reserved_tokens, 0
        # Without headroom a row would be admitted only to give way at the next step.
        capacity = min(sequence.reserved_tokens, len(sequence.tokens) + GROWTH_TOKENS)
        return capacity, GROWTH_TOKENS * len(self.running)

    def _has_room(self, sequence: Sequence, tokens: int) -> bool:
        """Make room for a row's next tokens; say whether the row is still there to be fed."""
        if sequence not in self.running:
            return False
        needed = sequence.row.length + tokens
        while needed > sequence.row.capacity:
            capacity = min(sequence.reserved_tokens, needed + GROWTH_TOKENS)
            if self._rows.grow(sequence.row, capacity) or self._rows.grow(sequence.row, needed):
                break
            youngest = max(self.running, key=lambda each: each.arrived_at)
            self._preempt(youngest)
            if youngest is sequence:
                return False
        return True

    def _preempt(self, sequence: Sequence) -> None:
        """Send an answer back to the front of the line; its tokens are computed again."""
        self.leave(sequence)
        self._metrics.preemptions.inc()
        with self.changed:
            sequence.turn = 0.0  # before all others
            self.waiting.append(sequence)


def _place(sequence: Sequence) -> tuple[float, float]:
    turn = 0.0 if sequence.passed >= MOST_PASSED else sequence.turn
    return turn, sequence.arrived_at
