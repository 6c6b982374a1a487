"""What a container is made of: written by whoever prepares an engine, read by who starts it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Mount:
    source: str
    target: str
    is_writable: bool = False


@dataclass(frozen=True, kw_only=True)
class Order:
    """One container; it names nothing that is secret."""

    image_id: str
    reference: str
    lease: str
    instance: str
    mounts: tuple[Mount, ...]
    environment: Mapping[str, str]
    failure_file: str
    """Where to say why there was no engine, or what ended it."""
    gpus: tuple[str, ...] = ()
    has_writable_root: bool = False
    shared_memory_bytes: int = 64 * 1024**2

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "Order":
        """Return the order that `write` stored."""
        stored: dict[str, Any] = json.loads(path.read_text())
        mounts = tuple(Mount(**each) for each in stored.pop("mounts"))
        gpus = tuple(stored.pop("gpus"))
        return cls(**{**stored, "mounts": mounts, "gpus": gpus})
