"""The type that an artifact is measured in: the one that it will be served in."""

import torch

from controlplane.domain.facts.gpus import CPU
from controlplane.domain.memory.native_limits import effective_dtype
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec
from workers.build_steps.processor import has_native_bfloat16
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.loading import Device, choose_dtype
from workers.build_steps.quantization.memory import comparison_bytes, free_host_bytes


def served_dtype(spec: Spec, original: Checkpoint, device: Device) -> torch.dtype:
    """Return what the native engine will compute in on such a machine, by the planner's rule.

    The other engines take the checkpoint's own type, and so does their gate.
    """
    if not RUNTIMES[spec.runtime_name].takes_dtype:
        return choose_dtype(spec, original, device)
    kind = spec.accelerator.kind if spec.accelerator else CPU
    served = effective_dtype(spec, kind=kind, computes_bfloat16=has_native_bfloat16())
    dtype: torch.dtype = getattr(torch, served.value)
    if device.kind != "cpu" or _fits(spec, original, device, dtype):
        return dtype
    return torch.bfloat16  # measured all the same, and told with the figures


def _fits(spec: Spec, original: Checkpoint, device: Device, dtype: torch.dtype) -> bool:
    needed = comparison_bytes(spec, original, dtype, device.batch_tokens)
    return needed <= min(free_host_bytes(), device.memory_bytes or needed)
