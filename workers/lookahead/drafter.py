"""Drafts for many requests: from a request's own text first, then from the history of others."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from workers.lookahead.drafting import COUNT, draft, step
from workers.lookahead.history import SharedHistory
from workers.lookahead.layout import Block
from workers.lookahead.request_state import NO_BLOCK, NO_HEADER, RequestState
from workers.lookahead.rules import DraftRule
from workers.lookahead.token_index import Tokens, as_block


class Turn(NamedTuple):
    """One request's part of a batch: its tokens since the last turn, and the most to draft."""

    request: Hashable
    tokens: Tokens
    most: int


class Drafter:
    """Proposes what may follow; a wrong draft costs time and never changes an answer.

    A request has any hashable name, begins with its first tokens (the prompt), and is forgotten by
    `finish`. One thread at a time.
    """

    def __init__(self, rule: DraftRule, history: SharedHistory | None = None) -> None:
        self.rule = rule
        self._numbers = rule.numbers()
        self._longest = rule.longest_draft
        self._history = history
        self._shared = (NO_HEADER, NO_BLOCK)
        if history is not None:
            self._shared = (history.index.header, history.index.block)
        self._requests: dict[Hashable, RequestState] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def propose(self, request: Hashable, tokens: Tokens, most: int) -> list[int]:
        """Take in the tokens that a request has grown by, return up to `most` that may follow."""
        state = self._state_of(request)
        new = as_block(tokens)
        state.make_room(len(new))
        count = step(state.index.header, state.index.block, *self._shared, self._numbers,
                     state.numbers, new, self._bounded(most), state.drafted)  # fmt: skip
        drafted: list[int] = state.drafted[:count].tolist()
        return drafted

    def shorten(self, request: Hashable, kept: int) -> None:
        """Take in that only so many tokens of a request's last draft are verified."""
        numbers = self._requests[request].numbers
        numbers[COUNT] = min(numbers[COUNT], kept)

    def propose_batch(self, turns: Sequence[Turn]) -> list[list[int]]:
        return [self.propose(*turn) for turn in turns]

    def alternatives(self, request: Hashable, most: int, count: int) -> list[list[int]]:
        """Return up to `count` drafts that begin differently, the best first.

        What `propose` says next is judged against the last of its own drafts, not against these.
        """
        state = self._requests[request]
        numbers, room = state.numbers.copy(), state.drafted.copy()
        drafts: list[list[int]] = []
        while len(drafts) < count:
            taken = as_block([each[0] for each in drafts])
            length = draft(state.index.header, state.index.block, *self._shared, self._numbers,
                           numbers, taken, self._bounded(most), room)  # fmt: skip
            if not length:
                break
            drafts.append(room[:length].tolist())
        return drafts

    def text_of(self, request: Hashable) -> Block:
        return self._requests[request].index.tokens()

    def finish(self, request: Hashable) -> None:
        """Forget a request; where there is a history, its text goes into it."""
        state = self._requests.pop(request, None)
        if state is not None and self._history is not None:
            self._history.add(state.index.tokens())

    def _state_of(self, request: Hashable) -> RequestState:
        state = self._requests.get(request)
        if state is None:
            state = self._requests[request] = RequestState(self._longest)
        return state

    def _bounded(self, most: int) -> int:
        if 0 <= most <= self._longest:
            return most
        return max(0, min(most, self._longest))
