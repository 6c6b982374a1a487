from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from controlplane.artifacts.blobs import BlobStore
from controlplane.artifacts.failures import ArtifactFailure
from controlplane.artifacts.folder import FolderStore
from controlplane.artifacts.patience import Patience
from controlplane.clock import Clock
from controlplane.domain.failures.registry import artifacts


def open_place(
    url: str, *, variables: Mapping[str, str] | None, patience: Patience, clock: Clock
) -> BlobStore:
    """Return the place behind a URL. Raises ArtifactFailure."""
    if url.startswith("s3://"):
        # Here: the client is no small import, and a folder needs none of it.
        from controlplane.artifacts.bucket.store import open_bucket

        return open_bucket(url, variables=variables, patience=patience, clock=clock)
    folder = folder_of(url)
    if folder is None:
        raise ArtifactFailure.of(artifacts.UNSUPPORTED, url=url)
    return FolderStore(folder, clock=clock)


def folder_of(url: str) -> Path | None:
    parts = urlsplit(url)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or not parts.path:
        return None
    return Path(unquote(parts.path))
