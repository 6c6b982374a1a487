"""What the build itself takes: GPUs, memory of GPUs and host, minutes.

GPUs: NVIDIA/TensorRT-LLM#1331 (70B in FP8 peaks above 210 GB, four 80 GB GPUs). Minutes: a
forward pass over the calibration tokens, one GPU at a time as ModelOpt maps it, plus reading and
writing; set so that 8B, 32B and 70B come to the 3-6, 8-15 and 15-30 minutes that TensorRT-LLM users
report. Estimates throughout; checked 2026-11-28.
"""

from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.memory.memory_plan import Device
from controlplane.domain.memory.sizing import BuilderNeed, builder_devices
from controlplane.domain.memory.speed import Range
from controlplane.domain.spec import Spec

HOST_SHARE = 1.3
"""Host memory per byte of the checkpoint."""
BEST_CALIBRATION_SHARE, WORST_CALIBRATION_SHARE = 0.3, 0.12
"""Share of the GPU's arithmetic that calibration reaches."""
BEST_DISK_BYTES_PER_SECOND, WORST_DISK_BYTES_PER_SECOND = 2e9, 0.5e9
BEST_START_SECONDS, WORST_START_SECONDS = 60.0, 180.0
"""Imports, the gate's passes, packaging, and the smoke test's start."""


@dataclass(frozen=True, kw_only=True)
class BuildEstimate:
    """The builder's own verdict, apart from that of serving."""

    need: BuilderNeed | None
    """None where nothing is quantized and a build needs no more than serving does."""
    leased_devices: int
    host_memory_bytes: int
    minutes: Range

    @property
    def verdict(self) -> str:
        """`fits`, or `too_few_devices` where the leased ones do not hold both copies."""
        short = self.need is not None and self.need.devices > self.leased_devices
        return "too_few_devices" if short else "fits"

    def to_json(self) -> dict[str, Any]:
        """Return the stable form that commands and pages show."""
        return {
            "verdict": self.verdict,
            "gpus": self.need.devices if self.need else self.leased_devices,
            "leased_gpus": self.leased_devices,
            "peak_bytes": self.need.peak_bytes if self.need else None,
            "host_memory_bytes": self.host_memory_bytes,
            "minutes": self.minutes.to_json(),
        }


def build_estimate(spec: Spec, checkpoint: CheckpointFacts, device: Device) -> BuildEstimate:
    """Return what building this config on GPUs of this kind takes."""
    stored = checkpoint.stored_weight_bytes or 0
    return BuildEstimate(
        need=builder_devices(spec, checkpoint, device.memory_bytes),
        leased_devices=spec.engine_build.num_builder_gpus or spec.accelerator_count,
        host_memory_bytes=round(HOST_SHARE * stored),
        minutes=_minutes(spec, checkpoint, device, stored),
    )


def _minutes(spec: Spec, checkpoint: CheckpointFacts, device: Device, stored: int) -> Range:
    best = BEST_START_SECONDS + stored / BEST_DISK_BYTES_PER_SECOND
    worst = WORST_START_SECONDS + 2 * stored / WORST_DISK_BYTES_PER_SECOND
    work = calibration_operations(spec, checkpoint)
    gpu = PLANNABLE_GPUS.get(device.kind)
    if work and gpu is not None and gpu.flops:
        best += work / (gpu.flops * BEST_CALIBRATION_SHARE)
        worst += work / (gpu.flops * WORST_CALIBRATION_SHARE)
    return Range(low=best / 60, high=worst / 60)


def calibration_operations(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return the arithmetic of one pass over the calibration tokens, 0 where there is none."""
    if spec.quantization_type.is_none or checkpoint.existing_quantization is not None:
        return 0
    length = spec.engine_build.quantization_config.calib_max_seq_length
    tokens = spec.calibration_samples * length
    active = checkpoint.counts.active if checkpoint.counts else checkpoint.parameters or 0
    return 2 * active * tokens
