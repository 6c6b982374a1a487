"""A mapping that never changes, of which a changed one costs what is changed, not what there is."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
_GONE: Any = object()


class LayeredMap(Mapping[Key, Value]):
    """What there was, shared with those before it, under what has changed since."""

    __slots__ = ("_below", "_len", "_over")

    def __init__(self, rows: Mapping[Key, Value]) -> None:
        self._below: dict[Key, Value] = dict(rows)
        self._over: dict[Key, Value] = {}
        self._len = len(self._below)

    def with_changes(self, changes: Mapping[Key, Value | None]) -> "LayeredMap[Key, Value]":
        """Return one in which these are other values; None where one is gone."""
        over = self._over | {
            key: _GONE if value is None else value for key, value in changes.items()
        }
        came = sum(value is not None for value in changes.values())
        changed = LayeredMap[Key, Value]({})
        changed._below, changed._over = self._below, over
        changed._len = self._len + came - sum(key in self for key in changes)
        # So that it costs as little to copy what is over as, in the long run, to begin anew.
        return LayeredMap(changed) if len(over) ** 2 > len(self._below) else changed

    def get(self, key: Key, default: Any = None) -> Any:
        """Return the value, as that of a usual mapping: each request asks."""
        value = self._over.get(key, self) if self._over else self
        if value is self:
            return self._below.get(key, default)
        return default if value is _GONE else value

    def __getitem__(self, key: Key) -> Value:
        value: Value = self.get(key, _GONE)
        if value is _GONE:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self.get(key, _GONE) is not _GONE  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Key]:
        for key in self._below:
            if self._over.get(key) is not _GONE:
                yield key
        for key, value in self._over.items():
            if value is not _GONE and key not in self._below:
                yield key

    def __len__(self) -> int:
        return self._len
