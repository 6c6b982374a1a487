"""Where a token index keeps what: one header of numbers and one block of 32-bit integers.

Both are flat, so that a compiled function takes two arguments for an index, a file maps it, and
processes share it. The block holds a ring of pairs: a token, and the slot where the same chained
n-gram stood before (side by side, since whoever needs one needs the other). Behind it stands a
table of buckets for each length of n-gram.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Header = NDArray[np.int64]
Block = NDArray[np.int32]

CAPACITY: Final = 0
TOTAL: Final = 1
"""Tokens ever appended; the newest stands at the absolute position TOTAL - 1."""
RUN: Final = 2
"""Tokens since the last separator."""
ORDERS: Final = 3
"""Then three numbers for each length of n-gram: length, bits of its table, where that begins."""
ORDER_FIELDS: Final = 3
SINGLE: Final = 0
PAIR: Final = 1
"""Where the latest place of one token, and of two, is kept."""
CHAINED: Final = 2
"""Each place of these n-grams names the one before it."""
LONG: Final = 3
"""The latest place of a long n-gram, which ends most searches at once."""
ORDER_COUNT: Final = 4
HEADER_LENGTH: Final = ORDERS + ORDER_FIELDS * ORDER_COUNT

SEPARATOR: Final = -1
"""Stands between documents: no match and no draft goes across it."""
NOWHERE: Final = -1


def make_header(capacity: int, lengths: tuple[int, int, int, int], bits: tuple[int, ...]) -> Header:
    """Return the header of an empty index; a length of 0 leaves its table out."""
    header = np.zeros(HEADER_LENGTH, dtype=np.int64)
    header[CAPACITY] = capacity
    start = 2 * capacity
    for order, (length, table_bits) in enumerate(zip(lengths, bits, strict=True)):
        place = ORDERS + ORDER_FIELDS * order
        header[place : place + ORDER_FIELDS] = (length, table_bits, start)
        start += 2**table_bits if length else 0
    return header


def block_length(header: Header) -> int:
    tables = header[ORDERS:].reshape(ORDER_COUNT, ORDER_FIELDS)
    return int(2 * header[CAPACITY] + sum(2 ** int(bits) for length, bits, _ in tables if length))
