"""What a drafter knows of one request."""

from typing import Final

import numpy as np

from workers.lookahead.drafting import ANCHOR, STATE_LENGTH
from workers.lookahead.layout import HEADER_LENGTH, NOWHERE, Block, Header
from workers.lookahead.token_index import TokenIndex

LEAST_CAPACITY: Final = 1024
NO_HEADER: Final[Header] = np.zeros(HEADER_LENGTH, dtype=np.int64)
NO_BLOCK: Final[Block] = np.zeros(1, dtype=np.int32)


class RequestState:
    """A request's own text, where its last draft came from, and room for the next one."""

    def __init__(self, longest_draft: int) -> None:
        self.index = TokenIndex.empty(LEAST_CAPACITY)
        self._room = LEAST_CAPACITY
        self.numbers = np.zeros(STATE_LENGTH, dtype=np.int64)
        self.numbers[ANCHOR] = NOWHERE
        self.drafted = np.zeros(longest_draft, dtype=np.int32)

    def make_room(self, tokens: int) -> None:
        """Let the text grow by so many tokens: nothing of a request is ever forgotten."""
        self._room -= tokens
        if self._room < 0:
            self._grow(tokens)

    def _grow(self, tokens: int) -> None:
        larger = TokenIndex.empty(1 << (self.index.total + tokens).bit_length())
        larger.append(self.index.tokens())
        self.index = larger
        self._room = larger.capacity - larger.total - tokens
