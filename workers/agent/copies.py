"""The copy of an artifact that a replica starts from: the one that is here, or one made now."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.artifacts import ArtifactFailure, ArtifactStore, holds_exactly
from controlplane.clock import SYSTEM, Clock
from workers.agent.models import copying, make_room, mark_used, model_folder, wait_for_droppers

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Those of one host, and where the artifacts come from."""

    models: Path
    replicas: Path
    most_bytes: int | None
    """What they may take together (ARTIFACT_CACHE_BYTES)."""
    url: str
    login: Mapping[str, str] | None = field(repr=False)

    def take(self, digest: str, *, clock: Clock = SYSTEM) -> Path:
        """Return the folder of the copy, verified to the last byte. Raises ArtifactFailure.

        A copy that is here and right needs no store, which may be away.
        """
        destination = model_folder(self.models, digest)
        started = clock.monotonic()
        wait_for_droppers(self.models)
        if holds_exactly(destination, digest):
            mark_used(destination)
            _log.info(
                "Artifact %s is here; verified in %.1f s.", digest, clock.monotonic() - started
            )
            return destination
        _log.info("Copying artifact %s from %s.", digest, self.url)
        # Replicas of one deployment start at once: the second one takes what the first has copied.
        with copying(self.models, digest):
            self._copy(digest, destination)
        mark_used(destination)
        _log.info("Copied and verified in %.1f s.", clock.monotonic() - started)
        return destination

    def _copy(self, digest: str, destination: Path) -> None:
        """Make the copy, unless another process was quicker."""
        if holds_exactly(destination, digest):
            return
        store = ArtifactStore.open(self.url, variables=self.login)
        size_bytes = store.manifest(digest).size_bytes
        if self.most_bytes is not None:
            self._drop(size_bytes, self.most_bytes)
        try:
            store.materialize(digest, destination)
        except ArtifactFailure as failed:
            # A full disk: better no copy of what nothing uses than no start.
            if not (failed.is_want_of_room and self._drop(size_bytes, 0)):
                raise
            store.materialize(digest, destination)

    def _drop(self, wanted_bytes: int, most_bytes: int) -> list[str]:
        dropped = make_room(self.models, self.replicas, wanted_bytes, most_bytes)
        for name in dropped:
            _log.info("Dropped the copy of artifact %s, which nothing used, for room.", name)
        return dropped
