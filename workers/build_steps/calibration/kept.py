"""Sets that a team keeps: out of the artifact store, verified, into this host's cache."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from controlplane.artifacts import ArtifactStore, holds_exactly
from controlplane.artifacts.digests import ignore_bytes
from controlplane.domain.facts.calibration_sets import CalibrationSet, SetVersion
from controlplane.sources.cache import CALIBRATION
from workers.build_steps.options import JobOptions, KeptSet

_USED = "used"
_CONTENT = "content"


def kept_files(
    options: JobOptions, on_bytes: Callable[[int], None] = ignore_bytes
) -> dict[str, str]:
    """Return data set -> file, of the sets that a job names; raises ArtifactFailure.

    What lies in the cache is hashed again before it is believed. A step finds it there, since its
    supervisor has taken it before: the login to a store is not for processes that run models.
    """
    return {
        dataset: str(_take(kept, options, on_bytes))
        for dataset, kept in options.calibration_sets.items()
    }


def known_sets(options: JobOptions) -> tuple[CalibrationSet, ...]:
    versions: dict[str, list[SetVersion]] = {}
    for kept in options.calibration_sets.values():
        version = SetVersion(number=kept.version, column=kept.column, rows=kept.rows)
        versions.setdefault(kept.name, []).append(version)
    return tuple(
        CalibrationSet(name=name, versions=tuple(set_versions))
        for name, set_versions in versions.items()
    )


def _take(kept: KeptSet, options: JobOptions, on_bytes: Callable[[int], None]) -> Path:
    digest = kept.content_digest
    cache = options.cache_dir or Path(tempfile.gettempdir())
    folder = cache / CALIBRATION / digest.replace(":", "-")
    folder.mkdir(parents=True, exist_ok=True)
    # Its time is that of the last use: the file's own, a link into the store, is older.
    (folder / _USED).touch()
    content = folder / _CONTENT
    if not holds_exactly(content, digest, on_bytes):
        ArtifactStore.open(options.artifact_url).materialize(digest, content, on_bytes)
    return content / kept.file_name
