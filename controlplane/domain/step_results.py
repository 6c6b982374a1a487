"""What steps of a build leave behind for later ones, for pages and for REST.

Fields that an older release did not write have defaults; those of a newer one are ignored.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class DataIdentity(_Record):
    """What decides which rows a name gives: a part of a build's reuse key."""

    dataset: str
    config: str | None = None
    split: str = ""
    revision: str
    """The hub's commit, or the digest of a file."""


class FetchedFile(_Record):
    """A file of a checkpoint."""

    path: str
    size_bytes: int
    sha256: str


class CodeFile(_Record):
    """A file of Python that a checkpoint brings and a build runs."""

    path: str
    sha256: str


class FetchedAdapter(_Record):
    """An adapter, pinned to a commit."""

    name: str
    source: str
    repo: str
    commit: str


class FetchResult(_Record):
    """What `fetch` brought, pinned to a commit."""

    commit: str
    files: tuple[FetchedFile, ...] = ()
    bytes: int = 0
    model_dir: str = ""
    adapters: tuple[FetchedAdapter, ...] = ()
    not_finite: Mapping[str, Mapping[str, int]] = {}
    """File -> tensor -> how many of its numbers are none."""
    remote_code_state: str | None = None
    """What became of the checkpoint's own code; None where it brings none."""
    remote_code: tuple[CodeFile, ...] = ()
    calibration: DataIdentity | None = None
    evaluation: DataIdentity | None = None
    tasks: tuple[DataIdentity, ...] = ()
    """The questions of the gate's tasks; `config` is the task."""

    def to_json(self) -> dict[str, Any]:
        """Return the stored form, without the fields of what few builds have."""
        absent = {"remote_code_state": None, "remote_code": (), "tasks": ()}
        left_out = {name for name, nothing in absent.items() if getattr(self, name) == nothing}
        return self.model_dump(mode="json", exclude=left_out)
