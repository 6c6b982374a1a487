"""The task `artifacts.sweep`: stored files that nothing names any more go after a day."""

import logging

from celery import shared_task
from django.conf import settings

from apps.builds.selectors import stored_contents as contents_of_builds
from apps.configs.calibration_sets.selectors import stored_contents as contents_of_sets
from controlplane.artifacts import ArtifactFailure, ArtifactStore

GRACE_SECONDS = 86_400.0
_log = logging.getLogger(__name__)


@shared_task(name="artifacts.sweep")
def sweep(*, format: int, **unknown: object) -> None:
    """Remove what neither an artifact, a build under way nor a calibration set names."""
    if unknown:
        _log.warning("artifacts.sweep: unknown arguments %s", sorted(unknown))
    store = ArtifactStore.open(settings.ARTIFACT_URL)
    try:
        swept = store.sweep(contents_of_builds() | contents_of_sets(), GRACE_SECONDS)
    except ArtifactFailure as failed:
        # Unreadable manifests name unknown files: nothing may go before somebody has looked.
        _log.error("nothing swept: %s", failed.failure.sentence)
        return
    if swept.busy:
        _log.info("the artifact store is in use, the next sweep looks again")
    elif swept.artifacts or swept.blobs:
        _log.info(
            "removed %s artifacts and %s files, %s bytes",
            swept.artifacts,
            swept.blobs,
            swept.freed_bytes,
        )
