"""What the gateway keeps on its own disk, readable by nobody else."""

import json
import os
import secrets
from pathlib import Path

from workers.gateway.control_plane import Credential


class Storage:
    """The files under DATA_DIR/gateway."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = data_dir / "gateway"
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.journal_directory = self._directory / "journal"
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

    def load_routes(self) -> bytes | None:
        return self._read("routes.json")

    def save_routes(self, payload: bytes) -> None:
        self._write("routes.json", payload)

    def load_confirmation(self) -> float | None:
        """Return when the routes were confirmed last, in seconds since the epoch."""
        content = self._read("confirmed")
        try:
            return None if content is None else float(content)
        except ValueError:
            return None

    def save_confirmation(self, moment: float) -> None:
        self._write("confirmed", repr(moment).encode())

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
