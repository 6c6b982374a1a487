"""How long a draft may be while it still pays."""

from collections import deque
from typing import Final

WINDOW_STEPS: Final = 64
LOWEST_ACCEPTANCE: Final = 0.3
HIGHEST_ACCEPTANCE: Final = 0.6
LEAST_CAP: Final = 1
FIRST_CAP: Final = 4
FIRST_REST_STEPS: Final = 8
LONGEST_REST_STEPS: Final = 64
FIRST_TRIES: Final = 4
MOST_TRIES: Final = 16


def free_draft_tokens(free_tokens: int, running: int) -> int:
    """Return the longest draft whose verification costs no time beside reading the weights.

    `free_tokens` is the ridge of device and model: tokens that one forward takes before arithmetic,
    and not memory, bounds it. Source: Williams, Waterman, Patterson, Roofline, CACM 52 (4), 2009.
    """
    return max(0, free_tokens // max(1, running) - 1)


class AcceptanceGuard:
    """Halves the cap while under 30 % of drafts are accepted, doubles it again above 60 %."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._whole_cap = cap
        self._steps: deque[tuple[int, int]] = deque(maxlen=WINDOW_STEPS)

    def observe(self, drafted: int, accepted: int) -> None:
        """Take in one step; steps without a draft say nothing."""
        if not drafted:
            return
        self._steps.append((drafted, accepted))
        if len(self._steps) < WINDOW_STEPS:
            return
        share = sum(each[1] for each in self._steps) / sum(each[0] for each in self._steps)
        if share < LOWEST_ACCEPTANCE:
            self._set(max(LEAST_CAP, self.cap // 2))
        elif share > HIGHEST_ACCEPTANCE:
            self._set(min(self._whole_cap, 2 * self.cap))

    def _set(self, cap: int) -> None:
        if cap != self.cap:
            self.cap = cap
            self._steps.clear()


class EarnedCap:
    """A cap for devices where each verified token costs time, as a CPU: it is earned by acceptance.

    It begins small, doubles with each draft that is accepted whole, halves with each of which less
    than 30 % is, and rests once nothing is left of it, each time twice as long.
    """

    def __init__(self, cap: int) -> None:
        self.cap = min(FIRST_CAP, cap)
        self._whole_cap = cap
        self._steps_to_rest = self._rest = FIRST_REST_STEPS

    def observe(self, drafted: int, accepted: int) -> None:
        if not self.cap:
            self._wake()
        elif drafted and accepted == drafted:
            self._rest = FIRST_REST_STEPS
            self.cap = min(self._whole_cap, 2 * max(self.cap, drafted))
        elif drafted and accepted < LOWEST_ACCEPTANCE * drafted:
            self.cap = min(self.cap, drafted) // 2
            self._steps_to_rest = self._rest

    def _wake(self) -> None:
        self._steps_to_rest -= 1
        if self._steps_to_rest <= 0:
            self._rest = min(LONGEST_REST_STEPS, 2 * self._rest)
            self.cap = LEAST_CAP


class BreakEven:
    """Whether to draft, where a step with any draft costs as much more than one without.

    Each drafted step costs so many accepted tokens; what is accepted beyond is saved up. A row that
    has used up its savings rests, each time twice as long, and then has one try.
    """

    def __init__(self, tokens: float) -> None:
        self._tokens = tokens
        self._saved = FIRST_TRIES * tokens
        self._steps_to_rest = 0
        self._rest = FIRST_REST_STEPS

    def may_draft(self) -> bool:
        """Return whether the next step may draft; asked once a step."""
        self._steps_to_rest = max(0, self._steps_to_rest - 1)
        return not self._steps_to_rest

    def observe(self, accepted: int) -> None:
        self._saved = min(MOST_TRIES * self._tokens, self._saved + accepted - self._tokens)
        if accepted > self._tokens:
            self._rest = FIRST_REST_STEPS
        if self._saved < self._tokens:
            self._steps_to_rest = self._rest
            self._rest = min(LONGEST_REST_STEPS, 2 * self._rest)
            self._saved = self._tokens
