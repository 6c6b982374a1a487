"""The compiled search: the longest earlier place of the text's end, the nearest to an anchor."""

from workers.lookahead.kernels import (
    bucket,
    compiled,
    match_length,
    position_of,
    slot_of,
)
from workers.lookahead.layout import (
    CAPACITY,
    CHAINED,
    LONG,
    NOWHERE,
    ORDER_FIELDS,
    ORDERS,
    PAIR,
    RUN,
    SINGLE,
    TOTAL,
    Block,
    Header,
)

Best = tuple[int, int, int]
"""Length of the match, its distance, and the position after it."""

BACKWARD = 4
"""A step back from the anchor counts as so many forward: copies go on, they rarely return."""
CUT_SHORT = 1 << 40
"""Added to the distance of a place behind which little is left, as where text repeats itself."""
BEFORE_ANCHOR = 16
BEHIND_ANCHOR = 96
"""Around an anchor every place is looked at, since a short match is often right there."""


@compiled
def find(own: Header, own_block: Block, header: Header, block: Block, want: int, chain: int,
         anchor: int, taken: Block) -> tuple[int, int]:  # fmt: skip
    """Return the position after the best match and its length, which `want` bounds.

    What goes on with one of the tokens in `taken` is passed over.
    """
    newest = slot_of(header, header[TOTAL] - 1)
    end = slot_of(own, own[TOTAL] - 1)
    best = (0, 0, 0)
    if anchor != NOWHERE:
        best = _look_at(own, own_block, end, header, block, anchor, want, anchor, taken, best)
    if want >= header[ORDERS + ORDER_FIELDS * LONG] and not _is_final(best, want, anchor):
        best = _latest(own, own_block, end, header, block, newest, LONG, want, anchor, taken, best)
    if not _is_final(best, want, anchor):
        best = _walk(own, own_block, end, header, block, newest, want, chain, anchor, taken, best)
    for order in (PAIR, SINGLE):
        if best[0] <= header[ORDERS + ORDER_FIELDS * order]:
            best = _latest(
                own, own_block, end, header, block, newest, order, want, anchor, taken, best
            )
    if anchor != NOWHERE and best[0] < header[ORDERS + ORDER_FIELDS * CHAINED]:
        best = _near(own, own_block, end, header, block, want, anchor, taken, best)
    return best[2], best[0]


@compiled
def _near(own: Header, own_block: Block, end: int, header: Header, block: Block, want: int,
          anchor: int, taken: Block, best: Best) -> Best:  # fmt: skip
    first = max(0, header[TOTAL] - header[CAPACITY], anchor - BEFORE_ANCHOR)
    slot = slot_of(header, first)
    token = own_block[2 * end]
    for last in range(first, min(anchor + BEHIND_ANCHOR, header[TOTAL] - 1)):
        if block[2 * slot] == token:
            best = _look(own, own_block, end, header, block, last, slot, want, anchor, taken, best)
        slot = slot + 1 if slot + 1 < header[CAPACITY] else 0
    return best


@compiled
def _is_final(best: Best, want: int, anchor: int) -> bool:
    return best[0] >= want and (best[1] == 0 if anchor != NOWHERE else best[1] < CUT_SHORT)


@compiled
def _latest(own: Header, own_block: Block, end: int, header: Header, block: Block, newest: int,
            order: int, want: int, anchor: int, taken: Block, best: Best) -> Best:  # fmt: skip
    length = header[ORDERS + ORDER_FIELDS * order]
    if length == 0 or own[RUN] < length:
        return best
    slot = block[bucket(header, order, own, own_block, end)]
    if slot == NOWHERE:
        return best
    last = position_of(header, newest, slot)
    return _look(own, own_block, end, header, block, last, slot, want, anchor, taken, best)


@compiled
def _walk(own: Header, own_block: Block, end: int, header: Header, block: Block, newest: int,
          want: int, chain: int, anchor: int, taken: Block, best: Best) -> Best:  # fmt: skip
    if own[RUN] < header[ORDERS + ORDER_FIELDS * CHAINED]:
        return best
    slot = block[bucket(header, CHAINED, own, own_block, end)]
    younger = header[TOTAL]
    for _ in range(chain):
        if slot == NOWHERE:
            break
        last = position_of(header, newest, slot)
        if last >= younger:  # the slot was written over: what the chain meant is gone
            break
        best = _look(own, own_block, end, header, block, last, slot, want, anchor, taken, best)
        if _is_final(best, want, anchor):
            break
        younger = last
        slot = block[2 * slot + 1]
    return best


@compiled
def _look_at(own: Header, own_block: Block, end: int, header: Header, block: Block, last: int,
             want: int, anchor: int, taken: Block, best: Best) -> Best:  # fmt: skip
    if last < 0:
        return best
    slot = slot_of(header, last)
    return _look(own, own_block, end, header, block, last, slot, want, anchor, taken, best)


@compiled
def _look(own: Header, own_block: Block, end: int, header: Header, block: Block, last: int,
          slot: int, want: int, anchor: int, taken: Block, best: Best) -> Best:  # fmt: skip
    if last >= header[TOTAL] - 1:
        return best
    distance = _distance(header, last, want, anchor)
    needed = best[0] + 1 if distance >= best[1] or best[0] == 0 else best[0]
    if needed > want or not _agree_at(own, own_block, end, header, block, slot, needed - 1):
        return best
    length = match_length(own, own_block, end, header, block, last, slot, want)
    if length < needed:
        return best
    following = block[2 * (slot + 1 if slot + 1 < header[CAPACITY] else 0)]
    if following < 0:
        return best
    for other in taken:
        if following == other:
            return best
    return (length, distance, last + 1)


@compiled
def _agree_at(own: Header, own_block: Block, end: int, header: Header, block: Block, slot: int,
              back: int) -> bool:  # fmt: skip
    """Return whether the tokens so far back are equal, without which no match is long enough."""
    slot = slot - back if slot >= back else slot - back + header[CAPACITY]
    end = end - back if end >= back else end - back + own[CAPACITY]
    return block[2 * slot] == own_block[2 * end]


@compiled
def _distance(header: Header, last: int, want: int, anchor: int) -> int:
    cut = CUT_SHORT if header[TOTAL] - 1 - last < want else 0
    if anchor == NOWHERE:
        return cut + header[TOTAL] - last
    return cut + (2 * (last - anchor) if last >= anchor else 2 * BACKWARD * (anchor - last) - 1)
