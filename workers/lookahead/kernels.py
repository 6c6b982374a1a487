"""The compiled part: append to an index, search it, draft from it.

A position is absolute: the number of tokens before it. Whatever a table or a chain names is
compared token by token, so that entries of evicted tokens and of other n-grams in the same bucket
are harmless.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit

from workers.lookahead.layout import (
    CAPACITY,
    CHAINED,
    NOWHERE,
    ORDER_COUNT,
    ORDER_FIELDS,
    ORDERS,
    RUN,
    TOTAL,
    Block,
    Header,
)

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Return the function compiled; kept on disk beside its file, or where NUMBA_CACHE_DIR says."""
    return cast("Function", njit(cache=True, nogil=True)(function))


@compiled
def append(header: Header, block: Block, tokens: Block) -> None:
    """Append tokens; n-grams enter the tables once a token follows them."""
    slot = slot_of(header, header[TOTAL] - 1)
    for token in tokens:
        if header[RUN] > 0:
            _index(header, block, slot)
        slot = slot + 1 if slot + 1 < header[CAPACITY] else 0
        block[2 * slot] = token
        header[TOTAL] += 1
        header[RUN] = header[RUN] + 1 if token >= 0 else 0


@compiled
def _index(header: Header, block: Block, slot: int) -> None:
    block[2 * slot + 1] = NOWHERE
    for order in range(ORDER_COUNT):
        if 0 < header[ORDERS + ORDER_FIELDS * order] <= header[RUN]:
            place = bucket(header, order, header, block, slot)
            if order == CHAINED:
                block[2 * slot + 1] = block[place]
            block[place] = slot


@compiled
def bucket(tables: Header, order: int, ring: Header, block: Block, slot: int) -> int:
    """Return where `tables` keeps the n-gram that ends in a slot of a ring."""
    place = ORDERS + ORDER_FIELDS * order
    mixed = np.uint64(0)
    for _ in range(tables[place]):
        mixed = (mixed ^ np.uint64(block[2 * slot])) * MULTIPLIER
        slot = slot - 1 if slot > 0 else ring[CAPACITY] - 1
    return tables[place + 2] + np.int64(mixed >> np.uint64(64 - tables[place + 1]))


@compiled
def slot_of(header: Header, position: int) -> int:
    return position % header[CAPACITY]


@compiled
def position_of(header: Header, newest_slot: int, slot: int) -> int:
    """Return the newest position that stands in a slot."""
    age = newest_slot - slot if slot <= newest_slot else newest_slot - slot + header[CAPACITY]
    return header[TOTAL] - 1 - age


@compiled
def begins_with(tokens: Block, header: Header, block: Block) -> bool:
    """Return whether tokens begin with all that an index holds, of which nothing was evicted."""
    if header[TOTAL] > len(tokens):
        return False
    for position in range(header[TOTAL] - 1, -1, -1):
        if block[2 * position] != tokens[position]:
            return False
    return True


@compiled
def match_length(own: Header, own_block: Block, own_slot: int, header: Header, block: Block,
                 last: int, slot: int, most: int) -> int:  # fmt: skip
    """Return how many tokens up to position `last` equal those at the end of the request's text."""
    most = min(most, last - max(0, header[TOTAL] - header[CAPACITY]) + 1, own[RUN])
    length = 0
    while length < most:
        token = block[2 * slot]
        if token < 0 or token != own_block[2 * own_slot]:
            break
        slot = slot - 1 if slot > 0 else header[CAPACITY] - 1
        own_slot = own_slot - 1 if own_slot > 0 else own[CAPACITY] - 1
        length += 1
    return length


@compiled
def copy(header: Header, block: Block, start: int, most: int, drafted: Block) -> int:
    """Write what follows from a position on, up to a separator or the end; return how many."""
    most = min(most, header[TOTAL] - start)
    slot = slot_of(header, start)
    for place in range(most):
        token = block[2 * slot]
        if token < 0:
            return place
        drafted[place] = token
        slot = slot + 1 if slot + 1 < header[CAPACITY] else 0
    return max(0, most)
