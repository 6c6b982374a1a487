"""Values that must be found nowhere, and the places where to look for them."""

import base64
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self
from urllib.parse import quote, quote_plus

import psutil
import psycopg
import redis
from psycopg import sql

_LOOK_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """Named values, in every form that a leak could have."""

    values: dict[str, str]

    def forms(self, name: str) -> set[bytes]:
        """Return how a value may appear: itself, base64, URL-encoded, as a database shows bytes."""
        data = self.values[name].encode()
        encoded = base64.b64encode(data).decode().rstrip("=")[:-1]
        texts = (
            self.values[name],
            encoded,
            encoded.replace("+", "-").replace("/", "_"),
            quote(self.values[name], safe=""),
            quote_plus(self.values[name]),
            data.hex(),
        )
        return {text.encode() for text in texts}

    def found_in(self, place: str, content: bytes) -> Iterator[str]:
        """Return the names of the values that stand in some content."""
        for name, forms in self._all_forms.items():
            if any(form in content for form in forms):
                yield f"{name} in {place}"

    @cached_property
    def _all_forms(self) -> dict[str, set[bytes]]:
        # Every process is searched for them ten times a second.
        return {name: self.forms(name) for name in self.values}


def tables(database_url: str) -> Iterator[tuple[str, bytes]]:
    """Return every table's rows as text."""
    with psycopg.connect(database_url) as connection:
        names = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_type = 'BASE TABLE' AND table_schema <> 'information_schema'"
        ).fetchall()
        for schema, table in names:
            query = sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(schema, table))
            rows = connection.execute(query).fetchall()
            yield f"table {table}", "\n".join(row[0] or "" for row in rows).encode()


def broker_keys(broker_url: str) -> Iterator[tuple[str, bytes]]:
    """Return every key of the broker with its dumped value."""
    with redis.from_url(broker_url) as client:
        for key in client.scan_iter(count=1000):
            yield f"broker {key!r}", key + b" " + _held(client, key)


def _held(client: "redis.Redis", key: bytes) -> bytes:  # type: ignore[type-arg]
    kind = client.type(key)
    if kind == b"list":
        return b"\n".join(client.lrange(key, 0, -1))
    if kind == b"hash":
        return repr(client.hgetall(key)).encode()
    if kind == b"set":
        return repr(client.smembers(key)).encode()
    return client.dump(key) or b""


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Return every file below a folder: store, jobs, logs, caches, and the servers' own data."""
    # Not by `rglob`, which fails over a folder that a server put away meanwhile.
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            if path.is_file() and not path.is_symlink():
                yield f"file {path.relative_to(folder)}", _content(path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # a server put it away meanwhile
        return b""


@dataclass
class ProcessWatch:
    """Reads what every process shows of itself, again and again, while the `with` block lasts."""

    canaries: Canaries
    left_out: Sequence[int]
    seen: set[str] = field(default_factory=set)
    looks: int = 0
    _searched: set[bytes] = field(default_factory=set)
    """What processes showed before: most show the same ten times a second."""

    def __enter__(self) -> Self:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self.looks += 1
            for pid in psutil.pids():
                if pid not in self.left_out:
                    self._search(_shown(pid))

    def _search(self, shown: bytes) -> None:
        if shown not in self._searched:
            self._searched.add(shown)
            self.seen.update(self.canaries.found_in(f"process {shown[:60]!r}", shown))


def _shown(pid: int) -> bytes:
    """Return what a process shows of itself."""
    return b"".join(_content(Path(f"/proc/{pid}/{name}")) for name in ("cmdline", "environ"))


def leaks(canaries: Canaries, places: Iterable[tuple[str, bytes]]) -> list[str]:
    """Return every value that stands somewhere, with the place."""
    return sorted({leak for place in places for leak in canaries.found_in(*place)})
