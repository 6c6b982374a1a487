"""What can go wrong with stored files, as failures that a page can show."""

from controlplane.domain.failures.raised import RaisedFailure
from controlplane.domain.failures.registry import artifacts

_LOSSES = frozenset({artifacts.MISSING.code, artifacts.CORRUPT_BLOB.code})


class ArtifactFailure(RaisedFailure):
    @property
    def is_loss(self) -> bool:
        """Whether what was asked for is gone or damaged; not where the store itself is away."""
        return self.failure.code in _LOSSES

    @property
    def is_want_of_room(self) -> bool:
        return self.failure.code == artifacts.DISK_FULL.code


def unreadable_file(variable: str, path: str, error: Exception) -> ArtifactFailure:
    reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
    return ArtifactFailure.of(
        artifacts.UNREADABLE_FILE, variable=variable, path=path, reason=reason, field=variable
    )


def unwritable(error: OSError) -> ArtifactFailure:
    return ArtifactFailure.of(artifacts.UNWRITABLE, path=error.filename, reason=error.strerror)


def silent(url: str, seconds: float) -> ArtifactFailure:
    return ArtifactFailure.of(artifacts.FOLDER_SILENT, url=url, seconds=seconds)


def corrupt_blob(path: str, sha256: str, actual: str) -> ArtifactFailure:
    return ArtifactFailure.of(artifacts.CORRUPT_BLOB, path=path, sha256=sha256, found=actual)
