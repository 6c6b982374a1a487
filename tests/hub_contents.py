"""What the loopback hub holds: repositories, and what goes wrong with them."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

LARGE = (".safetensors", ".bin", ".pt", ".parquet")


@dataclass
class Trouble:
    """What goes wrong with one path: for the next `times` answers, or always when None."""

    times: int | None = None
    break_after: int | None = None
    """Close the connection once that many bytes of the body were sent."""
    stall: bool = False
    """Send nothing more after `break_after` bytes instead, and keep the connection."""
    silent: bool = False
    """Send no byte of the body, and keep the connection."""
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    altered: bool = False
    """Send other bytes of the same length."""
    no_ranges: bool = False
    body: bytes | None = None
    """What is answered, with `status`, instead."""

    def used(self) -> bool:
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


@dataclass
class Repository:
    """One repository: its commits, branches and who may read it."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gated: bool = False
    private: bool = False
    readers: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    range: str | None
    token: str | None


def described(name: str, content: bytes) -> dict[str, Any]:
    about: dict[str, Any] = {"size": len(content), "blobId": git_sha1(content)}
    if name.endswith(LARGE):
        digest = sha256(content)
        # A description calls it `sha256`, a tree `oid`.
        about["lfs"] = {"sha256": digest, "oid": digest, "size": len(content), "pointerSize": 134}
    return about


def commit_of(repo: str, files: dict[str, bytes]) -> str:
    reports = [repo, {name: sha256(content) for name, content in sorted(files.items())}]
    return hashlib.sha1(json.dumps(reports).encode()).hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
