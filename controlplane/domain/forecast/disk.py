"""Disk of a build: what it downloads, what it exports, what lies there while it works."""

from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.weights import gpu_weights
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import CheckpointSource

SOURCE = (
    "weight files as the checkpoint lists them, and the exported weights; steps and store share "
    "files by hard links where they are on one file system, else each keeps a copy"
)


@dataclass(frozen=True, kw_only=True)
class DiskNeed:
    """Bytes on the builder's disk; None where the checkpoint does not say its size."""

    download_bytes: int | None
    """What comes over the network: nothing of a local or an already fetched checkpoint."""
    copied_bytes: int | None
    """The checkpoint's own bytes, downloaded or not."""
    exported_bytes: int | None
    """The artifact: quantized weights, or the checkpoint as it is."""

    @property
    def working_bytes(self) -> int | None:
        """Checkpoint and exported copy side by side, once each."""
        if self.copied_bytes is None or self.exported_bytes is None:
            return None
        return self.copied_bytes + self.exported_bytes

    def to_json(self) -> dict[str, Any]:
        return {
            "download_bytes": self.download_bytes,
            "exported_bytes": self.exported_bytes,
            "working_bytes": self.working_bytes,
            "source": SOURCE,
        }


def disk_need(spec: Spec, facts: CheckpointFacts, *, is_fetched: bool) -> DiskNeed:
    """Return what the build takes of the disk; `is_fetched`: the files are there already."""
    stored = facts.stored_weight_bytes
    is_local = spec.checkpoint is not None and spec.checkpoint.source is CheckpointSource.LOCAL
    return DiskNeed(
        download_bytes=0 if is_local or is_fetched else stored,
        copied_bytes=stored,
        exported_bytes=_exported(spec, facts, stored),
    )


def _exported(spec: Spec, facts: CheckpointFacts, stored: int | None) -> int | None:
    if spec.quantization_type.is_none:
        # The same files by hard links: nothing is written a second time.
        return 0 if stored is not None else None
    weights = gpu_weights(spec, facts)
    return weights.total_bytes if weights else None
