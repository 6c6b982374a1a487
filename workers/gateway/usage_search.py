"""The last `usage` object of an answer, found as the answer passes, wherever it stands."""

import re

from workers.gateway.usage import LONGEST_USAGE_BYTES, TokenCounts, counts_in

ANSWER = frozenset({1})
"""Depths at which a whole answer's own keys stand."""
EVENT = frozenset({1, 2})
"""An event of `/v1/responses` and of `/v1/messages` wraps the answer once more."""
_KEY = b'"usage"'
_MEMBER = re.compile(rb'"usage"\s{0,16}:\s{0,16}\{')
_MEMBER_BEGUN = re.compile(rb'"usage"\s{0,16}:?\s{0,16}')
_NEXT = re.compile(rb'"[^"]*"|[{}]')


def find_usage(text: bytes, depths: frozenset[int] = ANSWER) -> TokenCounts | None:
    """Return the counts of the last `usage` object of a whole text."""
    key = text.rfind(_KEY)
    if key != text.find(_KEY):
        search = UsageSearch(depths)
        search.feed(text)
        return search.counts
    member = _MEMBER.match(text, key) if key >= 0 else None
    return counts_in(text[key : key + LONGEST_USAGE_BYTES]) if member else None


class UsageSearch:
    """Feed it the answer in order; `counts` is of the last `usage` that was whole.

    Depth is counted, so that what a client makes an engine repeat (a tool's schema with a `usage`
    of its own) cannot pose as the answer's.
    """

    __slots__ = ("_depth", "_depths", "_in_string", "_rest", "counts")

    def __init__(self, depths: frozenset[int] = ANSWER) -> None:
        self._depths = depths
        self._depth = 0
        self._in_string = False
        self._rest = b""
        """What the next piece is read with: a backslash, half a key, half a `usage`."""
        self.counts: TokenCounts | None = None

    def feed(self, data: bytes) -> None:
        plain = (self._rest + data).replace(rb"\\", b"__").replace(rb"\"", b"__")
        escape = plain[-1:] if plain.endswith(b"\\") else b""
        plain = plain[: len(plain) - len(escape)]
        if self._in_string:
            _, quote, plain = plain.partition(b'"')
            self._in_string = not quote
        self._rest = b"" if self._in_string else self._read(plain)
        self._rest += escape

    def _read(self, plain: bytes) -> bytes:
        """Return what must be read again with the next piece."""
        begun = len(plain)
        if plain.count(b'"') % 2:
            begun = plain.rfind(b'"')
        left = self._walk(plain[:begun])
        string = plain[begun:]
        if len(left) + len(string) < (LONGEST_USAGE_BYTES if left else len(_KEY)):
            return left + string
        self._depth += _opened(left)
        self._in_string = bool(string)
        return b""

    def _walk(self, plain: bytes) -> bytes:
        """Return what has begun to be a `usage` and is not whole."""
        at = 0
        while (key := plain.find(_KEY, at)) >= 0:
            self._depth += _opened(plain[at:key])
            at = key + len(_KEY)
            if self._depth in self._depths and self._is_cut(plain, key):
                return plain[key:]
        self._depth += _opened(plain[at:])
        return b""

    def _is_cut(self, plain: bytes, key: int) -> bool:
        """Take the member at `key`, unless its end is still to come."""
        member = _MEMBER.match(plain, key)
        if member is None:
            return _MEMBER_BEGUN.fullmatch(plain, key) is not None
        end = _object_end(plain, member.end())
        if end is None and len(plain) - key < LONGEST_USAGE_BYTES:
            return True
        end = min(end or len(plain), key + LONGEST_USAGE_BYTES)
        self.counts = counts_in(plain[member.end() : end]) or self.counts
        return False


def _object_end(plain: bytes, start: int) -> int | None:
    """Return where the object ends whose inside begins at `start`."""
    depth = 1
    for each in _NEXT.finditer(plain, start, start + LONGEST_USAGE_BYTES):
        depth += {b"{": 1, b"}": -1}.get(each[0], 0)
        if depth == 0:
            return each.end()
    return None


def _opened(plain: bytes) -> int:
    """Return how many levels deeper the text ends than it begins."""
    if b'"' in plain:
        plain = b"".join(plain.split(b'"')[::2])
    deeper = plain.count(b"{") + plain.count(b"[")
    return deeper - plain.count(b"}") - plain.count(b"]")
