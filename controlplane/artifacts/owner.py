"""Whose store it is: two installations in one place would remove each other's artifacts."""

import json

from controlplane.artifacts.blobs import BlobStore
from controlplane.artifacts.failures import ArtifactFailure, unwritable
from controlplane.domain.failures.registry import artifacts
from controlplane.domain.json_text import read_json

OWNER = "installation.json"


def require_own(blobs: BlobStore, installation: str) -> None:
    """Return if the store is the installation's, which it becomes by the first look.

    Raises ArtifactFailure where another one was there first.
    """
    try:
        if blobs.read_document(OWNER) is None:
            blobs.create_document(OWNER, json.dumps({"id": installation}).encode())
        owner_id = _id_in(blobs.read_document(OWNER) or b"")
    except OSError as error:
        raise unwritable(error) from error
    if owner_id != installation:
        raise ArtifactFailure.of(
            artifacts.OTHER_OWNER, owner=owner_id, own=installation, file=OWNER
        )


def _id_in(content: bytes) -> str:
    try:
        return str(read_json(content)["id"])[:64]
    except (ValueError, KeyError, TypeError):
        return "?"
