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
from controlplane.artifacts.patience import BUILDS, PAGES, Patience
from controlplane.artifacts.store import ArtifactStore, Published, holds_exactly
from controlplane.artifacts.sweeping import Swept
from controlplane.artifacts.variables import secret_values, store_variables

__all__ = [
    "BUILDS",
    "PAGES",
    "ArtifactFailure",
    "ArtifactStore",
    "FileEntry",
    "Manifest",
    "Patience",
    "Published",
    "Swept",
    "content_digest",
    "describe",
    "holds_exactly",
    "input_digest",
    "input_document",
    "secret_values",
    "store_variables",
]
