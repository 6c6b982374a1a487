"""Published checkpoints by content: stored once, verified when read, swept when unused."""

from controlplane.artifacts.digests import (
    FileEntry,
    content_digest,
    describe,
    input_digest,
    input_document,
)
from controlplane.artifacts.failures import ArtifactFailure
from controlplane.artifacts.manifests import Manifest
from controlplane.artifacts.store import ArtifactStore, Published
from controlplane.artifacts.sweeping import Swept

__all__ = [
    "ArtifactFailure",
    "ArtifactStore",
    "FileEntry",
    "Manifest",
    "Published",
    "Swept",
    "content_digest",
    "describe",
    "input_digest",
    "input_document",
]
