"""What the build itself takes of GPUs and memory; its time is the forecast's.

GPUs: NVIDIA/TensorRT-LLM#1331 (70B in FP8 peaks above 210 GB, four 80 GB GPUs). Estimates
throughout; checked 2026-11-28.
"""

from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.memory_plan import Device
from controlplane.domain.memory.sizing import BuilderNeed, builder_devices
from controlplane.domain.spec import Spec

HOST_SHARE = 1.3
"""Host memory per byte of the checkpoint."""


@dataclass(frozen=True, kw_only=True)
class BuildEstimate:
    """The builder's own verdict, apart from that of serving."""

    need: BuilderNeed | None
    """None where nothing is quantized and a build needs no more than serving does."""
    leased_devices: int
    host_memory_bytes: int

    @property
    def verdict(self) -> str:
        """`fits`, or `too_few_devices` where the leased ones do not hold both copies."""
        short = self.need is not None and self.need.devices > self.leased_devices
        return "too_few_devices" if short else "fits"

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "gpus": self.need.devices if self.need else self.leased_devices,
            "leased_gpus": self.leased_devices,
            "peak_bytes": self.need.peak_bytes if self.need else None,
            "host_memory_bytes": self.host_memory_bytes,
        }


def build_estimate(spec: Spec, checkpoint: CheckpointFacts, device: Device) -> BuildEstimate:
    stored = checkpoint.stored_weight_bytes or 0
    return BuildEstimate(
        need=builder_devices(spec, checkpoint, device.memory_bytes),
        leased_devices=spec.engine_build.num_builder_gpus or spec.accelerator_count,
        host_memory_bytes=round(HOST_SHARE * stored),
    )
