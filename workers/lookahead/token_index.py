"""A ring of tokens that is searched by its n-grams."""

from collections.abc import Sequence
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from workers.lookahead.kernels import append
from workers.lookahead.layout import SEPARATOR, TOTAL, Block, Header, block_length, make_header

OWN_LENGTHS: Final = (1, 2, 3, 8)
SHARED_LENGTHS: Final = (0, 0, 3, 8)
"""N-grams that are found; in the text of others a match of one or two tokens means nothing."""
LEAST_BITS: Final = 8
MOST_BITS: Final = {1: 17, 2: 20, 3: 22, 8: 23}
"""2^22 chains and 2^23 long n-grams are 5 bytes a token at 10 million tokens."""

Tokens = Sequence[int] | NDArray[np.integer]


class TokenIndex:
    """The last `capacity` tokens and where their n-grams stand; older ones are written over."""

    def __init__(self, header: Header, block: Block) -> None:
        self.header = header
        self.block = block

    @classmethod
    def empty(cls, capacity: int, lengths: tuple[int, int, int, int] = OWN_LENGTHS) -> "TokenIndex":
        """Return an index of nothing; a length of 0 leaves out what finds n-grams of it."""
        bits = tuple(_table_bits(capacity, length) for length in lengths)
        header = make_header(capacity, lengths, bits)
        return cls(header, np.full(block_length(header), -1, dtype=np.int32))

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    @property
    def capacity(self) -> int:
        return int(self.header[0])

    @property
    def total(self) -> int:
        """Tokens that were ever appended, separators among them."""
        return int(self.header[TOTAL])

    @property
    def size_bytes(self) -> int:
        """What it takes in memory, full or not."""
        return self.header.nbytes + self.block.nbytes

    def append(self, tokens: Tokens) -> None:
        append(self.header, self.block, as_block(tokens))

    def separate(self) -> None:
        """End a document: no match and no draft goes from one to the next."""
        self.append([SEPARATOR])

    def tokens(self) -> Block:
        ring = self.block[: 2 * self.capacity : 2]
        start = self.total % self.capacity if self.total > self.capacity else 0
        return np.concatenate((ring[start : len(self)], ring[:start]))


def as_block(tokens: Tokens) -> Block:
    if isinstance(tokens, np.ndarray) and tokens.dtype == np.int32 and tokens.flags.c_contiguous:
        return cast("Block", tokens)  # as engines bring them: NumPy takes longer to find it out
    return np.ascontiguousarray(tokens, dtype=np.int32)


def _table_bits(capacity: int, length: int) -> int:
    if not length:
        return 0
    return min(
        MOST_BITS.get(length, max(MOST_BITS.values())), max(LEAST_BITS, capacity.bit_length())
    )
