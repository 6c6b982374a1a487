"""An artifact's files as one archive, and its passport as one document."""

import json
from typing import Any

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse

from apps.builds.models import Artifact
from apps.rest.errors import NotFound, Unavailable
from apps.rest.streaming import download_answer, free_connection
from controlplane.artifacts import PAGES, ArtifactFailure, ArtifactStore
from controlplane.artifacts.archive import Archive


def artifact_archive_answer(request: HttpRequest, artifact: Artifact) -> StreamingHttpResponse:
    """Return the tar archive of the artifact's files, each verified while it is sent.

    Raises:
        NotFound: the store has no such artifact any more.
        Unavailable: the store cannot be asked.
    """
    archive = _archive(artifact)
    return download_answer(
        request,
        archive.chunks(),
        content_type="application/x-tar",
        file_name=f"{archive.name}.tar",
        size_bytes=archive.size_bytes,
    )


def passport_document(artifact: Artifact) -> dict[str, Any]:
    """Return the passport with what it was made of, as people take it away."""
    return {**artifact.passport, "inputs": artifact.inputs}


def _archive(artifact: Artifact) -> Archive:
    passport = json.dumps(passport_document(artifact), indent=1, sort_keys=True).encode()
    free_connection()
    try:
        store = ArtifactStore.open(settings.ARTIFACT_URL, patience=PAGES)
        manifest = store.manifest(artifact.content_digest)
    except ArtifactFailure as failed:
        refused = NotFound if failed.is_loss else Unavailable
        raise refused(failed.failure.sentence, hint=failed.failure.hint) from failed
    return Archive(
        store=store, manifest=manifest, name=f"artifact-{artifact.id}", passport=passport
    )
