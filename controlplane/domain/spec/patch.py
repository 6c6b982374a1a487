"""A patch applied to plain data: what the same patch on text must come to."""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any


def patched(data: Mapping[str, Any] | None, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the data with each dotted path set to its value, or removed at None."""
    content: dict[str, Any] = unshared(data or {})
    for path, value in patch.items():
        put(content, path, value, unshared)
    return content


def unshared(value: Any) -> Any:
    """Return a copy in which nothing is held twice, as aliases of YAML are."""
    if isinstance(value, Mapping):
        return {key: unshared(item) for key, item in value.items()}
    return [unshared(item) for item in value] if isinstance(value, list | tuple) else value


def put(block: Any, path: str, value: Any, make: Callable[[Any], Any]) -> None:
    """Set a dotted path in place, or remove it at None; `make` turns a value into what is kept.

    A mapping as value replaces the keys of a block and leaves those that stay as they are.
    """
    _apply(block, path.split("."), value, make)


def _apply(block: Any, steps: list[str], value: Any, make: Callable[[Any], Any]) -> None:
    key, rest = _match(block, steps)
    if rest:
        inner = _step_into(block, key, make if value is not None else None)
        if inner is not None:
            _apply(inner, rest, value, make)
    elif value is None:
        _remove(block, key)
    else:
        _set(block, key, value, make)


def _match(block: Any, steps: list[str]) -> tuple[Any, list[str]]:
    """Return the key that the path begins with; keys may hold dots, so the longest wins."""
    if isinstance(block, list):
        return (int(steps[0]) if steps[0].isdigit() else steps[0]), steps[1:]
    for length in range(len(steps), 0, -1):
        if (key := ".".join(steps[:length])) in block:
            return key, steps[length:]
    return steps[0], steps[1:]


def _step_into(block: Any, key: Any, make: Callable[[Any], Any] | None) -> Any:
    if isinstance(block, list):
        return block[key] if isinstance(key, int) and key < len(block) else None
    inner = block.get(key)
    if isinstance(inner, MutableMapping | list):
        return inner
    if make is None:
        return None
    block[key] = make({})
    return block[key]


def _remove(block: Any, key: Any) -> None:
    if isinstance(block, list):
        if isinstance(key, int) and key < len(block):
            del block[key]
    else:
        block.pop(key, None)


def _set(block: Any, key: Any, value: Any, make: Callable[[Any], Any]) -> None:
    if isinstance(block, list) and not (isinstance(key, int) and key < len(block)):
        return
    current = block[key] if isinstance(block, list) else block.get(key)
    if isinstance(value, Mapping) and isinstance(current, MutableMapping):
        for name in [name for name in current if name not in value]:
            del current[name]
        for name, item in value.items():
            _set(current, name, item, make)
    else:
        block[key] = make(value)
