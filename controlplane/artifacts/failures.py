"""What can go wrong with stored files, as failures that a page can show."""

from controlplane.domain.failures import Blame, Failure


class ArtifactFailure(Exception):
    """Carries the failure to show; its text is the failure's sentence."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def unsupported_url(url: str) -> ArtifactFailure:
    """Return the failure for an artifact store that is not a local folder."""
    return ArtifactFailure(
        Failure(
            code="EHA-UNSUPPORTED",
            blame=Blame.CONFIGURATION,
            sentence=f"`{url}` is not an artifact store this release can open.",
            field="ARTIFACT_URL",
            hint="Set ARTIFACT_URL to a folder that every host mounts, such as "
            "`file:///srv/enginehouse/artifacts`.",
        )
    )


def unsafe_name(name: str, reason: str) -> ArtifactFailure:
    """Return the failure for a file whose name could lead outside its folder."""
    return ArtifactFailure(
        Failure(
            code="EHA-NAME",
            blame=Blame.CHECKPOINT,
            sentence=f"The checkpoint holds a file named `{name}`, which {reason}.",
            hint="Rename or remove that file in the checkpoint.",
        )
    )


def missing_artifact(content_digest: str) -> ArtifactFailure:
    """Return the failure for a digest under which nothing was published."""
    return ArtifactFailure(
        Failure(
            code="EHA-MISSING",
            blame=Blame.MACHINE,
            sentence=f"The artifact store holds nothing under `{content_digest}`.",
            hint="Check that ARTIFACT_URL names the same folder on every host, or build again.",
        )
    )


def missing_blob(path: str, sha256: str) -> ArtifactFailure:
    """Return the failure for a published file whose bytes are gone."""
    return ArtifactFailure(
        Failure(
            code="EHA-MISSING",
            blame=Blame.MACHINE,
            sentence=f"The stored file `{path}` (sha256 `{sha256}`) is gone.",
            hint="Restore the artifact folder from a backup, or build again.",
        )
    )


def corrupt_blob(path: str, sha256: str, found: str) -> ArtifactFailure:
    """Return the failure for a published file whose bytes have changed."""
    return ArtifactFailure(
        Failure(
            code="EHA-CORRUPT",
            blame=Blame.MACHINE,
            sentence=f"The stored file `{path}` has changed on disk: "
            f"its sha256 should be `{sha256}` and is `{found}`.",
            hint="Check the disk that holds the artifact folder, then build again: "
            "publishing replaces a damaged file.",
        )
    )


def corrupt_manifest(content_digest: str) -> ArtifactFailure:
    """Return the failure for a list of files that does not match the digest it is stored under."""
    return ArtifactFailure(
        Failure(
            code="EHA-CORRUPT",
            blame=Blame.MACHINE,
            sentence=f"The stored list of files of `{content_digest}` has changed on disk.",
            hint="Check the disk that holds the artifact folder, then build again.",
        )
    )


def disk_full(folder: str) -> ArtifactFailure:
    """Return the failure for a write that found no room."""
    return ArtifactFailure(
        Failure(
            code="EHA-DISK-FULL",
            blame=Blame.MACHINE,
            sentence=f"The disk that holds `{folder}` is full; nothing was published.",
            hint="Free some space there, or point ARTIFACT_URL at a larger disk, and retry.",
        )
    )
