"""What the gateway keeps on its own disk, readable by nobody else."""

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workers.gateway.control_plane import Credential
from workers.gateway.kept_routes import merged

_CHANGES = "routes-changes.jsonl"
MOST_CHANGES_BYTES = 1024 * 1024
"""Beside a small whole; a larger one is written anew once the changes are as large."""


class LastWord(NamedTuple):
    """When the control plane confirmed the routes last, by two clocks."""

    at: float
    """In seconds since the epoch; alone where a gateway of the release before kept it."""
    boot_id: str = ""
    uptime_seconds: float = 0.0
    """On the monotonic clock, which all processes share until the host is started anew."""


class Storage:
    """The files under DATA_DIR/gateway."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = data_dir / "gateway"
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.journal_directory = self._directory / "journal"
        self.samples_directory = self._directory / "samples"
        self.lock_file = self._directory / "lock"

    def load_credential(self) -> Credential | None:
        content = self._read("credential.json")
        if content is None:
            return None
        stored = json.loads(content)
        return Credential(gateway_id=stored["gateway_id"], secret=stored["credential"])

    def chosen_secret(self) -> str:
        """Return the secret to enroll with: the same until a credential is saved.

        An answer may get lost, and a repeat with the same secret is recognised.
        """
        chosen = self._read("enrolling")
        if chosen is None:
            chosen = secrets.token_urlsafe(32).encode()
            self._write("enrolling", chosen)
        return chosen.decode()

    def save_credential(self, credential: Credential) -> None:
        stored = {"gateway_id": credential.gateway_id, "credential": credential.secret}
        self._write("credential.json", json.dumps(stored).encode())
        (self._directory / "enrolling").unlink(missing_ok=True)

    def load_routes(self) -> list[bytes]:
        """Return the whole as it was kept last, and the changes since, in their order."""
        whole = self._read("routes.json")
        if whole is None:
            return []
        return [whole, *(self._read(_CHANGES) or b"").splitlines()]

    def keep_routes(self, whole: bytes | None, changes: Sequence[bytes]) -> None:
        if whole is not None:
            self._save_whole(whole)
        if changes:
            self._save_changes(changes)

    def _save_whole(self, payload: bytes) -> None:
        self._write("routes.json", payload)
        # Changes before it, if this is not reached: they follow nothing, and are passed over.
        (self._directory / _CHANGES).unlink(missing_ok=True)

    def _save_changes(self, payloads: Sequence[bytes]) -> None:
        path = self._directory / _CHANGES
        descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            # A line that a full disk cut short must not swallow the next one.
            file.write(b"".join(b"\n%b\n" % payload for payload in payloads))
            file.flush()
            os.fsync(file.fileno())
        whole = self._directory / "routes.json"
        if path.stat().st_size > max(MOST_CHANGES_BYTES, whole.stat().st_size):
            self._save_whole(merged(self.load_routes()))

    def load_confirmation(self) -> LastWord | None:
        try:
            kept = json.loads(self._read("confirmed") or b"")
            return LastWord(**kept) if isinstance(kept, dict) else LastWord(float(kept))
        except (ValueError, TypeError):
            return None

    def save_confirmation(self, word: LastWord) -> None:
        self._write("confirmed", json.dumps(word._asdict()).encode())

    def _read(self, name: str) -> bytes | None:
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return None

    def _write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole: a reader sees the old one or the new one."""
        temporary = self._directory / f".{name}.new"
        descriptor = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._directory / name)
