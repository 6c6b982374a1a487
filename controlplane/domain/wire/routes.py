"""Routes as control plane and gateways exchange them: rows by kind and id, and their digest.

Both sides keep the digest of the whole as rows change. Two tables with one digest are the same.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

FORMAT = 2
TIME_HEADER = "x-enginehouse-time"
"""Beside each answer on routes: what time it is there, in seconds since the epoch."""
APPLIED_HEADER = "x-enginehouse-applied"
"""Beside such an answer: the version that the gateway said it works by, once that is noted."""
KINDS = ("models", "deployments", "replicas", "keys")
Rows = Mapping[str, Mapping[str, Any]]
Place = tuple[str, str]
"""The kind and the id of a row."""
_BITS = 128


class RoutesDigest:
    """The digest of a table of routes, to be told of each row that comes, changes or goes."""

    def __init__(self) -> None:
        self._rows: dict[Place, int] = {}
        self._total = 0

    def put(self, kind: str, id: str, row: Mapping[str, Any] | None) -> None:
        """Count the row instead of what was there; None where it is gone."""
        self._total -= self._rows.pop((kind, id), 0)
        if row is not None:
            self._rows[kind, id] = value = _value(kind, id, row)
            self._total += value

    def put_all(self, table: Mapping[str, Any]) -> None:
        for kind, id, row in rows_of(table):
            self.put(kind, id, row)

    def differing(self, other: "RoutesDigest", places: Iterable[Place]) -> set[Place]:
        return {each for each in places if self._rows.get(each) != other._rows.get(each)}

    def ids_of(self, kind: str) -> list[str]:
        return [id for of, id in self._rows if of == kind]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def text(self) -> str:
        return f"{self._total % 2**_BITS:032x}"


def rows_of(table: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any] | None]]:
    """Return kind, id and row of all that a message names."""
    for kind in KINDS:
        for id, row in table.get(kind, {}).items():
            yield kind, id, row


def _value(kind: str, id: str, row: Mapping[str, Any]) -> int:
    text = json.dumps([kind, id, row], sort_keys=True, separators=(",", ":"))
    return int.from_bytes(blake2b(text.encode(), digest_size=_BITS // 8).digest())
