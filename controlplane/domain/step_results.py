"""What steps of a build leave behind for later ones, for pages and for REST."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.record import Record


class DataIdentity(Record):
    """What decides which rows a name gives: a part of a build's reuse key."""

    dataset: str
    """Name of the data set."""
    config: str | None = None
    """Which of its parts, of a data set that has several."""
    split: str = ""
    """Which of its splits."""
    revision: str
    """The hub's commit, or the digest of a file."""


class FetchedFile(Record):
    """A file of a checkpoint."""

    path: str
    size_bytes: int
    sha256: str


class CodeFile(Record):
    """A file of Python that a checkpoint brings and a build runs."""

    path: str
    sha256: str


class FetchedAdapter(Record):
    """An adapter, pinned to a commit."""

    name: str
    source: str
    repo: str
    commit: str


class FetchResult(Record):
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
