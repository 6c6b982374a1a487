"""What others report, refused or made fit where PostgreSQL cannot store it."""

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

# A NUL, and half of a surrogate pair: JSON can spell both, PostgreSQL refuses both.
LARGEST_WHOLE_NUMBER = 2**63 - 1
"""Of a BIGINT; Python itself refuses to write numbers of more than 4,300 digits."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    return _UNSTORABLE.search(text) is None


def unstorable_text(value: Any) -> str | None:
    """Return the first text within `value` that PostgreSQL refuses, its odd characters spelled."""
    match value:
        case str():
            return None if is_storable(value) else spelled(value)
        case Mapping():
            parts: Iterable[Any] = (part for item in value.items() for part in item)
        case list() | tuple():
            parts = value
        case _:
            return None
    return next((fault for each in parts if (fault := unstorable_text(each))), None)


def spelled(text: str) -> str:
    """Return the text with what cannot be stored spelled out, such as `\\x00` and `\\xff`."""
    return _UNSTORABLE.sub(lambda match: _spelled(match[0]), text)


def _spelled(character: str) -> str:
    # How Python spells a byte of a file's name that is no text.
    code = ord(character)
    is_byte = 0xDC80 <= code <= 0xDCFF
    return f"\\x{code & 0xFF:02x}" if is_byte or not code else f"\\u{code:04x}"


def storable(value: Any) -> Any:
    """Return `value` without what PostgreSQL's JSON refuses.

    NUL characters and halves of surrogate pairs are left out; NaN, infinities and whole numbers
    past a BIGINT become None.
    """
    match value:
        case str():
            # What needs no change stays itself, an enumeration's value too.
            return _UNSTORABLE.sub("", value) if _UNSTORABLE.search(value) else value
        case int():
            return value if abs(value) <= LARGEST_WHOLE_NUMBER else None
        case float():
            return value if isfinite(value) else None
        case Mapping():
            return {storable(key): storable(each) for key, each in value.items()}
        case list() | tuple():
            return [storable(each) for each in value]
    return value
