"""Disk of a build: what it downloads, what it exports, what lies there while it works."""

from pydantic import Field

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.weights import gpu_weights
from controlplane.domain.record import Record
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import CheckpointSource

SOURCE = (
    "weight files as the checkpoint lists them, and the exported weights; steps and store share "
    "files by hard links where they are on one file system, else each keeps a copy"
)


class ForecastDisk(Record):
    """Bytes on the builder's disk; null where the checkpoint does not say its size."""

    download_bytes: int | None
    """What is fetched; 0 where the host has it already."""
    copied_bytes: int | None = Field(default=None, exclude=True)
    """The checkpoint's own bytes, downloaded or not."""
    exported_bytes: int | None
    """What the artifact takes."""
    working_bytes: int | None
    """What is needed besides while it runs."""
    source: str
    """What these rest on, in words."""


def disk_need(spec: Spec, facts: CheckpointFacts, *, is_fetched: bool) -> ForecastDisk:
    """Return what the build takes of the disk; `is_fetched`: the files are there already."""
    stored = facts.stored_weight_bytes
    is_local = spec.checkpoint is not None and spec.checkpoint.source is CheckpointSource.LOCAL
    exported = _exported(spec, facts, stored)
    return ForecastDisk(
        download_bytes=0 if is_local or is_fetched else stored,
        copied_bytes=stored,
        exported_bytes=exported,
        # Checkpoint and exported copy lie side by side, once each.
        working_bytes=None if stored is None or exported is None else stored + exported,
        source=SOURCE,
    )


def _exported(spec: Spec, facts: CheckpointFacts, stored: int | None) -> int | None:
    if spec.quantization_type.is_none:
        # The same files by hard links: nothing is written a second time.
        return 0 if stored is not None else None
    weights = gpu_weights(spec, facts)
    return weights.total_bytes if weights else None
