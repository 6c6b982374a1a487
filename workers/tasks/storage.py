"""The artifact store's tasks: whether it can be used, and what nothing names goes after a day."""

import logging

from django.conf import settings

from apps.accounts.selectors import installation_id
from apps.builds.selectors import stored_contents as contents_of_builds
from apps.builds.services.store_check import store_checked
from apps.configs.calibration_sets.selectors import stored_contents as contents_of_sets
from controlplane.artifacts import PAGES, ArtifactFailure, ArtifactStore
from controlplane.artifacts.probing import Probe
from controlplane.domain.failures import Failure
from workers.tasks.ticks import tick

GRACE_SECONDS = 86_400.0
_log = logging.getLogger(__name__)


@tick("artifacts.check")
def check() -> None:
    failure = _probe.failure(settings.ARTIFACT_URL) or _of_another_installation()
    if not store_checked(failure):
        return
    if failure is None:
        _log.info("the artifact store can be used")
    else:
        _log.error("the artifact store cannot be used: %s", failure.sentence)


def _of_another_installation() -> Failure | None:
    try:
        _require_own(ArtifactStore.open(settings.ARTIFACT_URL, patience=PAGES))
    except ArtifactFailure as failed:
        return failed.failure
    return None


def _require_own(store: ArtifactStore) -> None:
    if (installation := installation_id()) is not None:
        store.require_own(installation)


def _ask() -> None:
    ArtifactStore.open(settings.ARTIFACT_URL, patience=PAGES).probe()


_probe = Probe(_ask)


@tick("artifacts.sweep")
def sweep() -> None:
    """Remove what neither an artifact, a build under way nor a calibration set names."""
    try:
        store = ArtifactStore.open(settings.ARTIFACT_URL)
        _require_own(store)
        swept = store.sweep(contents_of_builds() | contents_of_sets(), GRACE_SECONDS)
    except ArtifactFailure as failed:
        # Unreadable manifests name unknown files: nothing may go before someone has looked. And
        # what a store that is away did not do, the next sweep does.
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
