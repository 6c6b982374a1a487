"""What can go wrong with stored files, as failures that a page can show."""

from controlplane.domain.failures import Blame, Failure

_MISSING, _CORRUPT, _FULL = "EHA-MISSING", "EHA-CORRUPT", "EHA-DISK-FULL"
_LOSSES = frozenset({_MISSING, _CORRUPT})


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
        return self.failure.code == _FULL


def unsupported_url(url: str) -> ArtifactFailure:
    """Return the failure for an address that is neither a folder's nor a bucket's."""
    return ArtifactFailure(
        Failure(
            code="EHA-UNSUPPORTED",
            blame=Blame.CONFIGURATION,
            sentence=f"`{url}` is not an artifact store this release can open.",
            field="ARTIFACT_URL",
            hint="Set ARTIFACT_URL to a bucket, such as `s3://bucket/artifacts`, or to a folder "
            "that every host mounts, such as `file:///srv/enginehouse/artifacts`.",
        )
    )


def unreadable_file(variable: str, path: str, error: Exception) -> ArtifactFailure:
    """Return the failure for a file that should hold a part of a login."""
    reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
    return ArtifactFailure(
        Failure(
            code="EHA-LOGIN",
            blame=Blame.CONFIGURATION,
            sentence=f"{variable} names `{path}`, which cannot be read: {reason}.",
            field=variable,
            hint="Mount the file where this process runs, readable to its user.",
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
            code=_MISSING,
            blame=Blame.MACHINE,
            sentence=f"The artifact store holds nothing under `{content_digest}`.",
            hint="Check that ARTIFACT_URL names the same place on every host, or build again.",
        )
    )


def missing_blob(path: str, sha256: str) -> ArtifactFailure:
    """Return the failure for a published file whose bytes are gone."""
    return ArtifactFailure(
        Failure(
            code=_MISSING,
            blame=Blame.MACHINE,
            sentence=f"The stored file `{path}` (sha256 `{sha256}`) is gone.",
            hint="Restore the artifact store from a backup, or build again.",
        )
    )


def corrupt_blob(path: str, sha256: str, found: str) -> ArtifactFailure:
    """Return the failure for a published file whose bytes have changed."""
    return ArtifactFailure(
        Failure(
            code=_CORRUPT,
            blame=Blame.MACHINE,
            sentence=f"The stored file `{path}` has changed where it lies: "
            f"its sha256 should be `{sha256}` and is `{found}`.",
            hint="Check the disk or the bucket behind ARTIFACT_URL, then build again: "
            "publishing replaces a damaged file.",
        )
    )


def corrupt_manifest(content_digest: str) -> ArtifactFailure:
    """Return the failure for a list of files that does not match the digest it is stored under."""
    return ArtifactFailure(
        Failure(
            code=_CORRUPT,
            blame=Blame.MACHINE,
            sentence=f"The stored list of files of `{content_digest}` has changed where it lies.",
            hint="Check the disk or the bucket behind ARTIFACT_URL, then build again.",
        )
    )


def unwritable(error: OSError) -> ArtifactFailure:
    """Return the failure for a store in which a small file could not be written and removed."""
    return ArtifactFailure(
        Failure(
            code="EHA-UNWRITABLE",
            blame=Blame.MACHINE,
            sentence=f"`{error.filename}` cannot be written to: {error.strerror}.",
            hint="Mount the folder behind ARTIFACT_URL on this host, and open it to the user of "
            "web process and workers.",
        )
    )


def silent(url: str, seconds: float) -> ArtifactFailure:
    """Return the failure for a store that has neither done nor refused a small thing."""
    return ArtifactFailure(
        Failure(
            code="EHA-OFFLINE",
            blame=Blame.MACHINE,
            sentence=f"`{url}` has not answered this host for {seconds:.0f} seconds.",
            hint="Check the network between the two, and the server that the folder is mounted "
            "from.",
        )
    )


def forgetful(path: str) -> ArtifactFailure:
    """Return the failure for a store that does not give back what was just written to it."""
    return ArtifactFailure(
        Failure(
            code=_CORRUPT,
            blame=Blame.MACHINE,
            sentence=f"`{path}` was written to the store and did not come back as it was.",
            hint="Use a store that shows at once what was written to it, and check that nothing "
            "else removes files there.",
        )
    )


def disk_full(folder: str) -> ArtifactFailure:
    """Return the failure for a write that found no room."""
    return ArtifactFailure(
        Failure(
            code=_FULL,
            blame=Blame.MACHINE,
            sentence=f"The disk that holds `{folder}` is full; nothing was published.",
            hint="Free some space there, or point ARTIFACT_URL at a larger disk, and retry.",
        )
    )
