"""What gateways must hold, as this process follows it: the digest of the whole at a version.

Following costs what changed. Everything is read anew at the start, and in slices, all of it in
minutes, to see whether a change was left unnamed, which is a fault of ours: it is named then, and
counted.
"""

import logging
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from apps.accounts.routes_version import routes_version_bump, routes_versions
from apps.routes.checking import RoutesCheck, unnamed_of
from apps.routes.rows import routes_changed, routes_rows
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.routes import FORMAT, Place, RoutesDigest, rows_of

KEPT_SECONDS = 60.0
_log = logging.getLogger(__name__)


class RoutesBook:
    """Answers what a gateway with some version and digest is to be told."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._digest = RoutesDigest()
        self._version: int | None = None
        self._check = RoutesCheck(clock)
        self._last: tuple[int, dict[str, Any] | None] = (-1, None)
        """After which version it followed last, and what changed then: most gateways ask that."""
        self._everything: dict[str, Any] | None = None
        """All rows, followed too for a while after they were read: reading them takes seconds in a
        large fleet, and who has given up waiting for them asks again."""
        self._drop_at = 0.0
        self.unnamed = 0
        """How many rows had changed without being named."""

    def answer(
        self, *, after: int, digest: str | None, version: int | None = None
    ) -> dict[str, Any] | None:
        """Return a change after that version, or the whole; None where nothing is to be told.

        `version` is the present one, if the caller has just read it: most gateways have it, for
        which nothing is read again.
        """
        with self._lock:
            if self._clock.monotonic() >= self._drop_at:
                self._everything = None
            if self._version is not None and self._check.is_due:
                self.check_slice()
            if version == self._version and self._is_known(after, digest):
                return None
            if after == self._version and self._is_followed_at_once(after):
                return self._document(after, digest, self._last[1])
            with _at_one_moment():
                return self._answer(after, digest)

    def _is_known(self, after: int, digest: str | None) -> bool:
        return after == self._version and digest in (None, self._digest.text)

    def _is_followed_at_once(self, after: int) -> bool:
        """Return whether what changed after the version was named, and is followed.

        As one statement, without a transaction: most gateways are where this process is.
        """
        changed = routes_changed(after)
        if changed.version <= after or not changed.is_named or changed.rows is None:
            return False
        self._take(changed.rows)
        self._version = changed.version
        return True

    def _answer(self, after: int, digest: str | None) -> dict[str, Any] | None:
        version, is_named = self._follow()
        last_after, changed = self._last
        if last_after != after:
            may_be = is_named and 0 < after < version
            changed = routes_changed(after).rows if may_be else None
        return self._document(after, digest, changed)

    def _document(
        self, after: int, digest: str | None, changed: dict[str, Any] | None
    ) -> dict[str, Any] | None:
        if self._is_known(after, digest):
            return None
        head = {"format": FORMAT, "version": self._version, "digest": self._digest.text}
        if changed is None:
            return {**head, "after": None, **self._all_rows()}
        return {**head, "after": after, **changed}

    def _all_rows(self) -> dict[str, Any]:
        # Copied, since another thread may follow while this answer is written.
        return {kind: dict(rows) for kind, rows in (self._everything or self._read()).items()}

    def _read(self) -> dict[str, Any]:
        self._everything = routes_rows()
        self._drop_at = self._clock.monotonic() + KEPT_SECONDS
        return self._everything

    def _follow(self) -> tuple[int, bool]:
        if self._version is None:
            version, is_named = routes_versions()
            self._begin(version)
            return version, is_named
        version, is_named, rows = routes_changed(self._version)
        if version < self._version:
            self._begin(version)
        elif version > self._version:
            if is_named and rows is not None:
                self._take(rows)
            else:
                self._begin(version)
        self._version = version
        return version, is_named

    def _take(self, changed: dict[str, Any]) -> None:
        assert self._version is not None
        self._digest.put_all(changed)
        if self._everything is not None:
            _put_rows(self._everything, changed)
        self._last = self._version, changed

    def _begin(self, version: int) -> None:
        self._digest, self._last = _digest_of(self._read()), (-1, None)
        self._version = version
        self._check.begin_later()

    def check_slice(self) -> None:
        """Name what of the next slice differs from what was followed, so that gateways are told."""
        try:
            self._check_slice()
        except Exception:  # the slice is taken out of the pass, and nobody has looked at it
            self._check.begin_anew()
            raise

    def _check_slice(self) -> None:
        with _at_one_moment():
            version, _ = self._follow()
            places = self._check.next_slice(self._digest)
            there = _digest_of(routes_rows(_by_kind(places)))
            differing = there.differing(self._digest, places)
        if differing:
            self._tell_unnamed(version, differing)
            names: dict[str, Any] = _by_kind(differing)
            with transaction.atomic():
                routes_version_bump(**names)

    def _tell_unnamed(self, version: int, differing: Collection[Place]) -> None:
        if unnamed := unnamed_of(differing):
            self.unnamed += len(unnamed)
            _log.error("routes version %s left out: %s", version, unnamed[:8])


BOOK = RoutesBook()
"""The one of this process."""


def _put_rows(everything: dict[str, Any], changed: Mapping[str, Any]) -> None:
    everything["route_tables"].update(changed["route_tables"])
    for kind, id, row in rows_of(changed):
        if row is None:
            everything[kind].pop(id, None)
        else:
            everything[kind][id] = row


def _digest_of(rows: Mapping[str, Any]) -> RoutesDigest:
    digest = RoutesDigest()
    digest.put_all(rows)
    return digest


def _by_kind(places: Collection[Place]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for kind, id in sorted(places):
        ids.setdefault(kind, []).append(id)
    return ids


@contextmanager
def _at_one_moment() -> Iterator[None]:
    """Read everything as it was at one moment: a version and rows of a later one do not go along.

    In a transaction that has begun there is no such moment any more; only tests are in one.
    """
    is_first = not connection.in_atomic_block
    with transaction.atomic():
        if is_first:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
