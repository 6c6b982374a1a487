import json
from collections.abc import Iterator
from typing import Any


def read_json(content: bytes | str) -> Any:
    """Return what the text holds. Raises ValueError, of nesting too deep for Python as well."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it nests lists or objects too deeply") from None


def nests_deeper(content: Any, levels: int) -> bool:
    level = [content]
    for _ in range(levels):
        level = [part for each in level for part in _nesting_parts(each)]
        if not level:
            return False
    return True


def _nesting_parts(content: Any) -> Iterator[Any]:
    parts = content.values() if isinstance(content, dict) else content
    return (each for each in parts if isinstance(each, dict | list))
