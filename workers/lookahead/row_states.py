"""The requests of a batch whose engine says neither their names nor when their rows move."""

from collections.abc import Sequence
from typing import Final

from workers.lookahead.kernels import begins_with
from workers.lookahead.layout import Block
from workers.lookahead.limits import BreakEven
from workers.lookahead.request_state import RequestState

KEPT_TURNS: Final = 64
"""Turns for which a request may be away, as one whose row was needed, before it is forgotten."""


class RowState:
    """What is known of one request, and whether drafts pay for it."""

    def __init__(self, longest_draft: int, break_even_tokens: float) -> None:
        self.request = RequestState(longest_draft)
        self.guard = BreakEven(break_even_tokens)
        self.drafted = 0
        """Tokens of the last draft, which its next tokens are held against."""
        self.turn = 0

    def begins(self, text: Block) -> bool:
        """Return whether a text goes on with all that is known here, compared token by token."""
        index = self.request.index
        return bool(begins_with(text, index.header, index.block))


class RowStates:
    """Finds the state of each row again by its text, so that no request drafts from another's."""

    def __init__(self, longest_draft: int, break_even_tokens: float) -> None:
        self._made_with = (longest_draft, break_even_tokens)
        self._rows: list[RowState | None] = []
        self._away: list[RowState] = []
        self._turn = 0

    def __len__(self) -> int:
        return len(self._away) + sum(row is not None for row in self._rows)

    def of(self, texts: Sequence[Block | None]) -> list[RowState | None]:
        """Return the state of each row; None where a row has no text yet."""
        self._turn += 1
        before = self._rows + [None] * (len(texts) - len(self._rows))
        stayed = [self._if_its(state, text) for state, text in zip(before, texts, strict=False)]
        kept = {id(state) for state in stayed}
        self._away += [each for each in before if each is not None and id(each) not in kept]
        self._rows = [
            state or (None if text is None else self._state_of(text))
            for state, text in zip(stayed, texts, strict=True)
        ]
        self._forget()
        return self._rows

    def _if_its(self, state: RowState | None, text: Block | None) -> RowState | None:
        return state if state is not None and text is not None and state.begins(text) else None

    def _state_of(self, text: Block) -> RowState:
        """Return the state that knows most of a text; a new one where none does."""
        its = [state for state in self._away if state.begins(text)]
        if not its:
            return RowState(*self._made_with)
        state = max(its, key=lambda each: each.request.index.total)
        self._away.remove(state)
        return state

    def _forget(self) -> None:
        for state in self._rows:
            if state is not None:
                state.turn = self._turn
        self._away = [each for each in self._away if self._turn - each.turn < KEPT_TURNS]
