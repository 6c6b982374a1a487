"""Whose store it is: two installations in one place would remove each other's artifacts."""

import json

from controlplane.artifacts.blobs import BlobStore
from controlplane.artifacts.failures import of_another_installation, unwritable
from controlplane.domain.json_text import read_json

OWNER = "installation.json"


def require_own(blobs: BlobStore, installation: str) -> None:
    """Return if the store is the installation's, which it becomes by the first look.

    Raises ArtifactFailure where another one was there first.
    """
    try:
        if blobs.read_document(OWNER) is None:
            blobs.create_document(OWNER, json.dumps({"id": installation}).encode())
        found = _id_in(blobs.read_document(OWNER) or b"")
    except OSError as error:
        raise unwritable(error) from error
    if found != installation:
        raise of_another_installation(found, installation, OWNER)


def _id_in(content: bytes) -> str:
    try:
        return str(read_json(content)["id"])[:64]
    except (ValueError, KeyError, TypeError):
        return "?"
