"""Changes are applied, kept and reported like a whole, and what differs is fetched whole."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.wire.routes import RoutesDigest
from workers.gateway import storage as storage_module
from workers.gateway.control_plane import Credential
from workers.gateway.membership import Membership
from workers.gateway.routes_sync import RoutesSync
from workers.gateway.snapshot import Snapshot
from workers.gateway.storage import Storage

KEY = {"id": "k", "scope": "invoke", "team_id": "t", "limits": {}}


class ScriptedPlane:
    """Says what it was given, one thing a question, and remembers what it was asked and told."""

    def __init__(self) -> None:
        self.says: list[bytes | None] = []
        self.asked: list[tuple[int, str | None]] = []
        self.applied: list[int] = []
        self.told_apart: list[int] = []
        """Of those, the ones that took a call of their own."""
        self.is_of_release_before = False
        self.hears_applied = False

    async def enroll(self, token: str, *, name: str, address: str, secret: str) -> Credential:
        return Credential(gateway_id="g", secret=secret)

    async def routes_after(
        self,
        version: int,
        credential: Credential,
        *,
        digest: str | None = None,
        applied: int | None = None,
    ) -> bytes | None:
        self.asked.append((version, digest))
        self.hears_applied = applied is not None and not self.is_of_release_before
        if applied is not None and self.hears_applied:
            self._note(applied)
        return self.says.pop(0)

    async def report_applied(self, version: int, credential: Credential) -> None:
        self.told_apart.append(version)
        self._note(version)

    def _note(self, version: int) -> None:
        if self.applied[-1:] != [version]:
            self.applied.append(version)

    async def send_usage(self, batch: bytes, credential: Credential) -> int:
        raise NotImplementedError


class Gateway:
    """The parts of one that keep its routes current."""

    def __init__(self, folder: Path) -> None:
        self.plane = ScriptedPlane()
        self.applied: list[Snapshot] = []
        self.differed = 0
        storage = Storage(folder)
        membership = Membership(self.plane, storage, token="t", name="g", address="")
        self.sync = RoutesSync(
            self.plane, membership, storage, self.applied.append, confirmed=lambda: None,
            poll_seconds=1.0,
            differed=self._count,
        )  # fmt: skip
        self.sync.load_from_disk()

    def hear(self, *said: bytes | None) -> None:
        self.plane.says = list(said)
        asyncio.run(self.sync.refresh())
        assert self.plane.says == [], "everything was asked for"

    @property
    def keys(self) -> set[str]:
        return set(self.applied[-1].keys) if self.applied else set()

    def _count(self) -> None:
        self.differed += 1


def test_a_change_is_applied_kept_and_reported(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.hear(_whole(1, "a", "b"))
    gateway.hear(_change(2, {"a": None}, "b"))
    assert gateway.keys == {"b"}
    assert gateway.plane.asked[1] == (1, _digest("a", "b"))
    gateway.hear(None)
    assert gateway.plane.applied == [1, 2]
    assert gateway.plane.told_apart == [1], "the rest goes along with the polls"
    kept = tmp_path / "gateway" / "routes-changes.jsonl"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    again = Gateway(tmp_path)
    assert again.keys == {"b"}
    again.hear(None)
    assert again.plane.asked == [(2, _digest("b"))]


def test_a_control_plane_that_hears_nothing_with_a_poll_is_told_apart(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.plane.is_of_release_before = True
    gateway.hear(_whole(1, "a", "b"))
    gateway.hear(_change(2, {"a": None}, "b"))
    gateway.hear(None)
    assert gateway.plane.told_apart == [1, 2]


def test_a_revoked_key_stays_so_after_a_line_that_a_full_disk_cut_short(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.hear(_whole(1, "a", "b"))
    kept = tmp_path / "gateway" / "routes-changes.jsonl"
    kept.write_bytes(b'\n{"format": 2, "vers')
    gateway.hear(_change(2, {"a": None}, "b"))
    assert Gateway(tmp_path).keys == {"b"}


def test_a_change_that_was_kept_twice_is_one(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.hear(_whole(1, "a", "b", "c"))
    gateway.hear(_change(2, {"a": None}, "b", "c"))
    kept = tmp_path / "gateway" / "routes-changes.jsonl"
    kept.write_bytes(kept.read_bytes() * 2)
    gateway.hear(_change(3, {"b": None}, "c"))
    assert Gateway(tmp_path).keys == {"c"}


def test_a_change_that_does_not_follow_has_everything_fetched(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.hear(_whole(1, "a"))
    gateway.hear(_change(7, {"b": KEY}, "a", "b"), _whole(7, "a", "b"))
    assert (gateway.keys, gateway.differed) == ({"a", "b"}, 1)
    assert gateway.plane.asked[-1] == (0, None)
    assert gateway.plane.applied == [1, 7]


def test_a_difference_has_everything_fetched_and_counted(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.hear(_whole(1, "a", "b"))
    gateway.hear(_change(2, {}, "a"), _whole(2, "a"))
    assert (gateway.keys, gateway.differed) == ({"a"}, 1)
    assert Gateway(tmp_path).keys == {"a"}


def test_kept_routes_that_were_altered_are_not_used(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    gateway.hear(_whole(1, "a"))
    kept = tmp_path / "gateway" / "routes.json"
    kept.write_bytes(kept.read_bytes().replace(b'"invoke"', b'"full"'))
    assert Gateway(tmp_path).applied == []


def test_changes_that_outgrow_the_whole_become_one_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_module, "MOST_CHANGES_BYTES", 0)
    gateway = Gateway(tmp_path)
    gateway.hear(_whole(1, "a", "b", "c"))
    for version in range(2, 12):
        names = ["a", "b", "c"] if version % 2 else ["b", "c"]
        gateway.hear(_change(version, {"a": KEY if version % 2 else None}, *names))
    whole = json.loads((tmp_path / "gateway" / "routes.json").read_bytes())
    assert whole["version"] > 1
    assert Gateway(tmp_path).keys == gateway.keys == {"a", "b", "c"}


def _whole(version: int, *names: str) -> bytes:
    return _message(version, None, dict.fromkeys(names, KEY), names)


def _change(version: int, rows: dict[str, Any], *names: str) -> bytes:
    """Return a change after which these keys are known."""
    return _message(version, version - 1, rows, names)


def _message(version: int, after: int | None, rows: Any, names: tuple[str, ...]) -> bytes:
    head = {"format": 2, "version": version, "after": after, "digest": _digest(*names)}
    empty = {"route_tables": {}, "models": {}, "deployments": {}, "replicas": {}}
    return json.dumps(head | empty | {"keys": rows}).encode()


def _digest(*names: str) -> str:
    digest = RoutesDigest()
    digest.put_all({"keys": dict.fromkeys(names, KEY)})
    return digest.text
