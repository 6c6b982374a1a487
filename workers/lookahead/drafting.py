"""The compiled step of a request: take in what was accepted, then draft what may follow."""

from typing import Final

from workers.lookahead.kernels import append, compiled, copy
from workers.lookahead.layout import CAPACITY, NOWHERE, Block, Header
from workers.lookahead.search import BEFORE_ANCHOR, BEHIND_ANCHOR, find

FACTOR: Final = 0
CAP: Final = 1
MATCH: Final = 2
CHAIN: Final = 3
SHARED_CHAIN: Final = 4
ANCHORED: Final = 5
RESUME: Final = 6
COPY_CAP: Final = 7
COPY_DRAFTS: Final = 8
LEAST_MATCH: Final = 9
"""The numbers of a rule, as `rules.DraftRule` names them."""
RULE_LENGTH: Final = 10

SOURCE: Final = 0
START: Final = 1
COUNT: Final = 2
"""Where the last draft was copied from, and how many tokens."""
ANCHOR_SOURCE: Final = 3
ANCHOR: Final = 4
"""The place up to which a draft was accepted last."""
WHOLE_DRAFTS: Final = 5
"""Drafts in a row of which every token was accepted."""
STATE_LENGTH: Final = 6

OWN: Final = 0
SHARED: Final = 1
CONVINCING = 4
"""A place from which fewer tokens were accepted becomes no anchor."""


@compiled
def step(own: Header, own_block: Block, shared: Header, shared_block: Block, rule: Header,
         state: Header, tokens: Block, most: int, drafted: Block) -> int:  # fmt: skip
    """Append the tokens, write up to `most` that may follow into `drafted`, return how many."""
    _take_in(rule, state, drafted, tokens)
    append(own, own_block, tokens)
    return draft(own, own_block, shared, shared_block, rule, state, tokens[:0], most, drafted)


@compiled
def draft(own: Header, own_block: Block, shared: Header, shared_block: Block, rule: Header,
          state: Header, taken: Block, most: int, drafted: Block) -> int:  # fmt: skip
    """Write up to `most` tokens that may follow, the first of them none of `taken`."""
    start, length, source = _search(own, own_block, shared, shared_block, rule, state, taken)
    most = min(most, _wanted(rule, state, start, length, source))
    if source == OWN:
        count = copy(own, own_block, start, most, drafted)
    else:
        count = copy(shared, shared_block, start, most, drafted)
    state[SOURCE], state[START], state[COUNT] = source, start, count
    return count


@compiled
def _take_in(rule: Header, state: Header, drafted: Block, tokens: Block) -> None:
    accepted = 0
    while accepted < min(state[COUNT], len(tokens)) and drafted[accepted] == tokens[accepted]:
        accepted += 1
    if rule[ANCHORED] and accepted >= CONVINCING:
        state[ANCHOR] = state[START] + accepted
        state[ANCHOR_SOURCE] = state[SOURCE]
    is_whole = accepted == state[COUNT] and accepted >= rule[CAP]
    state[WHOLE_DRAFTS] = state[WHOLE_DRAFTS] + 1 if is_whole else 0


@compiled
def _search(own: Header, own_block: Block, shared: Header, shared_block: Block, rule: Header,
            state: Header, taken: Block) -> tuple[int, int, int]:  # fmt: skip
    anchor = state[ANCHOR] if state[ANCHOR_SOURCE] == OWN else NOWHERE
    start, length = find(own, own_block, own, own_block, rule[MATCH], rule[CHAIN], anchor, taken)
    if shared[CAPACITY] == 0 or length >= rule[MATCH]:
        return start, length, OWN
    anchor = state[ANCHOR] if state[ANCHOR_SOURCE] == SHARED else NOWHERE
    there, longer = find(
        own, own_block, shared, shared_block, rule[MATCH], rule[SHARED_CHAIN], anchor, taken
    )
    return (there, longer, SHARED) if longer > length else (start, length, OWN)


@compiled
def _wanted(rule: Header, state: Header, start: int, length: int, source: int) -> int:
    if length == 0:
        return 0
    tokens = length * rule[FACTOR] if length >= rule[LEAST_MATCH] else 0
    beyond = start - 1 - state[ANCHOR]
    is_near = -BEFORE_ANCHOR <= beyond < BEHIND_ANCHOR
    if is_near and state[ANCHOR] != NOWHERE and state[ANCHOR_SOURCE] == source:
        tokens = max(tokens, rule[RESUME])
    is_copying = rule[COPY_CAP] > 0 and state[WHOLE_DRAFTS] >= rule[COPY_DRAFTS]
    return rule[COPY_CAP] if is_copying and tokens >= rule[CAP] else min(tokens, rule[CAP])
