"""What a build need not do again: fetch a checkpoint, or make an artifact of the same config."""

from collections.abc import Mapping

from controlplane.domain.record import Record
from controlplane.domain.step_results import DataIdentity

DOWNLOADS_KEPT_SECONDS = 7 * 24 * 3600.0
"""A worker removes downloads that no build has used for that long."""


class CachedCheckpoint(Record):
    """Where the files of a commit are, as far as earlier builds tell."""

    commit: str | None
    """The commit of the checkpoint."""
    is_fetched: bool
    """Whether a host has fetched it already."""
    build_number: int | None
    """The build that fetched it."""
    host: str | None
    """The host that has it."""
    words: str
    """The same in words."""


class CachedArtifact(Record):
    """An artifact of the same commit and config, and what else must be as it was to take it."""

    id: str
    """The artifact."""
    content_digest: str
    """SHA-256 over the files that the runtime reads."""
    tool_versions: Mapping[str, str | None]
    """Tool to the version that it was made with."""
    calibration: DataIdentity | None
    """What it was calibrated on; null where it was not."""


class Cached(Record):
    """What need not be done again."""

    checkpoint: CachedCheckpoint
    """Whether the checkpoint need not be fetched again."""
    artifact: CachedArtifact | None
    """The artifact that may be taken instead of building; null where there is none."""


def cached_checkpoint(
    commit: str | None, *, is_local: bool, build_number: int | None, host: str | None
) -> CachedCheckpoint:
    """`build_number`: the last build that fetched this commit, while its worker keeps downloads."""
    return CachedCheckpoint(
        commit=commit,
        is_fetched=is_local or build_number is not None,
        build_number=build_number,
        host=host,
        words=_words(is_local, build_number, host),
    )


def _words(is_local: bool, build_number: int | None, host: str | None) -> str:
    if is_local:
        return "A folder of the worker: nothing is downloaded."
    if build_number is not None:
        where = f"`{host}`" if host else "its worker"
        return f"Build {build_number} fetched this commit, and {where} keeps it for a week."
    return "Not fetched yet: it is downloaded."
