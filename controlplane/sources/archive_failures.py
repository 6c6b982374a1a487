"""What can go wrong with an archive behind an address, as failures in the user's values."""

from typing import Any

from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import archives
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.repository_forms import shown
from controlplane.sources.failures import SourceFailure


def wrong_address(checkpoint: CheckpointRepository) -> SourceFailure:
    return archive_failure(archives.URI, checkpoint.repo)


def late_config(url: str, read_bytes: int) -> SourceFailure:
    return archive_failure(archives.LATE_CONFIG, url, read_megabytes=read_bytes / 1e6)


def archive_failure(kind: FailureKind, url: str, **values: Any) -> SourceFailure:
    return SourceFailure.of(kind, url=shown(url), **values)
