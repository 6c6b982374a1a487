"""What others report, made fit for a PostgreSQL JSON column."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

# A NUL, and half of a surrogate pair: JSON can spell both, PostgreSQL refuses both.
LARGEST_WHOLE_NUMBER = 2**63 - 1
"""Of a BIGINT; Python itself refuses to write numbers of more than 4,300 digits."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


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
