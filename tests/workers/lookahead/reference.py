"""The rule of the compiled search in plain Python: slow, and easy to believe.

It keeps every token and looks at every place, so that it agrees with `Drafter` as long as nothing
was evicted, chains were not cut, and no two short n-grams share a bucket.
"""

from collections.abc import Iterator, Sequence

from workers.lookahead.drafting import CONVINCING
from workers.lookahead.layout import SEPARATOR
from workers.lookahead.rules import DraftRule
from workers.lookahead.search import BACKWARD, BEFORE_ANCHOR, BEHIND_ANCHOR, CUT_SHORT
from workers.lookahead.token_index import OWN_LENGTHS, SHARED_LENGTHS

Best = tuple[int, int, int]  # length of the match, distance, position after it


class ReferenceDrafter:
    """Drafts for one request as `Drafter` does, from its own text and from one history."""

    def __init__(self, rule: DraftRule, history: Sequence[int] = ()) -> None:
        self._rule = rule
        self._match = rule.match or -(-rule.cap // rule.factor)
        self._text: list[int] = []
        self._history = list(history)
        self._draft: list[int] = []
        self._copied: tuple[bool, int] = (False, 0)  # whether from the history, and where
        self._anchor: tuple[bool, int] | None = None
        self._whole_drafts = 0

    def propose(self, tokens: Sequence[int], most: int) -> list[int]:
        """Take in the tokens that were added and return up to `most` that may follow."""
        self._take_in(tokens)
        self._text.extend(tokens)
        is_shared, (length, _, start) = self._search()
        source = self._history if is_shared else self._text
        target = self._wanted(is_shared=is_shared, length=length, start=start)
        self._draft = list(_following(source, start, min(most, target))) if length else []
        self._copied = (is_shared, start)
        return self._draft

    def _take_in(self, tokens: Sequence[int]) -> None:
        accepted = 0
        while self._draft[accepted : accepted + 1] == list(tokens[accepted : accepted + 1]) != []:
            accepted += 1
        if self._rule.is_anchored and accepted >= CONVINCING:
            self._anchor = (self._copied[0], self._copied[1] + accepted)
        is_whole = accepted == len(self._draft) >= self._rule.cap
        self._whole_drafts = self._whole_drafts + 1 if is_whole else 0

    def _search(self) -> tuple[bool, Best]:
        own = self._find(self._text, OWN_LENGTHS, self._anchor_in(is_shared=False))
        if not self._history or own[0] >= self._match:
            return False, own
        shared = self._find(self._history, SHARED_LENGTHS, self._anchor_in(is_shared=True))
        return (True, shared) if shared[0] > own[0] else (False, own)

    def _anchor_in(self, *, is_shared: bool) -> int | None:
        if self._anchor is None or self._anchor[0] != is_shared:
            return None
        return self._anchor[1]

    def _find(self, source: list[int], lengths: tuple[int, ...], anchor: int | None) -> Best:
        single, pair, chained, _ = lengths
        whole = self._matches(source, max(self._match, chained))
        looked_at = [last for last, length in whole.items() if length >= chained]
        matches = {last: min(length, self._match) for last, length in whole.items()}
        if anchor is not None:
            looked_at.append(anchor)
        best = self._best(source, matches, anchor, looked_at)
        for size in (pair, single):
            if size and best[0] <= size:
                looked_at.append(self._latest(source, size))
                best = self._best(source, matches, anchor, looked_at)
        if anchor is not None and best[0] < chained:
            looked_at += range(max(0, anchor - BEFORE_ANCHOR), anchor + BEHIND_ANCHOR)
            best = self._best(source, matches, anchor, looked_at)
        return best

    def _matches(self, source: list[int], most: int) -> dict[int, int]:
        """Return the length of the match that ends at each place, up to `most`."""
        lengths = {}
        for last in range(len(source) - 1):
            length = 0
            while length < min(most, last + 1, len(self._text)) and (
                source[last - length] == self._text[-1 - length] != SEPARATOR
            ):
                length += 1
            if length and source[last + 1] != SEPARATOR:
                lengths[last] = length
        return lengths

    def _latest(self, source: list[int], size: int) -> int:
        """Return the newest place of the text's last tokens that another token follows."""
        end = self._text[-size:]
        places = (last for last in range(len(source) - 2, size - 2, -1))
        return next((last for last in places if source[last - size + 1 : last + 1] == end), -1)

    def _best(
        self, source: list[int], matches: dict[int, int], anchor: int | None, looked_at: list[int]
    ) -> Best:
        rows = [(matches[last], last) for last in looked_at if last in matches]
        if not rows:
            return (0, 0, 0)
        length, distance, last = min(
            ((length, self._distance(len(source), last, anchor), last) for length, last in rows),
            key=lambda each: (-each[0], each[1]),
        )
        return (length, distance, last + 1)

    def _distance(self, total: int, last: int, anchor: int | None) -> int:
        cut = CUT_SHORT if total - 1 - last < self._match else 0
        if anchor is None:
            return cut + total - last
        return cut + (2 * (last - anchor) if last >= anchor else 2 * BACKWARD * (anchor - last) - 1)

    def _wanted(self, *, is_shared: bool, length: int, start: int) -> int:
        rule = self._rule
        target = length * rule.factor if length >= rule.least_match else 0
        anchor = self._anchor_in(is_shared=is_shared)
        if anchor is not None and -BEFORE_ANCHOR <= start - 1 - anchor < BEHIND_ANCHOR:
            target = max(target, rule.resume)
        if rule.copy_cap and self._whole_drafts >= rule.copy_drafts and target >= rule.cap:
            return rule.copy_cap
        return min(target, rule.cap)


def _following(source: list[int], start: int, most: int) -> Iterator[int]:
    for token in source[start : start + most]:
        if token == SEPARATOR:
            return
        yield token
