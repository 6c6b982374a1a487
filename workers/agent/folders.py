"""The folder of one replica: what it should be, what runs, and how it ended, one file each."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.agent.identity import ProcessIdentity

LEASE_VARIABLE = "ENGINEHOUSE_LEASE"
INSTANCE_VARIABLE = "ENGINEHOUSE_INSTANCE"
KEEPS_ITS_MARKS = {"SPT_NOENV": "1"}
"""For engines that name their processes: setproctitle writes over the marks without it."""


@dataclass(frozen=True, kw_only=True)
class ReplicaFolder:
    """Paths of one replica in one generation, and the small files in them."""

    path: Path

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
        """Return the JSON file of that name, or None without a readable one."""
        try:
            content: dict[str, Any] = json.loads((self.path / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return content

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Store the JSON file of that name, whole or not at all."""
        write_json(self.path / f"{name}.json", content)

    def runner(self) -> ProcessIdentity | None:
        """Return which process runs this replica, or ran it."""
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
    """Yield every replica folder below `root`."""
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if path.is_dir() and path.name.rpartition(".")[2].isdecimal():
            yield ReplicaFolder(path=path)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Store `content` for its owner's eyes only, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


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
    """Return whether some process holds the lock."""
    if not path.exists():
        return False
    descriptor = try_lock(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
