"""The folder of one replica: what it should be, what runs, and how it ended, one file each."""

import fcntl
import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.agent.identity import ProcessIdentity
from workers.full_disk import is_full

LEASE_VARIABLE = "ENGINEHOUSE_LEASE"
INSTANCE_VARIABLE = "ENGINEHOUSE_INSTANCE"
KEEPS_ITS_MARKS = {"SPT_NOENV": "1"}
"""For engines that name their processes: setproctitle writes over the marks without it."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ReplicaFolder:
    """Paths of one replica in one generation, and the small files in them."""

    path: Path
    _unwritten: dict[str, Mapping[str, Any]] = field(default_factory=dict, compare=False)

    @property
    def replica_id(self) -> str:
        return self.path.name.rpartition(".")[0]

    @property
    def generation(self) -> int:
        return int(self.path.name.rpartition(".")[2])

    @property
    def marker(self) -> str:
        """What the environment of this replica's processes names."""
        return f"replica/{self.replica_id}/{self.generation}"

    @property
    def instance(self) -> str:
        """Which agent's replicas these are: several may work on one host."""
        return str(self.path.parent.resolve())

    @property
    def log(self) -> Path:
        return self.path / "engine.log"

    @property
    def runner_lock(self) -> Path:
        return self.path / "runner.lock"

    def read(self, name: str) -> dict[str, Any] | None:
        if name in self._unwritten:
            return dict(self._unwritten[name])
        try:
            content: dict[str, Any] = json.loads((self.path / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return content

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        write_json(self.path / f"{name}.json", content)

    def keep(self, name: str, content: Mapping[str, Any]) -> None:
        """Store it; a full disk leaves it in memory, for this process and until there is room."""
        self._unwritten.pop(name, None)
        try:
            self.write(name, content)
        except OSError as error:
            self._unwritten[name] = content
            _log.warning("%s.json of %s is kept in memory: %s", name, self.path.name, error)

    def keep_rest(self) -> None:
        """Store what a full disk left in memory, where it has room again."""
        if self._unwritten and not is_full(self.path.parent):
            for name, content in list(self._unwritten.items()):
                self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
                self.keep(name, content)

    def runner(self) -> ProcessIdentity | None:
        stored = self.read("runner")
        return ProcessIdentity.from_json(stored) if stored else None

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def replica_folder(root: Path, replica_id: str, generation: int) -> ReplicaFolder:
    """Return the folder of a replica below `root`, there or not."""
    if not replica_id.isalnum():
        raise ValueError(f"`{replica_id}` is not a replica id.")
    return ReplicaFolder(path=root / f"{replica_id}.{generation}")


def replica_folders(root: Path) -> Iterator[ReplicaFolder]:
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if path.is_dir() and path.name.rpartition(".")[2].isdecimal():
            yield ReplicaFolder(path=path)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Store `content` for its owner's eyes only, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        _write_all(descriptor, json.dumps(content).encode())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())


def try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock until it is closed, or None where another has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    descriptor = try_lock(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
