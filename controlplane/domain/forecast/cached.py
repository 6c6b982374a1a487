"""Whether a checkpoint's files lie on a worker already."""

from dataclasses import dataclass
from typing import Any

DOWNLOADS_KEPT_SECONDS = 7 * 24 * 3600.0
"""A worker removes downloads that no build has used for that long."""


@dataclass(frozen=True, kw_only=True)
class CachedCheckpoint:
    """Where the files of a commit are, as far as earlier builds tell."""

    commit: str | None
    is_local: bool
    build_number: int | None = None
    """The last build that fetched this very commit, while its worker keeps downloads."""
    host: str | None = None

    @property
    def is_fetched(self) -> bool:
        return self.is_local or self.build_number is not None

    @property
    def words(self) -> str:
        if self.is_local:
            return "A folder of the worker: nothing is downloaded."
        if self.build_number is not None:
            where = f"`{self.host}`" if self.host else "its worker"
            return (
                f"Build {self.build_number} fetched this commit, and {where} keeps it for a week."
            )
        return "Not fetched yet: it is downloaded."

    def to_json(self) -> dict[str, Any]:
        return {
            "commit": self.commit,
            "is_fetched": self.is_fetched,
            "build_number": self.build_number,
            "host": self.host,
            "words": self.words,
        }
