import json
from typing import Any

from apps.ui import formats


def value_words(value: Any) -> str:
    """Return a value in the words of a config: `true`, `not set`, text as it is."""
    match value:
        case None | "":
            return "not set"
        case bool():
            return "true" if value else "false"
        case int():
            return formats.number(value)
        case str():
            return value
    return json.dumps(value, ensure_ascii=False)
