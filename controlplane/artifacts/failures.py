"""What can go wrong with stored files, as failures that a page can show."""

from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import artifacts

_LOSSES = frozenset({artifacts.MISSING.code, artifacts.CORRUPT_BLOB.code})


class ArtifactFailure(Exception):
    """Carries the failure to show; its text is the failure's sentence."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure

    @property
    def is_loss(self) -> bool:
        """Whether what was asked for is gone or damaged; not where the store itself is away."""
        return self.failure.code in _LOSSES

    @property
    def is_want_of_room(self) -> bool:
        """Whether a disk, or a quota, was full."""
        return self.failure.code == artifacts.DISK_FULL.code


def unsupported_url(url: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.UNSUPPORTED.failure(url=url))


def unreadable_file(variable: str, path: str, error: Exception) -> ArtifactFailure:
    """Return the failure for a file that should hold a part of a login."""
    reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
    return ArtifactFailure(
        artifacts.UNREADABLE_FILE.failure(
            variable=variable, path=path, reason=reason, field=variable
        )
    )


def unsafe_name(name: str, reason: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.NAME.failure(name=name, reason=reason))


def missing_artifact(content_digest: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.MISSING.failure(digest=content_digest))


def missing_blob(path: str, sha256: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.MISSING_BLOB.failure(path=path, sha256=sha256))


def corrupt_blob(path: str, sha256: str, found: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.CORRUPT_BLOB.failure(path=path, sha256=sha256, found=found))


def corrupt_manifest(content_digest: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.CORRUPT_MANIFEST.failure(digest=content_digest))


def unwritable(error: OSError) -> ArtifactFailure:
    return ArtifactFailure(artifacts.UNWRITABLE.failure(path=error.filename, reason=error.strerror))


def silent(url: str, seconds: float) -> ArtifactFailure:
    return ArtifactFailure(artifacts.FOLDER_SILENT.failure(url=url, seconds=seconds))


def forgetful(path: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.FORGETFUL.failure(path=path))


def of_another_installation(owner: str, own: str, file: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.OTHER_OWNER.failure(owner=owner, own=own, file=file))


def disk_full(folder: str) -> ArtifactFailure:
    return ArtifactFailure(artifacts.DISK_FULL.failure(folder=folder))
