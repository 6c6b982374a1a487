"""What others report, made fit for a PostgreSQL JSON column."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

# A NUL, and half of a surrogate pair: JSON can spell both, PostgreSQL refuses both.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """Return `value` without what PostgreSQL's JSON refuses.

    NUL characters and halves of surrogate pairs are left out; NaN and infinities become None.
    """
    match value:
        case str():
            return _UNSTORABLE.sub("", value)
        case float():
            return value if isfinite(value) else None
        case Mapping():
            return {storable(key): storable(each) for key, each in value.items()}
        case list() | tuple():
            return [storable(each) for each in value]
    return value
